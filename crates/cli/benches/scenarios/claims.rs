//! Claims a second on one project of 100 tasks, by 1, 4 and 8 processes, with every claim on the
//! disk; beside it a plain program that only rewrites the same file, with neither lock nor ledger.

use crate::figure::{Figure, ms, percentile};
use crate::slot_clock::SlotClock;
use loopkeeper_engine::claim::{Claimed, Desk, NoRules, Request, Shown, show_end};
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::{Ending, Ledger, Status};
use loopkeeper_engine::project::Folder;
use loopkeeper_engine::task::TaskKey;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// 2026-05-05 09:00:00 UTC; slot k is k minutes later.
const BASE: i64 = 1_777_971_600_000;
const MINUTE: i64 = 60_000;
const LEASE: Duration = Duration::from_secs(600);
const TASKS: usize = 100;
const LASTS: Duration = Duration::from_secs(10);

pub fn run() {
    for (tasks, processes) in [(1, 1), (10, 1), (TASKS, 1), (1_000, 1), (TASKS, 4), (TASKS, 8)] {
        let waits = work_together(tasks, processes);
        let whole = waits.len() as f64 / LASTS.as_secs_f64();
        let words = format!("one project of {tasks} tasks, {processes} processes");
        let standard = tasks == TASKS;
        if processes == 1 {
            let goal = standard.then_some(150.0);
            let alone = waits.len() as f64 * 1000.0 / waits.iter().sum::<f64>();
            Figure { name: "claims", unit: "a second", load: &words, goal }.print(&[alone]);
        }
        let name = "claims, each with its run's end";
        Figure { name, unit: "a second", load: &words, goal: None }.print(&[whole]);
        Figure { name: "wait for a claim, median", unit: "ms", load: &words, goal: None }
            .print_as(percentile(&waits, 50.0), &waits);
        let goal = (standard && processes == 4).then_some(500.0);
        Figure { name: "wait for a claim, p99", unit: "ms", load: &words, goal: None }
            .print_as(percentile(&waits, 99.0), &waits);
        Figure { name: "wait for a claim, longest", unit: "ms", load: &words, goal }
            .print_as(percentile(&waits, 100.0), &waits);
    }
    plain();
}

/// Makes one project of JSON tasks, each due every minute.
fn project(root: &Path, tasks: usize) {
    let task = |number: usize| {
        json!({
            "id": format!("t{number}"), "name": format!("t{number}"), "enabled": true,
            "schedule": { "kind": "cron", "cron": "* * * * *", "timezone": "UTC" },
            "execution": { "prompt": "x".repeat(500), "providerID": "demo", "modelID": "echo" },
            "state": { "createdAt": 1, "lastStatus": "idle" },
        })
    };
    let tasks: Vec<Value> = (0..tasks).map(task).collect();
    fs::create_dir_all(root.join("projects")).expect("made");
    fs::create_dir_all(root.join("loopkeeper")).expect("made");
    let text = json!({ "version": 1, "scheduledTasks": tasks }).to_string();
    fs::write(root.join("projects/p.json"), text).expect("written");
}

/// Lets processes claim for a while; returns what each won claim took, in ms, sorted.
fn work_together(tasks: usize, processes: usize) -> Vec<f64> {
    let root = tempfile::tempdir().expect("a folder");
    project(root.path(), tasks);
    let me = std::env::current_exe().expect("this program");
    let children: Vec<_> = (0..processes)
        .map(|number| {
            let work = json!({
                "root": root.path(), "tasks": tasks, "first": number, "step": processes,
            });
            Command::new(&me)
                .args(["claim-worker", &work.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    let mut children = children;
    for child in &mut children {
        // All begin together, when their standard input ends.
        drop(child.stdin.take());
    }
    let mut waits = Vec::new();
    for child in children {
        let out = child.wait_with_output().expect("it ends");
        assert!(out.status.success(), "a worker failed");
        let text = String::from_utf8(out.stdout).expect("text");
        waits.extend(text.lines().filter_map(|line| line.parse::<f64>().ok()));
    }
    waits.sort_by(f64::total_cmp);
    waits
}

/// Claims, ends and shows runs until the time is over, and prints what each claim took.
pub fn worker(work: &str) {
    let work: Value = serde_json::from_str(work).expect("its work");
    let root = Path::new(work["root"].as_str().expect("a root"));
    let count = |key: &str| usize::try_from(work[key].as_u64().expect("a number")).expect("small");
    let (tasks, first, step) = (count("tasks"), count("first"), count("step"));
    let mut folder = Folder::new(root.join("projects"));
    folder.guards_dir = Some(root.join("loopkeeper/locks"));
    let clock = Arc::new(SlotClock(AtomicI64::new(BASE)));
    let me = ProcessId::current().clone();
    let opened = Ledger::open(&root.join("loopkeeper"), me, clock.clone());
    let ledger = opened.expect("a sound ledger").ledger;
    let desk = Desk { folder, ledger, lease: LEASE, machine_zone: "UTC".to_owned() };
    let _ = std::io::read_to_string(std::io::stdin());
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let began = Instant::now();
    // Each process has tasks of its own, so that each claim is won.
    let own = tasks / step;
    for turn in 0.. {
        let task = first + turn % own * step;
        let slot = BASE + i64::try_from(turn / own).expect("small") * MINUTE;
        let key = TaskKey::new("p", format!("t{task}"));
        clock.0.store(slot, Ordering::Relaxed);
        let request = Request::scheduled(&key, slot);
        let mut claimed = None;
        let took = ms(|| claimed = Some(desk.claim(&*clock, &request, &NoRules)));
        let claim = match claimed {
            Some(Ok(Claimed::Won(claim))) => claim,
            other => panic!("not won: {other:?}"),
        };
        if began.elapsed() > LASTS {
            break;
        }
        writeln!(out, "{took}").expect("told");
        let ending = Ending { duration_ms: Some(0), ..Ending::new(Status::Succeeded) };
        desk.ledger.finish(claim.run, claim.fence, &ending).expect("ended");
        let shown = Shown::of(&ending);
        show_end(&desk.folder, &key, claim.run_at, claim.slot, &shown, slot).expect("shown");
        desk.ledger.json_flushed(claim.run).expect("noted");
    }
    out.flush().expect("told");
}

/// What a program pays that only reads the file, changes one number, and puts the whole file in
/// place with everything on the disk, as a claim must at the least.
fn plain() {
    let root = tempfile::tempdir().expect("a folder");
    project(root.path(), TASKS);
    let path = root.path().join("projects/p.json");
    let began = Instant::now();
    let mut turns = 0_u32;
    while began.elapsed() < LASTS {
        let text = fs::read(&path).expect("read");
        let mut value: Value = serde_json::from_slice(&text).expect("JSON");
        value["scheduledTasks"][0]["state"]["lastRunAt"] = json!(turns);
        let beside = path.with_extension("new");
        let mut file = fs::File::create(&beside).expect("made");
        file.write_all(value.to_string().as_bytes()).expect("written");
        file.sync_all().expect("synced");
        fs::rename(&beside, &path).expect("put in place");
        fs::File::open(root.path().join("projects")).and_then(|f| f.sync_all()).expect("synced");
        turns += 1;
    }
    let words = format!("one project of {TASKS} tasks, one process, neither lock nor ledger");
    let name = "rewriting the same file";
    Figure { name, unit: "a second", load: &words, goal: None }
        .print(&[f64::from(turns) / LASTS.as_secs_f64()]);
}
