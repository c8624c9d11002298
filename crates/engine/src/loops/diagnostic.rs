//! What is wrong with a loop file, where, and the way out.

use super::text::Lines;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How bad a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file, or the part named, has no effect until this is repaired.
    Error,
    /// The loop works, but probably not as its author meant.
    Warning,
    /// Worth knowing.
    Info,
}

/// One finding in a loop file. Positions are 1-based and count UTF-16 units, as editors do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name in kebab case, for tests and filters.
    pub code: String,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// The column after the last unit.
    pub end_column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead; `None` where the message says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// A repair that can be applied as it stands; `None` where a person has to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// A repair of one finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// What the repair does, for a menu.
    pub title: String,
    /// The edits, none of which overlap.
    pub edits: Vec<Edit>,
}

/// Replaces a range of the file by a text. Positions as in [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// The column after the last unit.
    pub end_column: u32,
    /// What stands there afterwards.
    pub text: String,
}

impl Diagnostic {
    /// Makes a finding that covers a byte range of the text behind `lines`.
    pub(crate) fn new(
        lines: &Lines<'_>,
        severity: Severity,
        code: &str,
        range: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        let (line, column) = lines.position(range.start);
        let (end_line, end_column) = lines.position(range.end.max(range.start));
        Diagnostic {
            severity,
            code: code.to_owned(),
            line,
            column,
            end_line,
            end_column,
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    /// Makes a finding about a file as a whole.
    pub(crate) fn whole_file(severity: Severity, code: &str, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            code: code.to_owned(),
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 1,
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    /// Adds what to write instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a repair that replaces one byte range.
    pub(crate) fn fix(
        mut self,
        lines: &Lines<'_>,
        title: impl Into<String>,
        range: Range<usize>,
        text: impl Into<String>,
    ) -> Self {
        let (line, column) = lines.position(range.start);
        let (end_line, end_column) = lines.position(range.end);
        let edit = Edit { line, column, end_line, end_column, text: text.into() };
        self.fix = Some(Fix { title: title.into(), edits: vec![edit] });
        self
    }
}

impl Fix {
    /// Returns the text with the edits applied; `None` when a position is outside of it.
    pub fn apply(&self, text: &str) -> Option<String> {
        let lines = Lines::new(text);
        let mut edits = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            let start = lines.offset(edit.line, edit.column)?;
            let end = lines.offset(edit.end_line, edit.end_column)?;
            edits.push((start, end, edit.text.as_str()));
        }
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
        let mut out = text.to_owned();
        for (start, end, new) in edits {
            if start > end {
                return None;
            }
            out.replace_range(start..end, new);
        }
        Some(out)
    }
}
