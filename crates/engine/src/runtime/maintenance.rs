//! What is looked after every 30 s: the dead, the unwritten, the waiting (PROTOCOL §5–6).

use super::queue::Waiting;
use super::{Runtime, lock};
use crate::agent::Evidence;
use crate::claim::{Claim, Shown, content_hash};
use crate::event::EventKind;
use crate::ledger::{Ending, Reason, Run, Stale, Status, Trigger};
use crate::project::{self, Patch, ProjectError, StatePatch};
use crate::task::{LastStatus, Task, TaskKey};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinHandle;

/// A `running` in the shared file that is no open run of ours is put right after this (35 min).
const FORGOTTEN_MS: i64 = 35 * 60 * 1000;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// How long rounds may be left out while everything is at rest (5 min): what a watcher failed to
/// report is found then.
const LONGEST_REST_MS: i64 = 5 * 60 * 1000;

/// A slot within this time (10 s) is soon.
const SOON_MS: i64 = 10_000;

/// How long a start takes with all that follows from it (20 s).
const START_MS: i64 = 20_000;

impl Runtime {
    /// Says whether a round would find nothing: asked each time, so that an idle process wakes no
    /// thread for nothing. Never waits.
    fn is_at_rest(&self) -> bool {
        let now = self.awake_ms();
        let last_round = self.last_round.load(Ordering::Relaxed);
        let last_prune = self.last_prune.load(Ordering::Relaxed);
        self.is_watching.load(Ordering::Relaxed)
            && last_round != 0
            && now - last_round < LONGEST_REST_MS
            && self.last_return.load(Ordering::Relaxed) != 0
            && last_prune != 0
            && now - last_prune < HOUR_MS
            && self.last_end.load(Ordering::Relaxed) == 0
            && lock(&self.active).is_empty()
            && lock(&self.unwritten).is_empty()
            && lock(&self.unrecorded).is_empty()
            && !self.is_anything_shown_as_running()
            && self.ledger.is_at_rest(self.seen_version.load(Ordering::Relaxed))
    }

    fn is_anything_shown_as_running(&self) -> bool {
        lock(&self.board)
            .tasks()
            .any(|(_, task)| task.task.state.last_status == Some(LastStatus::Running))
    }

    /// Looks after everything once, in the background, unless nothing can be in want of it.
    pub(super) fn maintain(self: &Arc<Self>) {
        if self.is_at_rest() {
            return;
        }
        self.last_round.store(self.awake_ms().max(1), Ordering::Relaxed);
        // A round that a busy ledger holds up is not joined by others.
        self.round.notify_waiters();
        let Ok(turn) = Arc::clone(&self.maintaining).try_lock_owned() else { return };
        let runtime = Arc::clone(self);
        self.go(async move {
            let _turn = turn;
            // Each goes on by itself.
            drop(runtime.sweep(None).await);
            let done = runtime
                .blocking(|runtime| {
                    // Watching tells of changes at once; this look is for when it fails.
                    for id in runtime.changed_by_others() {
                        runtime.sync(&id);
                    }
                    runtime.write_unrecorded();
                    runtime.write_deferred();
                    runtime.flush_ends();
                    runtime.start_waiting_rows();
                    runtime.put_running_right();
                    runtime.prune_hourly();
                })
                .await;
            if let Err(crashed) = done {
                tracing::error!(%crashed, "looking after the ledger failed");
            }
            runtime.pump();
            runtime.end_idle_server().await;
            runtime.return_unused().await;
        });
    }

    /// Gives memory back that is not needed while nothing goes on; at most once in five minutes,
    /// and not shortly before a slot, which would wait for the code to come back.
    async fn return_unused(self: &Arc<Self>) {
        let next = lock(&self.timers).next().unwrap_or(i64::MAX);
        if next.saturating_sub(self.clock.now_ms()) < SOON_MS {
            return;
        }
        let now = self.awake_ms();
        let last = self.last_return.load(Ordering::Relaxed);
        let recent = last != 0 && now - last < LONGEST_REST_MS;
        // The host greets and surfaces open after the first round; the second one is quiet.
        let starting = self.clock.now_ms() - self.began.load(Ordering::Relaxed) < START_MS;
        if recent || starting || !lock(&self.active).is_empty() {
            return;
        }
        self.last_return.store(now.max(1), Ordering::Relaxed);
        let done = self.blocking(|runtime| {
            runtime.ledger.return_unused();
            crate::memory::return_unused();
        });
        if let Err(crashed) = done.await {
            tracing::error!(%crashed, "giving memory back failed");
        }
    }

