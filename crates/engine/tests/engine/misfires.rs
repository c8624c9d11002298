//! Slots that were noticed too late: asleep, down, the clock set; each has its row.

use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Reason, Status, Trigger};
use loopkeeper_engine::task::policy::CatchUp;
use loopkeeper_engine::testing::{Scene, instant};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const LATEST: &str = "policy: {catch_up: latest}";

#[tokio::test(start_paused = true)]
async fn what_was_slept_through_is_one_missed_row() {
    for hours in [2, 72] {
        let scene = Scene::at("2026-03-02T08:30:00Z");
        let project = scene.project("p");
        scene.demo("p", "Hourly", "0 * * * *", "echo");
        let host = scene.serve().await;
        let key = host.key(&project, "Hourly").await;
        scene.clock.nap(HOUR * hours);
        scene.pass(Duration::from_secs(60)).await;
        let rows = host.rows(&key);
        assert_eq!(rows.len(), 1, "a nap of {hours} h is one row: {rows:#?}");
        assert_eq!((rows[0].status, rows[0].reason), (Status::Missed, Some(Reason::Asleep)));
        assert_eq!(rows[0].count.unwrap_or(1), i64::from(hours), "every slot is in it");
        assert_eq!(host.count(EventKind::Missed), 1, "and it is told once");
        scene.pass(HOUR).await;
        assert_eq!(host.statuses(&key), [Status::Missed, Status::Succeeded], "then as usual");
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_missed_slot_is_caught_up_cases_b01_b05() {
    let scene = Scene::at("2026-02-06T09:30:00Z");
    let project = scene.project("p");
    let header = format!(
        "enabled: true\nschedule: \"0 4 * * *\"\ntimezone: America/New_York\nmodel: demo/echo\n{LATEST}"
    );
    scene.write_loop("p", "Nightly", &header, "x");
    scene.demo_with("p", "Often", "*/5 * * * *", "echo", LATEST);
    let host = scene.serve().await;
    let (nightly, often) = (host.key(&project, "Nightly").await, host.key(&project, "Often").await);
    host.kill();
    scene.clock.nap(Duration::from_millis(
        u64::try_from(instant("2026-02-09T12:01:00Z") - scene.now()).unwrap(),
    ));
    let host = scene.serve().await;
    scene.pass(Duration::from_secs(30)).await;
    let rows = host.rows(&nightly);
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert_eq!((rows[0].status, rows[0].reason), (Status::Missed, Some(Reason::Down)));
    assert_eq!(rows[0].first_for, Some(instant("2026-02-07T09:00:00Z")), "two were missed");
    assert_eq!(rows[0].scheduled_for, Some(instant("2026-02-08T09:00:00Z")));
    assert_eq!((rows[1].status, rows[1].trigger), (Status::Succeeded, Trigger::CatchUp));
    assert_eq!(rows[1].scheduled_for, Some(instant("2026-02-09T09:00:00Z")), "the newest ran");
    let rows = host.rows(&often);
    let ran: Vec<_> = rows.iter().filter(|run| run.status == Status::Succeeded).collect();
    assert_eq!(ran.len(), 1, "one run for hours of slots: {rows:#?}");
    assert_eq!(ran[0].scheduled_for, Some(instant("2026-02-09T12:00:00Z")), "on time, in fact");
    let slots: i64 = rows.iter().map(|run| run.count.unwrap_or(1)).sum();
    let expected = (instant("2026-02-09T12:00:00Z") - instant("2026-02-06T09:30:00Z")) / 300_000;
    assert_eq!(slots, expected, "each slot is in one row");
}

#[tokio::test(start_paused = true)]
async fn a_slot_outside_the_window_is_not_caught_up() {
    let scene = Scene::at("2026-03-02T08:30:00Z");
    let project = scene.project("p");
    scene.demo_with(
        "p",
        "Daily",
        "0 9 * * *",
        "echo",
        "policy: {catch_up: latest, catch_up_window: 1h}",
    );
    let host = scene.serve().await;
    let key = host.key(&project, "Daily").await;
    scene.clock.nap(HOUR * 2);
    scene.pass(Duration::from_secs(60)).await;
    assert_eq!(host.statuses(&key), [Status::Missed], "half an hour too old");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_ran_is_not_caught_up_case_b02() {
    let scene = Scene::at("2026-04-18T10:05:00Z");
    let project = scene.project("p");
    scene.demo_with("p", "New", "0 * * * *", "echo", LATEST);
    let host = scene.serve().await;
    let key = host.key(&project, "New").await;
    scene.pass(Duration::from_secs(60)).await;
    assert!(host.rows(&key).is_empty(), "the base is its first sight, never the epoch");
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-04-18T11:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn slots_are_counted_in_the_task_s_zone_case_b03() {
    let scene = Scene::at("2026-04-04T20:12:00Z");
    let project = scene.project("p");
    for (name, cron) in [("Evening", "0 21 * * *"), ("Morning", "0 8 * * *")] {
        let header = format!(
            "enabled: true\nschedule: \"{cron}\"\ntimezone: America/Sao_Paulo\nmodel: demo/echo\n{LATEST}"
        );
        scene.write_loop("p", name, &header, "x");
    }
    let lasts = [
        ("Evening", instant("2026-04-04T00:00:00Z")),
        ("Morning", instant("2026-04-04T11:00:00Z")),
    ];
    // The peer ran both before we came.
    let first = scene.open().await;
    first.sync_all_projects().await.unwrap();
    first.kill();
    std::fs::remove_dir_all(scene.paths().own().join("locks")).ok();
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        std::fs::remove_file(scene.paths().own().join(file)).ok();
    }
    scene.edit_json(&project, |json| {
        for task in json["scheduledTasks"].as_array_mut().unwrap() {
            let (_, last) = lasts.iter().find(|(name, _)| task["name"] == *name).unwrap();
            task["state"]["lastScheduledFor"] = (*last).into();
        }
    });
    let host = scene.serve().await;
    scene.pass(Duration::from_secs(60)).await;
    assert!(host.all_rows().is_empty(), "nothing is due: {:#?}", host.all_rows());
    let evening = host.key(&project, "Evening").await;
    let detail = host.task(&project, &evening.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-04-05T00:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn slots_while_a_task_was_off_are_not_missed_case_b06() {
    let scene = Scene::at("2026-01-01T07:59:00Z");
    let project = scene.project("p");
    scene.demo_with("p", "Daily", "0 9 * * *", "echo", LATEST);
    let host = scene.serve().await;
    let key = host.key(&project, "Daily").await;
    host.set_enabled(&project, &key.task_id, false).await.unwrap();
    scene.pass(HOUR * 2).await;
    scene.clock.nap(HOUR * 72);
    scene.until("2026-01-04T12:00:00Z").await;
    host.set_enabled(&project, &key.task_id, true).await.unwrap();
    scene.pass(Duration::from_secs(60)).await;
    assert!(host.rows(&key).is_empty(), "they were not wanted");
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-01-05T09:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_forward_and_back_runs_nothing_twice() {
    let scene = Scene::at("2026-03-02T08:30:00Z");
    let project = scene.project("p");
    scene.demo("p", "Hourly", "0 * * * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Hourly").await;
    scene.until("2026-03-02T09:30:00Z").await;
    scene.clock.step(-3_600_000);
    scene.pass(HOUR).await;
    assert_eq!(host.statuses(&key), [Status::Succeeded], "09:00 came again, and was taken");
    scene.clock.step(3_600_000);
    scene.until("2026-03-02T12:00:30Z").await;
    let slots: Vec<(Option<i64>, Status)> =
        host.rows(&key).iter().map(|run| (run.scheduled_for, run.status)).collect();
    let at = |text| Some(instant(text));
    assert_eq!(
        slots,
        [
            (at("2026-03-02T09:00:00Z"), Status::Succeeded),
            (at("2026-03-02T10:00:00Z"), Status::Missed),
            (at("2026-03-02T11:00:00Z"), Status::Succeeded),
            (at("2026-03-02T12:00:00Z"), Status::Succeeded),
        ],
        "10:00 was jumped over by half an hour"
    );
}

#[tokio::test(start_paused = true)]
async fn forty_overdue_tasks_keep_the_limits_and_do_not_starve_what_is_on_time() {
    let scene = Scene::at("2026-03-02T08:30:00Z");
    scene.settings(|settings| settings.runs.catch_up = CatchUp::Latest);
    let projects: Vec<String> = (0..4).map(|n| scene.project(&format!("p{n}"))).collect();
    for n in 0..40 {
        scene.demo(&format!("p{}", n % 4), &format!("Old {n}"), "0 9 * * *", "slow");
    }
    scene.demo("p0", "Now", "0 12 * * *", "echo");
    scene.open().await.sync_all_projects().await.unwrap();
    scene.clock.nap(Duration::from_millis(
        u64::try_from(instant("2026-03-02T11:59:58Z") - scene.now()).unwrap(),
    ));
    let host = scene.serve().await;
    let key = host.key(&projects[0], "Now").await;
    let mut most = 0;
    for _ in 0..300 {
        scene.pass(Duration::from_millis(500)).await;
        let open = host.ledger().open_runs().unwrap();
        most = most.max(open.len());
        for project in &projects {
            let here = open.iter().filter(|run| run.project_id == *project).count();
            assert!(here <= 2, "two at a time in a project");
        }
    }
    assert_eq!(most, 4, "four at a time in all");
    let ran = host.all_rows();
    let caught = ran.iter().filter(|run| run.trigger == Trigger::CatchUp);
    assert_eq!(caught.clone().count(), 40, "each was caught up once");
    assert!(caught.clone().all(|run| run.status == Status::Succeeded), "{ran:#?}");
    let now = host.rows(&key);
    let waited = now[0].created_at - instant("2026-03-02T12:00:00Z");
    assert!(waited <= 10_500, "the next free place is for what is on time, not {waited} ms");
    let behind = caught.filter(|run| run.created_at > now[0].created_at).count();
    assert!(behind >= 30, "it went before the backlog");
}

#[tokio::test(start_paused = true)]
async fn a_slot_replaced_while_it_waited_is_superseded() {
    let scene = Scene::at("2026-03-02T08:59:30Z");
    scene.settings(|settings| settings.runs.global = 1);
    let project = scene.project("p");
    scene.demo("p", "Blocker", "59 8 * * *", "slow");
    scene.demo("p", "Often", "*/3 * * * * *", "echo");
    let host = scene.serve().await;
    let blocker = host.key(&project, "Blocker").await;
    let often = host.key(&project, "Often").await;
    host.set_enabled(&project, &often.task_id, false).await.unwrap();
    let started =
        host.try_run(&project, &blocker.task_id, loopkeeper_engine::engine::WaitFor::Accepted);
    started.await.unwrap();
    host.set_enabled(&project, &often.task_id, true).await.unwrap();
    scene.pass(Duration::from_secs(12)).await;
    let rows = host.rows(&often);
    let superseded = rows.iter().filter(|run| run.status == Status::Superseded).count();
    assert!(superseded >= 2, "one waiting slot a task, the others have rows: {rows:#?}");
    let mut slots: Vec<i64> = rows.iter().filter_map(|run| run.scheduled_for).collect();
    slots.sort_unstable();
    assert!(slots.windows(2).all(|pair| pair[1] - pair[0] == 3_000), "no slot without a row");
}

#[tokio::test(start_paused = true)]
async fn a_timer_of_a_month_fires_once_and_in_time_case_c03() {
    let scene = Scene::at("2026-02-01T05:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "Monthly", "0 4 1 * *", "echo");
    let host = scene.serve().await;
    let key = host.key(&project, "Monthly").await;
    let detail = host.task(&project, &key.task_id).await.unwrap();
    assert_eq!(detail.summary.next_run_at, Some(instant("2026-03-01T04:00:00Z")), "armed");
    scene.pass(HOUR).await;
    scene.clock.nap(HOUR * 24 * 27);
    scene.until("2026-03-01T03:59:59Z").await;
    assert!(host.rows(&key).is_empty(), "2^31 ms are nothing special");
    scene.until("2026-03-01T04:00:05Z").await;
    assert_eq!(host.statuses(&key), [Status::Succeeded]);
}
