//! A new loop file from a few values, quoted so that it reads back as what was asked for.

use super::text::{js_trim, quote};
use super::write::{WriteError, write_new_file};
use super::yaml::is_number;
use super::{Diagnostic, Severity, parse};
use crate::task::Definition;
use crate::task::policy::Policy;
use std::fs;
use std::path::{Path, PathBuf};

/// What a new loop is to say; texts are trimmed as the parser trims them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewLoop {
    /// Its name.
    pub name: String,
    /// A cron expression.
    pub schedule: String,
    /// Provider and model, with a slash between.
    pub model: String,
    /// Whether it is armed from the start.
    pub enabled: bool,
    /// The agent; `None` writes no line.
    pub agent: Option<String>,
    /// The IANA zone; `None` writes no line, and the machine's zone goes into the task.
    pub timezone: Option<String>,
    /// What it asks for beyond that; an empty one writes no mapping.
    pub policy: Policy,
    /// The prompt.
    pub prompt: String,
}

impl NewLoop {
    /// Returns a loop to begin with: off, every weekday morning, on the built-in demo.
    pub fn example(name: &str) -> NewLoop {
        NewLoop {
            name: name.to_owned(),
            schedule: "0 9 * * 1-5".to_owned(),
            model: "demo/echo".to_owned(),
            prompt: "Say what should happen here, in plain words.".to_owned(),
            ..NewLoop::default()
        }
    }
}

/// Why a loop was not created.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A value makes no loop; the findings say which.
    #[error("the loop would be malformed: {}", first(.diagnostics))]
    Malformed {
        /// What the parser says of the text, positions as in the text that would be written.
        diagnostics: Vec<Diagnostic>,
    },
    /// The text would read back as another loop than was asked for.
    #[error("the {field} would read back as something else: write the file by hand")]
    Distorted {
        /// The field that would differ.
        field: &'static str,
    },
    /// Every file name that was tried is taken.
    #[error("{} and 99 further names are taken: choose another name", path.display())]
    NoName {
        /// The first name that was tried.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    let error = diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    error.map_or_else(String::new, |finding| match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    })
}

/// Writes a loop file's text and reads it back.
///
/// # Errors
/// When the text defines no loop, or another than was asked for.
pub fn render(new: &NewLoop) -> Result<String, TemplateError> {
    let mut text = format!(
        "---\nname: {}\nschedule: {}\nenabled: {}\nmodel: {}\n",
        scalar(&new.name),
        quote(js_trim(&new.schedule)),
        new.enabled,
        scalar(&new.model),
    );
    for (key, value) in [("agent", &new.agent), ("timezone", &new.timezone)] {
        if let Some(value) = value.as_deref().map(js_trim).filter(|value| !value.is_empty()) {
            text.push_str(&format!("{key}: {}\n", scalar(value)));
        }
    }
    push_policy(&mut text, &new.policy);
    text.push_str(&format!("---\n\n{}\n", js_trim(&new.prompt)));
    let parsed = parse(text.as_bytes());
    match parsed.definition {
        Some(definition) => match difference(new, &definition) {
            None => Ok(text),
            Some(field) => Err(TemplateError::Distorted { field }),
        },
        None => Err(TemplateError::Malformed { diagnostics: parsed.diagnostics }),
    }
}

/// Creates a loop file in a folder, which is created when it is not there. The file is named after
/// the loop and never replaces another.
///
/// # Errors
/// As [`render`]; or when the file cannot be written.
pub fn create_from_template(folder: &Path, new: &NewLoop) -> Result<PathBuf, TemplateError> {
    let text = render(new)?;
    create_with_text(folder, &new.name, text.as_bytes())
}

/// Creates a file with a text as it stands, be it a loop or not yet. The file is named after
/// `name` and never replaces another.
///
/// # Errors
/// When the file cannot be written.
pub fn create_with_text(folder: &Path, name: &str, text: &[u8]) -> Result<PathBuf, TemplateError> {
    fs::create_dir_all(folder).map_err(WriteError::io(folder, "create"))?;
    let stem = stem(name);
    for number in 1..=100 {
        let name = if number == 1 { format!("{stem}.md") } else { format!("{stem}-{number}.md") };
        let path = folder.join(name);
        match write_new_file(&path, text) {
            Ok(()) => return Ok(path),
            Err(WriteError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(TemplateError::NoName { path: folder.join(format!("{stem}.md")) })
}

fn difference(new: &NewLoop, read: &Definition) -> Option<&'static str> {
    let optional = |text: &Option<String>| {
        text.as_deref().map(js_trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let cron = match &read.schedule {
        crate::task::Schedule::Cron { cron, .. } => cron.as_str(),
        _ => "",
    };
    let model = js_trim(&new.model).split_once('/');
    let model = model.map(|(provider, model)| (js_trim(provider), js_trim(model)));
    let read_model = (read.execution.provider_id.as_str(), read.execution.model_id.as_str());
    [
        ("name", read.name == js_trim(&new.name)),
        ("schedule", cron == js_trim(&new.schedule)),
        ("enabled", read.enabled == new.enabled),
        ("model", model == Some(read_model)),
        ("agent", read.execution.agent == optional(&new.agent)),
        ("timezone", read.schedule.timezone() == optional(&new.timezone).as_deref()),
        ("policy", read.policy.as_deref().cloned().unwrap_or_default() == new.policy),
        ("prompt", *read.execution.prompt == *js_trim(&new.prompt)),
    ]
    .into_iter()
    .find(|(_, same)| !same)
    .map(|(field, _)| field)
}

/// Writes the `policy:` mapping: a line for each key, lists and the budget as JSON, which YAML reads.
fn push_policy(text: &mut String, policy: &Policy) {
    let Ok(serde_json::Value::Object(keys)) = serde_json::to_value(policy) else { return };
    if !keys.is_empty() {
        text.push_str("policy:\n");
    }
    for (key, value) in keys {
        let value = value.as_str().map_or_else(|| value.to_string(), scalar);
        text.push_str(&format!("  {key}: {value}\n"));
    }
}

/// Writes a scalar, plain only where no reader of any YAML version could take it for more.
fn scalar(value: &str) -> String {
    let value = js_trim(value);
    let word = value.to_ascii_lowercase();
    let plain = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'))
        && !is_number(value)
        && !matches!(
            word.as_str(),
            "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null"
        );
    if plain { value.to_owned() } else { quote(value) }
}

/// Makes a file name of a loop's name.
fn stem(name: &str) -> String {
    let mut stem = String::new();
    for char in js_trim(name).chars().take(60) {
        if char.is_alphanumeric() {
            stem.extend(char.to_lowercase());
        } else if !stem.is_empty() && !stem.ends_with('-') {
            stem.push('-');
        }
    }
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "loop".to_owned() } else { stem.to_owned() }
}
