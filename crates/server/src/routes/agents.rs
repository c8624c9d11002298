//! Agents and models, for pickers; never a secret.

use super::{Answer, Shared, says};
use crate::extract::Params;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::{AgentsView, LogView, ModelsView};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/agents",
            get_with(
                agents,
                says(
                    "listAgents",
                    "agents",
                    "Returns the agent server's state, agents and slash commands.",
                ),
            ),
        )
        .api_route(
            "/api/models",
            get_with(models, says("listModels", "agents", "Lists usable models, by provider.")),
        )
        .api_route(
            "/api/log",
            get_with(log, says("getLog", "agents", "Returns the end of the agent server's log.")),
        )
}

/// Where.
#[derive(Deserialize, JsonSchema)]
struct Where {
    /// The project's folder: agents and models can differ by folder.
    directory: Option<String>,
}

/// How much.
#[derive(Deserialize, JsonSchema)]
struct HowMuch {
    /// How many lines, 1 to 5,000; 400 when it is not given.
    #[schemars(range(min = 1, max = 5000))]
    lines: Option<usize>,
}

async fn agents(State(engine): State<Engine>, Params(place): Params<Where>) -> Answer<AgentsView> {
    Ok(Json(engine.agents(place.directory.as_deref()).await?))
}

async fn models(State(engine): State<Engine>, Params(place): Params<Where>) -> Answer<ModelsView> {
    Ok(Json(engine.models(place.directory.as_deref()).await?))
}

async fn log(State(engine): State<Engine>, Params(much): Params<HowMuch>) -> Answer<LogView> {
    Ok(Json(engine.log(much.lines.unwrap_or(400)).await?))
}
