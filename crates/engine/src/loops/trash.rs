//! Deleted loop files, kept for a while so that a deletion can be undone.
//!
//! An entry is two files in the trash folder: the loop's bytes, and a note of where they came
//! from. The note is written last and removed first, so that an entry is whole or not there.

use super::discover::Stamp;
use super::write::{WriteError, read_file, write_file, write_new_file};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How long a deleted loop is kept, ms.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// A deleted loop file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trashed {
    /// Its name in the trash: digits and dashes.
    pub id: String,
    /// Where the file was.
    pub path: PathBuf,
    /// When it was deleted, ms since 1970.
    pub deleted_at: i64,
    /// The file's mode; `None` where the system has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Why a deletion or its undoing failed.
#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    /// The file changed while it was being deleted; nothing was deleted.
    #[error("{} changed at this moment and was not deleted: look at it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There is no such entry, or no longer.
    #[error("there is no deleted loop `{id}`: it was restored before, or 30 days are over")]
    Unknown {
        /// The entry that was asked for.
        id: String,
    },
    /// The system refused; or another file stands at the old place.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Moves a loop file into the trash folder, which is created when it is not there.
///
/// # Errors
/// A link is refused. After an error the file is where it was.
pub fn delete_to_trash(path: &Path, trash: &Path, now_ms: i64) -> Result<Trashed, TrashError> {
    let metadata = fs::symlink_metadata(path).map_err(WriteError::io(path, "delete"))?;
    let bytes = read_file(path)?;
    create_private(trash).map_err(WriteError::io(trash, "create"))?;
    let mut entry = Trashed {
        id: String::new(),
        path: path.to_owned(),
        deleted_at: now_ms,
        mode: mode(&metadata),
    };
    let mut number = 0;
    loop {
        entry.id = format!("{now_ms}-{number}");
        match write_new_file(&content(trash, &entry.id), &bytes) {
            Ok(()) => break,
            Err(WriteError::Exists { .. }) => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let undo = |error: TrashError| {
        for file in [note(trash, &entry.id), content(trash, &entry.id)] {
            if let Err(error) = fs::remove_file(&file)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %file.display(), %error, "a leftover stays in the trash");
            }
        }
        error
    };
    let text = serde_json::to_vec_pretty(&entry)
        .map_err(|error| undo(WriteError::io(path, "delete")(io::Error::other(error)).into()))?;
    write_file(&note(trash, &entry.id), &text).map_err(|error| undo(error.into()))?;
    let same = fs::symlink_metadata(path).is_ok_and(|now| Stamp::of(&now) == Stamp::of(&metadata));
    if !same {
        return Err(undo(TrashError::Changed { path: path.to_owned() }));
    }
    fs::remove_file(path).map_err(|error| undo(WriteError::io(path, "delete")(error).into()))?;
    Ok(entry)
}

/// Puts a deleted loop file back where it was, with its bytes and mode.
///
/// # Errors
/// When the entry is gone, or another file has taken the place: nothing is replaced.
pub fn restore(trash: &Path, id: &str) -> Result<PathBuf, TrashError> {
    let unknown = || TrashError::Unknown { id: id.to_owned() };
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Err(unknown());
    }
    let entry = read_note(&note(trash, id)).ok_or_else(unknown)?;
    let bytes = read_file(&content(trash, id))?;
    if let Some(folder) = entry.path.parent() {
        fs::create_dir_all(folder).map_err(WriteError::io(folder, "create"))?;
    }
    write_new_file(&entry.path, &bytes)?;
    set_mode(&entry.path, entry.mode)?;
    forget(trash, id)?;
    Ok(entry.path)
}

/// Lists the entries, newest first. A trash folder that is not there is empty.
pub fn list(trash: &Path) -> Vec<Trashed> {
    let Ok(files) = fs::read_dir(trash) else { return Vec::new() };
    let mut entries: Vec<Trashed> = files
        .filter_map(|file| file.ok())
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "json"))
        .filter_map(|file| read_note(&file.path()))
        .collect();
    entries.sort_by(|a, b| (b.deleted_at, &b.id).cmp(&(a.deleted_at, &a.id)));
    entries
}

/// Removes the entries that are older than [`KEPT_MS`]; the answer counts them.
///
/// # Errors
/// When one cannot be removed; the others before it are.
pub fn purge_trash(trash: &Path, now_ms: i64) -> Result<usize, TrashError> {
    let mut removed = 0;
    for entry in list(trash) {
        if now_ms.saturating_sub(entry.deleted_at) > KEPT_MS {
            forget(trash, &entry.id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Creates a folder that only its owner can look into: what was private stays so.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

fn content(trash: &Path, id: &str) -> PathBuf {
    trash.join(format!("{id}.loop"))
}

fn note(trash: &Path, id: &str) -> PathBuf {
    trash.join(format!("{id}.json"))
}

fn read_note(path: &Path) -> Option<Trashed> {
    let entry: Trashed = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    // The name decides, so that a foreign note never points outside of the trash.
    (path.file_stem()?.to_str()? == entry.id).then_some(entry)
}

fn forget(trash: &Path, id: &str) -> Result<(), TrashError> {
    for path in [note(trash, id), content(trash, id)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(WriteError::io(&path, "remove")(error).into());
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(metadata.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_metadata: &fs::Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> Result<(), TrashError> {
    use std::os::unix::fs::PermissionsExt;
    match mode {
        Some(mode) => Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(WriteError::io(path, "write"))?),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Option<u32>) -> Result<(), TrashError> {
    Ok(())
}
