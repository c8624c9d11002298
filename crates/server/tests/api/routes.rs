//! Every route once, as a client goes through them.

use crate::setup::{NOW, World, encoded};
use loopkeeper_engine::settings::ApprovalMode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A world that knows which operations of the description were asked.
struct Walk {
    world: World,
    /// Method, address as described, id.
    left: BTreeSet<(String, String, String)>,
}

impl Walk {
    async fn new(mode: ApprovalMode) -> Walk {
        let world = World::with(mode).await;
        let document: Value =
            serde_json::from_str(&loopkeeper_server::document()).expect("it is JSON");
        let mut left = BTreeSet::new();
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, operation) in item.as_object().expect("operations") {
                let id = operation["operationId"].as_str().unwrap_or("").to_owned();
                left.insert((method.to_uppercase(), path.clone(), id));
            }
        }
        Walk { world, left }
    }

    async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let bare = path.split('?').next().unwrap_or(path);
        // A segment by name goes before one that takes any.
        let named = self.left.iter().filter(|(m, p, _)| m == method && fits(p, bare));
        let asked = named.min_by_key(|(_, p, _)| p.matches('{').count()).cloned();
        if let Some(asked) = asked {
            self.left.remove(&asked);
        }
        self.world.ask(method, path, body).await
    }

    async fn ok(&mut self, method: &str, path: &str, body: Option<Value>, expected: u16) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
        answer
    }
}

fn fits(described: &str, path: &str) -> bool {
    let (described, path): (Vec<_>, Vec<_>) =
        (described.split('/').collect(), path.split('/').collect());
    described.len() == path.len()
        && described.iter().zip(&path).all(|(want, have)| want.starts_with('{') || want == have)
}

const LOOP: &str =
    "---\nname: hello\nschedule: \"0 9 * * *\"\nenabled: false\nmodel: demo/echo\n---\nHello.\n";

#[tokio::test]
async fn every_route_answers() {
    let mut walk = Walk::new(ApprovalMode::None).await;
    projects(&mut walk).await;
    let (task, one) = tasks(&mut walk).await;
    runs(&mut walk, &task).await;
    let file = loop_files(&mut walk).await;
    seeds(&mut walk, &one).await;
    whole(&mut walk).await;
    assert!(std::fs::metadata(file).is_err(), "its loop was deleted on the way");
    walk.left.retain(|(_, path, _)| !path.ends_with("/events"));
    assert!(walk.left.is_empty(), "no route without a test: {:?}", walk.left);
}

async fn projects(walk: &mut Walk) {
    let id = walk.world.id.clone();
    let all = walk.ok("GET", "/api/projects", None, 200).await;
    assert_eq!(all[0]["id"], json!(id));
    let one = walk.ok("GET", &format!("/api/projects/{id}"), None, 200).await;
    assert_eq!(one["removable"], true);
    let again = json!({"path": walk.world.project.display().to_string()});
    let again = walk.ok("POST", "/api/projects", Some(again), 201).await;
    assert_eq!(again["id"], json!(id), "a folder is one project however often it is added");
    walk.ok("POST", &format!("/api/projects/{id}/sync"), None, 204).await;

    let sample = walk.ok("POST", "/api/projects/sample", None, 201).await;
    assert_eq!((&sample["tasks"], &sample["enabled"]), (&json!(1), &json!(1)), "{sample}");
    let path = sample["path"].as_str().expect("a path").to_owned();
    let file = format!("{path}/.agents/loops/sample.md");
    let text = std::fs::read_to_string(&file).expect("the sample's loop");
    std::fs::write(&file, text.replace("Say hello", "Say goodbye")).expect("edited");
    let again = walk.ok("POST", "/api/projects/sample", None, 201).await;
    assert_eq!(again["id"], sample["id"]);
    let text = std::fs::read_to_string(&file).expect("the sample's loop");
    assert!(text.contains("Say goodbye"), "what somebody made of the sample stays");
    let gone = format!("/api/projects/{}", sample["id"].as_str().expect("an id"));
    walk.ok("DELETE", &gone, None, 204).await;
    assert!(std::fs::metadata(&file).is_ok(), "a project is forgotten, its files stay");
    walk.ok("GET", &gone, None, 404).await;
}

