//! What things cost, counted: counts do not depend on the machine.

use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::testing::{Host, Scene};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn an_idle_process_wakes_no_thread_until_there_is_something_to_look_after() {
    let scene = Scene::at("2026-05-05T09:00:00Z");
    scene.project("p");
    scene.demo("p", "yearly", "0 0 1 1 *", "echo");
    let options = EngineOptions { watch: true, ..scene.options() };
    let idle = Engine::open(options).await.unwrap();
    idle.start().await.unwrap();
    scene.pass(Duration::from_secs(70)).await;
    let last = idle.last_round();
    assert!(last > 0, "the first round looks after everything");
    scene.pass(Duration::from_secs(200)).await;
    assert_eq!(idle.last_round(), last, "then nothing is in want of a round");
    scene.pass(Duration::from_secs(120)).await;
    let whole = idle.last_round();
    assert!(whole > last, "within five minutes one is made all the same");
    let other = scene.open().await;
    other.pause(None).await.unwrap();
    scene.pass(Duration::from_secs(61)).await;
    let paused = idle.last_round();
    assert!(paused > whole, "what others write is looked at");
    scene.pass(Duration::from_secs(61)).await;
    assert!(idle.last_round() > paused, "and a pause has to be watched as long as it lasts");
    idle.stop().await;
}

/// Counts how often the ledger is asked, and how many steps of writes are made.
async fn counted(host: &Host, work: impl AsyncFnOnce(&Host)) -> (usize, usize) {
    let before = (host.ledger().asked(), host.steps());
    work(host).await;
    (host.ledger().asked() - before.0, host.steps() - before.1)
}

#[tokio::test(start_paused = true)]
async fn what_surfaces_ask_and_a_sync_cost_as_many_queries_for_many_tasks_as_for_few() {
    let scene = Scene::at("2026-05-05T09:00:00Z");
    let project = scene.project("p");
    scene.demo("p", "first", "0 10 * * *", "echo");
    let host = scene.serve().await;
    let mut all = Vec::new();
    for tasks in [1, 40] {
        for number in 1..tasks {
            scene.demo("p", &format!("more-{number}"), "0 10 * * *", "echo");
        }
        host.sync_project(&project).await.unwrap();
        // The round that a start begins with is over by then, and the next one is far.
        scene.pass(Duration::from_secs(5)).await;
        let sync = counted(&host, async |host| host.sync_project(&project).await.unwrap()).await;
        assert_eq!(sync.1, 0, "a sync that changes nothing writes nothing: {tasks} tasks");
        let overview = counted(&host, async |host| drop(host.overview().await.unwrap())).await;
        let list = counted(&host, async |host| {
            assert_eq!(host.task_summaries(None).await.unwrap().len(), tasks);
        })
        .await;
        assert_eq!((overview.1, list.1), (0, 0), "looking writes nothing");
        all.push([sync.0, overview.0, list.0]);
    }
    assert_eq!(all[0], all[1], "[sync, overview, list] for one task and for 40");
}

#[tokio::test(start_paused = true)]
async fn a_run_costs_as_many_writes_among_many_tasks_as_alone() {
    let mut all = Vec::new();
    for tasks in [1, 40] {
        let scene = Scene::at("2026-05-05T09:00:00Z");
        let project = scene.project("p");
        scene.demo("p", "runs", "0 10 5 5 *", "echo");
        for number in 1..tasks {
            scene.demo("p", &format!("more-{number}"), "0 10 1 1 *", "echo");
        }
        let host = scene.serve().await;
        let key = host.key(&project, "runs").await;
        scene.pass(Duration::from_secs(1800)).await;
        let before = host.steps();
        scene.until("2026-05-05T10:05:00Z").await;
        assert_eq!(host.rows(&key).len(), 1, "it ran");
        all.push(host.steps() - before);
    }
    assert_eq!(all[0], all[1], "steps of writes of one run");
}
