//! What a person waits for, by the number of tasks and by the length of the history.

use crate::events::ask;
use crate::figure::{Figure, ms};
use crate::load::Load;
use crate::program::Program;
use rusqlite::{Connection, params};

const TURNS: usize = 9;

/// What surfaces ask for most.
const QUESTIONS: [(&str, &str); 4] = [
    ("overview", "/api/overview"),
    ("the last 50 runs", "/api/runs?limit=50"),
    ("all tasks", "/api/tasks"),
    ("timeline of a day", "/api/timeline?from=1800000000000&to=1800086400000"),
];

pub fn run() {
    for (tasks, rows) in [(100, 0), (1_000, 0), (5_000, 0), (5_000, 10_000), (5_000, 100_000)] {
        let load = Load::of(tasks);
        drop(Program::start(&load));
        remember(&load, rows);
        let program = Program::start(&load);
        let words = format!("{tasks} tasks, {rows} rows of history");
        Figure { name: "start to armed", unit: "ms", load: &words, goal: None }
            .print(&[program.armed_ms]);
        let (address, token) = (program.address(), program.token());
        for (name, path) in QUESTIONS {
            let asked: Vec<f64> =
                (0..TURNS).map(|_| ms(|| drop(ask(&address, &token, "GET", path)))).collect();
            Figure { name, unit: "ms", load: &words, goal: None }.print(&asked);
        }
    }
}

/// Writes a history into the ledger, as many days of runs leave it.
fn remember(load: &Load, rows: usize) {
    if rows == 0 {
        return;
    }
    let path = load.data().join("loopkeeper/ledger.db");
    let mut ledger = Connection::open(path).expect("opened");
    let known: Vec<(String, String)> = ledger
        .prepare("SELECT project, task FROM account ORDER BY project, task")
        .and_then(|mut query| query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .expect("read");
    let written = ledger.transaction().expect("begun");
    for (project, task) in &known {
        // Whatever ran has its marker.
        written
            .execute("INSERT OR IGNORE INTO marker (project, task) VALUES (?, ?)", [project, task])
            .expect("written");
    }
    for row in 0..rows {
        let (project, task) = &known[row % known.len()];
        let at = 1_700_000_000_000 + i64::try_from(row).expect("small") * 60_000;
        written
            .execute(
                "INSERT INTO run (project, task, task_name, trigger, scheduled_for, status, \
                 created_at, started_at, finished_at, duration_ms, run_at, answer) \
                 VALUES (?1, ?2, ?2, 'scheduled', ?3, 'succeeded', ?3, ?3, ?3 + 900, 900, ?3, ?4)",
                params![project, task, at, "Nothing changed since yesterday."],
            )
            .expect("written");
    }
    written.commit().expect("committed");
}
