//! What is done to tasks.

use super::{Engine, EngineError, Result, Upserted, no_project, no_task};
use crate::loops::edit::{EditError, toggle_file};
use crate::loops::template::{NewLoop, create_from_template};
use crate::loops::trash::{self, TrashError, Trashed, delete_to_trash, restore};
use crate::project::{self, DeleteError, ProjectError, UpsertError};
use crate::runtime::{Runtime, lock};
use crate::task::policy::Policy;
use crate::task::{Task, TaskKey};
use crate::view::{Deleted, LoopFileView};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// An error inside a change of the shared file.
#[derive(Debug)]
enum Change {
    Project(ProjectError),
    Engine(EngineError),
}

impl From<ProjectError> for Change {
    fn from(error: ProjectError) -> Self {
        Change::Project(error)
    }
}

impl From<EngineError> for Change {
    fn from(error: EngineError) -> Self {
        Change::Engine(error)
    }
}

impl From<Change> for EngineError {
    fn from(change: Change) -> Self {
        match change {
            Change::Project(error) => error.into(),
            Change::Engine(error) => error,
        }
    }
}

impl From<UpsertError> for EngineError {
    fn from(error: UpsertError) -> Self {
        EngineError::Invalid { field: Some(error.field.to_string()), message: error.to_string() }
    }
}

impl From<EditError> for EngineError {
    fn from(error: EditError) -> Self {
        EngineError::Invalid { field: None, message: error.to_string() }
    }
}

impl Engine {
    /// Lists a project's tasks as persisted; reconciles first, as the seed's route does.
    ///
    /// # Errors
    /// `NotFound` for an unknown project; `Unavailable` when its file cannot be read.
    pub async fn list_tasks(&self, project: &str) -> Result<Vec<Task>> {
        let id = project.to_owned();
        self.with(move |runtime| persisted(runtime, &id)).await
    }

    /// Creates or replaces a task; `state` from a client is ignored for a stored one.
    ///
    /// # Errors
    /// `Invalid` with the field; `NotFound` for an unknown project.
    pub async fn upsert_task(&self, project: &str, input: &Value) -> Result<Upserted> {
        let (id, input) = (project.to_owned(), input.clone());
        let done = self
            .with(move |runtime| {
                if !runtime.sync_known(&id) {
                    return Err(no_project(&id));
                }
                let zone = runtime.around.machine_zone.clone();
                let now = runtime.clock.now_ms();
                let (done, _) = project::update(&runtime.folder, &id, |document| {
                    project::upsert(document, &input, now, new_id, &zone)
                        .map_err(|error| Change::Engine(error.into()))
                })?;
                let tasks = persisted(runtime, &id)?;
                let stored = tasks.iter().find(|task| task.id == done.task.id).cloned();
                let task = stored.unwrap_or(done.task);
                Ok(Upserted { tasks, task, created: done.created, notes: done.notes })
            })
            .await?;
        self.changed(&TaskKey::new(project, &done.task.id));
        self.nudge(project);
        Ok(done)
    }

    /// Deletes a task; a loop task only once its file is gone.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a loop task whose file exists.
    pub async fn delete_task(&self, project: &str, task: &str) -> Result<Vec<Task>> {
        let key = TaskKey::new(project, task);
        let subject = key.clone();
        let tasks = self
            .with(move |runtime| {
                let id = &subject.project_id;
                if !runtime.sync_known(id) {
                    return Err(no_project(id));
                }
                project::update(&runtime.folder, id, |document| {
                    let file = document.task(&subject.task_id).and_then(|t| t.loop_file.clone());
                    let exists = file.is_some_and(|file| Path::new(&file).exists());
                    project::delete(document, &subject.task_id, exists)
                        .map_err(|error| Change::Engine(refuse_delete(error)))
                })?;
                persisted(runtime, id)
            })
            .await?;
        self.changed(&key);
        self.nudge(project);
        Ok(tasks)
    }

    /// Sets the policy of a JSON task, in the ledger; a loop's policy stands in its file.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a loop task.
    pub async fn set_policy(&self, project: &str, task: &str, policy: &Policy) -> Result<()> {
        let key = TaskKey::new(project, task);
        let (subject, policy) = (key.clone(), policy.clone());
        self.with(move |runtime| {
            let found = current(runtime, &subject)?;
            if let Some(path) = found.loop_file {
                return Err(EngineError::Invalid {
                    field: Some("policy".to_owned()),
                    message: format!("this task is a loop: write `policy:` into {path}"),
                });
            }
            runtime.ledger.set_policy(&subject, &policy)?;
            runtime.sync(&subject.project_id);
            Ok(())
        })
        .await?;
        self.changed(&key);
        Ok(())
    }

