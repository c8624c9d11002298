//! The single keys of a header, each read and explained.

use super::check;
use super::diagnostic::{Diagnostic, Severity};
use super::parse::Reader;
use super::text::{js_trim, quote, utf16_len};
use super::variables;
use super::yaml::{Node, Scalar, entry};
use std::ops::Range;

/// The most UTF-16 units of a name.
const LONGEST_NAME: usize = 80;
/// Where the peer cuts a prompt, in UTF-16 units.
const PEER_PROMPT: usize = 20_000;

impl Reader<'_> {
    /// Reads a key that must hold text; the answer is trimmed, with the range of the value.
    fn required(
        &mut self,
        entries: &[(Node, Node)],
        key: &str,
        head: &Range<usize>,
        example: &str,
    ) -> Option<(String, Range<usize>)> {
        let finding = match entry(entries, key) {
            None => self
                .finding(
                    Severity::Error,
                    &format!("missing-{key}"),
                    head.clone(),
                    format!("The header has no `{key}`"),
                )
                .help(format!("add a line {key}: {example}")),
            Some((node, value)) => match value.text().map(js_trim) {
                Some("") => self.empty(key, node, value, example),
                Some(text) => return Some((text.to_owned(), value.range.clone())),
                None if value.is_null() => self.empty(key, node, value, example),
                None => self.not_text(Severity::Error, key, value, example),
            },
        };
        self.diagnostics.push(finding);
        None
    }

    fn empty(&self, key: &str, node: &Node, value: &Node, example: &str) -> Diagnostic {
        let range = if value.range.is_empty() { node.range.clone() } else { value.range.clone() };
        self.finding(Severity::Error, &format!("missing-{key}"), range, format!("`{key}` is empty"))
            .help(format!("write {key}: {example}"))
    }

    fn not_text(&self, severity: Severity, key: &str, value: &Node, example: &str) -> Diagnostic {
        let noun = value.noun();
        let finding = self.finding(
            severity,
            &format!("{key}-not-text"),
            value.range.clone(),
            format!("`{key}` is {noun}, not text"),
        );
        match value.scalar() {
            Some(_) if !value.alias && !value.tagged => {
                let quoted = quote(&self.text[value.range.clone()]);
                finding.help(format!("quote it: {key}: {quoted}")).fix(
                    self.lines,
                    "Quote the value",
                    value.range.clone(),
                    quoted,
                )
            }
            _ => finding.help(format!("write {key}: {example}")),
        }
    }

    pub(super) fn name(&mut self, entries: &[(Node, Node)], head: &Range<usize>) -> Option<String> {
        let (name, range) = self.required(entries, "name", head, "daily-digest")?;
        let length = utf16_len(&name);
        if length > LONGEST_NAME {
            let finding = self
                .finding(
                    Severity::Error,
                    "name-too-long",
                    range,
                    format!("The name has {length} UTF-16 units; {LONGEST_NAME} is the most"),
                )
                .help("shorten it (an emoji counts as two or more)");
            self.diagnostics.push(finding);
            return None;
        }
        Some(name)
    }

    pub(super) fn cron(&mut self, entries: &[(Node, Node)], head: &Range<usize>) -> Option<String> {
        let (cron, range) = self.required(entries, "schedule", head, "\"0 9 * * *\"")?;
        match check::check_cron(&cron) {
            Ok(checked) => {
                for note in checked.notes {
                    let better = checked.better.clone().filter(|better| note.contains(better));
                    let mut finding =
                        self.finding(Severity::Info, "schedule-note", range.clone(), note);
                    if let Some(better) = better {
                        let title = format!("Write {better}");
                        finding = finding.fix(self.lines, title, range.clone(), quote(&better));
                    }
                    self.diagnostics.push(finding);
                }
                Some(cron)
            }
            Err(problem) => {
                let finding = self
                    .finding(Severity::Error, "bad-schedule", range, problem.message)
                    .help(problem.help);
                self.diagnostics.push(finding);
                None
            }
        }
    }

    /// Reads the zone; `Ok(None)` when the file names none, `Err` when it names a wrong one.
    pub(super) fn zone(&mut self, entries: &[(Node, Node)]) -> Result<Option<String>, ()> {
        let Some((_, value)) = entry(entries, "timezone") else { return Ok(None) };
        let Some(zone) = value.text().map(js_trim) else {
            if !value.is_null() {
                let finding = self.not_text(Severity::Warning, "timezone", value, "Europe/Kyiv");
                self.diagnostics.push(Diagnostic {
                    message: format!("{}; it is ignored", finding.message),
                    fix: None,
                    help: Some("write an IANA name, such as timezone: Europe/Kyiv".to_owned()),
                    ..finding
                });
            }
            return Ok(None);
        };
        if zone.is_empty() {
            return Ok(None);
        }
        match check::check_zone(zone) {
            Ok(checked) => {
                for note in checked.notes {
                    let range = value.range.clone();
                    let finding = self.finding(Severity::Info, "timezone-note", range, note);
                    self.diagnostics.push(finding);
                }
                if let Some(proper) = checked.better {
                    let finding = self
                        .finding(
                            Severity::Warning,
                            "timezone-case",
                            value.range.clone(),
                            format!(
                                "The zone is written {proper}; other readers may refuse `{zone}`"
                            ),
                        )
                        .help(format!("write timezone: {proper}"))
                        .fix(self.lines, format!("Write {proper}"), value.range.clone(), proper);
                    self.diagnostics.push(finding);
                }
                Ok(Some(zone.to_owned()))
            }
            Err(problem) => {
                let meant = check::suggested(&problem);
                let mut finding = self
                    .finding(Severity::Error, "bad-timezone", value.range.clone(), problem.message)
                    .help(problem.help);
                if let Some(meant) = meant {
                    finding = finding.fix(
                        self.lines,
                        format!("Write {meant}"),
                        value.range.clone(),
                        meant,
                    );
                }
                self.diagnostics.push(finding);
                Err(())
            }
        }
    }

    pub(super) fn model(
        &mut self,
        entries: &[(Node, Node)],
        head: &Range<usize>,
    ) -> Option<(String, String)> {
        let (model, range) = self.required(entries, "model", head, "provider/model")?;
        let parts = model
            .split_once('/')
            .map(|(provider, model)| (js_trim(provider), js_trim(model)))
            .filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
        match parts {
            Some((provider, model)) => Some((provider.to_owned(), model.to_owned())),
            None => {
                let finding = self
                    .finding(
                        Severity::Error,
                        "model-without-provider",
                        range,
                        format!("`{model}` does not name a provider and a model"),
                    )
                    .help("write provider/model, such as model: anthropic/claude-sonnet-4-5");
                self.diagnostics.push(finding);
                None
            }
        }
    }

    pub(super) fn agent(&mut self, entries: &[(Node, Node)]) -> Option<String> {
        let (_, value) = entry(entries, "agent")?;
        match value.text().map(js_trim) {
            Some("") => None,
            Some(agent) => Some(agent.to_owned()),
            None => {
                if !value.is_null() {
                    let mut finding = self.not_text(Severity::Warning, "agent", value, "plan");
                    finding.message.push_str("; it is ignored");
                    self.diagnostics.push(finding);
                }
                None
            }
        }
    }

    /// Only a real boolean `true` enables.
    pub(super) fn enabled(&mut self, entries: &[(Node, Node)]) -> bool {
        let Some((key, value)) = entry(entries, "enabled") else { return false };
        if let Some(enabled) = value.bool() {
            return enabled;
        }
        let range = if value.range.is_empty() { key.range.clone() } else { value.range.clone() };
        let written = &self.text[range.clone()];
        let mut finding = self
            .finding(
                Severity::Warning,
                "enabled-not-boolean",
                range.clone(),
                format!("`enabled` is {}, not true or false: the loop is off", value.noun()),
            )
            .help("write enabled: true to switch the loop on, enabled: false to keep it off");
        if let Some((text, meaning)) = value.scalar() {
            finding.message = match meaning {
                Scalar::Null => "`enabled` is empty: the loop is off".to_owned(),
                _ => format!("`{written}` is not a boolean in YAML 1.2: the loop is off"),
            };
            let meant = match text.trim().to_ascii_lowercase().as_str() {
                "yes" | "on" | "y" | "1" | "true" => Some("true"),
                "no" | "off" | "n" | "0" | "false" => Some("false"),
                _ => None,
            };
            if let Some(meant) = meant
                && !value.alias
                && !value.tagged
            {
                finding = finding.fix(self.lines, format!("Write {meant}"), range, meant);
            }
        }
        self.diagnostics.push(finding);
        false
    }

    pub(super) fn prompt(
        &mut self,
        body: &Range<usize>,
        closing: usize,
        variables: bool,
    ) -> Option<String> {
        let text = &self.text[body.clone()];
        let prompt = js_trim(text);
        if prompt.is_empty() {
            let finding = self
                .finding(
                    Severity::Error,
                    "missing-prompt",
                    closing..closing + 3,
                    "There is no prompt below the header",
                )
                .help("write what the agent is to do below the second --- line");
            self.diagnostics.push(finding);
            return None;
        }
        let start = body.start + (prompt.as_ptr().addr() - text.as_ptr().addr());
        let length = utf16_len(prompt);
        if length > PEER_PROMPT {
            let finding = self
                .finding(
                    Severity::Warning,
                    "prompt-long",
                    start..start,
                    format!("The prompt has {length} UTF-16 units: OpenChamber cuts it at {PEER_PROMPT}, Loopkeeper does not"),
                )
                .help("move the long part into a file and let the prompt name it");
            self.diagnostics.push(finding);
        }
        variables::check(self, start, prompt, variables);
        Some(prompt.to_owned())
    }

    /// Points at top-level keys that were probably meant as one that counts.
    pub(super) fn keys(&mut self, entries: &[(Node, Node)]) {
        const KNOWN: [&str; 7] =
            ["name", "schedule", "enabled", "model", "agent", "timezone", "policy"];
        const ELSEWHERE: [&str; 5] =
            ["thinking_level", "variant", "goalEnabled", "goalTokenBudget", "permissionAutoAccept"];
        for (key, _) in entries {
            let Some(name) = key.text() else { continue };
            if KNOWN.contains(&name) {
                continue;
            }
            let meant = match name {
                "cron" => Some("schedule"),
                "tz" | "time_zone" | "timeZone" | "zone" => Some("timezone"),
                _ => KNOWN.into_iter().find(|known| near(name, known)),
            };
            let finding = if let Some(meant) = meant.filter(|meant| entry(entries, meant).is_none())
            {
                self.finding(
                    Severity::Warning,
                    "unknown-key",
                    key.range.clone(),
                    format!("`{name}` is not a key of loops and is ignored"),
                )
                .help(format!("did you mean {meant}?"))
                .fix(
                    self.lines,
                    format!("Write {meant}"),
                    key.range.clone(),
                    meant,
                )
            } else if ELSEWHERE.contains(&name) {
                self.finding(
                    Severity::Info,
                    "key-not-in-files",
                    key.range.clone(),
                    format!("`{name}` is kept with the task, not in the file, and is ignored here"),
                )
            } else {
                continue;
            };
            self.diagnostics.push(finding);
        }
    }
}

/// Says whether two keys differ in case only, in one letter, or by two neighbours swapped.
pub(crate) fn near(written: &str, known: &str) -> bool {
    let written = written.to_lowercase().replace('-', "_");
    if written == known {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), known.chars().collect());
    if a.len().abs_diff(b.len()) > 1 || b.len() < 4 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    match (rest_a, rest_b) {
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([_, a @ ..], b) if a == b => true,
        (a, [_, b @ ..]) if a == b => true,
        ([a1, a2, a @ ..], [b1, b2, b @ ..]) => a1 == b2 && a2 == b1 && a == b,
        _ => false,
    }
}
