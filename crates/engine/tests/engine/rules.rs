//! What holds a run back: pause, budget, host, project, approval; and the rows that say so.

use loopkeeper_engine::engine::{EngineError, WaitFor};
use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Reason, Run, Status};
use loopkeeper_engine::settings::ApprovalMode;
use loopkeeper_engine::task::policy::{Budget, Policy};
use loopkeeper_engine::testing::{Scene, instant};
use serde_json::json;
use std::time::Duration;

fn told(rows: &[Run]) -> Vec<(Status, Option<Reason>)> {
    rows.iter().map(|run| (run.status, run.reason)).collect()
}

const GOOD: (Status, Option<Reason>) = (Status::Succeeded, None);

/// Held slots were kept in memory for their minute: a resume inside it, a newer slot's claim and an
/// end of the process left them without a row for ever.
#[tokio::test(start_paused = true)]
async fn slots_that_were_held_have_their_row_though_the_process_ends_within_the_minute() {
    let scene = Scene::at("2026-03-02T08:59:58Z");
    let project = scene.project("p");
    scene.demo("p", "Often", "*/10 * * * * *", "echo");
    let one = scene.serve().await;
    let key = one.key(&project, "Often").await;
    one.pause(None).await.unwrap();
    scene.until("2026-03-02T09:00:25Z").await;
    one.resume().await.unwrap();
    scene.until("2026-03-02T09:00:35Z").await;
    one.kill();
    let one = scene.serve().await;
    scene.until("2026-03-02T09:02:05Z").await;
    for held in ["2026-03-02T09:00:00Z", "2026-03-02T09:00:10Z", "2026-03-02T09:00:20Z"] {
        let row = one.ledger().slot(&key, instant(held)).unwrap();
        let told = row.as_ref().map(|row| (row.status, row.reason));
        let held_back = Some((Status::Skipped, Some(Reason::Paused)));
        assert_eq!(told, held_back, "{held} was held back, and says so: {:#?}", one.rows(&key));
    }
    let ran = one.ledger().slot(&key, instant("2026-03-02T09:00:30Z")).unwrap();
    assert_eq!(ran.map(|row| row.status), Some(Status::Succeeded), "after the resume it ran");
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_everything_holds_in_all_engines_and_over_a_restart() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Hourly", "0 * * * *", "echo");
    let (one, two) = (scene.serve().await, scene.open().await);
    let key = one.key(&project, "Hourly").await;
    two.pause(Some(instant("2026-03-02T11:30:00Z"))).await.unwrap();
    scene.until("2026-03-02T09:30:00Z").await;
    one.kill();
    let one = scene.serve().await;
    let by_hand = one.try_run(&project, &key.task_id, WaitFor::End).await;
    assert!(by_hand.is_ok(), "runs by hand are not held back: {by_hand:?}");
    scene.until("2026-03-02T12:05:00Z").await;
    let rows = one.rows(&key);
    let slots: Vec<_> = rows.iter().filter(|run| run.scheduled_for.is_some()).cloned().collect();
    assert_eq!(
        told(&slots).last(),
        Some(&GOOD),
        "12:00 runs, since the pause ended by itself: {rows:#?}"
    );
    let paused: i64 = slots
        .iter()
        .filter(|run| run.reason == Some(Reason::Paused))
        .map(|run| run.count.unwrap_or(1))
        .sum();
    assert_eq!(paused, 3, "09:00, 10:00 and 11:00 say why: {rows:#?}");
    one.pause(None).await.unwrap();
    scene.until("2026-03-02T14:05:00Z").await;
    assert_eq!(one.rows(&key).last().unwrap().reason, Some(Reason::Paused), "until resumed");
    two.resume().await.unwrap();
    scene.until("2026-03-02T15:05:00Z").await;
    assert_eq!(one.rows(&key).last().unwrap().status, Status::Succeeded, "resumed elsewhere");
}

