//! `list`: tasks, after the loop files were read again.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::find::{Place, project, warn_of_files};
use crate::output::{Ink, away, first_line};
use loopkeeper_engine::view::{Condition, PauseView, TaskSummary};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// The tasks of all projects
    #[arg(long, conflicts_with_all = ["project", "dir"])]
    all: bool,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let project = if args.all { None } else { project(context, &engine, &args.place).await? };
    let projects = match &project {
        Some(project) => vec![project.clone()],
        None => engine.projects().await?,
    };
    let mut tasks = Vec::new();
    for project in &projects {
        // A project that cannot be read must not hide the others.
        match engine.list_tasks(&project.id).await {
            Ok(listed) => tasks.extend(listed),
            Err(error) if projects.len() == 1 => return Err(error.into()),
            Err(error) => context.out.warn(format!("{}: {error}", project.label)),
        }
    }
    warn_of_files(context, &engine, project.as_ref().map(|project| project.id.as_str())).await?;
    if context.out.json {
        context.out.value(&json!({ "tasks": tasks }));
        return Ok(DONE);
    }
    let summaries =
        engine.task_summaries(project.as_ref().map(|project| project.id.as_str())).await?;
    if summaries.is_empty() {
        context.out.note(match (&project, projects.is_empty()) {
            (_, true) => "no project is registered yet: loopkeeper projects add DIR".to_owned(),
            (Some(project), _) => format!(
                "{} has no tasks: put a loop into {}/.agents/loops/NAME.md",
                project.label, project.path
            ),
            (None, _) => {
                "there are no tasks: put a loop into .agents/loops/NAME.md of a project".to_owned()
            }
        });
        return Ok(DONE);
    }
    let now = context.now();
    let pause = engine.overview().await?.paused;
    let row = |task| row(context, task, now, pause.as_ref(), project.is_none());
    let rows: Vec<Vec<String>> = summaries.iter().map(row).collect();
    let head: &[&str] = if project.is_none() {
        &["TASK", "STATE", "NEXT", "SCHEDULE", "LAST", "PROJECT"]
    } else {
        &["TASK", "STATE", "NEXT", "SCHEDULE", "LAST"]
    };
    context.out.table(head, &rows);
    if let Some(pause) = &pause {
        context.out.warn(context.out.pause(pause));
    }
    for task in &summaries {
        for error in &task.file_errors {
            let file = task.loop_file.as_deref().unwrap_or("");
            context.out.warn(format!("{file}:{}:{}: {}", error.line, error.column, error.message));
        }
    }
    Ok(DONE)
}

fn row(
    context: &Context,
    task: &TaskSummary,
    now: i64,
    pause: Option<&PauseView>,
    with_project: bool,
) -> Vec<String> {
    let out = &context.out;
    let words = if task.foreign_zone {
        format!("{} ({})", task.words, task.timezone)
    } else {
        task.words.clone()
    };
    let last = task.last_run.as_ref().map_or_else(String::new, |run| {
        let at = run.finished_at.or(run.scheduled_for);
        let ago = at.map_or_else(String::new, |at| format!(" {}", away(at, now)));
        format!("{}{ago}", out.status(run.status))
    });
    let asks = task.asks.iter().find(|ask| ask.answered_at.is_none());
    let state = match asks {
        Some(ask) => format!("{}: {}", out.condition(task.condition), first_line(&ask.text)),
        None if pause.is_some() && task.condition == Condition::Armed => {
            out.ink(Ink::Warn, "armed, paused")
        }
        None => out.condition(task.condition),
    };
    let next =
        task.next_run_at.map_or_else(|| out.ink(Ink::Dim, "–"), |at| out.coming(at, now, pause));
    let mut row = vec![task.name.clone(), state, next, words, last];
    if with_project {
        row.push(task.project_label.clone());
    }
    row
}
