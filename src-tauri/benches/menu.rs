//! What the tray's menu costs, by the number of tasks: its model, from an overview and a list.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use chrono_tz::Tz;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use loopkeeper_desktop_lib::tray::build::{Facts, build};
use loopkeeper_engine::view::{Overview, TaskSummary};
use serde_json::{Value, json};
use std::hint::black_box;

const NOW: i64 = 1_800_000_000_000;

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("as the engine tells it")
}

fn task(number: usize) -> TaskSummary {
    made(json!({
        "projectId": "p", "projectLabel": "project", "id": format!("t{number}"),
        "name": format!("task {number}"), "enabled": true, "condition": "armed",
        "words": "Every day at 09:00", "timezone": "UTC", "foreignZone": false,
        "model": "demo/echo", "nextRunAt": NOW + 60_000, "seenIn": 1, "recent": [],
    }))
}

/// A failed run that wants somebody.
fn need(number: usize) -> Value {
    json!({
        "id": format!("failed:{number}"), "kind": "failed", "at": NOW, "runId": number,
        "text": "task failed: the model answered 429", "help": "Run it again.",
        "projectId": "p", "taskId": format!("t{number}"), "taskName": format!("task {number}"),
    })
}

fn menu(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("menu");
    for count in [0, 10, 100, 1_000, 5_000_usize] {
        let tasks: Vec<TaskSummary> = (0..count).map(task).collect();
        let needs: Vec<Value> = (0..count / 10).map(need).collect();
        let overview: Overview = made(json!({
            "now": NOW, "armed": count, "tasks": count, "projects": 1, "running": [],
            "needsYou": needs, "stalled": false, "warnings": [],
        }));
        let facts = Facts {
            overview: Some(&overview),
            tasks: &tasks,
            now: NOW,
            zone: Tz::UTC,
            start_at_login: Some(true),
            problem: None,
        };
        group.bench_function(BenchmarkId::new("tasks, a tenth of them in need", count), |bench| {
            bench.iter(|| build(black_box(&facts)));
        });
    }
    group.finish();
}

criterion_group!(benches, menu);
criterion_main!(benches);
