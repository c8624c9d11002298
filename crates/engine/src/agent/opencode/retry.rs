//! What fails in passing is tried again: a call for seconds, the way to a server for minutes.

use super::AgentError;
use super::client::CallError;
use crate::agent::journal::{self, Journal, StepKind};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// How often a call that may work in a moment is made.
const TRIES: u32 = 4;

/// Makes a call again while it fails in passing.
pub(super) async fn patiently<T, F: Future<Output = Result<T, CallError>>>(
    mut call: impl FnMut() -> F,
) -> Result<T, CallError> {
    let mut tries = 0;
    loop {
        match call().await {
            Err(error) if error.is_passing() && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(250 * u64::from(tries))).await;
            }
            done => return done,
        }
    }
}

/// Tries again for a while, with growing pauses; what cannot change by waiting fails at once.
pub(super) struct Patience {
    end: Instant,
    wait: Duration,
    told: String,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let (wait, told) = (Duration::from_millis(500), String::new());
        Patience { end: Instant::now() + limit, wait, told }
    }

    /// Waits after a failed attempt.
    ///
    /// # Errors
    /// Returns the error when there is no point in a further attempt.
    pub(super) async fn after(
        &mut self,
        error: AgentError,
        journal: &dyn Journal,
    ) -> Result<(), AgentError> {
        if !error.is_passing() || Instant::now() + self.wait >= self.end {
            return Err(error);
        }
        let text = error.to_string();
        if self.told != text {
            journal::note(journal.step(StepKind::Waiting, &text).await);
            self.told = text;
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(Duration::from_secs(10));
        Ok(())
    }
}
