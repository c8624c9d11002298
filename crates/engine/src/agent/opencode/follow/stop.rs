//! A session stopped for good: aborted, what it waits for rejected, and watched until it is idle.

use super::{CONFIRM, Follower};
use crate::agent::job::{EndReason, Ended, Outcome};
use crate::agent::journal::StopReason;
use crate::agent::opencode::judge::{Seen, look};
use std::time::Duration;
use tokio::time::Instant;

/// How long a stopped session may take to become idle.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How long a stopped session without an ended turn must stay idle. An abort that comes before a
/// turn has begun stops nothing, and the turn then begins.
const STOP_SETTLE: Duration = Duration::from_secs(2);

impl Follower<'_> {
    /// Stops the session: aborts it, and rejects what it waits for, which an abort leaves pending.
    pub(crate) async fn stop(&mut self, reason: StopReason) -> Outcome {
        if reason == StopReason::Shutdown {
            return self.with_session(Outcome::new(Ended::LeftRunning));
        }
        let asks = self.asks.clone();
        let aborted = self.client.abort(&self.session, &self.directory).await;
        if let Err(error) = &aborted
            && reason == StopReason::TimedOut
            && error.is_passing()
        {
            return self.with_session(Outcome::lost(
                EndReason::Unreachable,
                format!(
                    "The run's time is over, and OpenCode does not answer ({error}), so nobody knows what became of it. Look at the session in OpenCode."
                ),
            ));
        }
        self.wait_idle().await;
        self.reject_pending().await;
        let mut outcome = crate::agent::stopped(reason, &asks);
        if let Err(error) = aborted {
            let text = outcome.error.unwrap_or_default();
            outcome.error = Some(format!(
                "{text} The session could not be stopped ({error}): it may still be running in OpenCode."
            ));
        }
        self.with_usage(outcome).await
    }

    /// Waits until nothing of an aborted turn goes on, and aborts again what began since.
    async fn wait_idle(&mut self) {
        let end = Instant::now() + STOP_LIMIT;
        let mut idle_since: Option<Instant> = None;
        while Instant::now() < end {
            self.reject_pending().await;
            let statuses = self.client.statuses(&self.directory).await;
            match statuses {
                Ok(statuses) if !statuses.contains_key(&self.session) => {
                    let now = Instant::now();
                    let since = *idle_since.get_or_insert(now);
                    if now - since >= STOP_SETTLE || self.has_ended().await {
                        return;
                    }
                }
                Ok(_) => {
                    idle_since = None;
                    let _ = self.client.abort(&self.session, &self.directory).await;
                }
                Err(_) => idle_since = None,
            }
            tokio::time::sleep(CONFIRM).await;
        }
    }

    /// Says whether the turn is over for good: its request has answered, and its messages say so.
    async fn has_ended(&mut self) -> bool {
        if self.sending.as_ref().is_some_and(|sending| !sending.is_finished()) {
            return false;
        }
        let messages = self.client.messages(&self.session, &self.directory).await;
        messages
            .is_ok_and(|messages| matches!(look(&messages, self.before.as_deref()), Seen::Ended(_)))
    }
}
