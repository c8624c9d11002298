//! `cancel`: a run that goes on.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{self, Place, Which};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run
    #[arg(value_name = "RUN", required_unless_present = "task")]
    run: Option<i64>,
    /// The open run of this task
    #[arg(long, value_name = "TASK", conflicts_with = "run")]
    task: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let id = match (args.run, args.task) {
        (Some(id), _) => id,
        (None, task) => {
            let which = Which { name: None, task, place: args.place };
            let task = find::task(context, &engine, &which).await?;
            let open = task.open_run.as_ref().map(|run| run.id);
            open.ok_or_else(|| Failure::usage(format!("{} is not running", task.name)))?
        }
    };
    let run = engine.cancel(id).await?;
    if context.out.json {
        context.out.value(&run);
    } else {
        context
            .out
            .note(format!("run {id} of {} is told to stop; it obeys within 2 s", run.task_name));
    }
    Ok(DONE)
}
