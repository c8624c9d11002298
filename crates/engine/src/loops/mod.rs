//! PROVISIONAL: types only.
#![allow(missing_docs)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope { Project, User }
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity { Error, Warning, Info }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic { pub severity: Severity, pub code: String, pub line: u32, pub column: u32, pub end_line: u32, pub end_column: u32, pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub help: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub fix: Option<Fix> }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fix { pub title: String, pub edits: Vec<TextEdit> }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit { pub line: u32, pub column: u32, pub end_line: u32, pub end_column: u32, pub text: String }
