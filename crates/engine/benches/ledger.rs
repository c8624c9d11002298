//! What one run costs in the ledger, with every commit on the disk (`synchronous=FULL`).
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use criterion::{Criterion, criterion_group, criterion_main};
use loopkeeper_engine::clock::SystemClock;
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::{ClaimRequest, ClaimVerdict, Ending, Ledger, Status};
use loopkeeper_engine::task::TaskKey;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(600);

fn one_run(ledger: &Ledger, task: &TaskKey, slot: i64) {
    let request = ClaimRequest::scheduled(task.clone(), "Task", slot, LEASE);
    let Ok(ClaimVerdict::Won { run, fence }) = ledger.claim(&request) else { return };
    let _ = black_box(ledger.start(run, fence));
    let _ = black_box(ledger.finish(run, fence, &Ending::new(Status::Succeeded)));
}

fn ledger(c: &mut Criterion) {
    let Ok(dir) = tempfile::tempdir() else { return };
    let me = ProcessId::current().clone();
    let Ok(opened) = Ledger::open(dir.path(), me, Arc::new(SystemClock)) else { return };
    let ledger = opened.ledger;
    let mut slot = 1_800_000_000_000;
    c.bench_function("claim, start, finish", |b| {
        b.iter(|| {
            slot += 1;
            one_run(&ledger, &TaskKey::new("p", format!("t{}", slot % 100)), slot);
        });
    });
    c.bench_function("the last 15 rows of 100 tasks in short", |b| {
        b.iter(|| black_box(ledger.briefs_of_all(15)));
    });
    c.bench_function("the last end of 100 tasks", |b| {
        b.iter(|| black_box(ledger.last_ended_of_all()));
    });
}

criterion_group!(benches, ledger);
criterion_main!(benches);
