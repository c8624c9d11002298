//! A disk that is full, a folder that refuses, and rubbish in place of locks.

use crate::stage::{Stage, dead_pid, wait};
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::ledger::{RunFilter, Status};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(90);

pub fn run() {
    full_disk();
    read_only();
    rubbish();
}

fn tasks() -> Vec<String> {
    vec!["t0".to_owned()]
}

/// Asserts that a worker with no trouble runs what is left: nothing is wedged.
fn goes_on(stage: &Stage, n: i64, what: &str) {
    let opts = json!({ "projects": ["p"], "tasks": tasks(), "n": n });
    assert!(wait(&mut stage.ours(&opts), LIMIT, what).success(), "{what}: it must go on");
    assert_eq!(stage.left_over(), Vec::<String>::new(), "{what}: nothing is left");
    let rows = stage.ledger().runs(&RunFilter::default()).expect("reads");
    assert!(rows.iter().all(|row| !row.status.is_open()), "{what}: nothing is open: {rows:?}");
    let ran = rows.iter().filter(|row| row.status == Status::Succeeded).count();
    let won = stage.noted("ours").iter().filter(|line| line[0] == "won").count();
    assert_eq!(ran, won, "{what}: what was sent is what the ledger says");
    assert!(ran >= 1, "{what}: the next slots run");
}

/// A file size limit stands for a full disk: the system refuses in the middle of a write.
fn full_disk() {
    let stage = Stage::new(&["p"], &tasks(), 700_000);
    let before = std::fs::read(stage.file("p")).expect("there");
    let opts = json!({ "projects": ["p"], "tasks": tasks(), "n": 3 });
    let exe = std::env::current_exe().expect("this test");
    let mut command = Command::new("sh");
    // 600 blocks of 512 or 1024 bytes: room for the ledger, not for the project.
    command.arg("-c").arg("trap '' XFSZ; ulimit -f 600; exec \"$0\" worker \"$1\"").arg(exe);
    let mut child = stage.start(command.arg(stage.work(&opts).to_string()));
    assert!(wait(&mut child, LIMIT, "full disk").success(), "it survives");
    let noted = stage.noted("ours");
    let errors = noted.iter().filter(|line| line[0] == "error").count();
    assert!(errors >= 3, "each claim is refused: {noted:?}");
    assert!(noted.iter().all(|line| line[0] != "won"), "nothing is sent without its claim");
    assert_eq!(std::fs::read(stage.file("p")).expect("there"), before, "the old file is intact");
    goes_on(&stage, 6, "after a full disk");
}

/// Root ignores permission bits, so the worker becomes somebody else.
fn read_only() {
    let stage = Stage::new(&["p"], &tasks(), 0);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    let user = Command::new("id").arg("-u").output().expect("id runs").stdout;
    let root = user.trim_ascii() == b"0";
    let exe = std::env::current_exe().expect("this test");
    let mut command = if root {
        let chown = Command::new("chown").args(["-R", "65534"]).arg(stage.root()).status();
        assert!(chown.expect("runs").success(), "the folder is given away");
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(exe);
        command
    } else {
        Command::new(exe)
    };
    allow(&stage.projects(), 0o555);
    let opts = json!({ "projects": ["p"], "tasks": tasks(), "n": 2 });
    let mut child = stage.start(command.arg("worker").arg(stage.work(&opts).to_string()));
    let ended = wait(&mut child, LIMIT, "read-only");
    allow(&stage.projects(), 0o755);
    if root {
        let chown = Command::new("chown").args(["-R", "0"]).arg(stage.root()).status();
        assert!(chown.expect("runs").success(), "the folder is taken back");
    }
    assert!(ended.success(), "it survives");
    let noted = stage.noted("ours");
    assert!(noted.iter().any(|line| line[0] == "error"), "it is told: {noted:?}");
    assert!(noted.iter().all(|line| line[0] != "won"), "nothing is sent without its claim");
    goes_on(&stage, 4, "after a read-only folder");
}

/// Everything that may stand where a lock should: each is taken over in its time, none for ever.
fn rubbish() {
    let now = SystemClock.now_ms();
    let living = std::process::id();
    let kinds: [(&str, Value); 8] = [
        ("empty", Value::Null),
        ("not JSON", json!("{\"pid\":")),
        ("no pid", json!({ "at": now })),
        ("a pid in words", json!({ "pid": "many", "at": now })),
        ("a dead process", json!({ "pid": dead_pid(), "at": now })),
        ("an old one of a living process", json!({ "pid": living, "at": now - 3_600_000 })),
        ("one from the future", json!({ "pid": living, "at": now + 86_400_000 })),
        (
            "another machine's",
            json!({ "pid": 1, "at": now, "nonce": "x", "machine": "other",
            "boot": "b", "namespace": "n", "started": 1 }),
        ),
    ];
    for (kind, content) in kinds {
        let stage = Stage::new(&["p"], &tasks(), 0);
        let text = match &content {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        std::fs::write(stage.lock("p"), text).expect("left there");
        // Awake time runs sixty times faster, since some of these are watched for a minute.
        let opts = json!({ "projects": ["p"], "tasks": tasks(), "n": 2, "faster": 60 });
        let what = format!("a lock that is {kind}");
        assert!(wait(&mut stage.ours(&opts), LIMIT, &what).success(), "{what}: it must go on");
        let noted = stage.noted("ours");
        assert_eq!(noted.iter().filter(|line| line[0] == "won").count(), 2, "{what}: {noted:?}");
        assert!(noted.iter().any(|line| line[0] == "took-over" && line[1] != "0"), "{what}");
        assert_eq!(stage.left_over(), Vec::<String>::new(), "{what}: nothing is left");
    }
}
