//! Whole engines: a sync of everything, and what surfaces ask for most.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::testing::Scene;
use std::hint::black_box;
use std::path::PathBuf;
use tokio::runtime::Runtime;

const PER_PROJECT: usize = 100;

struct Stage {
    scene: Scene,
    engine: Engine,
    one: PathBuf,
}

/// Opens an engine on so many tasks, a hundred in a project, all of them synced.
async fn stage(tasks: usize) -> Stage {
    let scene = Scene::at("2026-05-05T09:00:00Z");
    let prompt = "Say what changed. ".repeat(28);
    let mut one = PathBuf::new();
    for number in 0..tasks / PER_PROJECT {
        let name = format!("p{number:02}");
        scene.project(&name);
        for task in 0..PER_PROJECT {
            let header = "enabled: true\nschedule: \"30 9 1 1 *\"\ntimezone: UTC\nmodel: demo/echo";
            one = scene.write_loop(&name, &format!("task-{task:03}"), header, &prompt);
        }
    }
    // One that watches believes its picture; one that does not syncs before each answer.
    let options = EngineOptions { watch: true, ..scene.options() };
    let engine = Engine::open(options).await.expect("opens");
    engine.start().await.expect("starts");
    Stage { scene, engine, one }
}

fn engine(bench: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = bench.benchmark_group("engine");
    group.sample_size(10);
    for tasks in [100, 1_000, 5_000] {
        let stage = runtime.block_on(stage(tasks));
        group.throughput(Throughput::Elements(tasks as u64));
        group.bench_function(BenchmarkId::new("full sync, unchanged", tasks), |bench| {
            bench.iter(|| runtime.block_on(stage.engine.sync_all_projects()).expect("syncs"));
        });
        let mut turn = 0;
        group.bench_function(BenchmarkId::new("full sync, one changed", tasks), |bench| {
            bench.iter(|| {
                turn += 1;
                let text = std::fs::read_to_string(&stage.one).expect("read");
                std::fs::write(&stage.one, format!("{text}{turn}\n")).expect("written");
                runtime.block_on(stage.engine.sync_all_projects()).expect("syncs");
            });
        });
        group.bench_function(BenchmarkId::new("overview", tasks), |bench| {
            bench.iter(|| black_box(runtime.block_on(stage.engine.overview()).expect("reads")));
        });
        group.bench_function(BenchmarkId::new("list of all tasks", tasks), |bench| {
            bench.iter(|| {
                black_box(runtime.block_on(stage.engine.task_summaries(None)).expect("reads"))
            });
        });
        drop(stage.scene);
    }
    group.finish();
}

criterion_group!(benches, engine);
criterion_main!(benches);
