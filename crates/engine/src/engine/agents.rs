//! Agents, models and settings, as pickers and the settings page need them.

use super::{Engine, EngineError, OpenCodeEnvironment, Result};
use crate::Paths;
use crate::agent::{Agents, AgentsConfig};
use crate::clock::Clock;
use crate::event::EventKind;
use crate::runtime::lock;
use crate::settings::{self, CommandAgent, Settings};
use crate::view::{AgentsView, CommandAgentView, LogView, ModelsView, SettingsView};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The most lines of a log that one question may ask for.
const LOG_LINES: usize = 5_000;

/// Makes the agents from what the settings and the environment say.
pub(super) fn make(
    paths: &Paths,
    settings: &Settings,
    environment: &OpenCodeEnvironment,
    clock: Arc<dyn Clock>,
) -> Agents {
    let config = AgentsConfig::from_settings(settings, paths, environment.clone());
    Agents::new(config, clock)
}

impl Engine {
    /// Returns what can run prompts: OpenCode's state, its agents, the commands and the demo.
    /// `directory` is the project's folder; without one OpenCode's agents are not asked for.
    ///
    /// # Errors
    /// Never: what cannot be reached is said in the answer.
    pub async fn agents(&self, directory: Option<&str>) -> Result<AgentsView> {
        let agents = self.runtime().agents();
        let settings = self.runtime().settings();
        let (mut list, mut slash_commands, mut problem) = (Vec::new(), Vec::new(), None);
        if let Some(directory) = directory {
            match agents.agents(Path::new(directory)).await {
                Ok(found) => list = found,
                Err(error) => problem = Some(error.to_string()),
            }
            if let Ok(found) = agents.commands(Path::new(directory)).await {
                slash_commands = found;
            }
        }
        let command = |(name, command): (&String, &CommandAgent)| CommandAgentView {
            name: name.clone(),
            program: command.argv.first().cloned(),
            stdin: command.stdin,
        };
        Ok(AgentsView {
            opencode: agents.health().await,
            agents: list,
            slash_commands,
            commands: settings.command.iter().map(command).collect(),
            problem,
        })
    }

    /// Returns the last lines of the log of the OpenCode server that is started here; none where
    /// none was started yet, or a running one is used, whose log is not ours.
    ///
    /// # Errors
    /// `Invalid` for more than 5,000 lines.
    pub async fn log(&self, lines: usize) -> Result<LogView> {
        if !(1..=LOG_LINES).contains(&lines) {
            return Err(EngineError::Invalid {
                field: Some("lines".to_owned()),
                message: format!("{lines} lines cannot be shown: ask for 1 to {LOG_LINES}"),
            });
        }
        self.with(move |runtime| {
            let (path, lines) = runtime.agents().log(lines);
            Ok(LogView { path: path.display().to_string(), lines })
        })
        .await
    }

    /// Returns everything that can be chosen as `model`, never a secret.
    ///
    /// # Errors
    /// Never: without OpenCode the demo and the commands are listed, with the problem beside them.
    pub async fn models(&self, directory: Option<&str>) -> Result<ModelsView> {
        let agents = self.runtime().agents();
        let home = self.runtime().around.paths.home.clone();
        let directory = directory.map_or(home, PathBuf::from);
        let (providers, problem) = match agents.models(&directory).await {
            Ok(models) => (models, None),
            Err(error) => (agents.local_models(), Some(error.to_string())),
        };
        Ok(ModelsView { providers, problem })
    }

    /// Returns the settings that hold, and the file they stand in.
    ///
    /// # Errors
    /// Never.
    pub async fn settings(&self) -> Result<SettingsView> {
        let path = self.runtime().around.paths.settings.display().to_string();
        Ok(SettingsView { path, settings: (*self.runtime().settings()).clone() })
    }

    /// Sets single keys of the settings file; comments and everything else in it stay. `changes` is
    /// a partial object, nested as the file is; `null` removes a key.
    ///
    /// # Errors
    /// `Invalid` for an unknown key or a bad value; `Unavailable` when the file cannot be written.
    pub async fn save_settings(&self, changes: &Value) -> Result<SettingsView> {
        let mut flat = Vec::new();
        flatten("", changes, &mut flat);
        let path = self.runtime().around.paths.settings.clone();
        let saved = self
            .with(move |_| {
                let keys: Vec<(&str, Value)> =
                    flat.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
                settings::edit(&path, &keys).map_err(|error| EngineError::Invalid {
                    field: keys.first().map(|(key, _)| (*key).to_owned()),
                    message: error.to_string(),
                })
            })
            .await?;
        self.use_settings(saved);
        self.settings().await
    }

    /// Reads the settings file again after it changed; a bad one leaves the settings as they are.
    pub(super) async fn read_settings(&self) {
        let path = self.runtime().around.paths.settings.clone();
        let read = self.runtime().blocking(move |_| Settings::load(&path)).await;
        match read {
            Ok(Ok(settings)) => self.use_settings(settings),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the settings stay as they were");
                self.runtime().emit(EventKind::FileError, None, None);
            }
            Err(crashed) => tracing::error!(%crashed, "reading the settings failed"),
        }
    }

    fn use_settings(&self, settings: Settings) {
        let runtime = self.runtime();
        let clock = Arc::clone(&runtime.clock);
        let agents = make(&runtime.around.paths, &settings, &self.inner.environment, clock);
        let same_agents = {
            let held = runtime.settings();
            held.opencode == settings.opencode && held.command == settings.command
        };
        if !same_agents {
            *runtime.agents.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(agents);
        }
        *runtime.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        runtime.emit(EventKind::Reload, None, None);
    }

    /// Returns how many tasks are armed, for messages about what stays unarmed.
    pub fn armed(&self) -> usize {
        lock(&self.runtime().board).tasks().filter(|(_, task)| task.next().is_some()).count()
    }
}

/// Lists the leaves of a partial object by their dotted keys.
fn flatten(prefix: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                // A name with a dot in it is quoted, as in the file.
                let key = settings::quoted(key);
                let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
                flatten(&key, value, into);
            }
        }
        leaf => into.push((prefix.to_owned(), leaf.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_with_a_dot_stays_one_name() {
        let mut flat = Vec::new();
        let changes = json!({"command": {"gpt-5.1": {"stdin": true}, "old": null}});
        flatten("", &changes, &mut flat);
        let keys: Vec<&str> = flat.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["command.\"gpt-5.1\".stdin", "command.old"]);
    }
}
