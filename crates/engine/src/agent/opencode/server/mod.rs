//! The OpenCode server of a data folder: one for all processes, found by `opencode.json`, started
//! and ended under an OS lock (PROTOCOL §5).
//!
//! It is started in a group of its own and outlives its starter. Its output goes to a file, not
//! through us, for the same reason. A server that is not ours is never ended.

mod log;
mod places;
mod spawn;

pub(crate) use places::Places;
pub(super) use spawn::program;

use super::AgentError;
use super::client::{CallError, Client};
use crate::agent::config::AgentsConfig;
use crate::agent::process;
use crate::clock::Clock;
use crate::host::Liveness;
use places::ServerFile;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The name that our servers want in Basic authentication: OpenCode's own default.
pub(super) const USER: &str = "opencode";
/// How often a lock or a starting server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A server that lives this long and still does not answer is replaced.
const STUCK_AFTER_MS: i64 = 120_000;
/// The longest wait between two starts that failed.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// Keeps this process's view of the server.
#[derive(Debug)]
pub(crate) struct OwnServer {
    places: Places,
    config: Arc<AgentsConfig>,
    clock: Arc<dyn Clock>,
    failures: u32,
    /// No start is tried before this.
    not_before: Option<(Instant, String)>,
}

impl OwnServer {
    pub(crate) fn new(config: Arc<AgentsConfig>, places: Places, clock: Arc<dyn Clock>) -> Self {
        OwnServer { places, config, clock, failures: 0, not_before: None }
    }

