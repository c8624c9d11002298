//! From files to armed tasks (DESIGN §4.1–4).

use super::board::{BoardTask, ProjectEntry};
use super::{Runtime, lock};
use crate::claim::content_hash;
use crate::event::EventKind;
use crate::ledger::{Account, LedgerError, Sighting, Status};
use crate::loops::{self, Cache, Discovery, LoopFile, Severity};
use crate::project::registry::{Project, Registry};
use crate::project::{self, Document, Patch, ProjectError, StatePatch};
use crate::schedule::Compiled;
use crate::task::policy::Policy;
use crate::task::{Definition, LastStatus, Schedule, Task, TaskKey};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

impl Runtime {
    /// Reads the project lists anew and syncs every project.
    pub async fn sync_all(self: &Arc<Self>) {
        let done = self
            .blocking(|runtime| {
                for id in runtime.read_registry() {
                    runtime.sync(&id);
                }
            })
            .await;
        if let Err(crashed) = done {
            tracing::error!(%crashed, "syncing all projects failed");
        }
    }

    /// Syncs one project in the background, such as after a claim that found another definition.
    pub(super) fn resync_soon(self: &Arc<Self>, project_id: &str) {
        let id = project_id.to_owned();
        self.go_blocking(move |runtime| runtime.sync(&id));
    }

    /// Brings the board's list of projects up to date; returns the ids. Blocks.
    pub(crate) fn read_registry(self: &Arc<Self>) -> Vec<String> {
        let listing = Registry::of(&self.around.paths).list();
        let mut board = lock(&self.board);
        board.problems = listing.errors.iter().map(ToString::to_string).collect();
        let known: Vec<String> = listing.projects.iter().map(|p| p.id.clone()).collect();
        // A list that cannot be read takes no project away.
        let gone: Vec<String> = if listing.errors.is_empty() {
            board.projects.keys().filter(|id| !known.contains(id)).cloned().collect()
        } else {
            Vec::new()
        };
        for project in listing.projects {
            match board.projects.get_mut(&project.id) {
                Some(entry) => entry.project = project,
                None => {
                    board.projects.insert(project.id.clone(), ProjectEntry::new(project));
                }
            }
        }
        for id in &gone {
            if let Some(entry) = board.projects.remove(id) {
                for task in &entry.tasks {
                    self.disarm(&TaskKey::new(id, &task.task.id), &task.task.name);
                }
            }
        }
        board.projects.keys().cloned().collect()
    }

    /// Ends the timer of a task that is gone; what was due already has its row.
    fn disarm(self: &Arc<Self>, key: &TaskKey, name: &str) {
        lock(&self.timers).arm(key, None);
        let waiting = lock(&self.queue).forget(key);
        for slot in waiting.iter().filter(|w| w.run.is_none()).filter_map(|w| w.scheduled_for) {
            self.record_untrue(key, Some(name), slot, false);
        }
    }

    /// Syncs one project: loop files → shared file (only if something changed) → board → timers.
    /// What fails is shown at the project and leaves its tasks as they were. Blocks.
    pub(crate) fn sync(self: &Arc<Self>, project_id: &str) {
        let turn = self.turn_of(project_id);
        let _turn = lock(&turn);
        let Some((project, mut cache)) = self.borrow_cache(project_id) else { return };
        let home = &self.around.paths.home;
        let mut problems = Vec::new();
        if !project.path.is_dir() {
            problems.push(format!(
                "the folder {} is not there: put it back, or remove the project",
                project.path.display()
            ));
        }
        let mut discovery = loops::discover(&project.path, home, &mut cache);
        // Taken before the read: a change in between is seen as one.
        let stamp = self.folder.stamp(project_id);
        let document = self.reconciled(&project, &mut discovery, &mut cache);
        problems.extend(discovery.folder_errors.iter().map(|error| error.message.clone()));
        let changed = match document {
            Ok(document) => self.redraw(&project, &document, &discovery, &mut problems),
            Err(error) => {
                problems.push(error.to_string());
                false
            }
        };
        let folders =
            loops::discover::folders(&project.path, home).into_iter().map(|(_, path)| path);
        let mut board = lock(&self.board);
        let Some(entry) = board.projects.get_mut(project_id) else { return };
        entry.cache = cache;
        entry.synced = true;
        entry.stamp = stamp;
        entry.loop_folders = folders.collect();
        entry.diagnostics = discovery.diagnostics;
        // What keeps a file from being a loop; one that has a task shows it there.
        let malformed = discovery.loops.iter().filter(|file| file.definition.is_none());
        entry.diagnostics.extend(malformed.filter_map(|file| {
            let error = file.diagnostics.iter().find(|found| found.severity == Severity::Error)?;
            Some((file.path.clone(), error.clone()))
        }));
        let news = entry.problems != problems;
        entry.problems = problems;
        let troubled = !entry.problems.is_empty();
        drop(board);
        self.end_outdated_holds(project_id);
        if changed {
            self.events.send(
                self.clock.now_ms(),
                EventKind::TasksChanged,
                Some(project_id),
                None,
                None,
            );
        }
        if news && troubled {
            self.events.send(
                self.clock.now_ms(),
                EventKind::FileError,
                Some(project_id),
                None,
                None,
            );
        }
    }

