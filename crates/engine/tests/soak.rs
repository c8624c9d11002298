//! An engine under load for long: memory, files, handles and threads do not grow.
//!
//! `cargo test -p loopkeeper-engine --test soak` is a short turn of virtual time, `-- long` an hour
//! of it and five minutes of real time.

use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::ledger::{RunFilter, Status};
use loopkeeper_engine::testing::Scene;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How much resident memory may grow from the second third to the end, in MB: the ledger's page
/// cache fills, and allocators round.
const GROWTH_MB: f64 = 6.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|word| word == "--list") {
        println!("soak: test");
        return;
    }
    let long = args.iter().any(|word| word == "long");
    let virtual_time = Duration::from_secs(if long { 3_600 } else { 180 });
    let runtime = |paused| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(paused).build().expect("a runtime")
    };
    runtime(true).block_on(soak("virtual time", virtual_time, None));
    if long {
        let time = Duration::from_secs(300);
        runtime(false).block_on(soak("real time", time, Some(Arc::new(SystemClock))));
    }
    println!("soak: ok");
}

/// What a process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    resident_mb: f64,
    handles: usize,
    threads: usize,
    files: usize,
}

impl Held {
    fn now(folder: &Path) -> Held {
        Held {
            resident_mb: resident_mb(),
            handles: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            files: files(folder),
        }
    }

    /// The less of each, of two looks.
    fn or_less(self, other: &Held) -> Held {
        Held {
            resident_mb: self.resident_mb.min(other.resident_mb),
            handles: self.handles.min(other.handles),
            threads: self.threads.min(other.threads),
            files: self.files.min(other.files),
        }
    }
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// Counts the runs that are with their agents; what waits for the end of a pause is none of them.
fn under_way(engine: &Engine) -> usize {
    let status = vec![Status::Claimed, Status::Running, Status::Blocked];
    let filter = RunFilter { status, limit: usize::MAX, ..RunFilter::default() };
    engine.ledger().runs(&filter).expect("reads").len()
}

/// Runs tasks of all kinds for a time, and compares what is held at two thirds and at the end.
async fn soak(name: &str, time: Duration, clock: Option<Arc<dyn Clock>>) {
    let scene = Scene::at("2026-05-05T09:00:00Z");
    let real = clock.is_some();
    // Real time has only minutes, so slots come by the second there.
    let often = if real { "* * * * * *" } else { "* * * * *" };
    let project = scene.project("p");
    for number in 0..8 {
        scene.demo("p", &format!("echo-{number}"), often, "echo");
    }
    scene.demo("p", "fails", often, "fail");
    scene.demo_with("p", "again", often, "fail", "policy:\n  retries: 1\n  retry_backoff: 1s");
    scene.demo("p", "overlaps", often, "slow");
    scene.demo_with("p", "waits", often, "slow", "policy:\n  overlap: queue");
    scene.settings(|settings| {
        settings.runs.global = 20;
        settings.runs.per_project = 20;
        settings.runs.pause_after_failures = 0;
    });
    let mut options = EngineOptions { watch: true, ..scene.options() };
    if let Some(clock) = clock {
        options.clock = clock;
    }
    let engine = Engine::open(options).await.expect("opens");
    engine.start().await.expect("starts");
    let data = scene.paths().data;
    let mut held = Vec::new();
    for _ in 0..3 {
        tokio::time::sleep(time / 3).await;
        // Somebody edits, looks, and goes on.
        scene.demo("p", "echo-0", often, "echo");
        engine.overview().await.expect("reads");
        engine.task_summaries(None).await.expect("reads");
        // A run that is under way has its thread and its connection: the look is between runs.
        engine.pause(None).await.expect("pauses");
        while under_way(&engine) > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // What a run leaves goes a moment after its row has ended; what leaks never does.
        let mut least = Held::now(&data);
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            loopkeeper_engine::memory::return_unused();
            least = least.or_less(&Held::now(&data));
        }
        held.push(least);
        engine.resume().await.expect("resumes");
    }
    let filter = RunFilter { limit: usize::MAX, ..RunFilter::default() };
    let rows = engine.ledger().runs(&filter).expect("reads");
    let ran = rows.iter().filter(|row| row.status == Status::Succeeded).count();
    engine.stop().await;
    println!("soak: {name}, {} s: {} rows, {ran} succeeded", time.as_secs(), rows.len());
    for held in &held {
        println!("soak:   {held:?}");
    }
    assert!(ran > 8, "there was load: {ran}");
    assert!(rows.iter().all(|row| row.project_id == project), "of this project");
    let [_, middle, end] = held[..] else { panic!("three looks") };
    assert!(end.handles <= middle.handles + 3, "handles: {middle:?}, then {end:?}");
    assert!(end.threads <= middle.threads + 8, "threads: {middle:?}, then {end:?}");
    assert!(end.files <= middle.files + 2, "files: {middle:?}, then {end:?}");
    let grown = end.resident_mb - middle.resident_mb;
    assert!(grown <= GROWTH_MB, "memory: {middle:?}, then {end:?}");
}
