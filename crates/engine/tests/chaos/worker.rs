//! One of our processes: it claims slots as the engine does, notes each run where its agent would
//! be asked, ends it, and looks after what dead processes left.

use crate::slot_clock::SlotClock;
use crate::stage::{BASE, MINUTE, nap};
use loopkeeper_engine::claim::{
    Claim, ClaimError, Claimed, Desk, NoRules, Request, Shown, Taken, show_claim_failure, show_end,
};
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::{
    Ending, Injected, Ledger, LedgerError, Reason, Run, RunFilter, SlotRow, Status,
};
use loopkeeper_engine::project::{Folder, Patch, ProjectError, StatePatch, update};
use loopkeeper_engine::task::TaskKey;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(600);

/// Awake time runs faster, for locks that would be watched for a minute.
#[derive(Debug)]
struct FastClock(u32);

impl Clock for FastClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn awake(&self) -> Duration {
        SystemClock.awake() * self.0
    }
}

struct Worker {
    desk: Desk,
    clock: Arc<SlotClock>,
    notes: File,
    /// Whether a claim is under way: that is where it may have to die.
    claiming: Arc<AtomicBool>,
}

/// Does what `work` says: `root`, `projects`, `tasks`, `n`, `startAt`, `pace`; and where it dies.
pub fn main(work: &str) {
    let work: Value = serde_json::from_str(work).expect("its work");
    let root = Path::new(work["root"].as_str().expect("a root"));
    let name = format!("ours-{}", std::process::id());
    let notes = File::options().create(true).append(true).open(root.join("logs").join(name));
    let notes = notes.expect("its notes");
    let mut folder = Folder::new(root.join("projects"));
    folder.guards_dir = Some(root.join("loopkeeper/locks"));
    if let Some(times) = work["faster"].as_u64() {
        let times = u32::try_from(times).expect("a small number");
        folder = folder.with_clock(Arc::new(FastClock(times))).with_wait(LEASE);
    }
    if let Some(ms) = work["wait"].as_u64() {
        folder = folder.with_wait(Duration::from_millis(ms));
    }
    let clock = Arc::new(SlotClock(AtomicI64::new(BASE)));
    let me = ProcessId::current().clone();
    let opened = Ledger::open(&root.join("loopkeeper"), me, clock.clone());
    let ledger = opened.expect("the ledger is sound").ledger;
    let claiming = Arc::new(AtomicBool::new(false));
    if let Some(point) = work["dieAt"].as_str() {
        let killer = Arc::new(Killer {
            point: point.to_owned(),
            after: work["dieAfter"].as_u64().unwrap_or(1),
            met: AtomicU64::new(0),
            claiming: claiming.clone(),
            notes: notes.try_clone().expect("its notes"),
        });
        let (of_file, of_ledger) = (killer.clone(), killer);
        folder.probe = Some(Arc::new(move |step| of_file.reached(&format!("{step:?}"))));
        ledger.set_probe(move |point| {
            of_ledger.reached(point);
            Injected::Nothing
        });
    }
    let desk = Desk { folder, ledger, lease: LEASE, machine_zone: "UTC".to_owned() };
    let worker = Worker { desk, clock, notes, claiming };
    worker.work(&work);
}

/// Kills this process the hard way at a named point inside a claim.
struct Killer {
    point: String,
    after: u64,
    met: AtomicU64,
    claiming: Arc<AtomicBool>,
    notes: File,
}

impl Killer {
    fn reached(&self, point: &str) {
        let here = point == self.point && self.claiming.load(Ordering::Relaxed);
        if here && self.met.fetch_add(1, Ordering::Relaxed) + 1 == self.after {
            writeln!(&self.notes, "died {}", point.replace(' ', "-")).expect("noted");
            // SAFETY: a signal to this very process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            nap(60_000);
        }
    }
}

