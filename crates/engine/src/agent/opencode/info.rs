//! What other programs are told of OpenCode: what can be chosen, and how it is. No secrets.

use super::{AgentError, Opencode, TRIED, server, wire};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A provider and what can be chosen of it; for pickers, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The part of `model` before the first slash.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its models; empty for a command, which takes any.
    pub models: Vec<ModelInfo>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The part of `model` after the first slash.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its variants (thinking levels).
    pub variants: Vec<String>,
}

/// An agent that a task may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// `primary`, `subagent` or `all`.
    pub mode: String,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
}

/// What is seen of OpenCode without starting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpencodeHealth {
    /// Its address; `None` while none of ours runs.
    pub url: Option<String>,
    /// Whether it is a server of ours, which is started when it is needed.
    pub own: bool,
    /// Whether it answered just now.
    pub healthy: bool,
    /// Its version, if it said one.
    pub version: Option<String>,
    /// Whether Loopkeeper was tried with this version.
    pub tried: bool,
    /// The program that would be started; `None` when it is attached or not found.
    pub binary: Option<PathBuf>,
    /// What is wrong, and what to do.
    pub error: Option<String>,
    /// The last lines of our server's log.
    pub log: Vec<String>,
}

impl Opencode {
    pub(crate) async fn models(&self, directory: &Path) -> Result<Vec<ProviderInfo>, AgentError> {
        let _used = self.using();
        let client = self.connect().await?;
        let answer = client.providers(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        Ok(answer.providers.into_iter().map(provider_info).collect())
    }

    pub(crate) async fn agents(&self, directory: &Path) -> Result<Vec<AgentInfo>, AgentError> {
        let _used = self.using();
        let client = self.connect().await?;
        let answer = client.agents(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        let visible = answer.into_iter().filter(|agent| agent.hidden != Some(true));
        Ok(visible
            .map(|agent| AgentInfo {
                name: agent.name,
                description: agent.description.unwrap_or_default(),
                mode: agent.mode.unwrap_or_default(),
            })
            .collect())
    }

    pub(crate) async fn commands(&self, directory: &Path) -> Result<Vec<CommandInfo>, AgentError> {
        let _used = self.using();
        let client = self.connect().await?;
        let answer = client.commands(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        Ok(answer
            .into_iter()
            .map(|command| CommandInfo {
                name: command.name,
                description: command.description.unwrap_or_default(),
            })
            .collect())
    }

    pub(crate) async fn health(&self) -> OpencodeHealth {
        let mut health = OpencodeHealth {
            url: None,
            own: true,
            healthy: false,
            version: None,
            tried: false,
            binary: None,
            error: None,
            log: Vec::new(),
        };
        match self.present().await {
            Err(error) => health.error = Some(error.to_string()),
            Ok(None) => {
                let binaries = &self.config.opencode.binaries;
                health.binary = server::program(binaries).map(Path::to_owned);
                if health.binary.is_none() {
                    health.error =
                        Some(AgentError::Missing { looked: binaries.clone() }.to_string());
                }
            }
            Ok(Some((client, own))) => {
                health.own = own;
                health.url = Some(client.base().to_owned());
                match client.health().await {
                    Ok(answer) => {
                        health.healthy = answer.healthy;
                        health.tried = answer.version.starts_with(TRIED);
                        health.version = Some(answer.version);
                    }
                    Err(error) => {
                        health.error = Some(AgentError::from_call(&client, &error).to_string());
                    }
                }
            }
        }
        if health.own {
            health.log = self.places.log_tail(20);
        }
        health
    }

    pub(crate) fn log(&self, lines: usize) -> (PathBuf, Vec<String>) {
        (self.places.log(), self.places.log_tail(lines))
    }
}

fn provider_info(provider: wire::Provider) -> ProviderInfo {
    let models = provider.models.into_iter().map(|(id, model)| ModelInfo {
        name: model.name.unwrap_or_else(|| id.clone()),
        variants: model.variants,
        id,
    });
    ProviderInfo {
        name: provider.name.unwrap_or_else(|| provider.id.clone()),
        models: models.collect(),
        id: provider.id,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;
    use crate::agent::{AgentsConfig, OpencodeConfig};
    use crate::clock::SystemClock;
    use std::sync::Arc;

    /// It was said to be there, and then no run could start it.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_cannot_be_executed_is_not_the_program() {
        let own = tempfile::tempdir().expect("a folder");
        let binary = own.path().join("opencode");
        std::fs::write(&binary, "no program").expect("written");
        let config = AgentsConfig {
            opencode: OpencodeConfig { binaries: vec![binary], ..OpencodeConfig::default() },
            commands: Default::default(),
            own: own.path().to_owned(),
            opencode_config: own.path().to_owned(),
            environment: Vec::new(),
        };
        let health = Opencode::new(Arc::new(config), Arc::new(SystemClock)).health().await;
        assert_eq!(health.binary, None, "a start would not take it");
        assert!(health.error.expect("a text").contains("was not found"), "it is said in advance");
    }

    #[test]
    fn pickers_get_no_keys() {
        let answer: wire::Providers = recorded::body("config-providers.json");
        let infos: Vec<ProviderInfo> = answer.providers.into_iter().map(provider_info).collect();
        let shown = serde_json::to_string(&infos).expect("JSON");
        assert!(shown.contains("slow-10"), "the models are there");
        assert!(!shown.contains("sk-stub") && !shown.contains("apiKey"), "the key is not: {shown}");
    }
}
