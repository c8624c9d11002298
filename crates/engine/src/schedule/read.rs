//! Reading schedules: strictly where a person wrote one, leniently where the shared file holds one.

use super::{ScheduleError, cron, wall::DAY};
use crate::task::Schedule;
use chrono::NaiveDate;
use serde_json::Value;

fn error(field: &str, message: impl Into<String>, help: &str) -> ScheduleError {
    ScheduleError { field: field.to_owned(), message: message.into(), help: help.to_owned() }
}

/// Reads `HH:MM` as seconds of the day; `None` for anything else.
pub(super) fn time(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    if bytes.len() != 5 || bytes[2] != b':' {
        return None;
    }
    let two = |at: usize| match (bytes[at], bytes[at + 1]) {
        (a @ b'0'..=b'9', b @ b'0'..=b'9') => Some(u32::from(a - b'0') * 10 + u32::from(b - b'0')),
        _ => None,
    };
    let (hour, minute) = (two(0)?, two(3)?);
    (hour < 24 && minute < 60).then_some(hour * 3600 + minute * 60)
}

/// Reads a non-empty list of times as seconds of the day.
pub(super) fn times(texts: &[String]) -> Result<Vec<u32>, ScheduleError> {
    const FIELD: &str = "schedule.times";
    if texts.is_empty() {
        return Err(error(FIELD, "there is no time", "write at least one, such as 09:00"));
    }
    let read = |text: &String| {
        time(text).ok_or_else(|| {
            let message = format!("`{text}` is not a time");
            error(FIELD, message, "write hours and minutes with two digits each, such as 09:00")
        })
    };
    texts.iter().map(read).collect()
}

/// Reads a non-empty list of weekdays as bits 0–6.
pub(super) fn weekdays(list: &[u8]) -> Result<u8, ScheduleError> {
    const FIELD: &str = "schedule.weekdays";
    if list.is_empty() {
        return Err(error(FIELD, "there is no weekday", "write at least one from 0 (Sunday) to 6"));
    }
    list.iter().try_fold(0, |bits, weekday| match weekday {
        0..=6 => Ok(bits | 1 << weekday),
        _ => {
            let message = format!("{weekday} is not a weekday");
            Err(error(FIELD, message, "write 0 for Sunday, 1 for Monday, up to 6 for Saturday"))
        }
    })
}

fn date(text: &str) -> Option<NaiveDate> {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shape.then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

/// Reads date and time as seconds on the wall.
pub(super) fn moment(date_text: &str, time_text: &str) -> Result<i64, ScheduleError> {
    let date = date(date_text).ok_or_else(|| {
        let message = format!("`{date_text}` is not a date");
        error("schedule.date", message, "write a day that exists as YYYY-MM-DD, such as 2026-12-24")
    })?;
    let time = time(time_text).ok_or_else(|| {
        let message = format!("`{time_text}` is not a time");
        let help = "write hours and minutes with two digits each, such as 09:00";
        error("schedule.time", message, help)
    })?;
    Ok(i64::from(date.to_epoch_days()) * DAY + i64::from(time))
}

/// Reads the schedule of a task in the shared file as leniently as the peer: times and weekdays
/// that are none are dropped, a zone that is no text counts as missing. `None` when nothing is left
/// that could be a schedule; whether it is a good one, [`super::Compiled::new`] says.
pub fn schedule_from_json(value: &Value) -> Option<Schedule> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::trim);
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    let timezone = text("timezone").filter(|zone| !zone.is_empty()).map(str::to_owned);
    let times = || -> Option<Vec<String>> {
        let times = list("times")?.iter().filter_map(Value::as_str).map(str::trim);
        let times: Vec<String> =
            times.filter(|text| time(text).is_some()).map(str::to_owned).collect();
        (!times.is_empty()).then_some(times)
    };
    Some(match text("kind")? {
        "cron" => Schedule::Cron { cron: text("cron")?.to_owned(), timezone },
        "daily" => Schedule::Daily { times: times()?, timezone },
        "weekly" => {
            let weekdays: Vec<u8> = list("weekdays")?.iter().filter_map(weekday).collect();
            if weekdays.is_empty() {
                return None;
            }
            Schedule::Weekly { times: times()?, weekdays, timezone }
        }
        "once" => {
            let (date_text, time_text) = (text("date")?, text("time")?);
            moment(date_text, time_text).ok()?;
            Schedule::Once { date: date_text.to_owned(), time: time_text.to_owned(), timezone }
        }
        _ => return None,
    })
}

/// Reads a whole number from 0 to 6, also one written as `1.0`.
fn weekday(value: &Value) -> Option<u8> {
    let number = value.as_f64()?;
    (number.fract() == 0.0 && (0.0..=6.0).contains(&number)).then_some(number as u8)
}

/// The longest cron expression that is accepted, in characters.
pub const CRON_MAX_LENGTH: usize = cron::MAX_LENGTH;
