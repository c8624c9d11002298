//! `watch`: what happens, as it happens, in every process on the data folder.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::output::{Ink, first_line};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::event::{Event, EventKind};
use loopkeeper_engine::ledger::Status;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub async fn run(_: Args, context: &Context) -> Outcome {
    let engine = context.open(true).await?;
    let mut events = engine.events().subscribe();
    engine.look_on().await?;
    if !context.out.json {
        let overview = engine.overview().await?;
        for run in &overview.running {
            context.out.line(context.out.run(run));
        }
        if let Some(pause) = &overview.paused {
            context.out.note(context.out.pause(pause));
        }
        if let Some(next) = overview.next {
            let when = context.out.coming(next.at, overview.now, overview.paused.as_ref());
            context.out.note(format!("next: {} {when}; Ctrl-C ends", next.name));
        }
    }
    let mut end = std::pin::pin!(super::serve::ended());
    loop {
        let event = tokio::select! {
            () = &mut end => return Ok(DONE),
            event = events.recv() => event,
        };
        match event {
            Ok(event) => {
                for line in told(context, &engine, &event, false).await {
                    context.out.told(&line);
                }
            }
            Err(RecvError::Lagged(_)) => {
                context.out.warn("too much happened at once; `loopkeeper runs` shows all of it")
            }
            Err(RecvError::Closed) => return Ok(DONE),
        }
    }
}

/// Puts one event into lines; `ends_only` leaves out the steps of runs that go on.
pub async fn told(
    context: &Context,
    engine: &Engine,
    event: &Event,
    ends_only: bool,
) -> Vec<String> {
    let out = &context.out;
    // What follows from a run's end names the run too, but is not its end.
    let follows = matches!(
        event.kind,
        EventKind::Recovered | EventKind::AutoPaused | EventKind::PersistError
    );
    if let Some(run) = event.run_id.filter(|_| !follows) {
        let Ok(view) = engine.run(run).await else { return Vec::new() };
        let is_open = matches!(
            view.run.status,
            Status::Claimed | Status::Queued | Status::Retrying | Status::Running
        );
        if ends_only && is_open {
            return Vec::new();
        }
        if out.json {
            let row =
                json!({ "event": event.kind, "at": event.at, "run": view.run, "asks": view.asks });
            return vec![row.to_string()];
        }
        // An end is told by its own event; the change beside it would say it twice.
        if event.kind == EventKind::RunChanged && view.run.finished_at.is_some() {
            return Vec::new();
        }
        let mut lines = vec![out.run(&view.run)];
        if event.kind == EventKind::RunBlocked {
            for ask in view.asks.iter().filter(|ask| ask.answered_at.is_none()) {
                let how = format!("loopkeeper answer {run}");
                let ask = out.ink(Ink::Warn, first_line(&ask.text));
                lines.push(format!("  wants: {ask}  ({how})"));
            }
        }
        return lines;
    }
    if out.json {
        let row = json!({ "event": event.kind, "at": event.at, "projectId": event.project_id, "taskId": event.task_id });
        return vec![row.to_string()];
    }
    let what = match event.kind {
        EventKind::Paused => "everything is paused",
        EventKind::Resumed => "the pause has ended",
        EventKind::Missed => "slots were missed",
        EventKind::AutoPaused => "paused after failures in a row; `loopkeeper resume` ends it",
        EventKind::Recovered => "succeeds again",
        EventKind::ApprovalNeeded => "waits for approval: loopkeeper approve",
        EventKind::FileError => "a file cannot be read: loopkeeper doctor",
        EventKind::Stalled => "the scheduler has stopped looking at the clock",
        EventKind::PersistError => "the end of a run could not be written: loopkeeper status",
        EventKind::TasksChanged
        | EventKind::Reload
        | EventKind::RunChanged
        | EventKind::RunFinished
        | EventKind::RunBlocked => return Vec::new(),
    };
    let task = event.task_id.as_deref().unwrap_or("");
    vec![format!("{}  {task}  {what}", out.at(event.at))]
}
