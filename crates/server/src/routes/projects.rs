//! Registered projects.

use super::{Answer, Created, Done, ProjectPath, Shared, says};
use crate::error::ApiError;
use crate::extract::{Body, Segments};
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::{ProjectView, TaskSummary};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/projects",
            get_with(list, says("listProjects", "projects", "Lists the registered projects."))
                .post_with(add, says("addProject", "projects", "Registers a folder as a project.")),
        )
        .api_route(
            "/api/projects/sample",
            post_with(
                sample,
                says(
                    "addSample",
                    "projects",
                    "Makes the built-in sample, a loop on the demo agent, and registers it.",
                ),
            ),
        )
        .api_route(
            "/api/projects/{projectId}",
            get_with(one, says("getProject", "projects", "Returns one project.")).delete_with(
                remove,
                says(
                    "removeProject",
                    "projects",
                    "Forgets a project that was added here; its files stay.",
                ),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/tasks",
            get_with(
                tasks,
                says("listProjectTasks", "projects", "Lists a project's tasks as lists show them."),
            ),
        )
        .api_route(
            "/api/projects/{projectId}/sync",
            post_with(
                sync,
                says("syncProject", "projects", "Reads the project's loop files again."),
            ),
        )
}

/// A project to add.
#[derive(Deserialize, JsonSchema)]
struct NewProject {
    /// The folder's absolute path.
    path: String,
}

async fn list(State(engine): State<Engine>) -> Answer<Vec<ProjectView>> {
    Ok(Json(engine.projects().await?))
}

async fn add(
    State(engine): State<Engine>,
    Body(project): Body<NewProject>,
) -> Result<Created<ProjectView>, ApiError> {
    Ok(Created(engine.add_project(&project.path).await?))
}

async fn sample(State(engine): State<Engine>) -> Result<Created<ProjectView>, ApiError> {
    Ok(Created(engine.add_sample().await?))
}

async fn one(
    State(engine): State<Engine>,
    Segments(path): Segments<ProjectPath>,
) -> Answer<ProjectView> {
    Ok(Json(engine.project(&path.project_id).await?))
}

async fn remove(State(engine): State<Engine>, Segments(path): Segments<ProjectPath>) -> Done {
    engine.remove_project(&path.project_id).await?;
    Ok(NoContent)
}

async fn tasks(
    State(engine): State<Engine>,
    Segments(path): Segments<ProjectPath>,
) -> Answer<Vec<TaskSummary>> {
    Ok(Json(engine.task_summaries(Some(&path.project_id)).await?))
}

async fn sync(State(engine): State<Engine>, Segments(path): Segments<ProjectPath>) -> Done {
    engine.sync_project(&path.project_id).await?;
    Ok(NoContent)
}
