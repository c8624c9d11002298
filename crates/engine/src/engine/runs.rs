//! Runs: started by hand, listed, cancelled, answered.

use super::summaries::with_memory;
use super::tasks::current;
use super::{Engine, EngineError, Result, WaitFor};
use crate::ledger::{Answer, Control, ControlVerdict, LedgerError, Reason, Run, RunFilter, Status};
use crate::runtime::{Accepted, Progress, Refusal, lock};
use crate::task::{LastStatus, TaskKey};
use crate::view::{RunAnswer, RunView};
use std::sync::Arc;

/// The most rows that one question may ask for.
const MOST: usize = 1_000;

impl Engine {
    /// Runs a task by hand, as the seed's route does: a disabled one is `NotFound`.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyRunning`, `Refused` (not approved), `RunFailed` before a session.
    pub async fn run_now(&self, project: &str, task: &str, wait: WaitFor) -> Result<RunAnswer> {
        let key = TaskKey::new(project, task);
        let subject = key.clone();
        let found = self.with(move |runtime| current(runtime, &subject)).await?;
        if !found.enabled {
            return Err(EngineError::NotFound(format!("the task {} is disabled", found.name)));
        }
        self.run_by_hand(key, wait).await
    }

    /// Runs a task by hand, also a disabled one: a loop is tried before it is enabled.
    ///
    /// # Errors
    /// As [`Engine::run_now`].
    pub async fn try_run(&self, project: &str, task: &str, wait: WaitFor) -> Result<RunAnswer> {
        let key = TaskKey::new(project, task);
        let subject = key.clone();
        self.with(move |runtime| current(runtime, &subject)).await?;
        if !self.is_started() {
            // A command alone takes over only what was left of its own task, and follows that to
            // its end before its own run starts (PROTOCOL §5).
            self.finish_what_was_left(&key).await;
        }
        self.run_by_hand(key, wait).await
    }

    async fn finish_what_was_left(&self, key: &TaskKey) {
        for followed in self.runtime().sweep(Some(key)).await {
            if followed.await.is_err() {
                tracing::error!(task = %key.task_id, "following what was left failed");
            }
        }
    }

    async fn run_by_hand(&self, key: TaskKey, wait: WaitFor) -> Result<RunAnswer> {
        let runtime = self.runtime();
        if let Some(active) = runtime.active_of(&key) {
            return Err(already_running(&key, Some(active.run)));
        }
        let (run, mut progress) =
            runtime.start_manual(&key).await.map_err(|refusal| refused(&key, refusal))?;
        let enough = |now: &Progress| match now {
            Progress::Claimed => false,
            Progress::Accepted { .. } => wait == WaitFor::Accepted,
            Progress::Ended(_) => true,
        };
        let seen = progress.wait_for(enough).await.map(|seen| seen.clone()).ok();
        let seen = match seen {
            Some(seen) => seen,
            None => Progress::Ended(Arc::new(self.end_by_row(run).await?)),
        };
        let (ended, session) = match seen {
            Progress::Ended(ended) => (Some(ended.clone()), ended.session_id.clone()),
            Progress::Accepted { session_id } => (None, session_id),
            Progress::Claimed => (None, None),
        };
        self.run_answer(key, run, ended, session).await
    }

    /// The worker is gone without a word: the row tells how the run ended.
    async fn end_by_row(&self, run: i64) -> Result<Accepted> {
        let row = self.with(move |runtime| Ok(runtime.ledger.run(run)?)).await?;
        let row = row.ok_or_else(|| no_run(run))?.run;
        if row.status.is_open() {
            // Called neither good nor bad: it is not known here.
            return Err(EngineError::Unavailable {
                message: format!("run {run} goes on, but this process does not follow it any more"),
                help: Some("Look at it with `loopkeeper runs`.".to_owned()),
            });
        }
        Ok(Accepted {
            status: row.status,
            error: row.error,
            session_id: row.session_id,
            persist_error: row.persist_error,
        })
    }

    async fn run_answer(
        &self,
        key: TaskKey,
        run: i64,
        ended: Option<Arc<Accepted>>,
        session_id: Option<String>,
    ) -> Result<RunAnswer> {
        self.with(move |runtime| {
            let mut task = current(runtime, &key)?;
            if let Some(ended) = ended.as_deref().filter(|ended| ended.persist_error.is_some()) {
                // What could not be written is shown as it is in memory: terminal.
                let ok = ended.status == Status::Succeeded;
                task.state.last_status =
                    Some(if ok { LastStatus::Success } else { LastStatus::Error });
                task.state.last_error.clone_from(&ended.error);
            }
            match ended {
                Some(ended) if ended.status != Status::Succeeded && session_id.is_none() => {
                    let error = ended
                        .error
                        .clone()
                        .unwrap_or_else(|| format!("the run ended as {}", ended.status));
                    Err(EngineError::RunFailed { error, task: Box::new(task), run_id: run })
                }
                ended => Ok(RunAnswer {
                    ok: ended.as_ref().is_none_or(|ended| ended.status == Status::Succeeded),
                    task,
                    run_id: run,
                    session_id,
                    persist_error: ended.and_then(|ended| ended.persist_error.clone()),
                }),
            }
        })
        .await
    }

