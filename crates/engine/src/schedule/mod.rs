//! Schedules: from an expression to instants, pure and the same whoever asks and when.
//!
//! `cron` reads the dialect, `wall` finds wall times, `zone` knows offsets and names; this
//! module turns wall times into instants. `words` says a schedule, `notes` says where others
//! would read it differently, [`read`] takes one from the shared file.
//!
//! Clock changes (DESIGN §6):
//!
//! | What | Fixed times | Interval-like (`*` begins the minute or hour field) |
//! |---|---|---|
//! | the wall time is left out (gap) | moves forward by the gap's length | the first one lost moves, and none when every hour is named: the beat goes on by itself |
//! | the wall time comes twice (fold) | once, at the first | both times: the beat goes on in real time |
//! | the zone leaves a whole day out | no slot (a `once` moves by the gap) | no slot |

mod cron;
mod field;
mod notes;
pub mod read;
mod wall;
mod words;
mod zone;

#[cfg(test)]
mod tests;

pub use zone::zone;

use crate::task::Schedule;
use chrono_tz::Tz;
use cron::Cron;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wall::{DAY, Recurring, Wall};
use zone::{Span, Spans};

/// Says what is wrong with a schedule, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ScheduleError {
    /// The field, such as `schedule.cron`, as the shared file names it.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// What a clock change did to one occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClockChange {
    /// Its wall time is left out on that day, so that it runs later by the length of the gap.
    Moved {
        /// The wall time that the schedule names, `HH:MM` or `HH:MM:SS`.
        named: String,
        /// The wall time at which it runs.
        runs: String,
    },
    /// Its wall time comes twice on that day; it runs at the first only.
    FirstOfTwo {
        /// That wall time, `HH:MM` or `HH:MM:SS`.
        named: String,
    },
}

impl std::fmt::Display for ClockChange {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClockChange::Moved { named, runs } => {
                write!(to, "the clocks go forward: {named} does not exist, it runs at {runs}")
            }
            ClockChange::FirstOfTwo { named } => {
                write!(to, "the clocks go back: {named} comes twice, it runs at the first")
            }
        }
    }
}

/// How wall times behave when the clock is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beat {
    /// Times: every one runs, each once.
    Fixed,
    /// A beat over some hours: the first time lost in a gap runs behind it.
    Stepped,
    /// A beat over all hours: it goes on by itself.
    Steady,
}

/// A schedule that is ready to be asked; cheap to clone.
#[derive(Debug, Clone)]
pub struct Compiled(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    schedule: Schedule,
    wall: Wall,
    beat: Beat,
    zone: Tz,
    spans: Arc<Spans>,
}

/// Ten thousand years, in ms: dates end with the year 9999.
const FIRST_MS: i64 = -62_135_596_800_000;
const LAST_MS: i64 = 253_402_300_799_999;

impl Compiled {
    /// Makes a schedule ready; without a zone it is in UTC.
    ///
    /// # Errors
    /// Names the field and what to write; expressions that never match are errors too.
    pub fn new(schedule: &Schedule) -> Result<Compiled, ScheduleError> {
        let zone = schedule.timezone().map_or(Ok(Tz::UTC), zone::zone)?;
        let mut beat = Beat::Fixed;
        let wall = match schedule {
            Schedule::Cron { cron: text, .. } => {
                let read = Cron::parse(text)?;
                beat = match read.interval {
                    true if read.hours == cron::EVERY_HOUR => Beat::Steady,
                    true => Beat::Stepped,
                    false => Beat::Fixed,
                };
                Wall::Recurring(Recurring::cron(&read))
            }
            Schedule::Daily { times, .. } => {
                Wall::Recurring(Recurring::times(read::times(times)?, cron::EVERY_WEEKDAY))
            }
            Schedule::Weekly { times, weekdays, .. } => {
                let weekdays = read::weekdays(weekdays)?;
                Wall::Recurring(Recurring::times(read::times(times)?, weekdays))
            }
            Schedule::Once { date, time, .. } => Wall::Once(read::moment(date, time)?),
        };
        let spans = Spans::of(zone);
        let schedule = schedule.clone();
        Ok(Compiled(Arc::new(Inner { schedule, wall, beat, zone, spans })))
    }

    /// Returns the first occurrence after `t_ms` (both in ms since 1970); `None` when none is left.
    pub fn next_after(&self, t_ms: i64) -> Option<i64> {
        let from = t_ms.clamp(FIRST_MS, LAST_MS).div_euclid(1000) + 1;
        Search { inner: &self.0, from, known: None }.run().map(|second| second * 1000)
    }

