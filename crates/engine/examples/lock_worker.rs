//! Contends for a project's lock through the public API, so that it can be run against other
//! implementations of the protocol.
//!
//! `lock_worker MODE PROJECTS_DIR PROJECT_ID JSON_OPTS` answers with one JSON line:
//!
//! - `counter {n,task,startAt}`: n times `state.lastDurationMs += 1`; `{pid,ok,errors}`
//! - `upsert {n,startAt}`: n new disabled tasks `w<pid>-<k>`; `{pid,ok,errors}`
//! - `cs {n,log,csMs,startAt}`: n critical sections of csMs, each appends `pid startNs endNs`
//!   (awake time) to `log`; `{pid,entered,errors}`
//!
//! `startAt` is wall time in ms. With `{"dieAt": STEP, "dieAfter": N}` the process kills itself at
//! the Nth time that it comes to the step.

use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::project::{
    Document, Folder, Patch, ProjectError, StatePatch, Step, open_locked, update, upsert,
};
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

const MODES: [(&str, Mode); 3] = [("counter", counter), ("upsert", upserts), ("cs", sections)];

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
        let left = start.saturating_sub(SystemClock.now_ms());
        nap(Duration::from_millis(u64::try_from(left).unwrap_or(0)));
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
