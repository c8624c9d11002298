//! Several real processes on one project file: ours, and a second implementation of the plain
//! protocol in another language. Nothing that was acknowledged may be lost, nothing may be left.

#[allow(dead_code, reason = "its main is the example's")]
#[path = "../../examples/lock_worker.rs"]
mod lock_worker;

use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::project::{Document, Folder, read_only};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where a worker finds its work.
const WORK: &str = "LOOPKEEPER_TEST_WORK";

/// Is started by the other tests as a process of its own; without work it has nothing to show.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test runner takes no arguments of ours")]
fn worker() {
    let Ok(work) = std::env::var(WORK) else { return };
    let work: Value = serde_json::from_str(&work).expect("JSON");
    let text = |key: &str| work[key].as_str().expect("text").to_owned();
    let answer = lock_worker::answer(&text("mode"), &text("dir"), "p", &work["opts"]);
    println!("\n{}", answer.expect("a mode"));
}

struct Shared {
    _root: tempfile::TempDir,
    dir: PathBuf,
}

impl Shared {
    fn new() -> Shared {
        let root = tempfile::tempdir().expect("a folder");
        let dir = root.path().join("projects");
        std::fs::create_dir(&dir).expect("created");
        let config = json!({ "version": 1, "kept": [1.0], "scheduledTasks": [{
            "id": "t0", "name": "T", "enabled": true, "future": { "a": 1 },
            "schedule": { "kind": "cron", "cron": "0 9 * * *", "timezone": "UTC" },
            "execution": { "prompt": "p", "providerID": "demo", "modelID": "echo" },
            "state": { "lastDurationMs": 0 },
        }]});
        std::fs::write(dir.join("p.json"), config.to_string()).expect("written");
        Shared { _root: root, dir }
    }

    fn ours(&self, mode: &str, opts: &Value) -> Child {
        let exe = std::env::current_exe().expect("this test");
        self.start(&mut Command::new(exe), mode, opts)
    }

    /// Starts this test binary as a worker; `command` names it, and how it is called.
    fn start(&self, command: &mut Command, mode: &str, opts: &Value) -> Child {
        let work = json!({ "mode": mode, "dir": self.dir, "opts": opts });
        command
            .args(["--exact", "worker", "--nocapture"])
            .env(WORK, work.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started")
    }

    fn plain(&self, mode: &str, opts: &Value) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sharing/plain_worker.mjs");
        Command::new("node")
            .arg(script)
            .arg(mode)
            .arg(&self.dir)
            .args(["p", &opts.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is needed for the second implementation")
    }

    fn leave_stale_lock(&self) {
        let mut dead = Command::new("true").spawn().expect("started");
        dead.wait().expect("ended");
        let lock = json!({ "pid": dead.id(), "at": SystemClock.now_ms() });
        std::fs::write(self.dir.join("p.json.lock"), lock.to_string()).expect("left behind");
    }

    fn document(&self) -> Document {
        read_only(&Folder::new(&self.dir), "p").expect("the file is always whole")
    }

    fn counted(&self) -> i64 {
        let document = self.document();
        let task = document.task("t0").expect("always there");
        task.state.last_duration_ms.unwrap_or(0)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.dir).expect("there");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("readable").file_name().to_string_lossy().into_owned()
        };
        entries.map(name).collect()
    }
}

/// Waits for a worker and returns its line of JSON; `None` when it was killed.
fn answer(child: Child) -> Option<Value> {
    let output = child.wait_with_output().expect("ended");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

fn sum(answers: &[Value], key: &str) -> i64 {
    answers.iter().map(|answer| answer[key].as_i64().unwrap_or(0)).sum()
}

fn errors(answers: &[Value]) -> Vec<&Value> {
    answers.iter().filter_map(|answer| answer["errors"].as_array()).flatten().collect()
}

#[test]
fn processes_of_both_kinds_increment_a_counter_and_the_sum_is_exact() {
    let shared = Shared::new();
    let opts = json!({ "n": 60, "task": "t0", "startAt": SystemClock.now_ms() + 300 });
    let mut children: Vec<Child> = (0..3).map(|_| shared.ours("counter", &opts)).collect();
    children.extend((0..2).map(|_| shared.plain("counter", &opts)));
    let answers: Vec<Value> = children.into_iter().filter_map(answer).collect();
    assert_eq!(errors(&answers), Vec::<&Value>::new(), "nobody may time out");
    assert_eq!(sum(&answers, "ok"), 300);
    assert_eq!(shared.counted(), 300, "no acknowledged write may be lost");
    assert_eq!(shared.names(), ["p.json"], "no lock and no temporary file is left");
    let text = shared.document().to_text();
    assert!(text.contains("\"future\"") && text.contains("\"kept\""), "unknown keys stay: {text}");
}

#[test]
fn processes_add_tasks_and_none_is_lost() {
    let shared = Shared::new();
    let opts = json!({ "n": 20 });
    let children: Vec<Child> = (0..3).map(|_| shared.ours("upsert", &opts)).collect();
    let answers: Vec<Value> = children.into_iter().filter_map(answer).collect();
    assert_eq!(errors(&answers), Vec::<&Value>::new());
    assert_eq!(shared.document().tasks().len(), 61, "each task that was acknowledged is there");
    assert_eq!(shared.names(), ["p.json"]);
}

#[test]
fn critical_sections_never_overlap() {
    let shared = Shared::new();
    let log = shared.dir.parent().expect("a parent").join("log");
    let opts = json!({ "n": 15, "csMs": 3, "log": log, "startAt": SystemClock.now_ms() + 300 });
    let mut children: Vec<Child> = (0..2).map(|_| shared.ours("cs", &opts)).collect();
    children.extend((0..2).map(|_| shared.plain("cs", &opts)));
    let answers: Vec<Value> = children.into_iter().filter_map(answer).collect();
    assert_eq!(sum(&answers, "entered"), 60, "{answers:?}");
    let text = std::fs::read_to_string(log).expect("logged");
    let mut spans: Vec<(u128, u128)> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1).filter_map(|field| field.parse().ok());
            Some((fields.next()?, fields.next()?))
        })
        .collect();
    spans.sort_unstable();
    assert_eq!(spans.len(), 60, "each section is logged");
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "two were inside at once: {pair:?}");
    }
}

