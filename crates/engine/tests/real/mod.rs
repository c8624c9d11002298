//! A world for tests: the real OpenCode in a home folder of its own, and a model server on loopback.
//! Everything in it ends with the test program.

#![allow(dead_code, reason = "each test program uses a part of it")]

#[path = "../../../../tests/programs.rs"]
mod programs;

use loopkeeper_engine::agent::testing::{Note, Notes, job};
use loopkeeper_engine::agent::{
    Agents, AgentsConfig, Answer, Ask, Control, Evidence, Job, OpencodeConfig, Outcome, StepKind,
    StopReason,
};
use loopkeeper_engine::clock::SystemClock;
use programs::{first_line, opencode, repository};
use serde_json::{Value, json};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;

/// Longer than anything here takes, also on a busy machine: a hang is a failure and not a wait.
const LIMIT: Duration = Duration::from_secs(180);

/// Waits for something that must come.
pub async fn must<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not happen within {} s", LIMIT.as_secs()),
    }
}

pub struct World {
    agents: Agents,
    config: AgentsConfig,
    folder: PathBuf,
    own: PathBuf,
    model: String,
}

/// A job that is still being put together.
pub struct JobOf(pub Job);

impl JobOf {
    pub fn agent(mut self, name: &str) -> Self {
        self.0.execution.agent = Some(name.to_owned());
        self
    }
}

impl World {
    /// Returns the world of this test program.
    pub async fn get() -> &'static World {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_init(World::make).await
    }

    /// Makes a world, with a server that is ready.
    pub async fn make() -> World {
        let home = tempfile::tempdir().expect("a folder").keep();
        let folder = home.join("project");
        let own = home.join("data/loopkeeper");
        let config = home.join(".config/opencode");
        for made in [&folder, &own, &config] {
            std::fs::create_dir_all(made).expect("made");
        }
        let port =
            first_line(Command::new("node").arg(repository().join("tests/stub-model/server.mjs")));
        let model = format!("http://127.0.0.1:{port}");
        std::fs::write(config.join("opencode.json"), opencode_config(&model)).expect("written");
        let mut environment: Vec<_> = [
            ("HOME", ""),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ]
        .map(|(name, place)| (name.into(), home.join(place).into_os_string()))
        .into();
        for name in ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
            environment.push((format!("OPENCODE_DISABLE_{name}").into(), "1".into()));
        }
        let config = AgentsConfig {
            opencode: OpencodeConfig {
                binaries: vec![opencode()],
                ready_timeout: Duration::from_secs(60),
                goal_quiet: Duration::from_secs(1),
                ..OpencodeConfig::default()
            },
            commands: Default::default(),
            own: own.clone(),
            opencode_config: config,
            environment,
        };
        let agents = Agents::new(config.clone(), Arc::new(SystemClock));
        let world = World { agents, config, folder, own, model };
        let started = must("the start of OpenCode", world.agents.agents(&world.folder)).await;
        started.expect("OpenCode started");
        // The server outlives its starter on purpose, so something has to end it.
        let watch = r#"echo watching; cat
            pid=$(grep -o '"pid": *[0-9]*' "$1/data/loopkeeper/opencode.json" | grep -o '[0-9]*$')
            [ -n "$pid" ] && kill -KILL "-$pid"; rm -rf "$1""#;
        first_line(
            Command::new("sh").args(["-c", watch, "watch"]).arg(&home).stderr(Stdio::null()),
        );
        world
    }

    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns what `opencode.json` says.
    fn server(&self) -> Value {
        let text = std::fs::read_to_string(self.own.join("opencode.json")).expect("a server");
        serde_json::from_str(&text).expect("JSON")
    }

    pub fn pid(&self) -> u64 {
        self.server()["process"]["pid"].as_u64().expect("a pid")
    }

    async fn call(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> Value {
        let server = self.server();
        // The folder's name holds nothing that would have to be escaped.
        let (url, folder) = (server["url"].as_str().expect("a url"), self.folder.display());
        let url = format!("{url}{path}?directory={folder}");
        let mut request = loopkeeper_engine::http::client()
            .build()
            .expect("a client")
            .request(method, url)
            .basic_auth("opencode", server["password"].as_str());
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = must("an answer of OpenCode", request.send()).await.expect("an answer");
        response.json().await.expect("JSON")
    }

    pub async fn session(&self, id: &str) -> Value {
        self.call(reqwest::Method::GET, &format!("/session/{id}"), None).await
    }

    pub async fn empty_session(&self) -> String {
        let made = self.call(reqwest::Method::POST, "/session", Some(json!({}))).await;
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a slash command and goes away, as a process does that is killed.
    pub async fn send_command_and_vanish(&self, id: &str, model: &str) {
        let body = json!({ "command": "hello", "arguments": "bob", "model": model });
        let path = format!("/session/{id}/command");
        let sending = self.call(reqwest::Method::POST, &path, Some(body));
        let busy = async {
            while self.agents.is_busy(id, &self.folder).await != Some(true) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = sending => panic!("it answers only at the end"),
            () = must("a busy session", busy) => {}
        }
    }

    /// Returns other agents on the same data folder, as another process has them.
    pub fn other_agents(&self) -> Agents {
        Agents::new(self.config.clone(), Arc::new(SystemClock))
    }

    /// Returns agents that are told where the server is, as `--opencode` does.
    pub fn attached_agents(&self) -> Agents {
        let server = self.server();
        let text = |key: &str| server[key].as_str().map(str::to_owned);
        let mut config = self.config.clone();
        config.own = self.own.join("another");
        config.opencode.flag = text("url");
        config.opencode.password = text("password");
        Agents::new(config, Arc::new(SystemClock))
    }

    /// Runs a job with other agents than the world's own.
    pub fn run_with(&self, agents: Agents, model: &str, prompt: &str) -> Running {
        Running::spawn(agents, self.job(model, prompt).0)
    }

    pub async fn abort(&self, id: &str) {
        self.call(reqwest::Method::POST, &format!("/session/{id}/abort"), Some(json!({}))).await;
    }

    pub async fn is_busy(&self, outcome: &Outcome) -> bool {
        let session = outcome.session_id.as_deref().expect("a session");
        self.agents.is_busy(session, &self.folder).await.expect("OpenCode answers")
    }

    /// Returns the sessions that wait for a person.
    pub async fn pending(&self) -> Vec<String> {
        let mut pending = Vec::new();
        for path in ["/permission", "/question"] {
            let list = self.call(reqwest::Method::GET, path, None).await;
            for request in list.as_array().expect("a list") {
                pending.push(request["sessionID"].as_str().expect("an id").to_owned());
            }
        }
        pending
    }

    /// Returns the prompts that reached the model.
    pub async fn prompts(&self) -> Vec<String> {
        let seen = reqwest::get(format!("{}/requests", self.model)).await.expect("an answer");
        let seen: Vec<Value> = seen.json().await.expect("JSON");
        seen.iter().filter_map(|one| one["prompt"].as_str().map(str::to_owned)).collect()
    }

    pub fn job(&self, model: &str, prompt: &str) -> JobOf {
        let (provider, model) = model.split_once('/').expect("provider/model");
        let mut job = job(provider, model, prompt);
        job.project.path = self.folder.clone();
        JobOf(job)
    }

    pub fn run(&self, model: &str, prompt: &str) -> Running {
        self.start(self.job(model, prompt))
    }

    pub fn start(&self, job: JobOf) -> Running {
        Running::spawn(self.agents.clone(), job.0)
    }

    pub fn follow(&self, session: &str) -> Running {
        let mut job = self.job("stub/ok", "another text").0;
        job.resume = Some(Evidence { session_id: Some(session.to_owned()), child: None });
        Running::spawn(self.agents.clone(), job)
    }
}

fn opencode_config(model: &str) -> String {
    let names = [
        "ok",
        "slow-3",
        "slow-60",
        "hang",
        "cut",
        "empty",
        "length",
        "e400",
        "e401",
        "e429",
        "e500",
        "tool-bash",
        "tool-question",
        "goal-2",
        "goal-9",
    ];
    let models: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| {
            let model = json!({
                "name": name,
                "tool_call": true,
                "cost": { "input": 1, "output": 2, "cache_read": 0.1 },
                "limit": { "context": 128_000, "output": 8192 },
            });
            ((*name).to_owned(), model)
        })
        .collect();
    json!({
        "autoupdate": false,
        "share": "disabled",
        "enabled_providers": ["stub"],
        "model": "stub/ok",
        "small_model": "stub/ok",
        "provider": { "stub": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stub",
            "options": { "baseURL": format!("{model}/v1"), "apiKey": "sk-stub" },
            "models": models,
        } },
        "permission": { "bash": "ask", "edit": "ask" },
        "command": { "hello": { "description": "say hello", "template": "Say hello to $ARGUMENTS" } },
    })
    .to_string()
}

