//! What is well and what is not.

use super::{Answer, Shared, says};
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::Finding;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new().api_route(
        "/api/doctor",
        get_with(
            doctor,
            says("doctor", "doctor", "Looks at everything and says what to do about it."),
        ),
    )
}

async fn doctor(State(engine): State<Engine>) -> Answer<Vec<Finding>> {
    Ok(Json(engine.doctor().await?))
}
