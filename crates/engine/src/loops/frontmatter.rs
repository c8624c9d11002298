//! Where the header of a loop file begins and ends.

use std::ops::Range;

/// The two parts of a loop file, as byte ranges of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The header between the fences, without the line end before the closing fence.
    pub(crate) head: Range<usize>,
    /// Where the closing fence begins.
    pub(crate) closing: usize,
    /// Everything behind the closing fence's line end.
    pub(crate) body: Range<usize>,
}

/// Why a text has no header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoHeader {
    /// The first line is not exactly `---`; the range covers it.
    Opening(Range<usize>),
    /// No later line is exactly `---`; the range covers a line that was perhaps meant, else the
    /// last one.
    Closing(Range<usize>),
}

/// Finds the fences: the first line and the next one that are exactly `---`. A byte-order mark
/// before the first is tolerated, and so is a closing fence at the end of the file.
pub(crate) fn split(text: &str) -> Result<Parts, NoHeader> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (first, mut next) = line_at(text, start);
    if &text[first.clone()] != "---" || next == first.end {
        return Err(NoHeader::Opening(first));
    }
    let head_start = next;
    let mut near = None;
    let mut last = first;
    while next < text.len() {
        let (line, after) = line_at(text, next);
        let content = &text[line.clone()];
        if content == "---" {
            let head_end = strip_line_end(text, head_start, line.start);
            return Ok(Parts {
                head: head_start..head_end,
                closing: line.start,
                body: after..text.len(),
            });
        }
        let almost = content.trim_end();
        if near.is_none()
            && (almost == "---" || almost == "..." || almost == "----" || almost == "--")
        {
            near = Some(line.clone());
        }
        last = line;
        next = after;
    }
    Err(NoHeader::Closing(near.unwrap_or(last)))
}

/// Returns the line that begins at `start` without its line end, and where the next one begins.
pub(crate) fn line_at(text: &str, start: usize) -> (Range<usize>, usize) {
    match text[start..].find('\n') {
        Some(length) => {
            let end = start + length;
            let content_end = if text[start..end].ends_with('\r') { end - 1 } else { end };
            (start..content_end, end + 1)
        }
        None => (start..text.len(), text.len()),
    }
}

fn strip_line_end(text: &str, from: usize, to: usize) -> usize {
    let head = &text[from..to];
    let head = head.strip_suffix('\n').unwrap_or(head);
    from + head.strip_suffix('\r').unwrap_or(head).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(&str, &str)> {
        split(text).ok().map(|parts| (&text[parts.head], &text[parts.body]))
    }

    #[test]
    fn finds_exact_fences_only() {
        assert_eq!(parts("---\na: 1\n---\nb\n"), Some(("a: 1", "b\n")));
        assert_eq!(parts("\u{feff}---\r\na: 1\r\n---\r\nb"), Some(("a: 1", "b")));
        assert_eq!(parts("---\na: 1\n---"), Some(("a: 1", "")), "a fence may end the file");
        assert_eq!(parts("---\n---\nb"), Some(("", "b")));
        for text in ["", "---", "---\n", "--- \na\n---\n", "---\na\n----\n", "---\ra\r---\r"] {
            assert_eq!(parts(text), None, "{text:?} has no pair of fences");
        }
    }
}
