//! What tests may do to an engine that no surface may.

use super::{Engine, EngineOptions, Result};
use crate::clock::Clock;
use crate::host::ProcessId;
use crate::ledger::Ledger;
use crate::project::Probe;
use crate::runtime::lock;
use crate::task::TaskKey;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where an engine sits that plays a process of its own.
pub struct Seat {
    /// Who it is for its ledger.
    pub me: ProcessId,
    /// How long it waits for a project's lock (real time).
    pub wait: Duration,
    /// Called at each step of a change of a shared file.
    pub probe: Probe,
    /// Cuts off everything it does, as a kill does.
    pub cut: CancellationToken,
}

impl Engine {
    /// Opens an engine at a seat.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub async fn open_at(options: EngineOptions, seat: Seat) -> Result<Engine> {
        let Seat { me, wait, probe, cut } = seat;
        let place = move |folder: crate::project::Folder| {
            let mut folder = folder.with_wait(wait);
            folder.probe = Some(probe);
            folder
        };
        Engine::open_as(options, me, place, cut).await
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.runtime().ledger
    }

    /// Lets every look at one task fail; `None` ends it.
    pub fn upset(&self, task: Option<&TaskKey>) {
        *lock(&self.runtime().upset) = task.cloned();
    }

    /// Returns when everything was looked after last, in ms of awake time; 0 before the first round.
    pub fn last_round(&self) -> i64 {
        self.runtime().last_round.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns the clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.runtime().clock)
    }
}
