//! The claim: the only place where the project lock and the ledger meet (PROTOCOL §4).
//!
//! Under the project lock, on a freshly read file: is the slot still true, was it taken, does the
//! ledger let us have the marker, and only then is the claim written into the shared file. After
//! unlocking the file is read once more, since some writers take no lock: a claim that is gone is
//! made again with the same row. Lock order: project lock → ledger transaction, never the other way.

mod current;
mod verdict;

pub use current::{Armed, content_hash};
pub use verdict::{Taken, WRONG_CLOCK_MS, judge_taken};

use crate::clock::Clock;
use crate::ledger::{
    self, ClaimVerdict, Gate, Ledger, LedgerError, Reason, Trigger, Verdict, WaitingRequest,
};
use crate::project::{self, Document, Folder, Patch, ProjectError, StatePatch, Written};
use crate::task::policy::Overlap;
use crate::task::{LastStatus, Task, TaskKey};
use current::Current;
use std::time::Duration;

/// How far ahead of the clock a slot may lie: more means that the clock was set back while the
/// slot waited (PROTOCOL §4.1).
const AHEAD_MS: i64 = 5_000;

/// How often a claim starts again because its write was abandoned or its trace vanished. Each time
/// somebody else made progress, so the limit is only reached under a writer gone wild.
const ATTEMPTS: usize = 50;

/// What a claim works on.
#[derive(Debug, Clone)]
pub struct Desk {
    /// The shared files.
    pub folder: Folder,
    /// Our own record.
    pub ledger: Ledger,
    /// The lease that a won marker gets.
    pub lease: Duration,
    /// The zone of tasks that name none.
    pub machine_zone: String,
}

/// One wish to run a task.
#[derive(Debug)]
pub struct Request<'a> {
    /// The task.
    pub task: &'a TaskKey,
    /// The slot, ms since 1970; `None` for a manual run.
    pub slot: Option<i64>,
    /// What asks.
    pub trigger: Trigger,
    /// What the task was armed from; a loop file that differs is read again.
    pub armed: Option<&'a Armed>,
    /// What happens when the task runs already.
    pub overlap: Overlap,
    /// The row that waits for this claim already (an overlap that was queued, a retry).
    pub row: Option<i64>,
}

/// A won claim: the marker is ours, the file says so, no agent has been asked yet.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The row.
    pub run: i64,
    /// What guards every later write.
    pub fence: i64,
    /// The task as the file has it after the claim; its execution is what runs.
    pub task: Task,
    /// The slot; `None` for a manual run.
    pub slot: Option<i64>,
    /// `state.lastRunAt`, which later says whether the shared state is still this run's.
    pub run_at: i64,
    /// The content hash of what defines the task.
    pub hash: String,
}

/// What came of the wish. A lost race is a value.
#[derive(Debug)]
pub enum Claimed {
    /// Ours.
    Won(Box<Claim>),
    /// The task runs already; the slot is consumed and has its row.
    AlreadyRunning {
        /// The row that was skipped; `None` where none was made (a waiting row goes on waiting).
        run: Option<i64>,
    },
    /// The slot waits for the running one to end; consumed.
    Queued {
        /// The row that waits.
        run: i64,
    },
    /// Somebody has the slot, or a later one.
    Taken(Taken),
    /// The slot is not the current definition's any more.
    NotTrue {
        /// The task as it is now; `None` when it is gone.
        task: Option<Box<Task>>,
    },
    /// The clock stands more than 5 s before the slot.
    Ahead,
    /// A rule holds it back; nothing was consumed.
    Withheld(Reason),
}

/// Why a claim could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The shared file or its lock.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Our ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file kept changing under us.
    #[error(
        "the claim of task {task} was overwritten {ATTEMPTS} times in a row by a writer that takes no lock"
    )]
    Contended {
        /// The task.
        task: String,
    },
}

/// What decides on policy, on the definition as it is under the lock.
pub trait Rules {
    /// Returns what the ledger has to check in the claim's own transaction.
    ///
    /// # Errors
    /// The reason why the task must not run here at all (`wrong_host`, `wrong_project`).
    fn gate(&self, task: &Task, hash: &str) -> Result<Gate, Reason>;
}

/// A row and its fence.
#[derive(Debug, Clone, Copy)]
struct Held {
    run: i64,
    fence: i64,
    run_at: i64,
}

