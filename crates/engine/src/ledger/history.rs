//! Reading what happened, and pruning it. No query grows with the history but `prune`.

use super::Ledger;
use super::error::LedgerError;
use super::run::{self, Ask, COLUMNS, Run, RunDetail, Step, by_id, from_json};
use super::status::Status;
use crate::task::TaskKey;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which runs are asked for; the default is the newest 50 of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFilter {
    /// Of this project.
    pub project: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// With one of these; empty is all.
    pub status: Vec<Status>,
    /// Older than this run: the cursor.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

impl Default for RunFilter {
    fn default() -> Self {
        RunFilter { project: None, task: None, status: Vec::new(), before: None, limit: 50 }
    }
}

/// What a task did in 30 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Runs that ended.
    pub runs: i64,
    /// Of them, well.
    pub succeeded: i64,
    /// Of them, badly: failed, timed out or lost.
    pub failed: i64,
    /// The mean duration of the good ones; `None` without any.
    pub mean_duration_ms: Option<f64>,
    /// What they cost together, in US dollars; `None` where nobody said.
    pub cost: Option<f64>,
    /// Slots that were missed.
    pub missed: i64,
    /// Tokens of all runs, in and out.
    pub tokens: i64,
}

const DAY_MS: i64 = 86_400_000;
/// Rows younger than this are never pruned.
const SPARED_MS: i64 = 2 * DAY_MS;

/// The rows of a stretch of time. A row is made within moments of its slot unless the slot was
/// missed, and then it is shown where it was made.
pub(super) const BETWEEN: &str = "INDEXED BY run_at WHERE created_at BETWEEN ?1 AND ?2 \
     ORDER BY created_at LIMIT 20000";

/// Builds the query for one status (or all), newest first.
pub(super) fn runs_query(filter: &RunFilter, status: Option<Status>) -> (String, Vec<Value>) {
    let mut wanted = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut add = |clause: &'static str, value: Value| {
        wanted.push(clause);
        values.push(value);
    };
    let index = match (&filter.project, &filter.task, status) {
        (Some(_), Some(_), _) => "INDEXED BY run_task",
        (_, _, Some(_)) => "INDEXED BY run_status",
        (Some(_), None, None) => "INDEXED BY run_project",
        _ => "NOT INDEXED",
    };
    if let Some(project) = &filter.project {
        add("project = ?", project.clone().into());
    }
    if let Some(task) = &filter.task {
        add("task = ?", task.clone().into());
    }
    if let Some(status) = status {
        add("status = ?", status.word().to_owned().into());
    }
    if let Some(before) = filter.before {
        add("id < ?", before.into());
    }
    values.push(i64::try_from(filter.limit).unwrap_or(i64::MAX).into());
    let clause =
        if wanted.is_empty() { String::new() } else { format!("WHERE {}", wanted.join(" AND ")) };
    (format!("SELECT {COLUMNS} FROM run {index} {clause} ORDER BY id DESC LIMIT ?"), values)
}

