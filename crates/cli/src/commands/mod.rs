//! The commands, one file each.

mod answer;
mod approve;
mod cancel;
mod check;
mod completions;
mod create;
mod delete;
mod doctor;
mod import;
mod list;
mod next;
mod open;
mod pause;
mod plan;
mod projects;
mod reference;
mod resume;
mod run;
mod runs;
mod serve;
mod service;
mod status;
mod toggle;
mod watch;

use crate::context::Context;
use crate::failure::Outcome;
use clap::Subcommand;

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the scheduler, the REST interface and the web page in the foreground
    Serve(serve::Args),
    /// Open the page of the running server in a browser (a fresh one-time link)
    Open(open::Args),
    /// List tasks
    List(list::Args),
    /// Say what is armed, what runs, and what needs you
    Status(status::Args),
    /// Make a task without a loop file
    Create(Box<create::Args>),
    /// Run a task now, to its end
    Run(run::Args),
    /// Delete a task, or its loop file with --file
    Delete(delete::Args),
    /// Arm a task (a loop: `enabled: true` in its file)
    Enable(toggle::Args),
    /// Take a task off
    Disable(toggle::Args),
    /// Check loop files
    Check(check::Args),
    /// Show the next occurrences of a schedule or a task
    Next(next::Args),
    /// Show every coming occurrence, with what would become of it
    Plan(plan::Args),
    /// List runs, or show one: `runs show ID`
    Runs(runs::Args),
    /// Follow what happens
    Watch(watch::Args),
    /// Answer what a blocked run asks
    Answer(answer::Args),
    /// Stop a run
    Cancel(cancel::Args),
    /// Pause everything
    Pause(pause::Args),
    /// End the pause, or a task's pause after failures
    Resume(resume::Args),
    /// Show what waits for approval, and approve it
    Approve(approve::Args),
    /// List, add and remove projects
    Projects(projects::Args),
    /// Look at everything, and say what to do about it
    Doctor(doctor::Args),
    /// Make loops from a crontab
    Import(import::Args),
    /// Run `serve` at login: a systemd user unit, or a launchd agent
    Service(service::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the help of every command
    #[command(hide = true)]
    Reference,
}

/// Does what was asked.
///
/// # Errors
/// What happened, and what to do.
pub async fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Serve(args) => serve::run(args, context).await,
        Command::Open(args) => open::run(args, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Status(args) => status::run(args, context).await,
        Command::Create(args) => create::run(*args, context).await,
        Command::Run(args) => run::run(args, context).await,
        Command::Delete(args) => delete::run(args, context).await,
        Command::Enable(args) => toggle::run(args, true, context).await,
        Command::Disable(args) => toggle::run(args, false, context).await,
        Command::Check(args) => check::run(args, context).await,
        Command::Next(args) => next::run(args, context).await,
        Command::Plan(args) => plan::run(args, context).await,
        Command::Runs(args) => runs::run(args, context).await,
        Command::Watch(args) => watch::run(args, context).await,
        Command::Answer(args) => answer::run(args, context).await,
        Command::Cancel(args) => cancel::run(args, context).await,
        Command::Pause(args) => pause::run(args, context).await,
        Command::Resume(args) => resume::run(args, context).await,
        Command::Approve(args) => approve::run(args, context).await,
        Command::Projects(args) => projects::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Service(args) => service::run(args, context),
        Command::Completions(args) => completions::run(&args),
        Command::Reference => reference::run(),
    }
}
