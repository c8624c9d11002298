//! A registered project, with what is wrong with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A registered project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// The id, as in the name of its shared file.
    pub id: String,
    /// Its folder.
    pub path: String,
    /// Its name for people.
    pub label: String,
    /// How many tasks it holds.
    pub tasks: usize,
    /// How many of them are enabled.
    pub enabled: usize,
    /// Whether it was added with Loopkeeper, and can be removed here.
    pub removable: bool,
    /// What is wrong with its folder or its shared file, and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}
