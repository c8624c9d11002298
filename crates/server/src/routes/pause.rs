//! The pause of everything.

use super::{Answer, Done, Shared, says};
use crate::extract::Body;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::PauseView;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new().api_route(
        "/api/pause",
        get_with(
            get,
            says("getPause", "pause", "Returns the pause of everything; null when there is none."),
        )
        .post_with(
            pause,
            says("pause", "pause", "Pauses everything, in every process on the data folder."),
        )
        .delete_with(resume, says("resume", "pause", "Ends the pause of everything.")),
    )
}

/// How long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pausing {
    /// When the pause ends by itself; without it, when somebody resumes.
    until: Option<i64>,
}

async fn get(State(engine): State<Engine>) -> Answer<Option<PauseView>> {
    Ok(Json(engine.overview().await?.paused))
}

async fn pause(State(engine): State<Engine>, Body(pausing): Body<Pausing>) -> Answer<PauseView> {
    Ok(Json(engine.pause(pausing.until).await?))
}

async fn resume(State(engine): State<Engine>) -> Done {
    engine.resume().await?;
    Ok(NoContent)
}
