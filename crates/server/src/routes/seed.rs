//! The eight routes of the peer, answer for answer.

use super::{Answer, ProjectPath, Shared, TaskPath, says};
use crate::error::ApiError;
use crate::events;
use crate::extract::{Body, Segments};
use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, patch_with, post_with};
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::{Engine, EngineError, Upserted, WaitFor};
use loopkeeper_engine::task::Task;
use loopkeeper_engine::view::{Deleted, RunAnswer, StatusCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) fn routes() -> ApiRouter<Shared> {
    const TASKS: &str = "/api/projects/{projectId}/scheduled-tasks";
    let task = format!("{TASKS}/{{taskId}}");
    ApiRouter::new()
        .api_route(
            TASKS,
            get_with(
                list,
                says(
                    "listScheduledTasks",
                    "scheduled tasks",
                    "Reads the loop files again and lists the tasks.",
                ),
            )
            .put_with(
                upsert,
                says("putScheduledTask", "scheduled tasks", "Makes a task, or replaces one."),
            ),
        )
        .api_route(
            &task,
            delete_with(
                delete,
                says(
                    "deleteScheduledTask",
                    "scheduled tasks",
                    "Deletes a task; not a loop task whose file exists.",
                ),
            ),
        )
        .api_route(
            &format!("{task}/loop-file"),
            patch_with(
                toggle,
                says("toggleLoopFile", "scheduled tasks", "Sets `enabled` in a task's loop file."),
            )
            .delete_with(
                delete_file,
                says(
                    "deleteLoopFile",
                    "scheduled tasks",
                    "Deletes a task's loop file; kept in the trash for 30 days.",
                ),
            ),
        )
        .api_route(
            &format!("{task}/run"),
            post_with(
                run,
                says("runScheduledTask", "scheduled tasks", "Runs an enabled task now."),
            ),
        )
        .api_route(
            "/api/openchamber/scheduled-tasks/status",
            get_with(
                status,
                says(
                    "getScheduledTasksStatus",
                    "scheduled tasks",
                    "Counts enabled and running tasks.",
                ),
            ),
        )
        .api_route(
            "/api/openchamber/events",
            get_with(
                events::seed_stream,
                says(
                    "openchamberEvents",
                    "scheduled tasks",
                    "Streams the peer's events: ready, heartbeat, scheduled-task-ran.",
                ),
            ),
        )
}

/// All tasks of a project.
#[derive(Serialize, JsonSchema)]
struct Tasks {
    tasks: Vec<Task>,
}

/// One task.
#[derive(Serialize, JsonSchema)]
struct One {
    task: Task,
}

/// What the deletion of a loop file left.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FileDeleted {
    tasks: Vec<Task>,
    /// How to bring the file back.
    deleted: Deleted,
}

/// A task to make or replace.
#[derive(Deserialize, JsonSchema)]
struct Upserting {
    /// `{id?, name, enabled?, schedule, execution}`.
    #[serde(default)]
    task: Value,
}

/// The switch of a loop file.
#[derive(Deserialize, JsonSchema)]
struct Toggling {
    #[serde(default)]
    #[schemars(with = "bool")]
    enabled: Value,
}

/// What is not there, in the peer's words.
const NO_PROJECT: &str = "Project not found";
const NO_TASK: &str = "Task not found";
const NO_RUN: &str = "Task not found or disabled";
const MANAGED: &str = "Loop task is managed by its .agents/loops markdown file; delete the file to \
                       remove the task";

/// Says an error in the peer's words, since its clients match on them; ours go along as the hint.
async fn peers(engine: &Engine, project: &str, error: EngineError, no_task: &str) -> ApiError {
    let words = match &error {
        EngineError::NotFound(_) => {
            let known = engine.projects().await.unwrap_or_default();
            let known = known.iter().any(|known| known.id == project);
            if known { no_task } else { NO_PROJECT }
        }
        EngineError::AlreadyRunning(_) => "task is already running",
        EngineError::Invalid { field: Some(_), message } => {
            // The peer says which field; ours adds why, after a colon.
            message.split_once(": ").map_or(&**message, |(which, _)| which)
        }
        _ => return error.into(),
    };
    let (words, message) = (words.to_owned(), error.to_string());
    let mut answer = ApiError::from(error);
    if words != message {
        answer.body.error = words;
        answer.body.hint = Some(message);
    }
    answer
}

async fn list(
    State(engine): State<Engine>,
    Segments(path): Segments<ProjectPath>,
) -> Answer<Tasks> {
    match engine.list_tasks(&path.project_id).await {
        Ok(tasks) => Ok(Json(Tasks { tasks })),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_TASK).await),
    }
}

async fn upsert(
    State(engine): State<Engine>,
    Segments(path): Segments<ProjectPath>,
    Body(upserting): Body<Upserting>,
) -> Answer<Upserted> {
    match engine.upsert_task(&path.project_id, payload(&upserting.task)?).await {
        Ok(done) => Ok(Json(done)),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_TASK).await),
    }
}

fn payload(task: &Value) -> Result<&Value, ApiError> {
    if task.is_object() { Ok(task) } else { Err(ApiError::invalid("task payload is required")) }
}

fn switch(enabled: &Value) -> Result<bool, ApiError> {
    enabled.as_bool().ok_or_else(|| ApiError::invalid("enabled must be a boolean"))
}

async fn delete(State(engine): State<Engine>, Segments(path): Segments<TaskPath>) -> Answer<Tasks> {
    match engine.delete_task(&path.project_id, &path.task_id).await {
        Ok(tasks) => Ok(Json(Tasks { tasks })),
        // The only refusal of a deletion that is asked for rightly.
        Err(EngineError::Invalid { message, .. }) => Err(ApiError::invalid(MANAGED).hint(message)),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_TASK).await),
    }
}

async fn toggle(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
    Body(toggling): Body<Toggling>,
) -> Answer<One> {
    let enabled = switch(&toggling.enabled)?;
    match engine.set_loop_enabled(&path.project_id, &path.task_id, enabled).await {
        Ok(task) => Ok(Json(One { task })),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_TASK).await),
    }
}

async fn delete_file(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
) -> Answer<FileDeleted> {
    match engine.delete_loop_file(&path.project_id, &path.task_id).await {
        Ok((tasks, deleted)) => Ok(Json(FileDeleted { tasks, deleted })),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_TASK).await),
    }
}

async fn run(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
) -> Answer<RunAnswer> {
    match engine.run_now(&path.project_id, &path.task_id, WaitFor::Accepted).await {
        Ok(answer) => Ok(Json(answer)),
        Err(error) => Err(peers(&engine, &path.project_id, error, NO_RUN).await),
    }
}

async fn status(State(engine): State<Engine>) -> Answer<StatusCounts> {
    Ok(Json(engine.status().await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_payloads_are_refused_in_the_peers_words() {
        let missing = payload(&Value::Null).expect_err("no task was sent");
        assert_eq!(
            (missing.status.as_u16(), missing.body.error.as_str()),
            (400, "task payload is required")
        );
        let wrong = switch(&json!("yes")).expect_err("only a boolean switches");
        assert_eq!(
            (wrong.status.as_u16(), wrong.body.error.as_str()),
            (400, "enabled must be a boolean")
        );
    }
}
