//! A loop file's header: found, read (leniently when it must be), and explained when it cannot.

use super::controls;
use super::diagnostic::{Diagnostic, Severity};
use super::frontmatter::{self, NoHeader, Parts, line_at};
use super::lenient;
use super::text::{Lines, quote};
use super::yaml::{self, ErrorKind, Node, YamlError};
use std::ops::Range;

/// A header that could be read.
pub(crate) struct Header {
    pub(crate) parts: Parts,
    /// The top-level mapping.
    pub(crate) root: Node,
    /// Values that only the lenient pass could read.
    pub(crate) bare: Vec<Range<usize>>,
    /// The first control character that YAML forbids.
    pub(crate) control: Option<Range<usize>>,
}

/// Reads the header of a loop file.
///
/// # Errors
/// The finding that makes the file malformed.
pub(crate) fn read(text: &str, lines: &Lines<'_>) -> Result<Header, Box<Diagnostic>> {
    let parts = frontmatter::split(text).map_err(|why| Box::new(no_header(lines, text, why)))?;
    let base = parts.head.start;
    let head = &text[parts.head.clone()];
    let disguised = controls::disguise(head);
    let source = disguised.as_ref().map_or(head, |disguised| disguised.text.as_str());
    let place = |at| base + disguised.as_ref().map_or(at, |disguised| disguised.place(at));
    let reveal = |text: String| match &disguised {
        Some(disguised) => disguised.reveal(&text),
        None => text,
    };
    let (root, bare) = match yaml::read(source, &place, &reveal) {
        Ok(root) => (root, Vec::new()),
        Err(error) => {
            let retry = if retryable(&error) { lenient::rewrite(source) } else { None };
            let Some(lenient) = retry else {
                return Err(Box::new(explain(lines, text, &parts, &error)));
            };
            match yaml::read(&lenient.text, &|at| place(lenient.place(at)), &reveal) {
                Ok(root) => {
                    (root, lenient.values.iter().map(|v| place(v.start)..place(v.end)).collect())
                }
                Err(second) => return Err(Box::new(explain(lines, text, &parts, &second))),
            }
        }
    };
    let control = disguised.as_ref().map(|found| base + found.first.start..base + found.first.end);
    match root {
        Some(root) if root.entries().is_some() => Ok(Header { parts, root, bare, control }),
        Some(root) => Err(Box::new(
            Diagnostic::new(
                lines,
                Severity::Error,
                "header-not-mapping",
                root.range.clone(),
                format!("The header is {}, not a list of keys with values", root.noun()),
            )
            .help("write one key a line, such as name: daily-digest"),
        )),
        None => Err(Box::new(
            Diagnostic::new(
                lines,
                Severity::Error,
                "header-empty",
                parts.head.clone(),
                "The header holds no keys",
            )
            .help("a loop needs name, schedule and model between the two --- lines"),
        )),
    }
}

/// Says whether reading values as text could help; a duplicate stays one however values are read.
fn retryable(error: &YamlError) -> bool {
    matches!(error.kind, ErrorKind::Syntax(_) | ErrorKind::UnknownAlias)
}

fn no_header(lines: &Lines<'_>, text: &str, why: NoHeader) -> Diagnostic {
    match why {
        NoHeader::Opening(range) => {
            let first = &text[range.clone()];
            let finding = Diagnostic::new(
                lines,
                Severity::Error,
                "no-opening-fence",
                range.clone(),
                if first.contains('\r') {
                    "The lines end with a lone carriage return, so there is no header"
                } else {
                    "The first line is not ---, so there is no header"
                },
            )
            .help("begin the file with a line of exactly ---, then name, schedule and model");
            if first.trim() == "---" && first != "---" && !first.contains('\r') {
                finding.fix(lines, "Write exactly ---", range, "---")
            } else {
                finding
            }
        }
        NoHeader::Closing(range) => {
            let near = &text[range.clone()];
            let finding = Diagnostic::new(
                lines,
                Severity::Error,
                "no-closing-fence",
                range.clone(),
                "The header is never closed: no second line is exactly ---",
            )
            .help("end the header with a line of exactly ---, the prompt follows it");
            if range.start > 0 && matches!(near.trim(), "---" | "..." | "----" | "--") {
                finding.fix(lines, "Write exactly ---", range, "---")
            } else {
                finding
            }
        }
    }
}

