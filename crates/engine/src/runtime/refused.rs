//! What becomes of a slot that was not won: every verdict but a won one, and the rows that tell.

use super::queue::Waiting;
use super::worker::Refusal;
use super::{Runtime, lock};
use crate::claim::{ClaimError, Claimed, Taken, show_claim_failure};
use crate::event::EventKind;
use crate::ledger::{LedgerError, Reason, SlotRow, Status};
use crate::project::ProjectError;
use crate::task::TaskKey;
use std::sync::Arc;

impl Runtime {
    /// Handles everything that a claim can come to but a won one; says why for whoever waits.
    pub(super) fn not_won(self: &Arc<Self>, waiting: &Waiting, claimed: Claimed) -> Refusal {
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
            Claimed::NotTrue { task } => {
                match (waiting.run, slot) {
                    (Some(row), _) => self.end_waiting_row(key, row),
                    (None, Some(slot)) => {
                        let last = task.as_ref().and_then(|task| task.state.last_scheduled_for);
                        let name = task.as_ref().map(|task| task.name.as_str());
                        self.record_untrue(key, name, slot, last == Some(slot));
                    }
                    (None, None) => {}
                }
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
    pub(super) async fn claim_failed(self: &Arc<Self>, waiting: &Waiting, error: ClaimError) {
        let key = waiting.task.clone();
        tracing::warn!(task = %key.task_id, %error, "the slot could not be claimed");
        let Some(slot) = waiting.scheduled_for.filter(|_| waiting.run.is_none()) else { return };
        if let ClaimError::Ledger(error) = &error {
            // Nothing was claimed, and no row could be written either.
            self.ledger_trouble("claiming a slot", error);
            let first = waiting.replaces.iter().copied().min().unwrap_or(slot).min(slot);
            self.hand_back(&key, first);
            return;
        }
        let reason = match &error {
            ClaimError::Project(ProjectError::Unreadable { .. }) => Reason::ConfigUnreadable,
            _ => Reason::ClaimFailed,
        };
        let text = format!("Scheduled claim failed: {error}");
        let compiled = lock(&self.board).task(&key).and_then(|task| task.compiled.clone());
        let (subject, shown) = (key.clone(), text.clone());
        let taken = self
            .blocking(move |runtime| {
                let now = runtime.clock.now_ms();
                show_claim_failure(&runtime.folder, &subject, slot, compiled.as_ref(), &shown, now)
            })
            .await
            .unwrap_or(None);
        // A later slot that ran says nothing about this one: its claim failed.
        if taken == Some(Taken::Slot) {
            self.record_slot(&key, slot, Status::Deduped, Reason::ElsewhereClaimed, None);
        } else {
            self.record_slot(&key, slot, Status::Failed, reason, Some(text));
            self.emit(EventKind::RunFinished, Some(&key), None);
        }
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
        let row = SlotRow { error, ..self.slot_row(key, slot, status, Some(reason)) };
        self.go_blocking(move |runtime| {
            runtime.write_row(row);
        });
    }

    /// Records a slot that was due, waited for its place, and whose task was switched off, changed or
    /// deleted meanwhile; `taken` when somebody else had it before.
    pub(super) fn record_untrue(
        self: &Arc<Self>,
        key: &TaskKey,
        name: Option<&str>,
        slot: i64,
        taken: bool,
    ) {
        let (status, reason) = match taken {
            true => (Status::Deduped, Reason::ElsewhereClaimed),
            false => (Status::Skipped, Reason::DefinitionChanged),
        };
        let name = name.unwrap_or(&key.task_id);
        let row = SlotRow::new(key.clone(), name, slot, status, Some(reason));
        self.go_blocking(move |runtime| {
            runtime.write_row(row);
        });
    }

    pub(super) fn slot_row(
        &self,
        key: &TaskKey,
        slot: i64,
        status: Status,
        reason: Option<Reason>,
    ) -> SlotRow {
        let name = lock(&self.board).task(key).map(|task| task.task.name.clone());
        SlotRow::new(key.clone(), name.as_deref().unwrap_or(&key.task_id), slot, status, reason)
    }

    /// Writes a row, now or when the ledger can be written again; says whether it could. Blocks.
    pub(super) fn write_row(self: &Arc<Self>, row: SlotRow) -> bool {
        match self.ledger.record(&row) {
            Ok(_) => self.emit(EventKind::RunChanged, Some(&row.task), None),
            Err(LedgerError::Illegal { .. }) => {
                tracing::error!(status = %row.status, "a row with this status says that it ran");
            }
            Err(error) => {
                self.ledger_trouble("recording a slot", &error);
                lock(&self.unrecorded).push(row);
                return false;
            }
        }
        true
    }

    /// Writes the rows that could not be written before. Blocks.
    pub(crate) fn write_unrecorded(self: &Arc<Self>) {
        let mut rows = std::mem::take(&mut *lock(&self.unrecorded)).into_iter();
        // Where one cannot be written, the others cannot be either.
        while rows.next().is_some_and(|row| self.write_row(row)) {}
        lock(&self.unrecorded).extend(rows);
    }

    /// Ends a row that waited for a slot which the current definition does not have any more.
    fn end_waiting_row(self: &Arc<Self>, key: &TaskKey, row: i64) {
        let key = key.clone();
        self.go_blocking(move |runtime| {
            let reason = Some(Reason::DefinitionChanged);
            match runtime.ledger.end_waiting(row, Status::Cancelled, reason) {
                Ok(_) => runtime.emit(EventKind::RunChanged, Some(&key), Some(row)),
                Err(error) => runtime.ledger_trouble("ending a waiting run", &error),
            }
        });
    }
}
