//! Failures: retried, timed out, paused after five, recovered; and ends that cannot be written.

use loopkeeper_engine::engine::WaitFor;
use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Injected, Reason, Status, Trigger};
use loopkeeper_engine::testing::{Scene, instant};
use loopkeeper_engine::view::Condition;
use std::time::Duration;

const HEADER: &str = "enabled: true\ntimezone: UTC\n";

#[tokio::test(start_paused = true)]
async fn only_failures_are_retried_and_the_wait_doubles() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let retries = "policy: {retries: 2, retry_backoff: 2m}";
    scene.demo_with("p", "Fails", "0 9 * * *", "fail", retries);
    scene.demo_with("p", "Slow", "0 9 * * *", "slow", "policy: {retries: 2, timeout: 5s}");
    let host = scene.serve().await;
    let (fails, slow) = (host.key(&project, "Fails").await, host.key(&project, "Slow").await);
    scene.until("2026-03-02T10:00:00Z").await;
    let rows = host.rows(&fails);
    let seen: Vec<_> = rows.iter().map(|run| (run.attempt, run.status, run.trigger)).collect();
    assert_eq!(
        seen,
        [
            (1, Status::Failed, Trigger::Scheduled),
            (2, Status::Failed, Trigger::Retry),
            (3, Status::Failed, Trigger::Retry)
        ]
    );
    let starts: Vec<i64> = rows.iter().filter_map(|run| run.started_at).collect();
    assert!((120_000..121_000).contains(&(starts[1] - starts[0])), "after 2 min: {starts:?}");
    assert!((240_000..241_000).contains(&(starts[2] - starts[1])), "then after 4: {starts:?}");
    assert!(rows.iter().all(|run| run.scheduled_for == rows[0].scheduled_for), "one slot");
    let rows = host.rows(&slow);
    assert_eq!(rows.len(), 1, "what ran out of time is not tried again: {rows:#?}");
    assert_eq!(rows[0].status, Status::TimedOut);
    assert!((5_000..7_000).contains(&rows[0].duration_ms.unwrap()), "at its limit: {rows:#?}");
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "error");
}

