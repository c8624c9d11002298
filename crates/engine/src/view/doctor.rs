//! What `doctor` finds: about the installation, not about a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// All is well.
    Ok,
    /// Worth knowing.
    Warning,
    /// Something does not work.
    Error,
}

/// One finding of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at (`data folder`, `ledger`, `opencode`, …).
    pub area: String,
    /// How grave.
    pub severity: FindingSeverity,
    /// What was found.
    pub message: String,
    /// What to do now; `None` when all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
