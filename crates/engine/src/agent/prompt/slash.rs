//! Slash commands: `/name arguments` at the beginning of a prompt.

use super::is_blank;
use serde::{Deserialize, Serialize};

/// A prompt that calls a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// The command's name, without the slash.
    pub command: String,
    /// Everything after it.
    pub arguments: String,
}

/// Reads a prompt that begins with a slash command; `None` when it does not.
///
/// All lines after the first blank are arguments (the peer loses those after the first). Outside
/// quotes a run of blanks on one line counts as one, as the peer has it; line ends and everything
/// inside quotes stay as they are.
pub fn parse_command(prompt: &str) -> Option<SlashCommand> {
    let rest = prompt.trim_matches(is_blank).strip_prefix('/')?;
    let end = rest.find(is_blank).unwrap_or(rest.len());
    let (command, arguments) = rest.split_at(end);
    if command.is_empty() {
        return None;
    }
    Some(SlashCommand { command: command.to_owned(), arguments: single_blanks(arguments) })
}

fn single_blanks(text: &str) -> String {
    let text = text.trim_matches(is_blank);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if matches!(c, '"' | '\'')
            && (out.is_empty() || out.ends_with(is_blank))
            && let Some(length) = rest[1..].find(c)
        {
            let quoted = &rest[..length + 2];
            out.push_str(quoted);
            rest = &rest[quoted.len()..];
        } else if is_line_end(c) {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else if is_blank(c) {
            let after = rest.trim_start_matches(|c| is_blank(c) && !is_line_end(c));
            // Blanks that lead a line are its indentation.
            if out.ends_with(is_line_end) {
                out.push_str(&rest[..rest.len() - after.len()]);
            } else {
                out.push(' ');
            }
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(prompt: &str) -> String {
        parse_command(prompt).expect("a command").arguments
    }

    #[test]
    fn every_line_is_kept_with_its_indentation() {
        assert_eq!(
            arguments("/fix this:\n\n  - one\n  - two"),
            "this:\n\n  - one\n  - two",
            "the peer loses everything after the first line"
        );
    }

    #[test]
    fn an_apostrophe_inside_a_word_quotes_nothing() {
        assert_eq!(arguments("/say don't   stop, it's fun"), "don't stop, it's fun");
    }

    #[test]
    fn a_command_needs_a_name() {
        assert_eq!(parse_command("/"), None);
        assert_eq!(parse_command("/ review"), None);
        assert_eq!(parse_command("see /review"), None);
    }
}
