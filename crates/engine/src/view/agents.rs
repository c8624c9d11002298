//! Agents, models and settings: what pickers and the settings page show.

use crate::agent::{AgentInfo, CommandInfo, OpencodeHealth, ProviderInfo};
use crate::settings::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can run prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    /// What is seen of OpenCode without starting it.
    pub opencode: OpencodeHealth,
    /// OpenCode's agents that a task may name; empty where no folder was given.
    pub agents: Vec<AgentInfo>,
    /// OpenCode's slash commands in that folder.
    pub slash_commands: Vec<CommandInfo>,
    /// The command agents of the settings.
    pub commands: Vec<CommandAgentView>,
    /// Why the agents could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A program of the settings that runs prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAgentView {
    /// The part of `model` before the first slash.
    pub name: String,
    /// The program; `None` where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether the prompt is written to its standard input.
    pub stdin: bool,
}

/// Everything that can be chosen as `model`, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsView {
    /// By provider: the demo, the commands, OpenCode's.
    pub providers: Vec<ProviderInfo>,
    /// Why OpenCode's are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogView {
    /// The file; it need not exist.
    pub path: String,
    /// Its last lines, the oldest first.
    pub lines: Vec<String>,
}

/// The settings that hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The file they stand in; it need not exist.
    pub path: String,
    /// Each of them, also those that the file leaves out.
    pub settings: Settings,
}
