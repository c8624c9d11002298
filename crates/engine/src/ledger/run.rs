//! A run as it is stored and shown: its row, steps and questions.

use super::status::{Reason, Status, Trigger};
use crate::host::ProcessId;
use crate::task::TaskKey;
use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How much of an answer is kept, in bytes.
pub const ANSWER_LIMIT: usize = 16 * 1024;

/// What a run consumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the words are OpenCode's")]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// One row of the history. Times are wall time, ms since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Unique on this machine, also across ledgers that were set aside; newer runs have larger ones.
    pub id: i64,
    /// The project's id.
    pub project_id: String,
    /// The task's id.
    pub task_id: String,
    /// The task's name when the row was made.
    pub task_name: String,
    /// What made it start.
    pub trigger: Trigger,
    /// The slot; `None` for manual runs. In a row of several slots, the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<i64>,
    /// Counts the attempts at one slot from 1.
    pub attempt: u32,
    /// What became of it.
    pub status: Status,
    /// Why; `None` where the status says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// When the row was made.
    pub created_at: i64,
    /// When a waiting row may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<i64>,
    /// When `claimed` became `running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// What the shared JSON got as `lastRunAt`; `None` where nothing was claimed there.
    #[serde(skip)]
    pub run_at: Option<i64>,
    /// When it ended, or was recorded as not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<i64>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the shared file does not show the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist_error: Option<String>,
    /// What is worth knowing beside the status, such as a result that came too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The agent's last answer, at most [`ANSWER_LIMIT`] bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// How many slots the row stands for; `None` is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// The first of several slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_for: Option<i64>,
    /// The child process that works for it.
    #[serde(skip)]
    pub child: Option<ProcessId>,
    /// Who follows it.
    #[serde(skip)]
    pub holder: Option<ProcessId>,
    /// The fence of its holder; 0 where nobody ever held it.
    #[serde(skip)]
    pub fence: i64,
}

impl Run {
    /// Names the task.
    pub fn task(&self) -> TaskKey {
        TaskKey::new(&self.project_id, &self.task_id)
    }
}

pub(super) const COLUMNS: &str = "id, project, task, task_name, trigger, scheduled_for, attempt, \
     status, reason, created_at, due_at, started_at, finished_at, duration_ms, session_id, error, \
     persist_error, note, tokens, cost, answer, count, first_for, child, holder, fence, run_at";

/// Reads a row of [`COLUMNS`]; by position, since lists read tens of thousands of them.
pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Run> {
    let count: i64 = row.get(21)?;
    // A reason of a later version is shown as none, rather than hiding the row.
    let reason: Option<String> = row.get(8)?;
    Ok(Run {
        id: row.get(0)?,
        project_id: row.get(1)?,
        task_id: row.get(2)?,
        task_name: row.get(3)?,
        trigger: row.get(4)?,
        scheduled_for: row.get(5)?,
        attempt: row.get(6)?,
        status: row.get(7)?,
        reason: reason.and_then(|word| Reason::from_word(&word)),
        created_at: row.get(9)?,
        due_at: row.get(10)?,
        started_at: row.get(11)?,
        finished_at: row.get(12)?,
        duration_ms: row.get(13)?,
        session_id: row.get(14)?,
        error: row.get(15)?,
        persist_error: row.get(16)?,
        note: row.get(17)?,
        tokens: from_json(row.get(18)?),
        cost: row.get(19)?,
        answer: row.get(20)?,
        count: (count > 1).then_some(count),
        first_for: row.get(22)?,
        child: from_json(row.get(23)?),
        holder: from_json(row.get(24)?),
        fence: row.get(25)?,
        run_at: row.get(26)?,
    })
}

pub(super) fn from_json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    serde_json::from_str(&text?).ok()
}

/// Writes what always can be written as JSON: plain structs with string keys.
pub(super) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

pub(super) fn by_id(conn: &Connection, id: i64) -> rusqlite::Result<Option<Run>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM run WHERE id = ?"))?
        .query_row([id], from_row)
        .optional()
}

/// Cuts a text to `limit` bytes at a character's boundary.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// What happened in a run, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Wall time, ms since 1970.
    pub at: i64,
    /// What happened: `due claimed queued started session accepted blocked answered ended
    /// taken_over retry note stale_result …`; open, since agents report steps of their own.
    pub kind: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What kind of thing an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
    /// To be allowed something.
    Permission,
    /// To be told something.
    Question,
}

/// What a blocked run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The agent's id of the request.
    pub id: String,
    /// Permission or question.
    pub kind: AskKind,
    /// What is asked, for people.
    pub text: String,
    /// What "always" would allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The answers offered to a question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// When it was asked, ms since 1970; set by the ledger.
    #[serde(default)]
    pub asked_at: i64,
    /// When it was answered; `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<i64>,
    /// The answer, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A run with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDetail {
    /// The row.
    #[serde(flatten)]
    pub run: Run,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// What was asked, in order.
    pub asks: Vec<Ask>,
}

pub(super) fn add_step(
    conn: &Connection,
    run: i64,
    at: i64,
    kind: &str,
    detail: Option<&str>,
) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO step (run, at, kind, detail) VALUES (?, ?, ?, ?)")?
        .execute((run, at, kind, detail))
        .map(drop)
}
