//! The title of a run's session: the task's name and the slot's wall time, as the peer writes it.

use super::is_blank;
use chrono::{DateTime, Datelike, Timelike, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};

/// The longest title, in UTF-16 units (PEERS §3).
const LIMIT: usize = 120;

/// Returns `<name> yyyy-MM-dd HH:mm` in the task's zone, at most 120 UTF-16 units.
///
/// `at_ms` is the slot, or the start of a manual run, in ms since 1970. A zone that is missing or
/// unknown falls back to `machine_zone`: an error text must never get into a title.
pub fn session_title(name: &str, zone: Option<&str>, machine_zone: Tz, at_ms: i64) -> String {
    let name = name.trim_matches(is_blank);
    let name = if name.is_empty() { "Scheduled task" } else { name };
    let at = wall_minutes(zone, machine_zone, at_ms);
    // A long name loses its end, never the time.
    let limit = LIMIT.saturating_sub(at.len() + 1);
    let mut units = 0;
    let name: String = name
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= limit
        })
        .collect();
    format!("{name} {at}")
}

/// Returns an instant as `yyyy-MM-dd HH:mm` in a task's zone; empty outside chrono's range.
pub fn wall_minutes(zone: Option<&str>, machine_zone: Tz, at_ms: i64) -> String {
    let zone = zone
        .map(|zone| zone.trim_matches(is_blank))
        .filter(|zone| !zone.is_empty())
        .and_then(|zone| {
            let exact = zone.parse().ok();
            let other_case =
                || TZ_VARIANTS.into_iter().find(|tz| tz.name().eq_ignore_ascii_case(zone));
            exact.or_else(other_case)
        })
        .unwrap_or(machine_zone);
    let Some(utc) = DateTime::<Utc>::from_timestamp_millis(at_ms) else { return String::new() };
    let wall = utc.with_timezone(&zone);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}",
        wall.year(),
        wall.month(),
        wall.day(),
        wall.hour(),
        wall.minute()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_cannot_push_a_title_over_its_limit() {
        let title = session_title(&"🙂".repeat(80), Some("UTC"), Tz::UTC, 0);
        let units = title.encode_utf16().count();
        assert!(units <= LIMIT, "{units} units");
        assert!(title.ends_with("🙂 1970-01-01 00:00"), "cut between characters: {title}");
    }
}
