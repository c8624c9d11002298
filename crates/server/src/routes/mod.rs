//! Every route, named as in the design: one operation of the engine each.
//!
//! A successful answer is the operation's own value, unwrapped; only the eight routes that the
//! seed has (`seed`) wrap it as the seed does.

mod agents;
mod approvals;
mod doctor;
mod loop_files;
mod overview;
mod pause;
mod projects;
mod runs;
mod schedule;
mod seed;
mod settings;
mod tasks;

use crate::error::ApiError;
use crate::{events, openapi};
use aide::axum::ApiRouter;
use aide::transform::TransformOperation;
use axum::Router;
use axum::extract::FromRef;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use loopkeeper_engine::engine::Engine;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The engine.
    pub engine: Engine,
    /// Sets this process's event ids apart from an earlier one's.
    pub epoch: Arc<str>,
}

impl FromRef<Shared> for Engine {
    fn from_ref(shared: &Shared) -> Engine {
        shared.engine.clone()
    }
}

/// What a handler answers.
type Answer<T> = Result<axum::Json<T>, ApiError>;
/// What a handler answers that has nothing to show.
type Done = Result<axum::response::NoContent, ApiError>;

/// A project in a path.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectPath {
    /// The project's id.
    project_id: String,
}

/// A task in a path.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskPath {
    /// The project's id.
    project_id: String,
    /// The task's id, percent-encoded.
    task_id: String,
}

/// A run in a path.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunPath {
    /// The run's id.
    run_id: i64,
}

/// Describes an operation: its id, its group, and what it does in one sentence.
fn says(
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |operation| operation.id(id).tag(tag).summary(summary)
}

/// Returns all described routes, without a state.
pub(crate) fn described() -> ApiRouter<Shared> {
    ApiRouter::new()
        .merge(seed::routes())
        .merge(overview::routes())
        .merge(projects::routes())
        .merge(tasks::routes())
        .merge(runs::routes())
        .merge(loop_files::routes())
        .merge(schedule::routes())
        .merge(pause::routes())
        .merge(approvals::routes())
        .merge(agents::routes())
        .merge(settings::routes())
        .merge(doctor::routes())
        .merge(events::routes())
}

/// Returns the whole API of an engine, without a guard: for calls in memory, and to be wrapped by
/// [`crate::serve`].
pub fn router(engine: Engine) -> Router {
    let shared = Shared { engine, epoch: events::epoch() };
    let mut api = aide::openapi::OpenApi::default();
    described()
        .finish_api(&mut api)
        .route("/api/openapi.json", axum::routing::get(openapi::serve))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .layer(map_response(no_store))
        .with_state(shared)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not answer {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        .hint("/api/openapi.json lists what each address answers")
}

/// Answers an address that nobody has.
pub(crate) async fn unknown(uri: Uri) -> Response {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {}", uri.path()))
        .hint("/api/openapi.json lists every address")
        .into_response()
}

/// Keeps answers out of every cache, unless the answer says otherwise itself.
pub(crate) async fn no_store(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A 201 with a value.
struct Created<T>(T);

impl<T: serde::Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, axum::Json(self.0)).into_response()
    }
}

impl<T: JsonSchema> aide::OperationOutput for Created<T> {
    type Inner = T;

    fn operation_response(
        ctx: &mut aide::generate::GenContext,
        operation: &mut aide::openapi::Operation,
    ) -> Option<aide::openapi::Response> {
        axum::Json::<T>::operation_response(ctx, operation)
    }

    fn inferred_responses(
        ctx: &mut aide::generate::GenContext,
        operation: &mut aide::openapi::Operation,
    ) -> Vec<(Option<u16>, aide::openapi::Response)> {
        Self::operation_response(ctx, operation)
            .map(|response| (Some(201), response))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Segments;
    use axum::routing::get;

    #[tokio::test]
    async fn ids_in_paths_are_decoded_and_stay_one_segment() {
        let id = async |Segments(path): Segments<TaskPath>| path.task_id;
        let routes = Router::new().route("/api/projects/{projectId}/tasks/{taskId}", get(id));
        let path = "/api/projects/p/tasks/loop%3Aproject%3A%D0%9D%D0%B0%D0%B7%D0%B2%D0%B0%20%F0%9F%99%82%3A%20x%2Fy";
        let (status, answer) = crate::call(&routes, "GET", path, None).await;
        assert_eq!(status, 200, "a slash within an id is no end of the segment");
        assert_eq!(answer, "loop:project:Назва 🙂: x/y");
        let (status, answer) = crate::call(&routes, "GET", "/api/projects/p/tasks/%FF", None).await;
        assert_eq!((status.as_u16(), &answer["code"]), (400, &serde_json::json!("invalid")));
    }

    #[tokio::test]
    async fn unknown_addresses_and_wrong_methods_are_told_in_our_shape() {
        let routes = Router::new()
            .route("/api/runs", get(async || "here"))
            .method_not_allowed_fallback(wrong_method)
            .fallback(unknown)
            .layer(map_response(no_store));
        let (status, answer) = crate::call(&routes, "GET", "/api/nothing", None).await;
        assert_eq!((status.as_u16(), &answer["code"]), (404, &serde_json::json!("not_found")));
        let (status, answer) = crate::call(&routes, "PUT", "/api/runs", None).await;
        assert_eq!(
            (status.as_u16(), &answer["code"]),
            (405, &serde_json::json!("method_not_allowed"))
        );
    }
}
