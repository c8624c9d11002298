//! Is the slot taken? Judged by `lastScheduledFor` alone: an advanced `nextRunAt` says nothing,
//! since the peer overwrites it at every start (openchamber issue 2710, PROTOCOL §4.2).

use crate::schedule::Compiled;

/// The peer's slack: two claims this near are the same slot.
const SLACK_MS: i64 = 5_000;

/// A `lastScheduledFor` further ahead of the clock than this was written by a clock that was wrong
/// once; it says nothing, and `doctor` tells of it.
pub const WRONG_CLOCK_MS: i64 = 24 * 60 * 60 * 1000;

/// How a slot was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Somebody claimed this very slot.
    Slot,
    /// Somebody claimed a later one, so that this one will never run.
    Later,
}

/// Says whether a slot was taken; `None` leaves it free. All times in ms since 1970.
pub fn judge_taken(
    slot: i64,
    last_scheduled_for: Option<i64>,
    now: i64,
    schedule: Option<&Compiled>,
) -> Option<Taken> {
    let last = last_scheduled_for?;
    if last == slot {
        return Some(Taken::Slot);
    }
    // Schedules below ten seconds have slots inside the slack: two different occurrences of the
    // current schedule are two slots, however near.
    let both_yielded = || schedule.is_some_and(|s| s.yields(last) && s.yields(slot));
    if (last - slot).abs() <= SLACK_MS && !both_yielded() {
        return Some(Taken::Slot);
    }
    (last > slot && last <= now + WRONG_CLOCK_MS).then_some(Taken::Later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Schedule;

    const NINE: i64 = 1_777_971_600_000;

    fn compiled(cron: &str) -> Compiled {
        let schedule = Schedule::Cron { cron: cron.to_owned(), timezone: Some("UTC".to_owned()) };
        Compiled::new(&schedule).expect("a good expression")
    }

    #[test]
    fn the_slack_holds_unless_both_are_occurrences() {
        let daily = compiled("0 9 * * *");
        for off in [-5_000, -4_999, 0, 4_999, 5_000] {
            let verdict = judge_taken(NINE, Some(NINE + off), NINE, Some(&daily));
            assert_eq!(verdict, Some(Taken::Slot), "{off} ms is the peer's slack");
        }
        assert_eq!(judge_taken(NINE, Some(NINE - 5_001), NINE, Some(&daily)), None, "an older one");
        let often = compiled("*/4 * * * * *");
        assert_eq!(
            judge_taken(NINE, Some(NINE - 4_000), NINE, Some(&often)),
            None,
            "the one before"
        );
        let verdict = judge_taken(NINE, Some(NINE + 4_000), NINE, Some(&often));
        assert_eq!(verdict, Some(Taken::Later), "a later one was claimed");
    }

    #[test]
    fn a_claim_from_a_wrong_clock_says_nothing() {
        let day = WRONG_CLOCK_MS;
        assert_eq!(judge_taken(NINE, Some(NINE + day), NINE, None), Some(Taken::Later), "a day");
        assert_eq!(judge_taken(NINE, Some(NINE + day + 1), NINE, None), None, "beyond a day");
        assert_eq!(judge_taken(NINE, None, NINE, None), None, "never claimed");
    }
}
