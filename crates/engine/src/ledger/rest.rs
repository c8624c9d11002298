//! Whether anything in the ledger can need anybody, asked before a thread is woken for it.

use super::Ledger;
use super::schema;
use std::sync::TryLockError;

/// Nothing open, waiting, held back, paused, or not yet shown: only a write can change that.
pub(super) const AT_REST: &str = "\
    SELECT NOT EXISTS (SELECT 1 FROM marker INDEXED BY marker_running WHERE running_at IS NOT NULL) \
    AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_status \
      WHERE status IN ('claimed', 'queued', 'retrying', 'running', 'blocked')) \
    AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_pending WHERE json_pending = 1) \
    AND NOT EXISTS (SELECT 1 FROM held_slot) \
    AND NOT EXISTS (SELECT 1 FROM hold WHERE project = '')";

impl Ledger {
    /// Says whether there is nothing to look after, and nobody else wrote since
    /// [`Ledger::data_version`] said `version`. Never waits: a ledger that is in use, replaced or
    /// unreadable is not at rest.
    pub fn is_at_rest(&self, version: i64) -> bool {
        let mut state = match self.inner.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let there = super::place::FileIdentity::of(&self.inner.path);
        let generation = state.generation;
        let Some(open) = state.open.as_mut().filter(|open| Some(open.identity) == there) else {
            return false;
        };
        let at_rest = schema::data_version(&open.conn).and_then(|now| {
            let same = (generation << 40) + now == version;
            Ok(same && open.conn.prepare_cached(AT_REST)?.query_row([], |row| row.get(0))?)
        });
        at_rest.unwrap_or(false)
    }
}
