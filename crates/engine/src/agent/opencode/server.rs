//! The OpenCode server of a data folder: one for all processes, found by `opencode.json`, started
//! and ended under an OS lock (PROTOCOL §5).
//!
//! It is started in a group of its own and outlives its starter. Its output goes to a file, not
//! through us, for the same reason. A server that is not ours is never ended.

use super::AgentError;
use super::client::{CallError, Client};
use crate::agent::config::AgentsConfig;
use crate::agent::process;
use crate::clock::Clock;
use crate::host::{Liveness, ProcessId};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The name that our servers want in Basic authentication: OpenCode's own default.
pub(crate) const USER: &str = "opencode";
/// How often a lock or a starting server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// The longest log that a running server may write before it is cut, in bytes.
const LOG_LIMIT: u64 = 4 * 1024 * 1024;
/// A server that lives this long and still does not answer is replaced.
const STUCK_AFTER_MS: i64 = 120_000;
/// The longest wait between two starts that failed.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// What `opencode.json` says.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerFile {
    pub(crate) url: String,
    pub(crate) password: String,
    pub(crate) process: ProcessId,
    /// Wall time, ms since 1970.
    pub(crate) started_at: i64,
    /// Empty until it first answered.
    #[serde(default)]
    pub(crate) version: String,
}

/// Where everything about our server lies.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    own: PathBuf,
}

impl Places {
    pub(crate) fn new(own: &Path) -> Self {
        Places { own: own.to_owned() }
    }

    fn file(&self) -> PathBuf {
        self.own.join("opencode.json")
    }

    fn lock(&self) -> PathBuf {
        self.own.join("locks").join("opencode.lock")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.own.join("log").join("opencode.log")
    }

    /// Where the server stands: an empty folder, so that it takes no project for its own.
    fn stand(&self) -> PathBuf {
        self.own.join("run").join("opencode")
    }

    /// Reads the file; `None` when there is none or when it is damaged (it is then replaced).
    pub(crate) fn read(&self) -> Option<ServerFile> {
        serde_json::from_slice(&std::fs::read(self.file()).ok()?).ok()
    }

    /// Returns the server as it is, without starting one; `None` when none lives.
    pub(crate) fn running(&self, http: &reqwest::Client) -> Option<Client> {
        let server = self.read()?;
        if server.process.liveness() == Liveness::Dead {
            return None;
        }
        Some(Client::new(http.clone(), &server.url, USER, Some(&server.password)))
    }

    fn write(&self, server: &ServerFile) -> Result<(), AgentError> {
        let path = self.file();
        let failed = |error: &dyn std::fmt::Display| AgentError::File {
            path: path.clone(),
            cause: error.to_string(),
        };
        let text = serde_json::to_vec_pretty(server).map_err(|error| failed(&error))?;
        // Temporary files of this kind are 0600 from the start.
        let mut temporary =
            tempfile::NamedTempFile::new_in(&self.own).map_err(|error| failed(&error))?;
        temporary.write_all(&text).map_err(|error| failed(&error))?;
        temporary.persist(&path).map_err(|error| failed(&error))?;
        Ok(())
    }

    fn make_folders(&self) -> Result<(), AgentError> {
        for folder in [self.own.join("locks"), self.own.join("log"), self.stand()] {
            std::fs::create_dir_all(&folder)
                .map_err(|error| AgentError::File { path: folder, cause: error.to_string() })?;
        }
        Ok(())
    }

