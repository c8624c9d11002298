//! Events over the routes: what this process does, and what another on the folder does.

use crate::setup::World;
use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tower::ServiceExt as _;

/// How long a frame may take before the test fails; nothing waits that long that works.
const PATIENCE: Duration = Duration::from_secs(60);

/// The `data` of the frames of a stream.
struct Frames {
    body: axum::body::BodyDataStream,
    text: String,
}

impl Frames {
    async fn open(api: &axum::Router, path: &str) -> Frames {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = api.clone().oneshot(request).await.expect("it answers");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Frames { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Returns the id and the data of the next frame that has data.
    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let (id, data) = (field("id: ").unwrap_or_default(), field("data: "));
                let ping = frame.contains("event: ping");
                self.text = rest.to_owned();
                if let Some(data) = data.filter(|_| !ping) {
                    return (id, serde_json::from_str(&data).expect("frames hold JSON"));
                }
                continue;
            }
            let more = tokio::time::timeout(PATIENCE, self.body.next()).await;
            let more = more.expect("a frame comes").expect("the stream goes on").expect("bytes");
            self.text.push_str(&String::from_utf8_lossy(&more));
        }
    }

    /// Skips frames until one is as wanted.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> (String, Value) {
        let mut seen = Vec::new();
        let found = async {
            loop {
                let (id, data) = self.next().await;
                if wanted(&data) {
                    return (id, data);
                }
                seen.push(data);
            }
        };
        // Pings keep the stream alive, so the frames alone would wait for ever.
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("the frame does not come; there were {seen:#?}"))
    }
}

#[tokio::test]
async fn a_run_is_told_on_both_streams_and_a_client_that_comes_back_goes_on() {
    let world = World::new().await;
    let task = world.task("daily", "demo/echo").await;
    let mut ours = Frames::open(&world.api, "/api/events").await;
    let mut peers = Frames::open(&world.api, "/api/openchamber/events").await;
    let (_, ready) = peers.next().await;
    assert_eq!(ready["type"], "openchamber:event-stream-ready", "the first frame: {ready}");

    let (status, ran) = world.ask("POST", &format!("{}/run", world.at(&task)), None).await;
    assert_eq!(status, 200, "{ran}");
    let about_it = |event: &Value| event["runId"] == ran["runId"];
    let (first, _) = ours.until(about_it).await;
    let ended = |event: &Value| event["kind"] == "run_finished" && about_it(event);
    let (last, event) = ours.until(ended).await;
    assert_eq!((&event["projectId"], &event["taskId"]), (&json!(world.id), &json!(task)));

    let done = |frame: &Value| frame["properties"]["status"] != "running";
    let (_, frame) = peers.until(done).await;
    assert_eq!(frame["type"], "openchamber:scheduled-task-ran", "{frame}");
    assert_eq!(frame["properties"]["status"], "success", "{frame}");

    let mut again = Frames::open(&world.api, &format!("/api/events?lastEventId={first}")).await;
    let (id, _) = again.until(ended).await;
    assert_eq!(id, last, "what was missed comes again, under the same id");
    let mut late = Frames::open(&world.api, "/api/events?lastEventId=other-7").await;
    assert_eq!(late.next().await.1["kind"], "reload", "an id of another process is no base");
}

#[tokio::test]
async fn what_another_process_does_is_told_like_our_own() {
    let mut world = World::new().await;
    let watching = world.another().await;
    watching.engine.start().await.expect("it starts");
    let api = watching.api.clone();
    let mut ours = Frames::open(&api, "/api/events").await;
    let mut peers = Frames::open(&api, "/api/openchamber/events").await;

    // The world's own engine is the other process: it runs, asks, is paused; nobody tells `api`.
    let task = world.task("asking", "demo/ask").await;
    let (status, ran) = world.ask("POST", &format!("{}/run", world.at(&task)), None).await;
    assert_eq!(status, 200, "{ran}");
    let run = ran["runId"].clone();
    let (_, event) =
        ours.until(|event| event["kind"] == "run_blocked" && event["runId"] == run).await;
    assert_eq!((&event["projectId"], &event["taskId"]), (&json!(world.id), &json!(task)));
    let ran = |frame: &Value| frame["type"] == "openchamber:scheduled-task-ran";
    let (_, frame) = peers.until(ran).await;
    assert_eq!(frame["properties"]["status"], "running", "{frame}");

    // The answer goes to the process that does not follow the run.
    let at = format!("/api/runs/{run}");
    let (_, view) = loopkeeper_server::call(&api, "GET", &at, None).await;
    let answer = json!({"ask": view["asks"][0]["id"], "answer": "once"});
    let (status, _) =
        loopkeeper_server::call(&api, "POST", &format!("{at}/answer"), Some(&answer)).await;
    assert_eq!(status, 200);
    let (_, event) =
        ours.until(|event| event["kind"] == "run_finished" && event["runId"] == run).await;
    assert_eq!(event["taskId"], json!(task), "{event}");
    let ended = |frame: &Value| frame["properties"]["status"] == "success";
    peers.until(ended).await;

    let (status, _) = world.post("/api/pause", json!({})).await;
    assert_eq!(status, 200);
    ours.until(|event| event["kind"] == "paused").await;
    let (status, _) = world.ask("DELETE", "/api/pause", None).await;
    assert_eq!(status, 204);
    ours.until(|event| event["kind"] == "resumed").await;

    let beta = world.root.join("beta");
    std::fs::create_dir(&beta).expect("a folder");
    world.project = beta;
    world.register().await;
    ours.until(|event| event["kind"] == "tasks_changed").await;
    let (_, projects) = loopkeeper_server::call(&api, "GET", "/api/projects", None).await;
    assert_eq!(projects.as_array().map(Vec::len), Some(2), "{projects}");
    watching.engine.stop().await;
}