    /// Switches a task on or off: one token of the loop file, or the shared file for a JSON task.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a malformed loop file; `Unavailable` when it cannot be written.
    pub async fn set_enabled(&self, project: &str, task: &str, enabled: bool) -> Result<Task> {
        let key = TaskKey::new(project, task);
        let subject = key.clone();
        let done = self
            .with(move |runtime| {
                let found = current(runtime, &subject)?;
                match &found.loop_file {
                    Some(path) => {
                        toggle_file(Path::new(path), enabled)?;
                    }
                    None => {
                        let now = runtime.clock.now_ms();
                        project::update(&runtime.folder, &subject.project_id, |document| {
                            if document.set_enabled(&subject.task_id, enabled) {
                                let patch = project::StatePatch {
                                    updated_at: project::Patch::Set(now),
                                    ..project::StatePatch::default()
                                };
                                document.set_state(&subject.task_id, &patch);
                            }
                            Ok::<(), ProjectError>(())
                        })?;
                    }
                }
                runtime.sync(&subject.project_id);
                current(runtime, &subject)
            })
            .await?;
        self.changed(&key);
        self.nudge(project);
        Ok(done)
    }

    /// Switches a loop on or off in its file; refuses JSON tasks, as the seed's route does.
    ///
    /// # Errors
    /// As [`Engine::set_enabled`], and `Invalid` for a JSON task.
    pub async fn set_loop_enabled(&self, project: &str, task: &str, enabled: bool) -> Result<Task> {
        self.loop_path(project, task).await?;
        self.set_enabled(project, task, enabled).await
    }

    /// Moves a loop's file to the trash, where it is kept for 30 days, and reconciles.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a JSON task; `Unavailable` when the file cannot be moved.
    pub async fn delete_loop_file(
        &self,
        project: &str,
        task: &str,
    ) -> Result<(Vec<Task>, Deleted)> {
        let path = self.loop_path(project, task).await?;
        let id = project.to_owned();
        let answer = self
            .with(move |runtime| {
                let trash = runtime.around.paths.own().join("trash");
                let now = runtime.clock.now_ms();
                let trashed = delete_to_trash(Path::new(&path), &trash, now)
                    .map_err(|error| unavailable(error.to_string()))?;
                Ok((persisted(runtime, &id)?, deleted(trashed)))
            })
            .await?;
        self.changed(&TaskKey::new(project, task));
        self.nudge(project);
        Ok(answer)
    }

    /// Lists the deleted loop files that can be brought back, newest first.
    ///
    /// # Errors
    /// `Internal` only.
    pub async fn deleted_loop_files(&self) -> Result<Vec<Deleted>> {
        self.with(|runtime| {
            let trash = runtime.around.paths.own().join("trash");
            Ok(trash::list(&trash).into_iter().map(deleted).collect())
        })
        .await
    }

    /// Brings a deleted loop file back to where it was.
    ///
    /// # Errors
    /// `NotFound` for an unknown trash id; `Unavailable` when another file has its place.
    pub async fn restore_loop_file(&self, trash_id: &str) -> Result<LoopFileView> {
        let id = trash_id.to_owned();
        let path = self
            .with(move |runtime| {
                let trash = runtime.around.paths.own().join("trash");
                let path = restore(&trash, &id).map_err(|error| match error {
                    TrashError::Unknown { .. } => EngineError::NotFound(error.to_string()),
                    error => unavailable(error.to_string()),
                })?;
                Ok(path)
            })
            .await?;
        self.sync_all_projects().await?;
        self.loop_file(&path.to_string_lossy()).await
    }

    /// Turns a JSON task into a loop file of its project; the task keeps its id, history and policy.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` when it is a loop already or its schedule is no cron expression can
    /// say (`once`, several unequal times).
    pub async fn task_to_loop(&self, project: &str, task: &str) -> Result<LoopFileView> {
        let key = TaskKey::new(project, task);
        let path = self
            .with(move |runtime| {
                let found = current(runtime, &key)?;
                if let Some(path) = &found.loop_file {
                    return Err(invalid(format!("this task is a loop already: {path}")));
                }
                let folder = lock(&runtime.board)
                    .projects
                    .get(&key.project_id)
                    .map(|entry| crate::loops_folder(&entry.project.path))
                    .ok_or_else(|| no_project(&key.project_id))?;
                let policy = lock(&runtime.board).task(&key).map(|task| Arc::clone(&task.policy));
                let new = as_loop(&found, &policy.unwrap_or_default())?;
                let path = create_from_template(&folder, &new)
                    .map_err(|error| invalid(error.to_string()))?;
                runtime.sync(&key.project_id);
                Ok(path)
            })
            .await?;
        self.loop_file(&path.to_string_lossy()).await
    }

