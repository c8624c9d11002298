//! Telling a running peer that the shared file changed: it watches no files, and looks again when
//! its list is asked for. Best effort, loopback only, never required (PROTOCOL §8).

use crate::clock::Clock;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How rarely one project's list is asked for, in awake time.
const EVERY: Duration = Duration::from_secs(30);
/// The peer loses a slot when it looks shortly before it: from so long before …
const BEFORE_MS: i64 = 10_000;
/// … to so long after a slot it is left alone.
const AFTER_MS: i64 = 5_000;
const ANSWER: Duration = Duration::from_secs(3);

/// What became of a nudge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nudged {
    /// So many running peers were asked to look again.
    Asked(usize),
    /// One of the project's slots is too near; try again once it is over.
    NearSlot,
    /// The project's list was asked for less than 30 s ago; try again later.
    TooSoon,
}

/// Nudges the peers that run on a data folder; cheap to clone.
#[derive(Debug, Clone)]
pub struct Nudger {
    run_dir: PathBuf,
    clock: Arc<dyn Clock>,
    client: reqwest::Client,
    last: Arc<Mutex<HashMap<String, Duration>>>,
}

/// What a peer notes of itself in `run/openchamber-<port>.json`.
#[derive(Debug, Deserialize)]
struct Running {
    port: u16,
    #[serde(default)]
    host: Option<String>,
}

impl Nudger {
    /// Prepares nudging for a data folder.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(data: &Path, clock: Arc<dyn Clock>) -> Result<Nudger, reqwest::Error> {
        let client = crate::http::client()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ANSWER)
            .build()?;
        Ok(Nudger { run_dir: data.join("run"), clock, client, last: Arc::default() })
    }

    /// Asks running peers to look at a project again. `slot_between(from, until)` says whether a
    /// task of the project has a slot there (ms of wall time, both ends included).
    pub async fn nudge(&self, project_id: &str, slot_between: impl Fn(i64, i64) -> bool) -> Nudged {
        let now = self.clock.now_ms();
        if slot_between(now - AFTER_MS, now + BEFORE_MS) {
            return Nudged::NearSlot;
        }
        let awake = self.clock.awake();
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.get(project_id).is_some_and(|last| awake.saturating_sub(*last) < EVERY) {
                return Nudged::TooSoon;
            }
            last.insert(project_id.to_owned(), awake);
        }
        let run_dir = self.run_dir.clone();
        let bases = tokio::task::spawn_blocking(move || running(&run_dir)).await;
        let mut asked = 0;
        for base in bases.unwrap_or_default() {
            let Ok(mut url) = reqwest::Url::parse(&base) else { continue };
            if let Ok(mut path) = url.path_segments_mut() {
                path.extend(["api", "projects", project_id, "scheduled-tasks"]);
            }
            match self.client.get(url).send().await {
                Ok(_) => asked += 1,
                Err(error) => tracing::debug!(%base, %error, "the peer did not answer"),
            }
        }
        Nudged::Asked(asked)
    }
}

/// Finds the addresses of peers that say they run here, on loopback.
fn running(run_dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(run_dir) else { return Vec::new() };
    let named = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("openchamber-") && name.ends_with(".json")
    });
    let noted = named.filter_map(|entry| {
        let bytes = std::fs::read(entry.path()).ok()?;
        let Running { port, host } = serde_json::from_slice(&bytes).ok()?;
        loopback(host.as_deref()).map(|host| format!("http://{host}:{port}"))
    });
    noted.collect()
}

/// Returns the loopback address that reaches a host; `None` for one that is bound elsewhere.
fn loopback(host: Option<&str>) -> Option<&'static str> {
    match host.unwrap_or("127.0.0.1") {
        "127.0.0.1" | "localhost" | "0.0.0.0" | "" => Some("127.0.0.1"),
        "::1" | "::" | "[::1]" => Some("[::1]"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_running_peer_is_asked_once_and_never_near_a_slot() {
        let data = tempfile::tempdir().expect("a folder");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = listener.local_addr().expect("bound").port();
        let peer = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("asked");
            let mut request = vec![0; 1024];
            let length = socket.read(&mut request).await.expect("readable");
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.expect("sent");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let run = data.path().join("run");
        std::fs::create_dir(&run).expect("created");
        let note = format!("{{\"port\":{port},\"host\":\"127.0.0.1\"}}");
        std::fs::write(run.join(format!("openchamber-{port}.json")), note).expect("written");
        let elsewhere = r#"{"port":9,"host":"192.0.2.1"}"#;
        std::fs::write(run.join("openchamber-9.json"), elsewhere).expect("written");

        let nudger = Nudger::new(data.path(), Arc::new(SystemClock)).expect("a client");
        assert_eq!(nudger.nudge("p 1", |_, _| true).await, Nudged::NearSlot, "a slot is near");
        assert_eq!(nudger.nudge("p 1", |_, _| false).await, Nudged::Asked(1), "loopback only");
        let request = peer.await.expect("answered");
        assert!(request.starts_with("GET /api/projects/p%201/scheduled-tasks "), "{request}");
        assert_eq!(nudger.nudge("p 1", |_, _| false).await, Nudged::TooSoon, "once in 30 s");
    }
}
