//! Running runs after the ledger's file was replaced under us (PROTOCOL §7).

use super::error::Fault;
use super::marker::{ensure_marker, millis};
use super::run::{by_id, to_json};
use super::status::Status;
use super::{Held, Ledger};
use rusqlite::{Connection, TransactionBehavior, params};

impl Ledger {
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
                 attempt, status, created_at, run_at, started_at, holder, fence, session_id, child, \
                 note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
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
                    run.run_at,
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
}
