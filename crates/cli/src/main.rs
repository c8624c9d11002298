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
mod visible;

use clap::{CommandFactory as _, Parser};
use commands::Command;
use context::Context;
use environment::Environment;
use failure::{Failure, Outcome};
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

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
    loopkeeper_engine::memory::keep_heap_small();
    let cli = Cli::parse();
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(message) => {
            eprintln!("loopkeeper: {message}");
            return ExitCode::from(failure::UNREACHABLE);
        }
    };
    let _log = log(&environment, matches!(cli.command, Command::Serve(_)));
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
    // One thread wakes for what is due; files, the ledger and terminals are waited for elsewhere.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
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

/// How many lines of the log may wait for a terminal that stands still; later ones are dropped.
const LINES_WAITING: usize = 1_000;

/// Logs to standard error: what goes wrong, and with `serve` what goes on. A stopped terminal
/// (Ctrl-S) must not hold the scheduler up, so `serve` writes from a thread of its own; what waits
/// is written when the answer is dropped.
fn log(environment: &Environment, serving: bool) -> Option<WorkerGuard> {
    let usual = if serving { "info,hyper=warn,reqwest=warn" } else { "warn" };
    let filter = environment.machine.log.as_deref().unwrap_or(usual);
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let (writer, guard) = if serving {
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(LINES_WAITING)
            .thread_name("log")
            .finish(std::io::stderr());
        (BoxMakeWriter::new(writer), Some(guard))
    } else {
        (BoxMakeWriter::new(std::io::stderr), None)
    };
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(environment.progress && environment.colour)
        .with_target(false)
        .try_init();
    guard
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