#[tokio::test(start_paused = true)]
async fn a_skip_by_a_rule_leaves_the_shared_file_alone() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo_with("p", "There", "0 9 * * *", "echo", "policy: {run_on: [there]}");
    scene.demo_with("p", "Here", "0 9 * * *", "echo", "policy: {run_on: [here]}");
    scene.demo_with("p", "Not in p", "0 9 * * *", "echo", "policy: {only_in: [q]}");
    scene.demo_with("p", "In p", "0 9 * * *", "echo", "policy: {only_in: [p]}");
    let host = scene.serve().await;
    scene.until("2026-03-02T09:00:10Z").await;
    let there = host.key(&project, "There").await;
    assert!(host.rows(&there).is_empty(), "another process may still run it");
    assert!(scene.state(&project, "There").get("lastScheduledFor").is_none(), "not consumed");
    scene.until("2026-03-02T09:02:00Z").await;
    let skipped = |reason| vec![(Status::Skipped, Some(reason))];
    assert_eq!(told(&host.rows(&there)), skipped(Reason::WrongHost), "a minute later");
    let key = host.key(&project, "Not in p").await;
    assert_eq!(told(&host.rows(&key)), skipped(Reason::WrongProject));
    for name in ["Here", "In p"] {
        let key = host.key(&project, name).await;
        assert_eq!(told(&host.rows(&key)), [GOOD], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_skip_is_deduped_when_another_process_ran_the_slot() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo_with("p", "There", "0 9 * * *", "echo", "policy: {run_on: [there]}");
    let host = scene.serve().await;
    let key = host.key(&project, "There").await;
    scene.until("2026-03-02T09:00:10Z").await;
    scene.edit_json(&project, |json| {
        json["scheduledTasks"][0]["state"]["lastScheduledFor"] =
            json!(instant("2026-03-02T09:00:00Z"));
    });
    scene.until("2026-03-02T09:02:00Z").await;
    let deduped = (Status::Deduped, Some(Reason::ElsewhereClaimed));
    assert_eq!(told(&host.rows(&key)), [deduped], "the peer ran it");
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_the_day_of_the_task_s_zone() {
    // 22:30 UTC is half past midnight in Helsinki: a new day there.
    let scene = Scene::at("2026-03-02T19:59:00Z");
    let project = scene.project("p");
    let header = "enabled: true\nschedule: \"0 * * * *\"\ntimezone: Europe/Helsinki\n\
                  model: demo/echo\npolicy: {budget: {runs_per_day: 2}}";
    scene.write_loop("p", "Thrifty", header, "x");
    let host = scene.serve().await;
    let key = host.key(&project, "Thrifty").await;
    scene.until("2026-03-03T01:30:00Z").await;
    let over = (Status::Skipped, Some(Reason::Budget));
    // 22, 23 | 0, 1, 2, 3 o'clock in Helsinki.
    assert_eq!(told(&host.rows(&key)), [GOOD, GOOD, GOOD, GOOD, over, over]);
    let by_hand = host.try_run(&project, &key.task_id, WaitFor::End).await;
    assert!(by_hand.is_ok(), "a person is not held back: {by_hand:?}");
}

#[tokio::test(start_paused = true)]
async fn json_tasks_have_their_policy_in_the_ledger() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    let host = scene.serve().await;
    let task = json!({
        "name": "Task", "enabled": true,
        "schedule": {"kind": "cron", "cron": "0 * * * *", "timezone": "UTC"},
        "execution": {"prompt": "x", "providerID": "demo", "modelID": "echo"},
    });
    host.upsert_task(&project, &task).await.unwrap();
    let key = host.key(&project, "Task").await;
    let budget = Some(Budget { runs_per_day: Some(1) });
    let policy = Policy { budget, ..Policy::default() };
    host.set_policy(&project, &key.task_id, &policy).await.unwrap();
    assert!(!scene.json(&project).to_string().contains("runs_per_day"), "never in the shared file");
    scene.until("2026-03-02T10:05:00Z").await;
    assert_eq!(told(&host.rows(&key)), [GOOD, (Status::Skipped, Some(Reason::Budget))]);
}

#[tokio::test(start_paused = true)]
async fn a_loop_runs_only_with_its_content_approved_case_m01() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    scene.settings(|settings| settings.approval.mode = ApprovalMode::All);
    let project = scene.project("p");
    scene.demo("p", "Unseen", "0 * * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Unseen").await;
    scene.until("2026-03-02T09:05:00Z").await;
    let held = (Status::Skipped, Some(Reason::NotApproved));
    assert_eq!(told(&host.rows(&key)), [held], "listed, not run");
    assert!(host.count(EventKind::ApprovalNeeded) > 0, "and told");
    let by_hand = host.try_run(&project, &key.task_id, WaitFor::End).await;
    assert!(matches!(by_hand, Err(EngineError::Refused(_))), "not by hand either: {by_hand:?}");
    let waiting = host.approvals().await.unwrap();
    assert_eq!(waiting.len(), 1);
    host.approve(&project, &key.task_id, &waiting[0].hash).await.unwrap();
    scene.until("2026-03-02T10:05:00Z").await;
    assert_eq!(told(&host.rows(&key)), [held, GOOD]);
    // A pull brings another prompt.
    scene.write_loop(
        "p",
        "Unseen",
        "enabled: true\nschedule: \"0 * * * *\"\ntimezone: UTC\nmodel: demo/echo",
        "something else",
    );
    scene.until("2026-03-02T11:05:00Z").await;
    assert_eq!(told(&host.rows(&key)), [held, GOOD, held], "asked again when it changed");
    let stale = host.approve(&project, &key.task_id, &waiting[0].hash).await;
    assert!(matches!(stale, Err(EngineError::Stale { .. })), "that was another content: {stale:?}");
}

