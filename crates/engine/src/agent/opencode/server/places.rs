//! What the processes of a data folder share of a server: its file, the lock, where the rest lies.

use super::{LOOK, USER, log};
use crate::agent::opencode::AgentError;
use crate::agent::opencode::client::Client;
use crate::host::{Liveness, ProcessId};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// What `opencode.json` says.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerFile {
    pub(super) url: String,
    pub(super) password: String,
    pub(super) process: ProcessId,
    /// Wall time, ms since 1970.
    pub(super) started_at: i64,
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

    pub(super) fn file(&self) -> PathBuf {
        self.own.join("opencode.json")
    }

    fn lock(&self) -> PathBuf {
        self.own.join("locks").join("opencode.lock")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.own.join("log").join("opencode.log")
    }

    /// Where the server stands: an empty folder, so that it takes no project for its own.
    pub(super) fn stand(&self) -> PathBuf {
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

    pub(super) fn write(&self, server: &ServerFile) -> Result<(), AgentError> {
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
    pub(super) async fn take_lock(&self, limit: Duration) -> Result<File, AgentError> {
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
        log::tail(&self.log(), lines)
    }
}
