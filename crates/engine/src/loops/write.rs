//! Loop files on disk: read within bounds, written atomically.

use super::parse::LARGEST_FILE;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Why a loop file was not read or written; each names the path.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is a symbolic link, a folder or something else that is not a plain file.
    #[error("{} is not a plain file: Loopkeeper changes no links; edit what it points to", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It is larger than a loop can be.
    #[error("{} is larger than 4 MiB and is not a loop", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
    },
    /// A new file would replace one that exists.
    #[error("{} exists already: choose another name", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was tried: read, write, remove.
        what: &'static str,
        /// The system's words.
        error: io::Error,
    },
}

impl WriteError {
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> WriteError {
        let path = path.to_owned();
        move |error| WriteError::Io { path, what, error }
    }
}

/// Reads a loop file.
///
/// # Errors
/// A link is refused, and so is what is too large or cannot be read.
pub fn read_file(path: &Path) -> Result<Vec<u8>, WriteError> {
    let found = fs::symlink_metadata(path).map_err(WriteError::io(path, "read"))?;
    if !found.is_file() {
        return Err(WriteError::NotAFile { path: path.to_owned() });
    }
    let bytes = read_bounded(path).map_err(WriteError::io(path, "read"))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(WriteError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Reads a file, and one byte more than a loop may have at the most.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a loop file atomically: a reader sees the old bytes or the new ones, and so does the
/// disk after a crash. An existing file keeps its mode.
///
/// # Errors
/// A symbolic link is refused: renaming over it would cut it, and following it would write
/// outside of the loop folders.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mode = match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(WriteError::NotAFile { path: path.to_owned() });
        }
        Ok(found) => Some(found.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(WriteError::io(path, "write")(error)),
    };
    let temporary = stage(path, bytes, mode)?;
    temporary.persist(path).map_err(|error| WriteError::io(path, "write")(error.error))?;
    sync_folder(path);
    Ok(())
}

/// Writes a loop file that must not exist yet, atomically.
///
/// # Errors
/// [`WriteError::Exists`] when it does.
pub fn write_new_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let temporary = stage(path, bytes, None)?;
    temporary.persist_noclobber(path).map_err(|error| {
        if error.error.kind() == io::ErrorKind::AlreadyExists {
            WriteError::Exists { path: path.to_owned() }
        } else {
            WriteError::io(path, "write")(error.error)
        }
    })?;
    sync_folder(path);
    Ok(())
}

/// Writes the bytes beside the file under a name that no reader takes for a loop.
fn stage(
    path: &Path,
    bytes: &[u8],
    mode: Option<fs::Permissions>,
) -> Result<tempfile::NamedTempFile, WriteError> {
    let failed = || WriteError::io(path, "write");
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".loop-").suffix(".tmp");
    #[cfg(unix)]
    if mode.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // What the umask leaves of it, as any editor creates files.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder).map_err(failed())?;
    temporary.write_all(bytes).map_err(failed())?;
    if let Some(mode) = mode {
        temporary.as_file().set_permissions(mode).map_err(failed())?;
    }
    temporary.as_file().sync_all().map_err(failed())?;
    Ok(temporary)
}

/// Makes a rename durable, where folders can be synced at all.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
        && let Err(error) = folder.sync_all()
    {
        tracing::debug!(path = %path.display(), %error, "the folder was not synced");
    }
}