#[tokio::test(start_paused = true)]
async fn a_newer_slot_ends_the_attempts_at_an_older_one() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let retries = "policy: {retries: 3, retry_backoff: 90m}";
    scene.demo_with("p", "Fails", "0 * * * *", "fail", retries);
    let host = scene.serve().await;
    let key = host.key(&project, "Fails").await;
    scene.until("2026-03-02T10:05:00Z").await;
    let seen: Vec<_> = host.rows(&key).iter().map(|run| (run.attempt, run.status)).collect();
    assert_eq!(
        seen,
        [(1, Status::Failed), (2, Status::Superseded), (1, Status::Failed), (2, Status::Retrying)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_once_is_tried_again_although_it_is_switched_off() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    scene.settings(|settings| settings.runs.retries = 1);
    let project = scene.project("p");
    let host = scene.serve().await;
    let task = serde_json::json!({
        "name": "Once", "enabled": true,
        "schedule": {"kind": "once", "date": "2026-03-02", "time": "09:00", "timezone": "UTC"},
        "execution": {"prompt": "x", "providerID": "demo", "modelID": "fail"},
    });
    host.upsert_task(&project, &task).await.unwrap();
    let key = host.key(&project, "Once").await;
    scene.until("2026-03-02T09:10:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Failed, Status::Failed], "two attempts");
    assert_eq!(scene.task_json(&project, "Once")["enabled"], false);
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_task_that_was_switched_off_ends() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo_with("p", "Fails", "0 9 * * *", "fail", "policy: {retries: 1, retry_backoff: 5m}");
    let host = scene.serve().await;
    let key = host.key(&project, "Fails").await;
    scene.until("2026-03-02T09:01:00Z").await;
    host.set_enabled(&project, &key.task_id, false).await.unwrap();
    scene.until("2026-03-02T09:10:00Z").await;
    let last = host.rows(&key).pop().unwrap();
    assert_eq!(
        (last.status, last.reason),
        (Status::Cancelled, Some(Reason::DefinitionChanged)),
        "it does not wait for ever"
    );
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_pause_the_task_until_somebody_acts() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Fails", "0 * * * *", "fail");
    let host = scene.serve().await;
    let key = host.key(&project, "Fails").await;
    scene.until("2026-03-02T15:30:00Z").await;
    let failed = |host: &loopkeeper_engine::testing::Host| {
        host.statuses(&key).iter().filter(|status| **status == Status::Failed).count()
    };
    assert_eq!(failed(&host), 5, "{:?}", host.statuses(&key));
    assert_eq!(host.count(EventKind::AutoPaused), 1, "told once");
    let last = host.rows(&key).pop().unwrap();
    assert_eq!((last.status, last.reason), (Status::Skipped, Some(Reason::AutoPaused)));
    let shown = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(shown.summary.condition, Condition::AutoPaused);
    assert!(shown.task.enabled, "the file stays as it is");
    let coming = async || {
        let (from, to) = (scene.now(), scene.now() + 86_400_000);
        let lanes = host.timeline(None, from, to).await.unwrap().lanes;
        lanes.iter().map(|lane| lane.upcoming.len()).sum::<usize>()
    };
    assert_eq!(coming().await, 0, "nothing comes of it until somebody acts");

    host.resume_task(&project, &key.task_id).await.unwrap();
    assert_eq!(coming().await, 24, "then everything does");
    scene.until("2026-03-02T16:30:00Z").await;
    assert_eq!(failed(&host), 6, "resumed: it tries again");
    assert_eq!(host.count(EventKind::AutoPaused), 1, "what failed before counts no more");
    scene.until("2026-03-02T21:30:00Z").await;
    assert_eq!(failed(&host), 10, "five more, and it is paused again");
    assert_eq!(host.count(EventKind::AutoPaused), 2);

    // A changed definition ends it too.
    scene.demo("p", "Fails", "0 * * * *", "echo");
    scene.until("2026-03-02T22:30:00Z").await;
    assert_eq!(host.rows(&key).pop().unwrap().status, Status::Succeeded, "mended");
    assert_eq!(host.count(EventKind::Recovered), 1, "and said so");
    let shown = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(shown.summary.condition, Condition::Armed, "nothing of the pause is left");
    scene.until("2026-03-02T23:30:00Z").await;
    assert_eq!(host.count(EventKind::Recovered), 1, "recovered once after a failure");
}

#[tokio::test(start_paused = true)]
async fn a_good_run_by_hand_ends_the_auto_pause() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    scene.settings(|settings| settings.runs.pause_after_failures = 2);
    let project = scene.project("p");
    scene.demo_with("p", "Slow", "0 * * * *", "slow", "policy: {timeout: 5s}");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T10:30:00Z").await;
    assert!(host.ledger().auto_paused(&key).unwrap().is_some(), "two time-outs");
    let policy = |text: &str| {
        scene.write_loop(
            "p",
            "Slow",
            &format!("{HEADER}schedule: \"0 * * * *\"\nmodel: demo/slow\npolicy: {text}"),
            "hello",
        );
    };
    policy("{timeout: 5s}");
    let bad = host.try_run(&project, &key.task_id, WaitFor::End).await.unwrap();
    assert!(!bad.ok, "a bad run by hand changes nothing");
    policy("{timeout: 1m}");
    let good = host.try_run(&project, &key.task_id, WaitFor::End).await.unwrap();
    assert!(good.ok);
    scene.pass(Duration::from_secs(1)).await;
    assert!(host.ledger().auto_paused(&key).unwrap().is_none(), "a good one ends it");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_fails_is_told_and_leaves_nothing_running_case_a06() {
    let scene = Scene::at("2026-03-02T14:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Daily", "0 15 * * *", "echo");
    let host = scene.open_waiting(Duration::from_millis(700)).await;
    host.start().await.unwrap();
    let key = host.key(&project, "Daily").await;
    // Somebody alive holds the lock.
    let lock = scene.file(&project).with_extension("json.lock");
    let held = serde_json::json!({"pid": std::process::id(), "at": now_ms()});
    scene.until("2026-03-02T14:59:59Z").await;
    std::fs::write(&lock, held.to_string()).unwrap();
    scene.until("2026-03-02T15:00:05Z").await;
    std::fs::remove_file(&lock).unwrap();
    let rows = host.rows(&key);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Failed, Some(Reason::ClaimFailed)));
    assert!(rows[0].error.as_deref().unwrap().contains("held by"), "{rows:#?}");
    assert!(host.ledger().open_runs().unwrap().is_empty(), "nothing runs by it");
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-03-03T15:00:00Z")), "tomorrow");
    let by_hand = host.run_now(&project, &key.task_id, WaitFor::End).await;
    assert!(by_hand.is_ok_and(|answer| answer.ok), "and it can be run by hand");
}

