//! Slots that were due and had to wait: for a place, for room in the ledger, for their minute.

use loopkeeper_engine::ledger::{Injected, Reason, Status};
use loopkeeper_engine::testing::{Scene, instant};

/// A slot that waited for a place was forgotten when its loop was switched off, changed or deleted.
#[tokio::test(start_paused = true)]
async fn a_slot_that_waits_for_a_place_has_its_row_though_its_loop_changes_meanwhile() {
    let scene = Scene::at("2026-03-02T08:59:50Z");
    scene.settings(|settings| settings.runs.per_project = 1);
    let project = scene.project("p");
    scene.demo("p", "Busy", "0 0 9 * * *", "slow");
    let mut paths = Vec::new();
    for name in ["Off", "Edited", "Deleted", "Stays"] {
        paths.push(scene.demo("p", name, "2 0 9 * * *", "echo"));
    }
    let host = scene.serve().await;
    let mut keys = Vec::new();
    for name in ["Off", "Edited", "Deleted", "Stays"] {
        keys.push(host.key(&project, name).await);
    }
    scene.until("2026-03-02T09:00:05Z").await;
    host.set_enabled(&project, &keys[0].task_id, false).await.unwrap();
    scene.demo("p", "Edited", "0 0 12 * * *", "echo");
    std::fs::remove_file(&paths[2]).unwrap();
    host.sync_project(&project).await.unwrap();
    scene.until("2026-03-02T09:01:00Z").await;
    let slot = instant("2026-03-02T09:00:02Z");
    for key in &keys[..3] {
        let rows = host.rows(key);
        let told: Vec<_> = rows.iter().map(|r| (r.scheduled_for, r.status, r.reason)).collect();
        let changed = (Some(slot), Status::Skipped, Some(Reason::DefinitionChanged));
        assert_eq!(told, [changed], "{}", key.task_id);
    }
    assert_eq!(host.rows(&keys[2])[0].task_name, "Deleted", "by its name, though it is gone");
    assert_eq!(host.statuses(&keys[3]), [Status::Succeeded], "it waited, and ran");
}

/// Rows that the ledger could not take were kept for the next round, and lost when the process ended
/// before it.
#[tokio::test(start_paused = true)]
async fn rows_that_the_ledger_could_not_take_are_written_before_the_process_ends() {
    let scene = Scene::at("2026-03-02T08:59:50Z");
    scene.settings(|settings| settings.runs.per_project = 1);
    let project = scene.project("p");
    scene.demo("p", "Busy", "0 0 9 * * *", "slow");
    scene.demo("p", "Often", "2,4,6 0 9 * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Often").await;
    scene.until("2026-03-02T09:00:03Z").await;
    host.fault(|_| Injected::Full);
    scene.until("2026-03-02T09:00:07Z").await;
    host.heal();
    assert!(host.rows(&key).is_empty(), "nothing could be written yet");
    host.stop().await;
    let other = scene.open().await;
    for (slot, second) in [("2026-03-02T09:00:02Z", 2), ("2026-03-02T09:00:04Z", 4)] {
        let row = other.ledger().slot(&key, instant(slot)).unwrap();
        assert_eq!(row.map(|row| row.status), Some(Status::Superseded), ":0{second}");
    }
}

/// After a restart slots had a row of several that were superseded, and one of their own beside it.
#[tokio::test(start_paused = true)]
async fn a_slot_that_was_held_back_before_a_restart_has_one_row() {
    let scene = Scene::at("2026-03-02T08:59:58Z");
    let project = scene.project("p");
    scene.demo_with("p", "Often", "*/10 * * * * *", "echo", "policy: {budget: {runs_per_day: 1}}");
    let host = scene.serve().await;
    let key = host.key(&project, "Often").await;
    scene.until("2026-03-02T09:00:35Z").await;
    host.kill();
    let host = scene.serve().await;
    scene.until("2026-03-02T09:03:00Z").await;
    let rows = host.rows(&key);
    for second in (0..60).step_by(10) {
        let slot = instant("2026-03-02T09:00:00Z") + second * 1000;
        let of_it: Vec<_> = rows
            .iter()
            .filter(|run| {
                let last = run.scheduled_for.unwrap_or_default();
                run.first_for.unwrap_or(last) <= slot && slot <= last
            })
            .collect();
        assert_eq!(of_it.len(), 1, "09:00:{second:02}: {of_it:#?}");
    }
}
