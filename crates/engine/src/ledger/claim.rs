//! Claiming: a slot, or the task for a manual run, in one transaction (PROTOCOL §4.3).

use super::error::{Fault, LedgerError};
use super::marker::{ensure_marker, running_in};
use super::run::{self, Run, add_step, by_id};
use super::status::{Reason, Status, Trigger};
use super::{Held, Ledger, hold};
use crate::task::TaskKey;
use rusqlite::{Connection, OptionalExtension, params};
use std::time::Duration;

/// How many runs a task may start in a window of wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most runs.
    pub limit: u32,
    /// The window's start (the day in the task's zone), ms since 1970.
    pub from: i64,
    /// Its end, exclusive.
    pub to: i64,
}

/// What must hold before a run may be claimed; the default lets everything pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    /// Refused while everything is paused (not for manual runs).
    pub pause: bool,
    /// Refused while the task is auto-paused and its definition still has this hash; `None` does
    /// not ask (manual runs).
    pub definition_hash: Option<String>,
    /// Refused when the budget is used up; `None` is no limit.
    pub budget: Option<Budget>,
    /// Refused while this content is not approved; `None` needs no approval.
    pub approval: Option<String>,
}

/// Asks for the marker of a task, for one slot or for a manual run.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The task.
    pub task: TaskKey,
    /// Its name, for the history.
    pub task_name: String,
    /// The slot, ms since 1970; `None` for a manual run.
    pub occurrence: Option<i64>,
    /// What makes it start.
    pub trigger: Trigger,
    /// Counts the attempts at one slot from 1.
    pub attempt: u32,
    /// What the shared JSON will get as `lastRunAt`, ms since 1970.
    pub run_at: i64,
    /// How long the marker may go without a beat.
    pub lease: Duration,
    /// What must hold.
    pub gate: Gate,
    /// Whether a slot that finds the task running waits (`overlap: queue`).
    pub queue: bool,
    /// Whether the shared file shows this slot as claimed: then a row that was left `claimed` is
    /// never taken over.
    pub claimed_in_file: bool,
    /// The run and fence that this caller already holds for the slot, when it goes through the
    /// claim again because its claim had vanished from the file (PROTOCOL §4.6).
    pub mine: Option<(i64, i64)>,
    /// Whether the slot moves `accounted_to` up: true when all earlier slots have their rows.
    pub accounts: bool,
}

impl ClaimRequest {
    /// Asks for a slot with nothing in its way.
    pub fn scheduled(task: TaskKey, name: impl Into<String>, slot: i64, lease: Duration) -> Self {
        ClaimRequest {
            task,
            task_name: name.into(),
            occurrence: Some(slot),
            trigger: Trigger::Scheduled,
            attempt: 1,
            run_at: slot,
            lease,
            gate: Gate::default(),
            queue: false,
            claimed_in_file: false,
            mine: None,
            accounts: true,
        }
    }

