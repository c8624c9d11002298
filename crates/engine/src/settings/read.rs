//! Reading `settings.toml` strictly, with the line of everything that does not fit.

use super::suggest::distance;
use super::{ApprovalMode, CommandAgent, Settings, SettingsError};
use crate::task::policy::{CatchUp, Overlap, parse_duration};
use std::path::Path;
use std::time::Duration;
use toml_edit::{Document, Item, Key, TableLike, Value};

/// Every section and its keys; `command` has one section for each agent's name.
pub const KEYS: [(&str, &[&str]); 9] = [
    ("opencode", &["url", "binary", "ready_timeout"]),
    ("command", &["argv", "stdin"]),
    (
        "runs",
        &[
            "global",
            "per_project",
            "timeout",
            "blocked_timeout",
            "start_deadline",
            "retries",
            "retry_backoff",
            "catch_up",
            "catch_up_window",
            "overlap",
            "pause_after_failures",
            "history",
        ],
    ),
    ("lease", &["heartbeat", "duration"]),
    ("server", &["host", "port"]),
    ("notify", &["failure"]),
    ("approval", &["mode"]),
    ("desktop", &["keep_awake"]),
    ("signal", &["url"]),
];

pub fn settings(text: &str, path: &Path) -> Result<Settings, SettingsError> {
    let file = File { text, path };
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = file.position(at);
        SettingsError::Syntax {
            path: path.to_owned(),
            line,
            column,
            message: error.message().trim().replace('\n', ", "),
        }
    })?;
    let root = document.as_table();
    let sections = KEYS.map(|(name, _)| name);
    file.known(root, "", &sections)?;
    for (name, keys) in KEYS.iter().filter(|(name, _)| *name != "command") {
        if let Some(section) = file.section(root, name)? {
            file.known(section.table, name, keys)?;
        }
    }
    let mut settings = Settings::default();
    if let Some(section) = file.section(root, "command")? {
        for (name, _) in section.table.iter() {
            let agent = command(&file, section.table, name)?;
            settings.command.insert(name.to_owned(), agent);
        }
    }
    let empty = toml_edit::Table::new();
    let section = |name: &'static str| -> Result<Section<'_>, SettingsError> {
        let found = file.section(root, name)?;
        Ok(found.unwrap_or(Section { file: &file, name: name.to_owned(), table: &empty }))
    };

    let opencode = section("opencode")?;
    opencode.url("url", &mut settings.opencode.url)?;
    opencode.optional("binary", &mut settings.opencode.binary)?;
    opencode.duration("ready_timeout", &mut settings.opencode.ready_timeout)?;

    let (from, runs) = (section("runs")?, &mut settings.runs);
    from.number("global", 1, 1000, &mut runs.global)?;
    from.number("per_project", 1, 1000, &mut runs.per_project)?;
    from.duration("timeout", &mut runs.timeout)?;
    from.duration("blocked_timeout", &mut runs.blocked_timeout)?;
    from.duration("start_deadline", &mut runs.start_deadline)?;
    from.number("retries", 0, 100, &mut runs.retries)?;
    from.duration("retry_backoff", &mut runs.retry_backoff)?;
    let catch_up = [("skip", CatchUp::Skip), ("latest", CatchUp::Latest)];
    from.word("catch_up", &catch_up, &mut runs.catch_up)?;
    from.duration("catch_up_window", &mut runs.catch_up_window)?;
    let overlap = [("skip", Overlap::Skip), ("queue", Overlap::Queue)];
    from.word("overlap", &overlap, &mut runs.overlap)?;
    from.number("pause_after_failures", 0, 1000, &mut runs.pause_after_failures)?;
    from.number("history", 1, 1_000_000, &mut runs.history)?;

    let (from, lease) = (section("lease")?, &mut settings.lease);
    from.duration("heartbeat", &mut lease.heartbeat)?;
    from.duration("duration", &mut lease.duration)?;
    if lease.duration < lease.heartbeat * 3 {
        let key = if from.get("duration").is_some() { "duration" } else { "heartbeat" };
        let help = "write a duration of at least three heartbeats, so that one lost beat is no end";
        return Err(from.error(key, "the lease is shorter than three heartbeats".into(), help));
    }

    let (from, server) = (section("server")?, &mut settings.server);
    from.text("host", &mut server.host)?;
    if server.host.is_empty() {
        let help = "write 127.0.0.1, or take the line out";
        return Err(from.error("host", "`server.host` is empty".into(), help));
    }
    let mut port = u32::from(server.port);
    from.number("port", 0, 65_535, &mut port)?;
    server.port = u16::try_from(port).unwrap_or(server.port);

    section("notify")?.flag("failure", &mut settings.notify.failure)?;
    let modes =
        [("risky", ApprovalMode::Risky), ("all", ApprovalMode::All), ("none", ApprovalMode::None)];
    section("approval")?.word("mode", &modes, &mut settings.approval.mode)?;
    section("desktop")?.flag("keep_awake", &mut settings.desktop.keep_awake)?;
    section("signal")?.url("url", &mut settings.signal.url)?;
    Ok(settings)
}

