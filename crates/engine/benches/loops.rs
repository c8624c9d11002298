//! Reading loop files: parse, discover and reconcile, by how many there are.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loopkeeper_engine::loops::{Cache, discover, parse};
use loopkeeper_engine::project::{Folder, reconcile, update};
use std::fs;
use std::hint::black_box;
use std::path::Path;

/// The standard load has prompts of 500 bytes.
fn text(name: &str) -> String {
    format!(
        "---\nname: {name}\nenabled: true\nschedule: \"30 9 * * 1-5\"\ntimezone: Europe/Kyiv\n\
         model: demo/echo\npolicy:\n  timeout: 10m\n---\n{}\n",
        "Say what changed. ".repeat(28)
    )
}

fn one(bench: &mut Criterion) {
    let text = text("digest");
    let mut group = bench.benchmark_group("parse");
    group.throughput(Throughput::Elements(1));
    group.bench_function("a loop file", |bench| {
        bench.iter(|| black_box(parse(black_box(text.as_bytes()))));
    });
    group.finish();
}

fn write(folder: &Path, count: usize) {
    let loops = loopkeeper_engine::loops_folder(folder);
    fs::create_dir_all(&loops).expect("made");
    fs::create_dir_all(folder.join(".git")).expect("made");
    for number in 0..count {
        let name = format!("task-{number:04}");
        fs::write(loops.join(format!("{name}.md")), text(&name)).expect("written");
    }
}

fn many(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("loops");
    group.sample_size(20);
    for count in [10, 100, 1_000, 5_000_usize] {
        let dir = tempfile::tempdir().expect("a folder");
        let (project, home) = (dir.path().join("project"), dir.path().join("home"));
        write(&project, count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("discover, never read", count), |bench| {
            bench.iter(|| black_box(discover(&project, &home, &mut Cache::default())));
        });
        let mut cache = Cache::default();
        let found = discover(&project, &home, &mut cache);
        group.bench_function(BenchmarkId::new("discover, unchanged", count), |bench| {
            bench.iter(|| black_box(discover(&project, &home, &mut cache)));
        });
        let folder = Folder::new(dir.path().join("projects"));
        let mut document = None;
        update(&folder, "p", |fresh| {
            reconcile(fresh, &found.loops, &[], "UTC", 1_800_000_000_000);
            document = Some(fresh.clone());
            Ok::<(), loopkeeper_engine::project::ProjectError>(())
        })
        .expect("written");
        let document = document.expect("read");
        group.bench_function(BenchmarkId::new("reconcile, unchanged", count), |bench| {
            bench.iter_batched(
                || document.clone(),
                |mut document| {
                    black_box(reconcile(&mut document, &found.loops, &[], "UTC", 1_800_000_000_000))
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, one, many);
criterion_main!(benches);
