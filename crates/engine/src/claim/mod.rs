//! The claim: the only place where the project lock and the ledger meet (PROTOCOL §4).
//!
//! Under the project lock, on a freshly read file: is the slot still true, was it taken, does the
//! ledger let us have the marker, and only then is the claim written into the shared file. After
//! unlocking the file is read once more, since some writers take no lock: a claim that is gone is
//! made again with the same row. Lock order: project lock → ledger transaction, never the other way.

mod attempt;
mod current;
mod ending;
mod verdict;

#[cfg(test)]
mod tests;

pub use attempt::AHEAD_MS;
pub use current::{Armed, content_hash};
pub use ending::{Shown, show_claim_failure, show_end};
pub use verdict::{Taken, WRONG_CLOCK_MS, judge_taken};

use crate::clock::Clock;
use crate::ledger::{Gate, Ledger, LedgerError, Reason, Trigger};
use crate::project::{Folder, ProjectError};
use crate::task::policy::Overlap;
use crate::task::{Task, TaskKey};
use attempt::Step;
use std::time::Duration;

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
    /// Whether another program's run of the task goes on: the peer calls a run finished when its
    /// prompt was accepted.
    pub busy: bool,
}

impl<'a> Request<'a> {
    /// Asks for a slot as it comes due, with everything else left out.
    pub fn scheduled(task: &'a TaskKey, slot: i64) -> Self {
        Request {
            task,
            slot: Some(slot),
            trigger: Trigger::Scheduled,
            armed: None,
            overlap: Overlap::Skip,
            row: None,
            busy: false,
        }
    }
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

/// Lets everything run: for programs that claim without settings.
#[derive(Debug, Clone, Copy)]
pub struct NoRules;

impl Rules for NoRules {
    fn gate(&self, _task: &Task, _hash: &str) -> Result<Gate, Reason> {
        Ok(Gate::default())
    }
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
            match self.attempt(clock, request, rules, &mut held) {
                Ok(Step::Done(claimed)) => return Ok(claimed),
                Ok(Step::Again) => {}
                Err(error) => {
                    self.fail(held, &error);
                    return Err(error);
                }
            }
        }
        let error = ClaimError::Contended { task: request.task.task_id.clone() };
        self.fail(held, &error);
        Err(error)
    }

    /// Ends the row of a claim that could not be made, so that the marker is free at once.
    fn fail(&self, held: Option<Held>, error: &ClaimError) {
        let Some(held) = held else { return };
        let text = error.to_string();
        let ended = self.ledger.fail_claim(held.run, held.fence, Reason::ClaimFailed, &text);
        if let Err(ledger) = ended {
            // Nothing was sent: whoever sweeps after the lease ends it as such.
            tracing::warn!(run = held.run, error = %ledger, "a failed claim keeps its marker");
        }
    }
}
