//! A loop file on its way: found, armed, claimed when due, run, finished, recorded, armed again.

use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Reason, Status, Trigger};
use loopkeeper_engine::testing::{Scene, instant};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_loop_file_becomes_a_run_with_its_row() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Report", "0 9 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Report").await;
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-03-02T09:00:00Z")), "armed");
    scene.until("2026-03-02T08:59:59Z").await;
    assert!(host.rows(&key).is_empty(), "never early");
    scene.until("2026-03-02T09:00:05Z").await;
    let rows = host.rows(&key);
    assert_eq!(rows.len(), 1, "one slot, one row: {rows:#?}");
    let run = &rows[0];
    assert_eq!(run.status, Status::Succeeded);
    assert_eq!(run.trigger, Trigger::Scheduled);
    assert_eq!(run.scheduled_for, Some(instant("2026-03-02T09:00:00Z")));
    assert_eq!(run.answer.as_deref(), Some("You said: hello"));
    let view = host.run(run.id).await.unwrap();
    let steps: Vec<&str> = view.steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(steps, ["due", "claimed", "started", "session", "accepted", "ended"], "its way");
    let state = scene.state(&project, "Report");
    assert_eq!(state["lastStatus"], "success", "{state}");
    assert_eq!(state["lastScheduledFor"], instant("2026-03-02T09:00:00Z"));
    assert_eq!(state["nextRunAt"], instant("2026-03-03T09:00:00Z"));
    assert_eq!(state["lastSessionId"], run.session_id.clone().unwrap());
    assert_eq!(host.count(EventKind::RunFinished), 1);
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-03-03T09:00:00Z")), "armed again");
}

#[tokio::test(start_paused = true)]
async fn a_day_of_hourly_runs_has_a_row_for_every_slot() {
    let scene = Scene::at("2026-03-02T00:00:30Z");
    let project = scene.project("p");
    scene.demo("p", "Hourly", "0 * * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Hourly").await;
    scene.until("2026-03-03T00:30:00Z").await;
    let slots: Vec<i64> = host.rows(&key).iter().filter_map(|run| run.scheduled_for).collect();
    let first = instant("2026-03-02T01:00:00Z");
    let expected: Vec<i64> = (0..24).map(|hour| first + hour * 3_600_000).collect();
    assert_eq!(slots, expected, "each hour once");
    assert!(host.statuses(&key).iter().all(|status| *status == Status::Succeeded));
    assert!(
        host.rows(&key).iter().all(|run| run.created_at - run.scheduled_for.unwrap() < 1_000),
        "claimed within a second of its slot"
    );
}

