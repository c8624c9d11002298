//! One round of a claim: steps 1 to 6 of PROTOCOL §4.

use super::current::Current;
use super::verdict::judge_taken;
use super::{Claim, ClaimError, Claimed, Desk, Held, Request, Rules, Taken};
use crate::clock::Clock;
use crate::ledger::{
    self, ClaimVerdict, Gate, LedgerError, Reason, Run, SlotRow, Status, Verdict, WaitingRequest,
};
use crate::project::{self, Document, Patch, StatePatch, Written};
use crate::task::policy::Overlap;
use crate::task::{LastStatus, Task};

/// How far ahead of the clock a slot may lie, in ms: more means that the clock was set back while
/// the slot waited (PROTOCOL §4.1).
pub const AHEAD_MS: i64 = 5_000;

impl Desk {
    pub(super) fn attempt(
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
        // The end of a `once` switches it off, also when a further attempt is to come.
        let spent = request.row.is_some() && current.task.schedule.is_once();
        let not_true = match request.slot {
            Some(slot) => !(current.task.enabled || spent) || !current.yields(slot),
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
                        }
                        return match locked.write(&document) {
                            Ok(Written::Abandoned) => Ok(Step::Again),
                            Ok(Written::Done | Written::Unchanged) => {
                                Ok(Step::Done(Claimed::Taken(Taken::Slot)))
                            }
                            Err(error) => {
                                // The slot has its row whatever the file says: that decides.
                                tracing::warn!(%error, "the file shows an older slot than ran");
                                Ok(Step::Done(Claimed::Taken(Taken::Slot)))
                            }
                        };
                    }
                    Marked::Running { run } => {
                        return Ok(Step::Done(Claimed::AlreadyRunning { run }));
                    }
                    Marked::Withheld(reason) => return Ok(Step::Done(Claimed::Withheld(reason))),
                }
            }
        };

        // 4. The file.
        consume(&mut document, request, &current, now, Some(mine.run_at));
        if locked.write(&document)? == Written::Abandoned {
            // 5. Undone as a whole; the next round looks afresh. (A failed write ends the row.)
            self.give_up(held)?;
            return Ok(Step::Again);
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
        // What runs is what the loop file says; what happened to it is what the shared file says.
        let state = task.map_or_else(|| current.task.state.clone(), |task| task.state);
        let task = Task { state, ..current.task };
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

/// What came of one round.
#[derive(Debug)]
pub(super) enum Step {
    /// It is decided.
    Done(Claimed),
    /// Somebody else wrote meanwhile: the next round looks afresh.
    Again,
}

enum Marked {
    Mine(Held),
    Consumed(Claimed),
    Taken { ran: bool },
    Running { run: Option<i64> },
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
        if request.busy {
            return self.skip_for_others(request, current);
        }
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
                    Marked::Running { run }
                }
            }
            ClaimVerdict::Queued { run } => Marked::Consumed(Claimed::Queued { run }),
            ClaimVerdict::Taken(row) if request.row.is_some() => {
                Marked::Taken { ran: row.started_at.is_some() }
            }
            ClaimVerdict::Taken(row) => taken(&row),
            ClaimVerdict::Refused(reason) => Marked::Withheld(reason),
        })
    }

    /// Another program runs the task: the slot is spent, or the row goes on waiting.
    fn skip_for_others(
        &self,
        request: &Request<'_>,
        current: &Current,
    ) -> Result<Marked, LedgerError> {
        let (Some(slot), None) = (request.slot, request.row) else {
            return Ok(Marked::Running { run: None });
        };
        let reason = Some(Reason::AlreadyRunning);
        let (task, name) = (request.task.clone(), current.task.name.clone());
        let row = SlotRow::new(task, name, slot, Status::Skipped, reason);
        let run = self.ledger.record(&row)?;
        Ok(Marked::Consumed(Claimed::AlreadyRunning { run: Some(run) }))
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

/// Tells what a slot's row means for the file. A row that spent the slot does so again where the
/// file does not show it: the process may have ended, or been overtaken, between row and file.
fn taken(row: &Run) -> Marked {
    match (row.status, row.reason) {
        (Status::Skipped, Some(Reason::AlreadyRunning)) => {
            Marked::Consumed(Claimed::AlreadyRunning { run: Some(row.id) })
        }
        (Status::Queued, _) => Marked::Consumed(Claimed::Queued { run: row.id }),
        _ => Marked::Taken { ran: row.started_at.is_some() },
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
