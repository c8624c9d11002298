//! What a run tells its worker while it goes on, and what the worker tells it.

use crate::host::ProcessId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use tokio::sync::mpsc;

/// Says why a record could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Another process has taken the run over: this one stops writing and leaves the session alone.
    #[error("the run was taken over by another process")]
    Superseded,
    /// The ledger could not be written.
    #[error("the run could not be recorded: {0}")]
    Failed(String),
}

/// A record being made.
pub type Recorded<'a> = Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send + 'a>>;

/// The steps of a run's life that are kept in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Something worth a line that needs nobody (an unknown command sent as text, a worktree made).
    Note,
    /// The agent's server or program is not there yet.
    Waiting,
    /// The agent's server retries at the model.
    Retrying,
    /// An answer was passed on.
    Answered,
    /// One turn of a goal ended.
    Turn,
}

impl StepKind {
    /// Returns the word as it stands in rows and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            StepKind::Note => "note",
            StepKind::Waiting => "waiting",
            StepKind::Retrying => "retrying",
            StepKind::Answered => "answered",
            StepKind::Turn => "turn",
        }
    }
}

/// Records what happens to a run. The worker implements it over the ledger.
///
/// Absent on purpose: the end of the run, which is the return value of the agent, and anything that
/// reads.
pub trait Journal: Send + Sync {
    /// Stores the session's id. It is stored before the prompt is sent, so that a later process
    /// finds the session; on an error nothing is sent.
    fn session<'a>(&'a self, session_id: &'a str) -> Recorded<'a>;
    /// Tells that the agent has taken the prompt.
    fn accepted(&self) -> Recorded<'_>;
    /// Stores the child process of a command, so that a later process finds it.
    fn child<'a>(&'a self, child: &'a ProcessId) -> Recorded<'a>;
    /// Tells that the run waits for a person; called again when the list changes.
    fn blocked<'a>(&'a self, asks: &'a [Ask]) -> Recorded<'a>;
    /// Tells that the run no longer waits.
    fn unblocked(&self) -> Recorded<'_>;
    /// Keeps one line of the run's history.
    fn step<'a>(&'a self, kind: StepKind, text: &'a str) -> Recorded<'a>;
    /// Shows the newest output, a tail of at most 16 kB that replaces the last one.
    fn progress<'a>(&'a self, tail: &'a str) -> Recorded<'a>;
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// May it do this? Answered by once, always or reject.
    Permission,
    /// Which one? Answered by choices or text, or rejected.
    Question,
}

/// One question of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskQuestion {
    /// A word or two.
    pub header: String,
    /// The question.
    pub text: String,
    /// What can be chosen; empty when only text is expected.
    pub choices: Vec<AskChoice>,
    /// Whether several may be chosen.
    pub multiple: bool,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskChoice {
    /// The answer itself.
    pub label: String,
    /// What it means; may be empty.
    pub description: String,
}

/// What a run asks a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The agent's id of the request, unique within the run.
    pub id: String,
    /// What kind of answer it wants.
    pub kind: AskKind,
    /// One line that a notification can show, such as ``Run `git push`?``.
    pub text: String,
    /// What exactly is asked for: the command, the paths; may be empty.
    pub detail: String,
    /// What `always` would allow from then on; empty for questions.
    pub always: Vec<String>,
    /// The questions; empty for permissions.
    pub questions: Vec<AskQuestion>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allows this one request.
    Once,
    /// Allows it and everything like it for the rest of the session.
    Always,
    /// Refuses it.
    Reject,
    /// Answers a question in words; with several questions, one line each.
    Text(String),
    /// Answers each question with the chosen labels.
    Choices(Vec<Vec<String>>),
}

/// Why a run has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// Its time limit passed.
    TimedOut,
    /// Nobody answered in time.
    BlockedTimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// This program ends: a session goes on at its server, a command is ended.
    Shutdown,
}

/// What the worker tells a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Stop now.
    Stop {
        /// Why.
        reason: StopReason,
    },
    /// Pass an answer on.
    Answer {
        /// The id of the [`Ask`].
        ask_id: String,
        /// The answer.
        answer: Answer,
    },
}

/// The receiving end of a run's controls: it remembers a stop, and never ends.
#[derive(Debug)]
pub struct Inbox {
    receiver: mpsc::Receiver<Control>,
    stop: Option<StopReason>,
    waiting: std::collections::VecDeque<(String, Answer)>,
}

impl Inbox {
    /// Listens to a worker.
    pub fn new(receiver: mpsc::Receiver<Control>) -> Self {
        Inbox { receiver, stop: None, waiting: std::collections::VecDeque::new() }
    }

    /// Returns the next control. A worker that went away says nothing more: this then waits for
    /// ever, and the caller's other events decide.
    pub async fn next(&mut self) -> Control {
        if let Some(reason) = self.stop {
            return Control::Stop { reason };
        }
        if let Some((ask_id, answer)) = self.waiting.pop_front() {
            return Control::Answer { ask_id, answer };
        }
        match self.receiver.recv().await {
            Some(Control::Stop { reason }) => {
                self.stop = Some(reason);
                Control::Stop { reason }
            }
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    /// Waits until the run has to stop; answers that come meanwhile are kept for [`Self::next`].
    pub async fn stopped(&mut self) -> StopReason {
        loop {
            if let Some(reason) = self.stop {
                return reason;
            }
            match self.receiver.recv().await {
                Some(Control::Stop { reason }) => self.stop = Some(reason),
                Some(Control::Answer { ask_id, answer }) => {
                    self.waiting.push_back((ask_id, answer));
                }
                None => std::future::pending().await,
            }
        }
    }
}

/// Logs a record that failed where the run can go on without it.
pub(crate) fn note(result: Result<(), JournalError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a step of a run was not recorded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_is_remembered_and_answers_are_kept() {
        let (sender, receiver) = mpsc::channel(4);
        let mut inbox = Inbox::new(receiver);
        let answer = Control::Answer { ask_id: "a".into(), answer: Answer::Once };
        sender.send(answer.clone()).await.expect("open");
        let stop = Control::Stop { reason: StopReason::Cancelled };
        sender.send(stop.clone()).await.expect("open");
        assert_eq!(inbox.stopped().await, StopReason::Cancelled, "the stop came second");
        assert_eq!(inbox.next().await, stop, "a stop goes before everything else");
        assert_eq!(inbox.next().await, stop, "and it stays");
    }
}
