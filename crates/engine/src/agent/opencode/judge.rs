//! What a session's messages say about its last turn: a pure function.

use super::wire::{ErrorBody, Message};
use crate::agent::job::EndReason;

/// What is seen of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// Our message is not there.
    NoMessage,
    /// Our message is there, and nothing else.
    NoAnswer,
    /// An answer that neither ended nor failed. With a status of busy it grows; without, its server
    /// was restarted and nothing goes on.
    Unfinished,
    /// The turn ended.
    Ended(End),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// With an answer, and when (wall time, ms since 1970).
    Said { text: String, at_ms: Option<i64> },
    /// With an error.
    Failed { reason: EndReason, error: String, said: Option<String>, at_ms: Option<i64> },
    /// Somebody stopped it.
    Aborted { at_ms: Option<i64> },
}

/// Looks at the turn that the last message of ours began. `before` is the id of the message that
/// began the turn before, if there was one: the new one may not be there yet.
pub(crate) fn look(messages: &[Message], before: Option<&str>) -> Seen {
    let Some(asked) = messages.iter().rposition(|message| message.info.role == "user") else {
        return Seen::NoMessage;
    };
    if before.is_some_and(|before| messages[asked].info.id == before) {
        return Seen::NoMessage;
    }
    let answer = messages[asked..].iter().rfind(|message| message.info.role == "assistant");
    let Some(message) = answer else { return Seen::NoAnswer };
    let at_ms = message.info.time.completed.map(|at| at as i64);
    let text = said(message);
    if let Some(error) = &message.info.error {
        return Seen::Ended(if error.name == "MessageAbortedError" {
            End::Aborted { at_ms }
        } else {
            End::Failed {
                reason: reason(error),
                error: model_error(error),
                said: Some(text).filter(|text| !text.is_empty()),
                at_ms,
            }
        });
    }
    if at_ms.is_none() {
        return Seen::Unfinished;
    }
    let finish = message.info.finish.as_deref().unwrap_or("nothing");
    let failed = |reason, error| {
        let said = Some(text.clone()).filter(|text| !text.is_empty());
        Seen::Ended(End::Failed { reason, error, said, at_ms })
    };
    match finish {
        "stop" if text.is_empty() => failed(
            EndReason::NoAnswer,
            "The agent ended its turn without an answer. Open the session in OpenCode to see what it did.".to_owned(),
        ),
        "stop" => Seen::Ended(End::Said { text, at_ms }),
        "length" => failed(
            EndReason::Truncated,
            "The answer was cut at the model's output limit. Ask for less in one run, or choose a model with a higher limit.".to_owned(),
        ),
        "content-filter" => failed(
            EndReason::ModelError,
            "The provider's content filter stopped the answer.".to_owned(),
        ),
        "tool-calls" => match refused(message) {
            Some(error) => failed(EndReason::Rejected, error),
            None => failed(
                EndReason::NoAnswer,
                "The turn ended after a tool call, without an answer.".to_owned(),
            ),
        },
        other => failed(
            EndReason::ModelError,
            format!("The model ended its answer with the reason `{other}`."),
        ),
    }
}

/// Returns what is needed to tell the next turn's message from this one.
pub(crate) fn last_asked(messages: &[Message]) -> Option<String> {
    let message = messages.iter().rfind(|message| message.info.role == "user")?;
    Some(message.info.id.clone())
}

fn said(message: &Message) -> String {
    let texts: Vec<&str> = message
        .parts
        .iter()
        .filter(|part| part.kind == "text")
        .filter(|part| part.synthetic != Some(true) && part.ignored != Some(true))
        .filter_map(|part| part.text.as_deref())
        .collect();
    texts.join("\n").trim().to_owned()
}

fn refused(message: &Message) -> Option<String> {
    message.parts.iter().rev().find_map(|part| {
        let error = part.state.as_ref()?.error.as_deref()?;
        let tool = part.tool.as_deref().unwrap_or("a tool");
        Some(format!("The turn ended when `{tool}` was refused: {error}"))
    })
}

