//! What happened and what comes, a lane for each task.

use super::overview::PauseView;
use super::schedules::Upcoming;
use crate::ledger::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened and what comes, task by task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The first instant shown.
    pub from: i64,
    /// The last instant shown.
    pub to: i64,
    /// Wall time of this answer.
    pub now: i64,
    /// A lane per task that has anything to show.
    pub lanes: Vec<Lane>,
    /// Times in which all was or will be paused.
    pub pauses: Vec<PauseView>,
}

/// One task's part of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// The project.
    pub project_id: String,
    /// The task.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// Past and open runs, oldest first; skipped and missed slots are among them.
    pub runs: Vec<Run>,
    /// Coming occurrences, at most 500.
    pub upcoming: Vec<Upcoming>,
    /// Whether more occurrences come than are listed.
    pub more: bool,
}
