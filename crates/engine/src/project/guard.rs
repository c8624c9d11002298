//! The queue of our own processes before the lock.
//!
//! The operating system releases a guard when its process ends, so it is never stale; the lock
//! file, which everybody honours, is contended by at most one process of ours at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Where the guard of a project is.
#[derive(Debug)]
pub(super) enum GuardPlace {
    /// A file of our own.
    File(PathBuf),
    /// The project folder itself: nothing of ours may stay there.
    Folder(PathBuf),
}

/// An open guard, locked or not; dropping it unlocks.
#[derive(Debug)]
pub(super) struct Guard(File);

impl GuardPlace {
    /// Opens the guard; `None` where the system cannot lock it (then the lock file alone decides).
    pub(super) fn open(&self) -> Option<Guard> {
        let file = match self {
            GuardPlace::File(path) => open_file(path),
            GuardPlace::Folder(path) => File::open(path),
        };
        file.ok().map(Guard)
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().create(true).truncate(false).write(true).open(path);
    open().or_else(|error| match path.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            open()
        }
        _ => Err(error),
    })
}

impl Guard {
    /// Locks the guard if nobody holds it; also true where the system has no such locks.
    pub(super) fn try_lock(&self) -> bool {
        !matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }
}
