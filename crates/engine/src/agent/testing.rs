//! What the agents' own tests share: a journal that remembers, and a plain job.

use super::job::{Job, ProjectRef};
use super::journal::{Ask, Journal, JournalError, Recorded, StepKind};
use crate::host::ProcessId;
use crate::task::Execution;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// One thing that a run told.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the methods of Journal")]
pub enum Note {
    Session(String),
    Accepted,
    Child(ProcessId),
    Blocked(Vec<Ask>),
    Unblocked,
    Step(StepKind, String),
}

/// A journal that remembers what it was told, so that a test can wait for it.
#[derive(Debug)]
pub struct Notes {
    list: Mutex<Vec<Note>>,
    tail: Mutex<String>,
    refuse: Option<JournalError>,
    changed: watch::Sender<()>,
}

impl Default for Notes {
    fn default() -> Self {
        Notes {
            list: Mutex::default(),
            tail: Mutex::default(),
            refuse: None,
            changed: watch::channel(()).0,
        }
    }
}

impl Notes {
    /// Makes a journal that cannot store sessions and children.
    pub fn refusing(error: JournalError) -> Self {
        Notes { refuse: Some(error), ..Notes::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Note>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns everything that was told so far.
    pub fn list(&self) -> Vec<Note> {
        self.lock().clone()
    }

    /// Returns the newest output.
    pub fn tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `find` finds something among the notes or in the output.
    pub async fn wait<T>(&self, mut find: impl FnMut(&[Note], &str) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            let found = find(&self.lock(), &self.tail());
            if let Some(found) = found {
                return found;
            }
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn add(&self, note: Note) -> Recorded<'_> {
        self.lock().push(note);
        self.changed.send_replace(());
        Box::pin(async { Ok(()) })
    }

    fn add_or_refuse(&self, note: Note) -> Recorded<'_> {
        match self.refuse.clone() {
            Some(error) => Box::pin(async { Err(error) }),
            None => self.add(note),
        }
    }
}

impl Journal for Notes {
    fn session<'a>(&'a self, session_id: &'a str) -> Recorded<'a> {
        self.add_or_refuse(Note::Session(session_id.to_owned()))
    }

    fn accepted(&self) -> Recorded<'_> {
        self.add(Note::Accepted)
    }

    fn child<'a>(&'a self, child: &'a ProcessId) -> Recorded<'a> {
        self.add_or_refuse(Note::Child(child.clone()))
    }

    fn blocked<'a>(&'a self, asks: &'a [Ask]) -> Recorded<'a> {
        self.add(Note::Blocked(asks.to_vec()))
    }

    fn unblocked(&self) -> Recorded<'_> {
        self.add(Note::Unblocked)
    }

    fn step<'a>(&'a self, kind: StepKind, text: &'a str) -> Recorded<'a> {
        self.add(Note::Step(kind, text.to_owned()))
    }

    fn progress<'a>(&'a self, tail: &'a str) -> Recorded<'a> {
        *self.tail.lock().unwrap_or_else(PoisonError::into_inner) = tail.to_owned();
        self.changed.send_replace(());
        Box::pin(async { Ok(()) })
    }
}

/// Makes a plain job in the folder `/`.
pub fn job(provider: &str, model: &str, prompt: &str) -> Job {
    Job {
        run_id: 1,
        project: ProjectRef { id: "p".to_owned(), path: PathBuf::from("/") },
        task_id: "t".to_owned(),
        title: "Task 2026-12-01 09:00".to_owned(),
        scheduled_for: None,
        execution: Execution {
            prompt: prompt.into(),
            provider_id: provider.to_owned(),
            model_id: model.to_owned(),
            ..Execution::default()
        },
        variables: None,
        worktree: false,
        resume: None,
    }
}
