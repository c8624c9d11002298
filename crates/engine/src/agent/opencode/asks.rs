//! Permissions and questions: what a run waits for, and how an answer is passed on.

use super::client::{CallError, Client};
use super::wire;
use crate::agent::job::keep_tail;
use crate::agent::journal::{Answer, Ask, AskChoice, AskKind, AskQuestion};

/// The longest detail that is shown, in bytes.
const DETAIL_LIMIT: usize = 4000;

pub(crate) fn from_permission(request: &wire::Permission) -> Ask {
    let command = request.metadata["command"].as_str();
    let path = request.metadata["filepath"].as_str().or(request.metadata["filePath"].as_str());
    let what = command.or(path).map_or_else(|| request.patterns.join(", "), str::to_owned);
    let line = what.lines().next().unwrap_or_default();
    let text = match (request.permission.as_str(), line) {
        (permission, "") => format!("Allow `{permission}`?"),
        ("bash", line) => format!("Run `{line}`?"),
        ("edit" | "write", line) => format!("Change `{line}`?"),
        ("external_directory", line) => format!("Use files outside of the project: `{line}`?"),
        (permission, line) => format!("Allow `{permission}` for `{line}`?"),
    };
    Ask {
        id: request.id.clone(),
        kind: AskKind::Permission,
        text,
        detail: keep_tail(&what, DETAIL_LIMIT),
        always: request.always.clone(),
        questions: Vec::new(),
    }
}

pub(crate) fn from_question(request: &wire::QuestionRequest) -> Ask {
    let questions: Vec<AskQuestion> = request
        .questions
        .iter()
        .map(|question| AskQuestion {
            header: question.header.clone(),
            text: question.question.clone(),
            choices: question
                .options
                .iter()
                .map(|option| AskChoice {
                    label: option.label.clone(),
                    description: option.description.clone().unwrap_or_default(),
                })
                .collect(),
            multiple: question.multiple.unwrap_or(false),
        })
        .collect();
    let texts: Vec<&str> = questions.iter().map(|question| question.text.as_str()).collect();
    Ask {
        id: request.id.clone(),
        kind: AskKind::Question,
        text: texts.join(" · "),
        detail: String::new(),
        always: Vec::new(),
        questions,
    }
}

/// Passes an answer on; `Ok(false)` when the request is gone.
pub(crate) async fn pass_on(
    client: &Client,
    directory: &str,
    ask: &Ask,
    answer: &Answer,
) -> Result<bool, CallError> {
    let done = match ask.kind {
        AskKind::Permission => {
            let reply = match answer {
                Answer::Always => "always",
                Answer::Reject => "reject",
                Answer::Once | Answer::Text(_) | Answer::Choices(_) => "once",
            };
            client.reply_permission(&ask.id, directory, reply).await
        }
        AskKind::Question => match answers(ask, answer) {
            Some(answers) => client.reply_question(&ask.id, directory, &answers).await,
            None => client.reject_question(&ask.id, directory).await,
        },
    };
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.is_gone() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns one list of labels for each question; `None` rejects.
fn answers(ask: &Ask, answer: &Answer) -> Option<Vec<Vec<String>>> {
    let count = ask.questions.len().max(1);
    match answer {
        Answer::Reject => None,
        Answer::Choices(choices) => {
            let mut choices = choices.clone();
            choices.resize(count, Vec::new());
            Some(choices)
        }
        Answer::Text(text) if count == 1 => Some(vec![vec![text.clone()]]),
        Answer::Text(text) => {
            let mut lines = text.lines();
            Some(
                (0..count).map(|_| lines.next().map(str::to_owned).into_iter().collect()).collect(),
            )
        }
        // A yes to a question is its first choice.
        Answer::Once | Answer::Always => Some(
            ask.questions
                .iter()
                .map(|question| {
                    question
                        .choices
                        .first()
                        .map(|choice| choice.label.clone())
                        .into_iter()
                        .collect()
                })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_permission_says_what_it_is_for() {
        let list: Vec<wire::Permission> = recorded::body("permission-list.json");
        let ask = from_permission(&list[0]);
        assert_eq!(ask.text, "Run `echo perm-once`?");
        assert_eq!(ask.always, ["echo *"]);
    }

    #[test]
    fn a_question_carries_its_choices() {
        let list: Vec<wire::QuestionRequest> = recorded::body("question-list.json");
        let ask = from_question(&list[0]);
        assert_eq!(ask.text, "Which colour?");
        let labels: Vec<&str> =
            ask.questions[0].choices.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels, ["Red", "Blue"]);
        assert_eq!(answers(&ask, &Answer::Text("Green".into())), Some(vec![vec!["Green".into()]]));
        assert_eq!(answers(&ask, &Answer::Reject), None);
    }
}