    /// Pruning looks at every task's history, so it is done once an hour. Blocks.
    fn prune_hourly(self: &Arc<Self>) {
        let now = self.awake_ms();
        let last = self.last_prune.load(Ordering::Relaxed);
        if last != 0 && now - last < HOUR_MS {
            return;
        }
        self.last_prune.store(now.max(1), Ordering::Relaxed);
        let keep = usize::try_from(self.settings().runs.history).unwrap_or(usize::MAX);
        if let Err(error) = self.ledger.prune(keep) {
            self.ledger_trouble("pruning the history", &error);
        }
    }

    /// Takes over the runs whose holder is gone; with a task, only that task's. Returns what ends
    /// when they do.
    pub(crate) async fn sweep(self: &Arc<Self>, only: Option<&TaskKey>) -> Vec<JoinHandle<()>> {
        let active = self.active_ids();
        let found = self.blocking(move |runtime| runtime.ledger.sweep(&active)).await;
        let stale = match found {
            Ok(Ok(stale)) => stale,
            Ok(Err(error)) => {
                self.ledger_trouble("sweeping", &error);
                return Vec::new();
            }
            Err(crashed) => {
                tracing::error!(%crashed, "sweeping failed");
                return Vec::new();
            }
        };
        let mut followed = Vec::new();
        for stale in stale {
            if only.is_none_or(|only| *only == stale.run.task()) {
                followed.extend(self.take_over(stale).await);
            }
        }
        followed
    }

    async fn take_over(self: &Arc<Self>, stale: Stale) -> Option<JoinHandle<()>> {
        let lease = self.settings().lease.duration;
        let subject = stale.clone();
        let taken = self.blocking(move |runtime| runtime.ledger.take_over(&subject, lease)).await;
        let fence = match taken {
            Ok(Ok(Some(fence))) => fence,
            // Another process was faster, or the holder gave a sign of life.
            Ok(Ok(None)) => return None,
            Ok(Err(error)) => {
                self.ledger_trouble("taking a run over", &error);
                return None;
            }
            Err(crashed) => {
                tracing::error!(%crashed, "taking a run over failed");
                return None;
            }
        };
        let run = stale.run;
        let key = run.task();
        tracing::info!(run = run.id, task = %key.task_id, cause = ?stale.cause, "taken over");
        if run.status == Status::Claimed {
            self.not_sent(run, fence).await;
            return None;
        }
        let Some(task) = self.task_for(&key).await else {
            self.lost_with_its_task(run, fence).await;
            return None;
        };
        let claim = Claim {
            run: run.id,
            fence,
            hash: content_hash(&task),
            run_at: run.run_at.unwrap_or(run.created_at),
            slot: run.scheduled_for,
            task,
        };
        let evidence = Evidence { session_id: run.session_id.clone(), child: run.child.clone() };
        let runtime = Arc::clone(self);
        Some(self.go(async move { runtime.resume(claim, key, evidence).await }))
    }

    async fn task_for(self: &Arc<Self>, key: &TaskKey) -> Option<Task> {
        let subject = key.clone();
        let read = self.blocking(move |runtime| {
            let document = project::read_only(&runtime.folder, &subject.project_id).ok();
            document.and_then(|document| document.task(&subject.task_id).cloned())
        });
        match read.await.ok().flatten() {
            Some(task) => Some(task),
            None => lock(&self.board).task(key).map(|task| (*task.task).clone()),
        }
    }

    /// A claim whose holder died before any agent was asked: it is never sent again.
    async fn not_sent(self: &Arc<Self>, run: Run, fence: i64) {
        let text = "Loopkeeper ended between claiming this slot and asking the agent; nothing was \
                    sent, and it is not sent again. Run it by hand if it is still wanted.";
        let key = run.task();
        let ended = self
            .blocking(move |runtime| {
                let done = runtime.ledger.fail_claim(run.id, fence, Reason::NotSent, text);
                runtime.flush_ends();
                done
            })
            .await;
        if let Ok(Err(error)) = ended {
            self.ledger_trouble("ending a claim that was not sent", &error);
        }
        self.emit(EventKind::RunFinished, Some(&key), None);
    }

    async fn lost_with_its_task(self: &Arc<Self>, run: Run, fence: i64) {
        let ending = Ending::new(Status::Lost).because(
            Reason::DefinitionChanged,
            "its task was deleted while the process that followed it was gone",
        );
        let (id, key) = (run.id, run.task());
        let done = self.blocking(move |runtime| runtime.ledger.finish(id, fence, &ending)).await;
        if let Ok(Err(error)) = done {
            self.ledger_trouble("ending a run without a task", &error);
        }
        self.emit(EventKind::RunFinished, Some(&key), Some(id));
    }

