//! The engine's handle: one plain async method per operation.
//!
//! The router maps them to HTTP once, and the command line and the desktop call them as they are.
//! Every answer is drawn afresh; nothing is cached between calls.

mod agents;
mod approvals;
mod doctor;
mod loop_files;
mod needs;
mod news;
mod overview;
mod plan;
mod projects;
mod runs;
mod schedules;
mod summaries;
mod tasks;
#[cfg(any(test, feature = "testing"))]
mod testing;
mod timeline;
mod types;
mod watching;

pub use crate::agent::OpenCodeEnvironment;
pub use plan::{Plan, TaskPlan};
pub use schedules::{check_loop, preview_schedule};
#[cfg(any(test, feature = "testing"))]
pub use testing::Seat;
pub use types::{EngineError, EngineOptions, Result, Upserted, WaitFor};

use crate::event::{EventBus, EventKind};
use crate::host::ProcessId;
use crate::ledger::{Ledger, LedgerError};
use crate::loops::watch::Watcher;
use crate::project::{Folder, ProjectError};
use crate::runtime::{Runtime, Surroundings, lock};
use crate::task::TaskKey;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// A cheap handle on the engine; clones are the same engine.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Arc<Runtime>,
    started: AtomicBool,
    /// What the environment said about OpenCode, for settings that change later.
    environment: OpenCodeEnvironment,
    /// Where a damaged ledger was set aside when this engine opened.
    set_aside: Mutex<Option<PathBuf>>,
    watcher: Mutex<Option<Watcher>>,
    /// How the ledger looked last, for telling what others do.
    seen: Mutex<news::Seen>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the data folder (made when missing) and the ledger; starts no timers.
    ///
    /// # Errors
    /// `Unavailable` when the folder or the ledger cannot be used, with the way out.
    pub async fn open(options: EngineOptions) -> Result<Engine> {
        let me = ProcessId::current().clone();
        Engine::open_as(options, me, |folder| folder, CancellationToken::new()).await
    }

    /// Opens as a process; `place` has the last word on the shared folder, and `cut` ends everything
    /// at once, as a kill does.
    async fn open_as(
        options: EngineOptions,
        me: ProcessId,
        place: impl FnOnce(Folder) -> Folder,
        cut: CancellationToken,
    ) -> Result<Engine> {
        let EngineOptions { paths, clock, settings, machine_zone, host_name, environment, watch } =
            options;
        let own = paths.own();
        let (at, time) = (own.clone(), Arc::clone(&clock));
        let opened = tokio::task::spawn_blocking(move || Ledger::open(&at, me, time))
            .await
            .map_err(|_| EngineError::Internal("opening the ledger failed".to_owned()))??;
        if let Some(path) = &opened.set_aside {
            tracing::warn!(
                path = %path.display(),
                "the ledger was damaged and is set aside; a new one was started, nothing runs again"
            );
        }
        let folder = place(Folder::of(&paths));
        let agents = agents::make(&paths, &settings, &environment, Arc::clone(&clock));
        let around = Surroundings { paths, host_name, machine_zone, watch };
        let runtime = Runtime::new(around, clock, opened.ledger, folder, agents, settings, cut);
        let inner = Inner {
            runtime,
            started: AtomicBool::new(false),
            environment,
            set_aside: Mutex::new(opened.set_aside),
            watcher: Mutex::new(None),
            seen: Mutex::default(),
        };
        let engine = Engine { inner: Arc::new(inner) };
        let read = engine.runtime().blocking(|runtime| {
            let ids = runtime.read_registry();
            runtime.note_data_folder();
            ids
        });
        read.await?;
        Ok(engine)
    }

    /// Watches without running anything: events tell what every process on the folder does.
    ///
    /// # Errors
    /// When the data folder cannot be used at all; a single bad project is no error.
    pub async fn look_on(&self) -> Result<()> {
        let runtime = self.runtime();
        runtime.sync_all().await;
        if runtime.around.watch {
            let inner = Arc::clone(&self.inner);
            runtime.blocking(move |runtime| news::heed(runtime, &inner.seen, true)).await?;
            self.watch();
        }
        Ok(())
    }

    /// Starts timers, watching and taking over (only `serve` and the desktop do).
    ///
    /// # Errors
    /// When the data folder cannot be used at all; a single bad project is no error.
    pub async fn start(&self) -> Result<()> {
        if self.inner.started.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let runtime = self.runtime();
        self.look_on().await?;
        runtime.start();
        Ok(())
    }

    /// Stops: no new claims, child commands ended, sessions left to whoever is there next.
    pub async fn stop(&self) {
        let runtime = self.runtime();
        *lock(&self.inner.watcher) = None;
        runtime.stopping.cancel();
        runtime.tasks.close();
        runtime.tasks.wait().await;
        // The last chance of rows that the ledger could not take: it may have room again.
        let _ = runtime.blocking(Runtime::write_unrecorded).await;
        runtime.end_unused_server().await;
        self.inner.started.store(false, Ordering::SeqCst);
    }

    /// Says whether timers run in this process.
    pub fn is_started(&self) -> bool {
        self.inner.started.load(Ordering::SeqCst)
    }

    /// Returns the bus of everything that changes.
    pub fn events(&self) -> &EventBus {
        &self.runtime().events
    }

    /// Reads the project lists anew and syncs every project.
    ///
    /// # Errors
    /// Never for a single bad project: that is shown at the project.
    pub async fn sync_all_projects(&self) -> Result<()> {
        self.runtime().sync_all().await;
        Ok(())
    }

    /// Syncs one project: loop files, shared file, timers.
    ///
    /// # Errors
    /// `NotFound` for an unknown project.
    pub async fn sync_project(&self, project: &str) -> Result<()> {
        let id = project.to_owned();
        let known = self.runtime().blocking(move |runtime| runtime.sync_known(&id)).await?;
        if known { Ok(()) } else { Err(no_project(project)) }
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.inner.runtime
    }

    fn now(&self) -> i64 {
        self.runtime().clock.now_ms()
    }

    /// Runs one blocking piece of work against the runtime.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Runtime>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.runtime().blocking(work).await?
    }

    fn changed(&self, key: &TaskKey) {
        self.runtime().emit(EventKind::TasksChanged, Some(key), None);
    }
}

fn no_project(id: &str) -> EngineError {
    EngineError::NotFound(format!(
        "there is no project {id}: `loopkeeper projects list` shows those there are"
    ))
}

fn no_task(key: &TaskKey) -> EngineError {
    EngineError::NotFound(format!("there is no task {} in this project", key.task_id))
}

impl From<crate::runtime::Crashed> for EngineError {
    fn from(crashed: crate::runtime::Crashed) -> Self {
        EngineError::Internal(crashed.to_string())
    }
}

impl From<LedgerError> for EngineError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::NoSuchRun { run } => EngineError::NotFound(format!(
                "there is no run {run}, or it was pruned: `loopkeeper runs` lists what there is"
            )),
            error => EngineError::Unavailable { message: error.to_string(), help: None },
        }
    }
}

impl From<ProjectError> for EngineError {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::InvalidId { id } => no_project(&id),
            error => EngineError::Unavailable { message: error.to_string(), help: None },
        }
    }
}