    /// Ends the auto-pause of tasks whose definition is another one by now. Blocks.
    fn end_outdated_holds(self: &Arc<Self>, project_id: &str) {
        let ended = self.ledger.auto_paused_tasks().and_then(|holds| {
            for key in holds.into_iter().map(|hold| hold.task) {
                let task = lock(&self.board).task(&key).map(|task| Arc::clone(&task.task));
                let Some(task) = task.filter(|_| key.project_id == project_id) else { continue };
                let hash = content_hash(&task);
                if self.ledger.definition_seen(&key, &hash)? {
                    self.emit(EventKind::Resumed, Some(&key), None);
                }
            }
            Ok(())
        });
        if let Err(error) = ended {
            self.ledger_trouble("looking at auto-pauses", &error);
        }
    }

    fn borrow_cache(&self, project_id: &str) -> Option<(Project, Cache)> {
        let mut board = lock(&self.board);
        let entry = board.projects.get_mut(project_id)?;
        Some((entry.project.clone(), std::mem::take(&mut entry.cache)))
    }

    /// Returns the shared document as the loop files want it; written only if they differ.
    fn reconciled(
        &self,
        project: &Project,
        discovery: &mut Discovery,
        cache: &mut Cache,
    ) -> Result<Document, ProjectError> {
        let merge = |document: &mut Document, discovery: &Discovery| {
            let unreadable: Vec<PathBuf> =
                discovery.folder_errors.iter().map(|error| error.path.clone()).collect();
            let zone = &self.around.machine_zone;
            let now = self.clock.now_ms();
            project::reconcile(document, &discovery.loops, &unreadable, zone, now);
            end_spent_once(document, now, |task| self.is_spent(&project.id, task));
        };
        // Most syncs change nothing: those need neither the lock nor a write.
        let mut trial = project::read_only(&self.folder, &project.id)?;
        merge(&mut trial, discovery);
        if !trial.changed() {
            return Ok(trial);
        }
        let mut written = None;
        project::update(&self.folder, &project.id, |document| {
            // Looked at again under the lock, so that a slow process never brings an old
            // definition back.
            *discovery = loops::discover(&project.path, &self.around.paths.home, cache);
            merge(document, discovery);
            written = Some(document.clone());
            Ok::<(), ProjectError>(())
        })?;
        written.map_or_else(|| project::read_only(&self.folder, &project.id), Ok)
    }

    /// Says whether a `once` task had its slot: it was claimed by anyone, or our ledger has its row
    /// (missed, or failed before the file could say so), and no run of it goes on.
    fn is_spent(&self, project_id: &str, task: &Task) -> bool {
        let key = TaskKey::new(project_id, &task.id);
        if task.state.last_status == Some(LastStatus::Running) || self.active_of(&key).is_some() {
            return false;
        }
        let Ok(schedule) = Compiled::new(&task.schedule) else { return false };
        if task.state.last_scheduled_for.is_some_and(|last| schedule.yields(last)) {
            return true;
        }
        let Some(slot) = schedule.next_after(0).filter(|slot| *slot <= self.clock.now_ms()) else {
            return false;
        };
        let row = self.ledger.slot(&key, slot).ok().flatten();
        row.is_some_and(|row| row.status == Status::Missed || row.status.is_ended())
    }

    /// Draws the board's picture of a project anew and arms its tasks; says whether it changed.
    fn redraw(
        self: &Arc<Self>,
        project: &Project,
        document: &Document,
        discovery: &Discovery,
        problems: &mut Vec<String>,
    ) -> bool {
        let files: HashMap<&str, &Arc<LoopFile>> =
            discovery.loops.iter().filter_map(|file| Some((file.path.to_str()?, file))).collect();
        let tasks: Vec<&Task> =
            document.tasks().iter().filter_map(|entry| entry.task.as_ref()).collect();
        let accounts = match self.sight(project, &tasks) {
            Ok(accounts) => accounts,
            Err(error) => {
                problems.push(error.to_string());
                Vec::new()
            }
        };
        let policies = match self.ledger.policies(&project.id) {
            Ok(policies) => Some(policies),
            Err(error) => {
                problems.push(error.to_string());
                None
            }
        };
        let mut drawn = Vec::with_capacity(tasks.len());
        let mut board = lock(&self.board);
        let Some(entry) = board.projects.get_mut(&project.id) else { return false };
        let mut changed = entry.tasks.len() != tasks.len();
        for (index, task) in tasks.into_iter().enumerate() {
            let before = entry.task(&task.id);
            let file = task.loop_file.as_deref().and_then(|path| files.get(path).copied());
            let policy = policies.as_ref().map(|all| all.get(&task.id));
            let next = self.draw(task, file, before, accounts.get(index), policy);
            changed |= before.is_none_or(|old| {
                old.task != next.task || old.policy != next.policy || old.file != next.file
            });
            drawn.push(next);
        }
        let gone: Vec<Arc<Task>> = entry
            .tasks
            .iter()
            .filter(|task| document.task(&task.task.id).is_none())
            .map(|task| Arc::clone(&task.task))
            .collect();
        let arms: Vec<(TaskKey, Option<i64>)> = drawn
            .iter()
            .map(|task| (TaskKey::new(&project.id, &task.task.id), task.next()))
            .collect();
        entry.set_tasks(drawn);
        drop(board);
        for task in gone {
            self.disarm(&TaskKey::new(&project.id, &task.id), &task.name);
        }
        let mut timers = lock(&self.timers);
        for (key, next) in arms {
            timers.arm(&key, next);
        }
        drop(timers);
        self.bell.notify_one();
        changed
    }

