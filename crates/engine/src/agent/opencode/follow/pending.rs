//! What the session and its children wait for: told, answered, and rejected when the run is stopped.

use super::Follower;
use crate::agent::journal::{Answer, Ask, StepKind, note};
use crate::agent::opencode::client::CallError;
use crate::agent::opencode::{asks, wire};

impl Follower<'_> {
    /// Takes in what is asked for now, and tells what of it is ours.
    pub(super) async fn take_asks(
        &mut self,
        permissions: &[wire::Permission],
        questions: &[wire::QuestionRequest],
    ) -> Result<(), CallError> {
        let askers = askers(permissions, questions);
        self.family.meet(&self.client, &self.directory, askers).await?;
        let permissions = permissions
            .iter()
            .filter(|request| self.family.has(&request.session_id))
            .map(asks::from_permission);
        let questions = questions
            .iter()
            .filter(|request| self.family.has(&request.session_id))
            .map(asks::from_question);
        self.tell_asks(permissions.chain(questions).collect()).await;
        Ok(())
    }

    async fn tell_asks(&mut self, asks: Vec<Ask>) {
        if asks == self.asks {
            return;
        }
        let told = if asks.is_empty() {
            self.journal.unblocked().await
        } else {
            self.journal.blocked(&asks).await
        };
        // What could not be recorded is told again at the next look.
        if told.is_ok() {
            self.asks = asks;
        }
        self.record(told);
    }

    pub(super) async fn answer(&mut self, ask_id: &str, answer: &Answer) {
        let Some(ask) = self.asks.iter().find(|ask| ask.id == ask_id) else {
            let text = "The answer came too late: nobody waits for it any more";
            return note(self.journal.step(StepKind::Note, text).await);
        };
        let text = match asks::pass_on(&self.client, &self.directory, ask, answer).await {
            Ok(true) => {
                let text = format!("{} {}", ask.text, in_words(answer));
                return note(self.journal.step(StepKind::Answered, &text).await);
            }
            Ok(false) => "The answer came too late: OpenCode no longer waits for it".to_owned(),
            Err(error) => format!("The answer was not passed on: {error}. Answer again"),
        };
        note(self.journal.step(StepKind::Note, &text).await);
    }

    pub(super) async fn reject_pending(&mut self) {
        let client = self.client.clone();
        let permissions = client.permissions(&self.directory).await.unwrap_or_default();
        let questions = client.questions(&self.directory).await.unwrap_or_default();
        // A child that cannot be found now is looked for again in a moment.
        let askers = askers(&permissions, &questions);
        let _ = self.family.meet(&client, &self.directory, askers).await;
        for request in permissions {
            if self.family.has(&request.session_id) {
                let _ = client.reply_permission(&request.id, &self.directory, "reject").await;
            }
        }
        for request in questions {
            if self.family.has(&request.session_id) {
                let _ = client.reject_question(&request.id, &self.directory).await;
            }
        }
    }
}

/// Returns the sessions that wait for something.
fn askers<'a>(
    permissions: &'a [wire::Permission],
    questions: &'a [wire::QuestionRequest],
) -> impl Iterator<Item = &'a String> {
    permissions
        .iter()
        .map(|request| &request.session_id)
        .chain(questions.iter().map(|request| &request.session_id))
}

fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Once => "Allowed once".to_owned(),
        Answer::Always => "Allowed from now on".to_owned(),
        Answer::Reject => "Refused".to_owned(),
        Answer::Text(text) => text.clone(),
        Answer::Choices(choices) => {
            choices.iter().map(|labels| labels.join(", ")).collect::<Vec<_>>().join(" · ")
        }
    }
}
