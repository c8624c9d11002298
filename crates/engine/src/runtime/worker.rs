//! One run from the queue to its end (DESIGN §4.5–9).

use super::keeper::{BlockedTime, Trust};
use super::policy::PolicyGate;
use super::queue::Waiting;
use super::{ActiveRun, Runtime, journal::RunJournal, lock};
use crate::agent::prompt::title::{session_title, wall_minutes};
use crate::agent::{Control, Evidence, Job, Outcome, ProjectRef, Variables};
use crate::claim::{Claim, ClaimError, Claimed, Desk, Request, Taken, judge_taken};
use crate::event::EventKind;
use crate::ledger::{Reason, SlotRow, Status, Trigger};
use crate::loops::LoopFile;
use crate::project::{self, Patch, ProjectError, StatePatch};
use crate::schedule::Compiled;
use crate::task::policy::Policy;
use crate::task::{LastStatus, Task, TaskKey};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{mpsc, oneshot, watch};

/// How far a run has come; whoever waits for it watches this.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Progress {
    /// Claimed; no agent was asked yet.
    Claimed,
    /// The agent took the prompt.
    Accepted {
        /// The agent's session.
        session_id: Option<String>,
    },
    /// It ended.
    Ended(Arc<Accepted>),
}

/// How a run ended, for whoever waits for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Accepted {
    pub status: Status,
    pub error: Option<String>,
    pub session_id: Option<String>,
    pub persist_error: Option<String>,
}

/// Why a manual run was not started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refusal {
    AlreadyRunning,
    Withheld(Reason),
    Gone,
    Failed(String),
}

/// What a ticket comes to.
pub(crate) type Started = Result<(i64, watch::Receiver<Progress>), Refusal>;

impl Runtime {
    /// Lets a due slot wait for its place; a slot of the same task that still waits is superseded.
    pub(super) fn enqueue_slot(self: &Arc<Self>, key: &TaskKey, slot: i64, trigger: Trigger) {
        let waiting =
            Waiting { task: key.clone(), scheduled_for: Some(slot), trigger, run: None, ticket: 0 };
        let replaced = lock(&self.queue).push(waiting);
        if let Some(older) = replaced.and_then(|older| older.scheduled_for) {
            self.record_slot(key, older, Status::Superseded, Reason::Newer, None);
        }
    }