    /// Draws one task; `policy` is what the ledger holds for it, `None` when it could not be read.
    fn draw(
        &self,
        task: &Task,
        file: Option<&Arc<LoopFile>>,
        before: Option<&BoardTask>,
        account: Option<&Account>,
        policy: Option<Option<&Policy>>,
    ) -> BoardTask {
        let same_schedule = before.filter(|old| old.task.schedule == task.schedule);
        let compiled = match same_schedule {
            Some(old) => old.compiled.clone(),
            None => Compiled::new(&task.schedule).ok(),
        };
        let definition = file.and_then(|file| file.definition.as_ref());
        let policy = match definition {
            Some(definition) => definition.policy.clone(),
            // What cannot be read now leaves what held before: no limit falls away by it.
            None if task.loop_file.is_some() || policy.is_none() => {
                before.map(|old| Arc::clone(&old.policy))
            }
            None => policy.flatten().cloned().map(Arc::new),
        };
        let policy = policy.unwrap_or_else(no_policy);
        // A changed schedule starts where its account does; an unchanged one goes on.
        let unchanged = same_schedule.filter(|old| old.task.enabled == task.enabled);
        let accounted = account.map(|account| account.accounted_to);
        let cursor = match (unchanged, accounted) {
            (Some(old), Some(accounted)) => old.cursor.max(accounted),
            (Some(old), None) => old.cursor,
            (None, Some(accounted)) => accounted,
            (None, None) => self.clock.now_ms(),
        };
        // A loop that was gone and is back starts from its return, whatever its account of before
        // says; a creation ahead of the clock says nothing.
        let now = self.clock.now_ms();
        let created = task.state.created_at.filter(|created| *created <= now);
        let cursor = cursor.max(created.unwrap_or(cursor));
        let task = match before {
            Some(old) if *old.task == *task => Arc::clone(&old.task),
            _ => Arc::new(sharing_prompt(task.clone(), definition)),
        };
        let known = || before?.file.clone().filter(|_| task.loop_file.is_some());
        let file = file.cloned().or_else(known);
        BoardTask { task, compiled, policy, file, cursor }
    }

    fn sight(&self, project: &Project, tasks: &[&Task]) -> Result<Vec<Account>, LedgerError> {
        let sightings: Vec<Sighting> = tasks
            .iter()
            .map(|task| Sighting {
                task: TaskKey::new(&project.id, &task.id),
                schedule_hash: schedule_hash(task.enabled, &task.schedule),
                last_scheduled_for: task.state.last_scheduled_for,
            })
            .collect();
        self.ledger.sight(&sightings)
    }
}

/// Returns the policy of all tasks that ask for nothing; one for all of them.
fn no_policy() -> Arc<Policy> {
    static NONE: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);
    Arc::clone(&NONE)
}

/// Lets a task hold the text that its loop file holds already: prompts are most of what is kept.
fn sharing_prompt(mut task: Task, definition: Option<&Definition>) -> Task {
    if let Some(prompt) = definition.map(|definition| &definition.execution.prompt)
        && *prompt == task.execution.prompt
    {
        task.execution.prompt = Arc::clone(prompt);
    }
    task
}

/// Switches off `once` tasks that had their slot: the peer leaves them enabled and inert when it was
/// down at their time (PROTOCOL §5).
fn end_spent_once(document: &mut Document, now: i64, is_spent: impl Fn(&Task) -> bool) {
    let spent: Vec<String> = document
        .tasks()
        .iter()
        .filter_map(|entry| entry.task.as_ref())
        .filter(|task| task.enabled && task.schedule.is_once() && is_spent(task))
        .map(|task| task.id.clone())
        .collect();
    for id in spent {
        document.set_enabled(&id, false);
        let patch = StatePatch { updated_at: Patch::Set(now), ..StatePatch::default() };
        document.set_state(&id, &patch);
    }
}

fn schedule_hash(enabled: bool, schedule: &Schedule) -> String {
    let bytes = serde_json::to_vec(&(enabled, schedule)).unwrap_or_default();
    loops::discover::hash(&bytes)
}
