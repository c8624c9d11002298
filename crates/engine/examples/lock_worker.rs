//! Contends for a project's lock through the public API, so that it can be run against other
//! implementations of the protocol.
//!
//! `lock_worker MODE PROJECTS_DIR PROJECT_ID JSON_OPTS` answers with one JSON line:
//!
//! - `counter {n,task,startAt}`: n times `state.lastDurationMs += 1`; `{pid,ok,errors}`
//! - `upsert {n,startAt}`: n new disabled tasks `w<pid>-<k>`; `{pid,ok,errors}`
//! - `cs {n,log,csMs,startAt}`: n critical sections of csMs, each appends `pid startNs endNs`
//!   (awake time) to `log`; `{pid,entered,errors}`
//! - `claim {n,task,base,startAt}`: for k < n claims the occurrence `base + k*60000` of the task;
//!   `{pid,claims:[k…],attempts,errors}`
//! - `staleloop {rounds,gap,base,base0}`: at wall time `base0 + r*gap` claims the occurrence `base`
//!   of task `t0` in project `r<r>`; PROJECT_ID is ignored; `{pid,claimed:[r…],errors}`
//!
//! In the last two the worker's clock stands at the occurrence it claims, and its ledger is a
//! private one whose run ends at once: only the shared file and its lock decide.
//!
//! `startAt` is wall time in ms. With `{"dieAt": STEP, "dieAfter": N}` the process kills itself at
//! the Nth time that it comes to the step.

use loopkeeper_engine::claim::{Claimed, Desk, NoRules, Request, Shown, show_end};
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::{Ending, Ledger, Status};
use loopkeeper_engine::project::{
    Document, Folder, Patch, ProjectError, StatePatch, Step, open_locked, update, upsert,
};
use loopkeeper_engine::task::TaskKey;
use loopkeeper_engine::testing::ManualClock;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where a mode works, and on what.
struct Work<'a> {
    folder: Folder,
    project: &'a str,
    opts: &'a Value,
}

/// A mode's work; its answer is printed.
type Mode = fn(&Work) -> Value;

const MODES: [(&str, Mode); 5] = [
    ("counter", counter),
    ("upsert", upserts),
    ("cs", sections),
    ("claim", claims),
    ("staleloop", stale_locks),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [mode, dir, project, opts] = &args[..] else {
        return usage();
    };
    let Ok(opts) = serde_json::from_str(opts) else {
        return usage();
    };
    match answer(mode, dir, project, &opts) {
        Some(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        None => usage(),
    }
}

fn usage() -> ExitCode {
    let modes: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
    eprintln!("usage: lock_worker {} PROJECTS_DIR PROJECT_ID JSON_OPTS", modes.join("|"));
    ExitCode::from(2)
}

/// Does the work of a mode; `None` when there is no such mode.
pub fn answer(mode: &str, dir: &str, project: &str, opts: &Value) -> Option<Value> {
    let (_, run) = MODES.iter().find(|(name, _)| *name == mode)?;
    let mut folder = Folder::new(dir);
    if let Some(step) = opts["dieAt"].as_str() {
        folder.probe = Some(die_at(step.to_owned(), opts["dieAfter"].as_u64().unwrap_or(1)));
    }
    if let Some(start) = opts["startAt"].as_i64() {
        nap_until(start);
    }
    Some(run(&Work { folder, project, opts }))
}

/// Kills this process the hard way, as a power cut would.
fn die_at(name: String, after: u64) -> Arc<dyn Fn(Step) + Send + Sync> {
    let met = AtomicU64::new(0);
    Arc::new(move |step| {
        if format!("{step:?}") == name && met.fetch_add(1, Ordering::Relaxed) + 1 == after {
            #[cfg(unix)]
            let _ = std::process::Command::new("kill")
                .args(["-9", &std::process::id().to_string()])
                .status();
            #[cfg(not(unix))]
            std::process::abort();
        }
    })
}

#[allow(clippy::disallowed_methods, reason = "a worker that other programs are timed against")]
fn nap(time: Duration) {
    std::thread::sleep(time);
}

/// Waits for an instant of wall time, in ms since 1970.
fn nap_until(instant: i64) {
    let left = instant.saturating_sub(SystemClock.now_ms());
    nap(Duration::from_millis(u64::try_from(left).unwrap_or(0)));
}

fn count(work: &Work) -> u64 {
    work.opts["n"].as_u64().unwrap_or(1)
}

/// Changes the project's file n times and tells how it went.
fn repeat(work: &Work, mut change: impl FnMut(u64, &mut Document) -> Result<(), Failure>) -> Value {
    let mut ok = 0;
    let mut errors = Vec::new();
    for k in 0..count(work) {
        match update(&work.folder, work.project, |document| change(k, document)) {
            Ok(_) => ok += 1,
            Err(Failure(message)) => errors.push(message),
        }
    }
    json!({ "pid": std::process::id(), "ok": ok, "errors": errors })
}

struct Failure(String);

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        Failure(error.to_string())
    }
}

