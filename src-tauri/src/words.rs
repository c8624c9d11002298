//! Times and texts as menus and notifications say them.

use chrono::{DateTime, Datelike};
use chrono_tz::Tz;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Says how far away an instant is: `in 42 min`, `now`, `2 h ago`. Both in ms since 1970.
pub fn away(at: i64, now: i64) -> String {
    let distance = at - now;
    if distance.abs() < MINUTE && distance <= 0 {
        return if distance > -MINUTE / 2 { "now".to_owned() } else { "just now".to_owned() };
    }
    let size = distance.abs();
    // The future is rounded up: "in 0 min" and an early "now" would both be wrong.
    let round = |unit: i64| if distance > 0 { (size + unit - 1) / unit } else { size / unit };
    let text = if round(MINUTE) < 60 {
        format!("{} min", round(MINUTE))
    } else if round(HOUR) < 48 {
        format!("{} h", round(HOUR))
    } else {
        format!("{} d", round(DAY))
    };
    if distance > 0 { format!("in {text}") } else { format!("{text} ago") }
}

/// Says a length of time: `12 s`, `3 min`, `1 h 5 min`, `2 d`.
pub fn length(ms: i64) -> String {
    let ms = ms.max(0);
    match ms {
        _ if ms < MINUTE => format!("{} s", ms / 1000),
        _ if ms < HOUR => format!("{} min", ms / MINUTE),
        _ if ms < DAY => match (ms / HOUR, ms % HOUR / MINUTE) {
            (hours, 0) => format!("{hours} h"),
            (hours, minutes) => format!("{hours} h {minutes} min"),
        },
        _ => format!("{} d", ms / DAY),
    }
}

/// Says an instant on the clock of `zone`: `09:00` today, `Tue 09:00` within a week, else with the date.
pub fn clock(at: i64, now: i64, zone: Tz) -> String {
    let in_zone = |ms: i64| DateTime::from_timestamp_millis(ms).map(|t| t.with_timezone(&zone));
    let (Some(at), Some(now)) = (in_zone(at), in_zone(now)) else { return "?".to_owned() };
    let days = at.date_naive().signed_duration_since(now.date_naive()).num_days();
    let format = match days {
        0 => "%H:%M",
        -6..=6 => "%a %H:%M",
        _ if at.year() == now.year() => "%-d %b %H:%M",
        _ => "%-d %b %Y %H:%M",
    };
    at.format(format).to_string()
}

/// Makes a text one line of at most `limit` characters, an ellipsis included.
pub fn line(text: &str, limit: usize) -> String {
    let mut words = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        // What lies behind the limit need not be read.
        if words.len() > limit * 4 + 4 {
            break;
        }
    }
    if words.chars().count() <= limit {
        return words;
    }
    let mut cut: String = words.chars().take(limit.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// Says a count with its noun: `1 task`, `3 tasks`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_never_say_zero_and_never_run_early() {
        assert_eq!(away(42 * MINUTE, 0), "in 42 min", "exact");
        assert_eq!(away(1, 0), "in 1 min", "less than a minute is not over yet");
        assert_eq!(away(0, 0), "now", "due");
        assert_eq!(away(0, 50_000), "just now", "seconds are not worth a number");
        assert_eq!(away(0, 125 * MINUTE), "2 h ago", "the past is rounded down");
        assert_eq!(away(3 * DAY, 0), "in 3 d", "days from two on");
        assert_eq!(away(90 * MINUTE, 0), "in 2 h", "the future is rounded up");
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!(length(72_000), "1 min", "seconds matter only below a minute");
        assert_eq!(length(3 * HOUR + 5 * MINUTE), "3 h 5 min", "two units at most");
        assert_eq!(length(-5), "0 s", "a clock set back makes no negative length");
    }

    #[test]
    fn clocks_are_of_the_zone() {
        let now = 1_767_600_000_000; // 2026-01-05 08:00 UTC, a Monday.
        assert_eq!(clock(now + HOUR, now, Tz::Europe__Kyiv), "11:00", "two hours ahead of UTC");
        assert_eq!(clock(now + DAY, now, Tz::UTC), "Tue 08:00", "the weekday says which");
        assert_eq!(clock(now + 30 * DAY, now, Tz::UTC), "4 Feb 08:00", "then the date");
        assert_eq!(clock(now - 30 * DAY, now, Tz::UTC), "6 Dec 2025 08:00", "and the year");
    }

    #[test]
    fn lines_are_single_and_short() {
        assert_eq!(line("a\n\tb  c", 10), "a b c", "no line may break a menu");
        assert_eq!(line("абвгде", 4), "абв…", "counted in characters");
        assert_eq!(line(&"x".repeat(100_000), 5), "xxxx…", "whatever its length");
    }
}
