//! The running desktop: the engine in this process, and what keeps tray and notifications true.

mod drawing;
mod telling;

use crate::environment::Environment;
use crate::notes::{self, Gate, Note, Seen, Subject};
use crate::place::Place;
use crate::platform::{self, KeepAwake, Notifier};
use crate::tray::draw::Tray;
use crate::window::Window;
use axum::Router;
use chrono_tz::Tz;
use drawing::Snapshot;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::event::{Event, EventKind};
use loopkeeper_engine::settings::Settings;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tauri::{AppHandle, Emitter, Manager};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

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
                zone: environment.machine.zone.parse().unwrap_or(Tz::UTC),
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
            Ok(tray) => drawing::hold(tray),
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
        self.window.cool_down(&self.app);
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
        let mut opencode = self.environment.machine.opencode.clone();
        opencode.binaries = self.environment.machine.opencode_programs(true).await;
        let engine = Engine::open(EngineOptions {
            paths: paths.clone(),
            clock: Arc::new(SystemClock),
            settings,
            machine_zone: self.environment.machine.zone.clone(),
            host_name: self.environment.machine.host_name.clone(),
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

    async fn woke(self: Arc<Self>) {
        tracing::info!("the machine woke up");
        if let Some(running) = self.running()
            && let Err(error) = running.engine.sync_all_projects().await
        {
            tracing::warn!(%error, "after the wake-up");
        }
        self.changed();
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

/// Returns the desktop, once it is there.
pub fn of(app: &AppHandle) -> Option<Arc<Desktop>> {
    app.try_state::<Arc<Desktop>>().map(|desktop| Arc::clone(&desktop))
}
