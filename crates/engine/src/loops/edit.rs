//! Switching a loop on and off: one token changes, every other byte stays.

use super::frontmatter::line_at;
use super::header::{self, Header};
use super::parse::parse;
use super::text::Lines;
use super::write::{WriteError, read_file, write_file};
use super::yaml::{Content, entry};
use std::ops::Range;
use std::path::Path;

/// Why a loop file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file is malformed; the text is the first finding.
    #[error("the loop file is malformed, line {line}: {message}; repair it first")]
    Malformed {
        /// The line of the finding, 1-based.
        line: u32,
        /// What is wrong there.
        message: String,
    },
    /// The header is written in a way in which the token cannot be replaced alone.
    #[error("`enabled` cannot be changed without rewriting line {line}: edit the file by hand")]
    Entangled {
        /// The line of the value, 1-based.
        line: u32,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Returns the file with `enabled` as wanted: the value's token is replaced, or a line is inserted
/// before the closing fence. A file that already says so comes back as it is.
///
/// # Errors
/// [`EditError::Malformed`] for a file that defines no loop: it stays untouched.
pub fn set_enabled(bytes: &[u8], enabled: bool) -> Result<Vec<u8>, EditError> {
    let parsed = parse(bytes);
    let Some(definition) = &parsed.definition else {
        let first =
            parsed.diagnostics.iter().find(|finding| finding.severity == super::Severity::Error);
        let (line, message) = match first {
            Some(finding) => (finding.line, finding.message.clone()),
            None => (1, "it defines no loop".to_owned()),
        };
        return Err(EditError::Malformed { line, message });
    };
    let text = String::from_utf8_lossy(bytes);
    let lines = Lines::new(&text);
    let header = header::read(&text, &lines).map_err(|finding| EditError::Malformed {
        line: finding.line,
        message: finding.message.clone(),
    })?;
    let Some((range, new)) = change(&text, &header, enabled) else { return Ok(bytes.to_vec()) };
    let line = lines.line(range.start);
    let (start, end) = (raw_offset(bytes, range.start), raw_offset(bytes, range.end));
    let mut out = Vec::with_capacity(bytes.len() + new.len());
    out.extend_from_slice(&bytes[..start]);
    out.extend_from_slice(new.as_bytes());
    out.extend_from_slice(&bytes[end..]);
    // The last word is the parser's: only `enabled` may have changed.
    let mut wanted = definition.clone();
    wanted.enabled = enabled;
    if parse(&out).definition.as_ref() != Some(&wanted) {
        return Err(EditError::Entangled { line });
    }
    Ok(out)
}

/// Finds the bytes to replace and what by; `None` when nothing has to change.
fn change(text: &str, header: &Header, enabled: bool) -> Option<(Range<usize>, String)> {
    let word = if enabled { "true" } else { "false" };
    let (entries, flow) = match &*header.root.content {
        Content::Mapping { entries, flow } => (entries, *flow),
        _ => return None,
    };
    if let Some((key, value)) = entry(entries, "enabled") {
        if value.bool() == Some(enabled) {
            return None;
        }
        if value.range.is_empty() {
            // `enabled:` with nothing behind it: the word goes behind the colon.
            let colon = text[key.range.end..].find(':').map(|at| key.range.end + at + 1)?;
            return Some((colon..colon, format!(" {word}")));
        }
        if let Content::Scalar { block: true, .. } = &*value.content {
            return None
                .or(Some((block_start(text, key.range.end)..value.range.end, word.to_owned())));
        }
        return Some((value.range.clone(), word.to_owned()));
    }
    if flow {
        let close = header.root.range.end.checked_sub(1)?;
        let inside = text[header.root.range.start + 1..close].trim_end();
        let at = header.root.range.start + 1 + inside.len();
        let comma = if inside.ends_with(',') { " " } else { ", " };
        return Some((at..at, format!("{comma}enabled: {word}")));
    }
    // The line end of the closing fence's neighbour, so that a mixed file keeps its habit there.
    let before = &text[..header.parts.closing];
    let end = if before.ends_with("\r\n") { "\r\n" } else { "\n" };
    let indent = header.root.range.start - line_start(text, header.root.range.start);
    let at = header.parts.closing;
    let pad = &text[header.root.range.start - indent..header.root.range.start];
    let pad = if pad.bytes().all(|byte| byte == b' ') { pad } else { "" };
    Some((at..at, format!("{pad}enabled: {word}{end}")))
}

/// Where a block scalar's indicator stands behind its key.
fn block_start(text: &str, key_end: usize) -> usize {
    let (line, _) = line_at(text, key_end);
    text[line.clone()].find(['|', '>']).map_or(line.start, |at| line.start + at)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// Maps an offset in the lossy text to one in the bytes.
fn raw_offset(bytes: &[u8], offset: usize) -> usize {
    let (mut lossy, mut raw) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if offset <= lossy + valid {
            return raw + (offset - lossy);
        }
        lossy += valid;
        raw += valid + chunk.invalid().len();
        if !chunk.invalid().is_empty() {
            lossy += '\u{fffd}'.len_utf8();
        }
    }
    raw
}

/// Switches a loop file on or off in place; the answer says whether it changed.
///
/// # Errors
/// As [`set_enabled`] and [`write_file`].
pub fn toggle_file(path: &Path, enabled: bool) -> Result<bool, EditError> {
    let bytes = read_file(path)?;
    let changed = set_enabled(&bytes, enabled)?;
    if changed == bytes {
        return Ok(false);
    }
    write_file(path, &changed)?;
    Ok(true)
}