/// Turns a YAML error into a finding with a way out.
fn explain(lines: &Lines<'_>, text: &str, parts: &Parts, error: &YamlError) -> Diagnostic {
    let range = error.range.clone();
    let finding = |code: &str, message: String| {
        Diagnostic::new(lines, Severity::Error, code, range.clone(), message)
    };
    match &error.kind {
        ErrorKind::Duplicate(key, first) => {
            let (first, second) = (lines.line(first.start), lines.line(range.start));
            finding(
                "duplicate-key",
                format!("`{key}` stands in line {first} and again in line {second}"),
            )
            .help("keep one of the two lines")
        }
        ErrorKind::TooLarge => finding(
            "alias-bomb",
            "The header grows beyond 10,000 values when its aliases are followed".to_owned(),
        )
        .help("write the values out, or remove what the loop does not need"),
        ErrorKind::TooDeep => {
            finding("too-deep", "Values stand more than 64 levels inside each other".to_owned())
                .help("remove what the loop does not need")
        }
        ErrorKind::SecondDocument => {
            finding("second-document", "A second YAML document begins inside the header".to_owned())
                .help("keep one document between the two --- lines")
        }
        ErrorKind::Tab => {
            finding("tab-indent", "A tab stands in the indentation; YAML wants spaces".to_owned())
                .help("indent with spaces")
                .fix(lines, "Replace the tab by two spaces", range.clone(), "  ")
        }
        ErrorKind::Syntax(_) | ErrorKind::UnknownAlias => {
            if let Some(tab) = indenting_tab(text, parts, range.start) {
                let error = YamlError { kind: ErrorKind::Tab, range: tab };
                return explain(lines, text, parts, &error);
            }
            let open = error.kind != ErrorKind::UnknownAlias;
            if let Some((key, value)) = unquoted(text, parts, range.start, open) {
                return quote_it(lines, text, &key, value);
            }
            match &error.kind {
                ErrorKind::UnknownAlias => {
                    finding("unknown-alias", "The reference names an anchor that is not defined before it".to_owned())
                        .help("define it with &name first; if the star is part of the value, quote the value")
                }
                ErrorKind::Syntax(words) => finding("yaml-syntax", format!("The header is not valid YAML: {words}"))
                    .help("check the quotes, brackets and indentation here; when in doubt, quote the value"),
                _ => finding("yaml-syntax", "The header is not valid YAML".to_owned()),
            }
        }
    }
}

/// Finds a tab in the indentation of the line of an error or the next: where the parser stumbles is
/// often the value above.
fn indenting_tab(text: &str, parts: &Parts, at: usize) -> Option<Range<usize>> {
    let mut start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    for _ in 0..2 {
        if start >= parts.head.end {
            break;
        }
        let (line, next) = line_at(text, start);
        let content = &text[line.clone()];
        let indent = content.len() - content.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = content[..indent].find('\t') {
            return Some(line.start + tab..line.start + tab + 1);
        }
        start = next;
    }
    None
}

/// Finds the bare value that a parser stumbles over: the one in the line of the error, else the
/// first of the header that begins with a character which YAML keeps for itself.
fn unquoted(
    text: &str,
    parts: &Parts,
    at: usize,
    brackets: bool,
) -> Option<(String, Range<usize>)> {
    let mut start = parts.head.start;
    let mut found: Option<(String, Range<usize>)> = None;
    while start < parts.head.end {
        let (line, next) = line_at(text, start);
        if let Some((key, value)) = lenient::key_and_value(&text[line.clone()]) {
            let value = line.start + value.start..line.start + value.end;
            let here = line.start <= at && at <= line.end;
            let special =
                text[value.clone()].starts_with(['*', '@', '`', '%', '?', '-', '|', '>', '&', '!']);
            let open = brackets && text[value.clone()].starts_with(['{', '[']);
            if (special || (here && open)) && (here || found.is_none()) {
                found = Some((text[line.start..line.start + key].to_owned(), value));
                if here {
                    break;
                }
            }
        }
        start = next;
    }
    // A list, block or tag elsewhere is usually meant as such; only in the line of the error is it not.
    found.filter(|(_, value)| {
        let here = lines_between(text, value.start, at) == 0;
        here || text[value.clone()].starts_with(['*', '@', '`', '%'])
    })
}

fn lines_between(text: &str, a: usize, b: usize) -> usize {
    let (from, to) = if a < b { (a, b) } else { (b, a) };
    text.as_bytes()[from..to.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn quote_it(lines: &Lines<'_>, text: &str, key: &str, value: Range<usize>) -> Diagnostic {
    // A comment behind the value stays one.
    let bare = &text[value.clone()];
    let end = bare.find(" #").map_or(value.end, |at| value.start + bare[..at].trim_end().len());
    let value = value.start..end;
    let quoted = quote(&text[value.clone()]);
    let first = text[value.clone()].chars().next().unwrap_or('*');
    Diagnostic::new(
        lines,
        Severity::Error,
        "quote-value",
        value.clone(),
        format!("The value of `{key}` begins with `{first}`, which means something else in YAML"),
    )
    .help(format!("quote it: {key}: {quoted}"))
    .fix(lines, "Quote the value", value, quoted)
}