/// Kills a worker at a step of its third change; the next one must work at once and clean up.
fn killed_at(step: &str) {
    let shared = Shared::new();
    let opts = json!({ "n": 5, "task": "t0", "dieAt": step, "dieAfter": 3 });
    assert!(answer(shared.ours("counter", &opts)).is_none(), "{step}: it must have been killed");
    let before = shared.counted();
    assert!(before == 2 || (before == 3 && step != "Locked"), "{step}: {before}");
    let after = [answer(shared.ours("counter", &json!({ "n": 1, "task": "t0" }))).expect("ends")];
    assert_eq!(errors(&after), Vec::<&Value>::new(), "{step}: a dead holder blocks nobody");
    assert_eq!(shared.counted(), before + 1, "{step}: nothing is lost");
    assert_eq!(shared.names(), ["p.json"], "{step}: what the dead one left is removed");
}

#[test]
fn a_process_killed_at_any_step_leaves_a_whole_file_and_no_rubbish() {
    for step in ["Guarded", "Locked", "BeforeFsync", "BeforeVerify"] {
        killed_at(step);
    }
    for step in ["BeforeRename", "AfterRename", "BeforeUnlink"] {
        killed_at(step);
    }
}

#[test]
fn a_process_killed_in_a_take_over_blocks_nobody() {
    let shared = Shared::new();
    shared.leave_stale_lock();
    let opts = json!({ "n": 1, "task": "t0", "dieAt": "Displaced" });
    assert!(answer(shared.ours("counter", &opts)).is_none(), "it must have been killed");
    let after = [answer(shared.ours("counter", &json!({ "n": 1, "task": "t0" }))).expect("ends")];
    assert_eq!(errors(&after), Vec::<&Value>::new());
    assert_eq!(shared.counted(), 1);
    assert_eq!(shared.names(), ["p.json"], "the displaced lock is removed too");
}

#[test]
fn processes_that_meet_a_stale_lock_together_lose_nothing() {
    for round in 0..5 {
        let shared = Shared::new();
        shared.leave_stale_lock();
        let opts = json!({ "n": 5, "task": "t0", "startAt": SystemClock.now_ms() + 250 });
        let children: Vec<Child> = (0..3).map(|_| shared.ours("counter", &opts)).collect();
        let answers: Vec<Value> = children.into_iter().filter_map(answer).collect();
        assert_eq!(errors(&answers), Vec::<&Value>::new(), "round {round}");
        assert_eq!(shared.counted(), 15, "round {round}: only one may own what was stale");
        assert_eq!(shared.names(), ["p.json"], "round {round}");
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_an_error_that_names_it() {
    use std::os::unix::fs::PermissionsExt;
    let shared = Shared::new();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    allow(shared.dir.parent().expect("a parent"), 0o755);
    allow(&shared.dir, 0o555);
    let exe = std::env::current_exe().expect("this test");
    let user = Command::new("id").arg("-u").output().expect("id runs").stdout;
    // Root ignores permission bits, so the worker becomes somebody else.
    let mut command = if user.trim_ascii() == b"0" {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(exe);
        command
    } else {
        Command::new(exe)
    };
    let opts = json!({ "n": 1, "task": "t0" });
    let answer = answer(shared.start(&mut command, "counter", &opts)).expect("it ends");
    allow(&shared.dir, 0o755);
    let message = answer["errors"][0].as_str().unwrap_or_default();
    assert!(message.contains("cannot take the lock") && message.contains("p.json"), "{answer}");
    assert_eq!(shared.counted(), 0);
    assert_eq!(shared.names(), ["p.json"], "nothing is left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_refuses_writing_is_an_error_and_not_a_loss() {
    // A file size limit stands for a full disk: the system refuses in the middle of the write.
    let shared = Shared::new();
    let big = format!("{{\"scheduledTasks\":[],\"pad\":\"{}\"}}", "x".repeat(20_000));
    std::fs::write(shared.dir.join("p.json"), &big).expect("written");
    let work = json!({ "mode": "upsert", "dir": shared.dir, "opts": { "n": 1 } });
    let output = Command::new("sh")
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact worker --nocapture")
        .arg(std::env::current_exe().expect("this test"))
        .env(WORK, work.to_string())
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: Value = text
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("no answer: {text}"));
    assert_eq!(answer["ok"], 0, "{answer}");
    let message = answer["errors"][0].as_str().unwrap_or_default();
    assert!(message.contains("cannot write") && message.contains("p.json"), "{message}");
    let left = std::fs::read_to_string(shared.dir.join("p.json")).expect("there");
    assert_eq!(left, big, "the old file is intact");
    assert_eq!(shared.names(), ["p.json"], "lock and temporary file are gone");
}