#[tokio::test(start_paused = true)]
async fn risky_holds_back_what_inherited_its_power_and_none_holds_back_nothing() {
    for (mode, runs) in [(ApprovalMode::Risky, false), (ApprovalMode::None, true)] {
        let scene = Scene::at("2026-03-02T08:59:00Z");
        scene.settings(|settings| settings.approval.mode = mode);
        let project = scene.project("p");
        scene.demo("p", "Plain", "0 9 * * *", "echo");
        scene.demo("p", "Inherited", "0 9 * * *", "echo");
        let host = scene.serve().await;
        scene.edit_json(&project, |json| {
            for task in json["scheduledTasks"].as_array_mut().unwrap() {
                if task["name"] == "Inherited" {
                    task["execution"]["permissionAutoAccept"] = json!(true);
                }
            }
        });
        scene.until("2026-03-02T09:02:00Z").await;
        let plain = host.key(&project, "Plain").await;
        let inherited = host.key(&project, "Inherited").await;
        assert_eq!(told(&host.rows(&plain)), [GOOD], "{mode:?}");
        let expected = if runs { GOOD } else { (Status::Skipped, Some(Reason::NotApproved)) };
        assert_eq!(told(&host.rows(&inherited)), [expected], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_read_keeps_its_tasks() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let project = scene.project("p");
    scene.demo("p", "Kept", "0 9 * * *", "echo");
    let host = scene.serve().await;
    let loops = scene.folder("p").join(".agents").join("loops");
    let aside = scene.folder("p").join("aside");
    std::fs::rename(&loops, &aside).unwrap();
    // A link that leads to itself where the folder was: it is there, and cannot be listed.
    std::os::unix::fs::symlink(&loops, &loops).unwrap();
    host.sync_project(&project).await.unwrap();
    let tasks = host.list_tasks(&project).await.unwrap();
    assert_eq!(tasks.len(), 1, "an error is no empty folder");
    let shown = host.project(&project).await.unwrap();
    assert_eq!(shown.problems.len(), 1, "it is said: {:?}", shown.problems);
    std::fs::remove_file(&loops).unwrap();
    std::fs::rename(&aside, &loops).unwrap();
    scene.pass(Duration::from_secs(40)).await;
    host.sync_project(&project).await.unwrap();
    let key = host.key(&project, "Kept").await;
    scene.until("2026-03-02T09:01:00Z").await;
    assert_eq!(host.statuses(&key), [Status::Succeeded], "healed");
}
