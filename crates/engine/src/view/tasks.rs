//! A task: as a list shows it, and with everything that its own page shows.

use super::schedules::Upcoming;
use crate::ledger::{Ask, Run, Status};
use crate::loops::{Diagnostic, Scope};
use crate::task::Task;
use crate::task::policy::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a task is doing now, in the order in which lists show them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A run waits for a person.
    Blocked,
    /// Its content has to be approved before it runs.
    NeedsApproval,
    /// It was paused after failures in a row.
    AutoPaused,
    /// A run goes on.
    Running,
    /// A run waits for its turn or its next attempt.
    Waiting,
    /// Enabled, its next occurrence armed.
    Armed,
    /// Enabled, but no occurrence will ever come (a `once` that is over, a schedule that is broken).
    Idle,
    /// Not enabled.
    Off,
}

/// One task as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    /// The project it belongs to.
    pub project_id: String,
    /// That project's name for people.
    pub project_label: String,
    /// The task's id within the project.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether it is armed.
    pub enabled: bool,
    /// What it is doing.
    pub condition: Condition,
    /// The schedule in words, without the zone.
    pub words: String,
    /// The zone in force (IANA).
    pub timezone: String,
    /// Whether that zone differs from the machine's.
    pub foreign_zone: bool,
    /// `provider/model`.
    pub model: String,
    /// The next occurrence; `None` when there is none or the task is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<i64>,
    /// The loop file that defines it; `None` for a JSON task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_file: Option<String>,
    /// Where that file lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// In how many registered projects that file is a task.
    pub seen_in: usize,
    /// What is wrong with the file; not empty means that the last good definition holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_errors: Vec<Diagnostic>,
    /// The run that is open, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_run: Option<Run>,
    /// The newest run that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// Up to 14 ended runs, oldest first.
    pub recent: Vec<RunBar>,
    /// What its open run asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The content hash that waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_hash: Option<String>,
}

/// One bar of a task's recent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunBar {
    /// The run.
    pub id: i64,
    /// How it ended.
    pub status: Status,
    /// When it began (or was due).
    pub at: i64,
    /// How long it took; `None` for what never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

/// One task with everything that its own page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetail {
    /// As in the list.
    pub summary: TaskSummary,
    /// As persisted.
    pub task: Task,
    /// What it asks for itself.
    pub policy: Policy,
    /// What holds, the settings' defaults included.
    pub effective_policy: Policy,
    /// The next five occurrences.
    pub next: Vec<Upcoming>,
    /// What is worth knowing about the schedule.
    pub notes: Vec<String>,
    /// The last 30 days.
    pub stats: Stats,
    /// The failure that paused it, if it is auto-paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_pause: Option<String>,
}

/// Counts of the last 30 days.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Runs that ended.
    pub runs: i64,
    /// Of those, the succeeded ones.
    pub succeeded: i64,
    /// Their cost in the provider's currency; `None` when no run told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Their tokens, in and out.
    pub tokens: i64,
}
