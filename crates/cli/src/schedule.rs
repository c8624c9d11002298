//! Schedules and instants as people write them on the command line.

use crate::failure::Failure;
use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, TimeZone as _};
use chrono_tz::Tz;
use clap::Args;
use loopkeeper_engine::task::Schedule;

/// When: one of `--cron --daily --weekly --once`.
#[derive(Debug, Clone, Default, Args)]
pub struct When {
    /// A cron expression of five fields, or six with seconds first
    #[arg(long, value_name = "EXPR", group = "when")]
    pub cron: Option<String>,
    /// Every day at these times
    #[arg(long, value_name = "HH:MM,…", group = "when")]
    pub daily: Option<String>,
    /// On these weekdays (0–6, Sunday 0, or mon,tue,…), at --time
    #[arg(long, value_name = "DAYS", group = "when", requires = "time")]
    pub weekly: Option<String>,
    /// Once, on this date, at --time
    #[arg(long, value_name = "YYYY-MM-DD", group = "when", requires = "time")]
    pub once: Option<String>,
    /// The times of --weekly, the time of --once
    #[arg(long, value_name = "HH:MM,…")]
    pub time: Option<String>,
    /// The zone (IANA name) [default: the machine's]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
}

impl When {
    /// Returns the schedule that was given, if one was.
    ///
    /// # Errors
    /// A weekday that is none.
    pub fn schedule(&self) -> Result<Option<Schedule>, Failure> {
        let timezone = self.timezone.clone();
        let times = || list(self.time.as_deref().unwrap_or_default());
        Ok(if let Some(cron) = &self.cron {
            Some(Schedule::Cron { cron: cron.trim().to_owned(), timezone })
        } else if let Some(daily) = &self.daily {
            Some(Schedule::Daily { times: list(daily), timezone })
        } else if let Some(weekly) = &self.weekly {
            let weekdays = list(weekly).iter().map(|day| weekday(day)).collect::<Result<_, _>>()?;
            Some(Schedule::Weekly { times: times(), weekdays, timezone })
        } else if let Some(once) = &self.once {
            let time = times().into_iter().next().unwrap_or_default();
            Some(Schedule::Once { date: once.clone(), time, timezone })
        } else {
            None
        })
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn weekday(text: &str) -> Result<u8, Failure> {
    const NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    if let Ok(day) = text.parse::<u8>() {
        return match day {
            0..=6 => Ok(day),
            7 => Ok(0),
            _ => Err(Failure::usage(format!("{day} is no weekday"))
                .help("write 0 (Sunday) to 6 (Saturday), or sun, mon, …")),
        };
    }
    let short: String = text.to_ascii_lowercase().chars().take(3).collect();
    NAMES.iter().position(|name| *name == short).and_then(|at| u8::try_from(at).ok()).ok_or_else(
        || {
            Failure::usage(format!("{text} is no weekday"))
                .help("write 0 (Sunday) to 6 (Saturday), or sun, mon, …")
        },
    )
}

/// Reads an instant: RFC 3339, `YYYY-MM-DD[ HH:MM]`, `HH:MM` (the next one), `tomorrow`, `now`, or
/// a duration from now as `90m`, `+2d`, `-1h`.
///
/// # Errors
/// Says what may be written.
pub fn instant(text: &str, now_ms: i64, zone: Tz) -> Result<i64, Failure> {
    let text = text.trim();
    if text == "now" {
        return Ok(now_ms);
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.timestamp_millis());
    }
    let (sign, length) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(ms) = length_ms(length) {
        return Ok(now_ms.saturating_add(sign * ms));
    }
    let today = zone.timestamp_millis_opt(now_ms).single().map(|at| at.date_naive());
    let wall = |date: NaiveDate, time: NaiveTime| {
        let wall = date.and_time(time);
        // A wall time inside a gap moves forward by the hour that is missing.
        let at = zone.from_local_datetime(&wall).earliest();
        let at = at
            .or_else(|| zone.from_local_datetime(&(wall + chrono::TimeDelta::hours(1))).earliest());
        at.map(|at| at.timestamp_millis())
    };
    let read = || {
        let today = today?;
        if text == "tomorrow" {
            return wall(today.checked_add_days(Days::new(1))?, NaiveTime::MIN);
        }
        if let Ok(time) = NaiveTime::parse_from_str(text, "%H:%M") {
            let at = wall(today, time)?;
            return if at > now_ms {
                Some(at)
            } else {
                wall(today.checked_add_days(Days::new(1))?, time)
            };
        }
        if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            return (date.year() < 10_000).then(|| wall(date, NaiveTime::MIN)).flatten();
        }
        let (date, time) = text.split_once([' ', 'T'])?;
        let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
        let time = NaiveTime::parse_from_str(time, "%H:%M")
            .or_else(|_| NaiveTime::parse_from_str(time, "%H:%M:%S"));
        wall(date, time.ok()?)
    };
    read().ok_or_else(|| {
        Failure::usage(format!("`{text}` is no time"))
            .help("write 2026-12-31T09:00:00Z, 2026-12-31 09:00, 09:00, tomorrow, or a duration such as 90m or 2d")
    })
}

/// Reads a duration as `30s 5m 2h 1d`, in ms.
fn length_ms(text: &str) -> Option<i64> {
    let duration = loopkeeper_engine::task::policy::parse_duration(text).ok()?;
    i64::try_from(duration.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_796_126_400_000; // 2026-12-01 12:00 UTC

    #[test]
    fn instants_are_read_as_people_write_them() {
        let kyiv: Tz = "Europe/Kyiv".parse().expect("a zone");
        for (text, expected) in [
            ("now", NOON),
            ("2026-12-01T12:00:00Z", NOON),
            ("2026-12-01 14:00", NOON),
            ("90m", NOON + 5_400_000),
            ("-1h", NOON - 3_600_000),
            ("15:00", NOON + 3_600_000),
            ("13:00", NOON + 23 * 3_600_000),
            ("tomorrow", NOON + 10 * 3_600_000),
            ("2026-12-02", NOON + 10 * 3_600_000),
        ] {
            assert_eq!(instant(text, NOON, kyiv), Ok(expected), "{text}");
        }
        assert!(instant("soon", NOON, kyiv).is_err());
    }

    #[test]
    fn weekdays_are_numbers_or_names() {
        let when = When {
            weekly: Some("0, wed,7".into()),
            time: Some("09:00,17:30".into()),
            ..When::default()
        };
        let expected = Schedule::Weekly {
            times: vec!["09:00".into(), "17:30".into()],
            weekdays: vec![0, 3, 0],
            timezone: None,
        };
        assert_eq!(when.schedule(), Ok(Some(expected)));
        assert!(weekday("8").is_err() && weekday("noday").is_err());
    }
}
