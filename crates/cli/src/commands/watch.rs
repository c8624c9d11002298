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
    let mut troubles = Troubles::default();
    let mut end = std::pin::pin!(super::serve::ended());
    loop {
        let event = tokio::select! {
            () = &mut end => return Ok(DONE),
            event = events.recv() => event,
        };
        match event {
            Ok(event) => {
                if !context.out.json && !troubles.are_news(&event) {
                    continue;
                }
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

/// How long a trouble with files is not told again, in ms: it is met at every look.
const QUIET_MS: i64 = 60_000;

/// When a trouble with files was told last, as wall time in ms; its line is always the same.
#[derive(Debug, Default)]
pub struct Troubles(Option<i64>);

impl Troubles {
    /// Says whether an event is to be told: all are but a trouble that was told just now.
    pub fn are_news(&mut self, event: &Event) -> bool {
        if event.kind != EventKind::FileError {
            return true;
        }
        // A clock that was set back hides nothing.
        let told = self.0.is_some_and(|told| (0..QUIET_MS).contains(&(event.at - told)));
        if !told {
            self.0 = Some(event.at);
        }
        !told
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
        EventKind::FileError => "a file or the ledger cannot be used: loopkeeper doctor",
        EventKind::Stalled => "the scheduler has stopped looking at the clock",
        EventKind::PersistError => "the end of a run could not be written: loopkeeper status",
        EventKind::TasksChanged
        | EventKind::Reload
        | EventKind::RunChanged
        | EventKind::RunFinished
        | EventKind::RunBlocked => return Vec::new(),
    };
    let subject = name(engine, event).await.map_or_else(String::new, |name| format!("{name}  "));
    vec![format!("{}  {subject}{what}", out.at(event.at))]
}

/// Returns the name of the task that an event is about, as the lines of its runs say it; the id where
/// the task is gone and no run tells its name.
async fn name(engine: &Engine, event: &Event) -> Option<String> {
    let (project, task) = (event.project_id.as_deref()?, event.task_id.as_deref()?);
    if let Ok(detail) = engine.task(project, task).await {
        return Some(detail.task.name);
    }
    let run = match event.run_id {
        Some(run) => engine.run(run).await.ok(),
        None => None,
    };
    Some(run.map_or_else(|| task.to_owned(), |view| view.run.task_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ledger that could not be written filled the terminal with one line.
    #[test]
    fn a_trouble_with_files_is_told_once_a_minute() {
        let mut troubles = Troubles::default();
        let event =
            |kind, at| Event { id: 1, at, kind, project_id: None, task_id: None, run_id: None };
        let mut told = |kind, at| troubles.are_news(&event(kind, at));
        assert!(told(EventKind::FileError, 1_000), "the first one");
        assert!(!told(EventKind::FileError, 60_999), "within the minute");
        assert!(told(EventKind::Stalled, 2_000) && told(EventKind::Stalled, 2_001), "all others");
        assert!(told(EventKind::FileError, 61_000), "it goes on");
        assert!(told(EventKind::FileError, 500), "a clock that was set back hides nothing");
    }
}