    /// Returns the occurrences in `after_ms < x ≤ until_ms`, in order.
    pub fn between(&self, after_ms: i64, until_ms: i64) -> impl Iterator<Item = i64> + '_ {
        std::iter::successors(self.next_after(after_ms), |last| self.next_after(*last))
            .take_while(move |at| *at <= until_ms)
    }

    /// Says whether this very instant is an occurrence.
    pub fn yields(&self, t_ms: i64) -> bool {
        t_ms.checked_sub(1).and_then(|before| self.next_after(before)) == Some(t_ms)
    }

    /// Reads the expression again; `None` for other kinds. Its texts would be a fifth of what an
    /// armed task takes, and only people ask for them.
    fn cron(&self) -> Option<Cron> {
        match &self.0.schedule {
            Schedule::Cron { cron, .. } => Cron::parse(cron).ok(),
            _ => None,
        }
    }

    /// Returns the zone in force.
    pub fn zone(&self) -> Tz {
        self.0.zone
    }

    /// Returns the schedule as it was given.
    pub fn schedule(&self) -> &Schedule {
        &self.0.schedule
    }

    /// Says the schedule in words, without its zone: "Every day at 09:00".
    pub fn words(&self) -> String {
        words::of(&self.0.schedule, self.cron().as_ref())
    }

    /// Says where others (classic cron, the peer) read the schedule differently, and what may
    /// surprise; a sentence each.
    pub fn notes(&self) -> Vec<String> {
        notes::of(&self.0.schedule, self.cron().as_ref())
    }

    /// Returns the cron expression to write so that the peer reads it in the same way; `None` when
    /// it may stay as it is.
    pub fn for_peer(&self) -> Option<String> {
        self.cron().as_ref().and_then(Cron::for_peer)
    }

    /// Says what a clock change did to this occurrence; `None` for nothing, and for an instant that
    /// is no occurrence.
    pub fn clock_change(&self, t_ms: i64) -> Option<ClockChange> {
        if !self.yields(t_ms) {
            return None;
        }
        let inner = &*self.0;
        let second = t_ms.div_euclid(1000);
        let index = inner.spans.index(second);
        let span = inner.spans.get(index)?;
        let wall = second + span.offset;
        let unmoved = inner.wall.at_or_after(wall) == Some(wall);
        if !unmoved && span.jump > 0 {
            return Some(ClockChange::Moved { named: clock(wall - span.jump), runs: clock(wall) });
        }
        let next = inner.spans.get(index + 1)?;
        let repeated = next.jump < 0 && wall >= next.start + next.offset;
        (repeated && inner.beat == Beat::Fixed)
            .then(|| ClockChange::FirstOfTwo { named: clock(wall) })
    }
}

/// Writes the time of a wall time.
fn clock(wall: i64) -> String {
    let second = wall.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

/// One search for the next occurrence; all in seconds.
struct Search<'a> {
    inner: &'a Inner,
    /// The first instant that counts.
    from: i64,
    /// The last answer of `wall`: nothing from the first up to the second, exclusively.
    known: Option<(i64, i64)>,
}

impl Search<'_> {
    fn run(mut self) -> Option<i64> {
        let mut index = self.inner.spans.index(self.from);
        loop {
            let span = self.inner.spans.get(index)?;
            let from = self.from.max(span.start);
            let moved = self.moved(span, from);
            let mut lower = from;
            if span.jump < 0 && self.inner.beat == Beat::Fixed {
                // What the clock shows here again was already there before it went back.
                lower = lower.max(span.start - span.jump);
            }
            let wall = self.wall(lower + span.offset);
            let unmoved = wall.map(|wall| wall - span.offset).filter(|at| *at < span.end);
            match (moved, unmoved) {
                (Some(moved), Some(unmoved)) => return Some(moved.min(unmoved)),
                (Some(at), None) | (None, Some(at)) => return Some(at),
                (None, None) => wall?,
            };
            index += 1;
        }
    }

    /// Returns the first occurrence at or after `from` whose wall time lies in the gap at the
    /// beginning of `span`.
    fn moved(&mut self, span: &Span, from: i64) -> Option<i64> {
        if span.jump <= 0 || from >= span.start + span.jump || self.inner.beat == Beat::Steady {
            return None;
        }
        // The gap, and its wall times read with the offset before the jump.
        let (begin, before) = (span.start + span.offset - span.jump, span.offset - span.jump);
        let end = begin + span.jump;
        let fixed = self.inner.beat == Beat::Fixed;
        let mut at = if fixed { from + before } else { begin };
        loop {
            let wall = self.wall(at).filter(|wall| *wall < end)?;
            let day = wall - wall.rem_euclid(DAY);
            let whole_day = day >= begin && day + DAY <= end;
            if whole_day && !matches!(self.inner.wall, Wall::Once(_)) {
                at = day + DAY;
                continue;
            }
            let instant = wall - before;
            return (instant >= from && instant < span.end).then_some(instant);
        }
    }

    /// Returns the first wall time at or after `from`, and remembers it.
    fn wall(&mut self, from: i64) -> Option<i64> {
        match self.known {
            Some((asked, found)) if asked <= from && from <= found => Some(found),
            _ => {
                let found = self.inner.wall.at_or_after(from)?;
                self.known = Some((from, found));
                Some(found)
            }
        }
    }
}