fn command(
    file: &File<'_>,
    commands: &dyn TableLike,
    name: &str,
) -> Result<CommandAgent, SettingsError> {
    let whole = format!("command.{name}");
    if name == "demo" || name == "opencode" || name.contains('/') {
        let message = format!("`{name}` cannot be the name of a command agent");
        let help = "write another name without a slash; it is the first part of `model:` in a loop";
        return Err(file.key_error(commands, name, whole, message, help));
    }
    let Some(section) = file.section_in(commands, name, &whole)? else {
        return Ok(CommandAgent::default());
    };
    file.known(section.table, &whole, &["argv", "stdin"])?;
    let mut agent = CommandAgent::default();
    section.flag("stdin", &mut agent.stdin)?;
    section.texts("argv", &mut agent.argv)?;
    if agent.argv.first().is_none_or(String::is_empty) {
        let help = "write the program and its arguments: argv = [\"claude\", \"-p\"]";
        let message = format!("`{whole}` names no program");
        return Err(match section.get("argv") {
            Some(_) => section.error("argv", message, help),
            None => file.key_error(commands, name, whole, message, help),
        });
    }
    if !agent.stdin && !agent.argv.iter().any(|part| part.contains("{prompt}")) {
        let help = "write stdin = true, or \"{prompt}\" as one of the arguments";
        let message = format!("`{whole}` gives the prompt to nobody");
        return Err(section.error("stdin", message, help));
    }
    Ok(agent)
}

/// The file at hand, for lines in messages.
struct File<'a> {
    text: &'a str,
    path: &'a Path,
}

impl<'a> File<'a> {
    /// Returns line and column of a byte, 1-based.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    fn key_error(
        &self,
        table: &dyn TableLike,
        key: &str,
        whole: String,
        message: String,
        help: &str,
    ) -> SettingsError {
        let span = table.key(key).and_then(Key::span).or_else(|| table.get(key)?.span());
        let (line, _) = self.position(span.map_or(0, |span| span.start));
        SettingsError::Key {
            path: self.path.to_owned(),
            line,
            key: whole,
            message,
            help: help.to_owned(),
        }
    }

    /// Refuses keys that are not known, with the one that was probably meant.
    fn known(
        &self,
        table: &dyn TableLike,
        section: &str,
        known: &[&str],
    ) -> Result<(), SettingsError> {
        let mut keys = table.iter().map(|(key, _)| key);
        let Some(key) = keys.find(|key| !known.contains(key)) else { return Ok(()) };
        let whole = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        let help = suggestion(section, key, known);
        let message = format!("`{whole}` is not a setting");
        Err(self.key_error(table, key, whole, message, &help))
    }

    fn section<'s>(
        &'s self,
        root: &'s dyn TableLike,
        name: &str,
    ) -> Result<Option<Section<'s>>, SettingsError> {
        self.section_in(root, name, name)
    }

    fn section_in<'s>(
        &'s self,
        parent: &'s dyn TableLike,
        name: &str,
        whole: &str,
    ) -> Result<Option<Section<'s>>, SettingsError> {
        let Some(item) = parent.get(name) else { return Ok(None) };
        match item.as_table_like() {
            Some(table) => Ok(Some(Section { file: self, name: whole.to_owned(), table })),
            None => {
                let message = format!("`{whole}` is a section, not a value");
                let help = format!("write [{whole}] and its keys below");
                Err(self.key_error(parent, name, whole.to_owned(), message, &help))
            }
        }
    }
}

