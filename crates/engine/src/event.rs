//! Events: what changed, by id; listeners read the rest again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// Says what kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are DESIGN §9's and say it")]
pub enum EventKind {
    TasksChanged,
    RunChanged,
    RunFinished,
    RunBlocked,
    Missed,
    Paused,
    Resumed,
    PersistError,
    AutoPaused,
    Recovered,
    ApprovalNeeded,
    FileError,
    Stalled,
    Reload,
}

/// One thing that happened; ids and kinds only, so that no listener ever trusts a stale copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Counts up within one process; a reconnecting listener names the last one it saw.
    pub id: u64,
    /// Wall time, ms since 1970.
    pub at: i64,
    /// What happened.
    pub kind: EventKind,
    /// The project it happened in; `None` for what concerns all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The task it happened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The run it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
}

/// How many events a reconnecting listener can be given again.
const REPLAY: usize = 1024;

/// Hands events to every listener, and the last ones to a listener that was away.
#[derive(Debug, Clone)]
pub struct EventBus {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sender: broadcast::Sender<Event>,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    next_id: u64,
    events: VecDeque<Event>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new()
    }
}

impl EventBus {
    /// Makes a bus without listeners.
    pub fn new() -> Self {
        let (sender, _) = broadcast::channel(REPLAY);
        let recent = Mutex::new(Recent { next_id: 1, events: VecDeque::new() });
        EventBus { inner: Arc::new(Inner { sender, recent }) }
    }

    /// Sends an event; its id is given here.
    pub fn send(
        &self,
        at: i64,
        kind: EventKind,
        project_id: Option<&str>,
        task_id: Option<&str>,
        run_id: Option<i64>,
    ) {
        let mut recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event {
            id: recent.next_id,
            at,
            kind,
            project_id: project_id.map(str::to_owned),
            task_id: task_id.map(str::to_owned),
            run_id,
        };
        recent.next_id += 1;
        if recent.events.len() == REPLAY {
            recent.events.pop_front();
        }
        recent.events.push_back(event.clone());
        // Sent under the lock, so that ids arrive in order. Nobody listening is no error.
        let _ = self.inner.sender.send(event);
    }

    /// Returns the id of the newest event; 0 before the first.
    pub fn newest(&self) -> u64 {
        self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner).next_id - 1
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.inner.sender.subscribe()
    }

    /// Listens from after `last_id` on: returns the events since then and the live rest, or `None`
    /// for the events when some of them are gone (or `last_id` is of another process) and the
    /// listener must read everything again.
    pub fn resume(&self, last_id: u64) -> (Option<Vec<Event>>, broadcast::Receiver<Event>) {
        let recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.inner.sender.subscribe();
        let oldest = recent.events.front().map_or(recent.next_id, |event| event.id);
        let known = last_id < recent.next_id && last_id + 1 >= oldest;
        let missed = known
            .then(|| recent.events.iter().filter(|event| event.id > last_id).cloned().collect());
        (missed, receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_was_away_misses_nothing_or_is_told() {
        let bus = EventBus::new();
        for n in 0..3 {
            bus.send(n, EventKind::TasksChanged, None, None, None);
        }
        let (missed, _) = bus.resume(1);
        let ids: Vec<u64> = missed.expect("all still here").iter().map(|e| e.id).collect();
        assert_eq!(ids, [2, 3], "everything after the last one seen");
        for n in 0..REPLAY as i64 {
            bus.send(n, EventKind::TasksChanged, None, None, None);
        }
        assert!(bus.resume(1).0.is_none(), "event 2 is gone, so the listener must reload");
        assert!(bus.resume(99_999).0.is_none(), "an id of another process is no base");
    }
}
