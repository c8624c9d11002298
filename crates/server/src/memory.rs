//! The router without a socket: what the desktop's web view calls.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// The largest answer that is handed on, in bytes.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// Asks the router in memory: `path` as in an address (`/api/runs?limit=5`), percent-encoded.
///
/// Returns the status and the JSON body (`null` where there is none). Streams are not for this:
/// a host without a socket listens to [`loopkeeper_engine::event::EventBus`] itself.
pub async fn call(
    router: &Router,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> (StatusCode, Value) {
    call_matching(router, method, path, body, None).await
}

/// Asks as [`call`] does, with the entity tag that a save has to name.
pub async fn call_matching(
    router: &Router,
    method: &str,
    path: &str,
    body: Option<&Value>,
    if_match: Option<&str>,
) -> (StatusCode, Value) {
    let bad =
        |message: String| (StatusCode::BAD_REQUEST, json!({ "error": message, "code": "invalid" }));
    if path.split('?').next().is_some_and(|path| path.trim_end_matches('/').ends_with("/events")) {
        return bad("event streams are not answered in memory".to_owned());
    }
    let mut request = Request::builder().method(method).uri(path);
    if let Some(tag) = if_match {
        request = request.header(header::IF_MATCH, tag);
    }
    let body = match body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    let request = match request.body(body) {
        Ok(request) => request,
        Err(error) => return bad(format!("{method} {path} is no request: {error}")),
    };
    let response = match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status();
    match to_bytes(response.into_body(), ANSWER_LIMIT).await {
        Ok(bytes) if bytes.is_empty() => (status, Value::Null),
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value) => (status, value),
            Err(_) => (status, Value::String(String::from_utf8_lossy(&bytes).into_owned())),
        },
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            json!({ "error": format!("the answer broke off: {error}"), "code": "internal" }),
        ),
    }
}
