//! The engine's handle: one plain async method per operation.

use crate::event::EventBus;
use crate::ledger::{Answer, Run, RunFilter};
use crate::task::policy::Policy;
use crate::task::{Schedule, Task};
use crate::Paths;
use crate::clock::Clock;
use crate::settings::Settings;
use crate::view::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Why an operation was refused or failed; each kind is one that a surface acts on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// The input is wrong (HTTP 400, exit 2); `field` names what, where one field is to blame.
    #[error("{message}")]
    Invalid {
        /// The field, as `task.name`.
        field: Option<String>,
        /// What is wrong and what to write.
        message: String,
    },
    /// There is no such thing (404).
    #[error("{0}")]
    NotFound(String),
    /// The task runs already (409, exit 3).
    #[error("{0}")]
    AlreadyRunning(String),
    /// Refused by a rule: not approved, paused, outside the known folders (403, exit 3).
    #[error("{0}")]
    Refused(String),
    /// The file changed meanwhile (412); holds the text on disk and its entity tag.
    #[error("{path} was changed meanwhile")]
    Stale {
        /// The file.
        path: String,
        /// The text on disk; `None` when it is gone.
        text: Option<String>,
        /// Its entity tag.
        etag: Option<String>,
    },
    /// The data folder, a file or the agent cannot be reached or written (503, exit 4).
    #[error("{message}")]
    Unavailable {
        /// What happened, to what.
        message: String,
        /// What to do now.
        help: Option<String>,
    },
    /// A run failed before it had a session (500 in the seed's run route, with the task).
    #[error("{error}")]
    RunFailed {
        /// Why.
        error: String,
        /// The task as persisted now.
        task: Box<Task>,
        /// The run's row.
        run_id: i64,
    },
    /// Something unexpected (500).
    #[error("{0}")]
    Internal(String),
}

/// The result of an operation.
pub type Result<T> = std::result::Result<T, EngineError>;

/// How long a manual run is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// Until the prompt was accepted, or the run ended before that (the seed's run route).
    Accepted,
    /// Until the run ended.
    End,
}

/// Everything that the host knows and the engine must be told.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The folders and files that may be touched.
    pub paths: Paths,
    /// Wall and awake time.
    pub clock: Arc<dyn Clock>,
    /// The settings as read at start.
    pub settings: Settings,
    /// The machine's zone (IANA name).
    pub machine_zone: String,
    /// The machine's name, for `run_on`.
    pub host_name: String,
    /// What the environment says about OpenCode.
    pub environment: OpenCodeEnvironment,
    /// Whether files and the ledger are watched; without it the engine looks when it is asked.
    pub watch: bool,
}

/// What flags and environment say about OpenCode.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OpenCodeEnvironment {
    /// `--opencode`: a URL; goes before everything else.
    pub flag: Option<String>,
    /// `OPENCODE_HOST`: a URL with its port.
    pub host: Option<String>,
    /// `OPENCODE_PORT`.
    pub port: Option<String>,
    /// `OPENCODE_SERVER_PASSWORD`; never logged.
    pub password: Option<String>,
    /// `OPENCODE_SERVER_USERNAME`.
    pub username: Option<String>,
    /// Where the program may be, best first: `OPENCODE_BINARY`, `PATH`, the login shell's `PATH`.
    pub binaries: Vec<PathBuf>,
}

impl std::fmt::Debug for OpenCodeEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCodeEnvironment")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("password", &self.password.as_ref().map(|_| "(set)"))
            .field("binaries", &self.binaries)
            .finish_non_exhaustive()
    }
}

/// Says what a loop text comes to, with no data folder: pure but for the machine's zone and "now".
#[allow(clippy::todo, unused_variables)]
pub fn check_loop(bytes: &[u8], machine_zone: &str, now_ms: i64) -> CheckView {
    todo!()
}

/// Says a schedule in words, and its next `count` (1–1,000) occurrences after `after_ms`: pure.
///
/// # Errors
/// `Invalid` with the reason and what to write.
#[allow(clippy::todo, unused_variables)]
pub fn preview_schedule(
    schedule: &Schedule,
    machine_zone: &str,
    after_ms: i64,
    count: usize,
) -> Result<Preview> {
    todo!()
}

/// A cheap handle on the engine.
#[derive(Debug, Clone)]
pub struct Engine {}

#[allow(clippy::todo, unused_variables, missing_docs, clippy::unused_async)]
impl Engine {
    /// Opens the data folder (made when missing) and the ledger; starts no timers.
    pub async fn open(options: EngineOptions) -> Result<Engine> { todo!() }
    /// Starts timers, watching and taking over (only `serve` and the desktop do).
    pub async fn start(&self) -> Result<()> { todo!() }
    /// Stops: no new claims, child commands ended, sessions left to whoever is there next.
    pub async fn stop(&self) { todo!() }
    /// Says whether timers run in this process.
    pub fn is_started(&self) -> bool { todo!() }
    pub fn events(&self) -> &EventBus { todo!() }
    pub async fn sync_all_projects(&self) -> Result<()> { todo!() }
    pub async fn sync_project(&self, project: &str) -> Result<()> { todo!() }