impl Desk {
    /// Makes one claim, from the first look to the row that says `running`.
    ///
    /// # Errors
    /// When the file or the ledger cannot be read or written; the row, if one was made, then says
    /// `claim_failed`, the marker is free, and no agent was asked.
    pub fn claim(
        &self,
        clock: &dyn Clock,
        request: &Request<'_>,
        rules: &dyn Rules,
    ) -> Result<Claimed, ClaimError> {
        let mut held: Option<Held> = None;
        for _ in 0..ATTEMPTS {
            match self.once(clock, request, rules, &mut held)? {
                Step::Done(claimed) => return Ok(claimed),
                Step::Again => {}
            }
        }
        if let Some(held) = held {
            let why = "overwritten again and again";
            self.ledger.fail_claim(held.run, held.fence, Reason::ClaimFailed, why)?;
        }
        Err(ClaimError::Contended { task: request.task.task_id.clone() })
    }

    fn once(
        &self,
        clock: &dyn Clock,
        request: &Request<'_>,
        rules: &dyn Rules,
        held: &mut Option<Held>,
    ) -> Result<Step, ClaimError> {
        let mut locked = project::open_locked(&self.folder, &request.task.project_id)?;
        let mut document = locked.read()?;
        let now = clock.now_ms();

        // 1. Still true?
        let Some(current) = Current::read(&document, request, &self.machine_zone) else {
            self.give_up(held)?;
            return Ok(Step::Done(Claimed::NotTrue { task: None }));
        };
        let not_true = match request.slot {
            Some(slot) => !current.task.enabled || !current.yields(slot),
            None => false,
        };
        if not_true {
            self.give_up(held)?;
            return Ok(Step::Done(Claimed::NotTrue { task: Some(Box::new(current.task)) }));
        }
        if request.slot.is_some_and(|slot| slot > now + AHEAD_MS) {
            self.give_up(held)?;
            return Ok(Step::Done(Claimed::Ahead));
        }

        // 2. Taken? A retry's or a queued run's slot was consumed when its row was made.
        if let (Some(slot), None) = (request.slot, request.row) {
            let last = current.task.state.last_scheduled_for;
            if let Some(taken) = judge_taken(slot, last, now, current.compiled.as_ref()) {
                self.give_up(held)?;
                return Ok(Step::Done(Claimed::Taken(taken)));
            }
        }

        // 3. The ledger.
        let mine = match *held {
            Some(mine) => mine,
            None => {
                let gate = match rules.gate(&current.task, &current.hash) {
                    Ok(gate) => gate,
                    Err(reason) => return Ok(Step::Done(Claimed::Withheld(reason))),
                };
                match self.mark(now, request, &current, gate)? {
                    Marked::Mine(mine) => *held.insert(mine),
                    Marked::Consumed(claimed) => {
                        // The slot is spent, whoever runs: say so for everyone.
                        consume(&mut document, request, &current, now, None);
                        return match locked.write(&document)? {
                            Written::Abandoned => Ok(Step::Again),
                            Written::Done | Written::Unchanged => Ok(Step::Done(claimed)),
                        };
                    }
                    Marked::Taken { ran } => {
                        if ran {
                            raise(&mut document, request);
                            if locked.write(&document)? == Written::Abandoned {
                                return Ok(Step::Again);
                            }
                        }
                        return Ok(Step::Done(Claimed::Taken(Taken::Slot)));
                    }
                    Marked::Running => {
                        return Ok(Step::Done(Claimed::AlreadyRunning { run: None }));
                    }
                    Marked::Withheld(reason) => return Ok(Step::Done(Claimed::Withheld(reason))),
                }
            }
        };

        // 4. The file.
        consume(&mut document, request, &current, now, Some(mine.run_at));
        match locked.write(&document) {
            Ok(Written::Done | Written::Unchanged) => {}
            Ok(Written::Abandoned) => {
                // 5. Undone as a whole; the next round looks afresh.
                self.give_up(held)?;
                return Ok(Step::Again);
            }
            Err(error) => {
                let text = error.to_string();
                self.ledger.fail_claim(mine.run, mine.fence, Reason::ClaimFailed, &text)?;
                return Err(error.into());
            }
        }
        let task = document.task(&request.task.task_id).cloned();
        drop(locked);

        // 6. Still there, now that the lock is gone?
        let seen = project::read_only(&self.folder, &request.task.project_id)?;
        let kept = seen.task(&request.task.task_id).is_some_and(|task| {
            let slot_kept = request.row.is_some() || task.state.last_scheduled_for >= request.slot;
            task.state.last_run_at == Some(mine.run_at) && slot_kept
        });
        if !kept {
            return Ok(Step::Again);
        }
        if self.ledger.start(mine.run, mine.fence)? == Verdict::Superseded {
            // Somebody took the marker over meanwhile: the run is theirs.
            return Ok(Step::Done(Claimed::Taken(Taken::Slot)));
        }
        let mut task = task.unwrap_or_else(|| current.task.clone());
        task.execution = current.task.execution.clone();
        task.schedule = current.task.schedule.clone();
        Ok(Step::Done(Claimed::Won(Box::new(Claim {
            run: mine.run,
            fence: mine.fence,
            task,
            slot: request.slot,
            run_at: mine.run_at,
            hash: current.hash,
        }))))
    }
}

