//! `run`: a task now, in this process, to its end.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Outcome};
use crate::find::{self, Which};
use crate::output::{Ink, duration, word};
use loopkeeper_engine::engine::{Engine, EngineError, WaitFor};
use loopkeeper_engine::ledger::{Run, RunFilter, Status};
use loopkeeper_engine::view::{RunAnswer, TaskSummary};
use serde_json::json;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
}

/// The states in which a run can still be stopped.
const OPEN: [Status; 5] =
    [Status::Claimed, Status::Queued, Status::Retrying, Status::Running, Status::Blocked];

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(true).await?;
    let task = find::task(context, &engine, &args.which).await?;
    let result = wait(context, &engine, &task).await;
    context.out.progress("");
    let (answer, error) = match result {
        Ok(answer) => (answer, None),
        Err(EngineError::RunFailed { error, task, run_id }) => {
            let answer =
                RunAnswer { ok: false, task: *task, run_id, session_id: None, persist_error: None };
            (answer, Some(error))
        }
        Err(error) => return Err(error.into()),
    };
    let run = engine.run(answer.run_id).await.ok().map(|view| view.run);
    report(context, &answer, run.as_ref(), error.as_deref());
    Ok(if answer.ok { DONE } else { FAILED })
}

/// Waits for the end; shows what goes on, and lets Ctrl-C stop the run rather than this program.
async fn wait(
    context: &Context,
    engine: &Engine,
    task: &TaskSummary,
) -> Result<RunAnswer, EngineError> {
    let began = context.now();
    let mut work = std::pin::pin!(engine.try_run(&task.project_id, &task.id, WaitFor::End));
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut end = Box::pin(super::serve::ended());
    let mut stopping = false;
    let mut told = false;
    loop {
        tokio::select! {
            result = &mut work => return result,
            _ = tick.tick() => {
                progress(context, engine, task, began, stopping).await;
                // Where no progress is drawn, a run that waits for somebody would look hung.
                if !told && !context.out.progress
                    && let Some(run) = open_run(engine, task).await
                    && run.status == Status::Blocked
                {
                    told = true;
                    context.out.warn(format!("{} waits for you: loopkeeper answer {}", task.name, run.id));
                }
            }
            () = &mut end => {
                end = Box::pin(super::serve::ended());
                if stopping {
                    return Err(EngineError::Refused("given up at once: whoever is there next follows the run to its end".to_owned()));
                }
                stopping = true;
                context.out.progress("");
                context.out.warn("stopping the run; once more to leave it");
                if let Some(run) = open_run(engine, task).await {
                    let _ = engine.cancel(run.id).await;
                }
            }
        }
    }
}

async fn open_run(engine: &Engine, task: &TaskSummary) -> Option<Run> {
    let filter = RunFilter {
        project: Some(task.project_id.clone()),
        task: Some(task.id.clone()),
        status: OPEN.to_vec(),
        before: None,
        limit: 1,
    };
    engine.runs(&filter).await.ok()?.into_iter().next()
}

async fn progress(
    context: &Context,
    engine: &Engine,
    task: &TaskSummary,
    began: i64,
    stopping: bool,
) {
    if !context.out.progress || context.out.json || context.out.quiet {
        return;
    }
    let elapsed = duration(context.now() - began);
    let state = match open_run(engine, task).await {
        _ if stopping => "stopping".to_owned(),
        Some(run) if run.status == Status::Blocked => {
            format!("waits for you: loopkeeper answer {}", run.id)
        }
        Some(run) => word(&run.status),
        None => "starting".to_owned(),
    };
    context.out.progress(&format!("{}  {state}  {elapsed}", task.name));
}

fn report(context: &Context, answer: &RunAnswer, run: Option<&Run>, error: Option<&str>) {
    let out = &context.out;
    if let Some(trouble) = &answer.persist_error {
        out.warn(format!("warning: the run ended, but that could not be written: {trouble}"));
    }
    if out.json {
        let mut value = json!({ "ok": answer.ok, "run": run, "task": answer.task });
        let mut set = |name: &str, text: Option<&str>| {
            if let Some(text) = text {
                value[name] = text.into();
            }
        };
        set("sessionId", answer.session_id.as_deref());
        set("persistError", answer.persist_error.as_deref());
        set("error", error.or(run.and_then(|run| run.error.as_deref())));
        out.value(&value);
        return;
    }
    match run {
        Some(run) => {
            out.note(out.run(run));
            if let Some(said) = &run.answer {
                out.text(said);
            }
            if let Some(session) = &run.session_id {
                out.note(out.ink(Ink::Dim, &format!("session {session}, run {}", run.id)));
            }
        }
        None => out.note(if answer.ok { "done" } else { "failed" }),
    }
    if let Some(error) = error.filter(|_| run.is_none_or(|run| run.error.is_none())) {
        out.warn(format!("loopkeeper: {error}"));
    }
}