    /// Asks for a manual run.
    pub fn manual(task: TaskKey, name: impl Into<String>, lease: Duration) -> Self {
        ClaimRequest {
            occurrence: None,
            trigger: Trigger::Manual,
            accounts: false,
            ..Self::scheduled(task, name, 0, lease)
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimVerdict {
    /// The marker is ours.
    Won {
        /// The run's id.
        run: i64,
        /// Guards every later change of it.
        fence: i64,
    },
    /// The row of a holder that died before anything was sent is ours now: go on as if won.
    TakenOver {
        /// The run's id.
        run: i64,
        /// The new fence.
        fence: i64,
    },
    /// The task is running: the slot has a skipped row.
    AlreadyRunning {
        /// The skipped row; `None` where none was made (a waiting row goes on waiting).
        run: Option<i64>,
        /// The run that holds the marker.
        by: Option<i64>,
    },
    /// The task is running: the slot waits in this row.
    Queued {
        /// The waiting row.
        run: i64,
    },
    /// The slot has a row already, from us or another process.
    Taken(Box<Run>),
    /// The gate is shut; nothing was written.
    Refused(Reason),
}

impl Ledger {
    /// Claims a slot, or the task for a manual run, in one transaction (PROTOCOL §4.3).
    ///
    /// # Errors
    /// Only when the ledger cannot be read or written; then nothing was claimed.
    pub fn claim(&self, request: &ClaimRequest) -> Result<ClaimVerdict, LedgerError> {
        let held = |run: i64| (run, request.lease);
        self.write_held("claiming", |tx| {
            let verdict = self.claim_in(tx, request)?;
            let held = match verdict {
                ClaimVerdict::Won { run, .. } | ClaimVerdict::TakenOver { run, .. } => {
                    Some(held(run))
                }
                _ => None,
            };
            Ok((verdict, held))
        })
    }

    /// Like `write`, for a change that may make this process the holder of a run.
    pub(super) fn write_held<T>(
        &self,
        during: &'static str,
        change: impl FnOnce(&Connection) -> Result<(T, Option<(i64, Duration)>), Fault>,
    ) -> Result<T, LedgerError> {
        let (answer, _) = self.write_then(
            during,
            |tx| {
                let (answer, held) = change(tx)?;
                let held = match held {
                    Some((run, lease)) => by_id(tx, run)?.map(|run| Held { run, lease }),
                    None => None,
                };
                Ok((answer, held))
            },
            |all, (_, held)| {
                if let Some(held) = held {
                    all.insert(held.run.id, held.clone());
                }
            },
        )?;
        Ok(answer)
    }

    fn claim_in(&self, tx: &Connection, request: &ClaimRequest) -> Result<ClaimVerdict, Fault> {
        if let Some(reason) = self.shut_gate(tx, &request.task, &request.gate)? {
            return Ok(ClaimVerdict::Refused(reason));
        }
        ensure_marker(tx, &request.task)?;
        if let Some(slot) = request.occurrence
            && let Some(row) = row_of_slot(tx, &request.task, slot, request.attempt)?
        {
            return self.claim_again(tx, request, row);
        }
        self.probe("claim: insert")?;
        let now = self.now();
        tx.prepare_cached(
            "INSERT INTO run (project, task, task_name, trigger, scheduled_for, attempt, status, \
             created_at, holder) VALUES (?, ?, ?, ?, ?, ?, 'claimed', ?, ?)",
        )?
        .execute(params![
            request.task.project_id,
            request.task.task_id,
            request.task_name,
            request.trigger,
            request.occurrence,
            request.attempt,
            now,
            self.me()
        ])?;
        let run = tx.last_insert_rowid();
        if let (Some(slot), true) = (request.occurrence, request.accounts) {
            super::account::raise(tx, &request.task, slot, now)?;
        }
        if let Some(slot) = request.occurrence {
            add_step(tx, run, slot, "due", None)?;
        }
        self.probe("claim: marker")?;
        match self.take_marker(tx, &request.task, run, request.run_at, request.lease)? {
            Some(fence) => {
                add_step(tx, run, now, "claimed", None)?;
                Ok(ClaimVerdict::Won { run, fence })
            }
            None => self.lose(tx, request, run),
        }
    }

    /// The task runs already: the row becomes a skip, or waits.
    fn lose(
        &self,
        tx: &Connection,
        request: &ClaimRequest,
        run: i64,
    ) -> Result<ClaimVerdict, Fault> {
        let now = self.now();
        let by = running_in(tx, &request.task)?;
        if request.queue && request.occurrence.is_some() {
            // One slot of a task waits: the newest.
            tx.prepare_cached(
                "UPDATE run SET status = 'superseded', reason = 'newer', finished_at = ? \
                 WHERE project = ? AND task = ? AND status = 'queued'",
            )?
            .execute(params![now, request.task.project_id, request.task.task_id])?;
            tx.prepare_cached(
                "UPDATE run SET status = 'queued', holder = NULL WHERE id = ? AND status = 'claimed'",
            )?
            .execute([run])?;
            add_step(tx, run, now, "queued", None)?;
            return Ok(ClaimVerdict::Queued { run });
        }
        tx.prepare_cached(
            "UPDATE run SET status = 'skipped', reason = 'already_running', holder = NULL, \
             finished_at = ? WHERE id = ? AND status = 'claimed'",
        )?
        .execute(params![now, run])?;
        Ok(ClaimVerdict::AlreadyRunning { run: Some(run), by })
    }

    /// The slot has a row: ours from before, one that was left claimed by a dead holder, or taken.
    fn claim_again(
        &self,
        tx: &Connection,
        request: &ClaimRequest,
        row: Run,
    ) -> Result<ClaimVerdict, Fault> {
        if row.status == Status::Claimed && !request.claimed_in_file {
            if request.mine == Some((row.id, row.fence)) {
                return Ok(ClaimVerdict::Won { run: row.id, fence: row.fence });
            }
            let gone = row.holder.as_ref().is_some_and(|holder| self.provably_gone(holder));
            if gone
                && let Some(fence) =
                    self.move_marker(tx, row.id, row.fence, None, Some(request.lease))?
            {
                tx.prepare_cached("UPDATE run SET run_at = ? WHERE id = ? AND fence = ?")?
                    .execute(params![request.run_at, row.id, fence])?;
                return Ok(ClaimVerdict::TakenOver { run: row.id, fence });
            }
        }
        Ok(ClaimVerdict::Taken(Box::new(row)))
    }

    /// Returns why the gate is shut; `None` when it is open.
    pub(super) fn shut_gate(
        &self,
        tx: &Connection,
        task: &TaskKey,
        gate: &Gate,
    ) -> Result<Option<Reason>, Fault> {
        let now = self.now();
        if gate.pause && hold::pause_in(tx, now)?.is_some() {
            return Ok(Some(Reason::Paused));
        }
        if let Some(hash) = &gate.definition_hash
            && hold::auto_pause_in(tx, task)?
                .is_some_and(|hold| hold.definition_hash.as_ref().is_none_or(|held| held == hash))
        {
            return Ok(Some(Reason::AutoPaused));
        }
        if let Some(hash) = &gate.approval
            && !hold::approved_in(tx, hash)?
        {
            return Ok(Some(Reason::NotApproved));
        }
        if let Some(budget) = &gate.budget
            && super::history::started_in(tx, task, budget.from, budget.to)?
                >= i64::from(budget.limit)
        {
            return Ok(Some(Reason::Budget));
        }
        Ok(None)
    }
}

/// Returns the row that a slot has: its own, or the one of several slots that it lies in.
pub(super) fn row_of_slot(
    tx: &Connection,
    task: &TaskKey,
    slot: i64,
    attempt: u32,
) -> rusqlite::Result<Option<Run>> {
    let columns = run::COLUMNS;
    let exact = tx
        .prepare_cached(&format!(
            "SELECT {columns} FROM run \
             WHERE project = ? AND task = ? AND scheduled_for = ? AND attempt = ?"
        ))?
        .query_row(params![task.project_id, task.task_id, slot, attempt], run::from_row)
        .optional()?;
    if exact.is_some() || attempt > 1 {
        return Ok(exact);
    }
    // Rows of several slots do not overlap: the next one upwards is the only one that can hold it.
    tx.prepare_cached(&format!(
        "SELECT {columns} FROM (SELECT * FROM run WHERE project = ? AND task = ? \
         AND scheduled_for > ? ORDER BY scheduled_for LIMIT 1) \
         WHERE first_for <= ? AND status IN ('missed', 'skipped')"
    ))?
    .query_row(params![task.project_id, task.task_id, slot, slot], run::from_row)
    .optional()
}
