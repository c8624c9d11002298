//! Resident memory of `serve` after a day's work, done in four minutes.

use crate::figure::Figure;
use crate::load::Load;
use crate::program::Program;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// As many runs as 120 hourly loops do in a day.
const RUNS: u64 = 2_880;
const PROJECTS: usize = 4;
const LOOPS: usize = 3;
/// Memory goes back in the second round, and then at most every five minutes.
const QUIET: Duration = Duration::from_secs(40);
const REST: Duration = Duration::from_secs(340);

pub fn run() {
    let load = Load::of(5_000 - PROJECTS * LOOPS);
    let settings = "[runs]\nglobal = 200\nper_project = 200\n[approval]\nmode = \"none\"\n";
    fs::write(load.settings(), settings).expect("written");
    let projects: Vec<PathBuf> =
        (0..PROJECTS).map(|number| load.project(&format!("busy{number}"))).collect();
    drop(Program::start(&load));
    let program = Program::start(&load);
    std::thread::sleep(QUIET);
    let print = |name: &str, goal: Option<f64>| {
        let load = "5000 tasks, and 2880 runs in four minutes";
        Figure { name, unit: "MB", load, goal }.print(&[program.resident()]);
    };
    print("resident memory, before a day's work", None);
    let all: Vec<(PathBuf, String)> = projects
        .iter()
        .flat_map(|project| {
            (0..LOOPS).map(move |number| (project.clone(), format!("busy-{number}")))
        })
        .collect();
    for (project, name) in &all {
        load.write(project, name, "* * * * * *", "demo/echo");
    }
    std::thread::sleep(Duration::from_secs(RUNS / (PROJECTS * LOOPS) as u64));
    print("resident memory, at work", None);
    for (project, name) in &all {
        let folder = loopkeeper_engine::loops_folder(project);
        fs::remove_file(folder.join(format!("{name}.md"))).expect("removed");
    }
    std::thread::sleep(REST);
    print("resident memory, after a day's work", None);
    let ran = succeeded(&load);
    assert!(ran > RUNS / 2, "it worked: {ran} runs");
    Figure { name: "runs of a day", unit: "runs", load: "the same", goal: None }
        .print(&[ran as f64]);
}

fn succeeded(load: &Load) -> u64 {
    let ledger =
        rusqlite::Connection::open(load.data().join("loopkeeper/ledger.db")).expect("opened");
    let query = "SELECT count(*) FROM run WHERE status = 'succeeded'";
    let ran: i64 = ledger.query_row(query, [], |row| row.get(0)).expect("read");
    u64::try_from(ran).expect("a count")
}
