//! What keeps tasks from running: pause of everything, auto-pause, missing approval; and the
//! policy of JSON tasks, which never goes into the shared file (DESIGN §5, §7).

use super::Ledger;
use super::error::LedgerError;
use super::run::{from_json, to_json};
use crate::task::TaskKey;
use crate::task::policy::Policy;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{HashMap, HashSet};

/// Everything is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Since when, ms since 1970.
    pub since: i64,
    /// Until when (wall time); `None` until somebody resumes.
    pub until: Option<i64>,
}

/// One task is paused because it failed too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoPause {
    /// The task.
    pub task: TaskKey,
    /// Since when, ms since 1970.
    pub since: i64,
    /// Why, for people.
    pub reason: String,
    /// The definition that failed: a changed one ends the pause. `None`: only a person does.
    pub definition_hash: Option<String>,
}

/// An auto-pause ended: what failed before it counts no more.
fn count_anew(tx: &Connection, task: &TaskKey) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT OR REPLACE INTO streak SELECT ?1, ?2, coalesce(max(id), 0) FROM run \
         WHERE project = ?1 AND task = ?2",
        [&task.project_id, &task.task_id],
    )
    .map(drop)
}

pub(super) fn pause_in(conn: &Connection, now: i64) -> rusqlite::Result<Option<Pause>> {
    conn.prepare_cached(
        "SELECT since, until FROM hold \
         WHERE project = '' AND task = '' AND (until IS NULL OR until > ?)",
    )?
    .query_row([now], |row| Ok(Pause { since: row.get(0)?, until: row.get(1)? }))
    .optional()
}

pub(super) fn auto_pause_in(
    conn: &Connection,
    task: &TaskKey,
) -> rusqlite::Result<Option<AutoPause>> {
    conn.prepare_cached(
        "SELECT project, task, since, reason, definition_hash FROM hold \
         WHERE project = ? AND task = ? AND task <> ''",
    )?
    .query_row([&task.project_id, &task.task_id], auto_pause_from)
    .optional()
}

fn auto_pause_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<AutoPause> {
    Ok(AutoPause {
        task: TaskKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?),
        since: row.get(2)?,
        reason: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        definition_hash: row.get(4)?,
    })
}

pub(super) fn approved_in(conn: &Connection, hash: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM approval WHERE hash = ?")?.exists([hash])
}