impl Ledger {
    /// Returns runs, newest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, LedgerError> {
        let parts: Vec<Option<Status>> = match filter.status.as_slice() {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        };
        self.read("listing runs", |conn| {
            // One seek per status, then merged: several at once would sort the whole history.
            let mut runs = Vec::new();
            for part in &parts {
                let (sql, values) = runs_query(filter, *part);
                let mut statement = conn.prepare_cached(&sql)?;
                for run in statement.query_map(params_from_iter(values), run::from_row)? {
                    runs.push(run?);
                }
            }
            runs.sort_by_key(|run| std::cmp::Reverse(run.id));
            runs.dedup_by_key(|run| run.id);
            runs.truncate(filter.limit);
            Ok(runs)
        })
    }

    /// Returns a run with its steps and questions; `None` when there is no such run.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn run(&self, id: i64) -> Result<Option<RunDetail>, LedgerError> {
        self.read("reading a run", |conn| {
            let Some(run) = by_id(conn, id)? else { return Ok(None) };
            let steps = conn
                .prepare_cached("SELECT at, kind, detail FROM step WHERE run = ? ORDER BY id")?
                .query_map([id], |row| {
                    Ok(Step { at: row.get(0)?, kind: row.get(1)?, detail: row.get(2)? })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Some(RunDetail { run, steps, asks: asks_in(conn, id)? }))
        })
    }

    /// Returns what a run asks and asked, in order.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn asks(&self, run: i64) -> Result<Vec<Ask>, LedgerError> {
        self.read("reading questions", |conn| asks_in(conn, run))
    }

    /// Returns the newest `n` rows of a task.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_runs(&self, task: &TaskKey, n: usize) -> Result<Vec<Run>, LedgerError> {
        self.runs(&RunFilter {
            project: Some(task.project_id.clone()),
            task: Some(task.task_id.clone()),
            limit: n,
            ..RunFilter::default()
        })
    }

    /// Returns the rows of all tasks that began, or were due, between two instants (ms), oldest
    /// first; open ones that began before are among them. At most 20,000.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn runs_between(&self, from: i64, to: i64) -> Result<Vec<Run>, LedgerError> {
        self.read("listing a stretch of time", |conn| {
            conn.prepare_cached(&format!("SELECT {COLUMNS} FROM run {BETWEEN}"))?
                .query_map([from, to], run::from_row)?
                .collect()
        })
    }

    /// Returns the newest success of a task; `None` where there is none.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_success(&self, task: &TaskKey) -> Result<Option<Run>, LedgerError> {
        let status = vec![Status::Succeeded];
        let (project, id) = (Some(task.project_id.clone()), Some(task.task_id.clone()));
        let filter = RunFilter { project, task: id, status, before: None, limit: 1 };
        Ok(self.runs(&filter)?.pop())
    }

    /// Returns all rows that may still change, oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn open_runs(&self) -> Result<Vec<Run>, LedgerError> {
        let filter =
            RunFilter { status: Status::OPEN.to_vec(), limit: usize::MAX, ..RunFilter::default() };
        let mut runs = self.runs(&filter)?;
        runs.reverse();
        Ok(runs)
    }

    /// Returns the runs whose end the shared JSON does not show yet, oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn pending_json(&self) -> Result<Vec<Run>, LedgerError> {
        self.read("listing unflushed runs", |conn| {
            conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM run INDEXED BY run_pending \
                 WHERE json_pending = 1 ORDER BY id"
            ))?
            .query_map([], run::from_row)?
            .collect()
        })
    }

    /// Returns the row of a slot: its own, or the one of several slots that it lies in.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn slot(&self, task: &TaskKey, scheduled_for: i64) -> Result<Option<Run>, LedgerError> {
        self.read("reading a slot", |conn| super::claim::row_of_slot(conn, task, scheduled_for, 1))
    }

    /// Says whether a session belongs to a run of ours.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn knows_session(&self, id: &str) -> Result<bool, LedgerError> {
        self.read("looking for a session", |conn| {
            conn.prepare_cached("SELECT 1 FROM run WHERE session_id = ?")?.exists([id])
        })
    }

    /// Counts the runs that a task started in a window of wall time, retries apart.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn started_between(&self, task: &TaskKey, from: i64, to: i64) -> Result<i64, LedgerError> {
        self.read("counting runs", |conn| started_in(conn, task, from, to))
    }

    /// Counts how many slots of a task failed in a row, up to its newest end.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn failures_in_a_row(&self, task: &TaskKey) -> Result<u32, LedgerError> {
        self.read("counting failures", |conn| failures_in(conn, task))
    }

    /// Sums up what a task did in the last 30 days.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn stats_30_days(&self, task: &TaskKey) -> Result<Stats, LedgerError> {
        let since = self.now() - 30 * DAY_MS;
        self.read("summing up", |conn| {
            conn.prepare_cached(
                "SELECT count(*) FILTER (WHERE status IN \
                   ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost')), \
                 count(*) FILTER (WHERE status = 'succeeded'), \
                 count(*) FILTER (WHERE status IN ('failed', 'timed_out', 'lost')), \
                 avg(duration_ms) FILTER (WHERE status = 'succeeded'), sum(cost), \
                 coalesce(sum(count) FILTER (WHERE status = 'missed'), 0) \
                 FROM run INDEXED BY run_created \
                 WHERE project = ? AND task = ? AND created_at >= ?",
            )?
            .query_row(params![task.project_id, task.task_id, since], |row| {
                Ok(Stats {
                    runs: row.get(0)?,
                    succeeded: row.get(1)?,
                    failed: row.get(2)?,
                    mean_duration_ms: row.get(3)?,
                    cost: row.get(4)?,
                    missed: row.get(5)?,
                    tokens: 0,
                })
            })
            .and_then(|stats| {
                let tokens = conn
                    .prepare_cached(
                        "SELECT tokens FROM run INDEXED BY run_created WHERE project = ? \
                         AND task = ? AND created_at >= ? AND tokens IS NOT NULL",
                    )?
                    .query_map(params![task.project_id, task.task_id, since], |row| row.get(0))?
                    .collect::<rusqlite::Result<Vec<Option<String>>>>()?;
                let both = |tokens: run::Tokens| tokens.input.saturating_add(tokens.output);
                let sum = tokens.into_iter().filter_map(from_json).map(both).sum::<u64>();
                Ok(Stats { tokens: i64::try_from(sum).unwrap_or(i64::MAX), ..stats })
            })
        })
    }

    /// Deletes the oldest rows of each task that has more than `keep`, sparing open rows, ends that
    /// the shared JSON does not show, and whatever is younger than 48 h. One transaction per task,
    /// so that nobody waits for long. Returns how many rows went.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn prune(&self, keep: usize) -> Result<usize, LedgerError> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        let full: Vec<(String, String)> = self.read("looking for old runs", |conn| {
            conn.prepare_cached(
                "SELECT project, task FROM run INDEXED BY run_task \
                 GROUP BY project, task HAVING count(*) > ?",
            )?
            .query_map([keep], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
        })?;
        let mut gone = 0;
        for (project, task) in full {
            gone += self.write("pruning", |tx| {
                self.probe("prune: delete")?;
                Ok(tx
                    .prepare_cached(
                        "DELETE FROM run WHERE id IN (SELECT id FROM run INDEXED BY run_task \
                         WHERE project = ?1 AND task = ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3) \
                         AND status NOT IN ('claimed', 'queued', 'retrying', 'running', 'blocked') \
                         AND json_pending = 0 AND coalesce(finished_at, created_at) < ?4",
                    )?
                    .execute(params![project, task, keep, self.now() - SPARED_MS])?)
            })?;
        }
        Ok(gone)
    }
}

