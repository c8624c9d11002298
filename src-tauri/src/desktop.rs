//! The running desktop: the engine in this process, and what keeps tray and notifications true.

use crate::environment::Environment;
use crate::notes::{self, Gate, Note, Seen, Subject};
use crate::place::Place;
use crate::platform::{self, KeepAwake, Notifier};
use crate::tray::build::{Facts, build};
use crate::tray::draw::Tray;
use crate::window::Window;
use axum::Router;
use chrono_tz::Tz;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::event::{Event, EventKind};
use loopkeeper_engine::settings::Settings;
use loopkeeper_engine::task::policy::Notify;
use loopkeeper_engine::view::{NeedKind, Overview, TaskSummary};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tauri::{AppHandle, Emitter, Manager};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

/// The tray is drawn at most this often.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// Relative times are redrawn this often at least.
const MINUTE_MS: i64 = 60_000;
/// How long the engine may think about an overview before it counts as stalled.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the end of the engine is waited for.
const FAREWELL: Duration = Duration::from_secs(15);

/// The engine and the routes to it.
#[derive(Debug, Clone)]
pub struct Running {
    /// The engine.
    pub engine: Engine,
    /// The same routes as over a socket, called in memory.
    pub router: Router,
}

/// What was read last.
#[derive(Debug, Clone)]
struct Snapshot {
    overview: Overview,
    tasks: Vec<TaskSummary>,
}

/// The desktop; shared by everything in this process.
pub struct Desktop {
    /// Tauri's handle.
    pub app: AppHandle,
    /// What this process was started with.
    pub environment: Environment,
    /// The window.
    pub window: Window,
    /// The machine's zone.
    pub zone: Tz,
    running: Mutex<Option<Running>>,
    problem: Mutex<Option<String>>,
    warnings: Mutex<Vec<String>>,
    snapshot: Mutex<Option<Snapshot>>,
    seen: Mutex<Seen>,
    gate: Mutex<Gate>,
    notifier: Notifier,
    awake: Mutex<Option<KeepAwake>>,
    /// Rung when the tray may have become untrue.
    bell: tokio::sync::Notify,
    /// Rung when a notification may be due.
    told: tokio::sync::Notify,
    quitting: Mutex<bool>,
    /// Whether marks in the menu may show what was clicked rather than what is.
    marks: Mutex<bool>,
}

