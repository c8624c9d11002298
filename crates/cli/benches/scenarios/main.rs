//! What the built program costs, seen from outside: one line of JSON for each figure.
//!
//!     cargo bench -p loopkeeper --bench scenarios              all of them, about half an hour
//!     cargo bench -p loopkeeper --bench scenarios -- idle      those whose name is given
//!
//! Each figure says what it was measured on (`load`), how often (`n`), and how far the single
//! values lay apart (`min`, `max`); `goal` is what it should be.
#![allow(clippy::print_stdout, reason = "figures are what it prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks and starts programs")]

mod claims;
mod day;
mod events;
mod figure;
mod growth;
mod idle;
mod latency;
mod load;
mod memory;
mod program;
#[path = "../../../engine/tests/chaos/slot_clock.rs"]
mod slot_clock;
mod start;
mod stub;

fn main() {
    if !cfg!(target_os = "linux") {
        println!("scenarios: these read /proc, which only Linux has");
        return;
    }
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [word, work] = arguments.as_slice()
        && word == "claim-worker"
    {
        claims::worker(work);
        return;
    }
    let all: [(&str, fn()); 8] = [
        ("start", start::run),
        ("memory", memory::run),
        ("day", day::run),
        ("idle", idle::run),
        ("claims", claims::run),
        ("latency", latency::run),
        ("events", events::run),
        ("growth", growth::run),
    ];
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|word| word == name);
    figure::machine();
    for (name, scenario) in all {
        if wanted(name) {
            scenario();
        }
    }
}