/// Returns the addresses of a JSON task: ours, and the seed's.
async fn tasks(walk: &mut Walk) -> (String, String) {
    let id = walk.world.task("daily", "demo/echo").await;
    let at = walk.world.at(&id);
    let project = walk.world.id.clone();
    let all = walk.ok("GET", "/api/tasks", None, 200).await;
    assert_eq!((&all[0]["name"], &all[0]["condition"]), (&json!("daily"), &json!("armed")));
    walk.ok("GET", &format!("/api/tasks?project={project}"), None, 200).await;
    walk.ok("GET", &format!("/api/projects/{project}/tasks"), None, 200).await;
    let one = walk.ok("GET", &at, None, 200).await;
    assert_eq!(one["next"].as_array().map(Vec::len), Some(5), "{one}");
    let off = walk.ok("PATCH", &at, Some(json!({"enabled": false})), 200).await;
    assert_eq!(off["enabled"], false);
    walk.ok("PATCH", &at, Some(json!({"enabled": true})), 200).await;
    walk.ok("PUT", &format!("{at}/policy"), Some(json!({"timeout": "5m"})), 204).await;
    let one = walk.ok("GET", &at, None, 200).await;
    assert_eq!(one["policy"]["timeout"], "5m", "{one}");
    walk.ok("POST", &format!("{at}/resume"), None, 204).await;
    (at, format!("/api/projects/{project}/scheduled-tasks/{}", encoded(&id)))
}

