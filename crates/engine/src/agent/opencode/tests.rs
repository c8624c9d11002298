use super::fake::{Fake, Reply, Request, messages};
use super::*;
use crate::agent::journal::{Control, JournalError, StepKind, StopReason};
use crate::agent::testing::{Note, Notes, job};
use crate::agent::{Ended, Evidence, OpencodeConfig};
use crate::clock::SystemClock;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tokio::sync::mpsc;
use tokio::time::Instant;

struct Place {
    folder: tempfile::TempDir,
    directory: String,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = real_path(folder.path()).expect("real");
    Place { folder, directory }
}

impl Place {
    fn agents(&self, url: &str) -> crate::agent::Agents {
        let opencode = OpencodeConfig {
            url: Some(url.to_owned()),
            goal_quiet: Duration::from_secs(1),
            ..OpencodeConfig::default()
        };
        let config = AgentsConfig {
            opencode,
            commands: Default::default(),
            own: self.folder.path().join("own"),
            opencode_config: self.folder.path().join("config"),
            environment: Vec::new(),
        };
        crate::agent::Agents::new(config, Arc::new(SystemClock))
    }

    fn job(&self, prompt: &str) -> Job {
        let mut job = job("stub", "ok", prompt);
        job.project.path = PathBuf::from(&self.directory);
        job
    }

    async fn run(&self, fake: &Fake, job: &Job, notes: &Notes) -> Outcome {
        let (_sender, receiver) = mpsc::channel(1);
        self.agents(&fake.url).run(job, notes, receiver).await
    }
}

fn is(request: &Request, method: &str, end: &str) -> bool {
    request.method == method && request.path.ends_with(end)
}

/// The requests that the peer sends for the same task, as recorded.
fn recorded_requests() -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/opencode/dispatch-requests.ndjson");
    let text = std::fs::read_to_string(path).expect("recorded");
    text.lines()
        .map(|line| {
            let request: Value = serde_json::from_str(line).expect("JSON");
            let body = request["body"].as_str().expect("a body");
            let url = request["url"].as_str().expect("a url");
            let path = url.split('?').next().expect("a path");
            let end = path.rsplit('/').next().expect("a last part").to_owned();
            (end, serde_json::from_str(body).expect("JSON"))
        })
        .collect()
}

#[tokio::test]
async fn what_is_sent_is_what_the_peer_sends() {
    let place = place();
    let fake = Fake::start(&place.directory, |_| None).await;
    let mut job = place.job("Loop prompt body: report.");
    job.title = "minute-loop 2026-12-01 00:03".to_owned();
    job.execution.agent = Some("build".to_owned());
    let outcome = place.run(&fake, &job, &Notes::default()).await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    let sent: Vec<(String, Value)> = fake
        .changes()
        .into_iter()
        .map(|request| {
            (request.path.rsplit('/').next().expect("a last part").to_owned(), request.body)
        })
        .collect();
    assert_eq!(sent, recorded_requests(), "request by request");
    assert_eq!(outcome.cost, Some(1.5), "child sessions are counted");
    assert_eq!(outcome.tokens.map(|tokens| tokens.total()), Some(12));
}

#[tokio::test]
async fn variant_ruleset_and_command_go_where_they_belong() {
    let place = place();
    let fake = Fake::start(&place.directory, |request| {
        is(request, "POST", "/command").then(|| Reply::Json(json!({})))
    })
    .await;
    let mut job = place.job("/hello bob\nand alice");
    job.execution.variant = Some("high".to_owned());
    job.execution.permission_auto_accept = Some(true);
    let outcome = place.run(&fake, &job, &Notes::default()).await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    let bodies: Vec<Value> = fake.changes().into_iter().map(|request| request.body).collect();
    assert_eq!(
        bodies,
        [
            json!({ "title": job.title, "permission": [{ "permission": "*", "pattern": "*", "action": "allow" }] }),
            json!({ "command": "hello", "arguments": "bob\nand alice", "model": "stub/ok", "variant": "high" }),
        ]
    );
}

