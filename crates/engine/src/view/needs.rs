//! What needs a person, and what to do: one form for whatever it is about.

use crate::ledger::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why something needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A run asks for a permission or an answer.
    Blocked,
    /// A loop's content waits for approval.
    Approval,
    /// The end of a run could not be written.
    PersistError,
    /// A task was paused after failures in a row.
    AutoPaused,
    /// The newest run failed.
    Failed,
    /// Slots passed while nobody could run them.
    Missed,
    /// A loop file or a project's configuration cannot be read.
    FileError,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// Stays the same while it is the same need; what `dismiss` takes.
    pub id: String,
    /// Why.
    pub kind: NeedKind,
    /// Since when.
    pub at: i64,
    /// What happened and to what, in one sentence.
    pub text: String,
    /// What to do now.
    pub help: String,
    /// The project, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The task, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// That task's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// The run, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// What a blocked run asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content hash to approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}
