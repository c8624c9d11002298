//! Loops whose content waits for approval.

use super::{Answer, Done, Shared, says};
use crate::extract::Body;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::ApprovalView;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new().api_route(
        "/api/approvals",
        get_with(
            list,
            says("listApprovals", "approvals", "Lists what waits for approval, with its content."),
        )
        .post_with(
            approve,
            says(
                "approve",
                "approvals",
                "Approves the content that was shown; another is refused.",
            ),
        ),
    )
}

/// What is approved.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Approving {
    /// The project's id.
    project_id: String,
    /// The task's id.
    task_id: String,
    /// The hash of the content that was shown.
    hash: String,
}

async fn list(State(engine): State<Engine>) -> Answer<Vec<ApprovalView>> {
    Ok(Json(engine.approvals().await?))
}

async fn approve(State(engine): State<Engine>, Body(approving): Body<Approving>) -> Done {
    engine.approve(&approving.project_id, &approving.task_id, &approving.hash).await?;
    Ok(NoContent)
}
