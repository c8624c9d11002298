//! The settings in force, and changes to their file.

use super::{Answer, Shared, says};
use crate::error::ApiError;
use crate::extract::Body;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::SettingsView;
use serde_json::Value;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new().api_route(
        "/api/settings",
        get_with(
            get,
            says("getSettings", "settings", "Returns the settings in force, and their file."),
        )
        .patch_with(
            change,
            says(
                "changeSettings",
                "settings",
                "Sets the keys that are given; comments of the file stay.",
            ),
        ),
    )
}

async fn get(State(engine): State<Engine>) -> Answer<SettingsView> {
    Ok(Json(engine.settings().await?))
}

async fn change(State(engine): State<Engine>, Body(changes): Body<Value>) -> Answer<SettingsView> {
    if !changes.is_object() {
        return Err(ApiError::invalid(
            "send an object of the keys to set, as {\"runs\":{\"global\":2}}",
        ));
    }
    Ok(Json(engine.save_settings(&changes).await?))
}
