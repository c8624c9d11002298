//! `completions`: a script for a shell.

use crate::failure::{DONE, Outcome};
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::whole(), "loopkeeper", &mut script);
    // A reader that went away is no fault.
    let _ = std::io::Write::write_all(&mut std::io::stdout().lock(), &script);
    Ok(DONE)
}
