//! Shows notifications when they are due; [`crate::notes`] says which, and what they say.

use super::{Desktop, Running, lock};
use crate::notes::{self, Note, Subject};
use crate::window::Window;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::ledger::Run;
use loopkeeper_engine::settings::Settings;
use loopkeeper_engine::task::policy::Notify;
use loopkeeper_engine::view::NeedKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

impl Desktop {
    /// Takes in what may be told.
    pub(super) fn offer(&self, key: String, subject: Subject) {
        lock(&self.gate).offer(key, subject, awake_ms());
        self.told.notify_one();
    }

    /// Shows notifications when they are due.
    pub(super) async fn tell_for_ever(self: Arc<Self>) {
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
                    if notes::is_in_sight(&note, Window::focused_at(&self.app).as_deref()) {
                        tracing::debug!(title = note.title, "not told: the window shows it");
                    } else {
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

    async fn wish_of(&self, run: &Run) -> Notify {
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
}

async fn row(engine: &Engine, id: i64) -> Option<Run> {
    engine.run(id).await.ok().map(|view| view.run)
}

/// Returns awake time in ms: notifications are counted in time that somebody could see them.
fn awake_ms() -> i64 {
    i64::try_from(SystemClock.awake().as_millis()).unwrap_or(i64::MAX)
}
