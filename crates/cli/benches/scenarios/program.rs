//! The real program, and what the system says about it.

use crate::load::Load;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A `serve` on a load; it ends when this is dropped.
pub struct Program {
    child: Child,
    /// From its start until everything was armed.
    pub armed_ms: f64,
    pub url: String,
    token: PathBuf,
}

/// What the system counted of a process until now.
#[derive(Clone)]
pub struct Counters {
    /// Voluntary switches of each thread: as often it slept and was woken.
    wakes: HashMap<u32, u64>,
    cpu_ns: u64,
    /// Write calls, and bytes that went to the disk.
    pub writes: u64,
    pub written: u64,
}

impl Program {
    /// Starts the program on a load and waits until it has armed everything.
    pub fn start(load: &Load) -> Program {
        let began = Instant::now();
        let mut child = Command::new(path())
            .args(["serve", "--port", "0", "--json"])
            .env_clear()
            .env("HOME", load.home())
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            .env("OPENCHAMBER_DATA_DIR", load.data())
            .env("LOOPKEEPER_CONFIG", load.settings())
            .current_dir(load.root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let out = child.stdout.take().expect("piped");
        let mut lines = BufReader::new(out).lines();
        let mut armed_ms = 0.0;
        let url = loop {
            let line = lines.next().expect("it goes on").expect("text");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            match value["event"].as_str() {
                Some("started") => armed_ms = began.elapsed().as_secs_f64() * 1000.0,
                Some("listening") => break value["url"].as_str().expect("a URL").to_owned(),
                _ => {}
            }
        };
        // Whatever it prints is read, so that nothing holds it up.
        std::thread::spawn(move || lines.for_each(drop));
        Program { child, armed_ms, url, token: load.data().join("loopkeeper/token") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(&self.token).expect("a token").trim().to_owned()
    }

    /// Returns host and port.
    pub fn address(&self) -> String {
        self.url.trim_start_matches("http://").trim_end_matches('/').to_owned()
    }

    /// Returns resident memory in MB.
    pub fn resident(&self) -> f64 {
        resident(self.pid())
    }

    /// Returns what was counted until now.
    pub fn counters(&self) -> Counters {
        let base = format!("/proc/{}", self.pid());
        let mut counters = Counters { wakes: HashMap::new(), cpu_ns: 0, writes: 0, written: 0 };
        for task in fs::read_dir(format!("{base}/task")).expect("a process").flatten() {
            let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let name = task.file_name().to_string_lossy().parse().unwrap_or(0);
            counters.wakes.insert(name, number(&status, "voluntary_ctxt_switches:"));
            let schedstat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let ran = schedstat.split(' ').next().and_then(|word| word.parse::<u64>().ok());
            counters.cpu_ns += ran.unwrap_or(0);
        }
        let io = fs::read_to_string(format!("{base}/io")).unwrap_or_default();
        counters.writes = number(&io, "syscw:");
        counters.written = number(&io, "write_bytes:");
        counters
    }
}

impl Counters {
    /// Returns how often threads were woken since then.
    pub fn wakes_since(&self, before: &Counters) -> u64 {
        let woken = |(thread, now): (&u32, &u64)| now - before.wakes.get(thread).unwrap_or(&0);
        self.wakes.iter().map(woken).sum()
    }

    /// Returns the processor time since then in ms.
    pub fn cpu_ms_since(&self, before: &Counters) -> f64 {
        self.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e6
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that this benchmark was built with, or another one.
fn path() -> PathBuf {
    std::env::var_os("LOOPKEEPER")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_loopkeeper")), PathBuf::from)
}

/// Returns the resident memory of a process in MB.
pub fn resident(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    number(&status, "VmRSS:") as f64 / 1024.0
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
