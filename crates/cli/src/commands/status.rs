//! `status`: what is armed, what runs, what needs somebody.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::output::{Ink, away, many};

#[derive(Debug, clap::Args)]
pub struct Args {}

pub async fn run(_: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    if context.out.json {
        context.out.value(&engine.status().await?);
        return Ok(DONE);
    }
    let overview = engine.overview().await?;
    let out = &context.out;
    out.line(format!(
        "{} armed of {} in {}",
        overview.armed,
        many(overview.tasks, "task"),
        many(overview.projects, "project")
    ));
    if let Some(pause) = &overview.paused {
        let until = pause.until.map_or_else(
            || "until `loopkeeper resume`".to_owned(),
            |until| format!("until {}", out.at(until)),
        );
        out.line(out.ink(Ink::Warn, &format!("paused {until}")));
    }
    match &overview.next {
        Some(next) => out.line(format!(
            "next: {}  {}  ({})",
            next.name,
            out.at(next.at),
            away(next.at, overview.now)
        )),
        None => out.line("next: nothing is armed"),
    }
    for run in &overview.running {
        let since = run.started_at.map_or_else(String::new, |at| format!(", since {}", out.at(at)));
        out.line(format!("{}: {} (run {}{since})", out.status(run.status), run.task_name, run.id));
    }
    if !overview.needs_you.is_empty() {
        out.line(out.ink(Ink::Warn, &format!("needs you ({})", overview.needs_you.len())));
    }
    for need in &overview.needs_you {
        out.line(format!("  {}", need.text));
        out.indented("    ", &need.help);
    }
    if overview.stalled {
        out.line(out.ink(Ink::Bad, "the scheduler has stopped looking at the clock: restart it"));
    }
    for warning in &overview.warnings {
        out.line(format!("warning: {}", out.ink(Ink::Warn, warning)));
    }
    Ok(DONE)
}
