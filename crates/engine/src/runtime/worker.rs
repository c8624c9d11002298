//! One run from the queue to its end (DESIGN §4.5–9).

use super::keeper::{BlockedTime, Trust};
use super::policy::PolicyGate;
use super::queue::Waiting;
use super::{ActiveRun, Runtime, journal::RunJournal, lock};
use crate::agent::prompt::title::{session_title, wall_minutes};
use crate::agent::{Control, Evidence, Job, Outcome, ProjectRef, Variables};
use crate::claim::{Claim, ClaimError, Claimed, Desk, Request};
use crate::event::EventKind;
use crate::ledger::{Reason, Status, Trigger};
use crate::loops::LoopFile;
use crate::project;
use crate::task::policy::Policy;
use crate::task::{Task, TaskKey};
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
        let waiting = Waiting {
            task: key.clone(),
            scheduled_for: Some(slot),
            trigger,
            run: None,
            ticket: 0,
            replaces: Vec::new(),
        };
        let replaced = lock(&self.queue).push(waiting);
        if let Some(older) = replaced.filter(|o| o.run.is_none()).and_then(|o| o.scheduled_for) {
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
            replaces: Vec::new(),
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
            self.go(async move {
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
        let busy = self.is_busy_elsewhere(&waiting.task).await;
        let subject = waiting.clone();
        let claimed = self.blocking(move |runtime| runtime.claim(&subject, busy)).await;
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

    /// Says whether the task's last session, unknown to our ledger, is still being worked on: the
    /// peer calls a run finished when its prompt was accepted (PROTOCOL §4).
    async fn is_busy_elsewhere(self: &Arc<Self>, key: &TaskKey) -> bool {
        let subject = key.clone();
        let foreign = self
            .blocking(move |runtime| {
                let document = project::read_only(&runtime.folder, &subject.project_id).ok()?;
                let session = document.task(&subject.task_id)?.state.last_session_id.clone()?;
                let known = runtime.ledger.knows_session(&session).unwrap_or(true);
                (!known).then_some(session)
            })
            .await;
        let Ok(Some(session)) = foreign else { return false };
        let folder =
            lock(&self.board).projects.get(&key.project_id).map(|entry| entry.project.path.clone());
        match folder {
            Some(folder) => self.agents().is_busy(&session, &folder).await == Some(true),
            None => false,
        }
    }

    fn claim(self: &Arc<Self>, waiting: &Waiting, busy: bool) -> Result<Claimed, ClaimError> {
        // Rows of older slots come before the claim, which moves `accounted_to` past them.
        self.write_unrecorded();
        for older in &waiting.replaces {
            let reason = Some(Reason::Newer);
            let row = self.slot_row(&waiting.task, *older, Status::Superseded, reason);
            self.ledger.record(&row)?;
        }
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
            busy,
        };
        let gate = PolicyGate { runtime: self, task: &waiting.task, trigger: waiting.trigger };
        desk.claim(&*self.clock, &request, &gate)
    }

    pub(super) fn policy_of(&self, key: &TaskKey) -> Arc<Policy> {
        lock(&self.board).task(key).map_or_else(Arc::default, |task| Arc::clone(&task.policy))
    }

    async fn execute(self: &Arc<Self>, claim: Claim, waiting: Waiting, policy: Arc<Policy>) {
        let job = self.job(&claim, &waiting.task, &policy, None).await;
        let (active, inbox) = self.activate(&claim, &waiting.task);
        self.answer_ticket(waiting.ticket, Ok((claim.run, active.progress.subscribe())));
        Arc::clone(self).follow_to_end(active, inbox, job, policy).await;
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
            hash: claim.hash.clone(),
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
        policy: Arc<Policy>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // Boxed, so that the workers that wait for it do not carry all of the agents' state.
        Box::pin(async move {
            self.signal(&policy, super::signal::Moment::Start);
            let beat = self.go(Arc::clone(&self).beat(Arc::clone(&active)));
            let keep = self.go(Arc::clone(&self).keep(Arc::clone(&active), Arc::clone(&policy)));
            let journal = RunJournal::new(Arc::clone(&self), Arc::clone(&active));
            let agents = self.agents();
            // A task of its own: a panic in an agent ends its run and nothing else.
            let work = self.go(async move {
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
            Arc::clone(&self).finish(Arc::clone(&active), outcome, policy).await;
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
        Arc::clone(self).follow_to_end(active, inbox, job, policy).await;
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
        let key = key.clone();
        self.go_blocking(move |runtime| match runtime.ledger.waiting_of(&key) {
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
