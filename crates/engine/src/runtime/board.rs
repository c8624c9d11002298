//! What this process knows of all tasks: a picture that every sync draws anew.

use crate::claim::Armed;
use crate::loops::{Cache, Diagnostic, LoopFile};
use crate::project::FileStamp;
use crate::project::registry::Project;
use crate::schedule::Compiled;
use crate::task::policy::Policy;
use crate::task::{Task, TaskKey};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// All projects by id.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub projects: BTreeMap<String, ProjectEntry>,
    /// What is wrong with the project lists themselves.
    pub problems: Vec<String>,
}

/// One project as this process saw it last.
#[derive(Debug)]
pub(crate) struct ProjectEntry {
    pub project: Project,
    /// In the order of the shared file.
    pub tasks: Vec<BoardTask>,
    /// Where each task stands in `tasks`, in the order of their ids.
    by_id: Vec<u32>,
    /// What is wrong with its folder or file, and what to do; its tasks keep their last good
    /// definition.
    pub problems: Vec<String>,
    /// Bad loop files: path and what is wrong.
    pub diagnostics: Vec<(PathBuf, Diagnostic)>,
    /// What was read of its loop files; taken out while a sync uses it.
    pub cache: Cache,
    /// Whether it was synced in this process at all.
    pub synced: bool,
    /// The shared file as it was read last; `None` when there was none.
    pub stamp: Option<FileStamp>,
    /// The folders that its loops may lie in, for the watcher.
    pub loop_folders: Vec<PathBuf>,
}

/// One task as it is armed.
#[derive(Debug, Clone)]
pub(crate) struct BoardTask {
    pub task: Arc<Task>,
    /// `None` when the schedule cannot be read.
    pub compiled: Option<Compiled>,
    pub policy: Arc<Policy>,
    /// What the loop file came to when it was read last; `None` for a JSON task.
    pub file: Option<Arc<LoopFile>>,
    /// Up to here every slot was looked at in this process; wall time.
    pub cursor: i64,
}

impl BoardTask {
    /// Returns what a claim compares with.
    pub fn armed(&self) -> Armed {
        Armed::new(&self.task, self.compiled.clone())
    }

    /// Returns the next occurrence after what was handled; `None` when disabled or never.
    pub fn next(&self) -> Option<i64> {
        if !self.task.enabled {
            return None;
        }
        self.compiled.as_ref()?.next_after(self.cursor)
    }
}

impl ProjectEntry {
    pub fn new(project: Project) -> Self {
        ProjectEntry {
            project,
            tasks: Vec::new(),
            by_id: Vec::new(),
            problems: Vec::new(),
            diagnostics: Vec::new(),
            cache: Cache::default(),
            synced: false,
            stamp: None,
            loop_folders: Vec::new(),
        }
    }

    pub fn set_tasks(&mut self, tasks: Vec<BoardTask>) {
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        self.by_id = (0..count).collect();
        self.by_id.sort_by(|a, b| tasks[*a as usize].task.id.cmp(&tasks[*b as usize].task.id));
        self.tasks = tasks;
        self.tasks.shrink_to_fit();
    }

    fn place(&self, id: &str) -> Option<usize> {
        let at = self.by_id.partition_point(|at| self.tasks[*at as usize].task.id.as_str() <= id);
        // Of two with one id, which no writer of ours makes, the later one counts.
        let at = *self.by_id.get(at.checked_sub(1)?)? as usize;
        (self.tasks[at].task.id == id).then_some(at)
    }

    pub fn task(&self, id: &str) -> Option<&BoardTask> {
        self.place(id).map(|at| &self.tasks[at])
    }

    pub fn task_mut(&mut self, id: &str) -> Option<&mut BoardTask> {
        self.place(id).map(|at| &mut self.tasks[at])
    }
}

impl Board {
    pub fn task(&self, key: &TaskKey) -> Option<&BoardTask> {
        self.projects.get(&key.project_id)?.task(&key.task_id)
    }

    pub fn task_mut(&mut self, key: &TaskKey) -> Option<&mut BoardTask> {
        self.projects.get_mut(&key.project_id)?.task_mut(&key.task_id)
    }

    /// Returns every task with its project.
    pub fn tasks(&self) -> impl Iterator<Item = (&ProjectEntry, &BoardTask)> {
        self.projects.values().flat_map(|entry| entry.tasks.iter().map(move |task| (entry, task)))
    }
}
