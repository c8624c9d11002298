//! OpenCode: attached to, or started, and followed to the real end of a run.
//!
//! A prompt that was accepted is not a run that ended: OpenCode answers 204 to almost everything,
//! also for a model that does not exist. So a run is checked before it is sent, its session is
//! stored before the prompt goes out, and then its end is looked for by events *and* by polling
//! ([`follow`]), and read from the session's messages ([`judge`]).
//!
//! The way there: [`endpoint`] says which server is meant, [`server`] starts ours, [`connect`]
//! reaches either, and [`retry`] says how long that is tried. One run: [`check`], [`send`],
//! [`follow`], and [`goals`] for the turns after the first. What is shown of all this is in [`info`].

mod asks;
mod check;
mod client;
mod connect;
mod endpoint;
mod error;
mod events;
#[cfg(test)]
mod fake;
mod follow;
mod goals;
mod info;
mod judge;
#[cfg(test)]
mod recorded;
mod retry;
mod send;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub use error::AgentError;
pub use info::{AgentInfo, CommandInfo, ModelInfo, OpencodeHealth, ProviderInfo};

use super::config::AgentsConfig;
use super::job::{EndReason, Job, Outcome};
use super::journal::{Inbox, Journal};
use crate::clock::Clock;
use retry::Patience;
use server::{OwnServer, Places};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The line of versions that everything here was tried with.
const TRIED: &str = "1.18.";

/// How long things are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Between two looks, whatever the events say.
    pub(crate) poll: Duration,
    /// How long "not busy" must hold before an unfinished turn counts as over.
    pub(crate) settle: Duration,
    /// The same for a prompt whose answer has not begun.
    pub(crate) begin: Duration,
    /// How long a prompt that nobody has seen may take to be seen.
    pub(crate) appear: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            poll: Duration::from_secs(2),
            settle: Duration::from_secs(1),
            begin: Duration::from_secs(5),
            appear: Duration::from_secs(30),
        }
    }
}

/// The way to OpenCode.
#[derive(Debug)]
pub struct Opencode {
    config: Arc<AgentsConfig>,
    clock: Arc<dyn Clock>,
    /// The client, and whether it can do TLS.
    http: Mutex<Option<(bool, reqwest::Client)>>,
    places: Places,
    /// Held while a server is looked for; what only looks at it goes by `places`.
    own: tokio::sync::Mutex<OwnServer>,
    in_use: Arc<AtomicUsize>,
    warned: Mutex<Option<String>>,
    pub(crate) timing: Timing,
}

/// Counts one use of OpenCode as long as it lives.
struct InUse(Arc<AtomicUsize>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Opencode {
    pub(crate) fn new(config: Arc<AgentsConfig>, clock: Arc<dyn Clock>) -> Self {
        let places = Places::new(&config.own);
        let own = OwnServer::new(Arc::clone(&config), places.clone(), Arc::clone(&clock));
        Opencode {
            config,
            clock,
            http: Mutex::new(None),
            places,
            own: tokio::sync::Mutex::new(own),
            in_use: Arc::default(),
            warned: Mutex::new(None),
            timing: Timing::default(),
        }
    }

    fn using(&self) -> InUse {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(&self.in_use))
    }

    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Runs a job to its end.
    pub(crate) async fn run(
        &self,
        job: &Job,
        directory: &Path,
        prompt: &str,
        journal: &dyn Journal,
        inbox: &mut Inbox,
    ) -> Outcome {
        let _used = self.using();
        let ready = tokio::select! {
            biased;
            reason = inbox.stopped() => return super::stopped(reason, &[]),
            ready = self.prepare(job, directory, journal) => ready,
        };
        match ready {
            Ok(ready) => send::send_and_follow(self, job, prompt, ready, journal, inbox).await,
            Err(outcome) => *outcome,
        }
    }

    async fn prepare(
        &self,
        job: &Job,
        directory: &Path,
        journal: &dyn Journal,
    ) -> Result<send::Ready, Box<Outcome>> {
        let directory = real_path(directory)
            .map_err(|error| Box::new(Outcome::failed(EndReason::BadFolder, error)))?;
        let mut patience = Patience::new(self.config.opencode.patience);
        loop {
            let error = match self.connect().await {
                Err(error) => error,
                Ok(client) => match check::check(&client, &directory, &job.execution).await {
                    Ok(checked) => return checked.map(|()| send::Ready { client, directory }),
                    Err(error) => AgentError::from_call(&client, &error),
                },
            };
            let waited = patience.after(error, journal).await;
            waited.map_err(|error| Box::new(unreachable_outcome(&error)))?;
        }
    }

    /// Follows a session that another process made, to its end.
    pub(crate) async fn follow(
        &self,
        job: &Job,
        directory: &Path,
        session: &str,
        journal: &dyn Journal,
        inbox: &mut Inbox,
    ) -> Outcome {
        let _used = self.using();
        // The folder may be gone by now; the session still has an end.
        let directory =
            real_path(directory).unwrap_or_else(|_| directory.to_string_lossy().into_owned());
        send::take_over(self, job, session, directory, journal, inbox).await
    }

    pub(crate) async fn is_busy(&self, session_id: &str, directory: &Path) -> Option<bool> {
        let (client, _) = self.present().await.ok()??;
        let directory =
            real_path(directory).unwrap_or_else(|_| directory.to_string_lossy().into_owned());
        let statuses = client.statuses(&directory).await.ok()?;
        Some(statuses.contains_key(session_id))
    }

    pub(crate) async fn end_server(
        &self,
        unused: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<bool, AgentError> {
        let own = self.own.lock().await;
        if self.in_use() > 0 {
            return Ok(false);
        }
        own.end(unused).await
    }
}

fn real_path(path: &Path) -> Result<String, String> {
    let real = std::fs::canonicalize(path)
        .map_err(|error| format!("The folder {} cannot be used: {error}", path.display()))?;
    real.into_os_string().into_string().map_err(|_| {
        format!(
            "The folder {} has a name that OpenCode cannot take: it is no UTF-8.",
            path.display()
        )
    })
}

fn unreachable_outcome(error: &AgentError) -> Outcome {
    Outcome::failed(EndReason::Unreachable, format!("{error} Nothing was sent."))
}
