//! A folder of shared project files: where things are, and what this process counts there.

use super::{ProjectError, replace, temp};
use crate::clock::{Clock, SystemClock};
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an operation waits for guard and lock together.
const WAIT: Duration = Duration::from_secs(10);
/// How often left-over temporary files are looked for, in awake time.
const CLEAN_EVERY: Duration = Duration::from_secs(30);
/// The longest file name of every system we build for.
const NAME_BYTES: usize = 255;

/// A moment inside an operation, for tests that stop or kill the process there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The guard is ours, the lock is not yet.
    Guarded,
    /// A stale lock was moved away, ours is not yet there.
    Displaced,
    /// The lock is ours.
    Locked,
    /// The temporary file is written, not yet on the disk.
    BeforeFsync,
    /// It is on the disk; lock and file are not yet verified.
    BeforeVerify,
    /// Both were verified; two system calls stand between here and the rename.
    BeforeRename,
    /// The file is replaced; the folder is not yet on the disk.
    AfterRename,
    /// The lock is about to be released.
    BeforeUnlink,
}

/// Is called at each [`Step`].
pub type Probe = Arc<dyn Fn(Step) + Send + Sync>;

/// A folder of shared project files, and how this process works on it; cheap to clone.
#[derive(Clone)]
pub struct Folder {
    /// Where `<id>.json` and its lock are.
    pub projects_dir: PathBuf,
    /// Where our own processes queue; `None` for a folder where nothing of ours may stay.
    pub guards_dir: Option<PathBuf>,
    /// Where unreadable files are copied once; `None` for nowhere.
    pub trash_dir: Option<PathBuf>,
    /// Called at each step; for tests.
    pub probe: Option<Probe>,
    pub(super) wait: Duration,
    pub(super) clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    writes: AtomicU64,
    abandoned: AtomicU64,
    taken_over: AtomicU64,
    written: Mutex<HashMap<String, FileStamp>>,
    cleaned: Mutex<Option<Duration>>,
    /// When each lock was last released, in awake time.
    released: Mutex<HashMap<String, Duration>>,
}

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Folder").field("projects_dir", &self.projects_dir).finish_non_exhaustive()
    }
}

impl Folder {
    /// Names a folder where nothing of ours stays: our processes queue on the folder itself.
    pub fn new(projects_dir: impl Into<PathBuf>) -> Folder {
        Folder {
            projects_dir: projects_dir.into(),
            guards_dir: None,
            trash_dir: None,
            probe: None,
            wait: WAIT,
            // Locks keep real time, whatever clock decides which slot is due.
            clock: Arc::new(SystemClock),
            shared: Arc::default(),
        }
    }

    /// Names the project folder of a data folder.
    pub fn of(paths: &crate::Paths) -> Folder {
        Folder {
            guards_dir: Some(paths.own().join("locks")),
            trash_dir: Some(paths.own().join("trash")),
            ..Folder::new(paths.projects())
        }
    }

    /// Waits at most so long for guard and lock together, in place of ten seconds.
    pub fn with_wait(self, wait: Duration) -> Folder {
        Folder { wait, ..self }
    }

    /// Takes another clock for the ages of locks; for tests.
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Folder {
        Folder { clock, ..self }
    }

    /// Returns the path of a project's file.
    ///
    /// # Errors
    /// When the id cannot be a file name.
    pub fn file(&self, id: &str) -> Result<PathBuf, ProjectError> {
        if id.is_empty() || id.contains(['/', '\\', '\0']) {
            return Err(ProjectError::InvalidId { id: id.to_owned() });
        }
        if id.len() + ".json.lock".len() > NAME_BYTES {
            return Err(ProjectError::IdTooLong { id: id.to_owned(), bytes: id.len() });
        }
        Ok(self.projects_dir.join(format!("{id}.json")))
    }

    /// Returns the path of a project's lock.
    pub(super) fn lock(&self, id: &str) -> PathBuf {
        self.projects_dir.join(format!("{id}.json.lock"))
    }

    /// Counts the files that this process replaced.
    pub fn writes(&self) -> u64 {
        self.shared.writes.load(Ordering::Relaxed)
    }

    /// Counts the writes that were abandoned because the lock or the file was no longer ours.
    pub fn abandoned(&self) -> u64 {
        self.shared.abandoned.load(Ordering::Relaxed)
    }

    /// Counts the stale locks that this process took over.
    pub fn taken_over(&self) -> u64 {
        self.shared.taken_over.load(Ordering::Relaxed)
    }

    /// Says whether a project's file is as this process last wrote it, so that our own writes ring
    /// no bell.
    pub fn is_own_write(&self, id: &str) -> bool {
        let written = self.shared.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(written) = written.get(id) else { return false };
        self.stamp(id).as_ref() == Some(written)
    }

    /// Returns what tells versions of a project's file apart; `None` when there is no file.
    pub fn stamp(&self, id: &str) -> Option<FileStamp> {
        Some(FileStamp::of(&std::fs::metadata(self.file(id).ok()?).ok()?))
    }

    pub(super) fn count_write(&self, id: &str, stamp: FileStamp) {
        self.shared.writes.fetch_add(1, Ordering::Relaxed);
        let mut written = self.shared.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(id.to_owned(), stamp);
    }

    pub(super) fn count_abandoned(&self) {
        self.shared.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_take_over(&self) {
        self.shared.taken_over.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_release(&self, id: &str) {
        let now = self.clock.awake();
        let mut released = self.shared.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.insert(id.to_owned(), now);
    }

    pub(super) fn released_ago(&self, id: &str, now: Duration) -> Option<Duration> {
        let released = self.shared.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.get(id).map(|at| now.saturating_sub(*at))
    }

    pub(super) fn probe(&self, step: Step) {
        if let Some(probe) = &self.probe {
            probe(step);
        }
    }

    pub(super) fn clean_now_and_then(&self, file: &Path, at_once: bool) {
        let now = self.clock.awake();
        let mut cleaned = self.shared.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
        if at_once || cleaned.is_none_or(|last| now.saturating_sub(last) > CLEAN_EVERY) {
            *cleaned = Some(now);
            drop(cleaned);
            let now_ms = self.clock.now_ms();
            temp::clean(&self.projects_dir, now_ms);
            // The temporary file of a linked one is beside its target.
            if let Ok(target) = replace::link_target(file)
                && let Some(folder) = target.parent().filter(|folder| *folder != self.projects_dir)
            {
                temp::clean(folder, now_ms);
            }
        }
    }
}

/// Tells versions of a file apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    pub(super) size: u64,
    mtime_ns: i128,
}

impl FileStamp {
    /// Returns the stamp that a file's metadata give.
    pub fn of(metadata: &Metadata) -> FileStamp {
        FileStamp { inode: inode(metadata), size: metadata.len(), mtime_ns: mtime_ns(metadata) }
    }
}

/// Returns the inode; 0 where the system has none.
pub(super) fn inode(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

/// Returns the time of the last change in ns since 1970.
pub(super) fn mtime_ns(metadata: &Metadata) -> i128 {
    let since = metadata.modified().ok().map(|at| at.duration_since(std::time::UNIX_EPOCH));
    match since {
        Some(Ok(since)) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Some(Err(before)) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        None => 0,
    }
}
