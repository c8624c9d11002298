//! What the operations take and answer beside the views.

use crate::Paths;
use crate::agent::OpenCodeEnvironment;
use crate::clock::Clock;
use crate::settings::Settings;
use crate::task::Task;
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