    // Projects.
    pub async fn projects(&self) -> Result<Vec<ProjectView>> { todo!() }
    pub async fn project(&self, project: &str) -> Result<ProjectView> { todo!() }
    pub async fn add_project(&self, path: &str) -> Result<ProjectView> { todo!() }
    pub async fn remove_project(&self, project: &str) -> Result<()> { todo!() }

    // Tasks. `list_tasks` reconciles first, as the seed's route does.
    pub async fn list_tasks(&self, project: &str) -> Result<Vec<Task>> { todo!() }
    /// All projects, or one; sorted as lists show them.
    pub async fn task_summaries(&self, project: Option<&str>) -> Result<Vec<TaskSummary>> { todo!() }
    pub async fn task(&self, project: &str, task: &str) -> Result<TaskDetail> { todo!() }
    /// Returns all tasks, the task, whether it is new, and notes (what was cut).
    pub async fn upsert_task(&self, project: &str, input: &Value) -> Result<Upserted> { todo!() }
    pub async fn delete_task(&self, project: &str, task: &str) -> Result<Vec<Task>> { todo!() }
    pub async fn set_policy(&self, project: &str, task: &str, policy: &Policy) -> Result<()> { todo!() }
    /// Loop tasks: one token of the file. JSON tasks: the shared file.
    pub async fn set_enabled(&self, project: &str, task: &str, enabled: bool) -> Result<Task> { todo!() }
    /// Only for loop tasks; else `Invalid` (the seed's loop-file route).
    pub async fn set_loop_enabled(&self, project: &str, task: &str, enabled: bool) -> Result<Task> { todo!() }
    /// Moves the file to the trash (kept 30 days).
    pub async fn delete_loop_file(&self, project: &str, task: &str) -> Result<(Vec<Task>, Deleted)> { todo!() }
    pub async fn restore_loop_file(&self, trash_id: &str) -> Result<LoopFileView> { todo!() }
    /// Turns a JSON task into a loop file in the project.
    pub async fn task_to_loop(&self, project: &str, task: &str) -> Result<LoopFileView> { todo!() }

    // Runs.
    /// The seed's manual run: a disabled task is `NotFound`.
    pub async fn run_now(&self, project: &str, task: &str, wait: WaitFor) -> Result<RunAnswer> { todo!() }
    /// Ours: disabled ones too.
    pub async fn try_run(&self, project: &str, task: &str, wait: WaitFor) -> Result<RunAnswer> { todo!() }
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>> { todo!() }
    pub async fn run(&self, run: i64) -> Result<RunView> { todo!() }
    pub async fn cancel(&self, run: i64) -> Result<Run> { todo!() }
    pub async fn answer(&self, run: i64, ask: &str, answer: &Answer) -> Result<Run> { todo!() }

    // Loop files.
    pub async fn loop_file(&self, path: &str) -> Result<LoopFileView> { todo!() }
    pub async fn save_loop_file(&self, path: &str, text: &str, if_match: &str) -> Result<LoopFileView> { todo!() }
    /// `project` None: user scope. Without a text, a filled template.
    pub async fn create_loop_file(&self, project: Option<&str>, name: &str, text: Option<&str>) -> Result<LoopFileView> { todo!() }
    pub async fn check(&self, text: &str) -> Result<CheckView> { todo!() }
    pub async fn preview(&self, schedule: &Schedule, after: Option<i64>, count: usize) -> Result<Preview> { todo!() }
    pub async fn timeline(&self, project: Option<&str>, from: i64, to: i64) -> Result<Timeline> { todo!() }

    // The whole.
    pub async fn overview(&self) -> Result<Overview> { todo!() }
    pub async fn status(&self) -> Result<StatusCounts> { todo!() }
    /// `None`: until resumed.
    pub async fn pause(&self, until: Option<i64>) -> Result<PauseView> { todo!() }
    pub async fn resume(&self) -> Result<()> { todo!() }
    /// Ends a task's auto-pause.
    pub async fn resume_task(&self, project: &str, task: &str) -> Result<()> { todo!() }
    pub async fn dismiss(&self, need: &str) -> Result<()> { todo!() }
    pub async fn approvals(&self) -> Result<Vec<ApprovalView>> { todo!() }
    /// The hash that was shown; another than the content's now is `Stale`.
    pub async fn approve(&self, project: &str, task: &str, hash: &str) -> Result<()> { todo!() }
    /// `{opencode:{state,url,version,startedByUs,binary}, commands:[…], agents:[{name,…}]}`; `directory`: the project's folder.
    pub async fn agents(&self, directory: Option<&str>) -> Result<Value> { todo!() }
    /// `[{provider, model, name}]`, never a secret.
    pub async fn models(&self, directory: Option<&str>) -> Result<Value> { todo!() }
    /// The effective settings, and the file's path.
    pub async fn settings(&self) -> Result<Value> { todo!() }
    /// A partial object of keys to set; comments of the file are kept.
    pub async fn save_settings(&self, changes: &Value) -> Result<Value> { todo!() }
    pub async fn doctor(&self) -> Result<Vec<Finding>> { todo!() }
}

/// What an upsert did.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upserted {
    /// All tasks of the project.
    pub tasks: Vec<Task>,
    /// The task as persisted.
    pub task: Task,
    /// Whether it is new.
    pub created: bool,
    /// What was changed on the way in (cut to a limit, …).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
