//! Merging loop files into the task list: a pure function of the document.
//!
//! Identity is the file: a task that carries a loop's path belongs to it whatever its name, so a
//! renamed loop keeps its task and its history. Only then are names asked: a loop takes over the
//! JSON task of its name. What is left is created under `loop:<scope>:<name>`, or a variant of it
//! that nobody has. A task whose file is gone goes; one whose file cannot be read stays.

use super::document::{Document, Entry};
use super::read::{PROMPT_UNITS, cut, normalised_state, read_state};
use super::splice;
use crate::loops::{LoopFile, Scope};
use crate::schedule::Compiled;
use crate::task::{Definition, Execution, Schedule, Task};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a reconciliation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// The ids of tasks that were created, taken over or redefined.
    pub changed: Vec<String>,
    /// The ids of tasks that were removed because their file is gone.
    pub removed: Vec<String>,
    /// Loops whose schedule cannot be computed, with the reason; they count as malformed.
    pub refused: Vec<(PathBuf, String)>,
}

/// One loop as reconciliation needs it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Where it was found.
    pub scope: Scope,
    /// The file's absolute path.
    pub path: &'a Path,
    /// What it defines; `None` when it cannot be read at the moment.
    pub definition: Option<&'a Definition>,
}

impl<'a> From<&'a LoopFile> for Source<'a> {
    fn from(file: &'a LoopFile) -> Self {
        Source { scope: file.scope, path: &file.path, definition: file.definition.as_ref() }
    }
}

/// Merges the loops that were found into the task list.
///
/// `unreadable_folders` keep their tasks. `machine_zone` is written into a task that is created or
/// adopted from a file without a zone; afterwards the stored zone stays (DESIGN §5). `now_ms` is
/// wall time. Doing it again changes nothing.
pub fn reconcile(
    document: &mut Document,
    loops: &[Arc<LoopFile>],
    unreadable_folders: &[PathBuf],
    machine_zone: &str,
    now_ms: i64,
) -> Reconciled {
    let sources: Vec<Source> = loops.iter().map(|file| Source::from(&**file)).collect();
    reconcile_sources(document, &sources, unreadable_folders, machine_zone, now_ms)
}

/// Merges loops as [`reconcile`] does.
pub fn reconcile_sources(
    document: &mut Document,
    sources: &[Source],
    unreadable_folders: &[PathBuf],
    machine_zone: &str,
    now_ms: i64,
) -> Reconciled {
    let mut done = Reconciled::default();
    let paths: Vec<String> =
        sources.iter().map(|source| source.path.to_string_lossy().into_owned()).collect();
    let seats = seats(document, sources, &paths);

    // Redefine what has a seat; remember which files cannot be followed at the moment.
    let mut followed = HashSet::new();
    let mut created = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let Some(definition) = source.definition else { continue };
        let seat = seats.get(&index).copied();
        let entry = seat.and_then(|seat| document.tasks().get(seat));
        let task = define(definition, entry, &paths[index], machine_zone);
        let same = entry.and_then(|entry| entry.task.as_ref()).is_some_and(|old| same(old, &task));
        if same {
            followed.insert(paths[index].as_str());
            continue;
        }
        if let Err(error) = Compiled::new(&task.schedule) {
            done.refused.push((source.path.to_owned(), error.to_string()));
            continue;
        }
        followed.insert(paths[index].as_str());
        match seat {
            Some(seat) => {
                let state = normalised_state(task.state.clone(), now_ms);
                let id = match task.id.trim() {
                    "" => {
                        let taken = document.tasks().iter().map(|entry| entry.id.clone());
                        free_id(&taken.collect(), source.scope, &task.name)
                    }
                    _ => task.id,
                };
                let task = Task { id, state, ..task };
                document.replace_at(seat, &task);
                done.changed.push(task.id);
            }
            None => created.push((source, task)),
        }
    }

    // Tasks whose file is gone, and further tasks of a file that is followed.
    let known: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let seated: HashSet<usize> = seats.values().copied().collect();
    let keep = |index: usize, entry: &Entry| match entry.loop_file.as_deref() {
        None => true,
        Some(path) if followed.contains(path) => seated.contains(&index),
        Some(path) => {
            known.contains(path)
                || unreadable_folders.iter().any(|folder| Path::new(path).starts_with(folder))
        }
    };
    let gone = document.tasks().iter().enumerate().filter(|(index, entry)| !keep(*index, entry));
    done.removed = gone.map(|(_, entry)| entry.id.clone()).collect();
    document.retain(keep);

    let mut taken: HashSet<String> =
        document.tasks().iter().map(|entry| entry.id.clone()).collect();
    for (source, task) in created {
        let id = free_id(&taken, source.scope, &task.name);
        taken.insert(id.clone());
        let state = normalised_state(task.state.clone(), now_ms);
        document.push(&Task { id: id.clone(), state, ..task });
        done.changed.push(id);
    }
    done
}

