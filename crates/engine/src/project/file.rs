//! Reading and writing the shared file under its lock.
//!
//! [`open_locked`] waits its turn, [`Locked::read`] reads, [`Locked::write`] replaces the file if
//! lock and file are still what they were, else it is *abandoned* and the operation starts again:
//! [`update`] is that loop. Everything here blocks; async callers use `spawn_blocking`.

use super::ProjectError;
use super::document::Document;
use super::folder::{FileStamp, Folder, Step};
use super::guard::Guard;
use super::lock::LockFile;
use super::replace::{self, Replaced};
use super::turn::{self, Turn};
use std::io;
use std::path::{Path, PathBuf};

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
    std::fs::create_dir_all(&folder.projects_dir)
        .map_err(|error| ProjectError::io("create the folder", &folder.projects_dir, error))?;
    let Turn { lock, guard, taken_over } = turn::take(folder, id, &folder.lock(id))?;
    folder.clean_now_and_then(&file, taken_over);
    folder.probe(Step::Locked);
    let folder = folder.clone();
    let (id, lock) = (id.to_owned(), Some(lock));
    Ok(Locked { folder, id, file, read: None, lock, unsynced: false, guard })
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
        match replaced {
            Replaced::Yes(stamp) => {
                self.read = Some(Some(stamp.clone()));
                self.unsynced = true;
                self.folder.count_write(&self.id, stamp);
                Ok(Written::Done)
            }
            Replaced::No => {
                self.folder.count_abandoned();
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
        self.folder.note_release(&self.id);
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
            let lock = folder.lock(id);
            return Err(ProjectError::Busy { lock, pid: None, age_ms: None, waited }.into());
        }
    }
}

#[cfg(test)]
pub(in crate::project) mod tests;
