//! Loop files and what their texts come to: what the editor shows.

use super::schedules::Preview;
use crate::loops::{Diagnostic, Scope};
use crate::task::Definition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A loop file as the editor opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopFileView {
    /// Its absolute path.
    pub path: String,
    /// Where it lies.
    pub scope: Scope,
    /// Its text.
    pub text: String,
    /// What a later save has to name.
    pub etag: String,
    /// The ids of the registered projects in which it is a task.
    pub projects: Vec<String>,
    /// What the text comes to.
    pub check: CheckView,
}

/// What a loop text comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// Whether it defines a task.
    pub ok: bool,
    /// The definition; `None` when it is malformed.
    pub definition: Option<Definition>,
    /// Everything worth knowing, with fixes.
    pub diagnostics: Vec<Diagnostic>,
    /// The schedule in words, and its next occurrences; `None` when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
}

/// A file that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    /// What [`crate::engine::Engine::restore_loop_file`] takes.
    pub trash_id: String,
    /// Where it was.
    pub path: String,
    /// When it was deleted; it is kept for 30 days from then on.
    pub deleted_at: i64,
}