enum Step {
    Done(Claimed),
    Again,
}

enum Marked {
    Mine(Held),
    Consumed(Claimed),
    Taken { ran: bool },
    Running,
    Withheld(Reason),
}

impl Desk {
    /// Makes or finds the row and the marker.
    fn mark(
        &self,
        now: i64,
        request: &Request<'_>,
        current: &Current,
        gate: Gate,
    ) -> Result<Marked, LedgerError> {
        let verdict = match request.row {
            Some(row) => self.ledger.claim_waiting(&WaitingRequest {
                run: row,
                run_at: now,
                lease: self.lease,
                gate,
            })?,
            None => self.ledger.claim(&ledger::ClaimRequest {
                task: request.task.clone(),
                task_name: current.task.name.clone(),
                occurrence: request.slot,
                trigger: request.trigger,
                attempt: 1,
                run_at: now,
                lease: self.lease,
                gate,
                queue: request.overlap == Overlap::Queue,
                // Step 2 found no claim in the file.
                claimed_in_file: false,
                mine: None,
                accounts: request.slot.is_some(),
            })?,
        };
        Ok(match verdict {
            ClaimVerdict::Won { run, fence } | ClaimVerdict::TakenOver { run, fence } => {
                Marked::Mine(Held { run, fence, run_at: now })
            }
            ClaimVerdict::AlreadyRunning { run, .. } => {
                if request.slot.is_some() && request.row.is_none() {
                    Marked::Consumed(Claimed::AlreadyRunning { run })
                } else {
                    Marked::Running
                }
            }
            ClaimVerdict::Queued { run } => Marked::Consumed(Claimed::Queued { run }),
            ClaimVerdict::Taken(row) => Marked::Taken { ran: row.status.was_sent() },
            ClaimVerdict::Refused(reason) => Marked::Withheld(reason),
        })
    }

    /// Takes back the row that was made before the slot turned out not to be ours.
    fn give_up(&self, held: &mut Option<Held>) -> Result<(), LedgerError> {
        if let Some(mine) = held.take() {
            // A lost race here means that somebody else ended the row: nothing is left to undo.
            self.ledger.undo_claim(mine.run, mine.fence)?;
        }
        Ok(())
    }
}

/// Writes the claim into the document: the slot is spent, and for a won marker the task runs.
fn consume(
    document: &mut Document,
    request: &Request<'_>,
    current: &Current,
    now: i64,
    run_at: Option<i64>,
) {
    let mut patch = StatePatch { updated_at: Patch::Set(now), ..StatePatch::default() };
    // A row that waited spent its slot when it was made; the schedule has moved on since.
    if let (Some(slot), None) = (request.slot, request.row) {
        patch.last_scheduled_for = Patch::Set(slot);
        patch.next_run_at = match current.next_after(slot.max(now)) {
            Some(next) => Patch::Set(next),
            None => Patch::Remove,
        };
    }
    if let Some(run_at) = run_at {
        patch.last_status = Patch::Set(LastStatus::Running);
        patch.last_run_at = Patch::Set(run_at);
        patch.last_error = Patch::Remove;
    }
    document.set_state(&request.task.task_id, &patch);
}

/// Raises `lastScheduledFor` to a slot that our ledger shows as run.
fn raise(document: &mut Document, request: &Request<'_>) {
    let Some(slot) = request.slot else { return };
    let older = document
        .task(&request.task.task_id)
        .is_some_and(|task| task.state.last_scheduled_for.is_none_or(|last| last < slot));
    if older {
        let patch = StatePatch { last_scheduled_for: Patch::Set(slot), ..StatePatch::default() };
        document.set_state(&request.task.task_id, &patch);
    }
}
