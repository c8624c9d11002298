//! Resident memory of `serve` by size.

use crate::figure::Figure;
use crate::load::Load;
use crate::program::Program;
use std::time::Duration;

pub fn run() {
    for tasks in [0, 100, 1_000, 5_000, 20_000] {
        let load = Load::of(tasks);
        drop(Program::start(&load));
        let program = Program::start(&load);
        std::thread::sleep(Duration::from_secs(15));
        let goal = (tasks == 5_000).then_some(25.0);
        Figure { name: "resident memory", unit: "MB", load: &load.words(), goal }
            .print(&[program.resident()]);
    }
}
