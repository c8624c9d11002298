//! `status`: what is armed, what runs, what needs somebody.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use crate::output::{Ink, many};
use loopkeeper_engine::engine::Engine;
use serde_json::Value;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub async fn run(_: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    if context.out.json {
        context.out.value(&whole(&engine).await?);
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
        out.line(out.ink(Ink::Warn, &out.pause(pause)));
    }
    match &overview.next {
        Some(next) => {
            let when = out.coming(next.at, overview.now, overview.paused.as_ref());
            out.line(format!("next: {}  {when}", next.name));
        }
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

/// Returns the four counts that other programs know, and what a person is told beside them.
async fn whole(engine: &Engine) -> Result<Value, Failure> {
    let (counts, overview) = (engine.status().await?, engine.overview().await?);
    let fault = |error: serde_json::Error| Failure::new(FAILED, error.to_string());
    let mut whole = serde_json::to_value(counts).map_err(fault)?;
    let mut overview = serde_json::to_value(overview).map_err(fault)?;
    for name in ["paused", "next", "running", "needsYou", "stalled", "warnings"] {
        whole[name] = overview[name].take();
    }
    // A pause without end says so; it is not left out.
    if let Some(pause) = whole["paused"].as_object_mut() {
        pause.entry("until").or_insert(Value::Null);
    }
    Ok(whole)
}
