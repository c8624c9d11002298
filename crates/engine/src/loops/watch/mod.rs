//! Tells that files changed in folders that matter; what changed is for the listener to find out.
//!
//! Theory of operation: the system reports events for *folders* (a watch on a file follows the old
//! inode when an editor renames a new one over it). An event is only a hint: after a short quiet
//! the stamps of the relevant files are compared with those of the last look, and a [`Bell`] rings
//! when one differs and the difference is not our own write. Temporary files, lock files and reads
//! therefore never ring. While nothing happens the thread sleeps without a time limit.
//!
//! Of a folder that does not exist the nearest existing ancestor is watched until it appears; of
//! one that does, its parent as well, so that replacing the folder is seen. Where watching fails
//! (limits, network file systems) the same comparison runs every few seconds, and
//! [`Watcher::status`] says why.
//!
//! Deliberately absent: the contents and kinds of changes, and recursion.

mod armed;
mod snapshot;

use armed::Armed;
use notify::event::{AccessKind, AccessMode, EventKind};
use snapshot::{Own, Snapshot};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::time::Instant;

/// What a watched folder is to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Loop files.
    Loops,
    /// The shared project files.
    Projects,
    /// The lists of projects: the peer's settings, and our own file.
    Registry,
    /// Loopkeeper's settings.
    Settings,
    /// The ledger's write-ahead log: another of our processes wrote.
    Ledger,
}

/// Which files of a folder are relevant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Files {
    /// Those whose name ends so.
    Ending(&'static str),
    /// Those with these names.
    Named(Vec<String>),
}

/// A folder to watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Folder {
    /// The folder; it need not exist.
    pub path: PathBuf,
    /// What it is.
    pub role: Role,
    /// Which of its files count.
    pub files: Files,
}

impl Folder {
    /// Watches the loop files of a folder.
    pub fn loops(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), role: Role::Loops, files: Files::Ending(".md") }
    }

    /// Watches the shared project files.
    pub fn projects(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), role: Role::Projects, files: Files::Ending(".json") }
    }

    /// Watches files by name.
    pub fn named(role: Role, path: impl Into<PathBuf>, names: &[&str]) -> Folder {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Folder { path: path.into(), role, files: Files::Named(names) }
    }

    fn counts(&self, name: &str) -> bool {
        match &self.files {
            Files::Ending(ending) => name.ends_with(ending),
            Files::Named(names) => names.iter().any(|known| known == name),
        }
    }

    /// Says whether something at a path can concern this folder.
    fn concerns(&self, path: &Path) -> bool {
        if self.path.starts_with(path) {
            return true;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        path.parent() == Some(&self.path) && name.is_some_and(|name| self.counts(name))
    }
}

/// Something relevant changed in a registered folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bell {
    /// What the folder is.
    pub role: Role,
    /// The folder as it was registered.
    pub folder: PathBuf,
}

/// How long the watcher waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The quiet after the last event before the look; ten times that is the most.
    pub debounce: Duration,
    /// Between two looks where watching fails.
    pub poll: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing { debounce: Duration::from_millis(300), poll: Duration::from_secs(3) }
    }
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchStatus {
    /// The system reports them.
    Watching,
    /// By a look every few seconds.
    Polling {
        /// Why watching does not work, and for which folder.
        cause: String,
    },
}

/// Watches folders until it is dropped.
pub struct Watcher {
    messages: Sender<Message>,
    status: Arc<Mutex<WatchStatus>>,
    own: Own,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    /// The system reported something about these paths; an empty list is "look everywhere".
    Changed(Vec<PathBuf>),
    /// A watched path was removed or renamed.
    Gone(Vec<PathBuf>),
    /// Other folders, each with how it looked when they were handed over.
    Folders(Vec<(Folder, Snapshot)>),
    Stop,
}

impl Watcher {
    /// Starts watching. `on_bell` is called on the watcher's thread. What changes after this call
    /// began is reported, so read the folders after it, not before.
    ///
    /// # Errors
    /// When no thread can be started. That the system cannot watch is no error: see
    /// [`Watcher::status`].
    pub fn start(
        folders: Vec<Folder>,
        timing: Timing,
        on_bell: impl FnMut(Bell) + Send + 'static,
    ) -> io::Result<Watcher> {
        let (messages, inbox) = channel();
        let events = messages.clone();
        let notifier = notify::recommended_watcher(move |event| forward(&events, event));
        Watcher::with(notifier, (messages, inbox), folders, timing, Box::new(on_bell))
    }

    fn with(
        notifier: notify::Result<notify::RecommendedWatcher>,
        (messages, inbox): (Sender<Message>, Receiver<Message>),
        folders: Vec<Folder>,
        timing: Timing,
        on_bell: Box<dyn FnMut(Bell) + Send>,
    ) -> io::Result<Watcher> {
        let own = Own::default();
        let status = Arc::new(Mutex::new(WatchStatus::Watching));
        let mut worker = Worker {
            inbox,
            stopping: false,
            armed: Armed::new(notifier),
            folders: Vec::new(),
            status: Arc::clone(&status),
            own: own.clone(),
            timing,
            on_bell,
        };
        let watcher_messages = messages.clone();
        let thread =
            std::thread::Builder::new().name("watch".to_owned()).spawn(move || worker.run())?;
        let watcher = Watcher { messages: watcher_messages, status, own, thread: Some(thread) };
        watcher.set_folders(folders);
        Ok(watcher)
    }

