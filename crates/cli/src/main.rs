//! Loopkeeper on the command line: `serve`, and a command for everything else.
//!
//! Every command works with and without a running server: it opens the same data folder, and what
//! it does is seen by every other process there. Only `serve` starts timers.

mod commands;
mod context;
mod environment;
mod failure;
mod find;
mod http;
mod output;
mod schedule;

use clap::{CommandFactory as _, Parser};
use commands::Command;
use context::Context;
use environment::Environment;
use failure::{Failure, Outcome};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs AI agents on a schedule, and never runs a slot twice.
#[derive(Debug, Parser)]
#[command(name = "loopkeeper", version, max_term_width = 100, after_help = EXITS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The data folder [default: $OPENCHAMBER_DATA_DIR, else ~/.config/openchamber]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A running OpenCode server [default: settings, $OPENCODE_HOST, $OPENCODE_PORT, else one is
    /// started]
    #[arg(long, global = true, value_name = "URL")]
    opencode: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Print only what was asked for
    #[arg(short, long, global = true)]
    quiet: bool,
}

const EXITS: &str = "Exit codes: 0 done, 1 failed or findings, 2 usage, 3 refused (already running, not approved), 4 data folder or agent unreachable or port taken.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(message) => {
            eprintln!("loopkeeper: {message}");
            return ExitCode::from(failure::UNREACHABLE);
        }
    };
    log(&environment, matches!(cli.command, Command::Serve(_)));
    let json = cli.json;
    let context =
        Context::new(environment, cli.data_dir.as_deref(), cli.opencode, cli.json, cli.quiet);
    let context = match context {
        Ok(context) => context,
        Err(message) => {
            eprintln!("loopkeeper: {message}");
            return ExitCode::from(failure::USAGE);
        }
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(commands::run(cli.command, &context));
            // A blocking read of standard input must not hold the end up.
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
            outcome
        }
        Err(error) => {
            Err(Failure::new(failure::UNREACHABLE, format!("no thread can be started: {error}")))
        }
    };
    ExitCode::from(finish(outcome, json, &context))
}

fn finish(outcome: Outcome, json: bool, context: &Context) -> u8 {
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            if let Some(value) = failure.json.as_ref().filter(|_| json) {
                context.out.value(value);
            }
            context.out.warn(format!("loopkeeper: {}", failure.message));
            if let Some(help) = &failure.help {
                context.out.warn(format!("  {help}"));
            }
            failure.exit
        }
    }
}

/// Logs to standard error: what goes wrong, and with `serve` what goes on.
fn log(environment: &Environment, serving: bool) {
    let usual = if serving { "info,hyper=warn,reqwest=warn" } else { "warn" };
    let filter = environment.machine.log.as_deref().unwrap_or(usual);
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(environment.progress && environment.colour)
        .with_target(false)
        .try_init();
}

/// Returns the whole command, for help and completions.
pub(crate) fn whole() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_flags_agree_with_each_other() {
        super::whole().debug_assert();
    }
}
