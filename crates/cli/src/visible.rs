//! Text of others on a terminal: names, errors and answers come from files, agents and programs, and
//! must not steer the terminal. Control characters are shown instead of sent; only our own colours
//! go out as escapes.

use std::hash::BuildHasher as _;
use std::sync::OnceLock;

/// Says what a text is, and so what of it a terminal may act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A line or a cell of a table: nothing breaks out of it.
    Line,
    /// A text of several lines: line ends and tabs are its own.
    Text,
}

/// Marks a text as coloured; [`visible`] makes the escapes of it.
pub fn coloured(code: &str, text: &str) -> String {
    let seal = seal();
    format!("{seal}{code}m{text}{seal}0m")
}

/// Makes a text fit to be printed: colours become escapes, whatever else could steer a terminal or
/// turn the order of its letters becomes a visible sign.
pub fn visible(text: &str, kind: Kind) -> String {
    let mut parts = text.split(seal());
    let mut shown = String::with_capacity(text.len());
    show(parts.next().unwrap_or_default(), kind, &mut shown);
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap_or((part, ""));
        shown.push_str(&format!("\x1b[{code}m"));
        show(rest, kind, &mut shown);
    }
    shown
}

/// Returns the word before each of our own colours. It is drawn anew in every process, so that no
/// text can hold it: an escape in a name is never taken for ours.
fn seal() -> &'static str {
    static SEAL: OnceLock<String> = OnceLock::new();
    SEAL.get_or_init(|| {
        let drawn = std::hash::RandomState::new().hash_one("colours");
        format!("\u{FDD0}{drawn:016x}\u{FDD1}")
    })
}

fn show(text: &str, kind: Kind, shown: &mut String) {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' if kind == Kind::Text => shown.push(c),
            // The line end of another system is one line end.
            '\r' if kind == Kind::Text && rest.peek() == Some(&'\n') => {}
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => shown.push('\u{2421}'),
            '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            _ => shown.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_not_sent() {
        for (text, line) in [
            ("a\x1b]0;pwned\x07\x1b[2Jb", "a␛]0;pwned␇␛[2Jb"),
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("one\ntwo\tthree\r\0\x7f", "one␊two␉three␍␀␡"),
            ("\u{9b}2J \u{202e}txt\u{2066}", "\u{fffd}2J \u{fffd}txt\u{fffd}"),
            ("Grüße, 世界 👩‍💻", "Grüße, 世界 👩‍💻"),
        ] {
            assert_eq!(visible(text, Kind::Line), line, "{text:?}");
        }
    }

    #[test]
    fn a_text_keeps_its_lines_and_tabs_and_nothing_else() {
        let text = "one\r\n\ttwo\rthree\x1b[2J\n";
        assert_eq!(visible(text, Kind::Text), "one\n\ttwo␍three␛[2J\n");
    }

    #[test]
    fn our_own_colours_are_sent_around_a_text_that_is_not() {
        let text = format!("a {} c", coloured("31", "b\x1b[2J\n"));
        assert_eq!(visible(&text, Kind::Line), "a \x1b[31mb␛[2J␊\x1b[0m c");
    }
}
