//! What clients send: tasks to create or to replace, and tasks to delete.
//!
//! A task that comes in goes out normalised, as the peer does it. What is wrong is refused with
//! the name of its field; nothing is guessed.

use super::document::Document;
use super::read::{
    NAME_UNITS, PROMPT_UNITS, cut, normalised_state, optional_execution, read_state, text_of, trim,
};
use super::splice;
use crate::schedule::{self, Compiled};
use crate::task::{Execution, Schedule, Task};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The longest cron expression, in characters; a cut one would mean something else.
const CRON_CHARS: usize = 200;

/// What an upsert did.
#[derive(Debug, Clone, PartialEq)]
pub struct Upserted {
    /// The task as it is stored now.
    pub task: Task,
    /// Whether no task had that id.
    pub created: bool,
    /// What was changed on the way in, such as a name that was cut.
    pub notes: Vec<String>,
}

/// Why a task was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UpsertError {
    /// The field, such as `schedule.cron`.
    pub field: &'static str,
    /// What is wrong with it and what to write.
    pub message: String,
}

/// Why a task was not deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// No task has the id.
    #[error("there is no task `{id}`")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The loop file would only bring the task back.
    #[error("the task `{id}` comes from {loop_file}: delete that file, or disable the loop")]
    LoopFileExists {
        /// The id.
        id: String,
        /// The file that defines it.
        loop_file: String,
    },
}

fn refused(field: &'static str, message: impl Into<String>) -> UpsertError {
    UpsertError { field, message: message.into() }
}

/// Creates a task, or replaces the stored one with its id.
///
/// `now_ms` is wall time, `new_id` makes the id of a task that comes without one, `zone` is the
/// machine's, for a new task that names none; a stored one keeps its zone then, and its state:
/// what a client sends as `state` counts only for a new task.
///
/// # Errors
/// Names the first field that is wrong.
pub fn upsert(
    document: &mut Document,
    input: &Value,
    now_ms: i64,
    new_id: impl FnOnce() -> String,
    zone: &str,
) -> Result<Upserted, UpsertError> {
    let empty = Map::new();
    let input = match input {
        Value::Object(fields) => fields,
        // A list has none of the fields, so the first of them is missing.
        Value::Array(_) => &empty,
        _ => return Err(refused("task", "task must be an object")),
    };
    let id = text_of(input.get("id")).unwrap_or_else(new_id);
    let stored = document.entry(&id);
    let old = stored.and_then(|entry| entry.task.as_ref());
    let mut notes = Vec::new();

    let name = text_of(input.get("name"))
        .ok_or_else(|| refused("task.name", "task.name is required: a text that is not blank"))?;
    let (name, name_cut) = cut(name, NAME_UNITS);
    if name_cut {
        notes.push(format!("The name was cut to {NAME_UNITS} characters."));
    }
    let old_zone = old.and_then(|old| old.schedule.timezone());
    let schedule = schedule_of(input.get("schedule"), old_zone.unwrap_or(zone))?;
    let execution = execution_of(input.get("execution"), &mut notes)?;
    let state = match stored {
        Some(entry) => splice::decode(entry.text()).get("state").map(read_state),
        None => input.get("state").map(read_state),
    };
    let mut state = normalised_state(state.unwrap_or_default(), now_ms);
    state.updated_at = Some(now_ms);
    let loop_file =
        text_of(input.get("loopFile")).or_else(|| stored.and_then(|entry| entry.loop_file.clone()));
    let enabled = input.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    let created = stored.is_none();
    let task = Task { id, name, enabled, schedule, execution, state, loop_file };
    if !document.replace(&task) {
        document.push(&task);
    }
    Ok(Upserted { task, created, notes })
}

fn execution_of(value: Option<&Value>, notes: &mut Vec<String>) -> Result<Execution, UpsertError> {
    let value = value
        .filter(|value| value.is_object() || value.is_array())
        .ok_or_else(|| refused("execution", "execution is required: an object"))?;
    let required = |key: &str, field: &'static str| {
        text_of(value.get(key))
            .ok_or_else(|| refused(field, format!("{field} is required: a text that is not blank")))
    };
    let (prompt, prompt_cut) = cut(required("prompt", "execution.prompt")?, PROMPT_UNITS);
    if prompt_cut {
        notes.push(format!("The prompt was cut to {PROMPT_UNITS} characters."));
    }
    Ok(Execution {
        prompt: prompt.into(),
        provider_id: required("providerID", "execution.providerID")?,
        model_id: required("modelID", "execution.modelID")?,
        ..optional_execution(value)
    })
}

