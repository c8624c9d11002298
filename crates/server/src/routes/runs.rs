//! Runs: the history, one with its steps, and what a person does to one that goes on.

use super::{Answer, RunPath, Shared, says};
use crate::error::ApiError;
use crate::extract::{Body, Params, Segments};
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::ledger::{Answer as Reply, Run, RunFilter, Status};
use loopkeeper_engine::view::RunView;
use schemars::JsonSchema;
use serde::Deserialize;

/// How many rows one answer holds at most.
const MOST: usize = 1_000;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/runs",
            get_with(list, says("listRuns", "runs", "Lists runs and skipped slots, newest first.")),
        )
        .api_route(
            "/api/runs/{runId}",
            get_with(one, says("getRun", "runs", "Returns a run with its steps and what it asks.")),
        )
        .api_route(
            "/api/runs/{runId}/cancel",
            post_with(cancel, says("cancelRun", "runs", "Stops an open run.")),
        )
        .api_route(
            "/api/runs/{runId}/answer",
            post_with(answer, says("answerRun", "runs", "Answers what a blocked run asks.")),
        )
}

/// Which runs.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// The project's id.
    project: Option<String>,
    /// The task's id.
    task: Option<String>,
    /// Statuses with commas between them, as `failed,timed_out`.
    status: Option<String>,
    /// Only rows older than this one: the last id of the page before.
    before: Option<i64>,
    /// How many rows, 1 to 1,000; 50 when it is not given.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

impl Which {
    fn filter(self) -> Result<RunFilter, ApiError> {
        let limit = self.limit.unwrap_or(50);
        if !(1..=MOST).contains(&limit) {
            return Err(ApiError::invalid(format!("limit is {limit}; write 1 to {MOST}")));
        }
        let words = self.status.as_deref().unwrap_or("").split(',').map(str::trim);
        let status = words.filter(|word| !word.is_empty()).map(status).collect::<Result<_, _>>()?;
        Ok(RunFilter { project: self.project, task: self.task, status, before: self.before, limit })
    }
}

fn status(word: &str) -> Result<Status, ApiError> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|_| {
        ApiError::invalid(format!("`{word}` is no status of a run")).hint(
            "write one of claimed queued retrying running blocked succeeded failed timed_out \
             cancelled lost skipped missed deduped superseded",
        )
    })
}

/// An answer to a blocked run.
#[derive(Deserialize, JsonSchema)]
struct Answering {
    /// The id of what it asks.
    ask: String,
    /// `once`, `always`, `reject`, or `{"text": "…"}` for a question.
    answer: Reply,
}

async fn list(State(engine): State<Engine>, Params(which): Params<Which>) -> Answer<Vec<Run>> {
    Ok(Json(engine.runs(&which.filter()?).await?))
}

async fn one(State(engine): State<Engine>, Segments(path): Segments<RunPath>) -> Answer<RunView> {
    Ok(Json(engine.run(path.run_id).await?))
}

async fn cancel(State(engine): State<Engine>, Segments(path): Segments<RunPath>) -> Answer<Run> {
    Ok(Json(engine.cancel(path.run_id).await?))
}

async fn answer(
    State(engine): State<Engine>,
    Segments(path): Segments<RunPath>,
    Body(answering): Body<Answering>,
) -> Answer<Run> {
    Ok(Json(engine.answer(path.run_id, &answering.ask, &answering.answer).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn which(status: &str, limit: Option<usize>) -> Which {
        Which { project: None, task: None, status: Some(status.into()), before: None, limit }
    }

    #[test]
    fn filters_are_read_or_refused() {
        let filter = which("failed, timed_out,", None).filter().expect("known statuses");
        assert_eq!(filter.status, [Status::Failed, Status::TimedOut]);
        assert_eq!(filter.limit, 50, "a page is 50 rows unless asked");
        let wrong = which("broken", None).filter().expect_err("no such status");
        assert_eq!(wrong.status, 400);
        assert!(wrong.body.hint.is_some(), "the message says what may be written");
        assert!(which("", Some(0)).filter().is_err(), "an empty page is no page");
        assert!(which("", Some(1_001)).filter().is_err(), "an answer is bounded");
    }
}
