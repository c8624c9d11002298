//! Control characters in a header: YAML forbids them, the peer reads them, so they are carried
//! through the parser in disguise.

use std::ops::Range;

/// A header whose control characters were replaced by private-use ones.
pub(crate) struct Disguised {
    /// The header to read in place of the first.
    pub(crate) text: String,
    /// Where the first control character stood.
    pub(crate) first: Range<usize>,
    /// The private-use character that stands for U+0000.
    base: u32,
    /// Offsets in `text` behind each replaced character, and in the first header.
    pieces: Vec<(usize, usize)>,
}

/// Says whether YAML forbids a character that UTF-8 text may hold.
fn is_forbidden(char: char) -> bool {
    char.is_control() && !matches!(char, '\t' | '\n' | '\r' | '\u{85}')
}

/// Replaces the control characters; `None` when there are none.
pub(crate) fn disguise(head: &str) -> Option<Disguised> {
    let (at, first) = head.char_indices().find(|(_, char)| is_forbidden(*char))?;
    // A block of private-use characters that the header does not use itself.
    let base = (0xE000..0xF800)
        .step_by(0x100)
        .find(|base| !head.chars().any(|char| (*base..*base + 0x100).contains(&u32::from(char))))?;
    let mut out = Disguised {
        text: String::with_capacity(head.len() + 8),
        first: at..at + first.len_utf8(),
        base,
        pieces: vec![(0, 0)],
    };
    for (at, char) in head.char_indices() {
        match char::from_u32(base + u32::from(char)).filter(|_| is_forbidden(char)) {
            Some(other) => {
                out.text.push(other);
                out.pieces.push((out.text.len(), at + char.len_utf8()));
            }
            None => out.text.push(char),
        }
    }
    Some(out)
}

impl Disguised {
    /// Maps an offset of [`Disguised::text`] to one of the first header.
    pub(crate) fn place(&self, offset: usize) -> usize {
        let index = self.pieces.partition_point(|(new, _)| *new <= offset).max(1) - 1;
        let (new, old) = self.pieces[index];
        let mapped = old + offset.saturating_sub(new);
        self.pieces.get(index + 1).map_or(mapped, |(_, next)| mapped.min(*next))
    }

    /// Puts the control characters back into a scalar.
    pub(crate) fn reveal(&self, text: &str) -> String {
        let range = self.base..self.base + 0x100;
        text.chars()
            .map(|char| match u32::from(char) {
                code if range.contains(&code) => char::from_u32(code - self.base).unwrap_or(char),
                _ => char,
            })
            .collect()
    }
}