fn counter(work: &Work) -> Value {
    let id = work.opts["task"].as_str().unwrap_or("t0");
    repeat(work, |_, document| {
        let task = document.task(id).ok_or_else(|| Failure(format!("there is no task {id}")))?;
        let next = task.state.last_duration_ms.unwrap_or(0) + 1;
        let patch = StatePatch { last_duration_ms: Patch::Set(next), ..StatePatch::default() };
        document.set_state(id, &patch);
        Ok(())
    })
}

fn upserts(work: &Work) -> Value {
    let pid = std::process::id();
    repeat(work, |k, document| {
        let task = json!({
            "id": format!("w{pid}-{k}"),
            "name": format!("worker {pid} {k}"),
            "enabled": false,
            "schedule": { "kind": "cron", "cron": "0 9 * * *", "timezone": "UTC" },
            "execution": { "prompt": "p", "providerID": "demo", "modelID": "echo" },
        });
        upsert(document, &task, SystemClock.now_ms(), String::new, "UTC")
            .map(drop)
            .map_err(|error| Failure(error.to_string()))
    })
}

fn sections(work: &Work) -> Value {
    let time = Duration::from_millis(work.opts["csMs"].as_u64().unwrap_or(1));
    let log = work.opts["log"].as_str().unwrap_or_default();
    let (mut entered, mut errors) = (0, 0);
    for _ in 0..count(work) {
        let done = open_locked(&work.folder, work.project).is_ok_and(|locked| {
            let start = SystemClock.awake().as_nanos();
            nap(time);
            let end = SystemClock.awake().as_nanos();
            let line = format!("{} {start} {end}\n", std::process::id());
            let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
            // Still inside, so that the section is as long as it says.
            let logged = file.and_then(|mut file| file.write_all(line.as_bytes())).is_ok();
            drop(locked);
            logged
        });
        if done {
            entered += 1;
        } else {
            errors += 1;
        }
    }
    json!({ "pid": std::process::id(), "entered": entered, "errors": errors })
}

/// A claimant with a ledger of its own, whose clock stands where it is put.
struct Claimant {
    desk: Desk,
    clock: Arc<ManualClock>,
    _dir: tempfile::TempDir,
}

impl Claimant {
    fn new(folder: &Folder) -> Result<Claimant, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let clock = Arc::new(ManualClock::new(0));
        let opened = Ledger::open(dir.path(), ProcessId::current().clone(), clock.clone())
            .map_err(|error| error.to_string())?;
        let desk = Desk {
            folder: folder.clone(),
            ledger: opened.ledger,
            lease: Duration::from_secs(600),
            machine_zone: "UTC".to_owned(),
        };
        Ok(Claimant { desk, clock, _dir: dir })
    }

    /// Claims a slot and ends its run at once; says whether it was won, and notes what failed.
    fn claim(&self, project: &str, task: &str, slot: i64, errors: &mut Vec<String>) -> bool {
        self.clock.set(slot);
        let key = TaskKey::new(project, task);
        let request = Request::scheduled(&key, slot);
        let claim = match self.desk.claim(&*self.clock, &request, &NoRules) {
            Ok(Claimed::Won(claim)) => claim,
            Ok(Claimed::Taken(_)) => return false,
            Ok(other) => {
                errors.push(format!("slot {slot} of {task}: {other:?}"));
                return false;
            }
            Err(error) => {
                errors.push(error.to_string());
                return false;
            }
        };
        let ending = Ending { duration_ms: Some(0), ..Ending::new(Status::Succeeded) };
        if let Err(error) = self.desk.ledger.finish(claim.run, claim.fence, &ending) {
            errors.push(error.to_string());
        }
        let shown = Shown::of(&ending);
        if let Err(error) =
            show_end(&self.desk.folder, &key, claim.run_at, claim.slot, &shown, slot)
        {
            errors.push(format!("slot {slot} is claimed, its end is not shown: {error}"));
        }
        true
    }
}

fn claims(work: &Work) -> Value {
    let pid = std::process::id();
    let task = work.opts["task"].as_str().unwrap_or("t0");
    let base = work.opts["base"].as_i64().unwrap_or(0);
    let (mut won, mut attempts, mut errors) = (Vec::new(), 0, Vec::new());
    match Claimant::new(&work.folder) {
        Err(error) => errors.push(error),
        Ok(claimant) => {
            for k in 0..i64::try_from(count(work)).unwrap_or(i64::MAX) {
                attempts += 1;
                if claimant.claim(work.project, task, base + k * 60_000, &mut errors) {
                    won.push(k);
                }
            }
        }
    }
    json!({ "pid": pid, "claims": won, "attempts": attempts, "errors": errors })
}

fn stale_locks(work: &Work) -> Value {
    let number = |key: &str| work.opts[key].as_i64().unwrap_or(0);
    let (mut won, mut errors) = (Vec::new(), Vec::new());
    match Claimant::new(&work.folder) {
        Err(error) => errors.push(error),
        Ok(claimant) => {
            for round in 0..number("rounds") {
                nap_until(number("base0") + round * number("gap"));
                if claimant.claim(&format!("r{round}"), "t0", number("base"), &mut errors) {
                    won.push(round);
                }
            }
        }
    }
    json!({ "pid": std::process::id(), "claimed": won, "errors": errors.len() })
}
