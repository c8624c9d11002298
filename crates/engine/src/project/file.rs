//! Reading and writing the shared file under its lock.
//!
//! [`open_locked`] waits its turn, [`Locked::read`] reads, [`Locked::write`] replaces the file if
//! lock and file are still what they were, else it is *abandoned* and the operation starts again:
//! [`update`] is that loop. Everything here blocks; async callers use `spawn_blocking`.

use super::document::Document;
use super::guard::{Guard, GuardPlace};
use super::lock::{self, Judged, LockFile, Look};
use super::replace::{self, Replaced};
use super::{ProjectError, temp};
use crate::clock::{Clock, SystemClock};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an operation waits for guard and lock together.
const WAIT: Duration = Duration::from_secs(10);
/// How long it waits for the guard: a stopped process of ours must not wedge the others.
const GUARD_WAIT: Duration = Duration::from_secs(5);
/// How often left-over temporary files are looked for, in awake time.
const CLEAN_EVERY: Duration = Duration::from_secs(30);
/// A lock that is taken again this soon is contended, or soon will be.
const SOON: Duration = Duration::from_millis(25);
/// Under contention one of so many operations leaves the lock free for a moment, longer than other
/// programs wait between two looks: our queue would otherwise never let them in.
const LET_IN: u32 = 16;
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
    wait: Duration,
    clock: Arc<dyn Clock>,
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

    fn released_ago(&self, id: &str, now: Duration) -> Option<Duration> {
        let released = self.shared.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.get(id).map(|at| now.saturating_sub(*at))
    }

    fn probe(&self, step: Step) {
        if let Some(probe) = &self.probe {
            probe(step);
        }
    }

    fn clean_now_and_then(&self, file: &Path, at_once: bool) {
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
    size: u64,
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

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file holds the document.
    Done,
    /// Nothing had changed, so nothing was written.
    Unchanged,
    /// Lock or file were no longer what they were; nothing was written, and the operation must
    /// start again from a fresh read.
    Abandoned,
}

/// The right to change one project's file, until it is dropped.
#[derive(Debug)]
pub struct Locked {
    folder: Folder,
    id: String,
    file: PathBuf,
    /// The file as it was read; `None` before, `Some(None)` when there was none.
    read: Option<Option<FileStamp>>,
    /// `None` only while it is dropped.
    lock: Option<LockFile>,
    /// Whether the folder must be brought to the disk.
    unsynced: bool,
    guard: Option<Guard>,
}

/// Waits for the right to change a project's file: at most ten seconds for our own queue and the
/// lock together. Blocks.
///
/// # Errors
/// [`ProjectError::Busy`] when others hold it too long; else what the file system said.
pub fn open_locked(folder: &Folder, id: &str) -> Result<Locked, ProjectError> {
    let file = folder.file(id)?;
    let path = folder.projects_dir.join(format!("{id}.json.lock"));
    std::fs::create_dir_all(&folder.projects_dir)
        .map_err(|error| ProjectError::io("create the folder", &folder.projects_dir, error))?;
    let start = folder.clock.awake();
    let waited = || folder.clock.awake().saturating_sub(start);
    let again = folder.released_ago(id, start).is_some_and(|ago| ago < SOON);
    if again && folder.guards_dir.is_none() && fastrand::u8(..4) == 0 {
        // Where our processes have no turnstile, the last one must not always be the next one.
        pause(2, 5);
    }
    let (guard, queued) = wait_for_guard(folder, id, &path, &waited);
    if guard.is_some() {
        folder.probe(Step::Guarded);
    }
    if (again || queued) && fastrand::u32(..LET_IN) == 0 {
        pause(25, 30);
    }
    let (lock, taken_over) = loop {
        let failed = |error| ProjectError::io("take the lock", &path, error);
        let held = match lock::look(&path, folder.clock.as_ref()).map_err(failed)? {
            Look::Free { contested } => {
                let lock = LockFile::create(&path, folder.clock.now_ms()).map_err(failed)?;
                match lock {
                    Some(lock) if !contested || settled(&lock) => break (lock, contested),
                    _ => None,
                }
            }
            Look::Held(judged) => Some(judged),
            Look::Stale(stale) => {
                if lock::displace(&path, &stale).map_err(failed)? {
                    folder.probe(Step::Displaced);
                    folder.shared.taken_over.fetch_add(1, Ordering::Relaxed);
                    let lock = LockFile::create(&path, folder.clock.now_ms()).map_err(failed)?;
                    if let Some(lock) = lock.filter(settled) {
                        break (lock, true);
                    }
                }
                None
            }
        };
        if waited() >= folder.wait {
            let Judged { pid, age_ms, .. } =
                held.unwrap_or(Judged { stale_after: None, pid: None, age_ms: None });
            return Err(ProjectError::Busy { lock: path, pid, age_ms, waited: waited() });
        }
        pause(15, 25);
    };
    folder.clean_now_and_then(&file, taken_over);
    folder.probe(Step::Locked);
    let folder = folder.clone();
    let (id, lock) = (id.to_owned(), Some(lock));
    Ok(Locked { folder, id, file, read: None, lock, unsynced: false, guard })
}