/// A run that goes on.
pub struct Running {
    notes: Arc<Notes>,
    controls: mpsc::Sender<Control>,
    task: JoinHandle<Outcome>,
}

impl Running {
    fn spawn(agents: Agents, job: Job) -> Running {
        let (controls, receiver) = mpsc::channel(8);
        let notes = Arc::new(Notes::default());
        let task = tokio::spawn({
            let notes = Arc::clone(&notes);
            async move {
                if job.resume.is_some() {
                    agents.follow(&job, &*notes, receiver).await
                } else {
                    agents.run(&job, &*notes, receiver).await
                }
            }
        });
        Running { notes, controls, task }
    }

    async fn find<T>(&self, what: &str, mut find: impl FnMut(&Note) -> Option<T>) -> T {
        must(what, self.notes.wait(|notes, _| notes.iter().find_map(&mut find))).await
    }

    /// Waits until the prompt was taken; returns the session.
    pub async fn accepted(&self) -> String {
        self.find("accepting", |note| (*note == Note::Accepted).then_some(())).await;
        self.find("a session", |note| match note {
            Note::Session(id) => Some(id.clone()),
            _ => None,
        })
        .await
    }

    pub async fn step(&self, kind: StepKind) -> String {
        self.find("the step", |note| match note {
            Note::Step(its, text) if *its == kind => Some(text.clone()),
            _ => None,
        })
        .await
    }

    pub async fn ask(&self) -> Ask {
        self.find("blocking", |note| match note {
            Note::Blocked(asks) => asks.first().cloned(),
            _ => None,
        })
        .await
    }

    pub async fn answer(&self, ask: &Ask, answer: Answer) {
        let control = Control::Answer { ask_id: ask.id.clone(), answer };
        self.controls.send(control).await.expect("still running");
    }

    pub async fn stop(self, reason: StopReason) -> (Outcome, Vec<Note>) {
        self.controls.send(Control::Stop { reason }).await.expect("still running");
        self.end().await
    }

    pub async fn end(self) -> (Outcome, Vec<Note>) {
        let outcome = must("the end of the run", self.task).await.expect("no panic");
        (outcome, self.notes.list())
    }
}
