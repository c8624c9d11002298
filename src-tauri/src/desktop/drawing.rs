//! Keeps the tray as true as the engine is: after each change, at most once a second.

use super::{Desktop, PATIENCE, Running, lock};
use crate::platform::{self, KeepAwake};
use crate::tray::build::{Facts, TASKS, build};
use crate::tray::draw::Tray;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{Engine, EngineError};
use loopkeeper_engine::view::{Overview, TaskSummary};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The tray is drawn at most this often.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// Relative times are redrawn this often at least.
const MINUTE_MS: i64 = 60_000;

/// What was read last.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) overview: Overview,
    pub(super) tasks: Vec<TaskSummary>,
}

thread_local! {
    /// The tray lives on the main thread, which alone may touch it.
    static TRAY: RefCell<Option<Tray>> = const { RefCell::new(None) };
}

/// Takes the tray that was made on this, the main thread.
pub(super) fn hold(tray: Tray) {
    TRAY.with_borrow_mut(|slot| *slot = Some(tray));
}

impl Desktop {
    /// Keeps the tray true: after each change, and for its relative times.
    pub(super) async fn draw_for_ever(self: Arc<Self>) {
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
            // Of thousands a few are shown, and only these are kept.
            let mut tasks = engine.task_summaries(None).await?;
            tasks.truncate(TASKS);
            tasks.shrink_to_fit();
            Ok::<_, EngineError>(Snapshot { overview, tasks })
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
        let wanted = !overview.running.is_empty()
            && engine.settings().await.is_ok_and(|view| view.settings.desktop.keep_awake);
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
}
