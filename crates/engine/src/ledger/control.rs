//! What anybody asks of a run's holder: cancel, answer. Rows, so that any process may ask
//! (PROTOCOL §5).

use super::Ledger;
use super::error::LedgerError;
use super::run::{add_step, by_id, to_json};
use rusqlite::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer to what a blocked run asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allow it this time.
    Once,
    /// Allow it from now on.
    Always,
    /// Forbid it.
    Reject,
    /// Answer a question.
    Text(String),
}

/// What is asked of a run's holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Control {
    /// Stop.
    Cancel,
    /// Pass an answer on.
    Answer {
        /// The request.
        ask: String,
        /// The answer.
        answer: Answer,
    },
}

/// What became of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlVerdict {
    /// The holder will find it.
    Asked,
    /// Nobody held the run (it waited): it is cancelled.
    Cancelled,
    /// The run has ended, or the question is answered already.
    TooLate,
    /// There is no such run, or it asks no such thing.
    Unknown,
}

impl Ledger {
    /// Asks something of a run's holder. A cancel that is asked twice is one.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn control(&self, run: i64, control: &Control) -> Result<ControlVerdict, LedgerError> {
        self.write("asking of a run", |tx| {
            let now = self.now();
            let Some(row) = by_id(tx, run)? else { return Ok(ControlVerdict::Unknown) };
            if !row.status.is_open() {
                return Ok(ControlVerdict::TooLate);
            }
            match control {
                Control::Cancel => {
                    let waiting = tx.execute(
                        "UPDATE run SET status = 'cancelled', reason = 'by_user', finished_at = ? \
                         WHERE id = ? AND status IN ('queued', 'retrying')",
                        [now, run],
                    )?;
                    if waiting == 1 {
                        add_step(tx, run, now, "ended", Some("cancelled"))?;
                        return Ok(ControlVerdict::Cancelled);
                    }
                }
                Control::Answer { ask, .. } => {
                    let open = tx
                        .prepare_cached(
                            "SELECT answered_at IS NULL FROM ask WHERE run = ? AND id = ?",
                        )?
                        .query_map(params![run, ask], |row| row.get::<_, bool>(0))?
                        .next()
                        .transpose()?;
                    match open {
                        None => return Ok(ControlVerdict::Unknown),
                        Some(false) => return Ok(ControlVerdict::TooLate),
                        Some(true) => {}
                    }
                }
            }
            let body = to_json(control);
            tx.execute(
                "INSERT INTO control (run, body, at) SELECT ?1, ?2, ?3 WHERE NOT EXISTS \
                 (SELECT 1 FROM control WHERE run = ?1 AND body = ?2 AND taken_at IS NULL)",
                params![run, body, now],
            )?;
            Ok(ControlVerdict::Asked)
        })
    }

    /// Says which runs somebody asked something of that was not taken yet.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn waiting_controls(&self) -> Result<Vec<i64>, LedgerError> {
        self.read("looking for controls", |conn| {
            conn.prepare_cached(
                "SELECT DISTINCT run FROM control WHERE taken_at IS NULL ORDER BY run",
            )?
            .query_map([], |row| row.get(0))?
            .collect()
        })
    }

    /// Takes what was asked of a run, oldest first; only its holder gets anything, each thing once.
    /// Looking costs no write.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn take_controls(&self, run: i64, fence: i64) -> Result<Vec<Control>, LedgerError> {
        let any = self.read("looking for controls", |conn| {
            conn.prepare_cached("SELECT 1 FROM control WHERE run = ? AND taken_at IS NULL")?
                .exists([run])
        })?;
        if !any {
            return Ok(Vec::new());
        }
        let mut taken: Vec<(i64, String)> = self.write("taking controls", |tx| {
            Ok(tx
                .prepare_cached(
                    "UPDATE control SET taken_at = ? WHERE run = ? AND taken_at IS NULL \
                     AND EXISTS (SELECT 1 FROM run WHERE run.id = control.run AND fence = ?) \
                     RETURNING id, body",
                )?
                .query_map([self.now(), run, fence], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?)
        })?;
        taken.sort();
        Ok(taken.iter().filter_map(|(_, body)| serde_json::from_str(body).ok()).collect())
    }
}
