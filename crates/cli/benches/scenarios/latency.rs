//! From the instant at which a slot is due until the agent is asked, among 5,000 armed tasks.

use crate::figure::{Figure, percentile};
use crate::load::Load;
use crate::program::Program;
use crate::stub::Stub;
use std::time::{Duration, Instant};

/// A slot later than this is early for the next second.
const EARLY_US: u64 = 900_000;

pub fn run() {
    measure(1, 300);
    measure(4, 1_000);
}

/// Lets `together` slots in as many projects be due each second, until `occurrences` were asked.
fn measure(together: usize, occurrences: usize) {
    let stub = Stub::start();
    let load = Load::of(5_000 - together * 60);
    for number in 0..together {
        let project = load.project(&format!("fast{number}"));
        for second in 0..60 {
            let cron = format!("{second} * * * * *");
            load.write(&project, &format!("fast-{second:02}"), &cron, "stub/ok");
        }
    }
    let settings = format!(
        "[opencode]\nurl = \"{}\"\n[runs]\nglobal = 200\nper_project = 200\n[approval]\nmode = \"none\"\n",
        stub.url
    );
    std::fs::write(load.settings(), settings).expect("written");
    drop(Program::start(&load));
    let _program = Program::start(&load);
    let limit = Instant::now() + Duration::from_secs(60 + 2 * (occurrences / together) as u64);
    while stub.asked().len() < occurrences {
        assert!(Instant::now() < limit, "only {} sessions were asked for", stub.asked().len());
        std::thread::sleep(Duration::from_secs(1));
    }
    let mut late: Vec<f64> = stub.asked()[..occurrences]
        .iter()
        .map(|asked| {
            let within = asked % 1_000_000;
            if within > EARLY_US { within as f64 - 1e6 } else { within as f64 }
        })
        .map(|us| us / 1000.0)
        .collect();
    late.sort_by(f64::total_cmp);
    let words = format!("5000 armed, {together} due each second");
    let goal = (together == 1).then_some(50.0);
    let figure = |name, goal| Figure { name, unit: "ms", load: &words, goal };
    figure("due to agent asked, median", None).print_as(percentile(&late, 50.0), &late);
    figure("due to agent asked, p99", goal).print_as(percentile(&late, 99.0), &late);
    figure("due to agent asked, earliest", Some(0.0)).print_as(late[0], &late);
}
