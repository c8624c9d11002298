//! What runs in the background: timers, queue, workers and the sweep.
//!
//! One scheduler loop ([`scheduler`]) notices what is due and never waits for a run; each run has a
//! worker ([`worker`]) and a keeper ([`keeper`]) of its own, so a long run can silence neither the
//! loop nor its own heartbeat. The failure of one task ends at that task.

pub(crate) mod board;
mod finish;
mod journal;
mod keeper;
mod maintenance;
mod others;
mod policy;
mod queue;
mod refused;
mod scheduler;
mod signal;
mod slots;
pub(crate) mod sync;
mod timers;
mod worker;

pub(crate) use board::Board;
pub(crate) use worker::{Accepted, Progress, Refusal, defining_text};

use crate::Paths;
use crate::agent::{Agents, Control};
use crate::clock::Clock;
use crate::event::{EventBus, EventKind};
use crate::ledger::{Ledger, LedgerError};
use crate::project::Folder;
use crate::project::nudge::Nudger;
use crate::settings::Settings;
use crate::task::TaskKey;
use queue::{Limits, Queue};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use timers::Timers;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the host decides once.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub paths: Paths,
    /// This machine's name, as `run_on` writes it.
    pub host_name: String,
    /// This machine's zone (IANA).
    pub machine_zone: String,
    /// Whether files are watched; without it only explicit syncs look at them.
    pub watch: bool,
}

/// Everything that the background work shares.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub around: Surroundings,
    pub clock: Arc<dyn Clock>,
    pub ledger: Ledger,
    pub folder: Folder,
    pub agents: RwLock<Arc<Agents>>,
    pub settings: RwLock<Arc<Settings>>,
    pub events: EventBus,
    pub board: Mutex<Board>,
    timers: Mutex<Timers>,
    queue: Mutex<Queue>,
    active: Mutex<HashMap<i64, Arc<ActiveRun>>>,
    /// Runs whose end could not be written anywhere yet, by task; shown in place of the row.
    pub unwritten: Mutex<HashMap<i64, finish::Unwritten>>,
    tickets: Mutex<HashMap<u64, tokio::sync::oneshot::Sender<worker::Started>>>,
    next_ticket: AtomicU64,
    /// Rows that could not be written; tried again until they are.
    unrecorded: Mutex<Vec<crate::ledger::SlotRow>>,
    /// Held by the round that looks after everything.
    maintaining: Arc<tokio::sync::Mutex<()>>,
    /// One sync per project at a time.
    turns: Mutex<HashMap<String, Arc<Mutex<()>>>>,
    nudger: Option<Nudger>,
    /// The ledger's `data_version` that was seen last.
    seen_version: AtomicI64,
    /// Whether files are really watched: else the rounds alone find what others changed.
    pub is_watching: AtomicBool,
    /// Awake ms of the last round that looked after everything; 0 before the first.
    pub last_round: AtomicI64,
    /// Awake ms of the last time that unused memory was given back; 0 before the first.
    last_return: AtomicI64,
    /// Awake ms of the last pruning; 0 before the first.
    last_prune: AtomicI64,
    /// Awake ms of the last end of a run here, for ending an idle OpenCode server.
    last_end: AtomicI64,
    /// Told when everything was looked after, every 30 s.
    pub round: Notify,
    /// Wakes the scheduler loop.
    bell: Notify,
    /// Awake ms of the loop's last look at the clock; 0 before it started.
    last_look: AtomicI64,
    /// Whether it was told that the loop no longer looks.
    told_stalled: AtomicBool,
    /// Wall time when the loop started; what passed before was missed by nobody being there.
    began: AtomicI64,
    pub stopping: CancellationToken,
    /// Ends everything at once, as a kill does; only tests do.
    cut: CancellationToken,
    /// The task that looking at fails, in tests.
    #[cfg(any(test, feature = "testing"))]
    pub upset: Mutex<Option<TaskKey>>,
    pub tasks: TaskTracker,
}

/// One run that this process follows.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    pub run: i64,
    pub fence: i64,
    pub task: TaskKey,
    /// When the claim was made (`state.lastRunAt`), wall time.
    pub run_at: i64,
    pub slot: Option<i64>,
    /// The content hash of what runs.
    pub hash: String,
    pub controls: mpsc::Sender<Control>,
    pub progress: watch::Sender<worker::Progress>,
    /// The newest output; a tail.
    pub tail: Mutex<String>,
    pub trust: keeper::Trust,
    pub blocked: keeper::BlockedTime,
}

