//! What happened and what comes, task by task.

use super::summaries::{auto_paused, with_memory};
use super::{Engine, EngineError, Result, no_project};
use crate::ledger::Run;
use crate::runtime::board::BoardTask;
use crate::runtime::lock;
use crate::task::TaskKey;
use crate::view::{Lane, PauseView, Timeline, Upcoming};
use std::collections::HashMap;

/// The most occurrences that one lane lists.
const MOST: usize = 500;

/// The longest stretch that can be asked for: 35 days.
const LONGEST_MS: i64 = 35 * 24 * 60 * 60 * 1000;

impl Engine {
    /// Returns the runs and the coming occurrences between two instants (ms).
    ///
    /// # Errors
    /// `Invalid` for an empty or too long stretch; `NotFound` for an unknown project.
    pub async fn timeline(&self, project: Option<&str>, from: i64, to: i64) -> Result<Timeline> {
        if to <= from || to - from > LONGEST_MS {
            return Err(EngineError::Invalid {
                field: Some("to".to_owned()),
                message: "name a stretch of at most 35 days, with `to` after `from`".to_owned(),
            });
        }
        let id = project.map(str::to_owned);
        self.with(move |runtime| {
            runtime.sync_unseen();
            let now = runtime.clock.now_ms();
            let tasks: Vec<(String, BoardTask)> = {
                let board = lock(&runtime.board);
                if let Some(id) = &id
                    && !board.projects.contains_key(id)
                {
                    return Err(no_project(id));
                }
                board
                    .tasks()
                    .filter(|(entry, _)| id.as_ref().is_none_or(|id| entry.project.id == *id))
                    .map(|(entry, task)| (entry.project.id.clone(), task.clone()))
                    .collect()
            };
            let mut runs: HashMap<TaskKey, Vec<Run>> = HashMap::new();
            for run in runtime.ledger.runs_between(from, to)? {
                runs.entry(run.task()).or_default().push(with_memory(runtime, run));
            }
            let held = auto_paused(runtime)?;
            let mut lanes = Vec::new();
            for (project_id, task) in tasks {
                let key = TaskKey::new(&project_id, &task.task.id);
                // What failures paused runs again when somebody says so.
                let (upcoming, more) = match held.contains(&key) {
                    true => (Vec::new(), false),
                    false => coming(&task, from.max(now), to),
                };
                let runs = runs.remove(&key).unwrap_or_default();
                if runs.is_empty() && upcoming.is_empty() {
                    continue;
                }
                lanes.push(Lane {
                    project_id,
                    task_id: task.task.id.clone(),
                    name: task.task.name.clone(),
                    runs,
                    upcoming,
                    more,
                });
            }
            let pauses = runtime
                .ledger
                .paused()?
                .map(|pause| PauseView { since: pause.since, until: pause.until })
                .into_iter()
                .collect();
            Ok(Timeline { from, to, now, lanes, pauses })
        })
        .await
    }
}

fn coming(task: &BoardTask, after: i64, until: i64) -> (Vec<Upcoming>, bool) {
    let Some(compiled) = task.compiled.as_ref().filter(|_| task.task.enabled) else {
        return (Vec::new(), false);
    };
    let mut all: Vec<Upcoming> = compiled
        .between(after, until)
        .take(MOST + 1)
        .map(|at| Upcoming { at, clock_change: compiled.clock_change(at) })
        .collect();
    let more = all.len() > MOST;
    all.truncate(MOST);
    (all, more)
}