#[tokio::test]
async fn nothing_is_sent_when_the_session_cannot_be_stored() {
    let place = place();
    let fake = Fake::start(&place.directory, |_| None).await;
    let notes = Notes::refusing(JournalError::Failed("disk full".to_owned()));
    let outcome = place.run(&fake, &place.job("x"), &notes).await;
    assert_eq!(outcome.reason, Some(EndReason::NotSent), "{:?}", outcome.error);
    let sent: Vec<String> = fake.changes().into_iter().map(|request| request.method).collect();
    assert_eq!(sent, ["POST", "DELETE"], "the session is made and removed, no prompt goes out");
}

/// Case K04, second half: the session that was made reports another directory.
#[tokio::test]
async fn a_session_in_another_folder_is_removed_and_nothing_prompted() {
    let place = place();
    let fake = Fake::start("/somewhere/else", |_| None).await;
    let outcome = place.run(&fake, &place.job("x"), &Notes::default()).await;
    assert_eq!(outcome.reason, Some(EndReason::BadFolder));
    assert!(outcome.error.expect("a text").contains("/somewhere/else"));
    assert!(!fake.changes().iter().any(|request| is(request, "POST", "/prompt_async")));
}

#[tokio::test]
async fn a_prompt_whose_answer_breaks_is_never_sent_again() {
    let place = place();
    let fake = Fake::start(&place.directory, |request| {
        is(request, "POST", "/prompt_async").then_some(Reply::Hangup)
    })
    .await;
    let outcome = place.run(&fake, &place.job("x"), &Notes::default()).await;
    assert_eq!(outcome.status, Ended::Succeeded, "the messages tell: {:?}", outcome.error);
    let prompts = fake.changes().iter().filter(|r| is(r, "POST", "/prompt_async")).count();
    assert_eq!(prompts, 1, "it may have arrived, and it had");
}

#[tokio::test]
async fn what_is_no_opencode_is_said_so_at_once() {
    let place = place();
    let fake = Fake::start(&place.directory, |_| Some(Reply::Html)).await;
    let outcome = place.run(&fake, &place.job("x"), &Notes::default()).await;
    assert_eq!(outcome.reason, Some(EndReason::Unreachable));
    assert!(outcome.error.expect("a text").contains("not OpenCode"));
    let denied = Fake::start(&place.directory, |_| Some(Reply::Status(401, Value::Null))).await;
    let outcome = place.run(&denied, &place.job("x"), &Notes::default()).await;
    assert!(outcome.error.expect("a text").contains("OPENCODE_SERVER_PASSWORD"));
}

/// Case B07: OpenCode may take long to boot; one that never comes up is a failure after ten minutes.
#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_tried_for_ten_minutes() {
    let place = place();
    // A port that nobody listens on.
    let agents = place.agents("http://127.0.0.1:1");
    let (_sender, receiver) = mpsc::channel(1);
    let (notes, began) = (Notes::default(), Instant::now());
    let outcome = agents.run(&place.job("x"), &notes, receiver).await;
    assert_eq!(outcome.reason, Some(EndReason::Unreachable), "{:?}", outcome.error);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(580) && took < Duration::from_secs(620), "{took:?}");
    assert_eq!(notes.list().len(), 1, "the wait is told once: {:?}", notes.list());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_never_answers_costs_seconds_not_minutes() {
    let place = place();
    let fake = Fake::start(&place.directory, |_| Some(Reply::Silence)).await;
    let began = Instant::now();
    let health = place.agents(&fake.url).health().await;
    assert!(!health.healthy && health.error.is_some());
    assert!(began.elapsed() <= Duration::from_secs(3), "{:?}", began.elapsed());
}

/// Answers the messages of the session.
fn with_messages(roles: &'static [&'static str]) -> impl Fn(&Request) -> Option<Reply> {
    move |request| is(request, "GET", "/message").then(|| Reply::Json(messages(roles)))
}

/// A busy machine's server was silent for over a second between its answer's first and second
/// word, and the run was taken for lost: with the event stream open nobody restarted anything.
#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_unfinished_is_lost() {
    let place = place();
    let began = Instant::now();
    let fake = Fake::start(&place.directory, with_messages(&["user", "unfinished"])).await;
    let outcome = place.run(&fake, &place.job("x"), &Notes::default()).await;
    assert_eq!((outcome.status, outcome.reason), (Ended::Lost, Some(EndReason::Restarted)));
    assert!(began.elapsed() >= Duration::from_secs(20), "patient: {:?}", began.elapsed());
}

