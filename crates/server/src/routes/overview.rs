//! What the tray and the head of the window show.

use super::{Answer, Done, Shared, says};
use crate::extract::Segments;
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::{Overview, StatusCounts};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/overview",
            get_with(overview, says("getOverview", "overview", "Returns what the tray shows.")),
        )
        .api_route(
            "/api/status",
            get_with(status, says("getStatus", "overview", "Counts enabled and running tasks.")),
        )
        .api_route(
            "/api/needs/{needId}/dismiss",
            post_with(dismiss, says("dismissNeed", "overview", "Takes a need off the list.")),
        )
}

/// A need in a path.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NeedPath {
    /// The need's id, percent-encoded.
    need_id: String,
}

async fn overview(State(engine): State<Engine>) -> Answer<Overview> {
    Ok(Json(engine.overview().await?))
}

async fn status(State(engine): State<Engine>) -> Answer<StatusCounts> {
    Ok(Json(engine.status().await?))
}

async fn dismiss(State(engine): State<Engine>, Segments(path): Segments<NeedPath>) -> Done {
    engine.dismiss(&path.need_id).await?;
    Ok(NoContent)
}