    /// Writes the ends that the shared files do not show yet. Blocks.
    pub(crate) fn flush_ends(self: &Arc<Self>) {
        let pending = match self.ledger.pending_json() {
            Ok(pending) => pending,
            Err(error) => return self.ledger_trouble("looking for unwritten ends", &error),
        };
        for run in pending {
            if self.active(run.id).is_some() {
                continue;
            }
            let key = run.task();
            // A row that never got so far as the shared file has nothing to show there.
            let written = run.run_at.map_or(Ok(()), |run_at| {
                self.write_end(&key, run_at, run.scheduled_for, &Shown::of_row(&run))
            });
            match written {
                Ok(()) => {
                    if let Err(error) = self.ledger.json_flushed(run.id) {
                        self.ledger_trouble("noting that a shared file is current", &error);
                    }
                    if run.persist_error.is_some() {
                        self.emit(EventKind::RunChanged, Some(&key), Some(run.id));
                    }
                }
                Err(error) => tracing::debug!(%error, run = run.id, "still not written"),
            }
        }
    }

    /// Lets retries that are due, and queued overlaps, wait for a place. Blocks.
    fn start_waiting_rows(self: &Arc<Self>) {
        match self.ledger.waiting() {
            Ok(rows) => self.enqueue_rows(rows),
            Err(error) => self.ledger_trouble("looking for waiting runs", &error),
        }
    }

    pub(super) fn enqueue_rows(self: &Arc<Self>, rows: Vec<Run>) {
        let now = self.clock.now_ms();
        for row in rows {
            let key = row.task();
            let due = row.due_at.unwrap_or(0);
            if due > now {
                self.wake_for_row(due);
                continue;
            }
            if self.active_of(&key).is_some() {
                continue;
            }
            lock(&self.queue).push_row(Waiting {
                task: key,
                scheduled_for: row.scheduled_for,
                trigger: Trigger::Retry,
                run: Some(row.id),
                ticket: 0,
                replaces: Vec::new(),
            });
        }
        self.bell.notify_one();
    }

    /// Looks again when a retry is due, if that is sooner than the next look anyway.
    fn wake_for_row(self: &Arc<Self>, due: i64) {
        let left = u64::try_from(due - self.clock.now_ms()).unwrap_or(0);
        let left = std::time::Duration::from_millis(left);
        if left >= super::scheduler::LONGEST_SLEEP {
            return;
        }
        let runtime = Arc::clone(self);
        self.go(async move {
            tokio::select! {
                () = runtime.stopping.cancelled() => return,
                () = tokio::time::sleep(left) => {}
            }
            let looked = runtime.blocking(|runtime| runtime.start_waiting_rows()).await;
            if let Err(crashed) = looked {
                tracing::error!(%crashed, "looking for due retries failed");
            }
        });
    }

    /// Puts `running` right that nobody will ever end: a crash of the peer leaves it for ever, and a
    /// run that ended always leaves `lastStatus` terminal. Blocks.
    fn put_running_right(self: &Arc<Self>) {
        let now = self.clock.now_ms();
        let suspects: Vec<(TaskKey, i64)> = lock(&self.board)
            .tasks()
            .filter(|(_, task)| task.task.state.last_status == Some(LastStatus::Running))
            .filter_map(|(entry, task)| {
                let run_at = task.task.state.last_run_at?;
                let key = TaskKey::new(&entry.project.id, &task.task.id);
                (now - run_at > FORGOTTEN_MS).then_some((key, run_at))
            })
            .collect();
        if suspects.is_empty() {
            return;
        }
        let open = match self.ledger.open_runs() {
            Ok(open) => open,
            Err(error) => return self.ledger_trouble("looking for open runs", &error),
        };
        for (key, run_at) in suspects {
            // Another one of ours says nothing about this one: it is known by its `lastRunAt`.
            if open.iter().any(|run| run.task() == key && run.run_at == Some(run_at)) {
                continue;
            }
            let text = "the program that ran this ended without recording a result";
            let patch = StatePatch {
                updated_at: Patch::Set(now),
                last_status: Patch::Set(LastStatus::Error),
                last_error: Patch::Set(text.to_owned()),
                ..StatePatch::default()
            };
            let written = project::update(&self.folder, &key.project_id, |document| {
                let still = document.task(&key.task_id).is_some_and(|task| {
                    task.state.last_status == Some(LastStatus::Running)
                        && task.state.last_run_at == Some(run_at)
                });
                if still {
                    document.set_state(&key.task_id, &patch);
                }
                Ok::<(), ProjectError>(())
            });
            match written {
                Ok(_) => self.emit(EventKind::TasksChanged, Some(&key), None),
                Err(error) => tracing::debug!(%error, "a stale `running` stays for now"),
            }
        }
    }
}
