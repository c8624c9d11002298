//! The event stream of one directory, kept open: reconnected when it ends or falls silent.
//!
//! There are no event ids, so what happened in a gap is never told: after each connect the follower
//! polls. An event is a bell; only errors carry something that polling cannot find again.

use super::client::Client;
use super::wire::Event;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A heartbeat comes every 10 s; after this silence the connection is dead.
pub(crate) const SILENCE: Duration = Duration::from_secs(25);
/// The longest event that is read.
const LONGEST: usize = 8 * 1024 * 1024;

/// What the stream tells.
#[derive(Debug)]
pub(crate) enum Signal {
    /// The stream is open (again): from now on events come.
    Connected,
    /// Something happened.
    Event(Box<Event>),
}

/// A stream that is kept open as long as this lives.
#[derive(Debug)]
pub(crate) struct Events {
    receiver: mpsc::Receiver<Signal>,
    task: JoinHandle<()>,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Events {
    pub(crate) fn open(client: Client, directory: String) -> Self {
        let (sender, receiver) = mpsc::channel(256);
        let task = tokio::spawn(async move { keep_open(client, directory, sender).await });
        Events { receiver, task }
    }

    /// Returns the next signal; waits for ever once the stream's task is gone.
    pub(crate) async fn next(&mut self) -> Signal {
        match self.receiver.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}

async fn keep_open(client: Client, directory: String, sender: mpsc::Sender<Signal>) {
    let mut wait = Duration::from_millis(250);
    loop {
        if let Ok(response) = client.events(&directory).await {
            wait = Duration::from_millis(250);
            if read(response, &sender).await.is_none() {
                return;
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(5));
    }
}

/// Reads until the stream ends; `None` when nobody listens any more.
async fn read(mut response: reqwest::Response, sender: &mpsc::Sender<Signal>) -> Option<()> {
    let mut lines = EventLines::default();
    loop {
        let Ok(Ok(Some(bytes))) = tokio::time::timeout(SILENCE, response.chunk()).await else {
            return Some(());
        };
        for event in lines.push(&bytes) {
            let signal = match event.kind.as_str() {
                "server.connected" => Signal::Connected,
                "server.heartbeat" => continue,
                _ if !is_bell(&event.kind) => continue,
                _ => Signal::Event(Box::new(event)),
            };
            // A full channel means that the follower is behind, and will poll anyway.
            match sender.try_send(signal) {
                Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => {}
                Err(mpsc::error::TrySendError::Closed(_)) => return None,
            }
        }
    }
}

/// Says whether an event is worth a look; the many about growing parts are not.
fn is_bell(kind: &str) -> bool {
    matches!(kind, "session.status" | "session.idle" | "session.error" | "session.deleted")
        || kind.starts_with("permission.")
        || kind.starts_with("question.")
}

/// Cuts a stream into events.
#[derive(Debug, Default)]
struct EventLines {
    buffer: Vec<u8>,
}

impl EventLines {
    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut done = 0;
        while let Some(length) = self.buffer[done..].iter().position(|byte| *byte == b'\n') {
            let line = &self.buffer[done..done + length];
            if let Some(data) = line.strip_prefix(b"data:")
                && let Ok(event) = serde_json::from_slice(data)
            {
                events.push(event);
            }
            done += length + 1;
        }
        self.buffer.drain(..done);
        if self.buffer.len() > LONGEST {
            self.buffer.clear();
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_pieces() {
        let mut lines = EventLines::default();
        assert!(lines.push(b"data: {\"type\":\"session.").is_empty(), "half a line is no event");
        let events = lines.push(
            b"error\",\"properties\":{\"sessionID\":\"s\",\"error\":{\"name\":\"E\",\"data\":{\"message\":\"m\\nstack\"}}}}\n\ndata: nonsense\n: comment\n",
        );
        assert_eq!(events.len(), 1);
        let error = events[0].properties.error.as_ref().expect("an error");
        assert_eq!(error.text(), "m", "the stack below it helps nobody");
    }
}
