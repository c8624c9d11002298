//! `delete`: a task, or a loop with its file.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{self, Which};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Also the loop file that defines it; it is kept for 30 days
    #[arg(long)]
    file: bool,
    /// Bring a deleted loop file back
    #[arg(long, value_name = "TRASH-ID", conflicts_with_all = ["name", "task", "file"])]
    restore: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    if let Some(trash) = &args.restore {
        let file = engine.restore_loop_file(trash).await?;
        if context.out.json {
            context.out.value(&file);
        } else {
            context.out.note(format!("{} is back", file.path));
        }
        return Ok(DONE);
    }
    let task = find::task(context, &engine, &args.which).await?;
    match (&task.loop_file, args.file) {
        (Some(file), false) => Err(Failure::usage(format!("{} is defined by {file}", task.name))
            .help("delete that file too with --file (kept for 30 days), or take it off: loopkeeper disable")),
        (Some(file), true) => {
            let (tasks, deleted) = engine.delete_loop_file(&task.project_id, &task.id).await?;
            if context.out.json {
                context.out.value(&json!({ "tasks": tasks, "deleted": deleted }));
            } else {
                context.out.note(format!("{file} is deleted; bring it back within 30 days: loopkeeper delete --restore {}", deleted.trash_id));
            }
            Ok(DONE)
        }
        (None, _) => {
            let tasks = engine.delete_task(&task.project_id, &task.id).await?;
            if context.out.json {
                context.out.value(&json!({ "tasks": tasks }));
            } else {
                context.out.note(format!("{} is deleted from {}", task.name, task.project_label));
            }
            Ok(DONE)
        }
    }
}
