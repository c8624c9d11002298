//! What other processes did to the ledger, told like what is done here (PROTOCOL §5, last line).
//!
//! The ledger is compared with how it looked last. What this process did itself was told when it
//! was done, so it is not told again.

use crate::event::{Event, EventKind};
use crate::ledger::{LedgerError, Run, RunFilter, Status};
use crate::runtime::{Runtime, lock};
use crate::task::TaskKey;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many new rows are looked through at first, and at most.
const ROWS: [usize; 2] = [50, 1_000];

/// How the ledger looked last.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The newest row; `None` before the first look.
    newest: Option<i64>,
    /// The rows that may still change: their status, and whether there was a session.
    open: HashMap<i64, (Status, bool)>,
    paused: bool,
    auto_paused: HashSet<TaskKey>,
    /// The newest event of ours.
    event: u64,
}

impl Seen {
    /// Looks at the ledger and tells what others did since the last look; the first look tells
    /// nothing. Blocks.
    ///
    /// # Errors
    /// When the ledger cannot be read; what was missed is told by the next look.
    pub(super) fn look(&mut self, runtime: &Arc<Runtime>, news: bool) -> Result<(), LedgerError> {
        // Taken first: what is done here meanwhile belongs to the next look too.
        let event = runtime.events.newest();
        let rows = self.changed(runtime)?;
        let paused = runtime.ledger.paused()?.is_some();
        let auto_paused: HashSet<TaskKey> =
            runtime.ledger.auto_paused_tasks()?.into_iter().map(|held| held.task).collect();
        let first = self.newest.is_none();
        let own = runtime.events.resume(self.event).0.unwrap_or_default();
        let mut told = 0;
        if !first {
            for run in rows.iter().filter(|run| !done_here(runtime, &own, run)) {
                tell(runtime, run);
                told += 1;
            }
            if paused != self.paused {
                let kind = if paused { EventKind::Paused } else { EventKind::Resumed };
                if !own.iter().any(|event| event.kind == kind && event.task_id.is_none()) {
                    runtime.emit(kind, None, None);
                    told += 1;
                }
            }
            for task in auto_paused.difference(&self.auto_paused) {
                let here = |event: &Event| {
                    event.kind == EventKind::AutoPaused
                        && event.task_id.as_deref() == Some(task.task_id.as_str())
                };
                if !own.iter().any(here) {
                    runtime.emit(EventKind::AutoPaused, Some(task), None);
                    told += 1;
                }
            }
            if told == 0 && news {
                // An approval, an answer, a policy: what lists show may differ.
                runtime.emit(EventKind::RunChanged, None, None);
            }
        }
        self.newest = Some(rows.iter().map(|run| run.id).max().max(self.newest).unwrap_or(0));
        for run in rows {
            if run.status.is_open() {
                self.open.insert(run.id, state(&run));
            } else {
                self.open.remove(&run.id);
            }
        }
        self.paused = paused;
        self.auto_paused = auto_paused;
        self.event = event;
        Ok(())
    }

    /// Returns the rows that are new or differ, oldest first.
    fn changed(&mut self, runtime: &Arc<Runtime>) -> Result<Vec<Run>, LedgerError> {
        let mut rows: HashMap<i64, Run> = HashMap::new();
        let open = runtime.ledger.open_runs()?;
        let still: HashSet<i64> = open.iter().map(|run| run.id).collect();
        rows.extend(open.into_iter().map(|run| (run.id, run)));
        for id in self.open.keys().filter(|id| !still.contains(id)) {
            if let Some(detail) = runtime.ledger.run(*id)? {
                rows.insert(*id, detail.run);
            }
        }
        let after = self.newest.unwrap_or(i64::MAX);
        for limit in ROWS {
            if after == i64::MAX {
                // The first look only learns where the history ends.
                let filter = RunFilter { limit: 1, ..RunFilter::default() };
                rows.extend(runtime.ledger.runs(&filter)?.into_iter().map(|run| (run.id, run)));
                break;
            }
            let newest = runtime.ledger.runs(&RunFilter { limit, ..RunFilter::default() })?;
            let all = newest.len() < limit || newest.last().is_some_and(|run| run.id <= after);
            rows.extend(newest.into_iter().filter(|run| run.id > after).map(|run| (run.id, run)));
            if all {
                break;
            }
        }
        let mut rows: Vec<Run> = rows.into_values().collect();
        rows.retain(|run| self.open.get(&run.id) != Some(&state(run)));
        rows.sort_by_key(|run| run.id);
        Ok(rows)
    }
}

fn state(run: &Run) -> (Status, bool) {
    (run.status, run.session_id.is_some())
}

/// Says whether this process told of the row itself.
fn done_here(runtime: &Arc<Runtime>, own: &[Event], run: &Run) -> bool {
    if run.status.is_open() {
        return runtime.active(run.id).is_some();
    }
    own.iter().any(|event| event.run_id == Some(run.id) && event.kind == kind(run.status))
}

fn kind(status: Status) -> EventKind {
    match status {
        Status::Blocked => EventKind::RunBlocked,
        Status::Succeeded
        | Status::Failed
        | Status::TimedOut
        | Status::Cancelled
        | Status::Lost => EventKind::RunFinished,
        Status::Missed => EventKind::Missed,
        _ => EventKind::RunChanged,
    }
}

fn tell(runtime: &Arc<Runtime>, run: &Run) {
    runtime.emit(kind(run.status), Some(&run.task()), Some(run.id));
}

/// Tells what others did, if anybody did anything; `always` looks whatever the ledger says. Blocks.
pub(super) fn heed(runtime: &Arc<Runtime>, seen: &std::sync::Mutex<Seen>, always: bool) {
    let news = runtime.ledger_has_news();
    if !news && !always {
        return;
    }
    if let Err(error) = lock(seen).look(runtime, news) {
        tracing::warn!(%error, "what other processes did could not be read");
        runtime.emit(EventKind::RunChanged, None, None);
    }
}
