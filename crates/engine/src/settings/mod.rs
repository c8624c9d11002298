//! Settings: `settings.toml`, typed, with its defaults (DESIGN §8).
//!
//! Reading is strict: a key that is not known and a value that does not fit are errors with line
//! and way out, since a setting that is silently ignored is worse than none. [`edit()`] changes
//! single keys and keeps every other byte of the file.

mod edit;
mod read;
pub(crate) mod suggest;

pub use edit::edit;
pub(crate) use edit::quoted;
pub use read::KEYS;

use crate::task::policy::{CatchUp, Notify, Overlap, Policy, format_duration, parse_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that can be set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// The agent server OpenCode.
    pub opencode: OpenCode,
    /// Command agents by the provider's name in `model: NAME/…`.
    pub command: BTreeMap<String, CommandAgent>,
    /// Runs: how many at once, how long, what happens to late and failed ones.
    pub runs: Runs,
    /// The right to a run, and how it is kept.
    pub lease: Lease,
    /// The HTTP server of `loopkeeper serve`.
    pub server: Server,
    /// Notifications.
    pub notify: Notifications,
    /// Which loops want an approval before they run.
    pub approval: Approval,
    /// The desktop application.
    pub desktop: Desktop,
    /// The dead man's switch.
    pub signal: Signal,
}

/// Where OpenCode is, or how one is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenCode {
    /// The URL of a running server; `None` for the environment's, else one is started.
    pub url: Option<String>,
    /// The program to start; `None` for the environment's, else the one on the path.
    pub binary: Option<String>,
    /// How long one start may take.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub ready_timeout: Duration,
}

/// A program that runs prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandAgent {
    /// The program and its arguments; `{model}` and `{prompt}` are filled in, never by a shell.
    pub argv: Vec<String>,
    /// Whether the prompt is written to its standard input.
    pub stdin: bool,
}

/// How many runs at once, how long, and what happens to late and failed ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Runs {
    /// Runs at once in this process.
    pub global: u32,
    /// Runs at once in one project.
    pub per_project: u32,
    /// Awake time that a run may take; it stands still while the run is blocked.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub timeout: Duration,
    /// How long a run may wait for a person.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub blocked_timeout: Duration,
    /// How late a slot may be noticed and still run on time.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub start_deadline: Duration,
    /// Further attempts after a failure.
    pub retries: u32,
    /// The wait before the first of them; it doubles each time.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub retry_backoff: Duration,
    /// What happens to slots noticed too late.
    pub catch_up: CatchUp,
    /// How old a slot may be to be caught up.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub catch_up_window: Duration,
    /// What happens to a slot due while the task runs.
    pub overlap: Overlap,
    /// After how many failures in a row a task is paused; 0 is never.
    pub pause_after_failures: u32,
    /// How many rows of history are kept of a task.
    pub history: u32,
}

/// The right to a run, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lease {
    /// How often a run's marker is refreshed.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub heartbeat: Duration,
    /// How old a marker may grow, in awake time; at least three heartbeats.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub duration: Duration,
}

/// Where `loopkeeper serve` listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// The address; loopback unless others shall reach it.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
}

/// What is told by notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Notifications {
    /// Failures, and also blocked, missed and recovered runs, warnings, auto-pauses, approvals.
    pub failure: bool,
}

/// Which loops want an approval on this machine before they run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Those that would run with more power than their author may have meant.
    #[default]
    Risky,
    /// Every project-scope loop, again when its content changes.
    All,
    /// None.
    None,
}

/// Approval of loops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Approval {
    /// Which loops want one.
    pub mode: ApprovalMode,
}

/// The desktop application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Desktop {
    /// Whether the machine is kept awake while a run goes on.
    pub keep_awake: bool,
}

/// The dead man's switch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Signal {
    /// The URL that is called at start, success and failure; `None` for none.
    pub url: Option<String>,
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

impl Default for OpenCode {
    fn default() -> Self {
        OpenCode { url: None, binary: None, ready_timeout: Duration::from_secs(10) }
    }
}

impl Default for CommandAgent {
    fn default() -> Self {
        CommandAgent { argv: Vec::new(), stdin: true }
    }
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            global: 4,
            per_project: 2,
            timeout: 30 * MINUTE,
            blocked_timeout: 12 * HOUR,
            start_deadline: 5 * MINUTE,
            retries: 0,
            retry_backoff: MINUTE,
            catch_up: CatchUp::Skip,
            catch_up_window: 24 * HOUR,
            overlap: Overlap::Skip,
            pause_after_failures: 5,
            history: 1000,
        }
    }
}

