//! The ledger's rules, each on a real file with the production schema.

mod claims;
mod crash;
mod ends;
mod files;
mod past;
mod resting;
mod stale;

use super::*;
use crate::task::TaskKey;
use crate::testing::ManualClock;

const T0: i64 = 1_800_000_000_000;
const LEASE: Duration = Duration::from_secs(600);

struct Bed {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Bed { dir, clock: Arc::new(ManualClock::new(T0)) }
    }

    fn own(&self) -> PathBuf {
        self.dir.path().join("loopkeeper")
    }

    fn db(&self) -> PathBuf {
        self.own().join("ledger.db")
    }

    /// Opens the ledger as this process.
    fn open(&self) -> Ledger {
        self.open_as(ProcessId::current().clone())
    }

    fn open_as(&self, me: ProcessId) -> Ledger {
        Ledger::open(&self.own(), me, self.clock.clone()).expect("the ledger opens").ledger
    }

    /// Looks at the file through another connection, as another program would.
    fn raw(&self) -> Connection {
        Connection::open(self.db()).expect("the file opens")
    }
}

/// Another process: alive (it is our parent's pid, without a start time), never us.
fn neighbour() -> ProcessId {
    let mut other = ProcessId::of(std::os::unix::process::parent_id());
    other.started = 0;
    other
}

/// A process of this machine that has ended.
fn dead() -> ProcessId {
    let mut child = std::process::Command::new("true").spawn().expect("true starts");
    let id = ProcessId::of(child.id());
    child.wait().expect("true ends");
    id
}

fn key(task: &str) -> TaskKey {
    TaskKey::new("p", task)
}

fn slot(task: &str, at: i64) -> ClaimRequest {
    ClaimRequest::scheduled(key(task), "Task", at, LEASE)
}

fn win(ledger: &Ledger, request: &ClaimRequest) -> (i64, i64) {
    match ledger.claim(request).expect("the ledger answers") {
        ClaimVerdict::Won { run, fence } => (run, fence),
        other => panic!("the claim must be won, but is {other:?}"),
    }
}

fn running(ledger: &Ledger, task: &str, at: i64) -> (i64, i64) {
    let (run, fence) = win(ledger, &slot(task, at));
    assert_eq!(ledger.start(run, fence).expect("starts"), Verdict::Done, "a won claim starts");
    (run, fence)
}

fn status(ledger: &Ledger, run: i64) -> Status {
    ledger.run(run).expect("reads").expect("the row is there").run.status
}
