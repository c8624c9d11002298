//! Half of the processes are ours, half follow the plain protocol with no care, and all are killed
//! and stopped at random.

use crate::stage::{Stage, dead_pid, nap};
use crate::verdict;
use loopkeeper_engine::clock::{Clock, SystemClock};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Child;
use std::time::Duration;

/// How much of everything.
pub struct Size {
    pub processes: usize,
    /// Projects that both kinds write; one more is for ours alone.
    pub mixed: usize,
    pub tasks: usize,
    /// Slots of each task.
    pub slots: i64,
    /// Ms between two slots, at the least.
    pub pace: i64,
    pub limit: Duration,
}

impl Size {
    /// 4 processes, 400 slots.
    pub const SHORT: Size = Size {
        processes: 4,
        mixed: 1,
        tasks: 2,
        slots: 100,
        pace: 150,
        limit: Duration::from_secs(120),
    };
    /// 8 processes, 10,000 slots.
    pub const LONG: Size = Size {
        processes: 8,
        mixed: 4,
        tasks: 4,
        slots: 500,
        pace: 400,
        limit: Duration::from_secs(3600),
    };
}

/// Points of file and ledger inside a claim at which one of ours may be killed.
const DEADLY: [&str; 14] = [
    "Guarded",
    "Displaced",
    "Locked",
    "BeforeFsync",
    "BeforeVerify",
    "BeforeRename",
    "AfterRename",
    "BeforeUnlink",
    "begin",
    "claim: insert",
    "claim: marker",
    "commit",
    "committed",
    "start: others",
];

/// The project in which only ours claim.
const OURS: &str = "o";

/// The project that only ours write: what they acknowledged must be there to the last one.
pub const COUNTED: &str = "counted";

struct Actor {
    ours: bool,
    child: Child,
    done: bool,
    stopped: bool,
}

struct Play<'a> {
    stage: &'a Stage,
    size: &'a Size,
    projects: Vec<String>,
    tasks: Vec<String>,
    start: i64,
    kills: usize,
    plain_started: usize,
}

impl Play<'_> {
    /// Starts one of ours; `dies` names where inside a claim it will be killed.
    fn ours(&self, dies: Option<(&str, u64)>) -> Actor {
        let mut opts = json!({
            "projects": self.projects, "tasks": self.tasks, "n": self.size.slots,
            "startAt": self.start, "pace": self.size.pace, "counter": COUNTED,
        });
        if let Some((point, after)) = dies {
            opts["dieAt"] = json!(point);
            opts["dieAfter"] = json!(after);
        }
        Actor { ours: true, child: self.stage.ours(&opts), done: false, stopped: false }
    }

    fn plain(&mut self) -> Actor {
        let project = &self.projects[self.plain_started % self.size.mixed];
        let name = format!("plain-{project}-{}", self.plain_started);
        self.plain_started += 1;
        let opts = json!({
            "tasks": self.tasks, "n": self.size.slots, "base": crate::stage::BASE,
            "startAt": self.start, "pace": self.size.pace, "log": self.stage.logs().join(name),
        });
        let child = self.stage.plain(project, &opts);
        Actor { ours: false, child, done: false, stopped: false }
    }
}

fn anywhere() -> (&'static str, u64) {
    (DEADLY[fastrand::usize(..DEADLY.len())], fastrand::u64(1..20))
}

