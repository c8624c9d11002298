//! The newest rows of tasks: what lists and the overview show. All of it takes as long as there are
//! tasks, however long their history is.

use super::Ledger;
use super::error::LedgerError;
use super::run::{self, COLUMNS, Run};
use super::status::Status;
use crate::task::TaskKey;
use rusqlite::OptionalExtension;
use std::collections::HashMap;

/// One row in short, as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brief {
    /// The run.
    pub id: i64,
    /// How it ended, or what it is.
    pub status: Status,
    /// When it began, or was due, ms since 1970.
    pub at: i64,
    /// How long it took; `None` when it never ran.
    pub duration_ms: Option<i64>,
}

impl Brief {
    /// Puts a row in short.
    pub fn of(run: &Run) -> Brief {
        let at = run.started_at.or(run.scheduled_for).unwrap_or(run.created_at);
        Brief { id: run.id, status: run.status, at, duration_ms: run.duration_ms }
    }
}

/// The rows of every task that ended, newest of each task; what is asked for goes on from here.
/// Walks the markers (one per task) and seeks each task's end of an index, so that it takes as long
/// as there are tasks, not runs.
pub(super) const LAST_ENDED: &str = "FROM marker CROSS JOIN run WHERE run.id = \
     (SELECT max(r.id) FROM run r INDEXED BY run_ended WHERE r.project = marker.project \
      AND r.task = marker.task \
      AND r.status IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost'))";

/// The newest row of every task, if slots were missed.
pub(super) const MISSED: &str = "FROM marker CROSS JOIN run WHERE run.id = \
     (SELECT max(r.id) FROM run r INDEXED BY run_task WHERE r.project = marker.project \
      AND r.task = marker.task) AND run.status = 'missed'";

/// The newest rows of every task, in short.
pub(super) const BRIEFS: &str = "SELECT run.project, run.task, run.id, run.status, \
     coalesce(run.started_at, run.scheduled_for, run.created_at), run.duration_ms \
     FROM marker CROSS JOIN run WHERE run.id IN (SELECT r.id FROM run r INDEXED BY run_task \
     WHERE r.project = marker.project AND r.task = marker.task ORDER BY r.id DESC LIMIT ?) \
     ORDER BY marker.project, marker.task, run.id DESC";

/// The newest end of one task.
pub(super) const OF_TASK_ENDED: &str = "INDEXED BY run_ended WHERE project = ? AND task = ? \
     AND status IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost') \
     ORDER BY id DESC LIMIT 1";

/// Names the columns of a run in a query with several tables.
pub(super) fn run_columns() -> String {
    let columns: Vec<String> = COLUMNS.split(", ").map(|name| format!("run.{name}")).collect();
    columns.join(", ")
}

impl Ledger {
    /// Returns the newest run of a task that came to an end; `None` where there is none.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_ended(&self, task: &TaskKey) -> Result<Option<Run>, LedgerError> {
        self.read("reading the last end", |conn| {
            conn.prepare_cached(&format!("SELECT {COLUMNS} FROM run {OF_TASK_ENDED}"))?
                .query_row([&task.project_id, &task.task_id], run::from_row)
                .optional()
        })
    }

    /// Returns the newest `n` rows of a task in short, newest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn briefs(&self, task: &TaskKey, n: usize) -> Result<Vec<Brief>, LedgerError> {
        Ok(self.last_runs(task, n)?.iter().map(Brief::of).collect())
    }

    /// Returns the newest `n` rows of every task in short, newest first, those that may still
    /// change among them.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn briefs_of_all(&self, n: usize) -> Result<HashMap<TaskKey, Vec<Brief>>, LedgerError> {
        self.read("listing last rows", |conn| {
            let mut all: HashMap<TaskKey, Vec<Brief>> = HashMap::new();
            let mut statement = conn.prepare_cached(BRIEFS)?;
            let mut rows = statement.query([i64::try_from(n).unwrap_or(i64::MAX)])?;
            // Rows of a task come together: one look into the map for each task.
            let mut task = TaskKey::new("", "");
            let mut briefs = Vec::new();
            while let Some(row) = rows.next()? {
                let (project_id, task_id) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
                if task.task_id != task_id || task.project_id != project_id {
                    if !briefs.is_empty() {
                        all.insert(task, std::mem::take(&mut briefs));
                    }
                    task = TaskKey::new(project_id, task_id);
                }
                briefs.push(Brief {
                    id: row.get(2)?,
                    status: row.get(3)?,
                    at: row.get(4)?,
                    duration_ms: row.get(5)?,
                });
            }
            if !briefs.is_empty() {
                all.insert(task, briefs);
            }
            Ok(all)
        })
    }

    /// Returns the newest run of every task that came to an end.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_ended_of_all(&self) -> Result<HashMap<TaskKey, Run>, LedgerError> {
        self.newest_of_tasks("listing last runs", LAST_ENDED)
    }

    /// Returns the newest run of those tasks whose newest run ended badly, or could not be written.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_failures(&self) -> Result<HashMap<TaskKey, Run>, LedgerError> {
        let bad = "AND (run.status IN ('failed', 'timed_out', 'lost') \
                   OR run.persist_error IS NOT NULL)";
        self.newest_of_tasks("listing failures", &format!("{LAST_ENDED} {bad}"))
    }

    /// Returns the newest row of those tasks that missed slots and did nothing since.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_missed(&self) -> Result<HashMap<TaskKey, Run>, LedgerError> {
        self.newest_of_tasks("listing missed slots", MISSED)
    }

    fn newest_of_tasks(
        &self,
        during: &'static str,
        rows: &str,
    ) -> Result<HashMap<TaskKey, Run>, LedgerError> {
        self.read(during, |conn| {
            conn.prepare_cached(&format!("SELECT {} {rows}", run_columns()))?
                .query_map([], run::from_row)?
                .map(|run| run.map(|run| (run.task(), run)))
                .collect()
        })
    }
}
