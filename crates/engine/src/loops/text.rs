//! Positions and white space as JavaScript counts them, which is how editors and the peer do.

/// Maps byte offsets of a text to 1-based lines and UTF-16 columns, and back.
///
/// A line ends at `\n`; the `\r` before it belongs to the line.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Indexes a text.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Lines { text, starts }
    }

    /// Returns the line and column of a byte offset; an offset past the end is the end.
    pub(crate) fn position(&self, offset: usize) -> (u32, u32) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let mut before = &self.text[self.starts[line]..offset];
        if line == 0 {
            // Editors do not show a byte-order mark as a column.
            before = before.strip_prefix('\u{feff}').unwrap_or(before);
        }
        (count(line + 1), count(utf16_len(before) + 1))
    }

    /// Returns the byte offset of a position; `None` when the text has no such place.
    pub(crate) fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let line = usize::try_from(line).ok()?.checked_sub(1)?;
        let mut left = usize::try_from(column).ok()?.checked_sub(1)?;
        let mut start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        if line == 0 && self.text.starts_with('\u{feff}') {
            start += '\u{feff}'.len_utf8();
        }
        for (at, char) in self.text[start..end].char_indices() {
            if left == 0 {
                return Some(start + at);
            }
            left = left.checked_sub(char.len_utf16())?;
        }
        (left == 0).then_some(end)
    }

    /// Returns the line number (1-based) of a byte offset.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        self.position(offset).0
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Counts UTF-16 units.
pub(crate) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Says whether the peer's trimming removes a character: JavaScript's white space, which has the
/// byte-order mark and lacks U+0085.
fn is_js_space(char: char) -> bool {
    char == '\u{feff}' || (char.is_whitespace() && char != '\u{85}')
}

/// Trims as the peer does.
pub(crate) fn js_trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}

/// Writes a YAML double-quoted scalar on one line that reads back as `value`.
pub(crate) fn quote(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for char in value.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let code = u32::from(c);
                if code <= 0xff {
                    out.push_str(&format!("\\x{code:02X}"));
                } else {
                    out.push_str(&format!("\\u{code:04X}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf16_units_and_skip_the_byte_order_mark() {
        let text = "\u{feff}a🙂b\r\nй!";
        let lines = Lines::new(text);
        let b = text.find('b').unwrap();
        assert_eq!(lines.position(b), (1, 4), "an emoji is two units, the mark none");
        assert_eq!(lines.position(text.find('!').unwrap()), (2, 2));
        for at in text.char_indices().map(|(at, _)| at).skip(1) {
            let (line, column) = lines.position(at);
            assert_eq!(lines.offset(line, column), Some(at), "the two directions agree");
        }
        assert_eq!(lines.offset(3, 1), None, "there is no third line");
        assert_eq!(lines.offset(1, 3), None, "the middle of an emoji is not a place");
    }

    #[test]
    fn trims_what_javascript_trims() {
        assert_eq!(js_trim("\u{feff}\u{a0}\u{3000}\t x \n"), "x");
        assert_eq!(js_trim("\u{85}x\u{200b}"), "\u{85}x\u{200b}");
    }
}