fn reason(error: &ErrorBody) -> EndReason {
    if error.name == "MessageOutputLengthError" {
        EndReason::Truncated
    } else if error.text().contains("odel not found") {
        EndReason::UnknownModel
    } else {
        EndReason::ModelError
    }
}

/// Says what a model's error means, and what to do where that is known.
pub(crate) fn model_error(error: &ErrorBody) -> String {
    let text = error.text();
    let advice = match (error.name.as_str(), error.data.status_code) {
        ("ProviderAuthError", _) | (_, Some(401 | 403)) => {
            " Check the provider's key with `opencode auth list`."
        }
        (_, Some(402)) => " Check the account's balance at the provider.",
        (_, Some(429)) => {
            " The provider limits requests: run it less often, or choose another model."
        }
        (_, Some(500..=599)) => " The provider is in trouble: try again later.",
        ("MessageOutputLengthError", _) => " Ask for less in one run.",
        _ => "",
    };
    format!("The model answered: {text}.{advice}").replace("..", ".")
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    fn recorded(name: &str) -> Seen {
        look(&recorded::body::<Vec<Message>>(name), None)
    }

    #[test]
    fn an_answer_is_a_success() {
        assert!(
            matches!(recorded("session-messages-after-ok.json"), Seen::Ended(End::Said { text, at_ms: Some(1796081807977) }) if text == "Hello from stub."),
            "the recorded good run"
        );
        assert!(
            matches!(
                recorded("messages-after-permission-once.json"),
                Seen::Ended(End::Said { .. })
            ),
            "a turn with a tool call ends with its last message"
        );
    }

    #[test]
    fn a_model_error_is_a_failure_with_its_text() {
        for name in ["err-e400-messages.json", "err-e401-messages.json"] {
            let Seen::Ended(End::Failed { reason, error, .. }) = recorded(name) else {
                panic!("{name} has ended");
            };
            assert_eq!(reason, EndReason::ModelError, "{name}");
            assert!(error.contains("HTTP 40"), "{error}");
        }
    }

    #[test]
    fn retried_and_cut_answers_are_unfinished() {
        for name in ["err-e429-messages.json", "err-e500-messages.json", "err-cut-messages.json"] {
            assert_eq!(recorded(name), Seen::Unfinished, "{name} was recorded while it retried");
        }
    }

    #[test]
    fn an_unknown_model_or_agent_leaves_no_answer() {
        assert_eq!(recorded("err-unknown-model-messages.json"), Seen::NoAnswer);
        assert_eq!(recorded("err-unknown-agent-messages.json"), Seen::NoMessage);
    }

    #[test]
    fn an_abort_is_no_failure_of_the_model() {
        assert!(matches!(
            recorded("messages-after-abort.json"),
            Seen::Ended(End::Aborted { at_ms: Some(_) })
        ));
    }

    #[test]
    fn a_refused_permission_ends_the_turn() {
        assert!(matches!(
            recorded("messages-after-permission-reject.json"),
            Seen::Ended(End::Failed { reason: EndReason::Rejected, .. })
        ));
    }

    #[test]
    fn other_finish_reasons_and_silence_fail() {
        let mut messages: Vec<Message> = recorded::body("session-messages-after-ok.json");
        messages[1].info.finish = Some("length".to_owned());
        let seen = look(&messages, None);
        assert!(
            matches!(
                &seen,
                Seen::Ended(End::Failed { reason: EndReason::Truncated, said: Some(_), .. })
            ),
            "a cut answer is shown but is no success: {seen:?}"
        );
        messages[1].info.finish = Some("stop".to_owned());
        messages[1].parts.clear();
        assert!(
            matches!(
                look(&messages, None),
                Seen::Ended(End::Failed { reason: EndReason::NoAnswer, .. })
            ),
            "it said nothing"
        );
    }

    #[test]
    fn the_turn_before_is_not_this_turn() {
        let messages: Vec<Message> = recorded::body("session-messages-after-ok.json");
        let before = last_asked(&messages);
        assert_eq!(look(&messages, before.as_deref()), Seen::NoMessage, "ours is not there yet");
    }
}
