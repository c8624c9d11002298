//! The `policy:` mapping of a header: every key checked, the good ones kept.
//!
//! A wrong value is dropped and reported, since the settings then decide. The exceptions are
//! `run_on`, `only_in` and `budget`: to drop a restriction would run the loop where, or more often
//! than, its author allowed, so an unreadable one makes the file malformed.

use super::diagnostic::{Diagnostic, Severity};
use super::fields::near;
use super::parse::Reader;
use super::text::{js_trim, quote};
use super::yaml::{Content, Node, Scalar};
use crate::task::policy::{Budget, CatchUp, Notify, Overlap, Policy, parse_duration};
use std::ops::Range;
use std::time::Duration;

const KEYS: [&str; 14] = [
    "timeout",
    "blocked_timeout",
    "catch_up",
    "catch_up_window",
    "overlap",
    "retries",
    "retry_backoff",
    "notify",
    "run_on",
    "only_in",
    "budget",
    "signal",
    "variables",
    "worktree",
];
/// The most further attempts that make sense.
const MOST_RETRIES: u32 = 100;

/// Says that a restriction cannot be read, so that nobody can tell where or how often the loop may
/// run.
pub(crate) struct Unrestricted;

/// Reads the mapping; `Ok(None)` when there is none.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    key: &Node,
    value: &Node,
) -> Result<Option<Policy>, Unrestricted> {
    if value.is_null() {
        return Ok(None);
    }
    let Some(entries) = value.entries() else {
        let finding = reader
            .finding(
                Severity::Error,
                "policy-not-mapping",
                key.range.start..value.range.end.max(key.range.end),
                format!("`policy` is {}, not a mapping, and is ignored", value.noun()),
            )
            .help("write its keys indented below it, such as\npolicy:\n  timeout: 30m");
        reader.diagnostics.push(finding);
        return Ok(None);
    };
    let mut policy = Policy::default();
    let mut unreadable = false;
    for (key, value) in entries {
        let name = key.scalar().map_or("", |(text, _)| text);
        let mut field = Field { reader, name, key, value };
        match name {
            "timeout" => policy.timeout = field.duration(),
            "blocked_timeout" => policy.blocked_timeout = field.duration(),
            "catch_up_window" => policy.catch_up_window = field.duration(),
            "retry_backoff" => policy.retry_backoff = field.duration(),
            "catch_up" => {
                policy.catch_up =
                    field.word(&[("skip", CatchUp::Skip), ("latest", CatchUp::Latest)]);
            }
            "overlap" => {
                policy.overlap = field.word(&[("skip", Overlap::Skip), ("queue", Overlap::Queue)]);
            }
            "notify" => {
                policy.notify = field.word(&[
                    ("failure", Notify::Failure),
                    ("always", Notify::Always),
                    ("never", Notify::Never),
                ]);
            }
            "retries" => policy.retries = field.number(0, MOST_RETRIES),
            "run_on" | "only_in" => match field.names() {
                Some(names) if name == "run_on" => policy.run_on = names,
                Some(names) => policy.only_in = names,
                None => unreadable = true,
            },
            "budget" => match field.budget() {
                Ok(budget) => policy.budget = budget,
                Err(Unrestricted) => unreadable = true,
            },
            "signal" => policy.signal = field.url(),
            "variables" => policy.variables = field.boolean(),
            "worktree" => policy.worktree = field.boolean(),
            _ => field.unknown(&KEYS, "policy"),
        }
    }
    if unreadable { Err(Unrestricted) } else { Ok(Some(policy)) }
}

struct Field<'a, 'b> {
    reader: &'a mut Reader<'b>,
    name: &'a str,
    key: &'a Node,
    value: &'a Node,
}

impl Field<'_, '_> {
    fn range(&self) -> Range<usize> {
        if self.value.range.is_empty() { self.key.range.clone() } else { self.value.range.clone() }
    }

    fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        self.reader.finding(Severity::Error, "policy-value", self.range(), message).help(help)
    }

    fn report(&mut self, finding: Diagnostic) {
        self.reader.diagnostics.push(finding);
    }

    fn report_fixed(&mut self, finding: Diagnostic, title: String, text: &str) {
        let replaceable = !self.value.alias && !self.value.tagged && !self.value.range.is_empty();
        let finding = if replaceable {
            finding.fix(self.reader.lines, title, self.value.range.clone(), text)
        } else {
            finding
        };
        self.report(finding);
    }

    fn duration(&mut self) -> Option<Duration> {
        let name = self.name;
        let help = format!("write a duration such as {name}: 30m (units s, m, h, d)");
        let Some((text, meaning)) = self.value.scalar() else {
            let noun = self.value.noun();
            self.report(self.wrong(format!("`{name}` is {noun}, not a duration"), help));
            return None;
        };
        if *meaning == Scalar::Null {
            self.report(self.wrong(format!("`{name}` is empty"), help));
            return None;
        }
        match parse_duration(text) {
            Ok(duration) if !duration.is_zero() => Some(duration),
            Ok(_) => {
                self.report(self.wrong(
                    format!("`{name}` must be longer than nothing"),
                    format!("write a duration such as {name}: 30m, or remove the line"),
                ));
                None
            }
            Err(_) => {
                let text = text.to_owned();
                self.report(self.wrong(format!("`{name}: {text}` is not a duration"), help));
                None
            }
        }
    }

    fn word<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        let text = self.value.scalar().map_or("", |(text, _)| text).to_owned();
        if self.value.text().is_some()
            && let Some((_, value)) = words.iter().find(|(word, _)| *word == text)
        {
            return Some(*value);
        }
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let name = self.name;
        let written =
            if text.is_empty() { self.value.noun().to_owned() } else { format!("`{text}`") };
        let finding = self.wrong(
            format!("`{name}` cannot be {written}"),
            format!("write one of {}", all.join(", ")),
        );
        match all.into_iter().find(|word| near(&text, word)) {
            Some(word) => self.report_fixed(finding, format!("Write {word}"), word),
            None => self.report(finding),
        }
        None
    }

    fn number(&mut self, least: u32, most: u32) -> Option<u32> {
        let name = self.name;
        let help = format!("write a whole number from {least} to {most}, such as {name}: 2");
        let (text, meaning) = self.value.scalar().unwrap_or(("", &Scalar::Null));
        let number = text.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
        match (meaning, number) {
            (Scalar::Number, Some(number)) => Some(number),
            (Scalar::Text, Some(number)) => {
                let finding = self.wrong(format!("`{name}` is text, not a number"), help);
                self.report_fixed(finding, "Remove the quotes".to_owned(), &number.to_string());
                None
            }
            _ => {
                let written = if text.is_empty() { self.value.noun() } else { text }.to_owned();
                self.report(self.wrong(format!("`{name}` cannot be {written}"), help));
                None
            }
        }
    }

    fn boolean(&mut self) -> Option<bool> {
        if let Some(value) = self.value.bool() {
            return Some(value);
        }
        let name = self.name;
        let text = self.value.scalar().map_or("", |(text, _)| text).to_ascii_lowercase();
        let finding = self.wrong(
            format!("`{name}` is not true or false"),
            format!("write {name}: true or {name}: false"),
        );
        match text.as_str() {
            "yes" | "on" | "y" | "1" | "true" => {
                self.report_fixed(finding, "Write true".to_owned(), "true");
            }
            "no" | "off" | "n" | "0" | "false" => {
                self.report_fixed(finding, "Write false".to_owned(), "false");
            }
            _ => self.report(finding),
        }
        None
    }

    /// Reads a list of names; `None` when it cannot be told which are meant.
    fn names(&mut self) -> Option<Vec<String>> {
        let name = self.name;
        let help = format!("write a list, such as {name}: [one, two]");
        let nodes = match &*self.value.content {
            Content::Sequence { nodes, .. } => nodes,
            Content::Scalar { value: Scalar::Text, text, .. } if !js_trim(text).is_empty() => {
                let text = js_trim(text).to_owned();
                let finding = Diagnostic {
                    severity: Severity::Warning,
                    ..self.wrong(
                        format!("`{name}` is one name, not a list; it is taken as one"),
                        help,
                    )
                };
                let list = format!("[{}]", quote(&text));
                self.report_fixed(finding, "Make it a list".to_owned(), &list);
                return Some(vec![text]);
            }
            _ => {
                let noun = self.value.noun();
                self.report(self.wrong(
                    format!("`{name}` is {noun}: nobody can tell where the loop may run"),
                    help,
                ));
                return None;
            }
        };
        let mut names = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node.scalar() {
                Some((text, meaning)) if *meaning != Scalar::Null && !js_trim(text).is_empty() => {
                    names.push(js_trim(text).to_owned());
                }
                _ => {
                    let finding = self.reader.finding(
                        Severity::Error,
                        "policy-value",
                        node.range.clone(),
                        format!("an entry of `{name}` is {}, not a name", node.noun()),
                    );
                    self.report(finding.help(help.clone()));
                    return None;
                }
            }
        }
        if names.is_empty() {
            let finding = Diagnostic {
                severity: Severity::Warning,
                ..self.wrong(format!("`{name}` is empty and restricts nothing"), help)
            };
            self.report(finding);
        }
        Some(names)
    }

    /// Reads how much may run; an error where it says a limit that cannot be read.
    fn budget(&mut self) -> Result<Option<Budget>, Unrestricted> {
        let Some(entries) = self.value.entries() else {
            let noun = self.value.noun();
            self.report(self.wrong(
                format!("`budget` is {noun}, not a mapping"),
                "write budget: {runs_per_day: 10}",
            ));
            return Err(Unrestricted);
        };
        let mut budget = Budget::default();
        for (key, value) in entries {
            let name = key.scalar().map_or("", |(text, _)| text);
            let mut field = Field { reader: self.reader, name, key, value };
            if name == "runs_per_day" {
                budget.runs_per_day = Some(field.number(1, 100_000).ok_or(Unrestricted)?);
            } else {
                field.unknown(&["runs_per_day"], "budget");
            }
        }
        Ok(budget.runs_per_day.map(|_| budget))
    }

    fn url(&mut self) -> Option<String> {
        let text = self.value.text().map(js_trim).unwrap_or_default();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let good = host
            .is_some_and(|rest| !rest.starts_with(['/', ':', '?', '#']) && !rest.is_empty())
            && !text.contains(char::is_whitespace);
        if good {
            return Some(text.to_owned());
        }
        self.report(self.wrong(
            "`signal` is not a URL".to_owned(),
            "write one that begins with https:// or http://",
        ));
        None
    }

    fn unknown(&mut self, known: &[&'static str], what: &str) {
        let name = self.name;
        let finding = self.reader.finding(
            Severity::Warning,
            "policy-unknown-key",
            self.key.range.clone(),
            format!("`{name}` is not a key of `{what}` and is ignored"),
        );
        let finding = match known.iter().find(|known| near(name, known)) {
            Some(meant) => finding.help(format!("did you mean {meant}?")).fix(
                self.reader.lines,
                format!("Write {meant}"),
                self.key.range.clone(),
                *meant,
            ),
            None => finding.help(format!("known are {}", known.join(", "))),
        };
        self.report(finding);
    }
}
