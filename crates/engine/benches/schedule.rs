//! How fast the next occurrence is found, by kind and zone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loopkeeper_engine::schedule::Compiled;
use loopkeeper_engine::task::Schedule;
use std::hint::black_box;

/// 2026-01-01T00:00:00Z, and steps that wander through the year, so that no answer is asked twice.
const START: i64 = 1_767_225_600_000;
const STEP: i64 = 7_919_003;
const YEAR: i64 = 31_536_000_000;

fn cron(text: &str, zone: &str) -> Schedule {
    Schedule::Cron { cron: text.to_owned(), timezone: Some(zone.to_owned()) }
}

fn next_after(bench: &mut Criterion) {
    let zone = "Europe/Kyiv";
    let times = vec!["08:00".to_owned(), "17:30".to_owned()];
    let timezone = Some(zone.to_owned());
    let cases = [
        ("every_5_minutes_utc", cron("*/5 * * * *", "UTC")),
        ("every_5_minutes", cron("*/5 * * * *", zone)),
        ("weekdays_at_9", cron("0 9 * * 1-5", zone)),
        ("weekdays_at_9_new_york", cron("0 9 * * 1-5", "America/New_York")),
        ("weekdays_at_9_lord_howe", cron("0 9 * * 1-5", "Australia/Lord_Howe")),
        ("last_friday", cron("0 9 * * 5L", zone)),
        ("quarterly", cron("0 9 1 */3 *", zone)),
        ("29_february", cron("0 9 29 2 *", zone)),
        ("daily", Schedule::Daily { times: times.clone(), timezone: timezone.clone() }),
        ("weekly", Schedule::Weekly { times, weekdays: vec![1, 4], timezone }),
    ];
    let mut group = bench.benchmark_group("next_after");
    group.throughput(Throughput::Elements(1));
    for (name, schedule) in cases {
        let compiled = Compiled::new(&schedule).expect("the cases are valid");
        let mut t = START;
        group.bench_function(name, |bench| {
            bench.iter(|| {
                t += STEP;
                if t > START + YEAR {
                    t -= YEAR;
                }
                black_box(compiled.next_after(black_box(t)))
            });
        });
    }
    group.finish();
}

fn compile(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("compile");
    let ordinary = cron("*/15 8-18 * * 1-5", "Europe/Kyiv");
    group.bench_function("ordinary", |bench| bench.iter(|| Compiled::new(black_box(&ordinary))));
    let never = cron("0 9 31 4 *", "Europe/Kyiv");
    group.bench_function("never_matching", |bench| bench.iter(|| Compiled::new(black_box(&never))));
    group.finish();
}

criterion_group!(benches, next_after, compile);
criterion_main!(benches);