async fn runs(walk: &mut Walk, task: &str) {
    let done = walk.ok("POST", &format!("{task}/run?wait=end"), None, 200).await;
    assert_eq!(done["task"]["state"]["lastStatus"], "success", "{done}");
    let run = walk.ok("GET", &format!("/api/runs/{}", done["runId"]), None, 200).await;
    assert_eq!(run["run"]["status"], "succeeded");
    assert!(run["steps"].as_array().is_some_and(|steps| steps.len() > 2), "{run}");
    let list = walk.ok("GET", "/api/runs?limit=1&status=succeeded,failed", None, 200).await;
    assert_eq!(list[0]["id"], done["runId"]);
    let older = format!("/api/runs?before={}", done["runId"]);
    assert_eq!(walk.ok("GET", &older, None, 200).await, json!([]), "the page before is empty");

    let asking = walk.world.task("asking", "demo/ask").await;
    let asking = walk.world.at(&asking);
    let mut events = walk.world.engine.events().subscribe();
    let begun = walk.ok("POST", &format!("{asking}/run"), None, 200).await;
    let at = format!("/api/runs/{}", begun["runId"]);
    let mut run = walk.ok("GET", &at, None, 200).await;
    while run["run"]["status"] != "blocked" {
        let _ = events.recv().await;
        run = walk.ok("GET", &at, None, 200).await;
    }
    let overview = walk.ok("GET", "/api/overview", None, 200).await;
    let need = overview["needsYou"][0].clone();
    assert_eq!(need["kind"], "blocked", "{overview}");
    let ask = run["asks"][0]["id"].clone();
    let answer = json!({"ask": ask, "answer": "once"});
    walk.ok("POST", &format!("{at}/answer"), Some(answer.clone()), 200).await;
    while run["run"]["status"] != "succeeded" {
        let _ = events.recv().await;
        run = walk.ok("GET", &at, None, 200).await;
    }
    walk.ok("POST", &format!("{at}/answer"), Some(answer), 403).await;
    walk.ok("POST", &format!("{at}/cancel"), None, 403).await;

    let failing = walk.world.task("failing", "demo/fail").await;
    let failing = walk.world.at(&failing);
    walk.ok("POST", &format!("{failing}/run?wait=end"), None, 200).await;
    let overview = walk.ok("GET", "/api/overview", None, 200).await;
    let need = overview["needsYou"][0]["id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(overview["needsYou"][0]["kind"], "failed", "{overview}");
    walk.ok("POST", &format!("/api/needs/{}/dismiss", encoded(&need)), None, 204).await;
    let overview = walk.ok("GET", "/api/overview", None, 200).await;
    assert_eq!(overview["needsYou"], json!([]), "what was dismissed is gone");

    let begun = walk.ok("POST", &format!("{asking}/run"), None, 200).await;
    let at = format!("/api/runs/{}", begun["runId"]);
    walk.ok("POST", &format!("{at}/cancel"), None, 200).await;
    let mut run = walk.ok("GET", &at, None, 200).await;
    while run["run"]["status"] != "cancelled" {
        let _ = events.recv().await;
        run = walk.ok("GET", &at, None, 200).await;
    }
}

/// Returns a file that is deleted later.
async fn loop_files(walk: &mut Walk) -> String {
    let project = walk.world.id.clone();
    let new = json!({"project": project, "name": "hello", "text": LOOP});
    let made = walk.ok("POST", "/api/loop-file", Some(new), 201).await;
    let path = made["path"].as_str().expect("a path").to_owned();
    let at = format!("/api/loop-file?path={}", encoded(&path));
    let read = walk.ok("GET", &at, None, 200).await;
    assert_eq!((&read["text"], &read["projects"]), (&json!(LOOP), &json!([project])));

    let save = json!({"text": LOOP.replace("Hello.", "Hi."), "etag": read["etag"]});
    let saved = walk.ok("PUT", &at, Some(save.clone()), 200).await;
    let (status, stale) = walk.ask("PUT", &at, Some(save)).await;
    assert_eq!((status, &stale["code"]), (412, &json!("stale")), "somebody else saved: {stale}");
    assert_eq!(stale["text"], saved["text"], "the text on disk comes along");
    assert_eq!(stale["etag"], saved["etag"]);
    let (status, blind) = walk.ask("PUT", &at, Some(json!({"text": "x"}))).await;
    assert_eq!((status, &blind["code"]), (428, &json!("precondition_required")));
    let broken = json!({"text": "---\nname: hello\n---\n", "etag": saved["etag"]});
    let broken = walk.ok("PUT", &at, Some(broken), 200).await;
    assert_eq!(broken["check"]["diagnostics"][0]["severity"], "error", "saved, and said: {broken}");
    let back = json!({"text": LOOP, "etag": broken["etag"]});
    walk.ok("PUT", &at, Some(back), 200).await;

    let own = walk.ok("POST", "/api/loop-file", Some(json!({"name": "mine"})), 201).await;
    assert_eq!((&own["scope"], &own["projects"]), (&json!("user"), &json!([project])));
    let checked = walk.ok("POST", "/api/check", Some(json!({"text": "no loop"})), 200).await;
    assert!(checked["definition"].is_null(), "{checked}");
    path
}

async fn seeds(walk: &mut Walk, json_task: &str) {
    let list = format!("/api/projects/{}/scheduled-tasks", walk.world.id);
    let tasks = walk.ok("GET", &list, None, 200).await;
    assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(5), "{tasks}");
    let task = json!({"task": {"name": "x", "schedule": {"kind": "cron", "cron": "@daily"},
        "execution": {"prompt": "p", "providerID": "demo", "modelID": "echo"}}});
    let made = walk.ok("PUT", &list, Some(task), 200).await;
    let id = made["task"]["id"].as_str().expect("an id").to_owned();
    walk.ok("POST", &format!("{json_task}/run"), None, 200).await;
    let to_loop = format!("{}/loop", walk.world.at(&id));
    let view = walk.ok("POST", &to_loop, None, 201).await;
    assert!(view["path"].as_str().is_some_and(|path| path.ends_with("/x.md")), "{view}");

    let hello = format!("{list}/{}", encoded("loop:project:hello"));
    let on = json!({"enabled": true});
    walk.ok("PATCH", &format!("{hello}/loop-file"), Some(on.clone()), 200).await;
    let gone = walk.ok("DELETE", &format!("{hello}/loop-file"), None, 200).await;
    let trash = json!({"trashId": gone["deleted"]["trashId"]});
    let kept = walk.ok("GET", "/api/loop-file/deleted", None, 200).await;
    assert_eq!(kept, json!([gone["deleted"]]), "what was deleted can be found again");
    walk.ok("POST", "/api/loop-file/restore", Some(trash.clone()), 201).await;
    assert_eq!(walk.ok("GET", "/api/loop-file/deleted", None, 200).await, json!([]));
    walk.ok("POST", "/api/loop-file/restore", Some(trash), 404).await;
    walk.ok("DELETE", &format!("{hello}/loop-file"), None, 200).await;
    walk.ok("DELETE", json_task, None, 200).await;
    walk.ok("DELETE", json_task, None, 404).await;
    walk.ok("GET", "/api/openchamber/scheduled-tasks/status", None, 200).await;
}