thread_local! {
    /// The tray lives on the main thread, which alone may touch it.
    static TRAY: RefCell<Option<Tray>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desktop {
    /// Makes the desktop and its tray; called on the main thread. Nothing of the engine runs yet.
    pub fn new(app: &AppHandle, environment: Environment) -> Arc<Desktop> {
        let desktop = Arc::new_cyclic(|me: &std::sync::Weak<Desktop>| {
            let me = me.clone();
            let clicked: platform::OnClick = Arc::new(move |action| {
                if let Some(desktop) = me.upgrade() {
                    tauri::async_runtime::spawn(crate::act::perform(desktop, action));
                }
            });
            let own = environment.paths.own();
            Desktop {
                notifier: Notifier::start(app.clone(), clicked),
                window: Window::new(own.join("window.json")),
                zone: environment.zone.parse().unwrap_or(Tz::UTC),
                app: app.clone(),
                environment,
                running: Mutex::default(),
                problem: Mutex::default(),
                warnings: Mutex::default(),
                snapshot: Mutex::default(),
                seen: Mutex::default(),
                gate: Mutex::default(),
                awake: Mutex::default(),
                bell: tokio::sync::Notify::new(),
                told: tokio::sync::Notify::new(),
                quitting: Mutex::default(),
                marks: Mutex::default(),
            }
        });
        let me = Arc::clone(&desktop);
        let tray = Tray::new(app, move |action| {
            tauri::async_runtime::spawn(crate::act::perform(Arc::clone(&me), action));
        });
        match tray {
            Ok(tray) => TRAY.with_borrow_mut(|slot| *slot = Some(tray)),
            Err(error) => desktop.warn(format!("There is no tray icon: {error}.")),
        }
        desktop
    }

    /// Starts everything that goes on by itself.
    pub fn start(self: &Arc<Self>) {
        platform::repair_start_at_login(&self.app, &self.environment);
        tauri::async_runtime::spawn(Arc::clone(self).draw_for_ever());
        tauri::async_runtime::spawn(Arc::clone(self).tell_for_ever());
        tauri::async_runtime::spawn(Arc::clone(self).run());
        let me = Arc::downgrade(self);
        platform::watch_sleep(move || {
            if let Some(desktop) = me.upgrade() {
                tauri::async_runtime::spawn(async move { desktop.woke().await });
            }
        });
    }

    /// Returns the engine, once it is there.
    pub fn running(&self) -> Option<Running> {
        lock(&self.running).clone()
    }

    /// Says why the engine is not there.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Returns what the window says about the desktop itself.
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    /// Says that there is nobody who shows the tray icon, once.
    pub fn warn(&self, text: String) {
        let mut warnings = lock(&self.warnings);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Takes a warning back.
    pub fn unwarn(&self, text: &str) {
        lock(&self.warnings).retain(|warning| warning != text);
    }

    /// Draws the tray anew, soon.
    pub fn changed(&self) {
        self.bell.notify_one();
    }

    /// Draws the tray anew after a click, its marks as well.
    pub fn put_marks_right(&self) {
        *lock(&self.marks) = true;
        self.changed();
    }

    /// Opens the window, from whichever thread.
    pub fn open(&self, place: Option<&Place>) {
        if let Err(error) = self.window.open(&self.app, place) {
            tracing::error!(%error, "the window cannot be opened");
            self.say("Loopkeeper's window cannot be opened", &error.to_string());
        }
    }

    /// Tells of something that went wrong where no window need be open.
    pub fn say(&self, title: &str, body: &str) {
        let note = Note {
            title: title.to_owned(),
            body: body.to_owned(),
            urgent: false,
            buttons: Vec::new(),
            place: Place::Tasks,
        };
        self.show(&note);
    }

    fn show(&self, note: &Note) {
        if let Err(error) = self.notifier.show(note) {
            tracing::info!(%error, title = note.title, "a notification could not be shown");
        }
    }

    /// Opens the data folder and starts the scheduler; after a failure again, every half minute.
    async fn run(self: Arc<Self>) {
        loop {
            match self.try_run().await {
                Ok(()) => return,
                Err(problem) => {
                    tracing::error!(problem, "the data folder cannot be used");
                    let known = lock(&self.problem).replace(problem.clone());
                    if known.as_ref() != Some(&problem) {
                        self.say("Loopkeeper cannot work", &problem);
                    }
                    self.changed();
                }
            }
            sleep(Duration::from_secs(30)).await;
            if self.running().is_some() || *lock(&self.quitting) {
                return;
            }
        }
    }

    /// Opens the data folder and starts the scheduler, unless that is done.
    ///
    /// # Errors
    /// Says what is wrong, with which file, and what to do.
    pub async fn try_run(self: &Arc<Self>) -> Result<(), String> {
        if self.running().is_some() {
            return Ok(());
        }
        let paths = &self.environment.paths;
        let settings = Settings::load(&paths.settings).map_err(|error| error.to_string())?;
        let mut opencode = self.environment.opencode.clone();
        opencode.binaries = self.environment.opencode_programs().await;
        let engine = Engine::open(EngineOptions {
            paths: paths.clone(),
            clock: Arc::new(SystemClock),
            settings,
            machine_zone: self.environment.zone.clone(),
            host_name: self.environment.host_name.clone(),
            environment: opencode,
            watch: true,
        })
        .await
        .map_err(|error| error.to_string())?;
        let events = engine.events().subscribe();
        // What needed somebody before is no news.
        if let Ok(overview) = engine.overview().await {
            lock(&self.seen).update(&overview.needs_you);
        }
        engine.start().await.map_err(|error| error.to_string())?;
        let router = loopkeeper_server::router(engine.clone());
        *lock(&self.running) = Some(Running { engine, router });
        *lock(&self.problem) = None;
        tauri::async_runtime::spawn(Arc::clone(self).listen(events));
        // A window that was open before the engine reads again.
        let _ = self.app.emit("event", self.reload());
        self.changed();
        Ok(())
    }

    fn reload(&self) -> Event {
        Event {
            id: 0,
            at: SystemClock.now_ms(),
            kind: EventKind::Reload,
            project_id: None,
            task_id: None,
            run_id: None,
        }
    }

    /// Hands events to the window, the tray and the notifications.
    async fn listen(self: Arc<Self>, mut events: tokio::sync::broadcast::Receiver<Event>) {
        loop {
            let event = match events.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => self.reload(),
                Err(RecvError::Closed) => return,
            };
            let _ = self.app.emit("event", &event);
            if let Some(run) = event.run_id {
                let key = notes::key(event.project_id.as_deref(), event.task_id.as_deref());
                match event.kind {
                    EventKind::Recovered => self.offer(key, Subject::Recovered(run)),
                    EventKind::RunFinished => self.offer(key, Subject::Ended(run)),
                    _ => {}
                }
            }
            self.changed();
        }
    }

    fn offer(&self, key: String, subject: Subject) {
        lock(&self.gate).offer(key, subject, awake_ms());
        self.told.notify_one();
    }

    async fn woke(self: Arc<Self>) {
        tracing::info!("the machine woke up");
        if let Some(running) = self.running()
            && let Err(error) = running.engine.sync_all_projects().await
        {
            tracing::warn!(%error, "after the wake-up");
        }
        self.changed();
    }

    /// Keeps the tray true: after each change, and for its relative times.
    async fn draw_for_ever(self: Arc<Self>) {
        loop {
            self.read().await;
            self.draw();
            sleep(DRAW_EVERY).await;
            let _ = timeout(self.until_a_minute_is_over(), self.bell.notified()).await;
        }
    }

    /// Returns how long all relative times of the menu stay as they are, about.
    fn until_a_minute_is_over(&self) -> Duration {
        let now = SystemClock.now_ms();
        let next = lock(&self.snapshot).as_ref().and_then(|known| known.overview.next.clone());
        let rest = next.map_or(MINUTE_MS, |next| (next.at - now).rem_euclid(MINUTE_MS));
        Duration::from_millis(u64::try_from(rest.max(1000)).unwrap_or(1000))
    }

    async fn read(&self) {
        let Some(Running { engine, .. }) = self.running() else { return };
        let read = async {
            let overview = engine.overview().await?;
            let tasks = engine.task_summaries(None).await?;
            Ok::<_, loopkeeper_engine::engine::EngineError>(Snapshot { overview, tasks })
        };
        match timeout(PATIENCE, read).await {
            Ok(Ok(snapshot)) => {
                for (key, subject) in lock(&self.seen).update(&snapshot.overview.needs_you) {
                    self.offer(key, subject);
                }
                self.stay_awake(&engine, &snapshot.overview).await;
                *lock(&self.snapshot) = Some(snapshot);
            }
            Ok(Err(error)) => tracing::warn!(%error, "the overview cannot be read"),
            Err(_) => {
                if let Some(snapshot) = &mut *lock(&self.snapshot) {
                    snapshot.overview.stalled = true;
                }
            }
        }
    }

    /// Keeps the machine awake while a run goes on, if that is wished.
    async fn stay_awake(&self, engine: &Engine, overview: &Overview) {
        let wished = async {
            let settings = engine.settings().await.ok()?;
            settings.pointer("/settings/desktop/keep_awake")?.as_bool()
        };
        let wanted = !overview.running.is_empty() && wished.await.unwrap_or(false);
        let holds = lock(&self.awake).is_some();
        if wanted && !holds {
            match tokio::task::spawn_blocking(KeepAwake::hold).await {
                Ok(Ok(held)) => *lock(&self.awake) = Some(held),
                Ok(Err(error)) => self.warn(format!("{error}.")),
                Err(_) => {}
            }
        } else if !wanted && holds {
            *lock(&self.awake) = None;
        }
    }

    fn draw(self: &Arc<Self>) {
        let snapshot = lock(&self.snapshot).clone();
        let problem = self.problem();
        let menu = build(&Facts {
            overview: snapshot.as_ref().map(|known| &known.overview),
            tasks: snapshot.as_ref().map_or(&[], |known| &known.tasks),
            now: SystemClock.now_ms(),
            zone: self.zone,
            start_at_login: platform::starts_at_login(&self.app, &self.environment),
            problem: problem.as_deref(),
        });
        let marks = std::mem::take(&mut *lock(&self.marks));
        let drawn = self.app.run_on_main_thread(move || {
            TRAY.with_borrow_mut(|tray| {
                if let Some(Err(error)) = tray.as_mut().map(|tray| tray.show(menu, marks)) {
                    tracing::error!(%error, "the tray's menu cannot be shown");
                }
            });
        });
        if let Err(error) = drawn {
            tracing::debug!(%error, "no main thread to draw on");
        }
    }

    /// Shows notifications when they are due.
    async fn tell_for_ever(self: Arc<Self>) {
        loop {
            let next = lock(&self.gate).next();
            let wait = next.map_or(Duration::from_secs(3600), |at| {
                Duration::from_millis(u64::try_from(at - awake_ms()).unwrap_or(0))
            });
            let _ = timeout(wait, self.told.notified()).await;
            let due = lock(&self.gate).due(awake_ms());
            for (key, subjects) in due {
                for subject in &subjects {
                    let Some(note) = self.note(subject).await else { continue };
                    if !notes::is_in_sight(&note, Window::focused_at(&self.app).as_deref()) {
                        self.show(&note);
                        lock(&self.gate).shown(&key, awake_ms());
                    }
                    break;
                }
            }
        }
    }

    /// Looks closely at what may be told: it may be over, or nobody may want to hear it.
    async fn note(&self, subject: &Subject) -> Option<Note> {
        let Running { engine, .. } = self.running()?;
        match subject {
            Subject::Need { id, kind } => {
                let needs = engine.overview().await.ok()?.needs_you;
                if *kind == NeedKind::Missed {
                    let mut rows = Vec::new();
                    for need in needs.iter().filter(|need| need.kind == NeedKind::Missed) {
                        let wish = self.wish(need.project_id.as_deref(), need.task_id.as_deref());
                        if wish.await != Notify::Never
                            && let Some(id) = need.run_id
                            && let Some(row) = row(&engine, id).await
                        {
                            rows.push(row);
                        }
                    }
                    return notes::of_missed(&rows);
                }
                let need = needs.into_iter().find(|need| need.id == *id)?;
                let wish = self.wish(need.project_id.as_deref(), need.task_id.as_deref()).await;
                notes::of_need(&need, wish)
            }
            Subject::Recovered(id) => {
                let run = row(&engine, *id).await?;
                notes::of_recovery(&run, self.wish_of(&run).await)
            }
            Subject::Ended(id) => {
                let run = row(&engine, *id).await?;
                notes::of_success(&run, self.wish_of(&run).await)
            }
        }
    }

    async fn wish_of(&self, run: &loopkeeper_engine::ledger::Run) -> Notify {
        self.wish(Some(&run.project_id), Some(&run.task_id)).await
    }

    /// Returns what a task wants told; without a task, what the settings say.
    async fn wish(&self, project: Option<&str>, task: Option<&str>) -> Notify {
        if let (Some(project), Some(task), Some(running)) = (project, task, self.running())
            && let Ok(detail) = running.engine.task(project, task).await
            && let Some(wish) = detail.effective_policy.notify
        {
            return wish;
        }
        match Settings::load(&self.environment.paths.settings) {
            Ok(settings) if !settings.notify.failure => Notify::Never,
            _ => Notify::Failure,
        }
    }

    /// Ends the program: says what stays behind, stops the engine, leaves.
    pub async fn quit(self: Arc<Self>, says_so: bool) {
        if std::mem::replace(&mut *lock(&self.quitting), true) {
            return;
        }
        if let Some(Running { engine, .. }) = self.running() {
            if says_so
                && let Ok(Ok(overview)) = timeout(PATIENCE, engine.overview()).await
                && let Some(text) = crate::tray::build::farewell(&overview)
            {
                self.say("Loopkeeper has ended", &text);
            }
            if timeout(FAREWELL, engine.stop()).await.is_err() {
                tracing::warn!("the engine did not end in time; what it ran is taken over later");
            }
        }
        self.app.exit(0);
    }
}

async fn row(engine: &Engine, id: i64) -> Option<loopkeeper_engine::ledger::Run> {
    engine.run(id).await.ok().map(|view| view.run)
}

/// Returns awake time in ms: notifications are counted in time that somebody could see them.
fn awake_ms() -> i64 {
    i64::try_from(SystemClock.awake().as_millis()).unwrap_or(i64::MAX)
}

/// Returns the desktop, once it is there.
pub fn of(app: &AppHandle) -> Option<Arc<Desktop>> {
    app.try_state::<Arc<Desktop>>().map(|desktop| Arc::clone(&desktop))
}
