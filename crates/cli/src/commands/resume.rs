//! `resume`: everything, or one task that was paused after failures.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::find::{self, Which};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let said = if args.which.given().is_some() {
        let task = find::task(context, &engine, &args.which).await?;
        engine.resume_task(&task.project_id, &task.id).await?;
        format!("{} is armed again", task.name)
    } else {
        engine.resume().await?;
        "the pause of everything has ended".to_owned()
    };
    if context.out.json {
        context.out.value(&json!({ "ok": true }));
    } else {
        context.out.note(said);
    }
    Ok(DONE)
}
