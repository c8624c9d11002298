//! Tasks as they are persisted and shown; [`policy`] is what a loop may ask for beyond the seed.

pub mod policy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Names one task among all projects.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct TaskKey {
    /// The project's id, as in the name of its shared file.
    pub project_id: String,
    /// The task's id, unique within the project.
    pub task_id: String,
}

impl TaskKey {
    /// Names a task.
    pub fn new(project_id: impl Into<String>, task_id: impl Into<String>) -> Self {
        TaskKey { project_id: project_id.into(), task_id: task_id.into() }
    }
}

/// One due instant of one task, as its schedule computes it, before any jitter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// The task.
    pub task: TaskKey,
    /// Wall time, ms since 1970.
    pub scheduled_for: i64,
}

/// What is persisted of a task, in the shape of the shared JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique within the project; never changes.
    pub id: String,
    /// What people call it; at most 80 UTF-16 units.
    pub name: String,
    /// Whether its schedule is armed.
    pub enabled: bool,
    /// When it runs.
    pub schedule: Schedule,
    /// What runs.
    pub execution: Execution,
    /// What happened.
    pub state: TaskState,
    /// The absolute path of the loop file that defines it; `None` for a JSON task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_file: Option<String>,
}

/// When a task runs. `timezone` is an IANA name; `None` only before a zone was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs, reason = "the fields are the shared file's (PEERS §2)")]
pub enum Schedule {
    /// A cron expression of five or six fields, or an alias.
    Cron {
        cron: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
    },
    /// `HH:MM` times, every day.
    Daily {
        times: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
    },
    /// `HH:MM` times on weekdays 0–6, Sunday 0.
    Weekly {
        times: Vec<String>,
        weekdays: Vec<u8>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
    },
    /// One date (`YYYY-MM-DD`) and time (`HH:MM`).
    Once {
        date: String,
        time: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
    },
}

impl Schedule {
    /// Returns the zone's IANA name; `None` before one was written.
    pub fn timezone(&self) -> Option<&str> {
        match self {
            Schedule::Cron { timezone, .. }
            | Schedule::Daily { timezone, .. }
            | Schedule::Weekly { timezone, .. }
            | Schedule::Once { timezone, .. } => timezone.as_deref(),
        }
    }

    /// Returns the same schedule in another zone.
    pub fn with_timezone(mut self, zone: impl Into<String>) -> Self {
        match &mut self {
            Schedule::Cron { timezone, .. }
            | Schedule::Daily { timezone, .. }
            | Schedule::Weekly { timezone, .. }
            | Schedule::Once { timezone, .. } => *timezone = Some(zone.into()),
        }
        self
    }

    /// Says whether the schedule has one slot only.
    pub fn is_once(&self) -> bool {
        matches!(self, Schedule::Once { .. })
    }
}

/// What runs: prompt, model, and what the peer knows beside them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// The prompt; `/name args` calls a slash command. Shared: a loop and its task hold the same text.
    pub prompt: Arc<str>,
    /// The part of `model` before the first slash.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// The rest of `model`.
    #[serde(rename = "modelID")]
    pub model_id: String,
    /// A variant of the model (thinking level).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The OpenCode agent; `None` for its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether the session is driven on until the goal is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_enabled: Option<bool>,
    /// How many tokens that may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_token_budget: Option<i64>,
    /// Whether permissions are granted without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_auto_accept: Option<bool>,
}

/// The last status as the shared file words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words are the shared file's (PEERS §2)")]
pub enum LastStatus {
    Idle,
    Running,
    Success,
    Error,
}

/// What happened to a task, as the shared file keeps it; all times in ms since 1970.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields are the shared file's (PEERS §2)")]
pub struct TaskState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<LastStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scheduled_for: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// What a loop file defines; everything else of a task is Loopkeeper's or the peer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The loop's name.
    pub name: String,
    /// Only a real boolean `true` enables.
    pub enabled: bool,
    /// Always a cron schedule; its zone is `None` when the file names none.
    pub schedule: Schedule,
    /// Prompt, model and agent.
    pub execution: Execution,
    /// What the loop asks for beyond the seed; `None` without a `policy:` mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<policy::Policy>>,
}
