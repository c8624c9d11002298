//! `pause`: everything, in every process on the data folder.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::schedule::instant;

/// How far away the end of a pause may lie, in ms: ten years. What lies beyond is a slip of the
/// keyboard; who wants no end names none.
const LONGEST_MS: i64 = 3_653 * 86_400_000;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long, as 1h
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "until")]
    length: Option<String>,
    /// Until when: 2026-12-31T09:00:00Z, 09:00, tomorrow
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let now = context.now();
    let until =
        args.length.or(args.until).map(|text| instant(&text, now, context.out.zone)).transpose()?;
    if let Some(until) = until.filter(|until| *until <= now) {
        return Err(Failure::usage(format!("{} is over", context.out.at(until))));
    }
    if until.is_some_and(|until| until - now > LONGEST_MS) {
        return Err(Failure::usage("that pause would last more than ten years").help(
            "name an end within ten years, or none: it then lasts until `loopkeeper resume`",
        ));
    }
    let engine = context.open(false).await?;
    let pause = engine.pause(until).await?;
    if context.out.json {
        context.out.value(&pause);
        return Ok(DONE);
    }
    context.out.note(match pause.until {
        Some(until) => format!("everything is paused until {}", context.out.at(until)),
        None => "everything is paused until `loopkeeper resume`".to_owned(),
    });
    context
        .out
        .note("runs that go on are not stopped; slots that come meanwhile are recorded as skipped");
    Ok(DONE)
}
