//! A real engine on a folder of its own, and its router in memory.

use axum::Router;
use loopkeeper_engine::Paths;
use loopkeeper_engine::engine::{Engine, EngineOptions, OpenCodeEnvironment, Seat};
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::settings::{Approval, ApprovalMode, CommandAgent, Settings};
use loopkeeper_engine::testing::ManualClock;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// When the peer's answers were recorded: 2026-11-30T23:37:50.306Z.
pub const NOW: i64 = 1_796_081_870_306;

/// What one test works on. The folder goes with it.
pub struct World {
    pub engine: Engine,
    pub api: Router,
    /// The project's folder, `alpha`, without symlinks in its path.
    pub project: PathBuf,
    /// The project's id, once it was added.
    pub id: String,
    pub root: PathBuf,
    _folder: tempfile::TempDir,
}

/// The settings of the tests: a command that no machine has, and no approvals but where one asks.
pub fn settings(mode: ApprovalMode) -> Settings {
    let missing = CommandAgent { argv: vec!["/no/such/program".to_owned()], stdin: true };
    Settings {
        command: [("missing".to_owned(), missing)].into_iter().collect(),
        approval: Approval { mode },
        ..Settings::default()
    }
}

fn options(root: &Path, settings: Settings, watch: bool) -> EngineOptions {
    EngineOptions {
        paths: Paths {
            data: root.join("data"),
            home: root.join("home"),
            settings: root.join("settings.toml"),
            opencode_config: root.join("home/.config/opencode"),
            runtime: None,
        },
        clock: Arc::new(ManualClock::new(NOW)),
        settings,
        machine_zone: "UTC".to_owned(),
        host_name: "here".to_owned(),
        environment: OpenCodeEnvironment::default(),
        watch,
    }
}

/// An engine that plays another process on the same folder: that of a stand-in which lives as long.
pub struct Other {
    pub engine: Engine,
    pub api: Router,
    stand_in: Child,
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.stand_in.kill();
        let _ = self.stand_in.wait();
    }
}

impl World {
    /// Makes folders, an engine and its router; no project yet.
    pub async fn bare(mode: ApprovalMode) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let project = root.join("alpha");
        std::fs::create_dir_all(&project).expect("a project's folder");
        std::fs::create_dir_all(root.join("home")).expect("a home folder");
        let engine = Engine::open(options(&root, settings(mode), false)).await;
        let engine = engine.expect("the folder can be used");
        let api = loopkeeper_server::router(engine.clone());
        World { engine, api, project, id: "none".to_owned(), root, _folder: folder }
    }

    /// As [`World::bare`], with the project registered.
    pub async fn new() -> World {
        World::with(ApprovalMode::None).await
    }

    /// As [`World::new`], with approvals as given.
    pub async fn with(mode: ApprovalMode) -> World {
        let mut world = World::bare(mode).await;
        world.register().await;
        world
    }

    /// Opens another process on the folder; one that is watching.
    pub async fn another(&self) -> Other {
        let stand_in = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a stand-in starts");
        let seat = Seat {
            me: ProcessId::of(stand_in.id()),
            wait: Duration::from_secs(10),
            probe: Arc::new(|_| {}),
            cut: Default::default(),
        };
        let options = options(&self.root, settings(ApprovalMode::None), true);
        let engine = Engine::open_at(options, seat).await.expect("the folder can be used");
        let api = loopkeeper_server::router(engine.clone());
        Other { engine, api, stand_in }
    }

    /// Registers the project's folder.
    pub async fn register(&mut self) {
        let path = self.project.display().to_string();
        let (status, added) = self.post("/api/projects", json!({ "path": path })).await;
        assert_eq!(status, 201, "{added}");
        self.id = added["id"].as_str().expect("an id").to_owned();
    }

    /// Asks the router.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let (status, answer) =
            loopkeeper_server::call(&self.api, method, path, body.as_ref()).await;
        if status.as_u16() >= 400 {
            let error = answer["error"].as_str().unwrap_or("");
            assert!(!error.is_empty(), "{method} {path}: an error says what happened: {answer}");
            assert!(answer["code"].is_string(), "{method} {path}: and its kind: {answer}");
        }
        (status.as_u16(), answer)
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask("POST", path, Some(body)).await
    }

    /// Writes a loop file of the project.
    pub fn write_loop(&self, file: &str, text: &str) -> PathBuf {
        let folder = self.project.join(".agents/loops");
        std::fs::create_dir_all(&folder).expect("a loop folder");
        let path = folder.join(file);
        std::fs::write(&path, text).expect("a loop file");
        path
    }

    /// Makes a JSON task on a model, off its schedule for a year; returns its id.
    pub async fn task(&self, name: &str, model: &str) -> String {
        let (provider, model) = model.split_once('/').expect("provider/model");
        let task = json!({
            "name": name, "schedule": {"kind": "cron", "cron": "0 0 1 1 *"},
            "execution": {"prompt": "hello", "providerID": provider, "modelID": model},
        });
        let path = format!("/api/projects/{}/scheduled-tasks", self.id);
        let (status, made) = self.ask("PUT", &path, Some(json!({ "task": task }))).await;
        assert_eq!(status, 200, "{made}");
        made["task"]["id"].as_str().expect("an id").to_owned()
    }

    /// The address of a task, ours.
    pub fn at(&self, task: &str) -> String {
        format!("/api/projects/{}/tasks/{}", self.id, encoded(task))
    }
}

/// Percent-encodes a segment or a value of a query.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
