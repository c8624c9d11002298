//! Answers vector files, so that `score.mjs` can compare: one `{"id", "got"}` line a case.
//!
//! `cargo run -q -p loopkeeper-engine --example vectors -- FILE > RESULTS`

mod claim;
mod command;
mod loops;
mod next_run;
mod normalize;
mod reconcile;
mod toggle;

use serde_json::{Value, json};
use std::fmt::Display;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Answers one case; `None` when the kind of case is not answered here (it then counts as missing).
type Answer = fn(&Value) -> Option<Value>;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!(
            "usage: vectors FILE\nname a file of cases, such as tests/vectors/next_run.jsonl"
        );
        return ExitCode::from(2);
    };
    match answer_file(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}: {message}", file.display());
            ExitCode::FAILURE
        }
    }
}

fn answer_file(file: &std::ffi::OsStr) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in answers(&text)? {
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}

/// Answers every case of a file's text, with one line each.
///
/// # Errors
/// A line that is no case.
pub fn answers(text: &str) -> Result<Vec<Value>, String> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let failed = |error: &dyn Display| format!("line {}: {error}", index + 1);
        let case: Value = serde_json::from_str(line).map_err(|error| failed(&error))?;
        let id = case.get("id").ok_or_else(|| failed(&"the case has no id"))?;
        let answer = kind_of(&case).ok_or_else(|| failed(&"the case is of no known kind"))?;
        if let Some(got) = answer(&case) {
            lines.push(json!({ "id": id, "got": got }));
        }
    }
    Ok(lines)
}

/// Tells the kind of a case by its keys, which differ between all kinds (`SCHEMA.md`).
fn kind_of(case: &Value) -> Option<Answer> {
    let has = |key: &str| case.get(key).is_some();
    if has("fn") {
        Some(command::answer)
    } else if has("steps") || has("tree") {
        Some(reconcile::answer)
    } else if has("scheduled_for") {
        Some(claim::answer)
    } else if has("input") {
        Some(normalize::answer)
    } else if has("task") && has("now") {
        Some(next_run::answer)
    } else if has("rule") {
        Some(toggle::answer)
    } else if has("text") || has("base64") || has("text_parts") {
        Some(loops::answer)
    } else {
        None
    }
}
