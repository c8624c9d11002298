//! The help of every command in one text, for the documentation and the test that keeps it.

use crate::failure::{DONE, Outcome};
use std::io::Write as _;

pub fn run() -> Outcome {
    let _ = std::io::stdout().lock().write_all(text().as_bytes());
    Ok(DONE)
}

fn text() -> String {
    let mut out = String::new();
    let mut whole = crate::whole().term_width(100);
    whole.build();
    describe(&mut whole, "loopkeeper", &mut out);
    out
}

fn describe(command: &mut clap::Command, name: &str, out: &mut String) {
    out.push_str(&format!("## {name}\n\n"));
    let help = command.render_long_help().to_string();
    for line in help.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
    for below in command.get_subcommands_mut() {
        if below.get_name() == "help" || below.is_hide_set() {
            continue;
        }
        let name = format!("{name} {}", below.get_name());
        describe(below, &name, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_reference_is_current() {
        let kept = include_str!("../../tests/reference.txt");
        let taken = text();
        let at = taken.lines().zip(kept.lines()).position(|(taken, kept)| taken != kept);
        assert!(
            taken == kept,
            "the help changed (line {:?}): cargo run -p loopkeeper -- reference > crates/cli/tests/reference.txt",
            at.map(|line| line + 1)
        );
    }
}