/// Case K01: an accepted prompt of which nothing is ever seen was not started.
#[tokio::test(start_paused = true)]
async fn a_prompt_that_never_appears_fails_after_half_a_minute() {
    let place = place();
    let fake = Fake::start(&place.directory, with_messages(&[])).await;
    let notes = Notes::default();
    let began = Instant::now();
    let outcome = place.run(&fake, &place.job("x"), &notes).await;
    assert_eq!(outcome.reason, Some(EndReason::NotStarted), "204 is no success");
    assert!(began.elapsed() >= Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(!notes.list().contains(&Note::Accepted), "it was accepted in memory only");
}

#[tokio::test]
async fn an_empty_session_that_is_taken_over_was_not_sent() {
    let place = place();
    let fake = Fake::start(&place.directory, with_messages(&[])).await;
    let mut job = place.job("x");
    job.resume = Some(Evidence { session_id: Some("ses_1".to_owned()), child: None });
    let (_sender, receiver) = mpsc::channel(1);
    let outcome = place.agents(&fake.url).follow(&job, &Notes::default(), receiver).await;
    assert_eq!(outcome.reason, Some(EndReason::NotSent));
    assert!(fake.changes().is_empty(), "nothing is sent by a take-over: {:?}", fake.changes());
    job.resume = None;
    let (_sender, receiver) = mpsc::channel(1);
    let outcome = place.agents(&fake.url).follow(&job, &Notes::default(), receiver).await;
    assert_eq!(outcome.reason, Some(EndReason::NotSent), "no session was stored");
}

#[tokio::test]
async fn a_run_that_is_over_time_while_nobody_answers_is_lost() {
    let place = place();
    let gone = Arc::new(AtomicBool::new(false));
    let fake = Fake::start(&place.directory, {
        let gone = Arc::clone(&gone);
        move |request| {
            if is(request, "POST", "/prompt_async") {
                gone.store(true, Ordering::Relaxed);
                return Some(Reply::Empty);
            }
            gone.load(Ordering::Relaxed).then_some(Reply::Hangup)
        }
    })
    .await;
    let (sender, receiver) = mpsc::channel(1);
    let notes = Arc::new(Notes::default());
    let running = tokio::spawn({
        let (agents, job, notes) = (place.agents(&fake.url), place.job("x"), Arc::clone(&notes));
        async move { agents.run(&job, &*notes, receiver).await }
    });
    let waiting = |notes: &[Note], _: &str| {
        notes.iter().any(|note| matches!(note, Note::Step(StepKind::Waiting, _))).then_some(())
    };
    notes.wait(waiting).await;
    sender.send(Control::Stop { reason: StopReason::TimedOut }).await.expect("running");
    let outcome = running.await.expect("no panic");
    assert_eq!((outcome.status, outcome.reason), (Ended::Lost, Some(EndReason::Unreachable)));
}

#[tokio::test]
async fn a_child_sessions_permission_blocks_its_parent() {
    let place = place();
    let fake = Fake::start(&place.directory, |request| match request.path.as_str() {
        "/permission" => Some(Reply::Json(json!([
            { "id": "per_1", "sessionID": "ses_2", "permission": "bash", "patterns": ["make"] },
            { "id": "per_2", "sessionID": "ses_9", "permission": "bash", "patterns": ["other"] },
        ]))),
        "/session/status" => Some(Reply::Json(json!({ "ses_1": { "type": "busy" } }))),
        _ => None,
    })
    .await;
    let (sender, receiver) = mpsc::channel(1);
    let notes = Arc::new(Notes::default());
    let running = tokio::spawn({
        let (agents, job, notes) = (place.agents(&fake.url), place.job("x"), Arc::clone(&notes));
        async move { agents.run(&job, &*notes, receiver).await }
    });
    let blocked = |notes: &[Note], _: &str| {
        notes.iter().find_map(|note| match note {
            Note::Blocked(asks) => Some(asks.clone()),
            _ => None,
        })
    };
    let asks = notes.wait(blocked).await;
    let ids: Vec<&str> = asks.iter().map(|ask| ask.id.as_str()).collect();
    assert_eq!(ids, ["per_1"], "its child's, and not a stranger's");
    sender.send(Control::Stop { reason: StopReason::Shutdown }).await.expect("running");
    let outcome = running.await.expect("no panic");
    assert_eq!(outcome.status, Ended::LeftRunning);
    assert!(!fake.changes().iter().any(|request| request.path.ends_with("/abort")), "it goes on");
}

/// A server on which somebody else drives the goal, and has brought it to `status`.
async fn driven_elsewhere(place: &Place, status: &'static str) -> (Fake, Outcome) {
    let fake = Fake::start(&place.directory, move |request| {
        if is(request, "PATCH", "/ses_1") {
            return Some(Reply::Json(json!({})));
        }
        is(request, "GET", "/session/ses_1").then(|| {
            let goal = json!({ "status": status, "turnsUsed": 3, "note": "CI is down" });
            Reply::Json(json!({ "id": "ses_1", "metadata": { "openchamber": { "goal": goal } } }))
        })
    })
    .await;
    let mut job = place.job("Make it green.");
    job.execution.goal_enabled = Some(true);
    let outcome = place.run(&fake, &job, &Notes::default()).await;
    (fake, outcome)
}

#[tokio::test]
async fn a_goal_that_somebody_else_drives_is_only_followed() {
    let place = place();
    let (fake, outcome) = driven_elsewhere(&place, "complete").await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    let prompts: Vec<Request> =
        fake.changes().into_iter().filter(|r| is(r, "POST", "/prompt_async")).collect();
    assert_eq!(prompts.len(), 1, "two drivers would send everything twice");
    let parts = prompts[0].body["parts"].as_array().expect("parts");
    assert_eq!(parts[1]["synthetic"], true, "the introduction is not the user's text");
    let goal = fake.changes().into_iter().find(|r| r.method == "PATCH").expect("written");
    let goal = &goal.body["metadata"]["openchamber"]["goal"];
    assert_eq!((&goal["status"], &goal["objective"]), (&"active".into(), &"Make it green.".into()));

    let (_, outcome) = driven_elsewhere(&place, "blocked").await;
    assert_eq!(outcome.reason, Some(EndReason::GoalBlocked));
    assert!(outcome.error.expect("a text").contains("CI is down"));
}

#[tokio::test]
async fn a_turn_that_begins_after_its_abort_is_aborted_again() {
    // An abort between "accepted" and the turn's first step stops nothing: this left a session
    // running that nobody followed.
    let place = place();
    let aborts = Arc::new(AtomicUsize::new(0));
    let looks = Arc::new(AtomicUsize::new(0));
    let fake = Fake::start(&place.directory, {
        let (aborts, looks) = (Arc::clone(&aborts), Arc::clone(&looks));
        move |request| {
            if is(request, "POST", "/abort") {
                aborts.fetch_add(1, Ordering::Relaxed);
                return Some(Reply::Json(json!(true)));
            }
            if request.path == "/session/status" {
                let begun = match aborts.load(Ordering::Relaxed) {
                    0 => true,
                    1 => looks.fetch_add(1, Ordering::Relaxed) >= 2,
                    _ => false,
                };
                let busy = json!({ "ses_1": { "type": "busy" } });
                return Some(Reply::Json(if begun { busy } else { json!({}) }));
            }
            is(request, "GET", "/message").then(|| {
                let ended = aborts.load(Ordering::Relaxed) > 1;
                let roles: &[&str] = if ended { &["user", "assistant"] } else { &["user"] };
                Reply::Json(messages(roles))
            })
        }
    })
    .await;
    let (sender, receiver) = mpsc::channel(1);
    let notes = Arc::new(Notes::default());
    let running = tokio::spawn({
        let (agents, job, notes) = (place.agents(&fake.url), place.job("x"), Arc::clone(&notes));
        async move { agents.run(&job, &*notes, receiver).await }
    });
    notes.wait(|notes, _| notes.contains(&Note::Accepted).then_some(())).await;
    sender.send(Control::Stop { reason: StopReason::Cancelled }).await.expect("running");
    assert_eq!(running.await.expect("no panic").status, Ended::Cancelled);
    assert_eq!(aborts.load(Ordering::Relaxed), 2, "the turn that began late was stopped too");
}