    /// Lists runs, newest first.
    ///
    /// # Errors
    /// `Invalid` for more than 1,000; `Unavailable` when the ledger cannot be read.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>> {
        let filter = filter.clone();
        if !(1..=MOST).contains(&filter.limit) {
            return Err(EngineError::Invalid {
                field: Some("limit".to_owned()),
                message: format!("{} runs cannot be listed: ask for 1 to {MOST}", filter.limit),
            });
        }
        self.with(move |runtime| {
            let runs = runtime.ledger.runs(&filter)?;
            Ok(runs.into_iter().map(|run| with_memory(runtime, run)).collect())
        })
        .await
    }

    /// Returns one run with its steps.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn run(&self, run: i64) -> Result<RunView> {
        self.with(move |runtime| {
            let detail = runtime.ledger.run(run)?.ok_or(LedgerError::NoSuchRun { run })?;
            let mut shown = with_memory(runtime, detail.run);
            if shown.answer.is_none()
                && let Some(active) = runtime.active(run)
            {
                // While it goes on, the newest output stands where the answer will.
                let tail = lock(&active.tail).clone();
                shown.answer = (!tail.is_empty()).then_some(tail);
            }
            let attach = shown
                .session_id
                .as_deref()
                .filter(|id| id.starts_with("ses_"))
                .map(|id| format!("opencode --session {id}"));
            Ok(RunView { run: shown, steps: detail.steps, asks: detail.asks, attach })
        })
        .await
    }

    /// Cancels a run, whichever process of ours follows it.
    ///
    /// # Errors
    /// `NotFound`; `Refused` when it has ended.
    pub async fn cancel(&self, run: i64) -> Result<Run> {
        self.order(run, Control::Cancel).await
    }

    /// Answers what a blocked run asks, whichever process of ours follows it.
    ///
    /// # Errors
    /// `NotFound` for an unknown run or question; `Refused` when it is answered already.
    pub async fn answer(&self, run: i64, ask: &str, answer: &Answer) -> Result<Run> {
        self.order(run, Control::Answer { ask: ask.to_owned(), answer: answer.clone() }).await
    }

    async fn order(&self, run: i64, control: Control) -> Result<Run> {
        let row = self
            .with(move |runtime| {
                match runtime.ledger.control(run, &control)? {
                    ControlVerdict::Asked | ControlVerdict::Cancelled => {}
                    ControlVerdict::TooLate => {
                        return Err(EngineError::Refused(format!(
                            "run {run} has ended, or this was answered already"
                        )));
                    }
                    ControlVerdict::Unknown => {
                        let known = runtime.ledger.run(run)?.is_some();
                        return Err(match &control {
                            Control::Answer { ask, .. } if known => EngineError::NotFound(format!(
                                "run {run} asks nothing called {ask}: look at what it asks now"
                            )),
                            _ => no_run(run),
                        });
                    }
                }
                let row = runtime.ledger.run(run)?.ok_or_else(|| no_run(run))?.run;
                Ok(with_memory(runtime, row))
            })
            .await?;
        if let Some(active) = self.runtime().active(run) {
            // Followed here: obeyed at once rather than at the next look.
            self.runtime().obey(&active).await;
        }
        self.runtime().emit(crate::event::EventKind::RunChanged, Some(&row.task()), Some(run));
        Ok(row)
    }
}

fn no_run(run: i64) -> EngineError {
    LedgerError::NoSuchRun { run }.into()
}

fn already_running(key: &TaskKey, run: Option<i64>) -> EngineError {
    let run = run.map(|run| format!(" (run {run})")).unwrap_or_default();
    EngineError::AlreadyRunning(format!(
        "the task {} is already running{run}: wait for its end, or cancel it",
        key.task_id
    ))
}

fn refused(key: &TaskKey, refusal: Refusal) -> EngineError {
    match refusal {
        Refusal::AlreadyRunning => already_running(key, None),
        Refusal::Withheld(Reason::NotApproved) => EngineError::Refused(format!(
            "the content of {} was not approved on this machine: look at it with `loopkeeper \
             approve` and run it again",
            key.task_id
        )),
        Refusal::Withheld(reason) => {
            EngineError::Refused(format!("the task {} is held back: {reason}", key.task_id))
        }
        Refusal::Gone => super::no_task(key),
        Refusal::Failed(error) => EngineError::Unavailable { message: error, help: None },
    }
}
