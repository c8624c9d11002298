//! A server that answers like an OpenCode on which every prompt ends well at once, and notes when
//! each session was asked for.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

#[derive(Clone, Default)]
struct Seen {
    /// Wall time of each request for a session, in µs since 1970.
    asked: Arc<Mutex<Vec<u64>>>,
}

/// The server, on a thread of its own until this program ends.
pub struct Stub {
    pub url: String,
    seen: Seen,
}

impl Stub {
    pub fn start() -> Stub {
        let seen = Seen::default();
        let router = router(seen.clone());
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("bound")).expect("told");
                axum::serve(listener, router).await.expect("served");
            });
        });
        let address = told.recv().expect("it listens");
        Stub { url: format!("http://{address}"), seen }
    }

    /// Returns when sessions were asked for, in µs since 1970.
    pub fn asked(&self) -> Vec<u64> {
        self.seen.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn router(seen: Seen) -> Router {
    let empty = || async { Json(json!([])) };
    Router::new()
        .route(
            "/global/health",
            get(|| async { Json(json!({ "healthy": true, "version": "1.18.33" })) }),
        )
        .route(
            "/config/providers",
            get(|| async {
                Json(json!({ "providers": [{ "id": "stub", "models": { "ok": {} } }] }))
            }),
        )
        .route("/agent", get(|| async { Json(json!([{ "name": "build", "mode": "primary" }])) }))
        .route("/command", get(empty))
        .route("/permission", get(empty))
        .route("/question", get(empty))
        .route("/session", post(make))
        .route("/session/status", get(|| async { Json(json!({})) }))
        .route("/session/{id}", get(session))
        .route("/session/{id}/children", get(empty))
        .route("/session/{id}/prompt_async", post(|| async { StatusCode::NO_CONTENT }))
        .route("/session/{id}/message", get(messages))
        .route("/event", get(events))
        .with_state(seen)
}

fn directory(query: &HashMap<String, String>) -> &str {
    query.get("directory").map_or("", String::as_str)
}

async fn make(
    State(seen): State<Seen>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut asked = seen.asked.lock().unwrap_or_else(PoisonError::into_inner);
    asked.push(u64::try_from(now.as_micros()).unwrap_or(0));
    Json(json!({ "id": format!("ses_{}", asked.len()), "directory": directory(&query) }))
}

async fn session(
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    Json(json!({ "id": id, "directory": directory(&query), "cost": 0.1, "tokens": { "input": 5 } }))
}

async fn messages() -> Json<Value> {
    Json(json!([
        { "info": { "id": "msg_0", "role": "user" } },
        {
            "info": { "id": "msg_1", "role": "assistant", "finish": "stop", "time": { "completed": 5000 } },
            "parts": [{ "type": "text", "text": "Done." }],
        },
    ]))
}

async fn events() -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let first = json!({ "type": "server.connected", "properties": {} }).to_string();
    let open = stream::once(async move { Ok(Event::default().data(first)) });
    Sse::new(futures_util::StreamExt::chain(open, stream::pending()))
}