/// Waits whether a lock that was created where a stale one stood survives its other thieves.
fn settled(lock: &LockFile) -> bool {
    let ms = u64::try_from(lock::SETTLE.as_millis()).unwrap_or(40);
    pause(ms, ms + 5);
    lock.is_ours()
}

/// Waits for our own queue; says also whether there was one. `None` when it took too long.
fn wait_for_guard(
    folder: &Folder,
    id: &str,
    lock: &Path,
    waited: &dyn Fn() -> Duration,
) -> (Option<Guard>, bool) {
    let (turnstile, guard) = match &folder.guards_dir {
        Some(guards) => (
            GuardPlace::File(guards.join(format!("{id}.next"))).open(),
            GuardPlace::File(guards.join(id)).open(),
        ),
        None => (None, GuardPlace::Folder(folder.projects_dir.clone()).open()),
    };
    let mut queued = false;
    // The first in the queue holds the turnstile until it has the guard, so that whoever just
    // released the guard cannot overtake it.
    if let Some(turnstile) = &turnstile {
        queued = !turnstile.try_lock();
        if queued && !poll(turnstile, folder, lock, waited) {
            return (None, queued);
        }
    }
    let guard = guard.filter(|guard| {
        guard.try_lock() || {
            queued = true;
            poll(guard, folder, lock, waited)
        }
    });
    (guard, queued)
}

/// Tries a guard again and again, for as long as one is waited for; false when it took too long.
fn poll(guard: &Guard, folder: &Folder, lock: &Path, waited: &dyn Fn() -> Duration) -> bool {
    let mut looked = Duration::ZERO;
    while !guard.try_lock() {
        let now = waited();
        if now >= GUARD_WAIT.min(folder.wait) {
            return false;
        }
        if now.saturating_sub(looked) > Duration::from_millis(20) {
            // A stale lock is watched from here on, not only once the guard is ours.
            let _ = lock::look(lock, folder.clock.as_ref());
            looked = now;
        }
        pause(1, 4);
    }
    true
}

/// Waits between two looks, with jitter so that several waiting processes do not march in step.
#[allow(clippy::disallowed_methods, reason = "the lock's poll: the caller is a blocking thread")]
pub(super) fn pause(from_ms: u64, to_ms: u64) {
    std::thread::sleep(Duration::from_micros(fastrand::u64(from_ms * 1_000..=to_ms * 1_000)));
}

impl Locked {
    /// Reads the file; a missing one is an empty document.
    ///
    /// # Errors
    /// [`ProjectError::Unreadable`] when it is no JSON object; such a file is never overwritten.
    pub fn read(&mut self) -> Result<Document, ProjectError> {
        let (document, stamp) = read_file(&self.folder, &self.id, &self.file)?;
        self.read = Some(stamp);
        Ok(document)
    }

