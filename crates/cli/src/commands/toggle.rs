//! `enable` and `disable`.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::find::{self, Which};
use crate::output::away;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
}

pub async fn run(args: Args, enabled: bool, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let found = find::task(context, &engine, &args.which).await?;
    let task = engine.set_enabled(&found.project_id, &found.id, enabled).await?;
    if context.out.json {
        context.out.value(&json!({ "task": task }));
        return Ok(DONE);
    }
    let place = task
        .loop_file
        .as_ref()
        .map_or_else(String::new, |file| format!(" (enabled: {enabled} in {file})"));
    let state = if enabled { "armed" } else { "off" };
    context.out.note(format!("{} is {state}{place}", task.name));
    if enabled {
        context.out.note(match task.state.next_run_at {
            Some(at) => format!("next: {} ({})", context.out.at(at), away(at, context.now())),
            None => "no occurrence will ever come: look at its schedule".to_owned(),
        });
    }
    Ok(DONE)
}
