//! The whole at a glance, and the pause of everything: what the tray and the head show.

use super::needs::Need;
use crate::ledger::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the tray and the head of the window show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Wall time of this answer.
    pub now: i64,
    /// How many tasks are armed.
    pub armed: usize,
    /// How many tasks there are.
    pub tasks: usize,
    /// How many projects there are.
    pub projects: usize,
    /// The next occurrence of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextUp>,
    /// Open runs.
    pub running: Vec<Run>,
    /// What needs a person, most urgent first.
    pub needs_you: Vec<Need>,
    /// The pause of everything, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseView>,
    /// Whether the scheduler has stopped looking at the clock (age of its last look over 120 s).
    pub stalled: bool,
    /// What is wrong with the whole (another data folder in use, watching impossible, …).
    pub warnings: Vec<String>,
}

/// The next occurrence of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextUp {
    /// The project.
    pub project_id: String,
    /// The task.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// When.
    pub at: i64,
}

/// The seed's four counts, and the pause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCounts {
    /// Whether any task is enabled.
    pub has_enabled_scheduled_tasks: bool,
    /// Whether any task runs.
    pub has_running_scheduled_tasks: bool,
    /// How many are enabled.
    pub enabled_scheduled_tasks_count: usize,
    /// How many run.
    pub running_scheduled_tasks_count: usize,
    /// Until when all is paused; `None` when it is not, or without end (see [`Overview::paused`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<i64>,
}

/// A pause of everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseView {
    /// When it began.
    pub since: i64,
    /// When it ends by itself; `None`: when somebody resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

impl PauseView {
    /// Says whether a slot (ms since 1970) lies within the pause, and so is skipped.
    pub fn holds(&self, slot: i64) -> bool {
        slot >= self.since && self.until.is_none_or(|until| slot < until)
    }
}
