//! A place for tests: a home, a data folder and a project of their own, and the real program there.

#![allow(dead_code, reason = "each test program uses a part of it")]

#[path = "../../../../tests/programs.rs"]
pub mod programs;

#[allow(unused_imports, reason = "each test program uses a part of it")]
pub use programs::repository;

use serde_json::Value;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything here takes, also on a busy machine: a hang is a failure and not a wait.
pub const LIMIT: Duration = Duration::from_secs(180);

pub struct Place {
    pub root: tempfile::TempDir,
    pub home: PathBuf,
    pub data: PathBuf,
    pub project: PathBuf,
    /// What the program finds in its environment besides `HOME`, `PATH` and `TZ`.
    pub environment: Vec<(String, String)>,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Returns standard output as JSON, whatever the exit code.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Asserts that a person reads these parts on standard error.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Ran {
        for part in parts {
            assert!(self.err.contains(part), "must say `{part}`: {self:#?}");
        }
        assert!(!self.err.contains("panicked"), "bad input is no crash: {self:#?}");
        self
    }
}

#[allow(clippy::disallowed_methods, reason = "a test starts programs of this machine")]
pub fn path_variable() -> String {
    std::env::var("PATH").expect("a PATH")
}

impl Place {
    /// Makes a place with an empty project that is not registered yet.
    pub fn new() -> Place {
        let root = tempfile::tempdir().expect("a folder");
        let (home, data, project) =
            (root.path().join("home"), root.path().join("data"), root.path().join("project"));
        for folder in [&home, &project.join(".agents/loops")] {
            std::fs::create_dir_all(folder).expect("made");
        }
        Place { root, home, data, project, environment: Vec::new() }
    }

    /// Makes a place whose project is registered.
    pub fn registered() -> Place {
        let place = Place::new();
        place.register();
        place
    }

    pub fn register(&self) {
        self.run(&["projects", "add", "."]).exits(0);
    }

    /// Returns the command line of the program, with nothing of this machine in its environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopkeeper"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", path_variable())
            .env("TZ", "UTC")
            .env("OPENCHAMBER_DATA_DIR", &self.data)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.project)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// Runs the program with `--json`; it must succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).exits(0).json()
    }

    /// Returns the place of a loop file of the project.
    pub fn loop_path(&self, name: &str) -> PathBuf {
        self.project.join(".agents/loops").join(format!("{name}.md"))
    }

    /// Writes an enabled loop; `more` are further lines of its header.
    pub fn write_loop(&self, name: &str, schedule: &str, model: &str, more: &str, prompt: &str) {
        let text = format!(
            "---\nname: {name}\nschedule: \"{schedule}\"\nenabled: true\nmodel: {model}\n{more}---\n{prompt}\n"
        );
        std::fs::write(self.loop_path(name), text).expect("written");
    }

    /// Returns the file of the only project.
    pub fn project_file(&self) -> PathBuf {
        let files = std::fs::read_dir(self.data.join("projects")).expect("a folder");
        let mut json = files
            .map(|entry| entry.expect("read").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        json.next().expect("the project's file")
    }

    pub fn ledger(&self) -> PathBuf {
        let folder = self.data.join("loopkeeper");
        let files = std::fs::read_dir(&folder).expect("a folder");
        let mut found = files
            .map(|entry| entry.expect("read").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "db"));
        found.next().unwrap_or_else(|| panic!("a ledger in {}", folder.display()))
    }

    /// Starts `serve` on a free port.
    pub fn serve(&self, more: &[&str]) -> Serve {
        let mut command = self.command(&["serve", "--port", "0", "--json"]);
        let log = self.root.path().join("serve.log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a log");
        let mut child = command
            .args(more)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let out = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::BufReader::new(out).lines() {
                let Ok(line) = line else { return };
                let _ = sender.send(line);
            }
        });
        let serve =
            Serve { child, lines, log: self.root.path().join("serve.log"), seen: Vec::new() };
        serve.started()
    }

    /// Asks until there is an answer.
    #[allow(
        clippy::disallowed_methods,
        reason = "asking starts a process: a pause leaves the machine to what is waited for"
    )]
    pub fn until<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let deadline = now() + LIMIT;
        while now() < deadline {
            if let Some(answer) = ask() {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what} did not happen within {} s:\n{}", LIMIT.as_secs(), self.log());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.root.path().join("serve.log")).unwrap_or_default()
    }

    /// Returns all rows of the history, newest first.
    pub fn rows(&self) -> Vec<Value> {
        let rows = self.json(&["runs", "--all", "--limit", "1000"]);
        rows.as_array().expect("an array").clone()
    }
}

#[allow(clippy::disallowed_methods, reason = "a test's own time limit")]
pub fn now() -> Instant {
    Instant::now()
}

pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the program starts");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A `serve` that goes on; it ends with the test.
pub struct Serve {
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
    seen: Vec<Value>,
}

impl Serve {
    fn started(mut self) -> Serve {
        self.wait_for("the start of serve", |event| (event["event"] == "listening").then_some(()));
        self
    }

    /// Reads what it prints until the right line comes.
    pub fn wait_for<T>(&mut self, what: &str, mut find: impl FnMut(&Value) -> Option<T>) -> T {
        let deadline = now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                panic!("{what} did not happen:\n{:#?}\n{log}", self.seen);
            };
            let event: Value = serde_json::from_str(&line).expect("lines of JSON");
            let found = find(&event);
            self.seen.push(event);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// Waits until a run of this task has ended, and returns its row.
    pub fn end_of(&mut self, task: &str) -> Value {
        self.wait_for(&format!("the end of {task}"), |event| {
            let run = &event["run"];
            (event["event"] == "run_finished" && run["taskName"] == task).then(|| run.clone())
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut does.
    pub fn kill_9(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    /// Asks it to end as a system does, and returns how it did.
    pub fn terminate(mut self) -> ExitStatus {
        // The shell's own: a small system has no program for it.
        let kill = format!("kill -TERM {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success());
        self.child.wait().expect("ended")
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
