//! What is refused, with which status and which code.

use crate::setup::{NOW, World, encoded};
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use loopkeeper_engine::clock::SystemClock;
use loopkeeper_server::{ServeOptions, bind, serve};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::ServiceExt as _;

#[tokio::test]
async fn what_is_not_there_is_404() {
    let world = World::new().await;
    let id = &world.id;
    let task = json!({"task": {"name": "x", "schedule": {"kind": "cron", "cron": "@daily"},
        "execution": {"prompt": "p", "providerID": "a", "modelID": "b"}}});
    let on = json!({"enabled": true});
    for (method, path, body) in [
        ("GET", "/api/nothing".to_owned(), None),
        ("GET", "/api".to_owned(), None),
        ("GET", "/api/projects/nope".to_owned(), None),
        ("DELETE", "/api/projects/nope".to_owned(), None),
        ("POST", "/api/projects/nope/sync".to_owned(), None),
        ("GET", "/api/projects/nope/tasks".to_owned(), None),
        ("GET", "/api/projects/nope/scheduled-tasks".to_owned(), None),
        ("PUT", "/api/projects/nope/scheduled-tasks".to_owned(), Some(task)),
        ("GET", "/api/tasks?project=nope".to_owned(), None),
        ("GET", format!("/api/timeline?project=nope&from={NOW}&to={}", NOW + 1), None),
        ("GET", format!("/api/projects/{id}/tasks/nope"), None),
        ("PATCH", format!("/api/projects/{id}/tasks/nope"), Some(on.clone())),
        ("PUT", format!("/api/projects/{id}/tasks/nope/policy"), Some(json!({}))),
        ("POST", format!("/api/projects/{id}/tasks/nope/run"), None),
        ("POST", format!("/api/projects/{id}/tasks/nope/resume"), None),
        ("POST", format!("/api/projects/{id}/tasks/nope/loop"), None),
        ("DELETE", format!("/api/projects/{id}/scheduled-tasks/nope"), None),
        ("PATCH", format!("/api/projects/{id}/scheduled-tasks/nope/loop-file"), Some(on)),
        ("DELETE", format!("/api/projects/{id}/scheduled-tasks/nope/loop-file"), None),
        ("POST", format!("/api/projects/{id}/scheduled-tasks/nope/run"), None),
        ("GET", "/api/runs/99999999".to_owned(), None),
        ("POST", "/api/runs/99999999/cancel".to_owned(), None),
        (
            "POST",
            "/api/runs/99999999/answer".to_owned(),
            Some(json!({"ask": "a", "answer": "once"})),
        ),
        ("POST", "/api/loop-file/restore".to_owned(), Some(json!({"trashId": "../../etc"}))),
        ("POST", "/api/loop-file".to_owned(), Some(json!({"project": "nope", "name": "x"}))),
        (
            "POST",
            "/api/approvals".to_owned(),
            Some(json!({"projectId": id, "taskId": "nope", "hash": "x"})),
        ),
    ] {
        let (status, answer) = world.ask(method, &path, body).await;
        assert_eq!((status, &answer["code"]), (404, &json!("not_found")), "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_400() {
    let world = World::new().await;
    let id = &world.id;
    let task = world.task("daily", "demo/echo").await;
    let at = world.at(&task);
    let file = world.project.join("file");
    std::fs::write(&file, "no folder").expect("a file");
    for (method, path, body) in [
        ("POST", "/api/projects".to_owned(), json!({"path": file.display().to_string()})),
        ("POST", "/api/projects".to_owned(), json!({"path": "/no/such/folder"})),
        ("POST", "/api/projects".to_owned(), json!({"path": "relative"})),
        ("POST", "/api/projects".to_owned(), json!({"path": 7})),
        ("POST", "/api/projects".to_owned(), json!({})),
        ("PATCH", at.clone(), json!({"enabled": "yes"})),
        ("PUT", format!("{at}/policy"), json!({"timeout": "soon"})),
        ("POST", format!("{at}/run?wait=never"), json!({})),
        ("GET", "/api/runs/seven".to_owned(), json!({})),
        ("GET", "/api/runs?limit=0".to_owned(), json!({})),
        ("GET", "/api/runs?limit=1001".to_owned(), json!({})),
        ("GET", "/api/runs?status=broken".to_owned(), json!({})),
        ("GET", "/api/runs?before=x".to_owned(), json!({})),
        ("GET", format!("/api/timeline?from={NOW}&to={NOW}"), json!({})),
        ("GET", format!("/api/timeline?from=0&to={NOW}"), json!({})),
        ("GET", format!("/api/timeline?from={}&to={}", i64::MIN, i64::MAX), json!({})),
        ("GET", "/api/timeline".to_owned(), json!({})),
        ("GET", "/api/log?lines=0".to_owned(), json!({})),
        ("GET", "/api/log?lines=1000000".to_owned(), json!({})),
        ("POST", "/api/preview".to_owned(), json!({"schedule": {"kind": "cron", "cron": "no"}})),
        (
            "POST",
            "/api/preview".to_owned(),
            json!({"schedule": {"kind": "cron", "cron": "@daily"}, "count": 0}),
        ),
        ("POST", "/api/check".to_owned(), json!({})),
        ("POST", "/api/loop-file".to_owned(), json!({"project": id, "name": " "})),
        ("GET", "/api/loop-file".to_owned(), json!({})),
        ("PATCH", "/api/settings".to_owned(), json!({"runs": {"globl": 2}})),
        ("PATCH", "/api/settings".to_owned(), json!({"runs": {"global": "many"}})),
        ("PATCH", "/api/settings".to_owned(), json!([1])),
        ("POST", "/api/pause".to_owned(), json!({"until": "later"})),
        ("POST", "/api/pause".to_owned(), json!({"until": 5})),
        ("POST", "/api/pause".to_owned(), json!({"until": 8_641_796_043_067_539_i64})),
    ] {
        let sent = (method != "GET").then_some(body);
        let (status, answer) = world.ask(method, &path, sent.clone()).await;
        let got = (status, &answer["code"]);
        assert_eq!(got, (400, &json!("invalid")), "{method} {path} {sent:?}: {answer}");
    }
    let looped = world.write_loop(
        "x.md",
        "---\nname: x\nschedule: \"@daily\"\nenabled: true\nmodel: demo/echo\n---\nx\n",
    );
    world.get(&format!("/api/projects/{id}/scheduled-tasks")).await;
    let at = world.at("loop:project:x");
    for (method, path, body) in
        [("PUT", format!("{at}/policy"), Some(json!({}))), ("POST", format!("{at}/loop"), None)]
    {
        let (status, answer) = world.ask(method, &path, body).await;
        assert_eq!(status, 400, "{method} {path} is for JSON tasks: {answer}");
        let file = looped.display().to_string();
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(&file)), "{answer}");
    }
}

