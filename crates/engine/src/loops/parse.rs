//! A loop file's bytes → what it defines, and what is wrong with it.

use super::diagnostic::{Diagnostic, Severity};
use super::header::{self, Header};
use super::policy;
use super::text::{Lines, quote};
use super::yaml::entry;
use crate::task::{Definition, Execution, Schedule};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of a loop file that are read.
pub(crate) const LARGEST_FILE: u64 = 4 << 20;

/// What [`parse`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What the file defines; `None` when it is malformed.
    pub definition: Option<Definition>,
    /// What is wrong, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a loop file. A malformed one has no definition and at least one finding of severity
/// [`Severity::Error`]. Bytes that are not UTF-8 become U+FFFD, as the peer reads them.
pub fn parse(bytes: &[u8]) -> Parsed {
    let text = String::from_utf8_lossy(bytes);
    let lines = Lines::new(&text);
    let mut reader = Reader { text: &text, lines: &lines, diagnostics: Vec::new() };
    if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        reader.diagnostics.push(
            Diagnostic::new(
                &lines,
                Severity::Warning,
                "not-utf8",
                at..at + '\u{fffd}'.len_utf8(),
                "Bytes here are not UTF-8; they are read as \u{fffd}",
            )
            .help("save the file as UTF-8"),
        );
    }
    let definition = match header::read(&text, &lines) {
        Ok(header) => reader.definition(&header),
        Err(finding) => {
            reader.diagnostics.push(*finding);
            None
        }
    };
    let mut diagnostics = reader.diagnostics;
    diagnostics.sort_by_key(|finding| (finding.line, finding.column));
    Parsed { definition, diagnostics }
}

pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) lines: &'a Lines<'a>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    pub(crate) fn finding(
        &self,
        severity: Severity,
        code: &str,
        range: Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(self.lines, severity, code, range, message)
    }

    fn definition(&mut self, header: &Header) -> Option<Definition> {
        let entries = header.root.entries().unwrap_or_default();
        for value in &header.bare {
            let quoted = quote(&self.text[value.clone()]);
            let finding = self
                .finding(
                    Severity::Warning,
                    "unquoted-colon",
                    value.clone(),
                    "The value has a colon and no quotes: strict readers refuse the whole file",
                )
                .help(format!("quote it: {quoted}"))
                .fix(self.lines, "Quote the value", value.clone(), quoted);
            self.diagnostics.push(finding);
        }
        if let Some(range) = &header.control {
            let finding = self
                .finding(
                    Severity::Warning,
                    "control-character",
                    range.clone(),
                    "A control character stands here: strict readers refuse the whole file",
                )
                .help(
                    "remove it, or write it as an escape inside double quotes, such as \"\\x07\"",
                );
            self.diagnostics.push(finding);
        }
        self.keys(entries);
        let head = header.parts.head.start..header.parts.head.start;
        let name = self.name(entries, &head);
        let zone = self.zone(entries);
        let cron = self.cron(entries, &head);
        let model = self.model(entries, &head);
        let agent = self.agent(entries);
        let enabled = self.enabled(entries);
        let policy = match entry(entries, "policy") {
            Some((key, value)) => policy::read(self, key, value),
            None => Ok(None),
        };
        let variables = policy.as_ref().is_ok_and(|policy| {
            policy.as_ref().is_some_and(|policy| policy.variables == Some(true))
        });
        let prompt = self.prompt(&header.parts.body, header.parts.closing, variables);
        let (provider_id, model_id) = model?;
        Some(Definition {
            name: name?,
            enabled,
            schedule: Schedule::Cron { cron: cron?, timezone: zone.ok()? },
            execution: Execution {
                prompt: prompt?.into(),
                provider_id,
                model_id,
                agent,
                ..Execution::default()
            },
            policy: policy.ok()?.map(Arc::new),
        })
    }
}
