//! The whole at a glance, and the pause of everything.

use super::summaries::{Past, summaries, with_memory};
use super::{Engine, EngineError, Result, needs};
use crate::event::EventKind;
use crate::runtime::{Runtime, lock};
use crate::view::{NextUp, Overview, PauseView, StatusCounts};
use std::sync::Arc;

/// How long a pause with an end may last: ten years. What lies beyond is a slip of the keyboard.
const LONGEST_PAUSE_MS: i64 = 3_653 * 86_400_000;

impl Engine {
    /// Returns what the tray and the head of the window show.
    ///
    /// # Errors
    /// `Unavailable` when the ledger cannot be read.
    pub async fn overview(&self) -> Result<Overview> {
        self.with(|runtime| {
            runtime.sync_unseen();
            let tasks = summaries(runtime, None, Past::Troubles)?;
            let armed = tasks.iter().filter(|task| task.next_run_at.is_some());
            let next = armed.clone().min_by_key(|task| task.next_run_at);
            let next = next.and_then(|task| {
                Some(NextUp {
                    project_id: task.project_id.clone(),
                    task_id: task.id.clone(),
                    name: task.name.clone(),
                    at: task.next_run_at?,
                })
            });
            let running = runtime
                .ledger
                .open_runs()?
                .into_iter()
                .map(|run| with_memory(runtime, run))
                .filter(|run| run.status.holds_marker())
                .collect();
            // Counted before: the needs look at the board themselves.
            let projects = lock(&runtime.board).projects.len();
            Ok(Overview {
                now: runtime.clock.now_ms(),
                armed: armed.count(),
                tasks: tasks.len(),
                projects,
                next,
                running,
                needs_you: needs::needs(runtime, &tasks)?,
                paused: paused(runtime)?,
                stalled: runtime.is_stalled(),
                warnings: runtime.warnings(),
            })
        })
        .await
    }

    /// Returns the seed's four counts, and the pause.
    ///
    /// # Errors
    /// `Unavailable` when the ledger cannot be read.
    pub async fn status(&self) -> Result<StatusCounts> {
        self.with(|runtime| {
            runtime.sync_unseen();
            let enabled = lock(&runtime.board).tasks().filter(|(_, t)| t.task.enabled).count();
            let open = runtime.ledger.open_runs()?;
            let running = open
                .into_iter()
                .map(|run| with_memory(runtime, run))
                .filter(|run| run.status.holds_marker())
                .count();
            Ok(StatusCounts {
                has_enabled_scheduled_tasks: enabled > 0,
                has_running_scheduled_tasks: running > 0,
                enabled_scheduled_tasks_count: enabled,
                running_scheduled_tasks_count: running,
                paused_until: paused(runtime)?.and_then(|pause| pause.until),
            })
        })
        .await
    }

    /// Pauses everything until an instant (ms), or until somebody resumes. Runs that go on go on.
    ///
    /// # Errors
    /// `Invalid` for an instant in the past or more than ten years away; `Unavailable` when the
    /// ledger cannot be written.
    pub async fn pause(&self, until: Option<i64>) -> Result<PauseView> {
        let view = self
            .with(move |runtime| {
                let length = until.map(|until| until.saturating_sub(runtime.clock.now_ms()));
                let wrong = match length {
                    Some(..=0) => Some("the pause would be over already: name a later time"),
                    Some(LONGEST_PAUSE_MS..) => Some(
                        "the pause would last more than ten years: name an earlier end, or none, \
                         and it lasts until somebody resumes",
                    ),
                    _ => None,
                };
                if let Some(message) = wrong {
                    return Err(EngineError::Invalid {
                        field: Some("until".to_owned()),
                        message: message.to_owned(),
                    });
                }
                runtime.ledger.pause(until)?;
                paused(runtime)?.ok_or_else(|| {
                    EngineError::Internal("the pause was ended by another process".to_owned())
                })
            })
            .await?;
        self.runtime().emit(EventKind::Paused, None, None);
        Ok(view)
    }

    /// Ends the pause of everything.
    ///
    /// # Errors
    /// `Unavailable` when the ledger cannot be written.
    pub async fn resume(&self) -> Result<()> {
        let ended = self.with(|runtime| Ok(runtime.ledger.resume()?)).await?;
        if ended {
            self.runtime().emit(EventKind::Resumed, None, None);
        }
        Ok(())
    }

    /// Ends a task's auto-pause.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` when the ledger cannot be written.
    pub async fn resume_task(&self, project: &str, task: &str) -> Result<()> {
        let key = crate::task::TaskKey::new(project, task);
        let subject = key.clone();
        self.with(move |runtime| {
            super::tasks::current(runtime, &subject)?;
            runtime.ledger.end_auto_pause(&subject)?;
            Ok(())
        })
        .await?;
        self.runtime().emit(EventKind::Resumed, Some(&key), None);
        Ok(())
    }
}

fn paused(runtime: &Arc<Runtime>) -> Result<Option<PauseView>> {
    let pause = runtime.ledger.paused()?;
    Ok(pause.map(|pause| PauseView { since: pause.since, until: pause.until }))
}
