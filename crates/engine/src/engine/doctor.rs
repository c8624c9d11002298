//! `doctor`: looks at everything that Loopkeeper stands on, and says what to do.

use super::{Engine, Result};
use crate::agent::AgentKind;
use crate::claim::WRONG_CLOCK_MS;
use crate::loops::watch::WatchStatus;
use crate::runtime::{Runtime, lock};
use crate::view::{Finding, FindingSeverity};
use std::sync::Arc;

fn finding(
    area: &str,
    severity: FindingSeverity,
    message: impl Into<String>,
    help: Option<&str>,
) -> Finding {
    Finding {
        area: area.to_owned(),
        severity,
        message: message.into(),
        help: help.map(str::to_owned),
    }
}

impl Engine {
    /// Looks at everything and returns what was found, good and bad.
    ///
    /// # Errors
    /// `Internal` only; what is broken is a finding.
    pub async fn doctor(&self) -> Result<Vec<Finding>> {
        use FindingSeverity::{Error, Ok as Good, Warning};
        let mut found = self.with(|runtime| Ok(look(runtime))).await?;
        if let Some(path) = lock(&self.inner.set_aside).as_ref() {
            found.push(finding(
                "ledger",
                Warning,
                format!("the ledger was damaged; the old one lies at {}", path.display()),
                Some("Nothing runs again by it. Keep the old file if you want to look at it."),
            ));
        }
        found.push(match self.watch_status() {
            Some(WatchStatus::Watching) => {
                finding("watching", Good, "changes of files are noticed at once", None)
            }
            Some(WatchStatus::Polling { cause }) => finding(
                "watching",
                Warning,
                format!("files are looked at every few seconds: {cause}"),
                Some("On Linux raise fs.inotify.max_user_watches, or move the folder."),
            ),
            None => {
                finding("watching", Good, "this process watches nothing; it looks when asked", None)
            }
        });
        let health = self.runtime().agents().health().await;
        // A server that was named and does not answer is a fault whether or not a task needs it.
        let wanted = !health.own || self.needs_opencode();
        let version = health.version.as_deref().unwrap_or("of unknown version");
        let place = health.url.as_deref().unwrap_or("nowhere yet");
        found.push(match &health.error {
            Some(error) if wanted => finding(
                "opencode",
                Error,
                error,
                Some("Loops on demo/… and on commands run without it."),
            ),
            Some(error) => finding(
                "opencode",
                Warning,
                error,
                Some("No task that is enabled uses it: loops on demo/… and on commands run without it."),
            ),
            None if health.healthy && !health.tried => finding(
                "opencode",
                Warning,
                format!("OpenCode {version} at {place} is one that Loopkeeper was not tried with"),
                Some("If runs misbehave, install the version that the README names."),
            ),
            None if health.healthy => {
                finding("opencode", Good, format!("OpenCode {version} answers at {place}"), None)
            }
            None => finding("opencode", Good, "OpenCode is started when a run needs it", None),
        });
        for line in health.log.iter().rev().take(5).rev() {
            found.push(finding("opencode log", Good, line, None));
        }
        Ok(found)
    }

    /// Says whether a task that is enabled runs on OpenCode.
    fn needs_opencode(&self) -> bool {
        let agents = self.runtime().agents();
        lock(&self.runtime().board).tasks().any(|(_, task)| {
            let provider = &task.task.execution.provider_id;
            task.task.enabled && agents.kind(provider) == AgentKind::Opencode
        })
    }
}

fn look(runtime: &Arc<Runtime>) -> Vec<Finding> {
    use FindingSeverity::{Error, Ok as Good, Warning};
    let paths = &runtime.around.paths;
    let mut found = vec![finding("data folder", Good, paths.data.display().to_string(), None)];
    match runtime.ledger.open_runs() {
        Ok(open) => found.push(finding(
            "ledger",
            Good,
            format!(
                "{} is sound; {} {} open",
                runtime.ledger.path().display(),
                open.len(),
                if open.len() == 1 { "run" } else { "runs" }
            ),
            None,
        )),
        Err(error) => found.push(finding("ledger", Error, error.to_string(), None)),
    }
    match runtime.ledger.pending_json() {
        Ok(pending) if !pending.is_empty() => found.push(finding(
            "shared files",
            Warning,
            format!("{} ended runs are not in the shared files yet", pending.len()),
            Some("They are written as soon as that is possible; look at the project's problems."),
        )),
        _ => {}
    }
    for id in runtime.read_registry() {
        runtime.sync(&id);
    }
    let now = runtime.clock.now_ms();
    let zone = &runtime.around.machine_zone;
    found.push(finding("clock", Good, format!("this machine's zone is {zone}"), None));
    let board = lock(&runtime.board);
    for problem in &board.problems {
        found.push(finding("projects", Error, problem, None));
    }
    if board.projects.is_empty() {
        found.push(finding(
            "projects",
            Warning,
            "no project is known",
            Some("Add one: loopkeeper projects add FOLDER"),
        ));
    }
    for (id, entry) in &board.projects {
        let name = format!("project {}", entry.project.label);
        if entry.problems.is_empty() {
            let tasks = entry.tasks.len();
            found.push(finding(
                &name,
                Good,
                format!("{tasks} task{}", if tasks == 1 { "" } else { "s" }),
                None,
            ));
        }
        for problem in &entry.problems {
            found.push(finding(&name, Error, problem, None));
        }
        for (path, bad) in &entry.diagnostics {
            let text = format!("{}:{}: {}", path.display(), bad.line, bad.message);
            found.push(finding(&name, Warning, text, bad.help.as_deref()));
        }
        let lock_file = paths.projects().join(format!("{id}.json.lock"));
        if lock_file.exists() {
            found.push(finding(
                &name,
                Warning,
                format!("{} exists", lock_file.display()),
                Some("That is so for moments while a program writes; one that stays is taken over by itself when its holder is gone."),
            ));
        }
        for task in &entry.tasks {
            let last = task.task.state.last_scheduled_for;
            if last.is_some_and(|last| last > now + WRONG_CLOCK_MS) {
                found.push(finding(
                    &name,
                    Warning,
                    format!("{} was claimed for a day in the future", task.task.name),
                    Some("A clock was wrong once; the claim is ignored. Look at this machine's clock and the others'."),
                ));
            }
        }
    }
    drop(board);
    found.extend(
        runtime.warnings().into_iter().map(|text| finding("other processes", Warning, text, None)),
    );
    if runtime.is_stalled() {
        found.push(finding(
            "scheduler",
            Error,
            "the scheduler has not looked at the clock for two minutes",
            Some("Restart this program, and report what the log says."),
        ));
    }
    found
}
