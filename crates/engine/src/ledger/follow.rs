//! What the holder of a run records until its end: session, child, steps, questions, the end.

use super::Ledger;
use super::error::{Fault, LedgerError};
use super::marker::release_marker;
use super::run::{ANSWER_LIMIT, Ask, Run, Tokens, add_step, by_id, cut, to_json};
use super::status::{Reason, Status};
use crate::host::ProcessId;
use rusqlite::{Connection, params};

/// Whether a change reached the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// One row: done.
    Done,
    /// No row: the run is somebody else's by now, or has ended. Stop writing.
    Superseded,
}

impl Verdict {
    fn of(rows: usize) -> Verdict {
        if rows == 0 { Verdict::Superseded } else { Verdict::Done }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// `Succeeded`, `Failed`, `TimedOut`, `Cancelled` or `Lost`.
    pub status: Status,
    /// Why.
    pub reason: Option<Reason>,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// The agent's last answer; cut to [`ANSWER_LIMIT`].
    pub answer: Option<String>,
    /// What it consumed.
    pub tokens: Option<Tokens>,
    /// What it cost.
    pub cost: Option<f64>,
    /// The session, where it was not stored before.
    pub session_id: Option<String>,
    /// How long it ran, awake; `None` takes the difference of wall times.
    pub duration_ms: Option<i64>,
    /// Whether the shared JSON must show this end (until [`Ledger::json_flushed`]).
    pub json_pending: bool,
    /// When a further attempt may start (wall time); only looked at for `Failed`. `None`: none.
    pub retry_at: Option<i64>,
}

impl Ending {
    /// An end with nothing but its status, which the shared JSON must show.
    pub fn new(status: Status) -> Self {
        Ending {
            status,
            reason: None,
            error: None,
            answer: None,
            tokens: None,
            cost: None,
            session_id: None,
            duration_ms: None,
            json_pending: true,
            retry_at: None,
        }
    }

    /// The same with a reason and a text.
    pub fn because(mut self, reason: Reason, error: impl Into<String>) -> Self {
        self.reason = Some(reason);
        self.error = Some(error.into());
        self
    }
}

/// What became of the end of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum FinishVerdict {
    /// It is recorded, and the marker is free.
    Finished {
        /// The row.
        run: Box<Run>,
        /// How many slots of the task failed in a row, this one included; 0 after a success.
        failures: u32,
        /// Whether this success is the first after a failure.
        recovered: bool,
        /// The row of the further attempt, where one was asked for.
        retry: Option<i64>,
    },
    /// The run was taken over or had ended: the result is kept as evidence in its steps, and the
    /// row stays as it is.
    Superseded,
}

impl Ledger {
    fn touch(
        &self,
        during: &'static str,
        run: i64,
        step: Option<(&str, Option<&str>)>,
        change: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<Verdict, LedgerError> {
        self.write(during, |tx| {
            let verdict = Verdict::of(change(tx)?);
            self.probe("touch: step")?;
            if let (Verdict::Done, Some((kind, detail))) = (verdict, step) {
                add_step(tx, run, self.now(), kind, detail)?;
            }
            Ok(verdict)
        })
    }

    /// Stores the session of a run; must be committed before the prompt is sent.
    ///
    /// # Errors
    /// When the ledger cannot be written; then the prompt must not be sent.
    pub fn set_session(&self, run: i64, fence: i64, id: &str) -> Result<Verdict, LedgerError> {
        let verdict = self.touch("storing a session", run, Some(("session", Some(id))), |tx| {
            tx.prepare_cached(
                "UPDATE run SET session_id = ? \
                 WHERE id = ? AND fence = ? AND status IN ('claimed', 'running', 'blocked')",
            )?
            .execute(params![id, run, fence])
        })?;
        if let Some(held) = self.lock().held.get_mut(&run) {
            held.run.session_id = Some(id.to_owned());
        }
        Ok(verdict)
    }

    /// Stores the child process of a run.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn set_child(
        &self,
        run: i64,
        fence: i64,
        child: &ProcessId,
    ) -> Result<Verdict, LedgerError> {
        let pid = child.pid.to_string();
        let verdict = self.touch("storing a child", run, Some(("child", Some(&pid))), |tx| {
            tx.prepare_cached(
                "UPDATE run SET child = ? \
                 WHERE id = ? AND fence = ? AND status IN ('claimed', 'running', 'blocked')",
            )?
            .execute(params![to_json(child), run, fence])
        })?;
        if let Some(held) = self.lock().held.get_mut(&run) {
            held.run.child = Some(child.clone());
        }
        Ok(verdict)
    }

