//! OpenCode's shapes, as far as they are needed (PEERS §1). What is missing or new is no error: the
//! program changes often, and a run must not fail over a field that nobody reads.

use crate::agent::job::Tokens;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Health {
    #[serde(default)]
    pub(crate) healthy: bool,
    #[serde(default)]
    pub(crate) version: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Agent {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) mode: Option<String>,
    #[serde(default)]
    pub(crate) hidden: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Command {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) template: Option<String>,
}

/// The answer of `/config/providers`. It is read field by field, so that the keys in it
/// (`options.apiKey`) never leave the parser.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Providers {
    #[serde(default)]
    pub(crate) providers: Vec<Provider>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Provider {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) models: BTreeMap<String, Model>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Model {
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Names only: what a variant holds may be anything.
    #[serde(default, deserialize_with = "keys")]
    pub(crate) variants: Vec<String>,
}

fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let map = Option::<BTreeMap<String, serde::de::IgnoredAny>>::deserialize(from)?;
    Ok(map.unwrap_or_default().into_keys().collect())
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) directory: Option<String>,
    #[serde(default)]
    pub(crate) cost: Option<f64>,
    #[serde(default)]
    pub(crate) tokens: Option<TokenCounts>,
    #[serde(default)]
    pub(crate) metadata: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct TokenCounts {
    #[serde(default)]
    input: f64,
    #[serde(default)]
    output: f64,
    #[serde(default)]
    reasoning: f64,
    #[serde(default)]
    cache: CacheCounts,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct CacheCounts {
    #[serde(default)]
    read: f64,
    #[serde(default)]
    write: f64,
}

impl From<&TokenCounts> for Tokens {
    fn from(counts: &TokenCounts) -> Self {
        // A cast from a float saturates, and takes what is no number for 0.
        Tokens {
            input: counts.input as u64,
            output: counts.output as u64,
            reasoning: counts.reasoning as u64,
            cache_read: counts.cache.read as u64,
            cache_write: counts.cache.write as u64,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Status {
    Busy,
    Retry {
        #[serde(default)]
        attempt: u64,
        #[serde(default)]
        message: String,
    },
    Idle,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message {
    pub(crate) info: MessageInfo,
    #[serde(default)]
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MessageInfo {
    pub(crate) id: String,
    pub(crate) role: String,
    #[serde(default)]
    pub(crate) time: MessageTime,
    #[serde(default)]
    pub(crate) finish: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<ErrorBody>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct MessageTime {
    /// Wall time, ms since 1970; `None` while the message grows.
    #[serde(default)]
    pub(crate) completed: Option<f64>,
}

/// An error as OpenCode tells it, in messages, events and answers.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ErrorBody {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) data: ErrorData,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ErrorData {
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default, rename = "statusCode")]
    pub(crate) status_code: Option<u16>,
}

impl ErrorBody {
    /// Returns the first line of what it says; a stack below it helps nobody.
    pub(crate) fn text(&self) -> String {
        let message = self.data.message.as_deref().or(self.message.as_deref()).unwrap_or("");
        let line = message.lines().map(str::trim).find(|line| !line.is_empty());
        let line = line.unwrap_or(if self.name.is_empty() { "unknown error" } else { &self.name });
        match self.data.status_code {
            Some(code) => format!("{line} (HTTP {code})"),
            None => line.to_owned(),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Part {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) synthetic: Option<bool>,
    #[serde(default)]
    pub(crate) ignored: Option<bool>,
    #[serde(default)]
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) state: Option<ToolState>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolState {
    #[serde(default)]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Permission {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) permission: String,
    #[serde(default)]
    pub(crate) patterns: Vec<String>,
    #[serde(default)]
    pub(crate) metadata: Value,
    #[serde(default)]
    pub(crate) always: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct QuestionRequest {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    #[serde(default)]
    pub(crate) question: String,
    #[serde(default)]
    pub(crate) header: String,
    #[serde(default)]
    pub(crate) options: Vec<QuestionOption>,
    #[serde(default)]
    pub(crate) multiple: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct QuestionOption {
    #[serde(default)]
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

/// One event of the stream.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) properties: EventProperties,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct EventProperties {
    #[serde(default, rename = "sessionID")]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<ErrorBody>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct NewSession<'a> {
    pub(crate) title: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) permission: Vec<Rule>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rule {
    pub(crate) permission: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) action: &'static str,
}

impl Rule {
    /// Everything is allowed without asking: `permissionAutoAccept`.
    pub(crate) fn allow_all() -> Self {
        Rule { permission: "*", pattern: "*", action: "allow" }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PromptBody<'a> {
    pub(crate) model: ModelRef<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<&'a str>,
    pub(crate) parts: Vec<TextPart<'a>>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ModelRef<'a> {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: &'a str,
    #[serde(rename = "modelID")]
    pub(crate) model_id: &'a str,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TextPart<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) synthetic: bool,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct CommandBody {
    pub(crate) command: String,
    pub(crate) arguments: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
}
