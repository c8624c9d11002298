//! Schedules: what a schedule comes to, and what happened and comes on a line of time.

use super::{Answer, Shared, says};
use crate::error::ApiError;
use crate::extract::{Body, Params};
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::task::Schedule;
use loopkeeper_engine::view::{Preview, Timeline};
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest timeline, in ms: a leap year and a day.
const LONGEST: i64 = 367 * 24 * 3_600_000;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/preview",
            post_with(
                preview,
                says(
                    "previewSchedule",
                    "schedules",
                    "Says a schedule in words, and its next occurrences.",
                ),
            ),
        )
        .api_route(
            "/api/timeline",
            get_with(
                timeline,
                says(
                    "getTimeline",
                    "schedules",
                    "Returns what happened and what comes, task by task.",
                ),
            ),
        )
}

/// A schedule to look at.
#[derive(Deserialize, JsonSchema)]
struct Previewing {
    /// The schedule; without a zone, the machine's.
    schedule: Schedule,
    /// Only occurrences after this instant; without it, now.
    after: Option<i64>,
    /// How many, 1 to 1,000; 5 when it is not given.
    #[schemars(range(min = 1, max = 1000))]
    count: Option<usize>,
}

/// Which part of time.
#[derive(Deserialize, JsonSchema)]
struct Between {
    /// The project's id; without it, all projects.
    project: Option<String>,
    /// The first instant.
    from: i64,
    /// The last instant.
    to: i64,
}

async fn preview(
    State(engine): State<Engine>,
    Body(previewing): Body<Previewing>,
) -> Answer<Preview> {
    let count = previewing.count.unwrap_or(5);
    if !(1..=1_000).contains(&count) {
        return Err(ApiError::invalid(format!("count is {count}; write 1 to 1000")));
    }
    Ok(Json(engine.preview(&previewing.schedule, previewing.after, count).await?))
}

async fn timeline(
    State(engine): State<Engine>,
    Params(between): Params<Between>,
) -> Answer<Timeline> {
    let (from, to) = (between.from, between.to);
    match to.checked_sub(from) {
        Some(length) if length > 0 && length <= LONGEST => {}
        Some(length) if length > 0 => {
            return Err(ApiError::invalid("the time asked for is longer than 367 days"));
        }
        _ => return Err(ApiError::invalid(format!("to ({to}) must be later than from ({from})"))),
    }
    Ok(Json(engine.timeline(between.project.as_deref(), from, to).await?))
}
