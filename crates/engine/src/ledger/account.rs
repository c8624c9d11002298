//! Rows of slots that did not run, and `accounted_to`: up to where every slot has its row
//! (PROTOCOL §3, §6).

use super::Ledger;
use super::claim::row_of_slot;
use super::error::{Fault, LedgerError};
use super::marker::ensure_marker;
use super::run::{self, add_step};
use super::status::{Reason, Status, Trigger};
use crate::task::TaskKey;
use rusqlite::{Connection, OptionalExtension, params};

/// A slot (or several in a row) that did not run.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotRow {
    /// The task.
    pub task: TaskKey,
    /// Its name, for the history.
    pub task_name: String,
    /// What would have made it run.
    pub trigger: Trigger,
    /// The slot; of several, the last.
    pub scheduled_for: i64,
    /// `Missed`, `Skipped`, `Deduped`, `Superseded`; or `Failed` for a slot that could not even be
    /// claimed.
    pub status: Status,
    /// Why.
    pub reason: Option<Reason>,
    /// More about it, for people.
    pub error: Option<String>,
    /// How many slots the row stands for.
    pub count: i64,
    /// The first of several slots; the slot itself for one.
    pub first_for: i64,
    /// Whether `accounted_to` moves up to the slot: true when all earlier ones have their rows.
    pub accounts: bool,
}

impl SlotRow {
    /// One slot that did not run.
    pub fn new(
        task: TaskKey,
        name: impl Into<String>,
        slot: i64,
        status: Status,
        reason: Option<Reason>,
    ) -> Self {
        SlotRow {
            task,
            task_name: name.into(),
            trigger: Trigger::Scheduled,
            scheduled_for: slot,
            status,
            reason,
            error: None,
            count: 1,
            first_for: slot,
            accounts: true,
        }
    }

    /// The same for `count` slots from `first` to the one it was made with.
    pub fn several(mut self, count: i64, first: i64) -> Self {
        self.count = count;
        self.first_for = first;
        self
    }
}

/// Up to where every slot of a task has its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Wall time, ms since 1970.
    pub accounted_to: i64,
    /// The hash of (enabled, schedule) that this holds for.
    pub schedule_hash: String,
}

/// A task as the engine sees it when it arms it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The task.
    pub task: TaskKey,
    /// The hash of (enabled, schedule).
    pub schedule_hash: String,
    /// The shared file's `lastScheduledFor`.
    pub last_scheduled_for: Option<i64>,
}

/// A slot that a rule held back; its row is due later (PROTOCOL §6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSlot {
    /// The task.
    pub task: TaskKey,
    /// Its name, for the history.
    pub task_name: String,
    /// The slot, ms since 1970.
    pub slot: i64,
    /// What held it back.
    pub reason: Reason,
}

/// What became of an accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountVerdict {
    /// The rows are written, and `accounted_to` has moved.
    Accounted,
    /// Another process accounted for these slots, or the schedule changed: nothing was written;
    /// look again.
    Overtaken,
}

