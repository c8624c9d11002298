//! What keeps a run: its heartbeat, its time limits, and the orders of other processes.
//!
//! The heartbeat is a task of its own and not part of any loop that waits for runs: it must go on
//! exactly during the long ones (seed, "per-run heartbeat").

use super::{ActiveRun, Runtime, lock};
use crate::agent::{Control, StopReason};
use crate::event::EventKind;
use crate::ledger::{self, LedgerError};
use crate::task::policy::Policy;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

/// How often orders of other processes are looked for; the holder obeys within 2 s (PROTOCOL §5).
const ORDERS: Duration = Duration::from_secs(1);

/// How far a holder may trust itself: until 95 % of its lease, counted from before its last
/// successful beat began. Awake time.
#[derive(Debug)]
pub(crate) struct Trust {
    since: Mutex<Duration>,
    superseded: std::sync::atomic::AtomicBool,
}

impl Trust {
    pub fn new(awake: Duration) -> Self {
        Trust { since: Mutex::new(awake), superseded: false.into() }
    }

    fn renew(&self, began: Duration) {
        *lock(&self.since) = began;
    }

    fn lose(&self) {
        self.superseded.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Says whether another process holds the run now.
    pub fn is_lost(&self) -> bool {
        self.superseded.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn is_stale(&self, awake: Duration, lease: Duration) -> bool {
        awake.saturating_sub(*lock(&self.since)) >= lease.mul_f64(0.95)
    }
}

/// What a heartbeat came to.
enum Beat {
    Taken,
    /// The run is not followed under this fence any more.
    Refused {
        /// Because it ended under it.
        ended_here: bool,
    },
}

/// How long a run was blocked, in awake time; its time limit stands still meanwhile.
#[derive(Debug, Default)]
pub(crate) struct BlockedTime {
    since: Mutex<Option<Duration>>,
    before: Mutex<Duration>,
}

impl BlockedTime {
    pub fn begin(&self, awake: Duration) {
        lock(&self.since).get_or_insert(awake);
    }

    pub fn end(&self, awake: Duration) {
        if let Some(since) = lock(&self.since).take() {
            *lock(&self.before) += awake.saturating_sub(since);
        }
    }

    /// Returns how long this block lasts; `None` when not blocked.
    fn lasts(&self, awake: Duration) -> Option<Duration> {
        lock(&self.since).map(|since| awake.saturating_sub(since))
    }

    fn total(&self) -> Duration {
        *lock(&self.before)
    }
}

impl Runtime {
    /// Beats until it is ended; on a lost fence it says so and stops.
    pub(super) async fn beat(self: Arc<Self>, active: Arc<ActiveRun>) {
        loop {
            tokio::time::sleep(self.settings().lease.heartbeat).await;
            if !self.beat_once(&active).await {
                return;
            }
        }
    }

    /// Beats once; `false` when another process holds the run.
    async fn beat_once(self: &Arc<Self>, active: &Arc<ActiveRun>) -> bool {
        let began = self.clock.awake();
        let (run, fence) = (active.run, active.fence);
        let beaten = self
            .blocking(move |runtime| match runtime.ledger.beat(run, fence)? {
                0 => Ok(Beat::Refused { ended_here: runtime.ledger.was_released(run, fence)? }),
                _ => Ok(Beat::Taken),
            })
            .await;
        match beaten {
            Ok(Ok(Beat::Taken)) => active.trust.renew(began),
            // Its own end: what is left of it is being written to the shared file.
            Ok(Ok(Beat::Refused { ended_here: true })) => return false,
            Ok(Ok(Beat::Refused { ended_here: false })) => {
                tracing::warn!(
                    run,
                    "another process took this run over; its result stays evidence"
                );
                active.trust.lose();
                return false;
            }
            // The ledger cannot be written now: the lease tells how long that may go on.
            Ok::<Result<_, LedgerError>, _>(Err(error)) => {
                self.ledger_trouble("a heartbeat", &error);
            }
            Err(crashed) => tracing::error!(%crashed, run, "a heartbeat failed"),
        }
        true
    }

    /// Says whether this process may still act for the run; a holder past 95 % of its lease asks
    /// the ledger first.
    pub(super) async fn may_act(self: &Arc<Self>, active: &Arc<ActiveRun>) -> bool {
        if active.trust.is_lost() {
            return false;
        }
        let lease = self.settings().lease.duration;
        if active.trust.is_stale(self.clock.awake(), lease) {
            return self.beat_once(active).await
                && !active.trust.is_stale(self.clock.awake(), lease);
        }
        true
    }

    /// Watches limits and orders until it is ended.
    pub(super) async fn keep(self: Arc<Self>, active: Arc<ActiveRun>, policy: Arc<Policy>) {
        let began = self.clock.awake();
        let mut stopped = false;
        loop {
            tokio::select! {
                () = self.stopping.cancelled(), if !stopped => {
                    stop(&active, StopReason::Shutdown).await;
                    stopped = true;
                }
                () = tokio::time::sleep(ORDERS) => {}
            }
            self.obey(&active).await;
            if stopped {
                continue;
            }
            let limits = self.settings().effective(&policy);
            let awake = self.clock.awake();
            let reason = match active.blocked.lasts(awake) {
                Some(lasts) => {
                    (lasts >= limits.blocked_timeout).then_some(StopReason::BlockedTimedOut)
                }
                None => {
                    let worked = awake.saturating_sub(began).saturating_sub(active.blocked.total());
                    (worked >= limits.timeout).then_some(StopReason::TimedOut)
                }
            };
            if let Some(reason) = reason {
                stop(&active, reason).await;
                stopped = true;
            }
        }
    }

    /// Passes on what other processes of ours ordered through the ledger.
    pub(crate) async fn obey(self: &Arc<Self>, active: &Arc<ActiveRun>) {
        let (run, fence) = (active.run, active.fence);
        let orders = self.blocking(move |runtime| runtime.ledger.take_controls(run, fence)).await;
        match orders {
            Ok(Ok(orders)) => {
                for order in orders {
                    self.pass_on(active, order).await;
                }
            }
            Ok(Err(error)) => tracing::debug!(%error, run, "no orders could be read"),
            Err(crashed) => tracing::error!(%crashed, run, "looking for orders failed"),
        }
    }

    /// Passes one order on to the agent.
    pub(super) async fn pass_on(self: &Arc<Self>, active: &Arc<ActiveRun>, order: ledger::Control) {
        match order {
            ledger::Control::Cancel => stop(active, StopReason::Cancelled).await,
            ledger::Control::Answer { ask, answer } => {
                let control =
                    Control::Answer { ask_id: ask, answer: super::journal::answer_of(answer) };
                if active.controls.send(control).await.is_err() {
                    tracing::debug!(run = active.run, "an answer came after the run ended");
                }
                self.emit(EventKind::RunChanged, Some(&active.task), Some(active.run));
            }
        }
    }
}

async fn stop(active: &ActiveRun, reason: StopReason) {
    // The agent may have ended meanwhile; then there is nothing to stop.
    let _ = active.controls.send(Control::Stop { reason }).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_distrusts_itself_before_others_may_take_over() {
        let lease = Duration::from_secs(600);
        let trust = Trust::new(Duration::from_secs(1000));
        assert!(!trust.is_stale(Duration::from_secs(1569), lease), "94.8 % of the lease");
        assert!(trust.is_stale(Duration::from_secs(1570), lease), "95 % of the lease");
        trust.renew(Duration::from_secs(1500));
        assert!(!trust.is_stale(Duration::from_secs(1570), lease), "a beat renews it");
    }

    #[test]
    fn the_time_limit_stands_still_while_blocked() {
        let blocked = BlockedTime::default();
        blocked.begin(Duration::from_secs(10));
        blocked.begin(Duration::from_secs(20));
        assert_eq!(blocked.lasts(Duration::from_secs(30)), Some(Duration::from_secs(20)), "first");
        blocked.end(Duration::from_secs(40));
        assert_eq!(blocked.lasts(Duration::from_secs(50)), None, "answered");
        assert_eq!(blocked.total(), Duration::from_secs(30), "what was waited in all");
    }
}