impl Default for Lease {
    fn default() -> Self {
        Lease { heartbeat: 2 * MINUTE, duration: 10 * MINUTE }
    }
}

impl Default for Server {
    fn default() -> Self {
        Server { host: "127.0.0.1".to_owned(), port: 4117 }
    }
}

impl Default for Notifications {
    fn default() -> Self {
        Notifications { failure: true }
    }
}

/// The policy that is in force for one task: what it asks for, and the settings for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectivePolicy {
    /// Awake time that a run may take.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub timeout: Duration,
    /// How long a run may wait for a person.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub blocked_timeout: Duration,
    /// What happens to slots noticed too late.
    pub catch_up: CatchUp,
    /// How old a slot may be to be caught up.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub catch_up_window: Duration,
    /// What happens to a slot due while the task runs.
    pub overlap: Overlap,
    /// Further attempts after a failure.
    pub retries: u32,
    /// The wait before the first of them; it doubles each time.
    #[serde(with = "duration")]
    #[schemars(with = "String")]
    pub retry_backoff: Duration,
    /// When a notification tells of a run's end.
    pub notify: Notify,
    /// The host names that may run it; empty is every host.
    pub run_on: Vec<String>,
    /// The projects that it runs in; empty is every project.
    pub only_in: Vec<String>,
    /// Runs a day, in the task's zone; `None` is without limit.
    pub runs_per_day: Option<u32>,
    /// The URL called at start, success and failure; `None` for none.
    pub signal: Option<String>,
    /// Whether `{{names}}` in the prompt are filled in.
    pub variables: bool,
    /// Whether each run gets a git worktree of its own.
    pub worktree: bool,
}

impl Settings {
    /// Reads the settings file; a missing file means the defaults.
    ///
    /// # Errors
    /// Names path, line and key, and what to write.
    pub fn load(path: &Path) -> Result<Settings, SettingsError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Settings::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
            Err(source) => Err(SettingsError::Read { path: path.to_owned(), source }),
        }
    }

    /// Reads the text of a settings file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Settings, SettingsError> {
        read::settings(text, path)
    }

    /// Resolves what a task asks for: each field that it leaves open is as the settings say.
    pub fn effective(&self, policy: &Policy) -> EffectivePolicy {
        let runs = &self.runs;
        let notify = if self.notify.failure { Notify::Failure } else { Notify::Never };
        EffectivePolicy {
            timeout: policy.timeout.unwrap_or(runs.timeout),
            blocked_timeout: policy.blocked_timeout.unwrap_or(runs.blocked_timeout),
            catch_up: policy.catch_up.unwrap_or(runs.catch_up),
            catch_up_window: policy.catch_up_window.unwrap_or(runs.catch_up_window),
            overlap: policy.overlap.unwrap_or(runs.overlap),
            retries: policy.retries.unwrap_or(runs.retries),
            retry_backoff: policy.retry_backoff.unwrap_or(runs.retry_backoff),
            notify: policy.notify.unwrap_or(notify),
            run_on: policy.run_on.clone(),
            only_in: policy.only_in.clone(),
            runs_per_day: policy.budget.and_then(|budget| budget.runs_per_day),
            signal: policy.signal.clone().or_else(|| self.signal.url.clone()),
            variables: policy.variables.unwrap_or(false),
            worktree: policy.worktree.unwrap_or(false),
        }
    }
}

/// Says why settings could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file exists and cannot be read.
    #[error("{path}: the settings cannot be read: {source}", path = .path.display())]
    Read {
        /// The settings file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{path}:{line}:{column}: this is not TOML: {message}", path = .path.display())]
    Syntax {
        /// The settings file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// 1-based, in characters.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// A key is not known, or its value does not fit.
    #[error("{path}:{line}: {message}; {help}", path = .path.display())]
    Key {
        /// The settings file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// The whole key, such as `runs.timeout`.
        key: String,
        /// What is wrong.
        message: String,
        /// What to write.
        help: String,
    },
    /// The file cannot be written.
    #[error("{path}: the settings cannot be written: {source}", path = .path.display())]
    Write {
        /// The settings file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Reads and writes a `Duration` as `30s 5m 2h 1d`.
mod duration {
    use super::{format_duration, parse_duration};
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_duration(*value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        parse_duration(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
