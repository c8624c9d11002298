//! `pause`: everything, in every process on the data folder.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::schedule::instant;

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