#[allow(clippy::disallowed_methods, reason = "locks keep real time")]
fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_file_keeps_its_tasks_and_heals_case_g03() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Hourly", "0 * * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Hourly").await;
    let good = std::fs::read(scene.file(&project)).unwrap();
    std::fs::write(scene.file(&project), &good[..good.len() / 2]).unwrap();
    scene.until("2026-03-02T09:01:00Z").await;
    let rows = host.rows(&key);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Failed, Some(Reason::ConfigUnreadable)));
    let broken = std::fs::read(scene.file(&project)).unwrap();
    assert_eq!(broken, &good[..good.len() / 2], "it is never overwritten");
    let shown = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(shown.summary.name, "Hourly", "listed with its last good definition");
    assert!(!host.project(&project).await.unwrap().problems.is_empty(), "and the error is shown");
    std::fs::write(scene.file(&project), &good).unwrap();
    scene.until("2026-03-02T10:01:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Failed, Status::Succeeded], "it heals by itself");
}

#[tokio::test(start_paused = true)]
async fn an_end_that_the_file_cannot_take_is_true_and_written_later() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    let projects = scene.paths().projects();
    let aside = scene.paths().data.join("aside");
    std::fs::rename(&projects, &aside).unwrap();
    std::fs::write(&projects, "in the way").unwrap();
    scene.until("2026-03-02T09:00:15Z").await;
    let run = host.rows(&key).pop().unwrap();
    assert_eq!(run.status, Status::Succeeded, "it counts as what it was: {run:#?}");
    assert!(run.persist_error.is_some(), "and says what is missing");
    assert_eq!(host.count(EventKind::PersistError), 1);
    let status = host.status().await.unwrap();
    assert_eq!(status.running_scheduled_tasks_count, 0, "nothing runs");
    let needs = host.overview().await.unwrap().needs_you;
    assert!(needs.iter().any(|need| need.run_id == Some(run.id)), "a person is told: {needs:#?}");
    std::fs::remove_file(&projects).unwrap();
    std::fs::rename(&aside, &projects).unwrap();
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "running", "as it was left");
    scene.until("2026-03-02T09:01:30Z").await;
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "success", "written later");
    assert_eq!(host.rows(&key).pop().unwrap().persist_error, None, "nothing is missing any more");
}

#[tokio::test(start_paused = true)]
async fn a_run_by_hand_tells_what_could_not_be_written() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 10 * * *", "slow");
    let host = std::sync::Arc::new(scene.serve().await);
    let key = host.key(&project, "Slow").await;
    let running = {
        let (host, project, task) = (host.clone(), project.clone(), key.task_id.clone());
        tokio::spawn(async move { host.run_now(&project, &task, WaitFor::End).await })
    };
    scene.pass(Duration::from_secs(5)).await;
    let good = std::fs::read(scene.file(&project)).unwrap();
    std::fs::write(scene.file(&project), "{").unwrap();
    let answer = running.await.unwrap().unwrap();
    assert!(answer.ok, "it ran well: {answer:?}");
    assert!(answer.persist_error.is_some(), "with a warning: {answer:?}");
    assert_eq!(
        answer.task.state.last_status,
        Some(loopkeeper_engine::task::LastStatus::Success),
        "in memory it is terminal"
    );
    std::fs::write(scene.file(&project), good).unwrap();
    scene.pass(Duration::from_secs(60)).await;
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "success");
}

