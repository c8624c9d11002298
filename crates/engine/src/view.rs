//! What the engine shows: the answers of [`crate::engine::Engine`]'s operations.
//!
//! Every surface (tray, window, web page, command line) draws from these types alone, so that all
//! of them tell one truth. On the wire: camelCase, wall times in ms since 1970, durations in ms.

use crate::agent::{AgentInfo, CommandInfo, OpencodeHealth, ProviderInfo};
use crate::ledger::{Ask, Run, Status, Step};
use crate::loops::{Diagnostic, Scope};
use crate::schedule::ClockChange;
use crate::settings::Settings;
use crate::task::policy::Policy;
use crate::task::{Definition, Task};
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

/// One coming occurrence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upcoming {
    /// When.
    pub at: i64,
    /// What a clock change did to it, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_change: Option<ClockChange>,
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

/// A registered project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// The id, as in the name of its shared file.
    pub id: String,
    /// Its folder.
    pub path: String,
    /// Its name for people.
    pub label: String,
    /// How many tasks it holds.
    pub tasks: usize,
    /// How many of them are enabled.
    pub enabled: usize,
    /// Whether it was added with Loopkeeper, and can be removed here.
    pub removable: bool,
    /// What is wrong with its folder or its shared file, and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A file that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    /// What [`crate::engine::Engine::restore_loop_file`] takes.
    pub trash_id: String,
    /// Where it was.
    pub path: String,
    /// When it was deleted; it is kept for 30 days from then on.
    pub deleted_at: i64,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogView {
    /// The file; it need not exist.
    pub path: String,
    /// Its last lines, the oldest first.
    pub lines: Vec<String>,
}

/// What can run prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    /// What is seen of OpenCode without starting it.
    pub opencode: OpencodeHealth,
    /// OpenCode's agents that a task may name; empty where no folder was given.
    pub agents: Vec<AgentInfo>,
    /// OpenCode's slash commands in that folder.
    pub slash_commands: Vec<CommandInfo>,
    /// The command agents of the settings.
    pub commands: Vec<CommandAgentView>,
    /// Why the agents could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A program of the settings that runs prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAgentView {
    /// The part of `model` before the first slash.
    pub name: String,
    /// The program; `None` where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether the prompt is written to its standard input.
    pub stdin: bool,
}

/// Everything that can be chosen as `model`, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsView {
    /// By provider: the demo, the commands, OpenCode's.
    pub providers: Vec<ProviderInfo>,
    /// Why OpenCode's are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The settings that hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The file they stand in; it need not exist.
    pub path: String,
    /// Each of them, also those that the file leaves out.
    pub settings: Settings,
}

/// What a manual run came to so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// Whether it did not fail.
    pub ok: bool,
    /// The task as persisted now.
    pub task: Task,
    /// The run's row.
    pub run_id: i64,
    /// The agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What could not be written, when something could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist_error: Option<String>,
}

/// One run with its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The row.
    pub run: Run,
    /// What it went through, in order.
    pub steps: Vec<Step>,
    /// What it asks now, or asked.
    pub asks: Vec<Ask>,
    /// The command that attaches to its session, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach: Option<String>,
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

/// Why something needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A run asks for a permission or an answer.
    Blocked,
    /// A loop's content waits for approval.
    Approval,
    /// The end of a run could not be written.
    PersistError,
    /// A task was paused after failures in a row.
    AutoPaused,
    /// The newest run failed.
    Failed,
    /// Slots passed while nobody could run them.
    Missed,
    /// A loop file or a project's configuration cannot be read.
    FileError,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// Stays the same while it is the same need; what `dismiss` takes.
    pub id: String,
    /// Why.
    pub kind: NeedKind,
    /// Since when.
    pub at: i64,
    /// What happened and to what, in one sentence.
    pub text: String,
    /// What to do now.
    pub help: String,
    /// The project, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The task, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// That task's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// The run, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// What a blocked run asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content hash to approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

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

/// A loop file as the editor opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopFileView {
    /// Its absolute path.
    pub path: String,
    /// Where it lies.
    pub scope: Scope,
    /// Its text.
    pub text: String,
    /// What a later save has to name.
    pub etag: String,
    /// The ids of the registered projects in which it is a task.
    pub projects: Vec<String>,
    /// What the text comes to.
    pub check: CheckView,
}

/// What a loop text comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// Whether it defines a task.
    pub ok: bool,
    /// The definition; `None` when it is malformed.
    pub definition: Option<Definition>,
    /// Everything worth knowing, with fixes.
    pub diagnostics: Vec<Diagnostic>,
    /// The schedule in words, and its next occurrences; `None` when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
}

/// A schedule in words and its next occurrences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// In words, without the zone.
    pub words: String,
    /// The zone in force.
    pub timezone: String,
    /// The next occurrences.
    pub next: Vec<Upcoming>,
    /// What is worth knowing (a classic cron would differ, …).
    pub notes: Vec<String>,
}

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

/// A loop whose content waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// The project.
    pub project_id: String,
    /// The task.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// The file; `None` for a JSON task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content hash to approve.
    pub hash: String,
    /// Why it has to be approved.
    pub why: String,
    /// The content now.
    pub text: String,
    /// The content that was approved last, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_text: Option<String>,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// All is well.
    Ok,
    /// Worth knowing.
    Warning,
    /// Something does not work.
    Error,
}

/// One finding of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at (`data folder`, `ledger`, `opencode`, …).
    pub area: String,
    /// How grave.
    pub severity: FindingSeverity,
    /// What was found.
    pub message: String,
    /// What to do now; `None` when all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
