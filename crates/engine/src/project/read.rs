//! Lenient reading of what the shared file holds, as the peer normalises it.

use crate::schedule::read::schedule_from_json;
use crate::task::{Execution, LastStatus, Task, TaskState};
use serde_json::Value;

/// The longest name, in UTF-16 units.
pub(super) const NAME_UNITS: usize = 80;
/// The longest prompt of a JSON task, in UTF-16 units.
pub(super) const PROMPT_UNITS: usize = 20_000;
/// The longest error text in a state, in UTF-16 units.
pub(super) const ERROR_UNITS: usize = 2_000;

/// Reads one element of the task list; `None` when it is no task that this version knows.
pub(super) fn read_task(value: &Value) -> Option<Task> {
    Some(Task {
        id: value.get("id")?.as_str().filter(|id| !trim(id).is_empty())?.to_owned(),
        name: text_of(value.get("name"))?,
        enabled: value.get("enabled").and_then(Value::as_bool).unwrap_or(true),
        schedule: schedule_from_json(value.get("schedule")?)?,
        execution: read_execution(value.get("execution")?)?,
        state: value.get("state").map(read_state).unwrap_or_default(),
        loop_file: text_of(value.get("loopFile")),
    })
}

fn read_execution(value: &Value) -> Option<Execution> {
    Some(Execution {
        prompt: text_of(value.get("prompt"))?.into(),
        provider_id: text_of(value.get("providerID"))?,
        model_id: text_of(value.get("modelID"))?,
        ..optional_execution(value)
    })
}

/// Reads the parts of an execution that may be absent; a budget counts only beside a goal.
pub(super) fn optional_execution(value: &Value) -> Execution {
    let is_true = |key: &str| (value.get(key) == Some(&Value::Bool(true))).then_some(true);
    let goal_enabled = is_true("goalEnabled");
    let budget = number_of(value.get("goalTokenBudget")).filter(|budget| *budget > 0);
    Execution {
        variant: text_of(value.get("variant")),
        agent: text_of(value.get("agent")),
        goal_enabled,
        goal_token_budget: goal_enabled.and(budget),
        permission_auto_accept: is_true("permissionAutoAccept"),
        ..Execution::default()
    }
}

/// Reads a state; keys that make no sense are absent.
pub(super) fn read_state(value: &Value) -> TaskState {
    let number = |key: &str| number_of(value.get(key));
    let status = value.get("lastStatus").cloned();
    TaskState {
        created_at: number("createdAt"),
        updated_at: number("updatedAt"),
        last_status: status.and_then(|status| serde_json::from_value::<LastStatus>(status).ok()),
        last_run_at: number("lastRunAt"),
        last_duration_ms: number("lastDurationMs"),
        next_run_at: number("nextRunAt"),
        last_scheduled_for: number("lastScheduledFor"),
        last_session_id: text_of(value.get("lastSessionId")),
        last_error: text_of(value.get("lastError")).map(|text| cut(text, ERROR_UNITS).0),
    }
}

/// Fills what the peer always writes.
pub(super) fn normalised_state(mut state: TaskState, now_ms: i64) -> TaskState {
    state.created_at.get_or_insert(now_ms);
    state.updated_at.get_or_insert(now_ms);
    state.last_status.get_or_insert(LastStatus::Idle);
    state
}

/// Reads a string without the white space around it; `None` when nothing is left.
pub(super) fn text_of(value: Option<&Value>) -> Option<String> {
    let text = trim(value?.as_str()?);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads a number as JavaScript has it, cut to a whole one; `None` for one below zero.
fn number_of(value: Option<&Value>) -> Option<i64> {
    let number = value?.as_f64().filter(|number| *number >= 0.0 && *number < 9.0e18)?;
    #[allow(clippy::cast_possible_truncation, reason = "cut on purpose, and within i64")]
    Some(number.floor() as i64)
}

/// Trims what JavaScript's `trim` takes as white space: Unicode's, without U+0085, with U+FEFF.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

/// Cuts a text to so many UTF-16 units, never in the middle of a pair; says whether it cut.
pub(super) fn cut(text: String, units: usize) -> (String, bool) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > units {
            return (text[..at].to_owned(), true);
        }
    }
    (text, false)
}