    /// Waits for the lock under which servers are looked for, started and ended.
    async fn take_lock(&self, limit: Duration) -> Result<File, AgentError> {
        self.make_folders()?;
        let path = self.lock();
        let failed = |cause: String| AgentError::File { path: path.clone(), cause };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| failed(error.to_string()))?;
        let end = Instant::now() + limit;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
                Err(TryLockError::WouldBlock) if Instant::now() >= end => {
                    return Err(failed("another process has held it for too long".to_owned()));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Returns the last lines of the server's log.
    pub(crate) fn log_tail(&self, lines: usize) -> Vec<String> {
        // Lines of a log are longer than those of a book, and none may cost without bound.
        let most = u64::try_from(lines).unwrap_or(u64::MAX).saturating_mul(512);
        let most = most.clamp(16 * 1024, 1024 * 1024);
        let Ok(mut file) = File::open(self.log()) else { return Vec::new() };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(length.saturating_sub(most))).is_err()
            || file.take(most).read_to_end(&mut bytes).is_err()
        {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

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
        let candidates = &self.config.opencode.binaries;
        let binary = candidates
            .iter()
            .find(|path| is_program(path))
            .ok_or_else(|| AgentError::Missing { looked: candidates.clone() })?;
        let port = free_port().map_err(|error| AgentError::Start { cause: error.to_string() })?;
        let password = new_password();
        let url = format!("http://127.0.0.1:{port}");
        let process = self.spawn(binary, port, &password)?;
        let server = ServerFile {
            url: url.clone(),
            password,
            process,
            started_at: self.clock.now_ms(),
            version: String::new(),
        };
        if let Err(error) = self.places.write(&server) {
            // A server that nobody can find again must not stay.
            process::end_group(server.process.pid).await;
            return Err(error);
        }
        let client = Client::new(http.clone(), &url, USER, Some(&server.password));
        self.wait_ready(&client, &server, ready).await?;
        Ok(client)
    }

    fn spawn(&self, binary: &Path, port: u16, password: &str) -> Result<ProcessId, AgentError> {
        let failed = |cause: String| AgentError::Start {
            cause: format!("{} could not be started: {cause}", binary.display()),
        };
        let log = self.open_log().map_err(|error| failed(error.to_string()))?;
        let again = log.try_clone().map_err(|error| failed(error.to_string()))?;
        let mut command = tokio::process::Command::new(binary);
        command
            .args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()])
            .current_dir(self.places.stand())
            .envs(self.config.environment.iter().map(|(name, value)| (name, value)))
            .env("OPENCODE_SERVER_PASSWORD", password)
            .env_remove("OPENCODE_SERVER_USERNAME")
            .stdin(Stdio::null())
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(again))
            .kill_on_drop(false);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let pid = child.id().ok_or_else(|| failed("it ended at once".to_owned()))?;
        let process = ProcessId::of(pid);
        // Somebody has to take note of its end, or it stays a zombie.
        tokio::spawn(async move {
            let _ = child.wait().await;
        });
        Ok(process)
    }

    /// Opens the log for one more start; a long one becomes `opencode.log.1`.
    fn open_log(&self) -> std::io::Result<File> {
        let path = self.places.log();
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LOG_LIMIT / 4) {
            let _ = std::fs::rename(&path, path.with_extension("log.1"));
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
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
        // The server appends, so a log that is cut goes on from its beginning.
        let log = self.places.log();
        if std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > LOG_LIMIT) {
            let cut = OpenOptions::new().write(true).open(&log).and_then(|file| file.set_len(0));
            if let Err(error) = cut {
                tracing::warn!(%error, "OpenCode's log was not cut");
            }
        }
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
        let lived = server.process.liveness() == Liveness::Alive;
        if lived {
            process::end_group(server.process.pid).await;
        }
        let path = self.places.file();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(AgentError::File { path, cause: error.to_string() })
            }
            _ => Ok(lived),
        }
    }
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    metadata.is_file() && executable
}

fn free_port() -> std::io::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

/// Makes a password nobody can guess: 32 bytes of the system's randomness, as hex.
fn new_password() -> String {
    use sha2::{Digest, Sha256};
    use std::hash::{BuildHasher, Hasher};
    let mut bytes = [0u8; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    let mut digest = Sha256::new();
    digest.update(bytes);
    if read.is_err() {
        // Every thread's hasher is keyed with 16 bytes of the system's randomness.
        for _ in 0..4 {
            let keyed = std::thread::spawn(|| {
                std::collections::hash_map::RandomState::new().build_hasher().finish()
            });
            digest.update(keyed.join().unwrap_or_default().to_le_bytes());
            let here = std::collections::hash_map::RandomState::new().build_hasher().finish();
            digest.update(here.to_le_bytes());
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

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

    #[test]
    fn passwords_differ() {
        assert_ne!(new_password(), new_password());
        assert_eq!(new_password().len(), 64);
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
}
