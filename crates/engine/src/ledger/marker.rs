//! The marker of a task: claim, undo, release, start, heartbeat (PROTOCOL §4, §5).

use super::error::{Fault, LedgerError};
use super::follow::Verdict;
use super::run::{self, Run, add_step, by_id, from_json, to_json};
use super::status::{Reason, Status, Trigger};
use super::{Held, Ledger, hold};
use crate::host::{Liveness, ProcessId};
use crate::task::TaskKey;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
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
        match self.take_marker(tx, &request.task, run, request.lease)? {
            Some(fence) => {
                add_step(tx, run, now, "claimed", None)?;
                Ok(ClaimVerdict::Won { run, fence })
            }
            None => self.lose(tx, request, run),
        }
    }

    /// Takes a free marker for `run`: one row means that it is ours, none that the task is running.
    pub(super) fn take_marker(
        &self,
        tx: &Connection,
        task: &TaskKey,
        run: i64,
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
                "UPDATE run SET fence = ?, holder = ? WHERE id = ? AND status = 'claimed'",
            )?
            .execute(params![fence, self.me(), run])?;
        }
        Ok(fence)
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
                return Ok(ClaimVerdict::TakenOver { run: row.id, fence });
            }
        }
        Ok(ClaimVerdict::Taken(Box::new(row)))
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

    /// Inserts runs of this process into a ledger that took the old one's place, with their
    /// markers. Returns those that are still ours: where another process claimed the task
    /// meanwhile, the run's row is `lost`, and its beats will reach nothing.
    pub(super) fn insert_again(
        &self,
        conn: &mut Connection,
        held: &[Held],
    ) -> Result<Vec<i64>, Fault> {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut kept = Vec::new();
        for Held { run, lease } in held {
            if let Some(there) = by_id(&tx, run.id)? {
                // The file was moved and put back, or is a copy: the row is the same run.
                if there.fence == run.fence && there.status.holds_marker() {
                    kept.push(run.id);
                }
                continue;
            }
            let task = run.task();
            ensure_marker(&tx, &task)?;
            let won = tx.execute(
                "UPDATE marker SET running_at = ?, beat_awake = ?, run = ?, holder = ?, \
                 lease_ms = ?, fence = ? WHERE project = ? AND task = ? AND running_at IS NULL",
                params![
                    self.now(),
                    self.awake_ms(),
                    run.id,
                    self.me(),
                    millis(*lease),
                    run.fence,
                    task.project_id,
                    task.task_id
                ],
            )?;
            let status = if won == 1 { run.status } else { Status::Lost };
            tx.execute(
                "INSERT OR IGNORE INTO run (id, project, task, task_name, trigger, scheduled_for, \
                 attempt, status, created_at, started_at, holder, fence, session_id, child, note) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
                 'inserted again after the ledger was replaced')",
                params![
                    run.id,
                    task.project_id,
                    task.task_id,
                    run.task_name,
                    run.trigger,
                    run.scheduled_for,
                    run.attempt,
                    status,
                    run.created_at,
                    run.started_at,
                    self.me(),
                    run.fence,
                    run.session_id,
                    run.child.as_ref().map(to_json)
                ],
            )?;
            if won == 1 {
                kept.push(run.id);
            }
        }
        tx.commit()?;
        Ok(kept)
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

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