fn schedule_of(value: Option<&Value>, default_zone: &str) -> Result<Schedule, UpsertError> {
    let value = value
        .filter(|value| value.is_object() || value.is_array())
        .ok_or_else(|| refused("schedule", "schedule is required: an object"))?;
    let kind = value.get("kind").and_then(Value::as_str).map(trim).unwrap_or_default();
    if !matches!(kind, "daily" | "weekly" | "once" | "cron") {
        return Err(refused("schedule.kind", "schedule.kind must be daily, weekly, once, or cron"));
    }
    let zone = text_of(value.get("timezone")).unwrap_or_else(|| default_zone.to_owned());
    schedule::zone(&zone).map_err(|error| {
        refused(
            "schedule.timezone",
            format!("schedule.timezone must be a valid IANA timezone: {error}"),
        )
    })?;
    let timezone = Some(zone);
    let schedule = match kind {
        "daily" => Schedule::Daily { times: times_of(value)?, timezone },
        "weekly" => {
            let times = times_of(value)?;
            Schedule::Weekly { times, weekdays: weekdays_of(value)?, timezone }
        }
        "once" => {
            let date =
                text_of(value.get("date")).filter(|date| is_date(date)).ok_or_else(|| {
                    refused(
                        "schedule.date",
                        "schedule.date must be a day of the calendar, YYYY-MM-DD",
                    )
                })?;
            let time = text_of(value.get("time"))
                .filter(|time| is_time(time))
                .ok_or_else(|| refused("schedule.time", "schedule.time must be HH:mm"))?;
            Schedule::Once { date, time, timezone }
        }
        _ => {
            let cron = text_of(value.get("cron"))
                .ok_or_else(|| refused("schedule.cron", "schedule.cron is required"))?;
            if cron.chars().count() > CRON_CHARS {
                return Err(refused(
                    "schedule.cron",
                    format!("schedule.cron is longer than {CRON_CHARS} characters: use ranges"),
                ));
            }
            Schedule::Cron { cron, timezone }
        }
    };
    Compiled::new(&schedule).map_err(|error| {
        let field = match kind {
            "cron" => "schedule.cron",
            "once" => "schedule.date",
            _ => "schedule.times",
        };
        refused(field, format!("{field} is invalid: {error}"))
    })?;
    Ok(schedule)
}

/// Reads `times` and the older single `time`; a bad single one is ignored, as the peer does.
fn times_of(schedule: &Value) -> Result<Vec<String>, UpsertError> {
    let field = "schedule.times";
    let mut times = BTreeSet::new();
    times.extend(text_of(schedule.get("time")).filter(|time| is_time(time)));
    for time in schedule.get("times").and_then(Value::as_array).into_iter().flatten() {
        let time = text_of(Some(time)).filter(|time| is_time(time));
        times.insert(time.ok_or_else(|| {
            refused(field, "schedule.times must contain HH:mm values, such as 09:00")
        })?);
    }
    if times.is_empty() {
        return Err(refused(field, "schedule.times must include at least one HH:mm value"));
    }
    Ok(times.into_iter().collect())
}

fn weekdays_of(schedule: &Value) -> Result<Vec<u8>, UpsertError> {
    let days = schedule.get("weekdays").and_then(Value::as_array);
    let days: Option<BTreeSet<u8>> = days.into_iter().flatten().map(weekday).collect();
    match days {
        Some(days) if !days.is_empty() => Ok(days.into_iter().collect()),
        _ => Err(refused(
            "schedule.weekdays",
            "schedule.weekdays must be a list of numbers from 0 (Sunday) to 6",
        )),
    }
}

fn weekday(value: &Value) -> Option<u8> {
    let day = value.as_f64().filter(|day| day.fract() == 0.0 && (0.0..=6.0).contains(day))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 6")]
    Some(day as u8)
}

/// Says whether a text is `HH:mm` of a day.
fn is_time(text: &str) -> bool {
    let two = |part: &str, below: u8| {
        part.len() == 2 && part.parse::<u8>().is_ok_and(|number| number < below) && digits(part)
    };
    text.split_once(':').is_some_and(|(hour, minute)| two(hour, 24) && two(minute, 60))
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Says whether a text is a day of the calendar, `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// Deletes a task. `loop_exists` says whether the loop file that owns it exists.
///
/// # Errors
/// When there is no such task, or its loop file would bring it back.
pub fn delete(document: &mut Document, id: &str, loop_exists: bool) -> Result<(), DeleteError> {
    let entry = document.entry(id).filter(|_| !id.is_empty());
    match entry {
        None => Err(DeleteError::NotFound { id: id.to_owned() }),
        Some(entry) => match &entry.loop_file {
            Some(loop_file) if loop_exists => {
                Err(DeleteError::LoopFileExists { id: id.to_owned(), loop_file: loop_file.clone() })
            }
            _ => {
                document.remove(id);
                Ok(())
            }
        },
    }
}

#[cfg(test)]
mod tests;
