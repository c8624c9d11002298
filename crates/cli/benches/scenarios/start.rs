//! From the start of the program until everything is armed.

use crate::figure::{Figure, ms};
use crate::load::Load;
use crate::program::Program;
use std::fs;
use std::path::Path;

const TURNS: usize = 5;

pub fn run() {
    for tasks in [0, 100, 1_000, 5_000] {
        let load = Load::of(tasks);
        let words = load.words();
        let first = Program::start(&load).armed_ms;
        if tasks == 5_000 {
            let words = format!("{words}, the very first start, which writes 50 shared files");
            let figure = Figure { name: "start to armed", unit: "ms", load: &words, goal: None };
            figure.print(&[first]);
        }
        let armed: Vec<f64> = (0..TURNS).map(|_| Program::start(&load).armed_ms).collect();
        let goal = (tasks == 5_000).then_some(500.0);
        Figure { name: "start to armed", unit: "ms", load: &words, goal }.print(&armed);
        if tasks == 5_000 {
            let plain: Vec<f64> = (0..TURNS).map(|_| ms(|| read_all(&load))).collect();
            let name = "a plain reading of the same files";
            Figure { name, unit: "ms", load: &words, goal: None }.print(&plain);
        }
    }
}

/// Reads every loop file and every shared file once, as whoever wants to know all of them must.
fn read_all(load: &Load) {
    let read = |folder: &Path| {
        for file in fs::read_dir(folder).expect("listed").flatten() {
            std::hint::black_box(fs::read(file.path()).expect("read"));
        }
    };
    read(&load.data().join("projects"));
    for project in fs::read_dir(load.root().join("projects")).expect("listed").flatten() {
        read(&loopkeeper_engine::loops_folder(&project.path()));
    }
}