    /// Watches these folders from now on. Those that were watched before go on; for others the
    /// rule of [`Watcher::start`] holds.
    pub fn set_folders(&self, folders: Vec<Folder>) {
        let mut seen = HashSet::new();
        let folders = folders
            .into_iter()
            .filter(|folder| seen.insert(folder.clone()))
            .map(|folder| {
                let snapshot = Snapshot::take(&folder);
                (folder, snapshot)
            })
            .collect();
        self.send(Message::Folders(folders));
    }

    /// Runs a write of this process to one file (or its removal), so that the change does not ring.
    /// The watcher looks at nothing meanwhile, so that it cannot see the write and not know it.
    pub fn writing<T>(&self, path: &Path, write: impl FnOnce() -> T) -> T {
        self.own.writing(path, write)
    }

    /// Says how changes are noticed at the moment.
    pub fn status(&self) -> WatchStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn send(&self, message: Message) {
        // The other side is gone only after a panic in the listener, which was reported then.
        if self.messages.send(message).is_err() {
            tracing::warn!("the watcher has stopped, changes are no longer noticed");
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if self.messages.send(Message::Stop).is_ok()
            && let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::warn!("the watcher's thread had panicked");
        }
    }
}

/// Passes on what may be a change; reads are none.
fn forward(to: &Sender<Message>, event: notify::Result<notify::Event>) {
    let message = match event {
        Ok(event) if event.need_rescan() => Message::Changed(Vec::new()),
        Ok(event) => match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                Message::Changed(event.paths)
            }
            EventKind::Access(_) => return,
            EventKind::Remove(_) | EventKind::Modify(notify::event::ModifyKind::Name(_)) => {
                Message::Gone(event.paths)
            }
            _ => Message::Changed(event.paths),
        },
        Err(error) => {
            tracing::debug!(%error, "the system reported an error while watching");
            Message::Changed(error.paths)
        }
    };
    // Nobody listens any more while the watcher is being dropped.
    let _ = to.send(message);
}

struct Worker {
    inbox: Receiver<Message>,
    stopping: bool,
    armed: Armed,
    folders: Vec<(Folder, Snapshot)>,
    status: Arc<Mutex<WatchStatus>>,
    own: Own,
    timing: Timing,
    on_bell: Box<dyn FnMut(Bell) + Send>,
}

impl Worker {
    fn run(&mut self) {
        loop {
            match self.next() {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Message::Folders(folders)) => {
                    self.replace(folders);
                    self.arm();
                    self.look(|_| true);
                }
                Ok(Message::Gone(paths)) => {
                    self.armed.gone(&paths);
                    self.changed(paths);
                }
                Ok(Message::Changed(paths)) => self.changed(paths),
                Err(RecvTimeoutError::Timeout) => {
                    self.arm();
                    self.look(|_| true);
                }
            }
        }
    }

    fn next(&mut self) -> Result<Message, RecvTimeoutError> {
        if self.stopping {
            return Ok(Message::Stop);
        }
        if self.armed.cause().is_some() {
            self.inbox.recv_timeout(self.timing.poll)
        } else {
            self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        }
    }

    /// Gathers events until it is quiet, then looks.
    fn changed(&mut self, first: Vec<PathBuf>) {
        let relevant = |folders: &[(Folder, Snapshot)], paths: &[PathBuf]| {
            paths.is_empty()
                || paths.iter().any(|path| folders.iter().any(|(folder, _)| folder.concerns(path)))
        };
        if !relevant(&self.folders, &first) {
            return;
        }
        let mut everywhere = first.is_empty();
        let mut paths: HashSet<PathBuf> = first.into_iter().collect();
        let until = Instant::now() + self.timing.debounce * 10;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(self.timing.debounce.min(left)) {
                Ok(Message::Changed(more)) => {
                    everywhere |= more.is_empty();
                    paths.extend(more);
                }
                Ok(Message::Gone(more)) => {
                    self.armed.gone(&more);
                    paths.extend(more);
                }
                // At once, so that a folder that is no longer wanted does not ring.
                Ok(Message::Folders(folders)) => {
                    self.replace(folders);
                    everywhere = true;
                }
                Ok(Message::Stop) => {
                    self.stopping = true;
                    return;
                }
                Err(_) => break,
            }
        }
        self.arm();
        self.look(|folder| everywhere || paths.iter().any(|path| folder.concerns(path)));
    }

    fn replace(&mut self, folders: Vec<(Folder, Snapshot)>) {
        let mut before: HashMap<Folder, Snapshot> = self.folders.drain(..).collect();
        self.folders = folders
            .into_iter()
            .map(|(folder, snapshot)| {
                let snapshot = before.remove(&folder).unwrap_or(snapshot);
                (folder, snapshot)
            })
            .collect();
    }

    fn arm(&mut self) {
        self.armed.arm(self.folders.iter().map(|(folder, _)| folder.path.as_path()));
        let now = match self.armed.cause() {
            None => WatchStatus::Watching,
            Some(cause) => WatchStatus::Polling { cause: cause.to_owned() },
        };
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if *status != now {
            if let WatchStatus::Polling { cause } = &now {
                tracing::warn!(%cause, "changes are looked for every few seconds");
            }
            *status = now;
        }
    }

    /// Compares folders with how they looked before, and rings for those that differ.
    fn look(&mut self, concerned: impl Fn(&Folder) -> bool) {
        let mut bells = Vec::new();
        for (folder, before) in &mut self.folders {
            if !concerned(folder) {
                continue;
            }
            let now = Snapshot::take(folder);
            if self.own.foreign(folder, before, &now) {
                bells.push(Bell { role: folder.role, folder: folder.path.clone() });
            }
            *before = now;
        }
        for bell in bells {
            (self.on_bell)(bell);
        }
    }
}

#[cfg(test)]
mod tests;
