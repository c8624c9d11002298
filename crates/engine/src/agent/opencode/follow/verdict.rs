//! When a look at a session that is not busy decides a turn.
//!
//! | Seen while not busy | Verdict |
//! |---|---|
//! | an answer that finished with `stop` | succeeded, at once |
//! | another end of the turn | as it says, when seen twice |
//! | an error event and no answer, for 1 s | failed with the event's text |
//! | an answer that neither ended nor failed, for 1 s after a gap, else 30 s | lost: the server was restarted |
//! | our message, no answer, for 5 s after a gap, else 30 s | failed: not started |
//! | no message of ours for 30 s | failed: not started; for a run that is taken over 5 s: not sent |
//!
//! A gap is a time without the event stream, in which the server may have been restarted.

use super::Follower;
use super::outcome::{Told, TurnEnd};
use crate::agent::opencode::judge::{End, Seen};
use std::time::Duration;

impl Follower<'_> {
    /// Says how the turn ended; `None` while only a later look can tell. `quiet` is how long it has
    /// not been busy, `None` at the first such look; `elapsed` how long it is followed.
    pub(super) fn verdict(
        &self,
        seen: Seen,
        quiet: Option<Duration>,
        elapsed: Duration,
        taken_over: bool,
    ) -> Option<TurnEnd> {
        let timing = self.opencode.timing;
        let quiet_for = |limit| quiet.is_some_and(|quiet| quiet >= limit);
        // A server on a busy machine can be silent for seconds in the middle of a turn.
        let patient = |limit| if self.gap { limit } else { timing.appear };
        let failed = |told: &Told| TurnEnd::NotStarted(Some(told.clone()));
        match (seen, &self.told) {
            (Seen::Ended(end @ End::Said { .. }), _) => Some(TurnEnd::Ended(end)),
            (Seen::Ended(end), _) => quiet.map(|_| TurnEnd::Ended(end)),
            (Seen::Unfinished, _) => {
                quiet_for(patient(timing.settle)).then_some(TurnEnd::Restarted)
            }
            (_, Some(told)) => quiet_for(timing.settle).then(|| failed(told)),
            // A slash command may work for long before its message is there.
            (_, None) if self.sending.is_some() => None,
            (Seen::NoAnswer, None) => {
                quiet_for(patient(timing.begin)).then_some(TurnEnd::NotStarted(None))
            }
            (Seen::NoMessage, None) if taken_over => {
                quiet_for(timing.begin).then_some(TurnEnd::NotSent)
            }
            (Seen::NoMessage, None) => {
                (elapsed >= timing.appear).then_some(TurnEnd::NotStarted(None))
            }
        }
    }
}