impl Worker {
    fn work(&self, work: &Value) {
        let words = |key: &str| -> Vec<String> {
            let list = work[key].as_array().expect("a list").iter();
            list.map(|word| word.as_str().expect("text").to_owned()).collect()
        };
        let (projects, tasks) = (words("projects"), words("tasks"));
        let keys: Vec<TaskKey> = projects
            .iter()
            .flat_map(|project| {
                tasks.iter().map(|task| TaskKey::new(project.as_str(), task.as_str()))
            })
            .collect();
        let (start, pace) = (work["startAt"].as_i64(), work["pace"].as_i64().unwrap_or(0));
        let mut done: Vec<HashSet<i64>> = keys.iter().map(|key| self.recorded(key)).collect();
        if work["newest"] == true {
            // The newest slot is claimed again: the file may have lost it.
            let newest = BASE + (work["n"].as_i64().expect("n") - 1) * MINUTE;
            for done in &mut done {
                done.remove(&newest);
            }
        }
        let (mut took_over, mut abandoned) = (0, 0);
        for k in 0..work["n"].as_i64().expect("n") {
            let slot = BASE + k * MINUTE;
            if done.iter().all(|done| done.contains(&slot)) {
                continue;
            }
            if let Some(start) = start {
                let left = start + k * pace - SystemClock.now_ms();
                nap(u64::try_from(left).unwrap_or(0));
            }
            // Each round begins elsewhere, so that processes do not march in step.
            let first = fastrand::usize(..keys.len());
            for (key, done) in keys.iter().zip(&done).cycle().skip(first).take(keys.len()) {
                if !done.contains(&slot) {
                    self.slot(key, slot, k);
                }
            }
            self.sweep();
            self.note_once("took-over", self.desk.folder.taken_over(), &mut took_over);
            self.note_once("abandoned", self.desk.folder.abandoned(), &mut abandoned);
            if let Some(counter) = work["counter"].as_str() {
                self.count(counter, &tasks[0]);
            }
        }
        self.flush();
        for project in work["touch"].as_array().into_iter().flatten() {
            self.count(project.as_str().expect("text"), &tasks[0]);
        }
    }

    fn note(&self, line: &str) {
        let mut notes = &self.notes;
        // One write, so that a kill leaves whole lines.
        notes.write_all(format!("{line}\n").as_bytes()).expect("noted");
    }

    /// Notes by how much a count went up.
    fn note_once(&self, what: &str, now: u64, before: &mut u64) {
        if now > *before {
            self.note(&format!("{what} {}", now - *before));
            *before = now;
        }
    }

    /// The slots that have a row with an end: there is nothing to do for them.
    fn recorded(&self, key: &TaskKey) -> HashSet<i64> {
        let filter = RunFilter {
            project: Some(key.project_id.clone()),
            task: Some(key.task_id.clone()),
            limit: 100_000,
            ..RunFilter::default()
        };
        let rows = self.desk.ledger.runs(&filter).unwrap_or_default();
        rows.iter()
            .filter(|row| !row.status.is_open())
            .filter_map(|row| row.scheduled_for)
            .collect()
    }

    fn slot(&self, key: &TaskKey, slot: i64, k: i64) {
        self.clock.0.store(slot, Ordering::Relaxed);
        let request = Request::scheduled(key, slot);
        let name = format!("{} {} {k}", key.project_id, key.task_id);
        self.claiming.store(true, Ordering::Relaxed);
        let claimed = self.desk.claim(&*self.clock, &request, &NoRules);
        self.claiming.store(false, Ordering::Relaxed);
        match claimed {
            Ok(Claimed::Won(claim)) => {
                self.note(&format!("won {name}"));
                self.end(&claim, key, Ending::new(Status::Succeeded));
            }
            Ok(Claimed::Taken(taken)) => {
                self.note(&format!("lost {name}"));
                let (status, reason) = match taken {
                    Taken::Slot => (Status::Deduped, Reason::ElsewhereClaimed),
                    Taken::Later => (Status::Superseded, Reason::Newer),
                };
                self.record(key, slot, status, reason, None);
            }
            Ok(Claimed::AlreadyRunning { .. }) => self.note(&format!("running {name}")),
            Ok(other) => panic!("{name}: {other:?} has no cause here"),
            Err(error) => self.failed(key, slot, &name, &error),
        }
    }

