//! What needs a person, most urgent first, each with what to do.

use super::{Engine, Result};
use crate::event::EventKind;
use crate::ledger::{Run, Status};
use crate::loops::Severity;
use crate::runtime::{Runtime, lock};
use crate::view::{Condition, Need, NeedKind, TaskSummary};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Collects the needs of all tasks.
pub(super) fn needs(runtime: &Arc<Runtime>, tasks: &[TaskSummary]) -> Result<Vec<Need>> {
    let mut all = Vec::new();
    for task in tasks {
        blocked(task, &mut all);
        approval(task, &mut all);
        ended(task, &mut all);
        auto_paused(runtime, task, &mut all)?;
        broken_file(runtime, task, &mut all);
    }
    broken_projects(runtime, &mut all);
    let dismissed = runtime.ledger.dismissed()?;
    all.retain(|need| !dismissed.contains(&need.id));
    all.sort_by_key(|need| (need.kind as u8, std::cmp::Reverse(need.at)));
    Ok(all)
}

fn of_task(task: &TaskSummary, kind: NeedKind, id: String, at: i64) -> Need {
    Need {
        id,
        kind,
        at,
        text: String::new(),
        help: String::new(),
        project_id: Some(task.project_id.clone()),
        task_id: Some(task.id.clone()),
        task_name: Some(task.name.clone()),
        run_id: None,
        asks: Vec::new(),
        path: task.loop_file.clone(),
        hash: None,
    }
}

fn blocked(task: &TaskSummary, all: &mut Vec<Need>) {
    let Some(run) = task.open_run.as_ref().filter(|run| run.status == Status::Blocked) else {
        return;
    };
    let asked = task.asks.iter().map(|ask| ask.asked_at).min().unwrap_or(run.created_at);
    let what = task.asks.first().map_or("something", |ask| ask.text.as_str());
    all.push(Need {
        text: format!("{} waits for you: {what}", task.name),
        help: "Allow it once, always, or deny it; a question wants an answer.".to_owned(),
        run_id: Some(run.id),
        asks: task.asks.clone(),
        ..of_task(task, NeedKind::Blocked, format!("blocked:{}", run.id), asked)
    });
}

fn approval(task: &TaskSummary, all: &mut Vec<Need>) {
    if task.condition != Condition::NeedsApproval {
        return;
    }
    let Some(hash) = &task.approval_hash else { return };
    let at = task.next_run_at.unwrap_or(0);
    all.push(Need {
        text: format!("{} has not been approved on this machine; it does not run", task.name),
        help: "Look at what it would run, then approve it.".to_owned(),
        hash: Some(hash.clone()),
        ..of_task(task, NeedKind::Approval, format!("approval:{hash}"), at)
    });
}

/// The newest end of a task: one that failed, could not be written, or slots that were missed.
fn ended(task: &TaskSummary, all: &mut Vec<Need>) {
    let unwritten = [task.open_run.as_ref(), task.last_run.as_ref()]
        .into_iter()
        .flatten()
        .find_map(|run| Some((run, run.persist_error.as_deref()?)));
    if let Some((run, why)) = unwritten {
        all.push(Need {
            text: format!(
                "{} ran and ended as {}, but that could not be written: {why}",
                task.name, run.status
            ),
            help: "Nothing runs twice by it. It is written as soon as that is possible again."
                .to_owned(),
            run_id: Some(run.id),
            ..of_task(task, NeedKind::PersistError, format!("persist:{}", run.id), ended_at(run))
        });
    }
    if let Some(run) = task.last_run.as_ref().filter(|run| run.status.is_failure()) {
        let why = run.error.as_deref().unwrap_or("it gave no reason");
        all.push(Need {
            text: format!("{} {}: {why}", task.name, verb(run.status)),
            help: "Look at the run, mend the cause, run it again.".to_owned(),
            run_id: Some(run.id),
            ..of_task(task, NeedKind::Failed, format!("failed:{}", run.id), ended_at(run))
        });
    }
    if let Some(bar) = task.recent.last().filter(|bar| bar.status == Status::Missed) {
        all.push(Need {
            text: format!("{} missed slots while nobody could run it", task.name),
            help: "Run it by hand if it is still wanted; `catch_up: latest` does so by itself."
                .to_owned(),
            run_id: Some(bar.id),
            ..of_task(task, NeedKind::Missed, format!("missed:{}", bar.id), bar.at)
        });
    }
}