    /// Replaces the file by the document, if it changed and if lock and file are still what they
    /// were when it was read.
    ///
    /// # Errors
    /// What the file system said; the old file is then intact and no temporary file is left.
    pub fn write(&mut self, document: &Document) -> Result<Written, ProjectError> {
        if !document.changed() {
            return Ok(Written::Unchanged);
        }
        let Some(read) = self.read.clone() else {
            // Nothing may be replaced that was not read under this lock.
            return Ok(Written::Abandoned);
        };
        let text = document.to_text();
        let verify = || self.is_ours() && stamp_of(&self.file) == read;
        let replaced =
            replace::replace(&self.file, text.as_bytes(), &verify, &|step| self.folder.probe(step))
                .map_err(|error| ProjectError::io("write", &self.file, error))?;
        let shared = &self.folder.shared;
        match replaced {
            Replaced::Yes(stamp) => {
                self.read = Some(Some(stamp.clone()));
                self.unsynced = true;
                shared.writes.fetch_add(1, Ordering::Relaxed);
                let mut written = shared.written.lock().unwrap_or_else(PoisonError::into_inner);
                written.insert(self.id.clone(), stamp);
                Ok(Written::Done)
            }
            Replaced::No => {
                shared.abandoned.fetch_add(1, Ordering::Relaxed);
                Ok(Written::Abandoned)
            }
        }
    }

    /// Says whether the lock is still ours.
    pub fn is_ours(&self) -> bool {
        self.lock.as_ref().is_some_and(LockFile::is_ours)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.folder.probe(Step::BeforeUnlink);
        // The lock before the guard: the next one in the queue finds it free.
        self.lock = None;
        self.guard = None;
        let shared = &self.folder.shared;
        let mut released = shared.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.insert(self.id.clone(), self.folder.clock.awake());
        drop(released);
        if self.unsynced {
            // Others need not wait for the disk, but the caller acts on what was written only
            // after this.
            replace::sync_folder(&self.file);
        }
    }
}

fn stamp_of(file: &Path) -> Option<FileStamp> {
    std::fs::metadata(file).ok().map(|metadata| FileStamp::of(&metadata))
}

fn read_file(
    folder: &Folder,
    id: &str,
    file: &Path,
) -> Result<(Document, Option<FileStamp>), ProjectError> {
    let failed = |error| ProjectError::io("read", file, error);
    let mut opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Document::empty(), None));
        }
        Err(error) => return Err(failed(error)),
    };
    let stamp = FileStamp::of(&opened.metadata().map_err(failed)?);
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
    io::Read::read_to_end(&mut opened, &mut bytes).map_err(failed)?;
    let parsed = match std::str::from_utf8(&bytes) {
        Ok(text) => Document::parse(text),
        Err(error) => Err(super::DocumentError {
            line: bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count(),
            column: 0,
            message: "not UTF-8".to_owned(),
        }),
    };
    match parsed {
        Ok(document) => Ok((document, Some(stamp))),
        Err(error) => {
            replace::keep_copy(folder.trash_dir.as_deref(), id, &bytes);
            Err(ProjectError::Unreadable { path: file.to_owned(), error })
        }
    }
}

/// Reads a project's file without the lock; a missing one is an empty document. Blocks.
///
/// # Errors
/// As [`Locked::read`].
pub fn read_only(folder: &Folder, id: &str) -> Result<Document, ProjectError> {
    let file = folder.file(id)?;
    read_file(folder, id, &file).map(|(document, _)| document)
}

/// Changes a project's file: reads it under the lock, lets `change` work on it, writes it, and
/// starts again when the write was abandoned, so `change` may be called several times. Blocks.
///
/// # Errors
/// What `change` says (nothing is written then); [`ProjectError::Busy`] also when the lock or the
/// file were lost again and again.
pub fn update<T, E: From<ProjectError>>(
    folder: &Folder,
    id: &str,
    mut change: impl FnMut(&mut Document) -> Result<T, E>,
) -> Result<(T, Written), E> {
    let start = folder.clock.awake();
    loop {
        let mut locked = open_locked(folder, id)?;
        let mut document = locked.read()?;
        let answer = change(&mut document)?;
        match locked.write(&document)? {
            Written::Abandoned => {}
            written => return Ok((answer, written)),
        }
        let waited = folder.clock.awake().saturating_sub(start);
        if waited >= folder.wait {
            let lock = folder.projects_dir.join(format!("{id}.json.lock"));
            return Err(ProjectError::Busy { lock, pid: None, age_ms: None, waited }.into());
        }
    }
}

#[cfg(test)]
pub(in crate::project) mod tests;
