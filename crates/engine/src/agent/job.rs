//! What an agent is asked to do, and what became of it.

use crate::host::ProcessId;
use crate::task::Execution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The longest answer that is kept, in bytes of UTF-8.
pub const ANSWER_LIMIT: usize = 16 * 1024;

/// Names the project a run works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRef {
    /// The project's id.
    pub id: String,
    /// The project's folder, absolute.
    pub path: PathBuf,
}

/// What is known of a run that another process began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The stored session; `None` when the run never came that far.
    pub session_id: Option<String>,
    /// The recorded child process of a command.
    pub child: Option<ProcessId>,
}

/// The values of `{{names}}` in a prompt (`policy: {variables: true}`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// The slot, or the start of a manual run, as `YYYY-MM-DD HH:MM` in the task's zone.
    pub scheduled_for: String,
    /// The last run's answer or error; empty when there was none.
    pub last_result: String,
    /// When the task last succeeded, as `YYYY-MM-DD HH:MM`; empty when it never did.
    pub last_success_at: String,
    /// The project's folder.
    pub project: String,
}

/// One run, as an agent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The ledger's id of the run.
    pub run_id: i64,
    /// Where it runs.
    pub project: ProjectRef,
    /// The task's id.
    pub task_id: String,
    /// The session's title, from [`crate::agent::prompt::title::session_title`].
    pub title: String,
    /// The slot, wall time in ms since 1970; `None` for a manual run.
    pub scheduled_for: Option<i64>,
    /// Prompt, model, agent and what the peer knows beside them.
    pub execution: Execution,
    /// The values for `{{names}}`; `None` leaves the prompt as it stands.
    pub variables: Option<Variables>,
    /// Whether the run gets a git worktree of its own.
    pub worktree: bool,
    /// What is known when a run is taken over; ignored by [`crate::agent::Agents::run`].
    pub resume: Option<Evidence>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The agent finished its turn and said something.
    Succeeded,
    /// It failed, and the error says why.
    Failed,
    /// It was stopped at its time limit.
    TimedOut,
    /// It was stopped by a person, or by the end of this program.
    Cancelled,
    /// Nobody can tell what became of it.
    Lost,
    /// It goes on at its server, and whoever is there next takes it over: nothing is to be recorded
    /// as its end.
    LeftRunning,
}

/// Why a run ended as it did, where there is a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// No agent was ever asked.
    NotSent,
    /// The project's folder does not exist, or the agent would work in another one.
    BadFolder,
    /// The provider or model does not exist.
    UnknownModel,
    /// The agent does not exist.
    UnknownAgent,
    /// The agent's program or server could not be reached or started in time.
    Unreachable,
    /// The prompt was accepted but nothing came of it.
    NotStarted,
    /// The model or its provider answered with an error.
    ModelError,
    /// The turn ended without a word.
    NoAnswer,
    /// The answer was cut at the model's output limit.
    Truncated,
    /// The turn ended because a permission was refused.
    Rejected,
    /// The session was stopped from elsewhere.
    Aborted,
    /// The agent's server went away in the middle of the run.
    Restarted,
    /// Nobody answered the agent's question in time.
    BlockedTimeout,
    /// The agent stated that the goal cannot be reached.
    GoalBlocked,
    /// The goal's token budget or its 20 turns were used up.
    GoalBudget,
    /// A command ended with an exit code other than 0.
    ExitCode,
    /// A command was ended by a signal.
    Signal,
    /// A command's holder went away, and what was left of it was ended.
    Orphaned,
    /// The run was stopped by shutdown.
    Shutdown,
    /// The worktree for the run could not be made.
    Worktree,
}

impl EndReason {
    /// Returns the word as it stands in rows and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::NotSent => "not_sent",
            EndReason::BadFolder => "bad_folder",
            EndReason::UnknownModel => "unknown_model",
            EndReason::UnknownAgent => "unknown_agent",
            EndReason::Unreachable => "unreachable",
            EndReason::NotStarted => "not_started",
            EndReason::ModelError => "model_error",
            EndReason::NoAnswer => "no_answer",
            EndReason::Truncated => "truncated",
            EndReason::Rejected => "rejected",
            EndReason::Aborted => "aborted",
            EndReason::Restarted => "restarted",
            EndReason::BlockedTimeout => "blocked_timeout",
            EndReason::GoalBlocked => "goal_blocked",
            EndReason::GoalBudget => "goal_budget",
            EndReason::ExitCode => "exit_code",
            EndReason::Signal => "signal",
            EndReason::Orphaned => "orphaned",
            EndReason::Shutdown => "shutdown",
            EndReason::Worktree => "worktree",
        }
    }
}

/// Counts tokens, as far as the agent tells them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Fresh input.
    pub input: u64,
    /// Output without reasoning.
    pub output: u64,
    /// Reasoning.
    pub reasoning: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
}

impl Tokens {
    /// Returns the sum of all kinds.
    pub fn total(&self) -> u64 {
        [self.output, self.reasoning, self.cache_read, self.cache_write]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Ended,
    /// Why, where there is a word for it.
    pub reason: Option<EndReason>,
    /// What happened, to what, and what to do now; `None` for a success.
    pub error: Option<String>,
    /// The agent's last answer, at most [`ANSWER_LIMIT`] bytes; a command's output tail.
    pub answer: Option<String>,
    /// Tokens of the session and its child sessions; `None` when nobody told.
    pub tokens: Option<Tokens>,
    /// Cost in the provider's currency (US dollars); `None` when nobody told.
    pub cost: Option<f64>,
    /// The agent's own id of the session.
    pub session_id: Option<String>,
    /// From the dispatch of the prompt to the agent's last word; `None` when it never began.
    pub duration: Option<Duration>,
    /// The worktree that was kept because it holds changes.
    pub worktree: Option<PathBuf>,
}

impl Outcome {
    /// Makes an outcome that says nothing but its status.
    pub fn new(status: Ended) -> Self {
        Outcome {
            status,
            reason: None,
            error: None,
            answer: None,
            tokens: None,
            cost: None,
            session_id: None,
            duration: None,
            worktree: None,
        }
    }

    /// Makes a failure with its reason and text.
    pub fn failed(reason: EndReason, error: impl Into<String>) -> Self {
        Outcome { reason: Some(reason), error: Some(error.into()), ..Outcome::new(Ended::Failed) }
    }

    /// Makes the outcome of a run that nobody can tell the end of.
    pub fn lost(reason: EndReason, error: impl Into<String>) -> Self {
        Outcome { reason: Some(reason), error: Some(error.into()), ..Outcome::new(Ended::Lost) }
    }
}

/// Cuts a text to its last `limit` bytes, at a character's edge, and says so in front.
pub fn keep_tail(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mark = "… ";
    let mut from = text.len() - limit.saturating_sub(mark.len());
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("{mark}{}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_end() {
        assert_eq!(keep_tail("short", 16), "short", "nothing to cut");
        let cut = keep_tail(&"ä".repeat(100), 21);
        assert!(cut.len() <= 21 && cut.ends_with("ää") && cut.starts_with('…'), "{cut}");
    }

    #[test]
    fn the_word_of_a_reason_is_its_wire_form() {
        for reason in [EndReason::NotSent, EndReason::GoalBudget, EndReason::ExitCode] {
            let wire = serde_json::to_value(reason).expect("a word");
            assert_eq!(wire, reason.as_str(), "rows and wire must agree");
        }
    }
}
