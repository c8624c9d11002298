//! Texts and schedules looked at without running anything: pure but for the zone and "now".

use super::{Engine, EngineError, Result};
use crate::loops;
use crate::schedule::{Compiled, ScheduleError};
use crate::task::Schedule;
use crate::view::{CheckView, Preview, Upcoming};

/// How many occurrences a preview shows beside a text.
const SHOWN: usize = 5;

/// The most occurrences that a preview may be asked for.
const MOST: usize = 1_000;

/// Says what a loop text comes to, with no data folder.
pub fn check_loop(bytes: &[u8], machine_zone: &str, now_ms: i64) -> CheckView {
    let parsed = loops::parse(bytes);
    let preview = parsed.definition.as_ref().and_then(|definition| {
        preview_schedule(&definition.schedule, machine_zone, now_ms, SHOWN).ok()
    });
    CheckView {
        ok: parsed.definition.is_some(),
        definition: parsed.definition,
        diagnostics: parsed.diagnostics,
        preview,
    }
}

/// Says a schedule in words, and its next `count` (1–1,000) occurrences after `after_ms`.
///
/// # Errors
/// `Invalid` with the reason and what to write.
pub fn preview_schedule(
    schedule: &Schedule,
    machine_zone: &str,
    after_ms: i64,
    count: usize,
) -> Result<Preview> {
    if !(1..=MOST).contains(&count) {
        return Err(EngineError::Invalid {
            field: Some("count".to_owned()),
            message: format!("{count} occurrences cannot be shown: ask for 1 to {MOST}"),
        });
    }
    let zoned = match schedule.timezone() {
        Some(_) => schedule.clone(),
        None => schedule.clone().with_timezone(machine_zone),
    };
    let compiled = Compiled::new(&zoned).map_err(invalid)?;
    Ok(Preview {
        words: compiled.words(),
        timezone: compiled.zone().name().to_owned(),
        next: upcoming(&compiled, after_ms, count),
        notes: compiled.notes(),
    })
}

/// Returns the next occurrences with what clock changes did to them.
pub(super) fn upcoming(compiled: &Compiled, after_ms: i64, count: usize) -> Vec<Upcoming> {
    std::iter::successors(compiled.next_after(after_ms), |at| compiled.next_after(*at))
        .take(count)
        .map(|at| Upcoming { at, clock_change: compiled.clock_change(at) })
        .collect()
}

fn invalid(error: ScheduleError) -> EngineError {
    EngineError::Invalid { field: Some(error.field.to_string()), message: error.to_string() }
}

impl Engine {
    /// Says what a loop text comes to.
    ///
    /// # Errors
    /// Never: what is wrong with the text is in the answer.
    pub async fn check(&self, text: &str) -> Result<CheckView> {
        Ok(check_loop(text.as_bytes(), &self.runtime().around.machine_zone, self.now()))
    }

    /// Says a schedule in words, and its next occurrences after `after` (ms, `None` is now).
    ///
    /// # Errors
    /// `Invalid` with the reason and what to write.
    pub async fn preview(
        &self,
        schedule: &Schedule,
        after: Option<i64>,
        count: usize,
    ) -> Result<Preview> {
        let zone = &self.runtime().around.machine_zone;
        preview_schedule(schedule, zone, after.unwrap_or_else(|| self.now()), count)
    }
}