#[tokio::test(start_paused = true)]
async fn six_fields_run_every_few_seconds() {
    let scene = Scene::at("2026-03-02T09:00:00.500Z");
    let project = scene.project("p");
    scene.demo("p", "Often", "*/4 * * * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Often").await;
    scene.until("2026-03-02T09:01:02Z").await;
    assert_eq!(host.rows(&key).len(), 15, "every four seconds in a minute");
    assert!(host.statuses(&key).iter().all(|status| *status == Status::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_finds_its_task_running_is_skipped_or_waits() {
    let scene = Scene::at("2026-03-02T09:00:00.500Z");
    let project = scene.project("p");
    scene.demo("p", "Skips", "*/6 * * * * *", "slow");
    scene.demo_with("p", "Waits", "*/6 * * * * *", "slow", "policy: {overlap: queue}");
    let host = scene.serve().await;
    let (skips, waits) = (host.key(&project, "Skips").await, host.key(&project, "Waits").await);
    scene.until("2026-03-02T09:00:31Z").await;
    // Each run takes 10 s: from second 6 to 16, from 18 to 28, from 30 on.
    let seen: Vec<(Status, Option<Reason>)> =
        host.rows(&skips).iter().map(|run| (run.status, run.reason)).collect();
    let skipped = (Status::Skipped, Some(Reason::AlreadyRunning));
    let good = (Status::Succeeded, None);
    assert_eq!(seen, [good, skipped, good, skipped, (Status::Running, None)]);
    // 6 runs until 16, 12 waits and runs from 16 to 26, 18 is replaced by 24, which runs from 26.
    let rows = host.rows(&waits);
    let seen: Vec<(Status, i64)> = rows
        .iter()
        .map(|run| {
            let from = run.started_at.map_or(0, |at| at - instant("2026-03-02T09:00:00Z"));
            (run.status, from / 1000)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Status::Succeeded, 6),
            (Status::Succeeded, 16),
            (Status::Superseded, 0),
            (Status::Running, 26),
            (Status::Queued, 0)
        ],
        "the newest waits for the running one's end: {rows:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_disabled_task_never_runs_by_itself_and_a_toggle_arms_it() {
    let scene = Scene::at("2026-03-02T08:30:00Z");
    let project = scene.project("p");
    let path = scene.write_loop(
        "p",
        "Off",
        "enabled: false # off\nschedule: \"0 * * * *\"\ntimezone: UTC\nmodel: demo/echo",
        "hello",
    );
    let host = scene.serve().await;
    let key = host.key(&project, "Off").await;
    scene.until("2026-03-02T10:30:00Z").await;
    assert!(host.rows(&key).is_empty(), "it is off");
    host.set_enabled(&project, &key.task_id, true).await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("enabled: true # off"), "one token changed: {text}");
    scene.until("2026-03-02T11:30:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Succeeded], "slots while it was off are not missed");
    host.set_enabled(&project, &key.task_id, false).await.unwrap();
    scene.until("2026-03-02T13:30:00Z").await;
    assert_eq!(host.rows(&key).len(), 1, "off again");
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_arming_and_firing_holds_case_a05() {
    let scene = Scene::at("2026-03-02T08:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Edited", "0 9 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Edited").await;
    scene.until("2026-03-02T08:59:59Z").await;
    // Nobody tells the engine: the claim itself looks at the file.
    scene.write_loop(
        "p",
        "Edited",
        "enabled: true\nschedule: \"0 10 * * *\"\ntimezone: UTC\nmodel: demo/echo",
        "version two",
    );
    scene.until("2026-03-02T10:00:05Z").await;
    let rows = host.rows(&key);
    let [armed, current] = &rows[..] else { panic!("09:00 does not run: {rows:#?}") };
    assert_eq!(armed.scheduled_for, Some(instant("2026-03-02T09:00:00Z")));
    assert_eq!(
        (armed.status, armed.reason),
        (Status::Skipped, Some(Reason::DefinitionChanged)),
        "it was armed, so it says why nothing came of it"
    );
    assert_eq!(current.scheduled_for, Some(instant("2026-03-02T10:00:00Z")));
    assert_eq!(current.answer.as_deref(), Some("You said: version two"), "what runs is current");
}

#[tokio::test(start_paused = true)]
async fn once_runs_once_and_is_switched_off() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let host = scene.serve().await;
    let task = serde_json::json!({
        "name": "Once", "enabled": true,
        "schedule": {"kind": "once", "date": "2026-03-02", "time": "09:00", "timezone": "UTC"},
        "execution": {"prompt": "x", "providerID": "demo", "modelID": "echo"},
    });
    host.upsert_task(&project, &task).await.unwrap();
    let key = host.key(&project, "Once").await;
    scene.until("2026-03-02T09:30:00Z").await;
    scene.clock.nap(Duration::from_secs(2 * 86_400));
    scene.pass(Duration::from_secs(60)).await;
    assert_eq!(host.statuses(&key), [Status::Succeeded], "once");
    assert_eq!(scene.task_json(&project, "Once")["enabled"], false, "consumed");
}

#[tokio::test(start_paused = true)]
async fn a_missed_once_is_switched_off_without_a_run() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let host = scene.serve().await;
    let task = serde_json::json!({
        "name": "Once", "enabled": true,
        "schedule": {"kind": "once", "date": "2026-03-02", "time": "09:00", "timezone": "UTC"},
        "execution": {"prompt": "x", "providerID": "demo", "modelID": "echo"},
    });
    host.upsert_task(&project, &task).await.unwrap();
    let key = host.key(&project, "Once").await;
    scene.clock.nap(Duration::from_secs(7200));
    scene.pass(Duration::from_secs(120)).await;
    assert_eq!(host.statuses(&key), [Status::Missed], "slept through");
    assert_eq!(scene.task_json(&project, "Once")["enabled"], false, "its time will not come again");
}

#[tokio::test(start_paused = true)]
async fn runs_by_hand_leave_the_schedule_alone_and_are_refused_twice() {
    use loopkeeper_engine::engine::{EngineError, WaitFor};
    let scene = Scene::at("2026-03-02T08:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    let answer = host.run_now(&project, &key.task_id, WaitFor::Accepted).await.unwrap();
    assert!(answer.ok && answer.session_id.is_some(), "accepted, not ended: {answer:?}");
    assert_eq!(answer.task.state.last_status, Some(loopkeeper_engine::task::LastStatus::Running));
    let again = host.run_now(&project, &key.task_id, WaitFor::Accepted).await;
    assert!(matches!(again, Err(EngineError::AlreadyRunning(_))), "{again:?}");
    let other = scene.open().await;
    let elsewhere = other.try_run(&project, &key.task_id, WaitFor::End).await;
    assert!(matches!(elsewhere, Err(EngineError::AlreadyRunning(_))), "{elsewhere:?}");
    scene.pass(Duration::from_secs(15)).await;
    let run = host.run(answer.run_id).await.unwrap().run;
    assert_eq!(
        (run.status, run.trigger, run.scheduled_for),
        (Status::Succeeded, Trigger::Manual, None)
    );
    let state = scene.state(&project, "Slow");
    assert!(state.get("lastScheduledFor").is_none(), "no slot was consumed: {state}");
    let done = other.try_run(&project, &key.task_id, WaitFor::End).await.unwrap();
    assert_eq!(done.task.state.last_status, Some(loopkeeper_engine::task::LastStatus::Success));
    host.set_enabled(&project, &key.task_id, false).await.unwrap();
    let off = host.run_now(&project, &key.task_id, WaitFor::End).await;
    assert!(matches!(off, Err(EngineError::NotFound(_))), "the seed's route: {off:?}");
    let tried = host.try_run(&project, &key.task_id, WaitFor::End).await;
    assert!(tried.is_ok(), "ours tries a loop before it is enabled: {tried:?}");
}
