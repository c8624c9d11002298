//! The seed's routes against what OpenChamber 1.19.0 was recorded to answer.
//!
//! Every recording is asked again, in its order, and its answer compared field by field. The model
//! `stub/ok` of the recordings is `demo/echo` here. What may differ, and why:
//!
//! | Where | There | Here |
//! |---|---|---|
//! | every error | `{error}` | the same `error`, and `code`, `hint`, `field` beside it |
//! | bad kind, bad zone | 500 | 400: the input is wrong, not the server |
//! | a body that is no JSON | 400, HTML | 400 in the one error shape |
//! | run | answers when the prompt was accepted, and calls that `success` | `lastStatus: running` until the real end |
//! | run | `sessionId` | `runId` beside it |
//! | run, unknown model | 200, `success` | the run fails (here 500 with the task, as where OpenCode is down) |
//! | delete of a loop file | `{tasks}` | `deleted` beside it: how to bring it back |
//! | a loop that was just found | no `nextRunAt` before the next request | armed at once |

use crate::setup::{World, encoded};
use serde_json::{Map, Value, json};

/// Values of their own in every answer.
const OWN: [&str; 6] =
    ["createdAt", "updatedAt", "lastRunAt", "lastDurationMs", "lastSessionId", "sessionId"];
/// What ours has beside the recorded fields.
const BESIDE: [&str; 6] = ["code", "hint", "field", "runId", "deleted", "notes"];
/// What follows from the real end of runs, and from arming at once.
const EARLIER: [&str; 2] = ["nextRunAt", "lastStatus"];

