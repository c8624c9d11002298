//! The world that the tests with the real OpenCode share: one server, which the program started
//! itself, and a model server on loopback. Both end with the test program.

use crate::place::Place;
use crate::place::programs::{first_line, opencode};
use crate::place::repository;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

pub struct World {
    home: PathBuf,
    model: String,
    url: String,
    password: String,
}

impl World {
    /// Returns the world of this test program; the first to ask makes it.
    pub fn get() -> &'static World {
        static WORLD: OnceLock<World> = OnceLock::new();
        WORLD.get_or_init(World::make)
    }

    fn make() -> World {
        let stub = repository().join("tests/stub-model/server.mjs");
        let port = first_line(Command::new("node").arg(stub));
        let model = format!("127.0.0.1:{port}");
        let mut place = Place::new();
        place.environment = environment();
        let config = place.home.join(".config/opencode");
        std::fs::create_dir_all(&config).expect("made");
        std::fs::write(config.join("opencode.json"), configuration(&model)).expect("written");
        // The server outlives its starter on purpose, so something has to end it.
        let watch = r#"echo watching; cat
            pid=$(grep -o '"pid": *[0-9]*' "$1/data/loopkeeper/opencode.json" | grep -o '[0-9]*$')
            [ -n "$pid" ] && kill -KILL "-$pid"; rm -rf "$1""#;
        let root = place.root.path().to_owned();
        first_line(
            Command::new("sh").args(["-c", watch, "watch"]).arg(&root).stderr(Stdio::null()),
        );

        place.register();
        place.write_loop("first", "0 9 * * *", "stub/ok", "", "Start, please.");
        let ran = place.run(&["run", "--task", "first", "--json"]);
        assert_eq!(ran.code, 0, "no server was there, so one is started: {ran:#?}");
        let server = std::fs::read_to_string(place.data.join("loopkeeper/opencode.json"));
        let server: Value = serde_json::from_str(&server.expect("a note")).expect("JSON");
        let text = |key: &str| server[key].as_str().expect("noted").to_owned();
        let world =
            World { home: place.home.clone(), model, url: text("url"), password: text("password") };
        let _ = place.root.keep();
        world
    }

    /// Makes a place whose programs use this world's server.
    pub fn place(&self) -> Place {
        let mut place = Place::new();
        place.home = self.home.clone();
        place.environment = environment();
        place.environment.push(("OPENCODE_HOST".into(), self.url.clone()));
        place.environment.push(("OPENCODE_SERVER_PASSWORD".into(), self.password.clone()));
        place.register();
        place
    }

    /// Asks OpenCode over HTTP.
    pub fn ask(&self, path: &str, folder: &Path) -> Value {
        let url = format!("{}{path}?directory={}", self.url, folder.display());
        self.fetch(&url, &format!("opencode:{}", self.password))
    }

    /// Returns the prompts that reached the model.
    pub fn prompts(&self) -> Vec<String> {
        let seen = self.fetch(&format!("http://{}/requests", self.model), "");
        let seen = seen.as_array().expect("a list").iter();
        seen.filter_map(|one| one["prompt"].as_str().map(str::to_owned)).collect()
    }

    fn fetch(&self, url: &str, login: &str) -> Value {
        let script = "const [url, login] = process.argv.slice(1);
            const authorization = 'Basic ' + Buffer.from(login).toString('base64');
            const answer = await fetch(url, { headers: { authorization } });
            console.log(await answer.text());";
        let output = Command::new("node")
            .args(["--input-type=module", "-e", script, "--", url, login])
            .output()
            .expect("node");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }
}

fn environment() -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> =
        ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"]
            .map(|name| (format!("OPENCODE_DISABLE_{name}"), "1".to_owned()))
            .into();
    variables.push(("OPENCODE_BINARY".into(), opencode().display().to_string()));
    variables
}

fn configuration(model: &str) -> String {
    let names = ["ok", "slow-10", "hang", "e400", "e401", "tool-bash"];
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
            "options": { "baseURL": format!("http://{model}/v1"), "apiKey": "sk-stub" },
            "models": models,
        } },
        "permission": { "bash": "ask", "edit": "ask" },
    })
    .to_string()
}
