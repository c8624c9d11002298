//! One task: its page, its switches, its runs by hand.

use super::{Answer, Created, Done, Shared, TaskPath, says};
use crate::error::ApiError;
use crate::extract::{Body, Params, Segments};
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with, put_with};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use loopkeeper_engine::engine::{Engine, WaitFor};
use loopkeeper_engine::task::Task;
use loopkeeper_engine::task::policy::Policy;
use loopkeeper_engine::view::{LoopFileView, RunAnswer, TaskDetail, TaskSummary};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/tasks",
            get_with(
                list,
                says("listTasks", "tasks", "Lists the tasks of all projects, or of one."),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/tasks/{taskId}",
            get_with(
                one,
                says("getTask", "tasks", "Returns a task with everything its page shows."),
            )
            .patch_with(
                switch,
                says(
                    "setTaskEnabled",
                    "tasks",
                    "Arms a task or takes it off; a loop task in its file.",
                ),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/tasks/{taskId}/policy",
            put_with(
                policy,
                says(
                    "setTaskPolicy",
                    "tasks",
                    "Sets the policy of a JSON task; a loop task has it in its file.",
                ),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/tasks/{taskId}/run",
            post_with(run, says("runTask", "tasks", "Runs a task now, also one that is off.")),
        )
        .api_route(
            "/api/projects/{projectId}/tasks/{taskId}/resume",
            post_with(
                resume,
                says("resumeTask", "tasks", "Ends the pause after failures in a row."),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/tasks/{taskId}/loop",
            post_with(to_loop, says("taskToLoop", "tasks", "Turns a JSON task into a loop file.")),
        )
}

/// Which tasks.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// The project's id; without it, all projects.
    project: Option<String>,
}

/// A switch.
#[derive(Deserialize, JsonSchema)]
struct Switch {
    /// Whether the task shall be armed.
    enabled: bool,
}

/// How long a run is waited for.
#[derive(Deserialize, JsonSchema)]
struct Waiting {
    /// `accepted` (default): until the prompt was accepted or the run ended before that; `end`.
    #[serde(default)]
    wait: Wait,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Wait {
    #[default]
    Accepted,
    End,
}

async fn list(
    State(engine): State<Engine>,
    Params(which): Params<Which>,
) -> Answer<Vec<TaskSummary>> {
    Ok(Json(engine.task_summaries(which.project.as_deref()).await?))
}

async fn one(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
) -> Answer<TaskDetail> {
    Ok(Json(engine.task(&path.project_id, &path.task_id).await?))
}

async fn switch(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
    Body(switch): Body<Switch>,
) -> Answer<Task> {
    Ok(Json(engine.set_enabled(&path.project_id, &path.task_id, switch.enabled).await?))
}

async fn policy(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
    Body(policy): Body<Policy>,
) -> Done {
    engine.set_policy(&path.project_id, &path.task_id, &policy).await?;
    Ok(NoContent)
}

async fn run(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
    Params(waiting): Params<Waiting>,
) -> Answer<RunAnswer> {
    let wait = match waiting.wait {
        Wait::Accepted => WaitFor::Accepted,
        Wait::End => WaitFor::End,
    };
    Ok(Json(engine.try_run(&path.project_id, &path.task_id, wait).await?))
}

async fn resume(State(engine): State<Engine>, Segments(path): Segments<TaskPath>) -> Done {
    engine.resume_task(&path.project_id, &path.task_id).await?;
    Ok(NoContent)
}

async fn to_loop(
    State(engine): State<Engine>,
    Segments(path): Segments<TaskPath>,
) -> Result<Created<LoopFileView>, ApiError> {
    Ok(Created(engine.task_to_loop(&path.project_id, &path.task_id).await?))
}
