//! How a command ends: 0 done, 1 failed or findings, 2 usage, 3 refused, 4 unreachable.

use loopkeeper_engine::engine::EngineError;
use serde_json::Value;

/// What a command returns: its exit code, or why it could not go on.
pub type Outcome = Result<u8, Failure>;

/// Everything was done.
pub const DONE: u8 = 0;
/// It failed, or there are findings.
pub const FAILED: u8 = 1;
/// The command makes no sense as it was given.
pub const USAGE: u8 = 2;
/// A rule says no: already running, not approved.
pub const REFUSED: u8 = 3;
/// The data folder or the agent cannot be reached, or the port is taken.
pub const UNREACHABLE: u8 = 4;

/// Why a command could not go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// What happened, to what.
    pub message: String,
    /// What to do now.
    pub help: Option<String>,
    /// What is printed on standard output with `--json`.
    pub json: Option<Box<Value>>,
}

impl Failure {
    /// Makes a failure.
    pub fn new(exit: u8, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), help: None, json: None }
    }

    /// Makes a failure of usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(USAGE, message)
    }

    /// Adds what to do now.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Invalid { .. } | EngineError::NotFound(_) => Failure::usage(message),
            EngineError::AlreadyRunning(_) => Failure::new(REFUSED, message).help(
                "`loopkeeper runs --status running` shows the run; `loopkeeper cancel` stops it",
            ),
            EngineError::Refused(_) => Failure::new(REFUSED, message),
            EngineError::Stale { .. } => {
                Failure::new(FAILED, message).help("look at it again, then repeat the command")
            }
            EngineError::Unavailable { help, .. } => {
                Failure { help, ..Failure::new(UNREACHABLE, message) }
            }
            EngineError::RunFailed { task, run_id, .. } => Failure {
                json: Some(Box::new(
                    serde_json::json!({ "ok": false, "error": message, "task": task, "runId": run_id }),
                )),
                ..Failure::new(FAILED, message)
            },
            EngineError::Internal(_) => Failure::new(FAILED, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_the_exit_code_of_the_design() {
        for (error, exit) in [
            (EngineError::Invalid { field: None, message: "m".into() }, 2),
            (EngineError::NotFound("m".into()), 2),
            (EngineError::AlreadyRunning("m".into()), 3),
            (EngineError::Refused("m".into()), 3),
            (EngineError::Unavailable { message: "m".into(), help: None }, 4),
            (EngineError::Internal("m".into()), 1),
        ] {
            assert_eq!(Failure::from(error.clone()).exit, exit, "{error:?}");
        }
    }
}
