//! What an idle program costs: nobody looks, nothing is due, watching works.

use crate::figure::Figure;
use crate::load::Load;
use crate::program::Program;
use std::time::Duration;

/// The first round after the start looks after everything, and threads that helped with it end.
const SETTLE: Duration = Duration::from_secs(45);

/// Beyond five minutes, in which one whole round is made whether it is needed or not.
const MINUTES: usize = 6;

pub fn run() {
    let load = Load::of(5_000);
    // The second start: the shared files are written.
    drop(Program::start(&load));
    let program = Program::start(&load);
    std::thread::sleep(SETTLE);
    let mut minutes = vec![program.counters()];
    for _ in 0..MINUTES {
        std::thread::sleep(Duration::from_secs(60));
        minutes.push(program.counters());
    }
    let each = |value: fn(&crate::program::Counters, &crate::program::Counters) -> f64| {
        minutes.windows(2).map(|pair| value(&pair[1], &pair[0])).collect::<Vec<f64>>()
    };
    let words = format!("{}, idle, each of {MINUTES} minutes", load.words());
    let figure = |name, unit, goal| Figure { name, unit, load: &words, goal };
    figure("wake-ups", "a minute", Some(3.0))
        .print(&each(|now, before| now.wakes_since(before) as f64));
    figure("processor time", "ms a minute", Some(20.0))
        .print(&each(|now, before| now.cpu_ms_since(before)));
    figure("write calls", "a minute", Some(0.0))
        .print(&each(|now, before| (now.writes - before.writes) as f64));
    figure("bytes to the disk", "a minute", Some(0.0))
        .print(&each(|now, before| (now.written - before.written) as f64));
    figure("resident memory", "MB", Some(25.0)).print(&[program.resident()]);
}
