//! Finding markers whose holder is gone, and taking them over (PROTOCOL §5).

use super::error::LedgerError;
use super::run::{Run, by_id, from_json};
use super::{Ledger, State};
use crate::host::ProcessId;
use std::time::Duration;

/// Why a marker is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleCause {
    /// No beat for longer than the holder's own lease.
    LeaseExpired,
    /// The holder is provably gone.
    HolderGone,
    /// The holder belongs to an earlier boot of this machine.
    EarlierBoot,
}

/// A marker that may be taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Stale {
    /// The run, with its session, child and status.
    pub run: Run,
    /// The fence that was seen.
    pub fence: i64,
    /// Why it is stale.
    pub cause: StaleCause,
    /// The last beat that was seen (wall, awake): a later one defeats the take-over.
    beat: (i64, i64),
}

struct Marker {
    project: String,
    task: String,
    run: i64,
    fence: i64,
    running_at: i64,
    beat_awake: i64,
    lease_ms: i64,
    holder: Option<ProcessId>,
}

impl Ledger {
    /// Finds markers that are not active in this process and whose holder is gone, or has given no
    /// sign of life for longer than its lease. One that is exactly a lease old stays.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn sweep(&self, locally_active: &[i64]) -> Result<Vec<Stale>, LedgerError> {
        let markers = self.read("sweeping", |conn| {
            conn.prepare_cached(
                "SELECT project, task, run, fence, running_at, beat_awake, lease_ms, holder \
                 FROM marker INDEXED BY marker_running WHERE running_at IS NOT NULL",
            )?
            .query_map([], |row| {
                Ok(Marker {
                    project: row.get(0)?,
                    task: row.get(1)?,
                    run: row.get(2)?,
                    fence: row.get(3)?,
                    running_at: row.get(4)?,
                    beat_awake: row.get(5)?,
                    lease_ms: row.get(6)?,
                    holder: from_json(row.get(7)?),
                })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let mut state = self.lock();
        let seen = |marker: &Marker| (marker.run, marker.fence, marker.running_at);
        state.first_seen.retain(|key, _| markers.iter().any(|marker| seen(marker) == *key));
        let suspects: Vec<(Marker, StaleCause)> = markers
            .into_iter()
            .filter(|marker| !locally_active.contains(&marker.run))
            .filter_map(|marker| self.verdict(&marker, &mut state).map(|cause| (marker, cause)))
            .collect();
        drop(state);
        let mut stale = Vec::new();
        for (marker, cause) in suspects {
            match self.read("sweeping", |conn| by_id(conn, marker.run))? {
                Some(run) if run.status.is_open() => stale.push(Stale {
                    fence: marker.fence,
                    cause,
                    beat: (marker.running_at, marker.beat_awake),
                    run,
                }),
                // No open run stands behind it (a ledger put together by hand): it is just freed.
                _ => self.free_orphan(&marker)?,
            }
        }
        Ok(stale)
    }

    fn verdict(&self, marker: &Marker, state: &mut State) -> Option<StaleCause> {
        let me = &self.inner.me;
        let awake = self.awake_ms();
        let here = marker
            .holder
            .as_ref()
            .filter(|holder| holder.machine == me.machine && holder.namespace == me.namespace);
        let age = if let Some(holder) = here {
            // Without boot ids, awake time that went backwards tells of a boot in between.
            let known = !holder.boot.is_empty() && !me.boot.is_empty();
            if (known && holder.boot != me.boot) || awake < marker.beat_awake {
                return Some(StaleCause::EarlierBoot);
            }
            if self.provably_gone(holder) {
                return Some(StaleCause::HolderGone);
            }
            awake - marker.beat_awake
        } else {
            let now = self.now();
            let key = (marker.run, marker.fence, marker.running_at);
            if marker.running_at > now || state.first_seen.contains_key(&key) {
                // Its clock runs ahead of ours: it ages from when we first saw this beat.
                let awake = self.inner.clock.awake();
                let first = *state.first_seen.entry(key).or_insert(awake);
                super::marker::millis(awake.saturating_sub(first))
            } else {
                now - marker.running_at
            }
        };
        (age > marker.lease_ms).then_some(StaleCause::LeaseExpired)
    }

    fn free_orphan(&self, marker: &Marker) -> Result<(), LedgerError> {
        tracing::warn!(
            project = marker.project,
            task = marker.task,
            run = marker.run,
            "a marker without an open run was freed"
        );
        self.write("freeing a marker", |tx| {
            tx.execute(
                "UPDATE marker SET running_at = NULL, beat_awake = NULL, run = NULL, \
                 holder = NULL, lease_ms = NULL WHERE run = ?1 AND fence = ?2 AND NOT EXISTS \
                 (SELECT 1 FROM run WHERE id = ?1 AND status IN ('claimed', 'running', 'blocked'))",
                [marker.run, marker.fence],
            )?;
            Ok(())
        })
    }

    /// Becomes the holder of a stale run, and returns its new fence; `None` when another process
    /// was faster or the holder gave a sign of life after all. Whoever takes over follows the run
    /// to its end and finishes it.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn take_over(&self, stale: &Stale, lease: Duration) -> Result<Option<i64>, LedgerError> {
        self.write_held("taking over", |tx| {
            let run = stale.run.id;
            let fence = self.move_marker(tx, run, stale.fence, Some(stale.beat), Some(lease))?;
            Ok((fence, fence.map(|_| (run, lease))))
        })
    }
}