pub fn run(size: &Size) {
    let tasks: Vec<String> = (0..size.tasks).map(|n| format!("t{n}")).collect();
    let projects: Vec<String> =
        (0..size.mixed).map(|n| format!("m{n}")).chain([OURS.to_owned()]).collect();
    let names: Vec<String> = projects.iter().cloned().chain([COUNTED.to_owned()]).collect();
    let stage = Stage::new(&names.iter().map(String::as_str).collect::<Vec<_>>(), &tasks, 0);
    let start = SystemClock.now_ms() + 500;
    let mut play = Play { stage: &stage, size, projects, tasks, start, kills: 0, plain_started: 0 };
    let mut actors: Vec<Actor> = (0..size.processes)
        .map(|n| match n % 4 {
            // A row without its claim in the file, a claim without its run.
            0 => play.ours(Some(("BeforeVerify", fastrand::u64(1..4)))),
            2 => play.ours(Some(("start: others", fastrand::u64(1..4)))),
            _ => play.plain(),
        })
        .collect();
    let began = SystemClock.awake();
    while actors.iter().any(|actor| !actor.done) {
        assert!(SystemClock.awake().saturating_sub(began) < size.limit, "it takes too long");
        nap(fastrand::u64(40..120));
        let chosen = fastrand::usize(..actors.len());
        disturb(&mut actors[chosen], &mut play);
        for actor in &mut actors {
            renew(actor, &mut play);
        }
    }
    // Last, one of ours looks after everything that is left.
    let mut last = json!({ "projects": play.projects, "tasks": play.tasks, "n": size.slots });
    last["touch"] = json!(names);
    last["newest"] = json!(true);
    let ended = crate::stage::wait(&mut stage.ours(&last), size.limit, "the last one");
    assert!(ended.success(), "the last one must find everything in order");
    verdict::check(&stage, &play.projects, &play.tasks, size.slots, play.kills);
}

/// Does something nasty to one process, or to a lock.
fn disturb(actor: &mut Actor, play: &mut Play<'_>) {
    if actor.done {
        return;
    }
    match fastrand::u8(..20) {
        // First come the deaths that were planned.
        0 if SystemClock.now_ms() > play.start + 1_500 => {
            signal(&actor.child, libc::SIGKILL);
            play.kills += 1;
        }
        1..=5 if !actor.stopped => {
            signal(&actor.child, libc::SIGSTOP);
            actor.stopped = true;
        }
        6 | 7 => {
            // What a process leaves that dies with the lock in its hands.
            let any = fastrand::usize(..=play.projects.len());
            let project = play.projects.get(any).map_or(COUNTED, String::as_str);
            let content = json!({ "pid": dead_pid(), "at": SystemClock.now_ms() });
            leave_lock(play.stage, project, &content);
        }
        8 | 9 => rewrite_without_lock(play.stage),
        _ if actor.stopped => {
            signal(&actor.child, libc::SIGCONT);
            actor.stopped = false;
        }
        _ => {}
    }
}

fn leave_lock(stage: &Stage, project: &str, content: &Value) {
    let lock = std::fs::File::create_new(stage.lock(project));
    if let Ok(mut lock) = lock {
        lock.write_all(content.to_string().as_bytes()).expect("written");
    }
}

/// Writes back what it read a moment ago, with no lock, as some writers do: it may erase a claim.
/// Only where ours are alone: there the ledger's rows keep what the file lost.
fn rewrite_without_lock(stage: &Stage) {
    let file = stage.file(OURS);
    let text = std::fs::read_to_string(&file).expect("the file is there");
    nap(fastrand::u64(1..8));
    let temporary = stage.root().join("rewritten");
    std::fs::write(&temporary, text).expect("written");
    std::fs::rename(temporary, file).expect("replaced");
}

/// Puts another process in the place of one that was killed.
fn renew(actor: &mut Actor, play: &mut Play<'_>) {
    let Some(ended) = actor.child.try_wait().expect("waited for") else { return };
    if ended.success() {
        actor.done = true;
    } else if !actor.done {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(ended.signal(), Some(libc::SIGKILL), "only we end processes: {ended:?}");
        let again =
            if actor.ours { play.ours(fastrand::bool().then(anywhere)) } else { play.plain() };
        *actor = again;
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // A failed assertion leaves nobody behind; one that has ended is not there to be killed.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn signal(child: &Child, signal: libc::c_int) {
    let pid = libc::pid_t::try_from(child.id()).expect("a pid");
    // SAFETY: the process is our child and was not waited for yet, so the pid is its.
    unsafe { libc::kill(pid, signal) };
}
