//! Several engines, and the peer, on one data folder: each slot once, every row complete.

use loopkeeper_engine::ledger::{Reason, Status};
use loopkeeper_engine::testing::{Scene, instant};
use serde_json::json;
use std::collections::BTreeSet;

#[tokio::test(start_paused = true)]
async fn two_engines_run_each_slot_once_case_a01() {
    let scene = Scene::at("2026-01-01T14:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Daily", "0 15 * * *", "echo");
    scene.demo("p", "Often", "*/10 * * * *", "slow");
    let (one, two) = (scene.serve().await, scene.serve().await);
    let (daily, often) = (one.key(&project, "Daily").await, one.key(&project, "Often").await);
    scene.until("2026-01-01T16:05:00Z").await;
    assert_eq!(one.statuses(&daily), [Status::Succeeded], "one run, one row");
    assert_eq!(two.rows(&daily), one.rows(&daily), "both see the same ledger");
    let slots: Vec<i64> = one.rows(&often).iter().filter_map(|run| run.scheduled_for).collect();
    let expected: Vec<i64> =
        (1..=12).map(|n| instant("2026-01-01T14:00:00Z") + n * 600_000).collect();
    assert_eq!(slots, expected, "every slot has one row, whoever was faster");
    assert!(one.statuses(&often).iter().all(|status| *status == Status::Succeeded));
    let holders: BTreeSet<String> =
        one.rows(&often).iter().map(|run| format!("{:?}", run.holder)).collect();
    assert!(!holders.is_empty() && holders.len() <= 2, "only these two: {holders:?}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_starts_just_before_the_slot_neither_loses_nor_doubles_it_case_a02() {
    let scene = Scene::at("2026-01-01T14:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Daily", "0 15 * * *", "echo");
    let one = scene.serve().await;
    let key = one.key(&project, "Daily").await;
    scene.until("2026-01-01T14:59:58Z").await;
    // The peer, starting now, writes tomorrow into `nextRunAt`, day after day.
    let tomorrow = instant("2026-01-02T15:00:00Z");
    scene.edit_json(&project, |json| {
        json["scheduledTasks"][0]["state"]["nextRunAt"] = json!(tomorrow);
    });
    let two = scene.serve().await;
    scene.until("2026-01-01T15:01:00Z").await;
    assert_eq!(one.statuses(&key), [Status::Succeeded], "an advanced nextRunAt says nothing");
    scene.until("2026-01-02T14:59:58Z").await;
    scene.edit_json(&project, |json| {
        json["scheduledTasks"][0]["state"]["nextRunAt"] = json!(tomorrow + 86_400_000);
    });
    scene.until("2026-01-02T15:01:00Z").await;
    assert_eq!(two.statuses(&key), [Status::Succeeded; 2], "once on the second day too");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_the_peer_claimed_is_deduped() {
    let scene = Scene::at("2026-01-01T14:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Daily", "0 15 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Daily").await;
    scene.until("2026-01-01T14:59:59Z").await;
    // The peer's clock runs a little ahead: it claimed the slot already.
    scene.edit_json(&project, |json| {
        json["scheduledTasks"][0]["state"]["lastScheduledFor"] =
            json!(instant("2026-01-01T15:00:00Z"));
    });
    scene.until("2026-01-01T15:01:00Z").await;
    let rows = host.rows(&key);
    assert_eq!(rows.len(), 1, "the slot has its row: {rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Deduped, Some(Reason::ElsewhereClaimed)));
    scene.until("2026-01-02T15:01:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Deduped, Status::Succeeded], "the next one is free");
}

#[tokio::test(start_paused = true)]
async fn orders_reach_the_holder_from_any_process() {
    let scene = Scene::at("2026-01-01T14:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Asks", "0 15 * * *", "ask");
    let (one, two) = (scene.serve().await, scene.open().await);
    let key = one.key(&project, "Asks").await;
    scene.until("2026-01-01T15:00:01Z").await;
    let run = one.row_with(&key, Status::Blocked).await;
    two.cancel(run.id).await.unwrap();
    scene.until("2026-01-01T15:00:04Z").await;
    let rows = one.rows(&key);
    assert_eq!(rows[0].status, Status::Cancelled, "obeyed within two seconds: {rows:#?}");
    let late = two.cancel(run.id).await;
    assert!(late.is_err(), "an ended run cannot be cancelled: {late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_one_engine_writes_is_armed_in_the_other() {
    let scene = Scene::at("2026-01-01T14:00:00Z");
    let project = scene.project("p");
    let (one, two) = (scene.serve().await, scene.serve().await);
    let task = json!({
        "name": "New", "enabled": true,
        "schedule": {"kind": "daily", "times": ["15:00"], "timezone": "UTC"},
        "execution": {"prompt": "x", "providerID": "demo", "modelID": "echo"},
    });
    two.upsert_task(&project, &task).await.unwrap();
    let key = two.key(&project, "New").await;
    two.stop().await;
    // Nothing is watched here: the look that every engine takes now and then finds it.
    scene.until("2026-01-01T15:00:05Z").await;
    assert_eq!(one.statuses(&key), [Status::Succeeded], "found without being told");
}

/// Answers every request as an OpenCode server that works on the peer's session, or on nothing.
fn opencode(busy: bool) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let body = match first.contains("/session/status") {
                true if busy => r#"{"ses_peer":{"type":"busy"}}"#,
                true => "{}",
                false => r#"{"healthy":true,"version":"1.0.0"}"#,
            };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

// In real time, since it asks a server; nothing here waits for any.
#[tokio::test]
async fn a_session_of_the_peer_that_goes_on_counts_as_running() {
    use loopkeeper_engine::engine::{EngineError, WaitFor};
    for busy in [true, false] {
        let scene = Scene::at("2026-01-01T14:00:00Z");
        let url = opencode(busy);
        scene.settings(|settings| settings.opencode.url = Some(url));
        let project = scene.project("p");
        scene.demo("p", "Shared", "0 15 * * *", "echo");
        let host = scene.open().await;
        let key = host.key(&project, "Shared").await;
        // The peer calls a run finished when its prompt was accepted.
        scene.edit_json(&project, |json| {
            let state = &mut json["scheduledTasks"][0]["state"];
            state["lastStatus"] = json!("success");
            state["lastSessionId"] = json!("ses_peer");
        });
        let answer = host.try_run(&project, &key.task_id, WaitFor::End).await;
        if busy {
            assert!(matches!(answer, Err(EngineError::AlreadyRunning(_))), "{answer:?}");
            assert!(host.rows(&key).is_empty(), "nothing was started");
        } else {
            assert!(answer.is_ok_and(|answer| answer.ok), "an idle session holds nobody up");
        }
    }
}
