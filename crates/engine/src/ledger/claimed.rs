//! What a claim becomes: undone, released with a reason, or a running run (PROTOCOL §4.5, §4.6).

use super::Ledger;
use super::error::LedgerError;
use super::follow::Verdict;
use super::marker::release_marker;
use super::run::{add_step, by_id};
use super::status::{Reason, Status};
use rusqlite::params;

impl Ledger {
    /// Undoes a claim whose write to the shared file was abandoned: row and marker are as before,
    /// and the slot is unaccounted again. `Superseded` when the run is no longer ours to undo.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn undo_claim(&self, run: i64, fence: i64) -> Result<Verdict, LedgerError> {
        self.write_then(
            "undoing a claim",
            |tx| {
                let Some(row) = by_id(tx, run)? else { return Ok(Verdict::Superseded) };
                let waited: Option<Status> =
                    tx.query_row("SELECT waited_as FROM run WHERE id = ?", [run], |r| r.get(0))?;
                let changed = match waited {
                    Some(before) => tx
                        .prepare_cached(
                            "UPDATE run SET status = ?, waited_as = NULL, holder = NULL, \
                             fence = 0 WHERE id = ? AND fence = ? AND status = 'claimed'",
                        )?
                        .execute(params![before, run, fence])?,
                    None => tx
                        .prepare_cached(
                            "DELETE FROM run WHERE id = ? AND fence = ? AND status = 'claimed'",
                        )?
                        .execute([run, fence])?,
                };
                if changed == 0 {
                    return Ok(Verdict::Superseded);
                }
                self.probe("undo: marker")?;
                release_marker(tx, run, fence)?;
                if let (Some(slot), None) = (row.scheduled_for, waited) {
                    super::account::lower(tx, &row.task(), slot)?;
                }
                Ok(Verdict::Done)
            },
            |held, _| drop(held.remove(&run)),
        )
    }

    /// Ends a claim before anything was sent, with the reason why: the write to the shared file
    /// failed (`Failed`, `claim_failed`), another process has the slot (`Deduped`), a newer slot
    /// took its place (`Superseded`), a policy forbids it (`Skipped`).
    ///
    /// # Errors
    /// `Illegal` for any other status; else when the ledger cannot be written.
    pub fn release_claim(
        &self,
        run: i64,
        fence: i64,
        status: Status,
        reason: Option<Reason>,
        error: Option<&str>,
    ) -> Result<Verdict, LedgerError> {
        use Status::{Cancelled, Deduped, Failed, Skipped, Superseded};
        if !matches!(status, Failed | Deduped | Superseded | Skipped | Cancelled) {
            return Err(LedgerError::Illegal { run, from: Status::Claimed, to: status });
        }
        self.write_then(
            "releasing a claim",
            |tx| {
                let changed = tx
                    .prepare_cached(
                        "UPDATE run SET status = ?, reason = ?, error = ?, finished_at = ?, \
                         json_pending = ? WHERE id = ? AND fence = ? AND status = 'claimed'",
                    )?
                    .execute(params![
                        status,
                        reason,
                        error,
                        self.now(),
                        status == Failed,
                        run,
                        fence
                    ])?;
                if changed == 0 {
                    return Ok(Verdict::Superseded);
                }
                self.probe("release: marker")?;
                release_marker(tx, run, fence)?;
                add_step(tx, run, self.now(), "ended", Some(status.word()))?;
                Ok(Verdict::Done)
            },
            |held, _| drop(held.remove(&run)),
        )
    }

    /// Ends a claim whose write to the shared file failed: `failed`, marker released.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn fail_claim(
        &self,
        run: i64,
        fence: i64,
        reason: Reason,
        error: &str,
    ) -> Result<Verdict, LedgerError> {
        self.release_claim(run, fence, Status::Failed, Some(reason), Some(error))
    }

    /// Makes `claimed` `running`: from here on an agent may have been asked. Older waiting rows of
    /// the task end as superseded.
    ///
    /// # Errors
    /// When the ledger cannot be written; then nothing may be sent.
    pub fn start(&self, run: i64, fence: i64) -> Result<Verdict, LedgerError> {
        self.write_then(
            "starting a run",
            |tx| {
                let now = self.now();
                let changed = tx
                    .prepare_cached(
                        "UPDATE run SET status = 'running', started_at = ? \
                         WHERE id = ? AND fence = ? AND status = 'claimed'",
                    )?
                    .execute(params![now, run, fence])?;
                if changed == 0 {
                    return Ok(Verdict::Superseded);
                }
                self.probe("start: others")?;
                tx.prepare_cached(
                    "UPDATE run SET status = 'superseded', reason = 'newer', finished_at = ?1 \
                     FROM (SELECT project AS p, task AS t, scheduled_for AS slot FROM run \
                           WHERE id = ?2) \
                     WHERE project = p AND task = t AND run.status IN ('queued', 'retrying') \
                     AND slot IS NOT NULL AND (scheduled_for IS NULL OR scheduled_for < slot)",
                )?
                .execute([now, run])?;
                add_step(tx, run, now, "started", None)?;
                Ok(Verdict::Done)
            },
            |held, verdict| match verdict {
                Verdict::Done => {
                    if let Some(held) = held.get_mut(&run) {
                        held.run.status = Status::Running;
                        held.run.started_at = Some(self.now());
                    }
                }
                Verdict::Superseded => drop(held.remove(&run)),
            },
        )
    }
}