fn suggestion(section: &str, key: &str, known: &[&str]) -> String {
    let near = |candidate: &&&str| {
        let (a, b) = (candidate.replace('_', ""), key.replace(['_', '-'], "").to_lowercase());
        a == b || distance(&a, &b) <= 2
    };
    if let Some(name) = known.iter().find(near) {
        return format!("write `{name}`");
    }
    let elsewhere = KEYS.iter().find(|(name, keys)| *name != section && keys.contains(&key));
    match elsewhere {
        Some((name, _)) if *name != "command" => format!("it belongs into [{name}]"),
        _ if section.is_empty() => format!("sections are {}", known.join(", ")),
        _ => format!("[{section}] has {}", known.join(", ")),
    }
}

struct Section<'a> {
    file: &'a File<'a>,
    name: String,
    table: &'a dyn TableLike,
}

impl Section<'_> {
    fn get(&self, key: &str) -> Option<&Item> {
        self.table.get(key)
    }

    fn error(&self, key: &str, message: String, help: &str) -> SettingsError {
        let whole = format!("{}.{key}", self.name);
        self.file.key_error(self.table, key, whole, message, help)
    }

    fn wrong(&self, key: &str, what: &str, help: &str) -> SettingsError {
        let value = self.get(key).map_or_else(String::new, |item| item.to_string());
        let message = format!("`{}.{key}` is {}, not {what}", self.name, value.trim());
        self.error(key, message, help)
    }

    fn text(&self, key: &str, into: &mut String) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        let Some(text) = item.as_str() else {
            return Err(self.wrong(key, "a text", &format!("write it in quotes: {key} = \"…\"")));
        };
        *into = text.trim().to_owned();
        Ok(())
    }

    fn optional(&self, key: &str, into: &mut Option<String>) -> Result<(), SettingsError> {
        let mut text = into.take().unwrap_or_default();
        self.text(key, &mut text)?;
        *into = (!text.is_empty()).then_some(text);
        Ok(())
    }

    fn url(&self, key: &str, into: &mut Option<String>) -> Result<(), SettingsError> {
        self.optional(key, into)?;
        let good = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if into.as_ref().is_some_and(|url| !good(url)) {
            let help = "write it with its scheme, such as http://127.0.0.1:4096";
            return Err(self.wrong(key, "a URL", help));
        }
        Ok(())
    }

    fn flag(&self, key: &str, into: &mut bool) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        *into = item.as_bool().ok_or_else(|| {
            self.wrong(key, "true or false", &format!("write {key} = true or {key} = false"))
        })?;
        Ok(())
    }

    fn number(&self, key: &str, min: u32, max: u32, into: &mut u32) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        let number = item.as_integer().and_then(|number| u32::try_from(number).ok());
        *into = number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
            let what = format!("a whole number from {min} to {max}");
            self.wrong(key, &what, &format!("write {key} = {into}, the default, or another"))
        })?;
        Ok(())
    }

    fn duration(&self, key: &str, into: &mut Duration) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        let duration = item.as_str().and_then(|text| parse_duration(text).ok());
        *into = duration.filter(|duration| !duration.is_zero()).ok_or_else(|| {
            self.wrong(key, "a duration", "write one in quotes, such as \"30s\", \"5m\" or \"2h\"")
        })?;
        Ok(())
    }

    fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
        into: &mut T,
    ) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        let found = words.iter().find(|(word, _)| item.as_str() == Some(word));
        *into = found.map(|(_, value)| *value).ok_or_else(|| {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let all = all.join(" or ");
            self.wrong(key, &all, &format!("write {key} = {all}"))
        })?;
        Ok(())
    }

    fn texts(&self, key: &str, into: &mut Vec<String>) -> Result<(), SettingsError> {
        let Some(item) = self.get(key) else { return Ok(()) };
        let texts = item.as_array().and_then(|array| {
            array.iter().map(|value: &Value| value.as_str().map(str::to_owned)).collect()
        });
        *into = texts.ok_or_else(|| {
            let help = "write a list of texts; it is never given to a shell";
            self.wrong(key, "a list of texts", help)
        })?;
        Ok(())
    }
}
