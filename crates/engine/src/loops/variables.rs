//! `{{names}}` in prompts: filled in at dispatch with `policy: {variables: true}`, checked here.

use super::diagnostic::Severity;
use super::fields::near;
use super::parse::Reader;
use std::ops::Range;

/// The names that are filled in.
pub const VARIABLES: [&str; 4] = ["scheduled_for", "last_result", "last_success_at", "project"];

/// How many findings on names are worth reading.
const MOST_REPORTED: usize = 50;

/// Finds every `{{name}}` of a prompt: the name without blanks, and the range with the braces.
pub fn variables(prompt: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = prompt[from..].find("{{").map(|at| from + at) {
        let inside = &prompt[open + 2..];
        let end = inside.find(['{', '}', '\n']).unwrap_or(inside.len());
        let name = inside[..end].trim();
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if named && inside[end..].starts_with("}}") {
            found.push((name, open..open + 2 + end + 2));
            from = open + 2 + end + 2;
        } else {
            from = open + 1;
        }
    }
    found
}

/// Reports names that are not filled in. `start` is where the prompt stands in the file.
pub(crate) fn check(reader: &mut Reader<'_>, start: usize, prompt: &str, on: bool) {
    let mut reported = 0;
    for (name, range) in variables(prompt) {
        if reported >= MOST_REPORTED {
            break;
        }
        let known = VARIABLES.contains(&name);
        let range = start + range.start..start + range.end;
        let finding = if on && !known {
            let all = VARIABLES.map(|name| format!("{{{{{name}}}}}")).join(", ");
            let finding = reader
                .finding(
                    Severity::Warning,
                    "unknown-variable",
                    range.clone(),
                    format!("`{{{{{name}}}}}` is not known and stays as it is written"),
                )
                .help(format!("known are {all}"));
            match VARIABLES.into_iter().find(|known| near(name, known)) {
                Some(meant) => finding.fix(
                    reader.lines,
                    format!("Write {{{{{meant}}}}}"),
                    range,
                    format!("{{{{{meant}}}}}"),
                ),
                None => finding,
            }
        } else if !on && known {
            reader
                .finding(
                    Severity::Info,
                    "variables-off",
                    range,
                    format!("`{{{{{name}}}}}` stays as it is written"),
                )
                .help("to have it filled in, add to the header: policy: {variables: true}")
        } else {
            continue;
        };
        reader.diagnostics.push(finding);
        reported += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_in_double_braces_only() {
        let names: Vec<&str> =
            variables("{{project}} {{ last_result }} {{{x}}} {{a b}} {{}} {{open")
                .into_iter()
                .map(|(name, _)| name)
                .collect();
        assert_eq!(names, ["project", "last_result", "x"]);
    }
}
