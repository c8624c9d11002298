//! The ledger: who runs what, and what became of every slot (PROTOCOL §4–7).
//!
//! One SQLite file per data folder, shared by all processes of ours. Every transition is one
//! statement guarded by status and fence, and its row count is the verdict: a lost race is a value.
//! All calls block; callers in async code use `spawn_blocking`. SQL takes its time from the
//! [`Clock`], never from SQLite, so that another server's clock can take its place one day.
//!
//! Deliberately absent: the shared JSON and its lock (`project`, `claim`), and any decision about
//! *when* to sweep, retry or prune (`runtime`).

mod account;
mod claim;
mod claimed;
mod control;
mod error;
mod follow;
mod history;
mod hold;
mod marker;
mod newest;
mod place;
mod replaced;
mod rest;
mod run;
mod schema;
mod status;
mod sweep;
mod waiting;

#[cfg(test)]
mod tests;

pub use account::{Account, AccountVerdict, HeldSlot, Sighting, SlotRow};
pub use claim::{Budget, ClaimRequest, ClaimVerdict, Gate};
pub use control::{Answer, Control, ControlVerdict};
pub use error::LedgerError;
pub use follow::{Ending, FinishVerdict, Verdict};
pub use history::{RunFilter, Stats};
pub use hold::{AutoPause, Pause};
pub use newest::Brief;
pub use place::{Filesystem, judge_filesystem};
pub use run::{ANSWER_LIMIT, Ask, AskKind, Run, RunDetail, Step, Tokens};
pub use status::{Reason, Status, Trigger};
pub use sweep::{Stale, StaleCause};
pub use waiting::WaitingRequest;

use crate::clock::Clock;
use crate::host::ProcessId;
use error::{Fault, from_sql};
use place::FileIdentity;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The ledger of one data folder; clones share one connection.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

/// A ledger that was opened, and what had to be put aside for it.
#[derive(Debug)]
pub struct Opened {
    /// The ledger.
    pub ledger: Ledger,
    /// Where the damaged file of before lies; `None` where all was well.
    pub set_aside: Option<PathBuf>,
}

struct Inner {
    dir: PathBuf,
    path: PathBuf,
    me: ProcessId,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    #[cfg(any(test, feature = "testing"))]
    probe: Mutex<Option<Probe>>,
    /// How often it was read or written.
    #[cfg(any(test, feature = "testing"))]
    asked: std::sync::atomic::AtomicUsize,
}

#[derive(Default)]
struct State {
    /// `None` after the file turned out damaged; the next call opens it again.
    open: Option<Open>,
    /// SQLite met damage since the last opening: the next one checks every page.
    suspect: bool,
    /// Counts reopenings, so that `data_version` changes with them.
    generation: i64,
    set_aside: Option<PathBuf>,
    /// Runs that this process holds, to be inserted again when the file was replaced.
    held: BTreeMap<i64, Held>,
    /// Beats ahead of the clock age from the awake time of first sight: (run, fence, beat) → then.
    first_seen: HashMap<(i64, i64, i64), Duration>,
}

struct Open {
    conn: Connection,
    identity: FileIdentity,
    _lock: File,
}

#[derive(Debug, Clone)]
struct Held {
    run: Run,
    lease: Duration,
}

/// What a probe makes of the point that is reached.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Injected {
    /// Nothing: go on.
    Nothing,
    /// The call fails as if another process wrote for too long.
    Busy,
    /// The call fails as if the disk were full.
    Full,
    /// The call fails as if the file were damaged.
    Corrupt,
}