fn verb(status: Status) -> &'static str {
    match status {
        Status::TimedOut => "ran out of time",
        Status::Lost => "was lost",
        _ => "failed",
    }
}

fn ended_at(run: &Run) -> i64 {
    run.finished_at.unwrap_or(run.created_at)
}

fn auto_paused(runtime: &Arc<Runtime>, task: &TaskSummary, all: &mut Vec<Need>) -> Result<()> {
    if task.condition != Condition::AutoPaused {
        return Ok(());
    }
    let key = crate::task::TaskKey::new(&task.project_id, &task.id);
    let Some(hold) = runtime.ledger.auto_paused(&key)? else { return Ok(()) };
    all.push(Need {
        text: format!("{} was paused after {}", task.name, hold.reason),
        help: "Mend the cause, then resume it; a good run by hand resumes it too.".to_owned(),
        ..of_task(
            task,
            NeedKind::AutoPaused,
            format!("auto-paused:{}:{}:{}", task.project_id, task.id, hold.since),
            hold.since,
        )
    });
    Ok(())
}

fn broken_file(runtime: &Arc<Runtime>, task: &TaskSummary, all: &mut Vec<Need>) {
    let Some(first) = task.file_errors.first() else { return };
    let path = task.loop_file.as_deref().unwrap_or_default();
    all.push(Need {
        text: format!("{path}, line {}: {}", first.line, first.message),
        help: "The last good definition stays armed until the file is mended.".to_owned(),
        ..of_task(
            task,
            NeedKind::FileError,
            format!("file:{path}:{}:{}", first.code, first.line),
            runtime.clock.now_ms(),
        )
    });
}

fn broken_projects(runtime: &Arc<Runtime>, all: &mut Vec<Need>) {
    let now = runtime.clock.now_ms();
    let board = lock(&runtime.board);
    let heals = "Everything else goes on; this heals itself when the cause is mended.";
    let mut push = |id: Option<&str>, path: Option<String>, text: &str, help: &str| {
        all.push(Need {
            id: format!("problem:{}:{text}", id.unwrap_or_default()),
            kind: NeedKind::FileError,
            at: now,
            text: text.to_owned(),
            help: help.to_owned(),
            project_id: id.map(str::to_owned),
            task_id: None,
            task_name: None,
            run_id: None,
            asks: Vec::new(),
            path,
            hash: None,
        });
    };
    for problem in &board.problems {
        push(None, None, problem, heals);
    }
    for (id, entry) in &board.projects {
        for problem in &entry.problems {
            push(Some(id), None, problem, heals);
        }
        let mut told = entry
            .diagnostics
            .iter()
            .filter(|(_, found)| found.severity != Severity::Info)
            .peekable();
        if told.peek().is_none() {
            continue;
        }
        let files: HashSet<&Path> = entry
            .tasks
            .iter()
            .filter_map(|task| task.task.loop_file.as_ref())
            .map(Path::new)
            .collect();
        for (path, found) in told {
            if !files.contains(path.as_path()) {
                let text = format!("{}, line {}: {}", path.display(), found.line, found.message);
                let help = found.help.as_deref().unwrap_or(heals);
                push(Some(id), Some(path.display().to_string()), &text, help);
            }
        }
    }
}

impl Engine {
    /// Puts a need aside until it is another one.
    ///
    /// # Errors
    /// `Unavailable` when the ledger cannot be written.
    pub async fn dismiss(&self, need: &str) -> Result<()> {
        let id = need.to_owned();
        self.with(move |runtime| Ok(runtime.ledger.dismiss(&id)?)).await?;
        self.runtime().emit(EventKind::RunChanged, None, None);
        Ok(())
    }
}
