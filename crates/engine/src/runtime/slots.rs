//! What becomes of the slots that passed since a task was last looked at (PROTOCOL §3): a pure
//! verdict, the same whoever asks.

use crate::claim::WRONG_CLOCK_MS;
use crate::schedule::Compiled;
use crate::task::policy::CatchUp;
use std::time::Duration;

/// A run of slots of one task with the same fate. Wall times in ms since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// How many.
    pub count: i64,
    /// The first.
    pub first: i64,
    /// The last.
    pub last: i64,
}

impl Span {
    /// One slot alone.
    pub fn one(slot: i64) -> Span {
        Span { count: 1, first: slot, last: slot }
    }

    /// Returns what of the span lies after an instant; `None` when nothing does.
    pub fn after(self, instant: i64, schedule: Option<&Compiled>) -> Option<Span> {
        if instant < self.first {
            return Some(self);
        }
        let mut rest = None;
        for slot in schedule?.between(instant, self.last) {
            Span::extend(&mut rest, slot);
        }
        rest
    }

    fn extend(span: &mut Option<Span>, slot: i64) {
        match span {
            Some(span) => {
                span.count += 1;
                span.last = slot;
            }
            None => *span = Some(Span::one(slot)),
        }
    }
}

/// The rules of lateness that hold for a task.
#[derive(Debug, Clone, Copy)]
pub struct Lateness {
    /// A slot older than this when it is noticed is a misfire.
    pub start_deadline: Duration,
    /// What happens to misfires.
    pub catch_up: CatchUp,
    /// How old a slot may be to be caught up.
    pub catch_up_window: Duration,
}

/// What becomes of the slots after `cursor` up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noticed {
    /// Older than `lastScheduledFor`: taken or passed by others.
    pub passed: Option<Span>,
    /// The slot that `lastScheduledFor` names, when it is among them.
    pub taken: Option<i64>,
    /// Noticed too late, and not caught up.
    pub missed: Option<Span>,
    /// On time, but a newer one is due too.
    pub superseded: Option<Span>,
    /// The slot to run.
    pub run: Option<i64>,
    /// Whether that slot is a caught-up misfire.
    pub caught_up: bool,
    /// The newest of all these slots: up to here the task was looked at.
    pub cursor: i64,
}

/// Judges the slots after `cursor` up to `now`.
pub fn notice(
    schedule: &Compiled,
    cursor: i64,
    now: i64,
    last_scheduled_for: Option<i64>,
    rules: Lateness,
) -> Noticed {
    let taken_until = last_scheduled_for.filter(|last| *last <= now + WRONG_CLOCK_MS);
    let mut noticed = Noticed { cursor, ..Noticed::default() };
    let mut newest_late = None;
    for slot in schedule.between(cursor, now) {
        noticed.cursor = slot;
        match taken_until {
            Some(last) if slot < last => Span::extend(&mut noticed.passed, slot),
            Some(last) if slot == last => noticed.taken = Some(slot),
            _ if now - slot > millis(rules.start_deadline) => {
                if let Some(late) = newest_late.replace(slot) {
                    Span::extend(&mut noticed.missed, late);
                }
            }
            _ => {
                if let Some(older) = noticed.run.replace(slot) {
                    Span::extend(&mut noticed.superseded, older);
                }
            }
        }
    }
    if let Some(late) = newest_late {
        let wanted = rules.catch_up == CatchUp::Latest
            && noticed.run.is_none()
            && now - late <= millis(rules.catch_up_window);
        if wanted {
            noticed.run = Some(late);
            noticed.caught_up = true;
        } else {
            Span::extend(&mut noticed.missed, late);
        }
    }
    noticed
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
