//! Processes that are killed, stalled or gone: taken over, put right, never run twice.

use loopkeeper_engine::engine::WaitFor;
use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Injected, Reason, Status};
use loopkeeper_engine::testing::{Scene, instant};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_killed_engine_s_run_is_taken_over_and_judged() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let one = scene.serve().await;
    let key = one.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    assert_eq!(one.statuses(&key), [Status::Running]);
    one.kill();
    let two = scene.serve().await;
    scene.pass(MINUTE).await;
    let rows = two.rows(&key);
    assert_eq!(rows.len(), 1, "one run, one row: {rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Lost, Some(Reason::Restarted)));
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "error", "never `running` for ever");
    scene.until("2026-03-03T09:01:00Z").await;
    assert_eq!(two.statuses(&key), [Status::Lost, Status::Succeeded], "and it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_kill_at_every_step_ends_in_one_true_row() {
    let mut deaths = 0;
    for step in 1.. {
        let scene = Scene::at("2026-03-02T08:59:59Z");
        let project = scene.project("p");
        scene.demo("p", "Echo", "0,10 9 * * *", "echo");
        let one = scene.serve().await;
        let key = one.key(&project, "Echo").await;
        one.kill_at_step(step);
        scene.until("2026-03-02T09:00:05Z").await;
        if !one.is_dead() {
            assert_eq!(one.statuses(&key), [Status::Succeeded], "unharmed");
            break;
        }
        deaths += 1;
        one.kill();
        let two = scene.serve().await;
        scene.until("2026-03-02T09:09:00Z").await;
        let rows = two.rows(&key);
        assert_eq!(rows.len(), 1, "killed at step {step}: one slot, one row: {rows:#?}");
        let row = &rows[0];
        assert!(
            matches!(row.status, Status::Succeeded | Status::Failed | Status::Lost),
            "killed at step {step}: it has ended: {row:#?}"
        );
        if row.status == Status::Failed {
            assert_eq!(row.reason, Some(Reason::NotSent), "killed at step {step}: {row:#?}");
            assert!(row.session_id.is_none(), "killed at step {step}: no agent was asked");
        }
        let state = scene.state(&project, "Echo");
        assert_ne!(state["lastStatus"], "running", "killed at step {step}: {state}");
        scene.until("2026-03-02T09:10:05Z").await;
        assert_eq!(
            two.statuses(&key).last(),
            Some(&Status::Succeeded),
            "killed at step {step}: the next slot runs"
        );
        let succeeded = row.status == Status::Succeeded;
        let answered = row.answer.is_some();
        assert_eq!(succeeded, answered, "no success without an answer");
    }
    assert!(deaths > 15, "a run has more steps than {deaths}");
}

#[tokio::test(start_paused = true)]
async fn beats_go_on_in_a_long_run_and_nobody_takes_it() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Asks", "0 9 * * *", "ask");
    let (one, two) = (scene.serve().await, scene.serve().await);
    let key = one.key(&project, "Asks").await;
    scene.until("2026-03-02T11:00:00Z").await;
    let rows = one.rows(&key);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].status, rows[0].fence), (Status::Blocked, 1), "held by the same one");
    scene.clock.nap(Duration::from_secs(3 * 86_400));
    scene.pass(MINUTE).await;
    assert_eq!(two.rows(&key)[0].fence, 1, "a nap makes nobody old");
}

#[tokio::test(start_paused = true)]
async fn a_holder_without_beats_is_taken_over_after_its_lease_and_keeps_its_evidence() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Asks", "0 9 * * *", "ask");
    let one = scene.serve().await;
    let key = one.key(&project, "Asks").await;
    scene.until("2026-03-02T09:01:00Z").await;
    // Its ledger does not take a beat any more, but it lives.
    one.fault(|_| Injected::Busy);
    let two = scene.serve().await;
    scene.until("2026-03-02T09:09:59Z").await;
    assert_eq!(two.rows(&key)[0].fence, 1, "younger than its lease: presumed alive");
    scene.until("2026-03-02T09:12:00Z").await;
    let rows = two.rows(&key);
    assert_eq!(rows[0].status, Status::Lost, "taken over: a demo ends with its program: {rows:#?}");
    assert_eq!(rows[0].fence, 2);
    one.heal();
    scene.until("2026-03-02T09:16:00Z").await;
    let view = two.run(rows[0].id).await.unwrap();
    assert_eq!(view.run.status, Status::Lost, "nothing that comes late changes it: {view:#?}");
    let again = two.try_run(&project, &key.task_id, WaitFor::Accepted).await;
    assert!(again.is_ok(), "the task is free: {again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_left_running_is_put_right_after_35_minutes() {
    let scene = Scene::at("2026-03-02T09:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Peer", "0 3 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Peer").await;
    scene.edit_json(&project, |json| {
        let state = &mut json["scheduledTasks"][0]["state"];
        state["lastStatus"] = "running".into();
        state["lastRunAt"] = instant("2026-03-02T09:00:00Z").into();
    });
    scene.until("2026-03-02T09:34:50Z").await;
    assert_eq!(scene.state(&project, "Peer")["lastStatus"], "running", "the peer may be at it");
    scene.until("2026-03-02T09:36:30Z").await;
    let state = scene.state(&project, "Peer");
    assert_eq!(state["lastStatus"], "error", "nobody will ever end it: {state}");
    assert!(host.rows(&key).is_empty(), "it was no run of ours");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_what_runs_here_and_says_so() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:03Z").await;
    host.stop().await;
    let row = host.rows(&key).pop().unwrap();
    assert_eq!((row.status, row.reason), (Status::Cancelled, Some(Reason::Shutdown)));
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "error");
    let late = host.try_run(&project, &key.task_id, WaitFor::Accepted).await;
    assert!(late.is_err(), "no new claims: {late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_alone_takes_over_its_own_task_first() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    scene.demo("p", "Other", "0 9 * * *", "slow");
    let one = scene.serve().await;
    let (key, other) = (one.key(&project, "Slow").await, one.key(&project, "Other").await);
    scene.until("2026-03-02T09:00:05Z").await;
    one.kill();
    let command = scene.open().await;
    let answer = command.try_run(&project, &key.task_id, WaitFor::End).await.unwrap();
    assert!(answer.ok);
    assert_eq!(command.statuses(&key), [Status::Lost, Status::Succeeded], "followed, then its own");
    assert_eq!(command.statuses(&other), [Status::Running], "left to those who serve");
}