fn asks_in(conn: &Connection, run: i64) -> rusqlite::Result<Vec<Ask>> {
    conn.prepare_cached(
        "SELECT id, kind, text, pattern, options, asked_at, answered_at, answer FROM ask \
             WHERE run = ? ORDER BY asked_at, id",
    )?
    .query_map([run], |row| {
        let kind: Option<String> = row.get(1)?;
        Ok(Ask {
            id: row.get(0)?,
            kind: from_json(kind).unwrap_or(run::AskKind::Question),
            text: row.get(2)?,
            pattern: row.get(3)?,
            options: from_json(row.get(4)?).unwrap_or_default(),
            asked_at: row.get(5)?,
            answered_at: row.get(6)?,
            answer: row.get(7)?,
        })
    })?
    .collect()
}

pub(super) fn started_in(
    conn: &Connection,
    task: &TaskKey,
    from: i64,
    to: i64,
) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "SELECT count(*) FROM run INDEXED BY run_created \
         WHERE project = ? AND task = ? AND created_at >= ? AND created_at < ? AND attempt = 1 \
         AND (started_at IS NOT NULL OR status = 'claimed')",
    )?
    .query_row(params![task.project_id, task.task_id, from, to], |row| row.get(0))
}

/// Counts failed slots from the newest end backwards to the first success. A cancelled run says
/// nothing; the attempts at one slot are one failure; one that is still being tried is none yet.
pub(super) fn failures_in(conn: &Connection, task: &TaskKey) -> rusqlite::Result<u32> {
    let mut statement = conn.prepare_cached(
        "SELECT status, scheduled_for FROM run INDEXED BY run_task WHERE project = ?1 AND task = ?2 \
         AND status NOT IN ('skipped', 'missed', 'deduped', 'superseded', 'queued', 'cancelled') \
         AND id > coalesce((SELECT after_run FROM streak WHERE project = ?1 AND task = ?2), 0) \
         ORDER BY id DESC",
    )?;
    let mut rows = statement.query([&task.project_id, &task.task_id])?;
    let mut failures = 0;
    let mut judged: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let status: Status = row.get(0)?;
        let slot: Option<i64> = row.get(1)?;
        if slot.is_some() && slot == judged {
            continue;
        }
        judged = slot;
        match status {
            Status::Succeeded => break,
            failure if failure.is_failure() => failures += 1,
            _ => {}
        }
    }
    Ok(failures)
}

/// Returns how the task's run before this one ended, cancelled ones apart.
pub(super) fn end_before(conn: &Connection, run: &Run) -> rusqlite::Result<Option<Status>> {
    conn.prepare_cached(
        "SELECT status FROM run INDEXED BY run_task WHERE project = ? AND task = ? AND id < ? \
         AND status IN ('succeeded', 'failed', 'timed_out', 'lost') ORDER BY id DESC LIMIT 1",
    )?
    .query_row(params![run.project_id, run.task_id, run.id], |row| row.get(0))
    .optional()
}
