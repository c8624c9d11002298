//! One run with its steps, and what a manual one came to; rows are the ledger's.

use crate::ledger::{Ask, Run, Step};
use crate::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run with its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The row.
    pub run: Run,
    /// What it went through, in order.
    pub steps: Vec<Step>,
    /// What it asks now, or asked.
    pub asks: Vec<Ask>,
    /// The command that attaches to its session, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach: Option<String>,
}

/// What a manual run came to so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// Whether it did not fail.
    pub ok: bool,
    /// The task as persisted now.
    pub task: Task,
    /// The run's row.
    pub run_id: i64,
    /// The agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What could not be written, when something could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist_error: Option<String>,
}
