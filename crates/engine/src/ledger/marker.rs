//! The marker of a task: who runs it, since which beat, under which fence (PROTOCOL §5).

use super::Ledger;
use super::error::{Fault, LedgerError};
use super::run::{Run, add_step, by_id, from_json};
use crate::host::{Liveness, ProcessId};
use crate::task::TaskKey;
use rusqlite::{Connection, OptionalExtension, params};
use std::time::Duration;

impl Ledger {
    /// Takes a free marker for `run`: one row means that it is ours, none that the task is running.
    pub(super) fn take_marker(
        &self,
        tx: &Connection,
        task: &TaskKey,
        run: i64,
        run_at: i64,
        lease: Duration,
    ) -> Result<Option<i64>, Fault> {
        let fence: Option<i64> = tx
            .prepare_cached(
                "UPDATE marker SET running_at = ?, beat_awake = ?, run = ?, holder = ?, \
                 lease_ms = ?, fence = fence + 1 \
                 WHERE project = ? AND task = ? AND running_at IS NULL RETURNING fence",
            )?
            .query_row(
                params![
                    self.now(),
                    self.awake_ms(),
                    run,
                    self.me(),
                    millis(lease),
                    task.project_id,
                    task.task_id
                ],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(fence) = fence {
            tx.prepare_cached(
                "UPDATE run SET fence = ?, holder = ?, run_at = ? \
                 WHERE id = ? AND status = 'claimed'",
            )?
            .execute(params![fence, self.me(), run_at, run])?;
        }
        Ok(fence)
    }

    /// Makes this process the holder of a marker, if (run, fence) and, where given, the last beat
    /// are still as they were seen. Returns the new fence; `None` when somebody was faster, or the
    /// holder gave a sign of life.
    pub(super) fn move_marker(
        &self,
        tx: &Connection,
        run: i64,
        fence: i64,
        beat: Option<(i64, i64)>,
        lease: Option<Duration>,
    ) -> Result<Option<i64>, Fault> {
        let fenced: Option<i64> = tx
            .prepare_cached(
                "UPDATE marker SET running_at = ?, beat_awake = ?, holder = ?, \
                 lease_ms = coalesce(?, lease_ms), fence = fence + 1 \
                 WHERE run = ? AND fence = ? AND running_at IS NOT NULL \
                 AND running_at = coalesce(?, running_at) \
                 AND beat_awake = coalesce(?, beat_awake) RETURNING fence",
            )?
            .query_row(
                params![
                    self.now(),
                    self.awake_ms(),
                    self.me(),
                    lease.map(millis),
                    run,
                    fence,
                    beat.map(|beat| beat.0),
                    beat.map(|beat| beat.1)
                ],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(new) = fenced {
            self.probe("take over: run")?;
            tx.prepare_cached("UPDATE run SET fence = ?, holder = ? WHERE id = ? AND fence = ?")?
                .execute(params![new, self.me(), run, fence])?;
            add_step(tx, run, self.now(), "taken_over", None)?;
        }
        Ok(fenced)
    }

    pub(super) fn provably_gone(&self, holder: &ProcessId) -> bool {
        *holder != self.inner.me && holder.liveness() == Liveness::Dead
    }

    /// Says that the run is alive, and returns how many markers that reached: 1 all is well; 0 the
    /// run is no longer ours, so stop writing and keep the result as evidence. It can neither
    /// resurrect a released marker nor touch another's.
    ///
    /// # Errors
    /// When the ledger cannot be written; the beat is tried again.
    pub fn beat(&self, run: i64, fence: i64) -> Result<usize, LedgerError> {
        self.write("beating", |tx| {
            Ok(tx
                .prepare_cached(
                    "UPDATE marker SET running_at = ?, beat_awake = ? \
                     WHERE run = ? AND fence = ? AND running_at IS NOT NULL",
                )?
                .execute(params![self.now(), self.awake_ms(), run, fence])?)
        })
    }

    /// Says whether a run gave its marker back under this fence: it was not taken over before.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn was_released(&self, run: i64, fence: i64) -> Result<bool, LedgerError> {
        let row = self.read("reading a run", |conn| by_id(conn, run))?;
        Ok(row.is_some_and(|row| row.fence == fence && !row.status.holds_marker()))
    }

    /// Returns the run that holds the task's marker; `None` when the task is not running.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn running(&self, task: &TaskKey) -> Result<Option<Run>, LedgerError> {
        self.read("reading a marker", |conn| match running_in(conn, task)? {
            Some(run) => by_id(conn, run),
            None => Ok(None),
        })
    }

    /// Returns who holds a run's marker, with the fence; `None` when nobody does.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn holder(&self, run: i64) -> Result<Option<(ProcessId, i64)>, LedgerError> {
        let found: Option<(Option<String>, i64)> = self.read("reading a marker", |conn| {
            conn.prepare_cached(
                "SELECT holder, fence FROM marker WHERE run = ? AND running_at IS NOT NULL",
            )?
            .query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
        })?;
        Ok(found.and_then(|(holder, fence)| Some((from_json(holder)?, fence))))
    }
}

pub(super) fn running_in(conn: &Connection, task: &TaskKey) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached(
        "SELECT run FROM marker WHERE project = ? AND task = ? AND running_at IS NOT NULL",
    )?
    .query_row([&task.project_id, &task.task_id], |row| row.get(0))
    .optional()
}

/// Makes the marker's row where the task has none; lists walk these rows.
pub(super) fn ensure_marker(tx: &Connection, task: &TaskKey) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO marker (project, task) VALUES (?, ?)")?
        .execute([&task.project_id, &task.task_id])
        .map(drop)
}

/// Releases the marker of this run and fence, and of no other.
pub(super) fn release_marker(tx: &Connection, run: i64, fence: i64) -> rusqlite::Result<usize> {
    tx.prepare_cached(
        "UPDATE marker SET running_at = NULL, beat_awake = NULL, run = NULL, holder = NULL, \
         lease_ms = NULL WHERE run = ? AND fence = ?",
    )?
    .execute([run, fence])
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
