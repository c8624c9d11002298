//! The end of a run: the ledger first, then the shared file (PROTOCOL §5, `finish`).
//!
//! Whatever cannot be written, the in-memory status is terminal and the run counts as what it was:
//! what is missing is written later, and every surface is told what is missing meanwhile.

use super::worker::{Accepted, Progress};
use super::{ActiveRun, Runtime, lock};
use crate::agent::{EndReason, Ended, Outcome};
use crate::claim::{Shown, show_end};
use crate::event::EventKind;
use crate::ledger::{Ending, FinishVerdict, LedgerError, Reason, Run, Status, Tokens};
use crate::project::ProjectError;
use crate::task::TaskKey;
use crate::task::policy::{Policy, format_duration};
use std::sync::Arc;
use std::time::Duration;

/// The wait before an end that could not be recorded is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// A run whose end is in memory only.
#[derive(Debug, Clone)]
pub(crate) struct Unwritten {
    pub status: Status,
    pub why: String,
}

impl Runtime {
    /// Records the end of a run, and what follows from it.
    pub(super) async fn finish(
        self: Arc<Self>,
        active: Arc<ActiveRun>,
        outcome: Outcome,
        policy: Arc<Policy>,
    ) {
        if outcome.status == Ended::LeftRunning {
            // The session goes on at its server; whoever is there next takes it over.
            return;
        }
        let ending = self.ending(&outcome, &policy, &active).await;
        let mut shown = false;
        let verdict = loop {
            let (run, fence, try_now) = (active.run, active.fence, ending.clone());
            let done =
                self.blocking(move |runtime| runtime.ledger.finish(run, fence, &try_now)).await;
            match done {
                Ok(Ok(verdict)) => break verdict,
                Ok(Err(error)) => self.end_is_unwritten(&active, &ending, &error),
                Err(crashed) => {
                    tracing::error!(%crashed, run, "recording the end of a run failed");
                    return;
                }
            }
            // The end is in memory and shown; the heartbeat goes on, so nobody takes the run over.
            if !std::mem::replace(&mut shown, true) {
                self.show_end(&active, &ending, None).await;
            }
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(AGAIN) => {}
            }
        };
        lock(&self.unwritten).remove(&active.run);
        match verdict {
            FinishVerdict::Superseded => {
                self.emit(EventKind::RunChanged, Some(&active.task), Some(active.run));
                self.tell_end(&active, &ending, None);
            }
            FinishVerdict::Finished { run, failures, recovered, retry } => {
                let persist_error = self.show_end(&active, &ending, Some(&run)).await;
                self.tell_end(&active, &ending, persist_error);
                self.after_end(&active, &policy, &run, failures, recovered, retry).await;
            }
        }
    }

    /// Writes the end into the shared file, with one retry; returns what could not be written.
    async fn show_end(
        self: &Arc<Self>,
        active: &Arc<ActiveRun>,
        ending: &Ending,
        row: Option<&Run>,
    ) -> Option<String> {
        let (key, run_at, slot) = (active.task.clone(), active.run_at, active.slot);
        let shown = Shown::of(ending);
        let written = self
            .blocking(move |runtime| {
                let write = || runtime.write_end(&key, run_at, slot, &shown);
                write().or_else(|first| {
                    tracing::warn!(error = %first, "the end of a run was not written; once more");
                    write()
                })
            })
            .await;
        let run = active.run;
        let error = match written {
            Ok(Ok(())) => {
                if row.is_some() {
                    let noted =
                        self.blocking(move |runtime| runtime.ledger.json_flushed(run)).await;
                    if let Ok(Err(error)) = noted {
                        self.ledger_trouble("noting that the shared file is current", &error);
                    }
                }
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(crashed) => crashed.to_string(),
        };
        let text = error.clone();
        let noted =
            self.blocking(move |runtime| runtime.ledger.set_persist_error(run, &text)).await;
        if let Ok(Err(error)) = noted {
            self.ledger_trouble("noting what could not be written", &error);
        }
        self.emit(EventKind::PersistError, Some(&active.task), Some(run));
        Some(error)
    }

    fn tell_end(&self, active: &ActiveRun, ending: &Ending, persist_error: Option<String>) {
        active.progress.send_replace(Progress::Ended(Arc::new(Accepted {
            status: ending.status,
            error: ending.error.clone(),
            session_id: ending.session_id.clone(),
            persist_error,
        })));
    }

    fn end_is_unwritten(&self, active: &ActiveRun, ending: &Ending, error: &LedgerError) {
        self.ledger_trouble("recording the end of a run", error);
        let why = error.to_string();
        let unwritten = Unwritten { status: ending.status, why: why.clone() };
        if lock(&self.unwritten).insert(active.run, unwritten).is_none() {
            self.tell_end(active, ending, Some(why));
            self.emit(EventKind::PersistError, Some(&active.task), Some(active.run));
        }
    }

    /// Writes an end into the shared file, only where `lastRunAt` is still this run's. Blocks.
    pub(super) fn write_end(
        &self,
        key: &TaskKey,
        run_at: i64,
        slot: Option<i64>,
        shown: &Shown,
    ) -> Result<(), ProjectError> {
        show_end(&self.folder, key, run_at, slot, shown, self.clock.now_ms())
    }

    async fn after_end(
        self: &Arc<Self>,
        active: &Arc<ActiveRun>,
        policy: &Arc<Policy>,
        run: &Run,
        failures: u32,
        recovered: bool,
        retry: Option<i64>,
    ) {
        let key = &active.task;
        self.emit(EventKind::RunFinished, Some(key), Some(run.id));
        if run.status == Status::Succeeded {
            self.signal(policy, super::signal::Moment::Success);
        } else if run.status.is_failure() && retry.is_none() {
            self.signal(policy, super::signal::Moment::Failure);
        }
        if recovered {
            self.emit(EventKind::Recovered, Some(key), Some(run.id));
        }
        let limit = self.settings().runs.pause_after_failures;
        let failed = run.status.is_failure() && retry.is_none();
        let pause = limit > 0 && failures >= limit && failed;
        let by_hand = active.slot.is_none() && run.status == Status::Succeeded;
        if !pause && !by_hand {
            return;
        }
        let (subject, error) = (key.clone(), run.error.clone().unwrap_or_default());
        // What failed, not what the file may say by now: a changed definition is another one.
        let hash = active.hash.clone();
        let changed = self
            .blocking(move |runtime| {
                if pause {
                    let why = format!("{failures} failures in a row; the last: {error}");
                    runtime.ledger.auto_pause(&subject, &why, Some(&hash))
                } else {
                    runtime.ledger.end_auto_pause(&subject)
                }
            })
            .await;
        match changed {
            Ok(Ok(true)) if pause => self.emit(EventKind::AutoPaused, Some(key), Some(run.id)),
            Ok(Ok(true)) => self.emit(EventKind::Resumed, Some(key), None),
            Ok(Ok(false)) | Err(_) => {}
            Ok(Err(error)) => self.ledger_trouble("auto-pausing", &error),
        }
    }

    async fn ending(
        self: &Arc<Self>,
        outcome: &Outcome,
        policy: &Policy,
        active: &Arc<ActiveRun>,
    ) -> Ending {
        let run = active.run;
        let row = self.blocking(move |runtime| runtime.ledger.run(run).ok().flatten()).await;
        let row = row.ok().flatten().map(|detail| detail.run);
        let session = outcome
            .session_id
            .clone()
            .or_else(|| row.as_ref().and_then(|row| row.session_id.clone()));
        let status = status_of(outcome.status);
        let effective = self.settings().effective(policy);
        let attempt = row.as_ref().map_or(1, |row| row.attempt);
        let retry_at =
            (status == Status::Failed && active.slot.is_some() && attempt <= effective.retries)
                .then(|| {
                    let doubled = 1u32 << (attempt - 1).min(16);
                    let wait = effective.retry_backoff.saturating_mul(doubled);
                    self.clock.now_ms() + i64::try_from(wait.as_millis()).unwrap_or(i64::MAX / 2)
                });
        let kept = outcome
            .worktree
            .as_ref()
            .map(|path| format!("its changes are kept in the worktree {}", path.display()));
        let mut said = outcome.error.clone();
        if let (Status::TimedOut, Some(said)) = (status, &mut said) {
            // The agent was told to stop, and not after how long.
            *said += &format!(" (limit: {})", format_duration(effective.timeout));
        }
        let error = match (said, kept) {
            (Some(error), Some(kept)) => Some(format!("{error} ({kept})")),
            (error, kept) if status == Status::Succeeded => error.or(kept),
            (error, _) => error,
        };
        Ending {
            reason: outcome.reason.map(reason_of),
            error,
            answer: outcome.answer.clone(),
            tokens: outcome.tokens.map(|tokens| Tokens {
                input: tokens.input,
                output: tokens.output,
                reasoning: tokens.reasoning,
                cache_read: tokens.cache_read,
                cache_write: tokens.cache_write,
            }),
            cost: outcome.cost,
            session_id: session,
            duration_ms: outcome
                .duration
                .map(|taken| i64::try_from(taken.as_millis()).unwrap_or(i64::MAX)),
            retry_at,
            ..Ending::new(status)
        }
    }
}

fn status_of(ended: Ended) -> Status {
    match ended {
        Ended::Succeeded => Status::Succeeded,
        Ended::Failed => Status::Failed,
        Ended::TimedOut => Status::TimedOut,
        Ended::Cancelled => Status::Cancelled,
        Ended::Lost | Ended::LeftRunning => Status::Lost,
    }
}

/// Puts an agent's reason into the ledger's words: the same word.
fn reason_of(reason: EndReason) -> Reason {
    Reason::from_word(reason.as_str()).unwrap_or(Reason::AgentError)
}