    /// As the engine does when a claim cannot be made.
    fn failed(&self, key: &TaskKey, slot: i64, name: &str, error: &ClaimError) {
        self.note(&format!("error {name} {error}"));
        let text = error.to_string();
        let taken = show_claim_failure(&self.desk.folder, key, slot, None, &text, slot);
        let (status, reason) = if taken == Some(Taken::Slot) {
            (Status::Deduped, Reason::ElsewhereClaimed)
        } else {
            (Status::Failed, Reason::ClaimFailed)
        };
        self.record(key, slot, status, reason, Some(text));
    }

    fn record(
        &self,
        key: &TaskKey,
        slot: i64,
        status: Status,
        reason: Reason,
        error: Option<String>,
    ) {
        let row = SlotRow::new(key.clone(), &*key.task_id, slot, status, Some(reason));
        if let Err(error) = self.desk.ledger.record(&SlotRow { error, ..row }) {
            self.note(&format!("error record {error}"));
        }
    }

    /// Ends a run: the ledger first, as often as it takes, then the shared file.
    fn end(&self, claim: &Claim, key: &TaskKey, ending: Ending) {
        let ending = Ending { duration_ms: Some(0), ..ending };
        let mut tries = 0;
        while let Err(error) = self.desk.ledger.finish(claim.run, claim.fence, &ending) {
            self.note(&format!("error finish {error}"));
            tries += 1;
            if tries > 20 {
                return;
            }
            nap(20);
        }
        let shown = Shown::of(&ending);
        self.show(claim.run, key, claim.run_at, claim.slot, &shown);
    }

    fn show(&self, run: i64, key: &TaskKey, run_at: i64, slot: Option<i64>, shown: &Shown) {
        let now = slot.unwrap_or(BASE);
        let written = show_end(&self.desk.folder, key, run_at, slot, shown, now);
        let flushed: Result<(), LedgerError> = match written {
            Ok(()) => self.desk.ledger.json_flushed(run),
            Err(error) => return self.note(&format!("error end {error}")),
        };
        if let Err(error) = flushed {
            self.note(&format!("error flush {error}"));
        }
    }

    /// Takes over what dead processes hold: nothing is sent again.
    fn sweep(&self) {
        let Ok(stale) = self.desk.ledger.sweep(&[]) else { return };
        for stale in stale {
            let Ok(Some(fence)) = self.desk.ledger.take_over(&stale, LEASE) else { continue };
            self.note(&format!("swept {}", stale.run.status));
            let run = &stale.run;
            let ended = if run.status == Status::Claimed {
                self.desk.ledger.fail_claim(run.id, fence, Reason::NotSent, "not sent").map(drop)
            } else {
                let lost = Ending::new(Status::Lost).because(Reason::AgentGone, "its process died");
                self.desk.ledger.finish(run.id, fence, &lost).map(drop)
            };
            if let Err(error) = ended {
                self.note(&format!("error sweep {error}"));
            }
        }
    }

    /// Shows the ends that were not shown.
    fn flush(&self) {
        let pending: Vec<Run> = self.desk.ledger.pending_json().unwrap_or_default();
        for run in pending {
            let shown = Shown::of_row(&run);
            let run_at = run.run_at.unwrap_or(run.created_at);
            self.show(run.id, &run.task(), run_at, run.scheduled_for, &shown);
        }
    }

    /// One write whose success is noted: it may never be lost.
    fn count(&self, project: &str, task: &str) {
        self.note(&format!("counting {project}"));
        let done = update(&self.desk.folder, project, |document| {
            let found = document.task(task).map(|task| task.state.last_duration_ms.unwrap_or(0));
            let patch = StatePatch {
                last_duration_ms: Patch::Set(found.unwrap_or(0) + 1),
                ..StatePatch::default()
            };
            document.set_state(task, &patch);
            Ok::<(), ProjectError>(())
        });
        match done {
            Ok(_) => self.note(&format!("counted {project}")),
            Err(error) => self.note(&format!("uncounted {project} {error}")),
        }
    }
}
