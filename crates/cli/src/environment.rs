//! What only a program in a terminal reads from its surroundings: the working folder, the terminal,
//! its own file. The rest is [`Surroundings`]; everything else is told.

use loopkeeper_server::{Surroundings, variable};
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// What this process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// What every program of ours finds.
    pub machine: Surroundings,
    /// The working folder.
    pub here: PathBuf,
    /// This program's file.
    pub program: PathBuf,
    /// Whether colours are wanted on standard output: a terminal, and no `NO_COLOR`.
    pub colour: bool,
    /// Whether standard error is a terminal, so that progress can be drawn over.
    pub progress: bool,
    /// Whether standard input is a terminal, so that a question can be asked.
    pub can_ask: bool,
}

impl Environment {
    /// Reads everything.
    ///
    /// # Errors
    /// Says what is missing: a home folder, a working folder.
    #[allow(clippy::disallowed_methods, reason = "the one legal place for the working folder")]
    pub fn read() -> Result<Environment, String> {
        Ok(Environment {
            machine: Surroundings::read()?,
            here: std::env::current_dir()
                .map_err(|error| format!("the working folder cannot be read: {error}"))?,
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("loopkeeper")),
            colour: variable("NO_COLOR").is_none() && std::io::stdout().is_terminal(),
            progress: std::io::stderr().is_terminal(),
            can_ask: std::io::stdin().is_terminal(),
        })
    }
}