impl Ledger {
    /// Returns up to where a task is accounted for; `None` before it was first seen.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn accounted_to(&self, task: &TaskKey) -> Result<Option<Account>, LedgerError> {
        self.read("reading an account", |conn| account_in(conn, task))
    }

    /// Notes that tasks were seen with these schedules, and returns where each is accounted to, in
    /// the same order. First sight starts at `lastScheduledFor`, else now; a changed schedule
    /// starts now; an account ahead of the clock is pulled back to it. Writes once, or not at all.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn sight(&self, sightings: &[Sighting]) -> Result<Vec<Account>, LedgerError> {
        let now = self.now();
        let seen = self.read("reading accounts", |conn| {
            sightings.iter().map(|s| account_in(conn, &s.task)).collect::<Result<Vec<_>, _>>()
        })?;
        let settled = |sighting: &Sighting, account: &Option<Account>| {
            account.as_ref().is_some_and(|account| {
                account.schedule_hash == sighting.schedule_hash && account.accounted_to <= now
            })
        };
        if sightings.iter().zip(&seen).all(|(sighting, account)| settled(sighting, account)) {
            return Ok(seen.into_iter().flatten().collect());
        }
        self.write("noting accounts", |tx| {
            let mut accounts = Vec::with_capacity(sightings.len());
            for sighting in sightings {
                let key = &sighting.task;
                // Each statement is guarded by itself: whoever finds the change first decides.
                tx.prepare_cached("INSERT OR IGNORE INTO account VALUES (?, ?, min(?, ?), ?)")?
                    .execute(params![
                        key.project_id,
                        key.task_id,
                        sighting.last_scheduled_for.unwrap_or(now),
                        now,
                        sighting.schedule_hash
                    ])?;
                tx.prepare_cached(
                    "UPDATE account SET accounted_to = ?1, schedule_hash = ?2 WHERE project = ?3 \
                     AND task = ?4 AND (schedule_hash <> ?2 OR accounted_to > ?1)",
                )?
                .execute(params![
                    now,
                    sighting.schedule_hash,
                    key.project_id,
                    key.task_id
                ])?;
                accounts.extend(account_in(tx, key)?);
            }
            Ok(accounts)
        })
    }

    /// Writes the rows of slots after `seen` and moves `accounted_to` to `to`, in one transaction,
    /// if nobody else did so meanwhile. It never runs ahead of the clock.
    ///
    /// # Errors
    /// When the ledger cannot be written; then the slots stay unaccounted.
    pub fn account(
        &self,
        task: &TaskKey,
        seen: &Account,
        to: i64,
        rows: &[SlotRow],
    ) -> Result<AccountVerdict, LedgerError> {
        self.write("accounting", |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE account SET accounted_to = max(accounted_to, min(?, ?)) \
                     WHERE project = ? AND task = ? AND accounted_to = ? AND schedule_hash = ?",
                )?
                .execute(params![
                    to,
                    self.now(),
                    task.project_id,
                    task.task_id,
                    seen.accounted_to,
                    seen.schedule_hash
                ])?;
            if changed == 0 {
                return Ok(AccountVerdict::Overtaken);
            }
            for row in rows {
                self.probe("account: row")?;
                self.record_in(tx, row)?;
            }
            Ok(AccountVerdict::Accounted)
        })
    }

    /// Records a slot that did not run, and returns its row. Consecutive `missed`, and consecutive
    /// `paused`, slots of a task are one row. A slot that has a row keeps it.
    ///
    /// # Errors
    /// `Illegal` for a status that says that something ran; else when the ledger cannot be written.
    pub fn record(&self, row: &SlotRow) -> Result<i64, LedgerError> {
        self.write("recording a slot", |tx| self.record_in(tx, row))
    }

    /// Notes a slot that a rule held back, so that it gets its row also when this process ends.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn hold_back(&self, held: &HeldSlot) -> Result<(), LedgerError> {
        self.write("holding a slot back", |tx| {
            tx.prepare_cached("INSERT OR IGNORE INTO held_slot VALUES (?, ?, ?, ?, ?, ?)")?
                .execute(params![
                    held.task.project_id,
                    held.task.task_id,
                    held.slot,
                    held.task_name,
                    held.reason,
                    self.now()
                ])?;
            Ok(())
        })
    }

    /// Lists the slots that were held back at `until` (wall time, ms) or before, oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn held_back(&self, until: i64) -> Result<Vec<HeldSlot>, LedgerError> {
        self.read("listing slots that were held back", |conn| {
            conn.prepare_cached(
                "SELECT project, task, task_name, slot, reason FROM held_slot \
                 WHERE held_at <= ? ORDER BY slot",
            )?
            .query_map([until], |row| {
                Ok(HeldSlot {
                    task: TaskKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?),
                    task_name: row.get(2)?,
                    slot: row.get(3)?,
                    reason: row.get(4)?,
                })
            })?
            .collect()
        })
    }

    /// Writes the row of a slot that was held back, in its place; a row of several slots that were
    /// accounted for since, this one among them, is its row already.
    ///
    /// # Errors
    /// As [`Ledger::record`].
    pub fn settle(&self, row: &SlotRow) -> Result<i64, LedgerError> {
        self.write("recording a slot that was held back", |tx| {
            let id = match row_over_slot(tx, row)? {
                Some(there) => there,
                None => self.record_in(tx, row)?,
            };
            tx.prepare_cached("DELETE FROM held_slot WHERE project = ? AND task = ? AND slot = ?")?
                .execute(params![row.task.project_id, row.task.task_id, row.scheduled_for])?;
            Ok(id)
        })
    }

    fn record_in(&self, tx: &Connection, row: &SlotRow) -> Result<i64, Fault> {
        use Status::{Deduped, Failed, Missed, Skipped, Superseded};
        if !matches!(row.status, Missed | Skipped | Deduped | Superseded | Failed) {
            return Err(LedgerError::Illegal { run: 0, from: row.status, to: row.status }.into());
        }
        let now = self.now();
        ensure_marker(tx, &row.task)?;
        let id = match row_of_slot(tx, &row.task, row.scheduled_for, 1)? {
            Some(there) => there.id,
            None => match fold(tx, row, now)? {
                Some(folded) => folded,
                None => insert(tx, row, now)?,
            },
        };
        if row.accounts {
            self.probe("record: account")?;
            raise(tx, &row.task, row.scheduled_for, now)?;
        }
        Ok(id)
    }
}