/// Finds for each loop with a definition the task it drives: by file, else by name.
fn seats(document: &Document, sources: &[Source], paths: &[String]) -> HashMap<usize, usize> {
    let mut by_file: HashMap<&str, usize> = HashMap::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in document.tasks().iter().enumerate() {
        match (&entry.loop_file, &entry.task) {
            (Some(path), _) => {
                by_file.entry(path).or_insert(index);
            }
            // A JSON task that this version cannot read is somebody else's: it is left alone.
            (None, Some(task)) => {
                by_name.entry(&task.name).or_insert(index);
            }
            (None, None) => {}
        }
    }
    let mut seats = HashMap::new();
    for (index, source) in sources.iter().enumerate() {
        let Some(definition) = source.definition else { continue };
        let seat = by_file.get(paths[index].as_str()).copied();
        if let Some(seat) = seat.or_else(|| by_name.remove(definition.name.as_str())) {
            seats.insert(index, seat);
        }
    }
    seats
}

/// Returns the task as the loop defines it, with id, state, and what the format does not define
/// kept from the task that it drives.
fn define(definition: &Definition, entry: Option<&Entry>, path: &str, zone: &str) -> Task {
    let old = entry.and_then(|entry| entry.task.as_ref());
    // Only a zone that a loop task has is kept: a JSON task's zone belonged to its old schedule.
    let stored = old.filter(|old| old.loop_file.is_some());
    let stored = stored.and_then(|old| old.schedule.timezone());
    let schedule = with_zone(&definition.schedule, stored.unwrap_or(zone));
    let execution = Execution {
        prompt: definition.execution.prompt.clone(),
        provider_id: definition.execution.provider_id.clone(),
        model_id: definition.execution.model_id.clone(),
        agent: definition.execution.agent.clone(),
        ..old.map(|old| old.execution.clone()).unwrap_or_default()
    };
    let state = match (old, entry) {
        (Some(old), _) => old.state.clone(),
        (None, Some(entry)) => {
            splice::decode(entry.text()).get("state").map(read_state).unwrap_or_default()
        }
        (None, None) => Default::default(),
    };
    Task {
        id: entry.map(|entry| entry.id.clone()).unwrap_or_default(),
        name: definition.name.clone(),
        enabled: definition.enabled,
        schedule,
        execution,
        state,
        loop_file: Some(path.to_owned()),
    }
}

fn with_zone(schedule: &Schedule, zone: &str) -> Schedule {
    let schedule = schedule.clone();
    if schedule.timezone().is_some() { schedule } else { schedule.with_timezone(zone) }
}

/// Says whether a stored task is already what the loop defines. A prompt that the peer has cut
/// counts as the same, else the two would rewrite each other's file for ever.
fn same(old: &Task, new: &Task) -> bool {
    let Execution {
        prompt,
        provider_id,
        model_id,
        variant,
        agent,
        goal_enabled,
        goal_token_budget,
        permission_auto_accept,
    } = &old.execution;
    let cut_by_peer = || {
        let (start, was_cut) = cut(new.execution.prompt.to_string(), PROMPT_UNITS);
        // The peer cuts in the middle of pairs; such a half reads as U+FFFD.
        was_cut && prompt.trim_end_matches('\u{fffd}').trim_end() == start.trim_end()
    };
    let same_prompt = *prompt == new.execution.prompt || cut_by_peer();
    same_prompt
        && old.id == new.id
        && old.name == new.name
        && old.enabled == new.enabled
        && old.schedule == new.schedule
        && old.loop_file == new.loop_file
        && *provider_id == new.execution.provider_id
        && *model_id == new.execution.model_id
        && *variant == new.execution.variant
        && *agent == new.execution.agent
        && *goal_enabled == new.execution.goal_enabled
        && *goal_token_budget == new.execution.goal_token_budget
        && *permission_auto_accept == new.execution.permission_auto_accept
}

/// Returns the deterministic id of a new task, or a variant of it that no task has.
fn free_id(taken: &HashSet<String>, scope: Scope, name: &str) -> String {
    let scope = match scope {
        Scope::Project => "project",
        Scope::User => "user",
    };
    let plain = format!("loop:{scope}:{name}");
    let mut id = plain.clone();
    let mut number = 2;
    while taken.contains(&id) {
        id = format!("{plain}#{number}");
        number += 1;
    }
    id
}

#[cfg(test)]
mod tests;
