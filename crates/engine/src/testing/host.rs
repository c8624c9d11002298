//! One engine on a stage, as a process of its own: it can be faulted, and killed at any step.

use super::Scene;
use crate::clock::Clock;
use crate::engine::{Engine, Seat};
use crate::event::{Event, EventKind};
use crate::host::ProcessId;
use crate::ledger::{Injected, Run, RunFilter, Status};
use crate::task::TaskKey;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

type Fault = Box<dyn Fn(&str) -> Injected + Send + Sync>;

/// What becomes of a process at the steps of its writes.
struct Fate {
    dead: AtomicBool,
    steps: AtomicUsize,
    /// Dies at this step.
    last: AtomicUsize,
    fault: Mutex<Option<Fault>>,
    cut: CancellationToken,
}

impl Fate {
    fn new() -> Fate {
        Fate {
            dead: AtomicBool::new(false),
            steps: AtomicUsize::new(0),
            last: AtomicUsize::new(usize::MAX),
            fault: Mutex::default(),
            cut: CancellationToken::new(),
        }
    }

    fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.cut.cancel();
    }

    fn reach(&self, step: &str) -> Injected {
        let number = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.last.load(Ordering::SeqCst) {
            self.die();
        }
        // What unwinds already is dead already: a second panic would end the whole test.
        if self.dead.load(Ordering::SeqCst) && !std::thread::panicking() {
            // Unwinds without a word: the dead write nothing, not even a message.
            std::panic::resume_unwind(Box::new("killed"));
        }
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map_or(Injected::Nothing, |fault| fault(step))
    }
}

/// An engine with a process identity of its own, that of a stand-in child which lives as long.
pub struct Host {
    engine: Engine,
    stand_in: Child,
    fate: Arc<Fate>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Deref for Host {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.fate.die();
        let _ = self.stand_in.kill();
        let _ = self.stand_in.wait();
    }
}

impl Scene {
    /// Opens an engine and starts it, as `serve` and the desktop do.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn serve(&self) -> Host {
        let host = self.open().await;
        host.start().await.expect("the engine starts");
        host
    }

    /// Opens an engine without timers, as a command does.
    ///
    /// # Panics
    /// When it does not open.
    pub async fn open(&self) -> Host {
        self.open_waiting(Duration::from_secs(10)).await
    }

    /// Opens an engine that waits for the projects' locks at most so long (real time).
    ///
    /// # Panics
    /// When it does not open.
    pub async fn open_waiting(&self, wait: Duration) -> Host {
        // Ends by itself when this process does, since its input then ends.
        let stand_in = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a stand-in starts");
        let fate = Arc::new(Fate::new());
        let steps = Arc::clone(&fate);
        let seat = Seat {
            me: ProcessId::of(stand_in.id()),
            wait,
            probe: Arc::new(move |step| {
                let _ = steps.reach(&format!("project: {step:?}"));
            }),
            cut: fate.cut.clone(),
        };
        let engine = Engine::open_at(self.options(), seat).await.expect("the engine opens");
        let steps = Arc::clone(&fate);
        engine.ledger().set_probe(move |point| steps.reach(point));
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let (all, (_, mut news)) = (Arc::clone(&events), engine.events().resume(0));
        tokio::spawn(async move {
            while let Ok(event) = news.recv().await {
                all.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            }
        });
        Host { engine, stand_in, fate, events }
    }
}

impl Host {
    /// Ends the process at once, as `kill -9` does; what it holds stays as it is.
    pub fn kill(self) {
        // As dropping does.
    }

    /// Ends the process at the n-th step of its writes from now on.
    pub fn kill_at_step(&self, n: usize) {
        let reached = self.fate.steps.load(Ordering::SeqCst);
        self.fate.last.store(reached + n, Ordering::SeqCst);
    }

    /// Ends the process when a point of the ledger's writes is reached.
    pub fn kill_at(&self, point: &'static str) {
        let fate = Arc::downgrade(&self.fate);
        self.fault(move |reached| {
            if let Some(fate) = fate.upgrade().filter(|_| reached == point) {
                fate.die();
                std::panic::resume_unwind(Box::new("killed"));
            }
            Injected::Nothing
        });
    }

    /// Returns how many steps of writes were reached so far.
    pub fn steps(&self) -> usize {
        self.fate.steps.load(Ordering::SeqCst)
    }

    /// Says whether it was killed.
    pub fn is_dead(&self) -> bool {
        self.fate.dead.load(Ordering::SeqCst)
    }

    /// Lets the ledger fail at the named points, until [`Host::heal`].
    pub fn fault(&self, fault: impl Fn(&str) -> Injected + Send + Sync + 'static) {
        *self.fate.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(fault));
    }

    /// Ends the faults.
    pub fn heal(&self) {
        *self.fate.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Finds a task by its name.
    ///
    /// # Panics
    /// When there is none.
    pub async fn key(&self, project_id: &str, name: &str) -> TaskKey {
        let tasks = self.list_tasks(project_id).await.expect("the tasks are listed");
        let task = tasks.iter().find(|task| task.name == name);
        TaskKey::new(project_id, &task.unwrap_or_else(|| panic!("no task {name}")).id)
    }

    /// Returns all rows of a task, oldest first.
    ///
    /// # Panics
    /// When the ledger cannot be read.
    pub fn rows(&self, key: &TaskKey) -> Vec<Run> {
        let mut runs = self.ledger().last_runs(key, 100_000).expect("the rows are read");
        runs.reverse();
        runs
    }

    /// Returns all rows of all tasks, oldest first.
    ///
    /// # Panics
    /// When the ledger cannot be read.
    pub fn all_rows(&self) -> Vec<Run> {
        let all = RunFilter { limit: usize::MAX, ..RunFilter::default() };
        let mut runs = self.ledger().runs(&all).expect("the rows are read");
        runs.reverse();
        runs
    }

    /// Returns the statuses of a task's rows, oldest first.
    pub fn statuses(&self, key: &TaskKey) -> Vec<Status> {
        self.rows(key).iter().map(|run| run.status).collect()
    }

    /// Returns the events so far.
    pub fn seen(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the events of a kind so far.
    pub fn count(&self, kind: EventKind) -> usize {
        self.seen().iter().filter(|event| event.kind == kind).count()
    }

    /// Waits (in the scene's time, half an hour at most) until a task's newest row fulfils a
    /// condition, and returns it.
    ///
    /// # Panics
    /// When it does not come so far.
    pub async fn row(&self, key: &TaskKey, is: impl Fn(&Run) -> bool) -> Run {
        for _ in 0..36_000 {
            if let Some(run) = self.rows(key).pop().filter(|run| is(run)) {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it never came so far; the rows are {:#?}", self.rows(key));
    }

    /// Waits until a task's newest row has a status, and returns it.
    pub async fn row_with(&self, key: &TaskKey, status: Status) -> Run {
        self.row(key, |run| run.status == status).await
    }

    /// Returns the engine's clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.engine.clock()
    }
}