/// Locks a mutex; a panic elsewhere left its data as sound as before, since every change below is
/// made in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runtime {
    pub fn new(
        around: Surroundings,
        clock: Arc<dyn Clock>,
        ledger: Ledger,
        folder: Folder,
        agents: Agents,
        settings: Settings,
        cut: CancellationToken,
    ) -> Arc<Runtime> {
        let nudger = Nudger::new(&around.paths.data, Arc::clone(&clock)).ok();
        Arc::new(Runtime {
            around,
            clock,
            ledger,
            folder,
            agents: RwLock::new(Arc::new(agents)),
            settings: RwLock::new(Arc::new(settings)),
            events: EventBus::new(),
            board: Mutex::default(),
            timers: Mutex::default(),
            queue: Mutex::default(),
            active: Mutex::default(),
            unwritten: Mutex::default(),
            tickets: Mutex::default(),
            next_ticket: AtomicU64::new(1),
            unrecorded: Mutex::default(),
            maintaining: Arc::default(),
            turns: Mutex::default(),
            nudger,
            seen_version: AtomicI64::new(0),
            is_watching: AtomicBool::new(false),
            last_round: AtomicI64::new(0),
            last_return: AtomicI64::new(0),
            last_prune: AtomicI64::new(0),
            last_end: AtomicI64::new(0),
            round: Notify::new(),
            bell: Notify::new(),
            last_look: AtomicI64::new(0),
            told_stalled: AtomicBool::new(false),
            began: AtomicI64::new(0),
            stopping: CancellationToken::new(),
            cut,
            #[cfg(any(test, feature = "testing"))]
            upset: Mutex::default(),
            tasks: TaskTracker::new(),
        })
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn agents(&self) -> Arc<Agents> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn limits(&self) -> Limits {
        let runs = &self.settings().runs;
        let count = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        Limits { global: count(runs.global), per_project: count(runs.per_project) }
    }

    fn turn_of(&self, project_id: &str) -> Arc<Mutex<()>> {
        Arc::clone(lock(&self.turns).entry(project_id.to_owned()).or_default())
    }

    /// Runs what blocks (files, SQLite) away from the async threads.
    ///
    /// # Errors
    /// When the closure panicked: the one operation fails, nothing else.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Runtime>) -> T + Send + 'static,
    ) -> Result<T, Crashed> {
        let runtime = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            runtime.stop_if_cut();
            work(&runtime)
        })
        .await
        .map_err(|_| Crashed)
    }

    /// The same in the background, as part of what [`Runtime::tasks`] waits for.
    fn go_blocking(self: &Arc<Self>, work: impl FnOnce(&Arc<Runtime>) + Send + 'static) {
        let runtime = Arc::clone(self);
        self.tasks.spawn_blocking(move || {
            runtime.stop_if_cut();
            work(&runtime);
        });
    }

    /// Lets work go on in the background; [`Runtime::tasks`] waits for it.
    pub fn go<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let cut = self.cut.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = cut.cancelled() => std::future::pending().await,
                done = work => done,
            }
        })
    }

    fn stop_if_cut(&self) {
        if self.cut.is_cancelled() {
            std::panic::resume_unwind(Box::new("cut off"));
        }
    }

    pub fn emit(&self, kind: EventKind, task: Option<&TaskKey>, run: Option<i64>) {
        let (project, task) = match task {
            Some(key) => (Some(key.project_id.as_str()), Some(key.task_id.as_str())),
            None => (None, None),
        };
        self.events.send(self.clock.now_ms(), kind, project, task, run);
    }

    /// Returns awake time since boot in ms.
    pub fn awake_ms(&self) -> i64 {
        i64::try_from(self.clock.awake().as_millis()).unwrap_or(i64::MAX)
    }

    /// Says whether the scheduler loop has not looked at the clock for 120 s (case C04). A loop that
    /// never started is not stalled. Whoever sees it first tells everybody: the loop itself cannot,
    /// and a thread that only watches it would wake for nothing.
    pub fn is_stalled(&self) -> bool {
        const LIMIT_MS: i64 = 120_000;
        let last = self.last_look.load(Ordering::Relaxed);
        let stalled = last != 0 && self.awake_ms() - last > LIMIT_MS;
        if self.told_stalled.swap(stalled, Ordering::Relaxed) != stalled && stalled {
            tracing::warn!(last_look_ms = last, "the scheduler has stopped looking at the clock");
            self.emit(EventKind::Stalled, None, None);
        }
        stalled
    }

    /// Returns the run of a task that this process follows.
    pub fn active_of(&self, task: &TaskKey) -> Option<Arc<ActiveRun>> {
        lock(&self.active).values().find(|active| active.task == *task).cloned()
    }

    /// Returns a run that this process follows.
    pub fn active(&self, run: i64) -> Option<Arc<ActiveRun>> {
        lock(&self.active).get(&run).cloned()
    }

    fn active_ids(&self) -> Vec<i64> {
        lock(&self.active).keys().copied().collect()
    }

    /// Logs a ledger error where nothing better can be done, and tells the surfaces.
    fn ledger_trouble(&self, during: &str, error: &LedgerError) {
        tracing::warn!(%error, during, "the ledger could not be used");
        self.emit(EventKind::FileError, None, None);
    }
}

/// A piece of work panicked; its own operation failed, nothing else.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("an internal error ended this operation; the log has its trace, everything else goes on")]
pub(crate) struct Crashed;
