//! One process is killed at each step of its claim; the next ones must find everything in order.

use crate::stage::{BASE, Stage, wait};
use loopkeeper_engine::ledger::{RunFilter, Status};
use serde_json::json;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// Every point that a claim passes, of the file and of the ledger: the name, how often it was
/// passed before (opening and reading the ledger pass none), and what becomes of the slot.
const POINTS: [(&str, u64, Fate); 14] = [
    ("Guarded", 1, Fate::Free),
    ("Locked", 1, Fate::Free),
    ("begin", 1, Fate::Free),
    ("claim: insert", 1, Fate::Free),
    ("claim: marker", 1, Fate::Free),
    ("commit", 1, Fate::Free),
    ("committed", 1, Fate::Free),
    ("BeforeFsync", 1, Fate::Free),
    ("BeforeVerify", 1, Fate::Free),
    ("BeforeRename", 1, Fate::Free),
    ("AfterRename", 1, Fate::Spent),
    ("BeforeUnlink", 1, Fate::Spent),
    ("start: others", 1, Fate::Spent),
    ("committed", 2, Fate::Spent),
];

/// What a kill leaves of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The next process runs it.
    Free,
    /// The file shows it as claimed: it is never sent again, and says so.
    Spent,
}

pub fn run() {
    for (point, after, fate) in POINTS {
        killed_at(point, after, fate);
    }
}

fn killed_at(point: &str, after: u64, fate: Fate) {
    let tasks = ["t0".to_owned()];
    let stage = Stage::new(&["p"], &tasks, 0);
    let opts = json!({ "projects": ["p"], "tasks": tasks, "n": 1 });
    let mut deadly = opts.clone();
    deadly["dieAt"] = json!(point);
    deadly["dieAfter"] = json!(after);
    let name = format!("{point} {after}");
    let ended = wait(&mut stage.ours(&deadly), LIMIT, &name);
    assert_eq!(ended.code(), None, "{name}: it must have been killed");
    let won = stage.noted("ours").iter().filter(|line| line[0] == "won").count();
    assert_eq!(won, 0, "{name}: no agent was asked");
    // Two more: the first may meet the claim of the dead one, the second what the first left.
    for _ in 0..2 {
        assert!(wait(&mut stage.ours(&opts), LIMIT, &name).success(), "{name}: it must go on");
    }
    let won = stage.noted("ours").iter().filter(|line| line[0] == "won").count();
    let rows = stage.ledger().runs(&RunFilter::default()).expect("reads");
    assert_eq!(rows.len(), 1, "{name}: one slot, one row: {rows:?}");
    let state = stage.state("p", "t0");
    assert_eq!(state["lastScheduledFor"], json!(BASE), "{name}: the slot is spent");
    match fate {
        Fate::Free => {
            assert_eq!((won, rows[0].status), (1, Status::Succeeded), "{name}: it runs once");
            assert_eq!(state["lastStatus"], "success", "{name}");
        }
        Fate::Spent => {
            assert_eq!(won, 0, "{name}: whether it was sent is not known for sure");
            assert!(rows[0].status.is_failure(), "{name}: {:?}", rows[0]);
            assert_eq!(state["lastStatus"], "error", "{name}: it does not stay `running`");
        }
    }
    assert_eq!(stage.left_over(), Vec::<String>::new(), "{name}: nothing is left");
}
