//! From the prompt of a task to what an agent is sent: title, variables, snippets, slash commands,
//! goals. Everything here is pure, but for the snippet files that [`snippets`] reads.

pub mod goal;
pub mod slash;
pub mod snippets;
pub mod title;
pub mod variables;

/// Says whether a character is a blank as the peer's language counts them: the line ends, the
/// Unicode space separators and the byte order mark, but not U+0085.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, '\u{feff}') || (c.is_whitespace() && c != '\u{85}')
}
