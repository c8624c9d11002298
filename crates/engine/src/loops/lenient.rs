//! The second pass over a header that is not YAML: values with an unquoted colon are taken as text.
//!
//! OpenCode reads its own markdown files in this way, and the peer reads loops with it, so that
//! `name: digest: daily` works there and has to work here.

use super::frontmatter::line_at;
use std::ops::Range;

/// A header with its colons made safe.
pub(crate) struct Lenient {
    /// The header to read in place of the first.
    pub(crate) text: String,
    /// Pairs of offsets (in `text`, in the first header), ascending: from there on, both advance
    /// alike until the next pair.
    pieces: Vec<(usize, usize)>,
    /// The values that were taken as text, as ranges of the first header.
    pub(crate) values: Vec<Range<usize>>,
}

impl Lenient {
    /// Maps an offset of [`Lenient::text`] to one of the first header.
    pub(crate) fn place(&self, offset: usize) -> usize {
        let index = self.pieces.partition_point(|(new, _)| *new <= offset).max(1) - 1;
        let (new, old) = self.pieces[index];
        let mapped = old + offset.saturating_sub(new);
        match self.pieces.get(index + 1) {
            Some((_, next)) => mapped.min(*next),
            None => mapped,
        }
    }
}

/// Rewrites the header; `None` when there was nothing to rewrite.
pub(crate) fn rewrite(head: &str) -> Option<Lenient> {
    let mut out = Lenient {
        text: String::with_capacity(head.len() + 64),
        pieces: vec![(0, 0)],
        values: vec![],
    };
    let mut start = 0;
    while start < head.len() {
        let (line, next) = line_at(head, start);
        match colon_value(&head[line.clone()]) {
            Some((key, value)) => {
                out.text.push_str(&head[line.start..line.start + key]);
                out.text.push_str(": |-\n  ");
                let value = line.start + value.start..line.start + value.end;
                out.pieces.push((out.text.len(), value.start));
                out.text.push_str(&head[value.clone()]);
                out.pieces.push((out.text.len(), line.end));
                out.text.push_str(&head[line.end..next]);
                out.values.push(value);
            }
            None => out.text.push_str(&head[start..next]),
        }
        start = next;
        out.pieces.push((out.text.len(), start));
    }
    (!out.values.is_empty()).then_some(out)
}

/// Finds, in an unindented `key: value` line, a bare value with a colon in it: the length of the
/// key and the range of the value.
fn colon_value(line: &str) -> Option<(usize, Range<usize>)> {
    let (key, value) = key_and_value(line)?;
    let text = &line[value.clone()];
    let bare = !text.starts_with(['"', '\'']) && text.contains(':');
    bare.then_some((key, value))
}

/// Splits an unindented `key: value` line: the length of the key and the range of the trimmed
/// value, which may be empty.
pub(crate) fn key_and_value(line: &str) -> Option<(usize, Range<usize>)> {
    let key = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    if key == 0 || line.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    let blank = line[key..].len() - line[key..].trim_start().len();
    let after = line[key + blank..].strip_prefix(':')?;
    let start = line.len() - after.trim_start().len();
    let end = line.trim_end().len().max(start);
    Some((key, start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_values_with_colons_as_text_and_knows_where_they_were() {
        let head = "name: a: b: c\r\nenabled: true\nurl: \"x: y\"\nlast: q: r";
        let lenient = rewrite(head).expect("two lines have a bare colon");
        assert_eq!(
            lenient.text,
            "name: |-\n  a: b: c\r\nenabled: true\nurl: \"x: y\"\nlast: |-\n  q: r"
        );
        for word in ["a: b: c", "enabled", "true", "url", "q: r"] {
            let new = lenient.text.find(word).unwrap();
            assert_eq!(Some(lenient.place(new)), head.find(word), "{word} is found again");
        }
        assert_eq!(&head[lenient.values[1].clone()], "q: r");
        assert!(rewrite("name: a\nschedule: */5 * * * *").is_none(), "no colon, nothing to do");
    }
}