async fn whole(walk: &mut Walk) {
    walk.ok("GET", "/api/status", None, 200).await;
    let cron = json!({"schedule": {"kind": "cron", "cron": "0 9 * * 1"}, "count": 3});
    let preview = walk.ok("POST", "/api/preview", Some(cron), 200).await;
    assert_eq!(preview["next"].as_array().map(Vec::len), Some(3), "{preview}");
    let day = format!("/api/timeline?from={}&to={}", NOW - 3_600_000, NOW + 86_400_000);
    let line = walk.ok("GET", &day, None, 200).await;
    assert!(line["lanes"].is_array(), "{line}");

    assert_eq!(walk.ok("GET", "/api/pause", None, 200).await, Value::Null);
    let until = json!({"until": NOW + 60_000});
    let paused = walk.ok("POST", "/api/pause", Some(until), 200).await;
    assert_eq!(paused["until"], NOW + 60_000, "{paused}");
    assert!(walk.ok("GET", "/api/pause", None, 200).await.is_object());
    walk.ok("DELETE", "/api/pause", None, 204).await;
    assert_eq!(walk.ok("GET", "/api/pause", None, 200).await, Value::Null);

    let agents = walk.ok("GET", "/api/agents", None, 200).await;
    assert_eq!(agents["opencode"]["healthy"], false, "none runs here");
    let models = walk.ok("GET", "/api/models", None, 200).await;
    assert!(models.to_string().contains("echo"), "the demo is there without a network: {models}");
    let log = walk.ok("GET", "/api/log?lines=10", None, 200).await;
    assert_eq!(log["lines"], json!([]), "nothing was started: {log}");
    let settings = walk.ok("GET", "/api/settings", None, 200).await;
    assert_eq!(settings["settings"]["runs"]["global"], 4);
    let less = json!({"runs": {"global": 2}});
    let settings = walk.ok("PATCH", "/api/settings", Some(less), 200).await;
    assert_eq!(settings["settings"]["runs"]["global"], 2);
    let command = json!({"command": {"my.agent": {"argv": ["agent", "{prompt}"], "stdin": false}}});
    let settings = walk.ok("PATCH", "/api/settings", Some(command), 200).await;
    let kept = &settings["settings"]["command"]["my.agent"];
    assert_eq!(kept, &json!({"argv": ["agent", "{prompt}"], "stdin": false}), "{settings}");
    let agents = walk.ok("GET", "/api/agents", None, 200).await;
    assert_eq!(agents["commands"][0]["name"], "my.agent", "it can be used at once: {agents}");
    let gone = json!({"command": {"my.agent": null}});
    let settings = walk.ok("PATCH", "/api/settings", Some(gone), 200).await;
    assert_eq!(settings["settings"]["command"], json!({}), "null takes it out");
    walk.ok("GET", "/api/doctor", None, 200).await;
    assert_eq!(walk.ok("GET", "/api/approvals", None, 200).await, json!([]));
    approvals(walk).await;
    let document = walk.ok("GET", "/api/openapi.json", None, 200).await;
    assert_eq!(document["openapi"], "3.1.0");
}

async fn approvals(walk: &mut Walk) {
    let mut other = Walk::new(ApprovalMode::All).await;
    other.world.write_loop("hello.md", &LOOP.replace("false", "true"));
    let task = other.world.at("loop:project:hello");
    let (status, refused) = other.ask("POST", &format!("{task}/run"), None).await;
    assert_eq!((status, &refused["code"]), (403, &json!("refused")), "{refused}");
    let waiting = other.ok("GET", "/api/approvals", None, 200).await;
    let mut approval = json!({
        "projectId": waiting[0]["projectId"], "taskId": waiting[0]["taskId"], "hash": "another",
    });
    let (status, _) = other.ask("POST", "/api/approvals", Some(approval.clone())).await;
    assert_eq!(status, 412, "only the content that was shown is approved");
    approval["hash"] = waiting[0]["hash"].clone();
    other.ok("POST", "/api/approvals", Some(approval), 204).await;
    other.ok("POST", &format!("{task}/run?wait=end"), None, 200).await;
    walk.left.retain(|(_, _, id)| id != "approve");
}