#[tokio::test(start_paused = true)]
async fn nothing_beats_after_the_end_of_a_run() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Echo", "0 9 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Echo").await;
    scene.until("2026-03-02T09:00:05Z").await;
    assert_eq!(host.statuses(&key), [Status::Succeeded]);
    let before = scene.now();
    host.stop().await;
    assert!(scene.now() - before < 1_000, "a heartbeat that outlives its run holds up the stop");
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_one_task_never_touches_another_case_c04() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "A", "* * * * *", "echo");
    scene.demo("p", "B", "* * * * *", "echo");
    let host = scene.serve().await;
    let (a, b) = (host.key(&project, "A").await, host.key(&project, "B").await);
    host.upset(Some(&a));
    scene.until("2026-03-02T09:02:30Z").await;
    assert_eq!(host.statuses(&b), [Status::Succeeded; 3], "B is on time");
    let rows = host.rows(&a);
    assert_eq!(rows.len(), 3, "A is marked: {rows:#?}");
    assert!(rows.iter().all(|run| run.status == Status::Failed), "{rows:#?}");
    assert!(!host.overview().await.unwrap().stalled, "the loop looks at the clock all the same");
    host.upset(None);
    scene.until("2026-03-02T09:03:30Z").await;
    assert_eq!(host.statuses(&a).last(), Some(&Status::Succeeded), "it is armed still");
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_no_longer_looks_is_told_once_by_whoever_sees_it() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    scene.project("p");
    let host = scene.serve().await;
    scene.pass(Duration::from_secs(300)).await;
    assert!(!host.overview().await.unwrap().stalled);
    assert_eq!(host.count(EventKind::Stalled), 0);
    host.stop().await;
    scene.pass(Duration::from_secs(119)).await;
    assert!(!host.overview().await.unwrap().stalled, "it may be about to look");
    scene.pass(Duration::from_secs(2)).await;
    for _ in 0..2 {
        assert!(host.overview().await.unwrap().stalled);
        scene.pass(Duration::from_secs(1)).await;
        assert_eq!(host.count(EventKind::Stalled), 1, "once, however many look");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_outlives_its_task_leaves_no_task_behind() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let path = scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    std::fs::remove_file(path).unwrap();
    host.sync_project(&project).await.unwrap();
    scene.until("2026-03-02T09:01:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Succeeded], "the run ended as what it was");
    let tasks = host.list_tasks(&project).await.unwrap();
    assert!(tasks.is_empty(), "a deleted task is not resurrected: {tasks:#?}");
    assert!(host.ledger().pending_json().unwrap().is_empty(), "and nothing waits for it");
}

#[tokio::test(start_paused = true)]
async fn a_row_left_claimed_is_never_sent() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Echo", "0 9 * * *", "echo");
    let one = scene.serve().await;
    let key = one.key(&project, "Echo").await;
    // Dies when the claim is in the file, and the agent was not asked.
    one.kill_at("start: others");
    scene.until("2026-03-02T09:00:05Z").await;
    assert!(one.is_dead(), "the claim came so far");
    one.kill();
    let two = scene.serve().await;
    scene.until("2026-03-02T09:01:00Z").await;
    let rows = two.rows(&key);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Failed, Some(Reason::NotSent)));
    assert!(rows[0].error.as_deref().unwrap().contains("nothing was sent"), "and it says so");
    let state = scene.state(&project, "Echo");
    assert_eq!(state["lastStatus"], "error", "the file does not say `running` for ever: {state}");
    assert_eq!(state["lastScheduledFor"], instant("2026-03-02T09:00:00Z"), "the slot is spent");
}

#[tokio::test(start_paused = true)]
async fn two_engines_after_a_kill_end_its_run_once() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let one = scene.serve().await;
    let key = one.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    one.kill();
    let (two, three) = (scene.serve().await, scene.serve().await);
    scene.pass(MINUTE).await;
    let run = two.rows(&key).pop().unwrap();
    assert_eq!((run.status, run.fence), (Status::Lost, 2), "taken over by exactly one");
    let view = three.run(run.id).await.unwrap();
    let ends = view.steps.iter().filter(|step| step.kind == "ended").count();
    assert_eq!(ends, 1, "ended once: {:#?}", view.steps);
}
