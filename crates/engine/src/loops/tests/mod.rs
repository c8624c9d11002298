//! Tests over whole loop files; those of single functions stand beside them.

mod create;
mod discovery;
mod parsing;
mod policies;
mod recorded;
mod toggling;
mod trashing;
mod unprivileged;

use super::{Diagnostic, Parsed, parse};

/// A loop file with these lines between name and prompt.
fn file(lines: &str) -> String {
    format!("---\nname: a\nschedule: \"0 9 * * *\"\nmodel: p/m\n{lines}---\nDo it\n")
}

fn read(text: &str) -> Parsed {
    parse(text.as_bytes())
}

fn find<'a>(parsed: &'a Parsed, code: &str) -> &'a Diagnostic {
    parsed
        .diagnostics
        .iter()
        .find(|finding| finding.code == code)
        .unwrap_or_else(|| panic!("no `{code}` among {:#?}", parsed.diagnostics))
}

/// Applies the fix of a finding.
fn fixed(text: &str, code: &str) -> String {
    let parsed = read(text);
    let finding = find(&parsed, code);
    let fix = finding.fix.as_ref().unwrap_or_else(|| panic!("`{code}` has no fix"));
    fix.apply(text).expect("a fix fits the text it was made for")
}
