//! `next`: the next occurrences of a schedule, with no data folder needed, or of a task.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use crate::find::{self, Place, Which};
use crate::output::{Ink, away};
use crate::schedule::{When, instant};
use chrono_tz::Tz;
use loopkeeper_engine::engine::{EngineError, preview_schedule};
use loopkeeper_engine::task::Schedule;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    when: When,
    /// A task's own schedule: its id or name
    #[arg(long, value_name = "TASK", group = "when_or_task", conflicts_with = "when")]
    task: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Only what comes after this (RFC 3339) [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    after: Option<String>,
    /// How many, 1 to 1000
    #[arg(short, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    n: u16,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let schedule = schedule(&args, context).await?;
    let now = context.now();
    let after =
        args.after.as_deref().map_or(Ok(now), |text| instant(text, now, context.out.zone))?;
    let preview =
        preview_schedule(&schedule, &context.environment.machine.zone, after, usize::from(args.n));
    let preview = preview.map_err(|error| match error {
        EngineError::Invalid { message, .. } => Failure::new(FAILED, message),
        other => other.into(),
    })?;
    if context.out.json {
        let at: Vec<i64> = preview.next.iter().map(|next| next.at).collect();
        context
            .out
            .value(&json!({ "occurrences": at, "words": preview.words, "notes": preview.notes }));
        return Ok(DONE);
    }
    context.out.note(format!(
        "{} ({})",
        context.out.ink(Ink::Bold, &preview.words),
        preview.timezone
    ));
    let zone: Tz = preview.timezone.parse().unwrap_or(context.out.zone);
    for next in &preview.next {
        let change =
            next.clock_change.as_ref().map_or_else(String::new, |change| format!("  {change}"));
        context.out.line(format!(
            "{}  ({}){change}",
            context.out.at_zone(next.at, zone),
            away(next.at, now)
        ));
    }
    if preview.next.is_empty() {
        context.out.note("no occurrence will ever come");
    }
    for note in &preview.notes {
        context.out.note(format!("note: {note}"));
    }
    Ok(DONE)
}

async fn schedule(args: &Args, context: &Context) -> Result<Schedule, Failure> {
    if let Some(schedule) = args.when.schedule()? {
        return Ok(schedule);
    }
    let Some(task) = &args.task else {
        return Err(Failure::usage("the next occurrences of what?")
            .help("say one of --cron, --daily, --weekly with --time, --once with --time, --task"));
    };
    let which = Which { name: None, task: Some(task.clone()), place: args.place.clone() };
    let engine = context.open(false).await?;
    let found = find::task(context, &engine, &which).await?;
    let schedule = engine.task(&found.project_id, &found.id).await?.task.schedule;
    Ok(match &args.when.timezone {
        Some(zone) => schedule.with_timezone(zone.clone()),
        None => schedule,
    })
}
