//! The task as it is under the lock: the loop file decides where there is one.

use super::Request;
use crate::loops::{self, LoopFile, Stamp};
use crate::project::Document;
use crate::schedule::Compiled;
use crate::task::{Definition, Task};
use std::path::Path;

/// What a task was armed from.
#[derive(Debug, Clone)]
pub struct Armed {
    /// The loop file's stamp and hash when it was read; `None` for a JSON task.
    pub file: Option<(Stamp, String)>,
    /// The schedule, compiled.
    pub compiled: Option<Compiled>,
    /// The task's schedule that it was compiled from.
    pub schedule: crate::task::Schedule,
}

impl Armed {
    /// Notes what a task is armed from.
    pub fn new(task: &Task, file: Option<&LoopFile>, compiled: Option<Compiled>) -> Self {
        // A malformed file defines nothing: its hash is not that of what runs.
        let file = file.filter(|file| file.definition.is_some());
        let file = file.map(|file| (file.stamp, file.hash.clone()));
        Armed { file, compiled, schedule: task.schedule.clone() }
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
        let mut hash = None;
        if let Some(path) = task.loop_file.clone() {
            let path = Path::new(&path);
            let stamp = Stamp::of(&std::fs::symlink_metadata(path).ok()?);
            let armed = request.armed.and_then(|armed| armed.file.as_ref());
            let known = armed.filter(|(seen, _)| *seen == stamp).map(|(_, hash)| hash.clone());
            // Read whatever the stamp says: the shared file may hold an older definition than the
            // one that was armed, since others write it too.
            let bytes = std::fs::read(path).ok()?;
            hash = match loops::parse(&bytes).definition {
                Some(definition) => {
                    adopt(&mut task, definition, machine_zone);
                    Some(loops::discover::hash(&bytes))
                }
                // A malformed file leaves the last good definition.
                None => known,
            };
        }
        let hash = hash.unwrap_or_else(|| content_hash(&task));
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

/// Returns the content hash of a JSON task: of what runs, not of its state.
pub fn content_hash(task: &Task) -> String {
    let content = serde_json::to_vec(&(&task.name, &task.schedule, &task.execution));
    loops::discover::hash(&content.unwrap_or_default())
}
