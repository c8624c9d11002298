//! `create`: a task without a loop file, in the file that is shared with the peer.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{Place, needed_project};
use crate::schedule::When;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// The task's name, at most 80 characters
    #[arg(long)]
    name: String,
    /// What the agent is asked; `-` reads standard input
    #[arg(long, required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// A file that holds the prompt
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The model, as provider/model
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: String,
    #[command(flatten)]
    when: When,
    /// The OpenCode agent
    #[arg(long)]
    agent: Option<String>,
    /// A variant of the model
    #[arg(long)]
    variant: Option<String>,
    /// Drive the session on until the goal in the prompt is reached
    #[arg(long)]
    goal: bool,
    /// How many tokens the goal may cost
    #[arg(long, value_name = "TOKENS", requires = "goal")]
    goal_token_budget: Option<i64>,
    /// Make it without arming it
    #[arg(long)]
    disabled: bool,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let input = input(&args)?;
    let engine = context.open(false).await?;
    let project = needed_project(context, &engine, &args.place).await?;
    let upserted = engine.upsert_task(&project.id, &input).await?;
    if context.out.json {
        context.out.value(
            &json!({ "task": upserted.task, "created": upserted.created, "notes": upserted.notes }),
        );
        return Ok(DONE);
    }
    if context.out.quiet {
        context.out.line(&upserted.task.id);
        return Ok(DONE);
    }
    context
        .out
        .line(format!("{} is in {} (id {})", upserted.task.name, project.label, upserted.task.id));
    for note in &upserted.notes {
        context.out.line(format!("  {note}"));
    }
    match upserted.task.state.next_run_at {
        Some(at) => context.out.line(format!("next: {}", context.out.at(at))),
        None if args.disabled => context.out.line("it is off; `loopkeeper enable` arms it"),
        None => context.out.line("no occurrence will ever come: look at its schedule"),
    }
    Ok(DONE)
}

fn input(args: &Args) -> Result<Value, Failure> {
    let (provider, model) = args
        .model
        .split_once('/')
        .filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
        .ok_or_else(|| {
            Failure::usage(format!("`{}` names no model", args.model))
                .help("write provider/model, as anthropic/claude-sonnet-4-5")
        })?;
    let schedule = args.when.schedule()?.ok_or_else(|| {
        Failure::usage("when shall it run?")
            .help("say one of --cron, --daily, --weekly with --time, --once with --time")
    })?;
    let mut execution =
        json!({ "prompt": prompt(args)?, "providerID": provider, "modelID": model });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            execution[name] = value;
        }
    };
    set("agent", args.agent.clone().map(Value::from));
    set("variant", args.variant.clone().map(Value::from));
    set("goalEnabled", args.goal.then_some(Value::Bool(true)));
    set("goalTokenBudget", args.goal_token_budget.map(Value::from));
    Ok(
        json!({ "name": args.name, "enabled": !args.disabled, "schedule": schedule, "execution": execution }),
    )
}

fn prompt(args: &Args) -> Result<String, Failure> {
    match (&args.prompt, &args.prompt_file) {
        (Some(dash), _) if dash == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| {
                Failure::usage(format!("standard input cannot be read: {error}"))
            })?;
            Ok(text)
        }
        (Some(text), _) => Ok(text.clone()),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{}: {error}", file.display()))),
        (None, None) => Err(Failure::usage("what shall it do? say --prompt")),
    }
}