    /// Starts a run by hand; the answer comes once the claim is decided.
    pub async fn start_manual(self: &Arc<Self>, key: &TaskKey) -> Started {
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.tickets).insert(ticket, sender);
        let waiting = Waiting {
            task: key.clone(),
            scheduled_for: None,
            trigger: Trigger::Manual,
            run: None,
            ticket,
        };
        if let Some(older) = lock(&self.queue).push(waiting) {
            self.answer_ticket(older.ticket, Err(Refusal::AlreadyRunning));
        }
        self.pump();
        receiver.await.unwrap_or_else(|_| Err(Refusal::Failed("the engine is stopping".into())))
    }

    fn answer_ticket(&self, ticket: u64, started: Started) {
        if let Some(sender) = lock(&self.tickets).remove(&ticket) {
            // Whoever asked may have gone; the run goes on all the same.
            let _ = sender.send(started);
        }
    }

    /// Starts what has a place now.
    pub(super) fn pump(self: &Arc<Self>) {
        if self.stopping.is_cancelled() {
            for waiting in lock(&self.queue).drain() {
                self.answer_ticket(
                    waiting.ticket,
                    Err(Refusal::Failed("the engine is stopping".into())),
                );
            }
            return;
        }
        loop {
            let next = lock(&self.queue).next(self.limits());
            let Some((waiting, placed)) = next else { return };
            let runtime = Arc::clone(self);
            self.tasks.spawn(async move {
                let task = waiting.task.clone();
                let work = AssertUnwindSafe(Arc::clone(&runtime).work(waiting)).catch_unwind();
                if work.await.is_err() {
                    tracing::error!(task = %task.task_id, "a worker failed; its run is swept later");
                }
                if placed {
                    lock(&runtime.queue).end(&task);
                }
                runtime.pump();
            });
        }
    }

    async fn work(self: Arc<Self>, waiting: Waiting) {
        let ticket = waiting.ticket;
        let subject = waiting.clone();
        let claimed = self.blocking(move |runtime| runtime.claim(&subject)).await;
        let claimed = match claimed {
            Ok(claimed) => claimed,
            Err(crashed) => {
                self.answer_ticket(ticket, Err(Refusal::Failed(crashed.to_string())));
                return;
            }
        };
        match claimed {
            Ok(Claimed::Won(claim)) => {
                let policy = self.policy_of(&waiting.task);
                self.emit(EventKind::RunChanged, Some(&waiting.task), Some(claim.run));
                self.execute(*claim, waiting, policy).await;
            }
            Ok(other) => {
                let refusal = self.not_won(&waiting, other);
                self.answer_ticket(ticket, Err(refusal));
            }
            Err(error) => {
                self.answer_ticket(ticket, Err(Refusal::Failed(error.to_string())));
                self.claim_failed(&waiting, error).await;
            }
        }
    }

    fn claim(self: &Arc<Self>, waiting: &Waiting) -> Result<Claimed, ClaimError> {
        let (armed, policy) = match lock(&self.board).task(&waiting.task) {
            Some(task) => (Some(task.armed()), Arc::clone(&task.policy)),
            None => (None, Arc::default()),
        };
        let settings = self.settings();
        let desk = Desk {
            folder: self.folder.clone(),
            ledger: self.ledger.clone(),
            lease: settings.lease.duration,
            machine_zone: self.around.machine_zone.clone(),
        };
        let request = Request {
            task: &waiting.task,
            slot: waiting.scheduled_for,
            trigger: waiting.trigger,
            armed: armed.as_ref(),
            overlap: settings.effective(&policy).overlap,
            row: waiting.run,
        };
        let gate = PolicyGate { runtime: self, task: &waiting.task, trigger: waiting.trigger };
        desk.claim(&*self.clock, &request, &gate)
    }

    /// Handles everything that a claim can come to but a won one; says why for whoever waits.
    fn not_won(self: &Arc<Self>, waiting: &Waiting, claimed: Claimed) -> Refusal {
        let key = &waiting.task;
        let slot = waiting.scheduled_for;
        match claimed {
            Claimed::Won(_) => Refusal::Gone,
            Claimed::AlreadyRunning { run } => {
                self.emit(EventKind::RunChanged, Some(key), run);
                Refusal::AlreadyRunning
            }
            Claimed::Queued { run } => {
                self.emit(EventKind::RunChanged, Some(key), Some(run));
                Refusal::AlreadyRunning
            }
            Claimed::Taken(taken) => {
                if let Some(slot) = slot {
                    let (status, reason) = match taken {
                        Taken::Slot => (Status::Deduped, Reason::ElsewhereClaimed),
                        Taken::Later => (Status::Superseded, Reason::Newer),
                    };
                    self.record_slot(key, slot, status, reason, None);
                }
                Refusal::AlreadyRunning
            }
            Claimed::NotTrue { .. } => {
                self.resync_soon(&key.project_id);
                Refusal::Gone
            }
            Claimed::Ahead => {
                // The clock was set back while the slot waited: it comes again.
                if let (Some(slot), Some(task)) = (slot, lock(&self.board).task_mut(key)) {
                    task.cursor = task.cursor.min(slot - 1);
                }
                self.rearm(key);
                Refusal::Gone
            }
            Claimed::Withheld(reason) => {
                if let Some(slot) = slot {
                    self.defer_skip(waiting, slot, reason);
                }
                if reason == Reason::NotApproved {
                    self.emit(EventKind::ApprovalNeeded, Some(key), None);
                }
                Refusal::Withheld(reason)
            }
        }
    }

    /// A claim that could not be made: the slot is told of, and the schedule goes on with its next
    /// future occurrence. Nothing stays "running" by it (openchamber pull request 2713, case A06).
    async fn claim_failed(self: &Arc<Self>, waiting: &Waiting, error: ClaimError) {
        let key = waiting.task.clone();
        tracing::warn!(task = %key.task_id, %error, "the slot could not be claimed");
        let Some(slot) = waiting.scheduled_for.filter(|_| waiting.run.is_none()) else { return };
        let reason = match &error {
            ClaimError::Project(ProjectError::Unreadable { .. }) => Reason::ConfigUnreadable,
            _ => Reason::ClaimFailed,
        };
        let text = format!("Scheduled claim failed: {error}");
        let compiled = lock(&self.board).task(&key).and_then(|task| task.compiled.clone());
        let (subject, shown) = (key.clone(), text.clone());
        let taken = self
            .blocking(move |runtime| {
                runtime.show_claim_failure(&subject, slot, compiled.as_ref(), &shown)
            })
            .await
            .unwrap_or(false);
        if taken {
            self.record_slot(&key, slot, Status::Deduped, Reason::ElsewhereClaimed, None);
        } else {
            self.record_slot(&key, slot, Status::Failed, reason, Some(text));
            self.emit(EventKind::RunFinished, Some(&key), None);
        }
    }

    /// Writes a failed claim into the shared file, as far as that goes; says whether somebody else
    /// has the slot. Blocks.
    pub(super) fn show_claim_failure(
        &self,
        key: &TaskKey,
        slot: i64,
        compiled: Option<&Compiled>,
        error: &str,
    ) -> bool {
        let now = self.clock.now_ms();
        let mut taken = false;
        let written = project::update(&self.folder, &key.project_id, |document| {
            let Some(task) = document.task(&key.task_id) else { return Ok(()) };
            let last = task.state.last_scheduled_for;
            taken = judge_taken(slot, last, now, compiled).is_some();
            if !taken {
                let patch = StatePatch {
                    updated_at: Patch::Set(now),
                    last_status: Patch::Set(LastStatus::Error),
                    last_error: Patch::Set(error.to_owned()),
                    ..StatePatch::default()
                };
                document.set_state(&key.task_id, &patch);
            }
            Ok::<(), ProjectError>(())
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the failed claim is not in the shared file either");
        }
        taken
    }

    /// Records one slot that did not run, if it has no row yet.
    pub(super) fn record_slot(
        self: &Arc<Self>,
        key: &TaskKey,
        slot: i64,
        status: Status,
        reason: Reason,
        error: Option<String>,
    ) {
        let name = lock(&self.board).task(key).map(|task| task.task.name.clone());
        let (runtime, key) = (Arc::clone(self), key.clone());
        self.tasks.spawn_blocking(move || {
            let name = name.as_deref().unwrap_or(&key.task_id);
            let row = SlotRow::new(key.clone(), name, slot, status, Some(reason));
            match runtime.ledger.record(&SlotRow { error, ..row }) {
                Ok(_) => runtime.emit(EventKind::RunChanged, Some(&key), None),
                Err(error) => runtime.ledger_trouble("recording a slot", &error),
            }
        });
    }

    pub(super) fn policy_of(&self, key: &TaskKey) -> Arc<Policy> {
        lock(&self.board).task(key).map_or_else(Arc::default, |task| Arc::clone(&task.policy))
    }

    async fn execute(self: &Arc<Self>, claim: Claim, waiting: Waiting, policy: Arc<Policy>) {
        let job = self.job(&claim, &waiting.task, &policy, None).await;
        let (active, inbox) = self.activate(&claim, &waiting.task);
        self.answer_ticket(waiting.ticket, Ok((claim.run, active.progress.subscribe())));
        Arc::clone(self).follow_to_end(active, inbox, job, claim.task, policy).await;
    }

    /// Registers a run as followed here.
    fn activate(
        self: &Arc<Self>,
        claim: &Claim,
        key: &TaskKey,
    ) -> (Arc<ActiveRun>, mpsc::Receiver<Control>) {
        let (controls, receiver) = mpsc::channel(16);
        let active = Arc::new(ActiveRun {
            run: claim.run,
            fence: claim.fence,
            task: key.clone(),
            run_at: claim.run_at,
            slot: claim.slot,
            controls,
            progress: watch::Sender::new(Progress::Claimed),
            tail: std::sync::Mutex::default(),
            trust: Trust::new(self.clock.awake()),
            blocked: BlockedTime::default(),
        });
        lock(&self.active).insert(claim.run, Arc::clone(&active));
        (active, receiver)
    }

    /// Lets the agent work (or follows a run that was taken over) and records the end.
    fn follow_to_end(
        self: Arc<Self>,
        active: Arc<ActiveRun>,
        inbox: mpsc::Receiver<Control>,
        job: Job,
        task: Task,
        policy: Arc<Policy>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // Boxed, so that the workers that wait for it do not carry all of the agents' state.
        Box::pin(async move {
            self.signal(&policy, super::signal::Moment::Start);
            let beat = tokio::spawn(Arc::clone(&self).beat(Arc::clone(&active)));
            let keep =
                tokio::spawn(Arc::clone(&self).keep(Arc::clone(&active), Arc::clone(&policy)));
            let journal = RunJournal::new(Arc::clone(&self), Arc::clone(&active));
            let agents = self.agents();
            // A task of its own: a panic in an agent ends its run and nothing else.
            let work = tokio::spawn(async move {
                if job.resume.is_some() {
                    agents.follow(&job, &journal, inbox).await
                } else {
                    agents.run(&job, &journal, inbox).await
                }
            });
            let outcome = work.await.unwrap_or_else(|_| Outcome {
                error: Some("an internal error ended this run; the log has its trace".to_owned()),
                ..Outcome::new(crate::agent::Ended::Failed)
            });
            keep.abort();
            Arc::clone(&self).finish(Arc::clone(&active), outcome, task, policy).await;
            // The heartbeat goes on until the end is written; nothing resurrects a released marker.
            beat.abort();
            lock(&self.active).remove(&active.run);
            self.last_end.store(self.awake_ms().max(1), Ordering::Relaxed);
            self.pump_queued(&active.task);
        })
    }

    /// Takes over a run whose holder is gone.
    pub(super) async fn resume(self: &Arc<Self>, claim: Claim, key: TaskKey, evidence: Evidence) {
        lock(&self.queue).take_place(&key);
        let policy = self.policy_of(&key);
        let job = self.job(&claim, &key, &policy, Some(evidence)).await;
        let (active, inbox) = self.activate(&claim, &key);
        self.emit(EventKind::RunChanged, Some(&key), Some(claim.run));
        Arc::clone(self).follow_to_end(active, inbox, job, claim.task, policy).await;
        lock(&self.queue).end(&key);
        self.pump();
    }

    async fn job(
        self: &Arc<Self>,
        claim: &Claim,
        key: &TaskKey,
        policy: &Policy,
        resume: Option<Evidence>,
    ) -> Job {
        let path = lock(&self.board)
            .projects
            .get(&key.project_id)
            .map_or_else(PathBuf::new, |entry| entry.project.path.clone());
        let zone = claim.task.schedule.timezone().unwrap_or(&self.around.machine_zone).to_owned();
        let at = claim.slot.unwrap_or(claim.run_at);
        let title = session_title(&claim.task.name, Some(&zone), chrono_tz::UTC, at);
        let variables = if policy.variables == Some(true) {
            Some(self.variables(key, at, &zone, &path).await)
        } else {
            None
        };
        Job {
            run_id: claim.run,
            project: ProjectRef { id: key.project_id.clone(), path },
            task_id: key.task_id.clone(),
            title,
            scheduled_for: claim.slot,
            execution: claim.task.execution.clone(),
            variables,
            worktree: policy.worktree == Some(true),
            resume,
        }
    }

    async fn variables(
        self: &Arc<Self>,
        key: &TaskKey,
        at: i64,
        zone: &str,
        path: &std::path::Path,
    ) -> Variables {
        let subject = key.clone();
        let last = self
            .blocking(move |runtime| {
                let last = runtime.ledger.last_ended(&subject).ok().flatten();
                let success = runtime.ledger.last_success(&subject).ok().flatten();
                (last, success)
            })
            .await;
        let (last, success) = last.unwrap_or_default();
        let minute = |ms| wall_minutes(Some(zone), chrono_tz::UTC, ms);
        Variables {
            scheduled_for: minute(at),
            last_result: last.and_then(|run| run.answer.or(run.error)).unwrap_or_default(),
            last_success_at: success
                .and_then(|run| run.finished_at)
                .map(minute)
                .unwrap_or_default(),
            project: path.display().to_string(),
        }
    }

    /// A run of this task ended: an overlap that was queued goes on.
    fn pump_queued(self: &Arc<Self>, key: &TaskKey) {
        let (runtime, key) = (Arc::clone(self), key.clone());
        self.tasks.spawn_blocking(move || match runtime.ledger.waiting_of(&key) {
            Ok(rows) => runtime.enqueue_rows(rows),
            Err(error) => runtime.ledger_trouble("looking for queued runs", &error),
        });
    }
}

/// What defines a task as text, for approvals.
pub(crate) fn defining_text(task: &Task, file: Option<&LoopFile>) -> String {
    match file.and_then(|file| std::fs::read_to_string(&file.path).ok()) {
        Some(text) => text,
        None => serde_json::to_string_pretty(&(&task.name, &task.schedule, &task.execution))
            .unwrap_or_default(),
    }
}