    /// Notes what happened in a run, now.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn step(&self, run: i64, kind: &str, detail: Option<&str>) -> Result<(), LedgerError> {
        self.write("noting a step", |tx| Ok(add_step(tx, run, self.now(), kind, detail)?))
    }

    /// Makes a run `blocked` by what it asks; more questions may come while it is blocked.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn block(&self, run: i64, fence: i64, asks: &[Ask]) -> Result<Verdict, LedgerError> {
        let now = self.now();
        self.write("blocking a run", |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE run SET status = 'blocked' \
                     WHERE id = ? AND fence = ? AND status IN ('running', 'blocked')",
                )?
                .execute([run, fence])?;
            if changed == 0 {
                return Ok(Verdict::Superseded);
            }
            self.probe("block: asks")?;
            for ask in asks {
                let new = tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO ask (run, id, kind, text, pattern, options, asked_at) \
                         VALUES (?, ?, ?, ?, ?, ?, ?)",
                    )?
                    .execute(params![
                        run,
                        ask.id,
                        to_json(&ask.kind),
                        cut(&ask.text, ANSWER_LIMIT),
                        ask.pattern,
                        to_json(&ask.options),
                        now
                    ])?;
                if new == 1 {
                    add_step(tx, run, now, "blocked", Some(cut(&ask.text, 1000)))?;
                }
            }
            Ok(Verdict::Done)
        })
    }

    /// Notes that a question was answered, as the agent confirmed it.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn answered(
        &self,
        run: i64,
        fence: i64,
        ask: &str,
        answer: &str,
    ) -> Result<Verdict, LedgerError> {
        let answer = cut(answer, ANSWER_LIMIT);
        self.touch("noting an answer", run, Some(("answered", Some(answer))), |tx| {
            tx.prepare_cached(
                "UPDATE ask SET answered_at = ?, answer = ? \
                 WHERE run = ? AND id = ? AND answered_at IS NULL \
                 AND EXISTS (SELECT 1 FROM run WHERE run.id = ask.run AND fence = ?)",
            )?
            .execute(params![self.now(), answer, run, ask, fence])
        })
    }

    /// Makes a blocked run `running` again; what is still open was answered elsewhere.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn unblock(&self, run: i64, fence: i64) -> Result<Verdict, LedgerError> {
        self.write("unblocking a run", |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE run SET status = 'running' \
                     WHERE id = ? AND fence = ? AND status = 'blocked'",
                )?
                .execute([run, fence])?;
            if changed == 1 {
                close_asks(tx, run, self.now())?;
                add_step(tx, run, self.now(), "unblocked", None)?;
            }
            Ok(Verdict::of(changed))
        })
    }

    /// Records the end of a run and frees its marker, if the run is still the caller's.
    ///
    /// # Errors
    /// `Illegal` for a status that cannot follow (a prompt that was never sent cannot have
    /// succeeded); else when the ledger cannot be written: the holder goes on beating and retrying.
    pub fn finish(
        &self,
        run: i64,
        fence: i64,
        ending: &Ending,
    ) -> Result<FinishVerdict, LedgerError> {
        self.write_then(
            "finishing a run",
            |tx| self.finish_in(tx, run, fence, ending),
            |held, _| drop(held.remove(&run)),
        )
    }

    fn finish_in(
        &self,
        tx: &Connection,
        run: i64,
        fence: i64,
        ending: &Ending,
    ) -> Result<FinishVerdict, Fault> {
        let now = self.now();
        let answer = ending.answer.as_deref().map(|text| cut(text, ANSWER_LIMIT));
        if !ending.status.is_ended() {
            let from = by_id(tx, run)?.map_or(Status::Lost, |row| row.status);
            return Err(LedgerError::Illegal { run, from, to: ending.status }.into());
        }
        let changed = tx
            .prepare_cached(&format!(
                "UPDATE run SET status = ?, reason = ?, error = ?, answer = ?, tokens = ?, \
                 cost = ?, session_id = coalesce(?, session_id), finished_at = ?, \
                 duration_ms = coalesce(?, max(0, ? - started_at)), json_pending = ? \
                 WHERE id = ? AND fence = ? AND status IN ({})",
                ending.status.held_sources()
            ))?
            .execute(params![
                ending.status,
                ending.reason,
                ending.error,
                answer,
                ending.tokens.as_ref().map(to_json),
                ending.cost,
                ending.session_id,
                now,
                ending.duration_ms,
                now,
                ending.json_pending,
                run,
                fence
            ])?;
        if changed == 0 {
            return match by_id(tx, run)? {
                // Written before by this very holder, which never heard of it: the same end.
                Some(row) if row.fence == fence && row.status == ending.status => {
                    Self::finished(tx, row, None)
                }
                row => self.keep_evidence(tx, row, fence, ending),
            };
        }
        self.probe("finish: marker")?;
        release_marker(tx, run, fence)?;
        self.probe("finish: rest")?;
        close_asks(tx, run, now)?;
        add_step(tx, run, now, "ended", Some(ending.status.word()))?;
        let row = by_id(tx, run)?.ok_or(LedgerError::NoSuchRun { run })?;
        let retry = match ending.retry_at {
            Some(due) if ending.status == Status::Failed => {
                Some(super::waiting::add_retry(tx, &row, due, now)?)
            }
            _ => None,
        };
        Self::finished(tx, row, retry)
    }

    fn finished(tx: &Connection, row: Run, retry: Option<i64>) -> Result<FinishVerdict, Fault> {
        let failures = super::history::failures_in(tx, &row.task())?;
        let recovered = row.status == Status::Succeeded
            && super::history::end_before(tx, &row)?.is_some_and(|before| before.is_failure());
        Ok(FinishVerdict::Finished { run: Box::new(row), failures, recovered, retry })
    }

    /// The run is not ours any more: what we know of its end is kept beside it, its status stays.
    fn keep_evidence(
        &self,
        tx: &Connection,
        row: Option<Run>,
        fence: i64,
        ending: &Ending,
    ) -> Result<FinishVerdict, Fault> {
        let Some(row) = row else { return Ok(FinishVerdict::Superseded) };
        let run = row.id;
        if row.fence == fence && row.status.is_open() {
            return Err(LedgerError::Illegal { run, from: row.status, to: ending.status }.into());
        }
        let detail =
            [Some(ending.status.word()), ending.error.as_deref(), ending.answer.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(": ");
        add_step(tx, run, self.now(), "stale_result", Some(cut(&detail, ANSWER_LIMIT)))?;
        if !row.status.is_open() {
            tx.execute(
                "UPDATE run SET note = coalesce(note || '; ', '') || ? WHERE id = ?",
                params![format!("finished late: {}", ending.status), run],
            )?;
        }
        Ok(FinishVerdict::Superseded)
    }

    /// Notes that the shared JSON shows the run's end (or another run, or no such task).
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn json_flushed(&self, run: i64) -> Result<(), LedgerError> {
        self.write("noting a flush", |tx| {
            tx.prepare_cached(
                "UPDATE run SET json_pending = 0, persist_error = NULL \
                 WHERE id = ? AND json_pending = 1",
            )?
            .execute([run])?;
            Ok(())
        })
    }

    /// Notes why the shared JSON does not show the run's end.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn set_persist_error(&self, run: i64, error: &str) -> Result<(), LedgerError> {
        self.write("noting a persist error", |tx| {
            tx.prepare_cached("UPDATE run SET persist_error = ? WHERE id = ?")?
                .execute(params![error, run])?;
            Ok(())
        })
    }
}

fn close_asks(tx: &Connection, run: i64, now: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE ask SET answered_at = ? WHERE run = ? AND answered_at IS NULL")?
        .execute([now, run])
        .map(drop)
}
