//! `runs`: the history, and one run with its steps.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{self, Place, Which, project};
use crate::output::{Ink, duration, first_line, word};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::ledger::{Run, RunFilter, Status};
use loopkeeper_engine::view::RunView;
use serde_json::Value;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    one: Option<One>,
    #[command(flatten)]
    place: Place,
    /// Only this task's
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only these, as failed,timed_out
    #[arg(long, value_delimiter = ',', value_parser = status)]
    status: Vec<Status>,
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Only rows older than this one
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
    /// The runs of all projects
    #[arg(long, conflicts_with_all = ["project", "dir"])]
    all: bool,
}

#[derive(Debug, clap::Subcommand)]
enum One {
    /// Show one run with its steps, its answer and its error
    Show {
        /// The run
        id: i64,
    },
}

fn status(word: &str) -> Result<Status, String> {
    serde_json::from_value(Value::String(word.to_owned())).map_err(|_| {
        "write some of claimed queued retrying running blocked succeeded failed timed_out cancelled lost \
         skipped missed deduped superseded"
            .to_owned()
    })
}

/// How many rows are looked through at once.
const PAGE: usize = 1_000;

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    if let Some(One::Show { id }) = args.one {
        let view = engine.run(id).await?;
        if context.out.json {
            context.out.value(&view);
        } else {
            show(&view, context);
        }
        return Ok(DONE);
    }
    let mut filter = RunFilter {
        project: None,
        task: None,
        status: args.status,
        before: args.before,
        limit: args.limit,
    };
    if args.limit == 0 {
        return Err(Failure::usage("--limit 0 shows nothing"));
    }
    if let Some(task) = args.task {
        let which = Which { name: None, task: Some(task.clone()), place: args.place.clone() };
        match find::task(context, &engine, &which).await {
            Ok(found) => (filter.project, filter.task) = (Some(found.project_id), Some(found.id)),
            Err(failure) => {
                let gone = gone(context, &engine, &args.place, &task).await?.ok_or(failure)?;
                (filter.project, filter.task) = (Some(gone.project_id), Some(gone.task_id));
            }
        }
    } else if !args.all {
        filter.project = project(context, &engine, &args.place).await?.map(|project| project.id);
    }
    let rows = engine.runs(&filter).await?;
    if context.out.json {
        context.out.value(&rows);
        return Ok(DONE);
    }
    if rows.is_empty() {
        context.out.note("nothing has run yet");
        return Ok(DONE);
    }
    let out = &context.out;
    let table: Vec<Vec<String>> =
        rows.iter()
            .map(|run| {
                let at = run.started_at.or(run.scheduled_for).or(run.first_for);
                let why =
                    run.error.as_deref().map(first_line).map(str::to_owned).or_else(|| {
                        run.reason.as_ref().map(|reason| word(reason).replace('_', " "))
                    });
                let slots = run.count.filter(|count| *count > 1);
                let times = slots.map_or_else(String::new, |count| format!("{count} slots"));
                vec![
                    run.id.to_string(),
                    at.map_or_else(String::new, |at| out.at(at)),
                    run.task_name.clone(),
                    out.status(run.status),
                    run.duration_ms.map_or(times, duration),
                    why.unwrap_or_default(),
                ]
            })
            .collect();
    out.table(&["RUN", "AT", "TASK", "STATUS", "TOOK", "WHY"], &table);
    Ok(DONE)
}

/// Finds the newest row of a task that is gone, by its id or name: the history of a task outlives it.
/// `None` where no row is of such a task, or where tasks that are there have the name.
async fn gone(
    context: &Context,
    engine: &Engine,
    place: &Place,
    task: &str,
) -> Result<Option<Run>, Failure> {
    let project = project(context, engine, place).await?.map(|project| project.id);
    let there = engine.task_summaries(project.as_deref()).await?;
    if there.iter().any(|one| one.name == task) {
        return Ok(None);
    }
    let mut filter = RunFilter {
        project,
        task: Some(task.to_owned()),
        status: Vec::new(),
        before: None,
        limit: 1,
    };
    if let Some(run) = engine.runs(&filter).await?.pop() {
        return Ok(Some(run));
    }
    (filter.task, filter.limit) = (None, PAGE);
    loop {
        let rows = engine.runs(&filter).await?;
        filter.before = rows.last().map(|run| run.id);
        let full = rows.len() == PAGE;
        let found = rows.into_iter().find(|run| run.task_name == task);
        if found.is_some() || !full {
            return Ok(found);
        }
    }
}

fn show(view: &RunView, context: &Context) {
    let (out, run) = (&context.out, &view.run);
    out.line(out.run(run));
    let fact = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            out.line(format!("  {}  {text}", out.ink(Ink::Dim, &format!("{name:<9}"))));
        }
    };
    fact("run", Some(run.id.to_string()));
    fact("trigger", Some(word(&run.trigger).replace('_', " ")));
    fact("due", run.scheduled_for.map(|at| out.at(at)));
    fact("session", run.session_id.clone());
    fact("tokens", run.tokens.map(|tokens| format!("{} in, {} out", tokens.input, tokens.output)));
    fact("cost", run.cost.map(|cost| format!("{cost:.4}")));
    fact("attach", view.attach.clone());
    for step in &view.steps {
        let detail = step
            .detail
            .as_deref()
            .map_or_else(String::new, |detail| format!("  {}", first_line(detail)));
        out.line(format!("  {}  {}{detail}", out.at(step.at), step.kind));
    }
    for ask in &view.asks {
        let answered = if ask.answered_at.is_some() { "answered" } else { "open" };
        out.text(format!("  asks ({answered}, {}): {}", ask.id, ask.text));
    }
    if let Some(error) = &run.error {
        out.text(format!("\n{}", out.ink(Ink::Bad, error)));
    }
    if let Some(answer) = &run.answer {
        out.text(format!("\n{answer}"));
    }
}