impl Ledger {
    /// Pauses everything, for all our processes on the folder; a second call changes the end.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn pause(&self, until: Option<i64>) -> Result<(), LedgerError> {
        self.write("pausing", |tx| {
            tx.execute(
                "INSERT INTO hold (project, task, since, until) VALUES ('', '', ?, ?) \
                 ON CONFLICT (project, task) DO UPDATE SET until = excluded.until",
                params![self.now(), until],
            )?;
            Ok(())
        })
    }

    /// Ends the pause of everything. Returns whether there was one.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn resume(&self) -> Result<bool, LedgerError> {
        self.write("resuming", |tx| {
            let now = self.now();
            let paused = pause_in(tx, now)?.is_some();
            tx.execute("DELETE FROM hold WHERE project = '' AND task = ''", [])?;
            Ok(paused)
        })
    }

    /// Returns the pause of everything; `None` when there is none or its time is over.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn paused(&self) -> Result<Option<Pause>, LedgerError> {
        self.read("reading the pause", |conn| pause_in(conn, self.now()))
    }

    /// Pauses one task. Returns whether it was not paused before.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn auto_pause(
        &self,
        task: &TaskKey,
        reason: &str,
        definition_hash: Option<&str>,
    ) -> Result<bool, LedgerError> {
        self.write("auto-pausing", |tx| {
            let new = auto_pause_in(tx, task)?.is_none();
            tx.execute(
                "INSERT OR REPLACE INTO hold (project, task, since, reason, definition_hash) \
                 VALUES (?, ?, ?, ?, ?)",
                params![task.project_id, task.task_id, self.now(), reason, definition_hash],
            )?;
            Ok(new)
        })
    }

    /// Ends the auto-pause of a task (`resume`, a good manual run). Returns whether there was one.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn end_auto_pause(&self, task: &TaskKey) -> Result<bool, LedgerError> {
        self.write("ending an auto-pause", |tx| {
            let ended = tx.execute(
                "DELETE FROM hold WHERE project = ? AND task = ? AND task <> ''",
                [&task.project_id, &task.task_id],
            )?;
            if ended == 1 {
                count_anew(tx, task)?;
            }
            Ok(ended == 1)
        })
    }

    /// Ends the auto-pause of a task whose definition is another one by now. Returns whether it did.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn definition_seen(&self, task: &TaskKey, hash: &str) -> Result<bool, LedgerError> {
        let changed = |hold: AutoPause| hold.definition_hash.is_some_and(|held| held != hash);
        if !self
            .read("reading an auto-pause", |conn| auto_pause_in(conn, task))?
            .is_some_and(changed)
        {
            return Ok(false);
        }
        self.write("ending an auto-pause", |tx| {
            let ended = tx.execute(
                "DELETE FROM hold WHERE project = ? AND task = ? AND definition_hash <> ?",
                [&task.project_id, &task.task_id, hash],
            )?;
            if ended == 1 {
                count_anew(tx, task)?;
            }
            Ok(ended == 1)
        })
    }

    /// Returns why a task is auto-paused; `None` when it is not.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn auto_paused(&self, task: &TaskKey) -> Result<Option<AutoPause>, LedgerError> {
        self.read("reading an auto-pause", |conn| auto_pause_in(conn, task))
    }

    /// Lists every auto-paused task.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn auto_paused_tasks(&self) -> Result<Vec<AutoPause>, LedgerError> {
        self.read("listing auto-pauses", |conn| {
            conn.prepare_cached(
                "SELECT project, task, since, reason, definition_hash FROM hold WHERE task <> ''",
            )?
            .query_map([], auto_pause_from)?
            .collect()
        })
    }

    /// Approves a content on this machine.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn approve(&self, hash: &str) -> Result<(), LedgerError> {
        self.write("approving", |tx| {
            tx.execute("INSERT OR IGNORE INTO approval VALUES (?, ?)", params![hash, self.now()])?;
            Ok(())
        })
    }

    /// Approves a task's content and keeps its text, so that later changes can be shown.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn approve_text(&self, task: &TaskKey, hash: &str, text: &str) -> Result<(), LedgerError> {
        self.write("approving", |tx| {
            tx.execute("INSERT OR IGNORE INTO approval VALUES (?, ?)", params![hash, self.now()])?;
            tx.execute(
                "INSERT OR REPLACE INTO approved_text VALUES (?, ?, ?)",
                [&task.project_id, &task.task_id, text],
            )?;
            Ok(())
        })
    }

    /// Returns the text of a task that was approved last; `None` when none ever was.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn approved_text(&self, task: &TaskKey) -> Result<Option<String>, LedgerError> {
        self.read("reading an approved text", |conn| {
            conn.prepare_cached("SELECT body FROM approved_text WHERE project = ? AND task = ?")?
                .query_row([&task.project_id, &task.task_id], |row| row.get(0))
                .optional()
        })
    }

    /// Notes that a person has seen something and put it aside; what is older than 90 days is
    /// forgotten.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn dismiss(&self, id: &str) -> Result<(), LedgerError> {
        const KEPT_MS: i64 = 90 * 86_400_000;
        self.write("putting something aside", |tx| {
            tx.execute("INSERT OR REPLACE INTO dismissal VALUES (?, ?)", params![id, self.now()])?;
            tx.execute("DELETE FROM dismissal WHERE dismissed_at < ?", [self.now() - KEPT_MS])?;
            Ok(())
        })
    }

    /// Lists what was put aside.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn dismissed(&self) -> Result<HashSet<String>, LedgerError> {
        self.read("listing what was put aside", |conn| {
            conn.prepare_cached("SELECT id FROM dismissal")?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    /// Takes an approval back. Returns whether there was one.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn disapprove(&self, hash: &str) -> Result<bool, LedgerError> {
        self.write("taking an approval back", |tx| {
            Ok(tx.execute("DELETE FROM approval WHERE hash = ?", [hash])? == 1)
        })
    }

    /// Says whether a content was approved on this machine.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn is_approved(&self, hash: &str) -> Result<bool, LedgerError> {
        self.read("reading an approval", |conn| approved_in(conn, hash))
    }

    /// Returns the policy of a JSON task; `None` where none was set.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn policy(&self, task: &TaskKey) -> Result<Option<Policy>, LedgerError> {
        let text: Option<String> = self.read("reading a policy", |conn| {
            conn.prepare_cached("SELECT body FROM policy WHERE project = ? AND task = ?")?
                .query_row([&task.project_id, &task.task_id], |row| row.get(0))
                .optional()
        })?;
        Ok(from_json(text))
    }

    /// Returns the policies of a project's JSON tasks by task id; those without one are left out.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn policies(&self, project: &str) -> Result<HashMap<String, Policy>, LedgerError> {
        let rows: Vec<(String, Option<String>)> = self.read("reading policies", |conn| {
            conn.prepare_cached("SELECT task, body FROM policy WHERE project = ?")?
                .query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        Ok(rows.into_iter().filter_map(|(task, body)| Some((task, from_json(body)?))).collect())
    }

    /// Sets the policy of a JSON task; an empty one removes it.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn set_policy(&self, task: &TaskKey, policy: &Policy) -> Result<(), LedgerError> {
        self.write("setting a policy", |tx| {
            let key = [&task.project_id, &task.task_id];
            tx.execute("DELETE FROM policy WHERE project = ? AND task = ?", key)?;
            if *policy != Policy::default() {
                tx.execute(
                    "INSERT INTO policy VALUES (?, ?, ?)",
                    params![task.project_id, task.task_id, to_json(policy)],
                )?;
            }
            Ok(())
        })
    }
}