fn recording(name: &str) -> Value {
    let file = format!("{}/tests/fixtures/openchamber/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Plays recordings on a world, and knows which of our ids stand for recorded ones.
struct Player {
    world: World,
    names: Vec<(String, String)>,
}

impl Player {
    fn renamed(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
    }

    /// The recording in our names.
    fn ours(&self, name: &str) -> Value {
        let text = recording(name).to_string();
        let text = text.replace(r#""providerID":"stub","modelID":"ok""#, DEMO);
        serde_json::from_str(&self.renamed(&text)).expect("names are no syntax")
    }

    /// Asks what was asked there, and compares; returns our answer.
    async fn play(&mut self, name: &str) -> Value {
        let recorded = self.ours(name);
        let (status, answer) = self.ask(&recorded).await;
        assert_eq!(recorded["response"]["status"], status, "{name}: {answer}");
        self.compare(name, &recorded["response"]["body"], &answer);
        answer
    }

    async fn ask(&self, recorded: &Value) -> (u16, Value) {
        let request = &recorded["request"];
        let (method, path) = (&request["method"], &request["path"]);
        let path = path.as_str().expect("a path");
        let body = request.get("body").cloned();
        self.world.ask(method.as_str().expect("a method"), path, body).await
    }

    fn compare(&mut self, at: &str, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => self.compare_fields(at, theirs, ours),
            (Value::Array(theirs), Value::Array(ours)) => {
                assert_eq!(theirs.len(), ours.len(), "{at}: as many, in the same order: {ours:?}");
                for (n, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                    self.compare(&format!("{at}[{n}]"), theirs, ours);
                }
            }
            _ => assert_eq!(theirs, ours, "{at}: a client of the peer sees no difference"),
        }
    }

    fn compare_fields(&mut self, at: &str, theirs: &Map<String, Value>, ours: &Map<String, Value>) {
        for (key, expected) in theirs {
            let at = format!("{at}.{key}");
            // Either of the two ran it: there the unknown model did.
            let ran = |task: &Map<String, Value>| {
                task.get("lastStatus").is_some_and(|status| status != "idle")
            };
            let after_a_run = ran(ours) || ran(theirs);
            match ours.get(key) {
                Some(value) if OWN.contains(&key.as_str()) => {
                    let alike = value.is_number() == expected.is_number();
                    assert!(alike, "{at}: of the same type: {value} for {expected}");
                }
                None if after_a_run && (OWN.contains(&key.as_str())) => {}
                Some(_) if after_a_run && EARLIER.contains(&key.as_str()) => {}
                Some(Value::String(id)) if key == "id" && id.len() == 36 => {
                    self.names.push((expected.as_str().unwrap_or("").to_owned(), id.clone()));
                }
                Some(value) => self.compare(&at, expected, value),
                None => panic!("{at} is missing in {}", Value::Object(ours.clone())),
            }
        }
        for key in ours.keys().filter(|key| !theirs.contains_key(*key)) {
            let known = BESIDE.contains(&key.as_str())
                || EARLIER.contains(&key.as_str())
                || OWN.contains(&key.as_str());
            assert!(known, "{at}.{key} is unknown to the peer's clients");
        }
    }

    /// Waits until no run is open, so that what comes next meets none.
    async fn settle(&self) {
        let open = "/api/runs?status=claimed,queued,retrying,running,blocked";
        loop {
            let (status, runs) = self.world.get(open).await;
            assert_eq!(status, 200, "{runs}");
            let Some(run) = runs[0]["id"].as_i64() else { break };
            let mut events = self.world.engine.events().subscribe();
            // It may have ended before the listener was there.
            let (_, run) = self.world.get(&format!("/api/runs/{run}")).await;
            if run["run"]["finishedAt"].is_null() {
                let _ = events.recv().await;
            }
        }
    }
}

const DEMO: &str = r#""providerID":"demo","modelID":"echo""#;

#[tokio::test]
async fn the_seeds_routes_answer_as_recorded() {
    let world = World::bare(loopkeeper_engine::settings::ApprovalMode::None).await;
    let mut player = Player { world, names: Vec::new() };
    player.play("list-unknown-project").await;
    player.world.register().await;
    player.names.push(("path_L3Nydi93b3JrL2FscGhh".to_owned(), player.world.id.clone()));
    player.names.push(("/srv/work/alpha".to_owned(), player.world.project.display().to_string()));

    for name in ["list-empty", "status-empty", "put-create-cron", "put-create-daily"] {
        player.play(name).await;
    }
    for name in ["put-create-weekly-ownid", "put-create-once"] {
        player.play(name).await;
    }
    for name in ["no-task", "no-name", "no-schedule", "no-provider", "bad-cron"] {
        player.play(&format!("put-err-{name}")).await;
    }
    for name in ["put-err-bad-kind", "put-err-bad-tz"] {
        let recorded = player.ours(name);
        assert_eq!(recorded["response"]["status"], 500, "{name}: as it was there");
        let (status, answer) = player.ask(&recorded).await;
        assert_eq!(status, 400, "{name}: what was sent is wrong");
        assert_eq!(answer["error"], recorded["response"]["body"]["error"], "{name}");
    }
    player.play("put-update-daily").await;

    player.world.write_loop(
        "minute.md",
        "---\nname: minute-loop\nschedule: \"* * * * *\"\nenabled: true\nmodel: demo/echo\nagent: build\n---\nLoop prompt body: report.\n",
    );
    player.world.write_loop(
        "off.md",
        "---\nname: off-loop\nschedule: \"0 9 * * *\"\nenabled: false\nmodel: demo/echo\n---\nBody here.\n",
    );
    player.play("list-with-loops").await;
    player.play("patch-loop-enable").await;
    for name in ["notbool", "notloop", "unknown"] {
        player.play(&format!("patch-err-{name}")).await;
    }
    player.play("delete-err-loop-managed").await;
    player.play("delete-err-unknown").await;
    let deleted = player.play("delete-loop-file").await;
    assert!(deleted["deleted"]["trashId"].is_string(), "it can be brought back");
    player.play("delete-ok").await;

    let ran = player.play("run-ok").await;
    assert!(ran["runId"].is_i64(), "our clients follow the run by its id: {ran}");
    player.settle().await;
    player.play("put-create-badmodel").await;
    player.play("put-create-command").await;
    player.play("run-command").await;
    player.settle().await;
    player.play("put-create-disabled").await;
    player.play("run-err-disabled").await;
    player.play("run-err-unknown").await;
    player.play("run-concurrent-a").await;
    player.settle().await;
    player.play("status").await;

    // There the second came while the first was being sent; here the first waits for an answer.
    let asking = player.world.task("asking", "demo/ask").await;
    let mut second = player.ours("run-concurrent-b");
    let path = format!("/api/projects/{}/scheduled-tasks/{asking}/run", player.world.id);
    let (status, first) = player.world.ask("POST", &path, None).await;
    assert_eq!(status, 200, "{first}");
    second["request"]["path"] = json!(path);
    let (status, answer) = player.ask(&second).await;
    assert_eq!(status, 409, "one run of a task at a time: {answer}");
    player.compare("run-concurrent-b", &second["response"]["body"], &answer);
}

#[tokio::test]
async fn a_run_that_never_reached_its_agent_is_a_500_with_the_task() {
    // Recorded with OpenCode down: {"error":"fetch failed","task":{…,"state":{…,"lastStatus":"error",
    // "lastError":"fetch failed"}}}.
    let world = World::new().await;
    let task = world.task("broken", "missing/x").await;
    let path = format!("/api/projects/{}/scheduled-tasks/{}/run", world.id, encoded(&task));
    let (status, answer) = world.ask("POST", &path, None).await;
    assert_eq!(status, 500, "{answer}");
    assert_eq!(answer["task"]["id"], json!(task), "the seed sends the task along");
    assert_eq!(answer["task"]["state"]["lastStatus"], "error", "{answer}");
    assert_eq!(answer["task"]["state"]["lastError"], answer["error"], "{answer}");
}
