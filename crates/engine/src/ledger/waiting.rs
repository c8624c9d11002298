//! Rows that wait: a queued slot until the task is free, a retry until it is due (PROTOCOL §6).

use super::Ledger;
use super::claim::{ClaimVerdict, Gate};
use super::error::LedgerError;
use super::run::{self, Run, add_step, by_id};
use super::status::{Reason, Status};
use rusqlite::{Connection, params};
use std::time::Duration;

/// Asks to start a waiting row.
#[derive(Debug, Clone)]
pub struct WaitingRequest {
    /// The row.
    pub run: i64,
    /// What the shared JSON will get as `lastRunAt`, ms since 1970.
    pub run_at: i64,
    /// How long the marker may go without a beat.
    pub lease: Duration,
    /// What must hold.
    pub gate: Gate,
}

/// Makes the row of a further attempt at the slot of `row`.
pub(super) fn add_retry(
    tx: &Connection,
    row: &Run,
    due_at: i64,
    now: i64,
) -> rusqlite::Result<i64> {
    tx.execute(
        "INSERT INTO run (project, task, task_name, trigger, scheduled_for, attempt, status, \
         created_at, due_at) VALUES (?, ?, ?, 'retry', ?, ?, 'retrying', ?, ?)",
        params![
            row.project_id,
            row.task_id,
            row.task_name,
            row.scheduled_for,
            row.attempt + 1,
            now,
            due_at
        ],
    )?;
    let retry = tx.last_insert_rowid();
    add_step(tx, row.id, now, "retry", Some(&retry.to_string()))?;
    Ok(retry)
}

impl Ledger {
    /// Lists the rows of one task that wait.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn waiting_of(&self, task: &crate::task::TaskKey) -> Result<Vec<Run>, LedgerError> {
        self.runs(&super::RunFilter {
            project: Some(task.project_id.clone()),
            task: Some(task.task_id.clone()),
            status: vec![Status::Queued, Status::Retrying],
            ..super::RunFilter::default()
        })
    }

    /// Lists rows that wait, those due first; retries that are not due yet are among them.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn waiting(&self) -> Result<Vec<Run>, LedgerError> {
        self.read("listing what waits", |conn| {
            conn.prepare_cached(&format!(
                "SELECT {} FROM run WHERE status IN ('queued', 'retrying') \
                 ORDER BY coalesce(due_at, 0), id",
                run::COLUMNS
            ))?
            .query_map([], run::from_row)?
            .collect()
        })
    }

    /// Claims a waiting row together with the marker: exactly one process gets it, and none before
    /// its time. The verdict is `Taken` when the row waits no longer, is not due yet, or another
    /// was faster; `AlreadyRunning` leaves it waiting.
    ///
    /// # Errors
    /// When there is no such run, or the ledger cannot be written.
    pub fn claim_waiting(&self, request: &WaitingRequest) -> Result<ClaimVerdict, LedgerError> {
        self.write_held("claiming a waiting run", |tx| {
            let run = request.run;
            let row = by_id(tx, run)?.ok_or(LedgerError::NoSuchRun { run })?;
            if let Some(reason) = self.shut_gate(tx, &row.task(), &request.gate)? {
                return Ok((ClaimVerdict::Refused(reason), None));
            }
            if let Some(by) = super::marker::running_in(tx, &row.task())? {
                return Ok((ClaimVerdict::AlreadyRunning { run: None, by: Some(by) }, None));
            }
            let changed = tx
                .prepare_cached(
                    "UPDATE run SET status = 'claimed', waited_as = status, holder = ? \
                     WHERE id = ? AND status IN ('queued', 'retrying') \
                     AND coalesce(due_at, 0) <= ?",
                )?
                .execute(params![self.me(), run, self.now()])?;
            if changed == 0 {
                return Ok((ClaimVerdict::Taken(Box::new(row)), None));
            }
            self.probe("waiting: marker")?;
            super::marker::ensure_marker(tx, &row.task())?;
            // Read free in this very transaction, so it is free still.
            let Some(fence) =
                self.take_marker(tx, &row.task(), run, request.run_at, request.lease)?
            else {
                return Err(
                    LedgerError::Illegal { run, from: row.status, to: Status::Claimed }.into()
                );
            };
            add_step(tx, run, self.now(), "claimed", None)?;
            Ok((ClaimVerdict::Won { run, fence }, Some((run, request.lease))))
        })
    }

    /// Ends a waiting row without a run: `Superseded`, `Cancelled`, `Skipped` or `Failed`. Returns
    /// whether it was still waiting.
    ///
    /// # Errors
    /// `Illegal` for any other status; else when the ledger cannot be written.
    pub fn end_waiting(
        &self,
        run: i64,
        status: Status,
        reason: Option<Reason>,
    ) -> Result<bool, LedgerError> {
        if status == Status::Claimed || !Status::Queued.may_become(status) {
            return Err(LedgerError::Illegal { run, from: Status::Queued, to: status });
        }
        self.write("ending a waiting run", |tx| {
            let changed = tx.execute(
                "UPDATE run SET status = ?, reason = ?, finished_at = ? \
                 WHERE id = ? AND status IN ('queued', 'retrying')",
                params![status, reason, self.now(), run],
            )?;
            Ok(changed == 1)
        })
    }
}