    async fn loop_path(&self, project: &str, task: &str) -> Result<String> {
        let key = TaskKey::new(project, task);
        self.with(move |runtime| {
            current(runtime, &key)?
                .loop_file
                .ok_or_else(|| invalid("Task is not managed by a loop file".to_owned()))
        })
        .await
    }
}

/// Returns the tasks of a project as its shared file holds them after a sync.
pub(super) fn persisted(runtime: &Arc<Runtime>, id: &str) -> Result<Vec<Task>> {
    if !runtime.sync_known(id) {
        return Err(no_project(id));
    }
    let document = project::read_only(&runtime.folder, id)?;
    let board = lock(&runtime.board);
    let tasks = document.tasks().iter().filter_map(|entry| entry.task.clone());
    Ok(tasks
        .map(|mut task| {
            // The next occurrence is never written for its own sake (PROTOCOL §1), so what the file
            // says of it may be old.
            let known = board.task(&TaskKey::new(id, &task.id));
            task.state.next_run_at = known.and_then(|known| known.next());
            task
        })
        .collect())
}

/// Returns a task as it is after a sync.
pub(super) fn current(runtime: &Arc<Runtime>, key: &TaskKey) -> Result<Task> {
    if !runtime.sync_known(&key.project_id) {
        return Err(no_project(&key.project_id));
    }
    let board = lock(&runtime.board);
    let known = board.task(key).ok_or_else(|| no_task(key))?;
    let mut task = (*known.task).clone();
    task.state.next_run_at = known.next();
    Ok(task)
}

fn refuse_delete(error: DeleteError) -> EngineError {
    let message = error.to_string();
    match error {
        DeleteError::NotFound { .. } => EngineError::NotFound(message),
        _ => invalid(message),
    }
}

fn deleted(entry: Trashed) -> Deleted {
    let path = entry.path.display().to_string();
    Deleted { trash_id: entry.id, path, deleted_at: entry.deleted_at }
}

fn invalid(message: String) -> EngineError {
    EngineError::Invalid { field: None, message }
}

fn unavailable(message: String) -> EngineError {
    EngineError::Unavailable { message, help: None }
}

fn new_id() -> String {
    let bits: u128 = fastrand::u128(..);
    let hex = format!("{bits:032x}");
    // The shape of the peer's ids (a random UUID, version 4).
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

/// Says a task as a loop file would.
fn as_loop(task: &Task, policy: &Policy) -> Result<NewLoop> {
    use crate::task::Schedule;
    let times_as_cron = |times: &[String], days: &str| {
        let parsed: Option<Vec<(u32, u32)>> = times
            .iter()
            .map(|time| {
                let (hour, minute) = time.split_once(':')?;
                Some((hour.parse().ok()?, minute.parse().ok()?))
            })
            .collect();
        let parsed = parsed.filter(|all| !all.is_empty())?;
        let minute = parsed[0].1;
        if parsed.iter().any(|(_, other)| *other != minute) {
            return None;
        }
        let hours: Vec<String> = parsed.iter().map(|(hour, _)| hour.to_string()).collect();
        Some(format!("{minute} {} * * {days}", hours.join(",")))
    };
    let cron = match &task.schedule {
        Schedule::Cron { cron, .. } => Some(cron.clone()),
        Schedule::Daily { times, .. } => times_as_cron(times, "*"),
        Schedule::Weekly { times, weekdays, .. } => {
            let days: Vec<String> = weekdays.iter().map(u8::to_string).collect();
            times_as_cron(times, &days.join(","))
        }
        Schedule::Once { .. } => None,
    };
    let cron = cron.ok_or_else(|| {
        invalid(
            "a loop file has one cron expression, which cannot say this schedule: give its times \
             the same minute, or keep it as a task"
                .to_owned(),
        )
    })?;
    Ok(NewLoop {
        name: task.name.clone(),
        schedule: cron,
        enabled: task.enabled,
        model: format!("{}/{}", task.execution.provider_id, task.execution.model_id),
        agent: task.execution.agent.clone(),
        timezone: task.schedule.timezone().map(str::to_owned),
        policy: policy.clone(),
        prompt: task.execution.prompt.to_string(),
    })
}
