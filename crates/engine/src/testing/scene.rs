//! A data folder with projects and loops, in which several engines may play.

use super::TestClock;
use crate::Paths;
use crate::clock::Clock;
use crate::engine::{EngineOptions, OpenCodeEnvironment};
use crate::project::registry::Registry;
use crate::settings::Settings;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Reads an instant as RFC 3339 writes it; ms since 1970.
///
/// # Panics
/// When it is none.
pub fn instant(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text)
        .unwrap_or_else(|error| panic!("{text} is no instant: {error}"))
        .timestamp_millis()
}

/// A stage: folders in a temporary place, one virtual clock for all engines on it.
#[derive(Debug)]
pub struct Scene {
    dir: tempfile::TempDir,
    /// The time of the scene.
    pub clock: Arc<TestClock>,
    settings: Mutex<Settings>,
}

impl Scene {
    /// Sets the stage at an instant (RFC 3339).
    ///
    /// # Panics
    /// When there is no room for it.
    pub fn at(start: &str) -> Scene {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(dir.path().join("home")).expect("the home folder is made");
        let clock = Arc::new(TestClock::new(instant(start)));
        Scene { dir, clock, settings: Mutex::default() }
    }

    /// Changes the settings of the engines that are opened from now on.
    pub fn settings(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Names the folders and files of the scene.
    pub fn paths(&self) -> Paths {
        let root = self.dir.path();
        Paths {
            data: root.join("data"),
            home: root.join("home"),
            settings: root.join("settings.toml"),
            opencode_config: root.join("opencode"),
            runtime: None,
        }
    }

    /// Returns what an engine on this stage is opened with.
    pub fn options(&self) -> EngineOptions {
        EngineOptions {
            paths: self.paths(),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            settings: self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            machine_zone: "UTC".to_owned(),
            host_name: "here".to_owned(),
            environment: OpenCodeEnvironment::default(),
            watch: false,
        }
    }

    /// Makes a project folder, lists it, and returns its id.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn project(&self, name: &str) -> String {
        let folder = self.folder(name);
        std::fs::create_dir_all(&folder).expect("the project folder is made");
        // Project folders look for loops upwards as far as the worktree's root.
        std::fs::create_dir_all(folder.join(".git")).expect("a worktree's root");
        let registry = Registry::of(&self.paths());
        registry.add(&folder, None, self.now()).expect("the project is listed").id
    }

    /// Returns the folder of a project.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a loop file: `header` is YAML without the name, which is the file's.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_loop(&self, project: &str, name: &str, header: &str, prompt: &str) -> PathBuf {
        let folder = crate::loops_folder(&self.folder(project));
        std::fs::create_dir_all(&folder).expect("the loop folder is made");
        let path = folder.join(format!("{name}.md"));
        let text = format!("---\nname: {name}\n{}\n---\n{prompt}\n", header.trim());
        replace(&path, &text);
        path
    }

    /// Writes an enabled loop in UTC for a demo model.
    pub fn demo(&self, project: &str, name: &str, cron: &str, model: &str) -> PathBuf {
        self.demo_with(project, name, cron, model, "")
    }

    /// Writes an enabled loop in UTC for a demo model, with further lines of YAML.
    pub fn demo_with(
        &self,
        project: &str,
        name: &str,
        cron: &str,
        model: &str,
        more: &str,
    ) -> PathBuf {
        let header = format!(
            "enabled: true\nschedule: \"{cron}\"\ntimezone: UTC\nmodel: demo/{model}\n{more}"
        );
        self.write_loop(project, name, &header, "hello")
    }

    /// Returns the path of a project's shared file.
    pub fn file(&self, project_id: &str) -> PathBuf {
        self.paths().projects().join(format!("{project_id}.json"))
    }

    /// Reads a project's shared file.
    ///
    /// # Panics
    /// When it is not there, or no JSON.
    pub fn json(&self, project_id: &str) -> Value {
        let text = std::fs::read_to_string(self.file(project_id)).expect("the file is there");
        serde_json::from_str(&text).expect("the file is JSON")
    }

    /// Changes a project's shared file as a writer that takes no lock does.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn edit_json(&self, project_id: &str, change: impl FnOnce(&mut Value)) {
        let mut value = match std::fs::read_to_string(self.file(project_id)) {
            Ok(text) => serde_json::from_str(&text).expect("the file is JSON"),
            Err(_) => serde_json::json!({"version": 1, "scheduledTasks": []}),
        };
        change(&mut value);
        std::fs::create_dir_all(self.paths().projects()).expect("the folder is made");
        replace(&self.file(project_id), &value.to_string());
    }

    /// Returns one task of a shared file by its name.
    ///
    /// # Panics
    /// When there is none.
    pub fn task_json(&self, project_id: &str, name: &str) -> Value {
        let json = self.json(project_id);
        let tasks = json["scheduledTasks"].as_array().expect("a list of tasks");
        let found = tasks.iter().find(|task| task["name"] == name);
        found.unwrap_or_else(|| panic!("{name} is not in {json}")).clone()
    }

    /// Returns the state of a task in the shared file by its name.
    pub fn state(&self, project_id: &str, name: &str) -> Value {
        self.task_json(project_id, name)["state"].clone()
    }

    /// Returns wall time.
    pub fn now(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Lets time pass, awake; everything that is due meanwhile happens.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
        // What became due at this very instant goes on too.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Lets time pass until an instant (RFC 3339), awake.
    ///
    /// # Panics
    /// When it is over already.
    pub async fn until(&self, at: &str) {
        let left = u64::try_from(instant(at) - self.now());
        self.pass(Duration::from_millis(left.expect("the instant lies ahead"))).await;
    }
}

/// Replaces a file in one step, as editors do.
fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).expect("the file is written");
    std::fs::rename(&beside, path).expect("the file is put in place");
}
