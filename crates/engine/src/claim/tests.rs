//! The claim under every interleaving, on real files and a real ledger.

mod edits;
mod model;
mod others;
mod steps;

use super::*;
use crate::host::ProcessId;
use crate::ledger::{Injected, Run, RunFilter, Status};
use crate::testing::ManualClock;
use crate::{ledger, project};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 2026-05-05 09:00:00 UTC, an occurrence of the usual schedule.
const NINE: i64 = 1_777_971_600_000;
const DAY: i64 = 24 * 60 * 60 * 1000;

struct Bed {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    desk: Desk,
}

/// Holds everything back.
struct Shut;

impl Rules for Shut {
    fn gate(&self, _task: &Task, _hash: &str) -> Result<Gate, Reason> {
        Err(Reason::WrongHost)
    }
}

fn cron(expression: &str) -> Value {
    json!({ "kind": "cron", "cron": expression, "timezone": "UTC" })
}

/// A process of this machine that has ended.
fn dead() -> ProcessId {
    let mut child = std::process::Command::new("true").spawn().expect("true starts");
    let id = ProcessId::of(child.id());
    child.wait().expect("true ends");
    id
}

/// Another process that lives: our parent.
fn neighbour() -> ProcessId {
    #[cfg(unix)]
    let pid = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let pid = 4;
    let mut other = ProcessId::of(pid);
    other.started = 0;
    other
}

impl Bed {
    /// A project with one task, `t0`, due every day at nine.
    fn new() -> Bed {
        Bed::with(&cron("0 9 * * *"))
    }

    fn with(schedule: &Value) -> Bed {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(ManualClock::new(NINE));
        let me = ProcessId::current().clone();
        let desk = desk(dir.path(), me, &clock);
        let bed = Bed { dir, clock, desk };
        std::fs::create_dir_all(&bed.desk.folder.projects_dir).expect("created");
        bed.put(&json!({ "version": 1, "scheduledTasks": [{
            "id": "t0", "name": "Task", "enabled": true, "schedule": schedule,
            "execution": { "prompt": "p", "providerID": "demo", "modelID": "echo" },
            "state": { "createdAt": 1000, "updatedAt": 2000, "lastStatus": "idle" },
        }]}));
        bed
    }

    /// The same data folder as another process sees it.
    fn process(&self, me: ProcessId) -> Desk {
        desk(self.dir.path(), me, &self.clock)
    }

    fn file(&self) -> PathBuf {
        self.desk.folder.projects_dir.join("p.json")
    }

    /// Replaces the file without taking any lock, as some writers do.
    fn put(&self, config: &Value) {
        put(&self.file(), config);
    }

    fn get(&self) -> Value {
        let text = std::fs::read_to_string(self.file()).expect("the file is there");
        serde_json::from_str(&text).expect("the file is whole")
    }

    fn state(&self) -> Value {
        self.get()["scheduledTasks"][0]["state"].clone()
    }

    /// Changes the task behind everybody's back.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut config = self.get();
        change(&mut config["scheduledTasks"][0]);
        self.put(&config);
    }

    fn claim(&self, slot: i64) -> Result<Claimed, ClaimError> {
        self.claim_as(&self.desk, slot)
    }

    fn claim_as(&self, desk: &Desk, slot: i64) -> Result<Claimed, ClaimError> {
        desk.claim(&*self.clock, &wish(&key(), slot), &NoRules)
    }

    fn rows(&self) -> Vec<Run> {
        self.desk.ledger.runs(&RunFilter::default()).expect("the ledger answers")
    }

    fn statuses(&self) -> Vec<Status> {
        self.rows().iter().map(|row| row.status).collect()
    }

    /// Ends a won run.
    fn end(&self, claim: &Claim) {
        let ending = crate::ledger::Ending::new(Status::Succeeded);
        self.desk.ledger.finish(claim.run, claim.fence, &ending).expect("ends");
        let now = self.clock.now_ms();
        let shown = Shown::of(&ending);
        show_end(&self.desk.folder, &key(), claim.run_at, claim.slot, &shown, now).expect("shown");
    }

    fn running(&self) -> Option<Run> {
        self.desk.ledger.running(&key()).expect("the ledger answers")
    }
}

fn desk(dir: &std::path::Path, me: ProcessId, clock: &Arc<ManualClock>) -> Desk {
    let opened = Ledger::open(&dir.join("own"), me, clock.clone()).expect("the ledger opens");
    Desk {
        folder: Folder::new(dir.join("projects")),
        ledger: opened.ledger,
        lease: Duration::from_secs(600),
        machine_zone: "UTC".to_owned(),
    }
}

fn put(file: &std::path::Path, config: &Value) {
    let temporary = file.with_extension("other");
    std::fs::write(&temporary, config.to_string()).expect("written");
    std::fs::rename(temporary, file).expect("replaced");
}

fn key() -> TaskKey {
    TaskKey::new("p", "t0")
}

fn wish(task: &TaskKey, slot: i64) -> Request<'_> {
    Request::scheduled(task, slot)
}

fn by_hand(task: &TaskKey) -> Request<'_> {
    Request { slot: None, trigger: Trigger::Manual, ..wish(task, 0) }
}

#[track_caller]
fn won(claimed: Result<Claimed, ClaimError>) -> Claim {
    match claimed {
        Ok(Claimed::Won(claim)) => *claim,
        other => panic!("it must be won, but is {other:?}"),
    }
}

/// Calls `act` the first time that a step of the project's file is reached.
fn once_at(step: project::Step, act: impl Fn() + Send + Sync + 'static) -> project::Probe {
    let met = AtomicUsize::new(0);
    Arc::new(move |reached| {
        if reached == step && met.fetch_add(1, Ordering::Relaxed) == 0 {
            act();
        }
    })
}
