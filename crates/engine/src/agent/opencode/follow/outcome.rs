//! How a turn ended, and the outcome that a run has by it, with what it cost.

use super::Follower;
use crate::agent::job::{EndReason, Ended, Outcome, Tokens, keep_tail};
use crate::agent::journal::StopReason;
use crate::agent::opencode::judge::{self, End};
use crate::agent::opencode::wire;

/// How one turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnEnd {
    Ended(End),
    /// The server knows of no message of ours, and the run was taken over.
    NotSent,
    /// The prompt was taken, and nothing came of it.
    NotStarted(Option<Told>),
    Restarted,
    Deleted,
    Stopped(StopReason),
    /// Another process has the run now.
    Superseded,
}

/// What an error event or a refused request said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(super) reason: EndReason,
    pub(super) text: String,
}

pub(super) fn told(error: &wire::ErrorBody) -> Told {
    let text = error.text();
    if text.starts_with("Agent not found") {
        return Told { reason: EndReason::UnknownAgent, text: format!("OpenCode says: {text}") };
    }
    if text.contains("odel not found") {
        return Told { reason: EndReason::UnknownModel, text: format!("OpenCode says: {text}") };
    }
    Told { reason: EndReason::ModelError, text: judge::model_error(error) }
}

impl TurnEnd {
    /// Makes the outcome of a turn's end, but for duration and usage.
    pub(crate) fn outcome(self) -> Outcome {
        let answer = |text: &str| Some(keep_tail(text, crate::agent::job::ANSWER_LIMIT));
        match self {
            TurnEnd::Ended(End::Said { text, .. }) => {
                Outcome { answer: answer(&text), ..Outcome::new(Ended::Succeeded) }
            }
            TurnEnd::Ended(End::Failed { reason, error, said, .. }) => Outcome {
                answer: said.as_deref().and_then(answer),
                ..Outcome::failed(reason, error)
            },
            TurnEnd::Ended(End::Aborted { .. }) => Outcome {
                reason: Some(EndReason::Aborted),
                error: Some("The session was stopped in OpenCode.".to_owned()),
                ..Outcome::new(Ended::Cancelled)
            },
            TurnEnd::NotSent => Outcome::failed(
                EndReason::NotSent,
                "Loopkeeper ended before the prompt was sent; the session is empty. It is not sent again for this slot.",
            ),
            TurnEnd::NotStarted(Some(told)) => Outcome::failed(told.reason, told.text),
            TurnEnd::NotStarted(None) => Outcome::failed(
                EndReason::NotStarted,
                "OpenCode took the prompt, but no answer began. Its log may say why.",
            ),
            TurnEnd::Restarted => Outcome::lost(
                EndReason::Restarted,
                "OpenCode was restarted in the middle of the run, and it does not take up a turn again. Look at the session before you run the task again.",
            ),
            TurnEnd::Deleted => Outcome::lost(
                EndReason::Aborted,
                "The session was deleted in OpenCode while the run went on.",
            ),
            TurnEnd::Superseded | TurnEnd::Stopped(_) => Outcome::new(Ended::LeftRunning),
        }
    }
}

impl Follower<'_> {
    pub(crate) fn with_session(&self, mut outcome: Outcome) -> Outcome {
        outcome.session_id = Some(self.session.clone());
        outcome
    }

    /// Adds the session, and the cost and tokens of it and of its child sessions.
    pub(crate) async fn with_usage(&mut self, outcome: Outcome) -> Outcome {
        let mut outcome = self.with_session(outcome);
        let Ok(session) = self.client.session(&self.session, &self.directory).await else {
            return outcome;
        };
        let mut all =
            self.family.meet_children(&self.client, &self.directory).await.unwrap_or_default();
        all.push(session);
        let mut tokens = Tokens::default();
        for session in &all {
            if let Some(counts) = &session.tokens {
                tokens += Tokens::from(counts);
            }
        }
        outcome.tokens = Some(tokens);
        outcome.cost = Some(all.iter().filter_map(|session| session.cost).sum());
        outcome
    }
}
