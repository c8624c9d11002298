//! PROVISIONAL: types only; the real ledger replaces this file.
#![allow(missing_docs)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Claimed, Queued, Retrying, Running, Blocked,
    Succeeded, Failed, TimedOut, Cancelled, Lost,
    Skipped, Missed, Deduped, Superseded,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger { Scheduled, Manual, CatchUp, Retry }

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: i64, pub project_id: String, pub task_id: String, pub task_name: String, pub trigger: Trigger,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub scheduled_for: Option<i64>,
    pub attempt: i64,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub started_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub finished_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub duration_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub persist_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub tokens: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub answer: Option<String>,
    /// Folded rows: how many slots, and the first and last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")] pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub first_for: Option<i64>,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tokens { pub input: i64, pub output: i64, pub reasoning: i64, pub cache_read: i64, pub cache_write: i64 }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step { pub at: i64, pub kind: String, #[serde(default, skip_serializing_if = "Option::is_none")] pub detail: Option<String> }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub id: String, pub kind: AskKind, /// What it wants, in a sentence.
    pub text: String, /// Choices of a question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")] pub options: Vec<String>, pub asked_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub answered_at: Option<i64>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskKind { Permission, Question }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer { Once, Always, Reject, Text(String) }
#[derive(Debug, Clone, Default)]
pub struct RunFilter { pub project: Option<String>, pub task: Option<String>, pub status: Vec<Status>, pub before: Option<i64>, pub limit: usize }