#[tokio::test]
async fn wrong_methods_bodies_and_sizes_have_their_own_statuses() {
    let world = World::new().await;
    for (method, path) in
        [("PUT", "/api/runs"), ("DELETE", "/api/overview"), ("GET", "/api/projects/sample")]
    {
        let (status, answer) = world.ask(method, path, None).await;
        assert_eq!((status, &answer["code"]), (405, &json!("method_not_allowed")), "{path}");
    }
    let put = format!("/api/projects/{}/scheduled-tasks", world.id);
    for (media, body, expected) in [
        // The peer answers this 400 too, with a page of HTML.
        (Some("application/json"), b"{bad".to_vec(), (400, "invalid")),
        (Some("application/json"), b"\xff\xfe".to_vec(), (400, "invalid")),
        (Some("application/json"), b"[]".to_vec(), (400, "invalid")),
        (Some("text/plain"), b"{}".to_vec(), (415, "unsupported_media_type")),
        (Some("application/json"), vec![b' '; 1024 * 1024 + 1], (413, "too_large")),
        (None, vec![b'['; 1024 * 1024 + 1], (413, "too_large")),
        (Some("application/json"), vec![b'['; 1024 * 1024], (400, "invalid")),
    ] {
        let mut request = Request::builder().method("PUT").uri(&put);
        if let Some(media) = media {
            request = request.header(header::CONTENT_TYPE, media);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let response = world.api.clone().oneshot(request).await.expect("it answers");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("a body");
        let answer: Value = serde_json::from_slice(&bytes).expect("errors are JSON, always");
        assert_eq!((status, answer["code"].as_str().unwrap_or("")), expected, "{answer}");
    }
}

#[tokio::test]
async fn one_run_of_a_task_at_a_time_is_409() {
    let world = World::new().await;
    let task = world.task("asking", "demo/ask").await;
    let path = format!("{}/run", world.at(&task));
    let (status, first) = world.ask("POST", &path, None).await;
    assert_eq!(status, 200, "{first}");
    let (status, second) = world.ask("POST", &path, None).await;
    assert_eq!((status, &second["code"]), (409, &json!("already_running")));
    let other = world.another().await;
    let (status, third) = loopkeeper_server::call(&other.api, "POST", &path, None).await;
    assert_eq!(status, 409, "another process is refused too: {third}");
}

#[tokio::test]
async fn a_shared_file_that_cannot_be_read_is_503_and_left_alone() {
    let world = World::new().await;
    world.task("daily", "demo/echo").await;
    let file = world.root.join(format!("data/projects/{}.json", world.id));
    std::fs::write(&file, "{ broken").expect("written");
    let path = format!("/api/projects/{}/scheduled-tasks", world.id);
    let task = json!({"task": {"name": "x", "schedule": {"kind": "cron", "cron": "@daily"},
        "execution": {"prompt": "p", "providerID": "a", "modelID": "b"}}});
    let (status, answer) = world.ask("PUT", &path, Some(task)).await;
    assert_eq!((status, &answer["code"]), (503, &json!("unavailable")), "{answer}");
    let kept = std::fs::read_to_string(&file).expect("read");
    assert_eq!(kept, "{ broken", "somebody may still repair it");
    let (status, project) = world.get(&format!("/api/projects/{}", world.id)).await;
    assert_eq!(status, 200, "the project is shown with its problem: {project}");
    assert!(project["problems"].to_string().contains("line 1, column 3"), "{project}");
}

#[tokio::test]
async fn a_project_of_the_peer_is_not_removed_here() {
    let world = World::new().await;
    let folder = world.root.join("beta");
    std::fs::create_dir(&folder).expect("a folder");
    let settings = json!({"projects": [{"id": "beta", "path": folder, "label": "Beta"}]});
    std::fs::write(world.root.join("data/settings.json"), settings.to_string()).expect("written");
    let (status, project) = world.get("/api/projects/beta").await;
    assert_eq!((status, &project["removable"]), (200, &json!(false)), "{project}");
    let (status, answer) = world.ask("DELETE", "/api/projects/beta", None).await;
    assert_eq!((status, &answer["code"]), (403, &json!("refused")), "{answer}");
}

#[tokio::test]
async fn over_a_socket_the_guard_stands_before_every_route() {
    let world = World::new().await;
    let token_file = world.root.join("data/loopkeeper/token");
    let options = ServeOptions {
        host: "127.0.0.1".into(),
        port: 0,
        allow_remote: false,
        names: Vec::new(),
        token_file: token_file.clone(),
    };
    let bound = bind(&options, Arc::new(SystemClock)).await.expect("a free port");
    let address = bound.address();
    let token = std::fs::read_to_string(token_file).expect("the token");
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(serve(world.engine.clone(), bound, async move {
        let _ = ended.await;
    }));
    let own = format!("host: {address}\r\nauthorization: Bearer {token}\r\n");
    let foreign = format!("host: evil.example\r\nauthorization: Bearer {token}\r\n");
    let posted = format!("{own}origin: https://evil.example\r\n");
    let long = format!("{own}content-length: 99999999\r\ncontent-type: application/json\r\n");
    let path = encoded("/etc/passwd");
    for (line, headers, expected) in [
        ("GET /api/overview".to_owned(), format!("host: {address}\r\n"), 401),
        (
            "GET /api/overview".to_owned(),
            format!("host: {address}\r\nauthorization: Bearer x\r\n"),
            401,
        ),
        ("GET /api/overview".to_owned(), foreign, 403),
        ("POST /api/pause".to_owned(), posted, 403),
        ("POST /api/check".to_owned(), long, 413),
        (format!("GET /api/loop-file?path={path}"), own.clone(), 403),
        ("GET /api/overview".to_owned(), own, 200),
    ] {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        // An answer before the body was read may end in a reset after its text.
        let _ = stream.read_to_string(&mut answer).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{line}: {answer}");
    }
    drop(end);
    server.await.expect("it ends");
}
