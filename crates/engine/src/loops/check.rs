//! What a loop's schedule and zone are checked with: the very schedule that will be armed.

use crate::schedule::{Compiled, ScheduleError, zone};
use crate::task::Schedule;

/// What a good expression or zone may still surprise with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// A sentence each.
    pub(crate) notes: Vec<String>,
    /// What to write so that every reader takes it alike; `None` when it may stay.
    pub(crate) better: Option<String>,
}

/// Checks a cron expression.
///
/// # Errors
/// What is wrong, and what to write.
pub(crate) fn check_cron(expression: &str) -> Result<Checked, ScheduleError> {
    let schedule = Schedule::Cron { cron: expression.to_owned(), timezone: None };
    let compiled = Compiled::new(&schedule)?;
    Ok(Checked { notes: compiled.notes(), better: compiled.for_peer() })
}

/// Checks a zone; `better` is its proper spelling.
///
/// # Errors
/// What is wrong, and what to write.
pub(crate) fn check_zone(name: &str) -> Result<Checked, ScheduleError> {
    let proper = zone(name)?.name();
    // Any schedule will do: what is asked for are the notes on the zone.
    let schedule =
        Schedule::Daily { times: vec!["00:00".to_owned()], timezone: Some(proper.to_owned()) };
    let notes = Compiled::new(&schedule)?.notes();
    Ok(Checked { notes, better: (proper != name).then(|| proper.to_owned()) })
}

/// Returns the zone that a refusal suggests; `None` when it names several, as examples.
pub(crate) fn suggested(refusal: &ScheduleError) -> Option<&'static str> {
    let mut names = refusal
        .help
        .split_whitespace()
        .filter_map(|word| zone(word.trim_matches([',', ';', '.', '`'])).ok())
        .map(|zone| zone.name());
    let first = names.next()?;
    names.next().is_none().then_some(first)
}
