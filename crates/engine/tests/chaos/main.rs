//! Real processes, ours and a second implementation of the plain protocol, share a folder while
//! they are killed, stopped and lied to. Afterwards every slot has exactly one ending or a recorded
//! reason, nothing acknowledged is lost and nothing is left; and the test fails when it met no
//! contention.
//!
//! `cargo test -p loopkeeper-engine --test chaos` is the short one, with `-- long` the long one.
//! Slots come as fast as they are claimed (each worker's wall clock stands at the slot it claims);
//! locks, liveness and leases keep real time.

#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod mixture;
#[cfg(unix)]
mod slot_clock;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod steps;
#[cfg(unix)]
mod verdict;
#[cfg(unix)]
mod worker;

#[cfg(unix)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["worker", work] => worker::main(work),
        // What the test runner asks every test program.
        [.., "--list"] | ["--list", ..] => println!("chaos: test"),
        words => all(words.contains(&"long")),
    }
}

#[cfg(not(unix))]
fn main() {
    println!("chaos: this system has no signals to send; nothing to do");
}

#[cfg(unix)]
fn all(long: bool) {
    let size = if long { mixture::Size::LONG } else { mixture::Size::SHORT };
    run("killed at every step of a claim", steps::run);
    run("full disk, read-only folder, rubbish in place of locks", faults::run);
    run("a mixture with the plain protocol", || mixture::run(&size));
    println!("chaos: ok");
}

#[cfg(unix)]
fn run(name: &str, part: impl FnOnce()) {
    use loopkeeper_engine::clock::{Clock, SystemClock};
    let start = SystemClock.awake();
    part();
    let taken = SystemClock.awake().saturating_sub(start);
    println!("chaos: {name}: ok ({:.1} s)", taken.as_secs_f64());
}
