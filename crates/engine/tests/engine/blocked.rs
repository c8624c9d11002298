//! Runs that wait for a person: told, answered from anywhere, never out of time by waiting.

use loopkeeper_engine::event::EventKind;
use loopkeeper_engine::ledger::{Answer, Reason, Run, Status};
use loopkeeper_engine::testing::{Host, Scene};
use std::time::Duration;

async fn blocked(scene: &Scene, more: &str) -> (Host, String, Run) {
    let project = scene.project("p");
    scene.demo_with("p", "Asks", "0 9 * * *", "ask", more);
    let host = scene.serve().await;
    let key = host.key(&project, "Asks").await;
    scene.until("2026-03-02T09:00:01Z").await;
    let run = host.row_with(&key, Status::Blocked).await;
    assert_eq!(host.count(EventKind::RunBlocked), 1, "it is told at once");
    (host, project, run)
}

async fn ask_of(host: &Host, run: i64) -> String {
    let view = host.run(run).await.unwrap();
    assert_eq!(view.asks.len(), 1, "its question stands in the row");
    view.asks[0].id.clone()
}

#[tokio::test(start_paused = true)]
async fn an_answer_lets_it_go_on_and_waiting_costs_no_time() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let (host, project, run) = blocked(&scene, "policy: {timeout: 5m}").await;
    let overview = host.overview().await.unwrap();
    assert_eq!(overview.needs_you.len(), 1, "{:#?}", overview.needs_you);
    // A question at three in the night survives it.
    scene.pass(Duration::from_secs(2 * 3600)).await;
    assert_eq!(host.run(run.id).await.unwrap().run.status, Status::Blocked);
    let other = host.answer(run.id, "nosuch", &Answer::Once).await.unwrap_err().to_string();
    assert!(other.contains("asks nothing called nosuch"), "the run is there: {other}");
    let gone = host.answer(999, "nosuch", &Answer::Once).await.unwrap_err().to_string();
    assert!(gone.contains("there is no run 999"), "no question is to blame: {gone}");
    let ask = ask_of(&host, run.id).await;
    host.answer(run.id, &ask, &Answer::Once).await.unwrap();
    scene.pass(Duration::from_secs(1)).await;
    let ended = host.run(run.id).await.unwrap();
    assert_eq!(ended.run.status, Status::Succeeded, "{ended:#?}");
    let kinds: Vec<&str> = ended.steps.iter().map(|step| step.kind.as_str()).collect();
    assert!(kinds.contains(&"blocked") && kinds.contains(&"unblocked"), "{kinds:?}");
    assert_eq!(scene.state(&project, "Asks")["lastStatus"], "success");
    let twice = host.answer(run.id, &ask, &Answer::Once).await;
    assert!(twice.is_err(), "it was answered: {twice:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_another_process_reaches_it() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let (host, _, run) = blocked(&scene, "").await;
    let other = scene.open().await;
    let ask = ask_of(&other, run.id).await;
    other.answer(run.id, &ask, &Answer::Reject).await.unwrap();
    scene.pass(Duration::from_secs(2)).await;
    let ended = host.run(run.id).await.unwrap().run;
    assert_eq!((ended.status, ended.reason), (Status::Failed, Some(Reason::Rejected)));
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_and_the_question_stands_in_the_error() {
    let settings = loopkeeper_engine::settings::Settings::default();
    assert_eq!(settings.runs.blocked_timeout, Duration::from_secs(12 * 3600), "half a day");
    let scene = Scene::at("2026-03-02T08:59:00Z");
    let (host, project, run) = blocked(&scene, "policy: {blocked_timeout: 1h}").await;
    scene.pass(Duration::from_secs(3600 - 10)).await;
    assert_eq!(host.run(run.id).await.unwrap().run.status, Status::Blocked, "not yet");
    scene.pass(Duration::from_secs(15)).await;
    let ended = host.run(run.id).await.unwrap().run;
    assert_eq!((ended.status, ended.reason), (Status::Failed, Some(Reason::BlockedTimeout)));
    let error = ended.error.unwrap();
    assert!(error.contains("May the demo agent go on?"), "{error}");
    assert_eq!(scene.state(&project, "Asks")["lastStatus"], "error");
}

#[tokio::test(start_paused = true)]
async fn a_blocked_run_gives_its_place_to_others() {
    let scene = Scene::at("2026-03-02T08:59:00Z");
    scene.settings(|settings| settings.runs.global = 1);
    let (host, project, run) = blocked(&scene, "").await;
    scene.demo("p", "Other", "* * * * *", "echo");
    host.sync_project(&project).await.unwrap();
    let other = host.key(&project, "Other").await;
    scene.until("2026-03-02T09:05:30Z").await;
    assert_eq!(
        host.statuses(&other),
        [Status::Succeeded; 5],
        "nobody waits for the one that waits"
    );
    let ask = ask_of(&host, run.id).await;
    host.answer(run.id, &ask, &Answer::Always).await.unwrap();
    scene.until("2026-03-02T09:10:30Z").await;
    assert_eq!(host.statuses(&other), [Status::Succeeded; 10], "and the place is free afterwards");
}