#[cfg(any(test, feature = "testing"))]
type Probe = Arc<dyn Fn(&'static str) -> Injected + Send + Sync>;

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens the ledger in Loopkeeper's own folder `dir`, making both where they are missing.
    ///
    /// # Errors
    /// A network filesystem, a foreign owner, a folder without write permission, a schema of a
    /// newer program, or a damaged file that another process still has open.
    pub fn open(dir: &Path, me: ProcessId, clock: Arc<dyn Clock>) -> Result<Opened, LedgerError> {
        let path = dir.join("ledger.db");
        let (open, set_aside) = open_file(dir, &path, clock.now_ms(), false)?;
        let state = Mutex::new(State { open: Some(open), ..State::default() });
        let inner = Inner {
            dir: dir.to_owned(),
            path,
            me,
            clock,
            state,
            #[cfg(any(test, feature = "testing"))]
            probe: Mutex::new(None),
            #[cfg(any(test, feature = "testing"))]
            asked: std::sync::atomic::AtomicUsize::new(0),
        };
        Ok(Opened { ledger: Ledger { inner: Arc::new(inner) }, set_aside })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns where a damaged ledger was set aside since the last call, when it turned out damaged
    /// after [`Ledger::open`].
    pub fn take_set_aside(&self) -> Option<PathBuf> {
        self.lock().set_aside.take()
    }

    /// Returns a number that differs from the last answer when another process (or a reopening)
    /// changed the ledger; changes of this process do not show.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn data_version(&self) -> Result<i64, LedgerError> {
        let version = self.read("data_version", schema::data_version)?;
        Ok((self.lock().generation << 40) + version)
    }

    /// Lets go of the pages that are kept for the next reading; best effort.
    pub fn return_unused(&self) {
        let freed = self.read("freeing pages", |conn| conn.execute_batch("PRAGMA shrink_memory"));
        if let Err(error) = freed {
            tracing::debug!(%error, "the ledger's pages stay");
        }
    }

    /// Installs what is called at each named point of a write; it may panic to play a crash.
    #[cfg(any(test, feature = "testing"))]
    pub fn set_probe(&self, probe: impl Fn(&'static str) -> Injected + Send + Sync + 'static) {
        *self.inner.probe.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(probe));
    }

    /// Returns how often the ledger was read or written through this handle and its clones.
    #[cfg(any(test, feature = "testing"))]
    pub fn asked(&self) -> usize {
        self.inner.asked.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(any(test, feature = "testing"))]
    fn probe(&self, point: &'static str) -> Result<(), Fault> {
        let probe = self.inner.probe.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let path = self.inner.path.clone();
        let error = match probe.map_or(Injected::Nothing, |probe| probe(point)) {
            Injected::Nothing => return Ok(()),
            Injected::Busy => LedgerError::Busy { path },
            Injected::Full => LedgerError::Full { path },
            Injected::Corrupt => LedgerError::Corrupt { path, detail: point.to_owned() },
        };
        Err(error.into())
    }

    #[cfg(not(any(test, feature = "testing")))]
    #[inline(always)]
    #[allow(clippy::unnecessary_wraps, reason = "the same shape as under test")]
    fn probe(&self, _point: &'static str) -> Result<(), Fault> {
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic inside a transaction rolled it back, so the state is as sound as before.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.inner.clock.now_ms()
    }

    fn awake_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.awake().as_millis()).unwrap_or(i64::MAX)
    }

    fn me(&self) -> String {
        run::to_json(&self.inner.me)
    }

    /// Makes sure that the open file is the one at the path; else opens that one and inserts what
    /// this process is running.
    fn ensure_open<'a>(&self, state: &'a mut State) -> Result<&'a mut Open, LedgerError> {
        #[cfg(any(test, feature = "testing"))]
        self.inner.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let there = FileIdentity::of(&self.inner.path);
        let sound = state.open.as_ref().is_some_and(|open| Some(open.identity) == there);
        if !sound {
            state.open = None;
            let (mut open, set_aside) =
                open_file(&self.inner.dir, &self.inner.path, self.now(), state.suspect)?;
            let held: Vec<Held> = state.held.values().cloned().collect();
            let kept = self
                .insert_again(&mut open.conn, &held)
                .map_err(|fault| fault.at(&self.inner.path, "inserting running runs again"))?;
            state.held.retain(|id, _| kept.contains(id));
            state.open = Some(open);
            state.suspect = false;
            state.generation += 1;
            state.set_aside = set_aside.or(state.set_aside.take());
        }
        state.open.as_mut().ok_or_else(|| LedgerError::Corrupt {
            path: self.inner.path.clone(),
            detail: "it is closed".to_owned(),
        })
    }

    fn read<T>(
        &self,
        during: &'static str,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let mut state = self.lock();
        let open = self.ensure_open(&mut state)?;
        let answer = query(&open.conn).map_err(|e| from_sql(e, &self.inner.path, during));
        Self::close_if_damaged(&mut state, &answer);
        answer
    }

    fn write<T>(
        &self,
        during: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, LedgerError> {
        self.write_then(during, change, |_, _| {})
    }

    /// Runs one IMMEDIATE transaction, and `after` once it is committed. A deferred one that has
    /// read would fail at once when another writer was faster, whatever the busy wait.
    fn write_then<T>(
        &self,
        during: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
        after: impl FnOnce(&mut BTreeMap<i64, Held>, &T),
    ) -> Result<T, LedgerError> {
        let mut state = self.lock();
        let open = self.ensure_open(&mut state)?;
        let answer = self.transact(open, change).map_err(|f| f.at(&self.inner.path, during));
        Self::close_if_damaged(&mut state, &answer);
        if let Ok(answer) = &answer {
            after(&mut state.held, answer);
        }
        answer
    }

    fn transact<T>(
        &self,
        open: &mut Open,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.probe("begin")?;
        let tx = open.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = schema::version(&tx)?;
        let known = i64::try_from(schema::MIGRATIONS.len()).unwrap_or(i64::MAX);
        if found > known {
            let path = self.inner.path.clone();
            return Err(LedgerError::Newer { path, found, known }.into());
        }
        let answer = change(&tx)?;
        self.probe("commit")?;
        tx.commit()?;
        self.probe("committed")?;
        Ok(answer)
    }

    /// A damaged file is let go of, so that whoever gets the OS lock can set it aside.
    fn close_if_damaged<T>(state: &mut State, answer: &Result<T, LedgerError>) {
        if matches!(answer, Err(LedgerError::Corrupt { .. }))
            && let Some(open) = state.open.take()
        {
            state.suspect = true;
            // Best effort: where it cannot be said, closing folds the log in as usual.
            let _ = schema::keep_log(&open.conn, true);
        }
    }
}

/// Opens the file under the shared OS lock; a damaged one is set aside under the exclusive one.
fn open_file(
    dir: &Path,
    path: &Path,
    now_ms: i64,
    suspect: bool,
) -> Result<(Open, Option<PathBuf>), LedgerError> {
    let mut set_aside = None;
    for _ in 0..3 {
        place::prepare(dir)?;
        let lock = place::share(dir)?;
        match schema::connect(path, now_ms, schema::MIGRATIONS, suspect) {
            Ok(conn) => match FileIdentity::of(path) {
                Some(identity) => return Ok((Open { conn, identity, _lock: lock }, set_aside)),
                // Removed in between: once more.
                None => continue,
            },
            Err(LedgerError::Corrupt { .. }) => drop(lock),
            Err(other) => return Err(other),
        }
        let Some(_exclusive) = place::exclusive(dir)? else {
            return Err(LedgerError::DamagedInUse { path: path.to_owned() });
        };
        // Another process may have set it aside while we waited.
        if matches!(
            schema::connect(path, now_ms, schema::MIGRATIONS, suspect),
            Err(LedgerError::Corrupt { .. })
        ) {
            set_aside = Some(place::set_aside(path, now_ms)?);
        }
    }
    Err(LedgerError::Locked { path: path.to_owned() })
}
