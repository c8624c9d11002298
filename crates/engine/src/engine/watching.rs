//! Seeing what others change: files, the shared JSON, the ledger (PROTOCOL §5, §8).

use super::{Engine, news};
use crate::event::EventKind;
use crate::loops::watch::{Bell, Folder, Role, Timing, WatchStatus, Watcher};
use crate::runtime::{Runtime, lock};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// When the ledger is looked at again after its bell: within the two seconds in which others have
/// to be seen (PROTOCOL §5), and once more for a slow disk.
const SETTLE: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1_000), Duration::from_secs(5)];

impl Engine {
    /// Starts watching; every bell only rings, what changed is read again.
    pub(super) fn watch(&self) {
        let runtime = Arc::clone(self.runtime());
        let folders = folders(&runtime);
        let engine = self.clone();
        let handle = tokio::runtime::Handle::current();
        let watcher = Watcher::start(folders, Timing::default(), move |bell| {
            let engine = engine.clone();
            handle.spawn(async move { engine.heed(bell).await });
        });
        self.heed_rounds();
        match watcher {
            Ok(watcher) => {
                *lock(&self.inner.watcher) = Some(watcher);
                self.runtime().is_watching.store(true, Ordering::Relaxed);
            }
            Err(error) => tracing::warn!(%error, "nothing is watched; changes show when asked for"),
        }
    }

    /// Watches the folders that are known now.
    pub(super) fn rewatch(&self) {
        if let Some(watcher) = lock(&self.inner.watcher).as_ref() {
            watcher.set_folders(folders(self.runtime()));
        }
    }

    /// Says how changes are noticed; `None` when nothing is watched.
    pub(super) fn watch_status(&self) -> Option<WatchStatus> {
        lock(&self.inner.watcher).as_ref().map(Watcher::status)
    }

    async fn heed(&self, bell: Bell) {
        let runtime = self.runtime();
        match bell.role {
            Role::Loops => {
                let path = bell.folder;
                let touched: Vec<String> = lock(&runtime.board)
                    .projects
                    .iter()
                    .filter(|(_, entry)| entry.loop_folders.contains(&path))
                    .map(|(id, _)| id.clone())
                    .collect();
                self.sync_these(touched).await;
            }
            Role::Projects => {
                let changed = runtime.blocking(|runtime| runtime.changed_by_others()).await;
                self.sync_these(changed.unwrap_or_default()).await;
            }
            Role::Registry => {
                let ids = runtime.blocking(|runtime| runtime.read_registry()).await;
                self.sync_these(ids.unwrap_or_default()).await;
                self.rewatch();
                runtime.emit(EventKind::TasksChanged, None, None);
            }
            Role::Settings => self.read_settings().await,
            Role::Ledger => {
                self.heed_ledger(false).await;
                // A commit writes its frames, which rings, and is seen only once they are on the
                // disk, which does not: under load the bell may come before there is anything new.
                for wait in SETTLE {
                    tokio::select! {
                        () = runtime.stopping.cancelled() => return,
                        () = tokio::time::sleep(wait) => self.heed_ledger(false).await,
                    }
                }
            }
        }
    }

    /// Tells what other processes did to the ledger.
    async fn heed_ledger(&self, always: bool) {
        let inner = Arc::clone(&self.inner);
        let heeded =
            self.runtime().blocking(move |runtime| news::heed(runtime, &inner.seen, always));
        if let Err(crashed) = heeded.await {
            tracing::error!(%crashed, "looking at the ledger failed");
        }
    }

    /// Looks at the ledger with every round of the scheduler too: what a watcher did not report is
    /// told half a minute late, not never.
    fn heed_rounds(&self) {
        let engine = self.clone();
        self.runtime().go(async move {
            let runtime = Arc::clone(engine.runtime());
            loop {
                tokio::select! {
                    () = runtime.stopping.cancelled() => return,
                    () = runtime.round.notified() => engine.heed_ledger(true).await,
                }
            }
        });
    }

    async fn sync_these(&self, ids: Vec<String>) {
        for id in ids {
            // An unknown project here was removed in between.
            let _ = self.sync_project(&id).await;
        }
        self.rewatch();
    }

    /// Tells a running OpenChamber to look at a project again: best effort, in the background.
    pub(super) fn nudge(&self, project: &str) {
        let (runtime, id) = (Arc::clone(self.runtime()), project.to_owned());
        self.runtime().go(async move { runtime.nudge(&id).await });
    }
}

fn folders(runtime: &Arc<Runtime>) -> Vec<Folder> {
    let paths = &runtime.around.paths;
    let mut all = vec![
        Folder::projects(paths.projects()),
        Folder::named(Role::Registry, &paths.data, &["settings.json"]),
        Folder::named(Role::Registry, paths.own(), &["projects.json"]),
        Folder::named(Role::Ledger, paths.own(), &["ledger.db-wal"]),
        Folder::loops(paths.user_loops()),
    ];
    if let (Some(folder), Some(name)) = (paths.settings.parent(), paths.settings.file_name()) {
        all.push(Folder::named(Role::Settings, folder, &[&name.to_string_lossy()]));
    }
    let board = lock(&runtime.board);
    for entry in board.projects.values() {
        all.extend(entry.loop_folders.iter().map(Folder::loops));
    }
    all
}
