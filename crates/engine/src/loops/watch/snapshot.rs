//! How a folder's relevant files look, and which differences are our own.

use super::Folder;
use crate::loops::discover::Stamp;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The relevant files of a folder, without their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Snapshot {
    Missing,
    Unreadable(io::ErrorKind),
    /// Stamp and mode by name; the mode because a file may become readable.
    Files(BTreeMap<String, (Stamp, u32)>),
}

impl Snapshot {
    pub(super) fn take(folder: &Folder) -> Snapshot {
        let entries = match fs::read_dir(&folder.path) {
            Ok(entries) => entries,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Snapshot::Missing;
            }
            Err(error) => return Snapshot::Unreadable(error.kind()),
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Snapshot::Unreadable(error.kind()),
            };
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !folder.counts(&name) {
                continue;
            }
            // One that is gone again is as good as never listed.
            if let Ok(metadata) = entry.metadata() {
                files.insert(name, (Stamp::of(&metadata), mode(&metadata)));
            }
        }
        Snapshot::Files(files)
    }

    fn files(&self) -> Option<&BTreeMap<String, (Stamp, u32)>> {
        match self {
            Snapshot::Files(files) => Some(files),
            _ => None,
        }
    }
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    metadata.mode()
}

#[cfg(not(unix))]
fn mode(metadata: &fs::Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}

fn stamp(path: &Path) -> Option<Stamp> {
    fs::symlink_metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

/// The writes of this process that were not seen yet.
#[derive(Clone, Default)]
pub(super) struct Own(Arc<Mutex<HashMap<PathBuf, Option<Stamp>>>>);

impl Own {
    /// Runs a write and remembers the stamp that it left; looks wait meanwhile.
    pub(super) fn writing<T>(&self, path: &Path, write: impl FnOnce() -> T) -> T {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = stamp(path);
        let result = write();
        let after = stamp(path);
        if before != after {
            own.insert(path.to_owned(), after);
        }
        result
    }

    /// Says whether a folder changed by somebody else's hand, and forgets the own writes seen.
    pub(super) fn foreign(&self, folder: &Folder, before: &Snapshot, now: &Snapshot) -> bool {
        if before == now {
            return false;
        }
        let empty = BTreeMap::new();
        let missing_or_files = |snapshot: &Snapshot| !matches!(snapshot, Snapshot::Unreadable(_));
        if !missing_or_files(before) || !missing_or_files(now) {
            return true;
        }
        let (old, new) = (before.files().unwrap_or(&empty), now.files().unwrap_or(&empty));
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut foreign = false;
        for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
            if old.get(name) == new.get(name) {
                continue;
            }
            let stamp = new.get(name).map(|(stamp, _)| *stamp);
            foreign |= own.remove(&folder.path.join(name)) != Some(stamp);
        }
        foreign
    }
}
