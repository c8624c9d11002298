//! A data folder with projects, the processes that work on it, and what they noted.

use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::Ledger;
use loopkeeper_engine::testing::ManualClock;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// 2026-05-05 09:00:00 UTC; slot k of every task is k minutes later.
pub const BASE: i64 = 1_777_971_600_000;
pub const MINUTE: i64 = 60_000;

/// A data folder in a temporary place.
pub struct Stage {
    root: tempfile::TempDir,
}

impl Stage {
    /// Makes projects, each with these tasks.
    pub fn new(projects: &[&str], tasks: &[String], pad: usize) -> Stage {
        let root = tempfile::tempdir().expect("a folder");
        let stage = Stage { root };
        for folder in [stage.projects(), stage.own(), stage.logs()] {
            std::fs::create_dir_all(folder).expect("created");
        }
        let task = |id: &String| {
            json!({
                "id": id, "name": id, "enabled": true, "future": { "kept": [1.0] },
                "schedule": { "kind": "cron", "cron": "* * * * *", "timezone": "UTC" },
                "execution": { "prompt": "p", "providerID": "demo", "modelID": "echo" },
                "state": { "createdAt": 1, "lastStatus": "idle", "lastDurationMs": 0 },
            })
        };
        let tasks: Vec<Value> = tasks.iter().map(task).collect();
        for project in projects {
            let config = json!({ "pad": "x".repeat(pad), "scheduledTasks": tasks });
            std::fs::write(stage.file(project), config.to_string()).expect("written");
        }
        stage
    }

    pub fn projects(&self) -> PathBuf {
        self.root.path().join("projects")
    }

    pub fn own(&self) -> PathBuf {
        self.root.path().join("loopkeeper")
    }

    pub fn logs(&self) -> PathBuf {
        self.root.path().join("logs")
    }

    pub fn file(&self, project: &str) -> PathBuf {
        self.projects().join(format!("{project}.json"))
    }

    pub fn lock(&self, project: &str) -> PathBuf {
        self.projects().join(format!("{project}.json.lock"))
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn config(&self, project: &str) -> Value {
        let text = std::fs::read_to_string(self.file(project)).expect("the file is there");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{project}: {error}: {text}"))
    }

    pub fn state(&self, project: &str, task: &str) -> Value {
        let config = self.config(project);
        let tasks = config["scheduledTasks"].as_array().expect("tasks");
        tasks.iter().find(|found| found["id"] == task).expect("the task")["state"].clone()
    }

    /// Lists what lies in the projects folder beside the projects' files.
    pub fn left_over(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.projects()).expect("lists").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".json")).collect()
    }

    /// Opens the ledger as this process, with a clock that stands still.
    pub fn ledger(&self) -> Ledger {
        let clock = Arc::new(ManualClock::new(BASE));
        let me = ProcessId::current().clone();
        Ledger::open(&self.own(), me, clock).expect("the ledger is sound").ledger
    }

    /// Starts one of our workers.
    pub fn ours(&self, opts: &Value) -> Child {
        let exe = std::env::current_exe().expect("this test");
        self.start(Command::new(exe).arg("worker").arg(self.work(opts).to_string()))
    }

    /// What a worker is told.
    pub fn work(&self, opts: &Value) -> Value {
        let mut work = opts.clone();
        work["root"] = json!(self.root());
        work
    }

    /// Starts a worker of the plain protocol on one project.
    pub fn plain(&self, project: &str, opts: &Value) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sharing/plain_worker.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg("claim").arg(self.projects()).args([project, &opts.to_string()]);
        self.start(&mut command)
    }

    pub fn start(&self, command: &mut Command) -> Child {
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("started")
    }

    /// Reads every line that a kind of worker noted, as words.
    pub fn noted(&self, kind: &str) -> Vec<Vec<String>> {
        let entries = std::fs::read_dir(self.logs()).expect("lists").flatten();
        let of_kind = entries.filter(|e| e.file_name().to_string_lossy().starts_with(kind));
        let texts = of_kind.map(|entry| std::fs::read_to_string(entry.path()).expect("read"));
        let lines: Vec<String> =
            texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }
}

/// The pid of a process that has ended.
pub fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("started");
    let pid = child.id();
    child.wait().expect("ended");
    pid
}

/// Waits in real time, which is what locks and processes live in.
#[allow(clippy::disallowed_methods, reason = "real processes are given real time")]
pub fn nap(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Waits for a process for as long as it may take; ends it when it takes longer.
pub fn wait(child: &mut Child, limit: Duration, what: &str) -> std::process::ExitStatus {
    let start = SystemClock.awake();
    loop {
        if let Some(status) = child.try_wait().expect("waited for") {
            return status;
        }
        if SystemClock.awake().saturating_sub(start) > limit {
            child.kill().expect("ended");
            child.wait().expect("ended");
            panic!("{what}: it did not end within {limit:?}");
        }
        nap(5);
    }
}
