//! A loop that waits for approval, shown with its text and the one that was approved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A loop whose content waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// The project.
    pub project_id: String,
    /// The task.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// The file; `None` for a JSON task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content hash to approve.
    pub hash: String,
    /// Why it has to be approved.
    pub why: String,
    /// The content now.
    pub text: String,
    /// The content that was approved last, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_text: Option<String>,
}
