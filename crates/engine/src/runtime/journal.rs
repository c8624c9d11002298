//! Records a run's steps in the ledger while its agent works.

use super::worker::Progress;
use super::{ActiveRun, Runtime, lock};
use crate::agent::{self, Journal, JournalError, Recorded, StepKind};
use crate::event::EventKind;
use crate::host::ProcessId;
use crate::ledger::{self, Ask, LedgerError, Verdict};
use std::sync::Arc;

/// The journal of one run that this process follows.
#[derive(Debug)]
pub(super) struct RunJournal {
    runtime: Arc<Runtime>,
    active: Arc<ActiveRun>,
}

impl RunJournal {
    pub fn new(runtime: Arc<Runtime>, active: Arc<ActiveRun>) -> Self {
        RunJournal { runtime, active }
    }

    /// Makes one guarded record, if this process may still act for the run.
    async fn record(
        &self,
        write: impl FnOnce(&ledger::Ledger, i64, i64) -> Result<Verdict, LedgerError> + Send + 'static,
    ) -> Result<(), JournalError> {
        if !self.runtime.may_act(&self.active).await {
            return Err(JournalError::Superseded);
        }
        let (run, fence) = (self.active.run, self.active.fence);
        let written =
            self.runtime.blocking(move |runtime| write(&runtime.ledger, run, fence)).await;
        match written {
            Ok(Ok(Verdict::Done)) => Ok(()),
            Ok(Ok(Verdict::Superseded)) => Err(JournalError::Superseded),
            Ok(Err(error)) => Err(JournalError::Failed(error.to_string())),
            Err(crashed) => Err(JournalError::Failed(crashed.to_string())),
        }
    }

    fn changed(&self, kind: EventKind) {
        self.runtime.emit(kind, Some(&self.active.task), Some(self.active.run));
    }

    async fn note(&self, kind: &'static str, text: Option<String>) -> Result<(), JournalError> {
        self.record(move |ledger, run, _| {
            ledger.step(run, kind, text.as_deref()).map(|()| Verdict::Done)
        })
        .await?;
        self.changed(EventKind::RunChanged);
        Ok(())
    }
}

impl Journal for RunJournal {
    fn session<'a>(&'a self, session_id: &'a str) -> Recorded<'a> {
        let id = session_id.to_owned();
        Box::pin(async move {
            self.record(move |ledger, run, fence| ledger.set_session(run, fence, &id)).await?;
            self.changed(EventKind::RunChanged);
            Ok(())
        })
    }

    fn accepted(&self) -> Recorded<'_> {
        Box::pin(async move {
            let run = self.active.run;
            let session = self.runtime.blocking(move |runtime| {
                runtime.ledger.run(run).ok().flatten().and_then(|detail| detail.run.session_id)
            });
            let session_id = session.await.ok().flatten();
            // Whoever waits is told even when the note cannot be written.
            self.active.progress.send_replace(Progress::Accepted { session_id });
            self.note("accepted", None).await
        })
    }

    fn child<'a>(&'a self, child: &'a ProcessId) -> Recorded<'a> {
        let child = child.clone();
        Box::pin(self.record(move |ledger, run, fence| ledger.set_child(run, fence, &child)))
    }

    fn blocked<'a>(&'a self, asks: &'a [agent::Ask]) -> Recorded<'a> {
        let asks: Vec<Ask> = asks.iter().map(ask_of).collect();
        Box::pin(async move {
            self.active.blocked.begin(self.runtime.clock.awake());
            lock(&self.runtime.queue).yield_place(&self.active.task);
            self.runtime.pump();
            self.record(move |ledger, run, fence| ledger.block(run, fence, &asks)).await?;
            self.changed(EventKind::RunBlocked);
            Ok(())
        })
    }

    fn unblocked(&self) -> Recorded<'_> {
        Box::pin(async move {
            self.active.blocked.end(self.runtime.clock.awake());
            lock(&self.runtime.queue).regain_place(&self.active.task);
            self.record(|ledger, run, fence| ledger.unblock(run, fence)).await?;
            self.changed(EventKind::RunChanged);
            Ok(())
        })
    }

    fn step<'a>(&'a self, kind: StepKind, text: &'a str) -> Recorded<'a> {
        Box::pin(self.note(kind.as_str(), Some(text.to_owned())))
    }

    fn progress<'a>(&'a self, tail: &'a str) -> Recorded<'a> {
        Box::pin(async move {
            // Shown, not kept: the row gets the end of it when the run ends.
            *lock(&self.active.tail) = tail.to_owned();
            Ok(())
        })
    }
}

/// Puts an agent's request into the ledger's form.
fn ask_of(ask: &agent::Ask) -> Ask {
    let options = ask
        .questions
        .iter()
        .flat_map(|question| question.choices.iter().map(|choice| choice.label.clone()));
    let kind = match ask.kind {
        agent::AskKind::Permission => ledger::AskKind::Permission,
        agent::AskKind::Question => ledger::AskKind::Question,
    };
    Ask {
        id: ask.id.clone(),
        kind,
        text: ask.text.clone(),
        pattern: (!ask.always.is_empty()).then(|| ask.always.join(", ")),
        options: options.collect(),
        asked_at: 0,
        answered_at: None,
        answer: None,
    }
}

/// Puts a person's answer into the agent's form.
pub(super) fn answer_of(answer: ledger::Answer) -> agent::Answer {
    match answer {
        ledger::Answer::Once => agent::Answer::Once,
        ledger::Answer::Always => agent::Answer::Always,
        ledger::Answer::Reject => agent::Answer::Reject,
        ledger::Answer::Text(text) => agent::Answer::Text(text),
    }
}
