//! What other programs are told of OpenCode: what can be chosen, and how it is. No secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
