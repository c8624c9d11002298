//! What other processes did, and what they are told.

use super::{Runtime, lock};
use crate::host::{Liveness, ProcessId};
use crate::project;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What each process notes in the user's runtime folder, so that two data folders in use by one
/// user are noticed: they run everything twice (PROTOCOL §8).
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    process: ProcessId,
    data: PathBuf,
}

impl Runtime {
    /// Syncs a project if it is known; `false` when it is not. Blocks.
    pub(crate) fn sync_known(self: &Arc<Self>, id: &str) -> bool {
        if !lock(&self.board).projects.contains_key(id) {
            self.read_registry();
        }
        let known = lock(&self.board).projects.contains_key(id);
        if known {
            self.sync(id);
        }
        known
    }

    /// Syncs a project that was never synced in this process. Blocks.
    pub(crate) fn sync_if_new(self: &Arc<Self>, id: &str) {
        let new = lock(&self.board).projects.get(id).is_some_and(|entry| !entry.synced);
        if new {
            self.sync(id);
        }
    }

    /// Brings the picture up to date before it is shown: a process that watches is told of changes,
    /// any other one looks. Blocks.
    pub(crate) fn sync_unseen(self: &Arc<Self>) {
        let watching = self.around.watch && self.last_look.load(Ordering::Relaxed) != 0;
        if watching {
            return;
        }
        for id in self.read_registry() {
            self.sync(&id);
        }
    }

    /// Returns the projects whose shared file others changed since the last sync. Blocks.
    pub(crate) fn changed_by_others(self: &Arc<Self>) -> Vec<String> {
        let ids: Vec<(String, Option<project::FileStamp>)> = lock(&self.board)
            .projects
            .iter()
            .map(|(id, entry)| (id.clone(), entry.stamp.clone()))
            .collect();
        ids.into_iter()
            .filter(|(id, seen)| self.folder.stamp(id) != *seen)
            .map(|(id, _)| id)
            .collect()
    }

    /// Says whether another process changed the ledger since this was asked last. Blocks.
    pub(crate) fn ledger_has_news(self: &Arc<Self>) -> bool {
        match self.ledger.data_version() {
            Ok(version) => self.seen_version.swap(version, Ordering::Relaxed) != version,
            Err(error) => {
                self.ledger_trouble("looking for changes by others", &error);
                false
            }
        }
    }

    /// Nudges a running OpenChamber, never near one of the project's slots.
    pub(crate) async fn nudge(self: Arc<Self>, project_id: &str) {
        let slots = |from: i64, to: i64| {
            let board = lock(&self.board);
            board.projects.get(project_id).is_some_and(|entry| {
                entry.tasks.iter().filter(|task| task.task.enabled).any(|task| {
                    let next = task.compiled.as_ref().and_then(|c| c.next_after(from - 1));
                    next.is_some_and(|next| next <= to)
                })
            })
        };
        if let Some(nudger) = &self.nudger {
            let nudged = nudger.nudge(project_id, slots).await;
            tracing::debug!(?nudged, project_id, "told OpenChamber to look again");
        }
    }

    /// Notes which data folder this process uses. Blocks.
    pub(crate) fn note_data_folder(&self) {
        let Some(folder) = self.notes_folder() else { return };
        let note =
            Note { process: ProcessId::current().clone(), data: self.around.paths.data.clone() };
        let written = std::fs::create_dir_all(&folder).and_then(|()| {
            let text = serde_json::to_vec(&note)?;
            std::fs::write(folder.join(format!("{}.json", note.process.pid)), text)
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the data folder could not be noted for others");
        }
    }

    /// Returns what is wrong with the whole: other data folders in use. Blocks.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for note in self.notes() {
            if note.data != self.around.paths.data {
                warnings.push(format!(
                    "process {} uses another data folder, {}: what is in both runs twice. Give \
                     both the same folder (OPENCHAMBER_DATA_DIR or --data-dir), or stop one",
                    note.process.pid,
                    note.data.display()
                ));
            }
        }
        warnings
    }

    /// Lists the living processes of this user that noted a data folder, this one apart. Removes
    /// what dead ones left.
    fn notes(&self) -> Vec<Note> {
        let Some(entries) = self.notes_folder().and_then(|folder| folder.read_dir().ok()) else {
            return Vec::new();
        };
        let me = ProcessId::current();
        entries
            .flatten()
            .filter_map(|entry| {
                let path = entry.path();
                let note: Note = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
                if note.process.liveness() == Liveness::Dead {
                    // Best effort: another process may have removed it already.
                    let _ = std::fs::remove_file(&path);
                    return None;
                }
                (note.process != *me).then_some(note)
            })
            .collect()
    }

    fn notes_folder(&self) -> Option<PathBuf> {
        self.around.paths.runtime.as_ref().map(|folder| folder.join("loopkeeper"))
    }

    /// Ends our OpenCode server five minutes after the last run (PROTOCOL §5).
    pub(super) async fn end_idle_server(self: &Arc<Self>) {
        const IDLE_MS: i64 = 5 * 60 * 1000;
        let last = self.last_end.load(Ordering::Relaxed);
        if last != 0 && self.awake_ms() - last >= IDLE_MS && self.agents().opencode_in_use() == 0 {
            self.last_end.store(0, Ordering::Relaxed);
            self.end_unused_server().await;
        }
    }

    /// Ends our OpenCode server when nothing needs it. Blocks only its own task.
    pub(crate) async fn end_unused_server(self: &Arc<Self>) {
        let runtime = Arc::clone(self);
        let unused = move || runtime.ledger.open_runs().is_ok_and(|open| open.is_empty());
        match self.agents().end_server(unused).await {
            Ok(true) => tracing::info!("the OpenCode server was ended: nothing needs it now"),
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "the OpenCode server could not be ended"),
        }
    }
}