    /// Returns the running server, or starts one: one attempt of at most `ready_timeout`.
    pub(crate) async fn ensure(&mut self, http: &reqwest::Client) -> Result<Client, AgentError> {
        let ready = self.config.opencode.ready_timeout;
        let _lock = self.places.take_lock(ready * 2 + Duration::from_secs(10)).await?;
        if let Some(server) = self.places.read() {
            let client = Client::new(http.clone(), &server.url, USER, Some(&server.password));
            match server.process.liveness() {
                Liveness::Dead => {}
                // A server of another machine or container may well be reachable.
                Liveness::Unknown if client.health().await.is_err() => {}
                Liveness::Alive | Liveness::Unknown => {
                    match self.wait_ready(&client, &server, ready).await {
                        Ok(()) => return Ok(client),
                        Err(error) if self.is_stuck(&server) => {
                            tracing::warn!(%error, "OpenCode does not answer and is replaced");
                            process::end_group(server.process.pid).await;
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        self.start(http, ready).await
    }

    fn is_stuck(&self, server: &ServerFile) -> bool {
        let age = self.clock.now_ms().saturating_sub(server.started_at);
        server.process.liveness() == Liveness::Alive && age > STUCK_AFTER_MS
    }

    async fn start(
        &mut self,
        http: &reqwest::Client,
        ready: Duration,
    ) -> Result<Client, AgentError> {
        if let Some((until, cause)) = &self.not_before
            && Instant::now() < *until
        {
            return Err(AgentError::Start { cause: cause.clone() });
        }
        let started = self.spawn_and_wait(http, ready).await;
        match &started {
            Ok(_) => {
                self.failures = 0;
                self.not_before = None;
            }
            Err(error) => {
                self.failures += 1;
                let wait = Duration::from_secs(1 << self.failures.min(6)).min(LONGEST_BACKOFF);
                self.not_before = Some((Instant::now() + wait, error.to_string()));
            }
        }
        started
    }

    async fn spawn_and_wait(
        &self,
        http: &reqwest::Client,
        ready: Duration,
    ) -> Result<Client, AgentError> {
        let server = spawn::spawn(&self.config, &self.places, &*self.clock)?;
        if let Err(error) = self.places.write(&server) {
            // A server that nobody can find again must not stay.
            process::end_group(server.process.pid).await;
            return Err(error);
        }
        let client = Client::new(http.clone(), &server.url, USER, Some(&server.password));
        self.wait_ready(&client, &server, ready).await?;
        Ok(client)
    }

    /// Waits until a server answers; each look is a new connection with its own short limit.
    async fn wait_ready(
        &self,
        client: &Client,
        server: &ServerFile,
        limit: Duration,
    ) -> Result<(), AgentError> {
        let end = Instant::now() + limit;
        loop {
            let error = match client.health().await {
                Ok(health) if health.healthy => {
                    self.note_answer(server, &health.version);
                    return Ok(());
                }
                Ok(_) => "it says that it is not healthy".to_owned(),
                Err(CallError::Denied) => {
                    // Another program got this port after ours had ended.
                    return Err(AgentError::Denied { url: client.base().to_owned() });
                }
                Err(error) => error.to_string(),
            };
            if server.process.liveness() == Liveness::Dead {
                let log = self.places.log_tail(3).join(" ");
                return Err(AgentError::Start {
                    cause: format!(
                        "it ended at once. Its last words: {log} (all of them in {})",
                        self.places.log().display()
                    ),
                });
            }
            if Instant::now() >= end {
                return Err(AgentError::Unreachable {
                    url: client.base().to_owned(),
                    cause: format!("it did not get ready within {} s: {error}", limit.as_secs()),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Notes a version that was not known, and keeps the log short.
    fn note_answer(&self, server: &ServerFile, version: &str) {
        if server.version != version {
            let noted = ServerFile { version: version.to_owned(), ..server.clone() };
            if let Err(error) = self.places.write(&noted) {
                tracing::warn!(%error, "the version of OpenCode was not noted");
            }
        }
        log::keep_short(&self.places.log());
    }

    /// Ends the server if `unused` says so while the lock is held.
    pub(crate) async fn end(
        &self,
        unused: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<bool, AgentError> {
        let _lock = self.places.take_lock(Duration::from_secs(10)).await?;
        let Some(server) = self.places.read() else { return Ok(false) };
        // It may ask the ledger, which blocks.
        if !tokio::task::spawn_blocking(unused).await.unwrap_or(false) {
            return Ok(false);
        }
        let lived = match server.process.liveness() {
            Liveness::Alive => {
                process::end_group(server.process.pid).await;
                true
            }
            Liveness::Dead => false,
            // It may live on another machine or in another container, and is found by this file.
            Liveness::Unknown => return Ok(false),
        };
        let path = self.places.file();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(AgentError::File { path, cause: error.to_string() })
            }
            _ => Ok(lived),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::host::ProcessId;
    use std::path::{Path, PathBuf};

    fn config(own: &Path, binary: Option<PathBuf>) -> Arc<AgentsConfig> {
        Arc::new(AgentsConfig {
            opencode: crate::agent::OpencodeConfig {
                binaries: binary.into_iter().collect(),
                ready_timeout: Duration::from_secs(10),
                ..Default::default()
            },
            commands: Default::default(),
            own: own.to_owned(),
            opencode_config: own.to_owned(),
            environment: Vec::new(),
        })
    }

    #[tokio::test]
    async fn a_missing_program_is_said_so() {
        let own = tempfile::tempdir().expect("a folder");
        let mut server = OwnServer::new(
            config(own.path(), Some(own.path().join("nowhere/opencode"))),
            Places::new(own.path()),
            Arc::new(SystemClock),
        );
        let http = super::super::client::http(false).expect("a client");
        let error = server.ensure(&http).await.expect_err("nothing to start");
        assert!(matches!(error, AgentError::Missing { .. }), "{error}");
        assert!(error.to_string().contains("nowhere/opencode"), "it says where it looked");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_ends_at_once_is_not_tried_again_at_once() {
        use std::os::unix::fs::PermissionsExt;
        let own = tempfile::tempdir().expect("a folder");
        let binary = own.path().join("opencode");
        std::fs::write(
            &binary,
            "#!/bin/sh\necho x >> \"$0.count\"\necho no libc here >&2\nexit 1\n",
        )
        .expect("written");
        std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).expect("set");
        let mut server = OwnServer::new(
            config(own.path(), Some(binary.clone())),
            Places::new(own.path()),
            Arc::new(SystemClock),
        );
        let http = super::super::client::http(false).expect("a client");
        let error = server.ensure(&http).await.expect_err("it ended");
        assert!(error.to_string().contains("no libc here"), "its last words are shown: {error}");
        server.ensure(&http).await.expect_err("backing off");
        let starts = std::fs::read_to_string(binary.with_extension("count")).expect("counted");
        assert_eq!(starts.lines().count(), 1, "the second attempt waits for its turn");
        let mode = std::fs::metadata(own.path().join("opencode.json")).expect("written");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "it holds a password");
    }

    #[tokio::test]
    async fn the_end_of_a_server_asks_first() {
        let own = tempfile::tempdir().expect("a folder");
        let server = OwnServer::new(
            config(own.path(), None),
            Places::new(own.path()),
            Arc::new(SystemClock),
        );
        assert!(!server.end(|| true).await.expect("nothing there"));
        let mut gone = ProcessId::current().clone();
        gone.started += 1;
        let file = ServerFile {
            url: "http://127.0.0.1:1".into(),
            password: "p".into(),
            process: gone,
            started_at: 0,
            version: String::new(),
        };
        server.places.write(&file).expect("written");
        assert!(!server.end(|| false).await.expect("in use"));
        assert!(server.places.read().is_some(), "somebody still needs it");
        assert!(!server.end(|| true).await.expect("dead"), "it was dead already");
        assert!(server.places.read().is_none(), "its file is gone");
    }

    /// The file of a server of another container was removed, and with it the only way to that server.
    #[tokio::test]
    async fn a_server_that_may_live_elsewhere_keeps_its_file() {
        let own = tempfile::tempdir().expect("a folder");
        let server = OwnServer::new(
            config(own.path(), None),
            Places::new(own.path()),
            Arc::new(SystemClock),
        );
        let mut foreign = ProcessId::current().clone();
        foreign.namespace = "pid:[1]".to_owned();
        let file = ServerFile {
            url: "http://127.0.0.1:1".into(),
            password: "p".into(),
            process: foreign,
            started_at: 0,
            version: String::new(),
        };
        server.places.write(&file).expect("written");
        assert!(!server.end(|| true).await.expect("asked"), "nobody here can end it");
        assert!(server.places.read().is_some(), "those who can reach it must find it");
    }
}