/// Returns the row of several passed slots in which this one is.
fn row_over_slot(tx: &Connection, row: &SlotRow) -> rusqlite::Result<Option<i64>> {
    tx.prepare_cached(
        "SELECT id FROM run WHERE project = ?1 AND task = ?2 AND first_for <= ?3 \
         AND scheduled_for >= ?3 AND status IN ('missed', 'superseded') LIMIT 1",
    )?
    .query_row(params![row.task.project_id, row.task.task_id, row.scheduled_for], |row| row.get(0))
    .optional()
}

/// Adds the slots to the task's newest row, where that is of the same kind.
fn fold(tx: &Connection, row: &SlotRow, now: i64) -> rusqlite::Result<Option<i64>> {
    let folds = matches!(
        (row.status, row.reason),
        (Status::Missed, _) | (Status::Skipped, Some(Reason::Paused | Reason::AutoPaused))
    );
    if !folds {
        return Ok(None);
    }
    tx.prepare_cached(
        "UPDATE run SET first_for = coalesce(first_for, scheduled_for), scheduled_for = ?1, \
         count = count + ?2, finished_at = ?3 \
         WHERE id = (SELECT id FROM run WHERE project = ?4 AND task = ?5 ORDER BY id DESC LIMIT 1) \
         AND status = ?6 AND reason IS ?7 AND scheduled_for < ?8 RETURNING id",
    )?
    .query_row(
        params![
            row.scheduled_for,
            row.count,
            now,
            row.task.project_id,
            row.task.task_id,
            row.status,
            row.reason,
            row.first_for
        ],
        |found| found.get(0),
    )
    .optional()
}

fn insert(tx: &Connection, row: &SlotRow, now: i64) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO run (project, task, task_name, trigger, scheduled_for, status, reason, error, \
         created_at, finished_at, count, first_for) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        row.task.project_id,
        row.task.task_id,
        row.task_name,
        row.trigger,
        row.scheduled_for,
        row.status,
        row.reason,
        row.error.as_deref().map(|text| run::cut(text, run::ANSWER_LIMIT)),
        now,
        now,
        row.count,
        (row.count > 1).then_some(row.first_for)
    ])?;
    let id = tx.last_insert_rowid();
    add_step(tx, id, row.scheduled_for, "due", None)?;
    Ok(id)
}

fn account_in(conn: &Connection, task: &TaskKey) -> rusqlite::Result<Option<Account>> {
    conn.prepare_cached(
        "SELECT accounted_to, schedule_hash FROM account WHERE project = ? AND task = ?",
    )?
    .query_row([&task.project_id, &task.task_id], |row| {
        Ok(Account { accounted_to: row.get(0)?, schedule_hash: row.get(1)? })
    })
    .optional()
}

/// Moves `accounted_to` up to a slot whose row is written in the same transaction.
pub(super) fn raise(tx: &Connection, task: &TaskKey, slot: i64, now: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE account SET accounted_to = max(accounted_to, min(?, ?)) \
         WHERE project = ? AND task = ?",
    )?
    .execute(params![slot, now, task.project_id, task.task_id])
    .map(drop)
}

/// Moves `accounted_to` back before a slot whose row was undone.
pub(super) fn lower(tx: &Connection, task: &TaskKey, slot: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE account SET accounted_to = min(accounted_to, ? - 1) WHERE project = ? AND task = ?",
    )?
    .execute(params![slot, task.project_id, task.task_id])
    .map(drop)
}