#[tokio::test(start_paused = true)]
async fn an_end_that_the_ledger_cannot_take_is_shown_and_tried_until_it_is() {
    for fault in [Injected::Busy, Injected::Full] {
        let scene = Scene::at("2026-03-02T08:59:00Z");
        let project = scene.project("p");
        scene.demo("p", "Slow", "0 9 * * *", "slow");
        let host = scene.serve().await;
        let key = host.key(&project, "Slow").await;
        scene.until("2026-03-02T09:00:05Z").await;
        host.fault(move |_| fault);
        scene.until("2026-03-02T09:20:00Z").await;
        let status = host.status().await.unwrap();
        assert_eq!(status.running_scheduled_tasks_count, 0, "{fault:?}: terminal in memory");
        assert_eq!(scene.state(&project, "Slow")["lastStatus"], "success", "{fault:?}: the file");
        assert_eq!(host.count(EventKind::PersistError), 1, "{fault:?}: told once");
        let other = scene.open().await;
        assert_eq!(other.rows(&key)[0].status, Status::Running, "{fault:?}: not in the ledger");
        host.heal();
        scene.until("2026-03-02T09:21:00Z").await;
        let run = host.rows(&key).pop().unwrap();
        assert_eq!(run.status, Status::Succeeded, "{fault:?}: {run:#?}");
        assert_eq!(host.rows(&key).len(), 1, "{fault:?}: one run, one row");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_ledger_nothing_is_claimed_and_the_slot_is_not_forgotten() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Early", "0 9 * * *", "echo");
    scene.demo("p", "Late", "0 10 * * *", "echo");
    let host = scene.serve().await;
    let (early, late) = (host.key(&project, "Early").await, host.key(&project, "Late").await);
    host.fault(|_| Injected::Busy);
    scene.until("2026-03-02T09:02:00Z").await;
    assert!(host.rows(&early).is_empty() && host.ledger().open_runs().unwrap().is_empty());
    assert!(scene.state(&project, "Early").get("lastScheduledFor").is_none(), "not consumed");
    host.heal();
    scene.until("2026-03-02T09:04:00Z").await;
    assert_eq!(host.statuses(&early), [Status::Succeeded], "still on time when it healed");
    host.fault(|_| Injected::Busy);
    scene.until("2026-03-02T10:20:00Z").await;
    host.heal();
    scene.until("2026-03-02T10:22:00Z").await;
    assert_eq!(host.statuses(&late), [Status::Missed], "too late by now, and it says so");
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_broke_in_a_run_loses_nothing() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    let once = std::sync::atomic::AtomicBool::new(true);
    host.fault(move |point| {
        let first =
            point == "finish: marker" && once.swap(false, std::sync::atomic::Ordering::SeqCst);
        if first { Injected::Corrupt } else { Injected::Nothing }
    });
    scene.until("2026-03-02T09:01:00Z").await;
    let run = host.rows(&key).pop().unwrap();
    assert_eq!(run.status, Status::Succeeded, "{run:#?}");
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "success");
}

#[tokio::test(start_paused = true)]
async fn an_end_whose_confirmation_was_lost_is_the_same_end() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Slow", "0 9 * * *", "slow");
    let host = scene.serve().await;
    let key = host.key(&project, "Slow").await;
    scene.until("2026-03-02T09:00:05Z").await;
    let (ending, done) = (AtomicBool::new(false), AtomicBool::new(false));
    host.fault(move |point| {
        if point == "finish: rest" {
            ending.store(true, Ordering::SeqCst);
        }
        let lost = point == "committed"
            && ending.load(Ordering::SeqCst)
            && !done.swap(true, Ordering::SeqCst);
        if lost { Injected::Busy } else { Injected::Nothing }
    });
    scene.until("2026-03-02T09:01:00Z").await;
    let run = host.rows(&key).pop().unwrap();
    assert_eq!(run.status, Status::Succeeded);
    assert_eq!(run.note, None, "it did not finish late: {run:#?}");
    assert_eq!(host.count(EventKind::RunFinished), 1, "and is told");
    assert_eq!(scene.state(&project, "Slow")["lastStatus"], "success");
}
