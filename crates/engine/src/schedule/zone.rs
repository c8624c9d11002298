//! Zones: their names, and when their offset changes.

use super::ScheduleError;
use crate::settings::suggest::distance;
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A stretch of time with one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first second, since 1970 UTC.
    pub start: i64,
    /// The first second behind it.
    pub end: i64,
    /// Local time minus UTC, in seconds.
    pub offset: i64,
    /// By how much the clock jumped at `start`: forward (a gap) above 0, back (a fold) below 0.
    pub jump: i64,
}

/// All the spans of a zone, without holes; before 1970 and after 2101 its offset stands still.
#[derive(Debug)]
pub struct Spans(Vec<Span>);

const FROM: i64 = 0;
const UNTIL: i64 = 4_133_980_800; // 2101-01-01
/// No zone has changed its offset and changed it back within this time.
const STEP: i64 = 5 * 86_400;

impl Spans {
    /// Returns the spans of a zone; they are found once per process.
    pub fn of(zone: Tz) -> Arc<Spans> {
        static FOUND: OnceLock<Mutex<HashMap<Tz, Arc<Spans>>>> = OnceLock::new();
        let mut found =
            FOUND.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        found.entry(zone).or_insert_with(|| Arc::new(Spans::find(zone))).clone()
    }

    fn find(zone: Tz) -> Spans {
        let mut offset = offset_at(zone, FROM);
        let mut spans = vec![Span { start: i64::MIN, end: i64::MAX, offset, jump: 0 }];
        let mut known = FROM;
        while known < UNTIL {
            let next = known + STEP;
            let then = offset_at(zone, next);
            if then != offset {
                let (mut before, mut after) = (known, next);
                while after - before > 1 {
                    let middle = before + (after - before) / 2;
                    if offset_at(zone, middle) == offset { before = middle } else { after = middle }
                }
                if let Some(last) = spans.last_mut() {
                    last.end = after;
                }
                spans.push(Span { start: after, end: i64::MAX, offset: then, jump: then - offset });
                offset = then;
            }
            known = next;
        }
        Spans(spans)
    }

    /// Returns the index of the span that holds a second since 1970.
    pub fn index(&self, second: i64) -> usize {
        self.0.partition_point(|span| span.end <= second)
    }

    /// Returns a span.
    pub fn get(&self, index: usize) -> Option<&Span> {
        self.0.get(index)
    }
}

fn offset_at(zone: Tz, second: i64) -> i64 {
    let at = DateTime::from_timestamp(second, 0).unwrap_or_default().naive_utc();
    i64::from(zone.offset_from_utc_datetime(&at).fix().local_minus_utc())
}

/// Finds a zone by its IANA name, in any case.
///
/// # Errors
/// Abbreviations such as PST, offsets such as +02:00 and unknown names are refused, with the name
/// to write; there is never a silent UTC.
pub fn zone(name: &str) -> Result<Tz, ScheduleError> {
    static BY_LOWER_CASE: OnceLock<HashMap<String, Tz>> = OnceLock::new();
    let name = name.trim();
    if let Ok(zone) = name.parse() {
        return Ok(zone);
    }
    let lower = name.to_ascii_lowercase();
    let known = BY_LOWER_CASE.get_or_init(|| {
        TZ_VARIANTS.iter().map(|zone| (zone.name().to_ascii_lowercase(), *zone)).collect()
    });
    known.get(&lower).copied().ok_or_else(|| ScheduleError {
        field: "schedule.timezone".to_owned(),
        message: format!("`{name}` is not an IANA time zone"),
        help: suggestion(&lower),
    })
}

fn suggestion(lower: &str) -> String {
    let abbreviation = match lower {
        "pst" | "pdt" | "pt" => Some("America/Los_Angeles"),
        "edt" | "et" => Some("America/New_York"),
        "cst" | "cdt" => Some("America/Chicago"),
        "mdt" => Some("America/Denver"),
        "akst" | "akdt" => Some("America/Anchorage"),
        "bst" => Some("Europe/London"),
        "cest" => Some("Europe/Berlin"),
        "eest" => Some("Europe/Kyiv"),
        "msk" => Some("Europe/Moscow"),
        "ist" => Some("Asia/Kolkata"),
        "jst" => Some("Asia/Tokyo"),
        "kst" => Some("Asia/Seoul"),
        "aest" | "aedt" => Some("Australia/Sydney"),
        "z" => Some("UTC"),
        _ => None,
    };
    if let Some(name) = abbreviation {
        return format!("write the name of a place, such as {name}");
    }
    if lower == "local" {
        return "leave the zone out for the zone of this machine".to_owned();
    }
    if let Some(hours) = fixed_offset(lower) {
        let sign = if hours > 0 { '-' } else { '+' };
        return format!(
            "write the name of a place, such as Europe/Kyiv; for this fixed offset write \
             Etc/GMT{sign}{} (its sign is reversed)",
            hours.abs()
        );
    }
    match closest(lower) {
        Some(zone) => format!("write {}", zone.name()),
        None => "write the name of a place, such as Europe/Kyiv, or UTC".to_owned(),
    }
}

/// Reads `+02:00`, `UTC+3`, `GMT-5` as whole hours that have an `Etc/GMT` name.
fn fixed_offset(lower: &str) -> Option<i32> {
    let rest = lower.strip_prefix("utc").or_else(|| lower.strip_prefix("gmt")).unwrap_or(lower);
    let sign = match rest.chars().next()? {
        '+' => 1,
        '-' | '−' => -1,
        _ => return None,
    };
    let digits: String = rest.chars().skip(1).filter(|c| *c != ':').collect();
    let hours: i32 = match digits.len() {
        1 | 2 => digits.parse().ok()?,
        4 if digits.ends_with("00") => digits[..2].parse().ok()?,
        _ => return None,
    };
    (1..=if sign > 0 { 14 } else { 12 }).contains(&hours).then_some(sign * hours)
}

fn closest(lower: &str) -> Option<Tz> {
    let wanted = lower.replace(' ', "_");
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    if let Some(zone) = TZ_VARIANTS.iter().find(|zone| city(zone.name()) == wanted) {
        return Some(*zone);
    }
    if wanted.len() < 6 {
        // Two letters away from a short name is nearly everything.
        return None;
    }
    let near = TZ_VARIANTS
        .iter()
        .map(|zone| (distance(&zone.name().to_ascii_lowercase(), &wanted), zone))
        .min_by_key(|(distance, _)| *distance)?;
    (near.0 <= 2).then_some(*near.1)
}

/// Returns today's name of a zone that was renamed, or `None`.
pub fn renamed(name: &str) -> Option<&'static str> {
    Some(match name {
        "Europe/Kiev" => "Europe/Kyiv",
        "Asia/Calcutta" => "Asia/Kolkata",
        "Asia/Saigon" => "Asia/Ho_Chi_Minh",
        "Asia/Katmandu" => "Asia/Kathmandu",
        "Asia/Rangoon" => "Asia/Yangon",
        "Asia/Dacca" => "Asia/Dhaka",
        "Atlantic/Faeroe" => "Atlantic/Faroe",
        "America/Buenos_Aires" => "America/Argentina/Buenos_Aires",
        "America/Godthab" => "America/Nuuk",
        "US/Eastern" => "America/New_York",
        "US/Central" => "America/Chicago",
        "US/Mountain" => "America/Denver",
        "US/Pacific" => "America/Los_Angeles",
        _ => return None,
    })
}
