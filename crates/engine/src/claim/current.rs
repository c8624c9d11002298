//! The task as it is under the lock: the loop file decides where there is one.

use super::Request;
use crate::loops;
use crate::project::Document;
use crate::schedule::Compiled;
use crate::task::{Definition, Task};
use std::path::Path;

/// What a task was armed from.
#[derive(Debug, Clone)]
pub struct Armed {
    /// The schedule, compiled.
    pub compiled: Option<Compiled>,
    /// The task's schedule that it was compiled from.
    pub schedule: crate::task::Schedule,
}

impl Armed {
    /// Notes what a task is armed from.
    pub fn new(task: &Task, compiled: Option<Compiled>) -> Self {
        Armed { compiled, schedule: task.schedule.clone() }
    }
}

/// The task as it is now.
#[derive(Debug)]
pub(super) struct Current {
    pub task: Task,
    pub compiled: Option<Compiled>,
    /// The content hash of what defines it.
    pub hash: String,
}

impl Current {
    /// Reads the task from the document, and its loop file, which decides.
    /// `None` when the task, or its loop file, is gone.
    pub fn read(document: &Document, request: &Request<'_>, machine_zone: &str) -> Option<Current> {
        let mut task = document.task(&request.task.task_id)?.clone();
        if let Some(path) = task.loop_file.clone() {
            // Read whatever its stamp says: the shared file may hold an older definition than the
            // one that was armed, since others write it too. A file that is there and cannot be
            // read leaves the last good definition, as a malformed one does.
            let bytes = match std::fs::read(Path::new(&path)) {
                Ok(bytes) => bytes,
                Err(error) if is_gone(&error) => return None,
                Err(_) => Vec::new(),
            };
            if let Some(definition) = loops::parse(&bytes).definition {
                adopt(&mut task, definition, machine_zone);
            }
        }
        let hash = content_hash(&task);
        let compiled = match request.armed {
            Some(armed) if armed.schedule == task.schedule => armed.compiled.clone(),
            _ => Compiled::new(&task.schedule).ok(),
        };
        Some(Current { task, compiled, hash })
    }

    pub fn yields(&self, slot: i64) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.yields(slot))
    }

    pub fn next_after(&self, instant: i64) -> Option<i64> {
        self.compiled.as_ref().and_then(|compiled| compiled.next_after(instant))
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Applies a definition as reconciliation does: a missing zone leaves the stored one, and what the
/// format does not define stays.
fn adopt(task: &mut Task, definition: Definition, machine_zone: &str) {
    let zone = match definition.schedule.timezone() {
        Some(zone) => zone.to_owned(),
        None => task.schedule.timezone().unwrap_or(machine_zone).to_owned(),
    };
    task.name = definition.name;
    task.enabled = definition.enabled;
    task.schedule = definition.schedule.with_timezone(zone);
    task.execution.prompt = definition.execution.prompt;
    task.execution.provider_id = definition.execution.provider_id;
    task.execution.model_id = definition.execution.model_id;
    task.execution.agent = definition.execution.agent;
}

/// Returns the hash of what would run: name, schedule and execution. Not of whether it is enabled,
/// so that a loop that was approved while it was tried stays approved when it is switched on, and
/// not of comments or state.
pub fn content_hash(task: &Task) -> String {
    let content = serde_json::to_vec(&(&task.name, &task.schedule, &task.execution));
    loops::discover::hash(&content.unwrap_or_default())
}
