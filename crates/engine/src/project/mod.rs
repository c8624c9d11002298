//! The JSON file of a project, shared with the peer: its text, its lock, and what may change it.
//!
//! [`document`] keeps the text verbatim, [`folder`] says where files are, [`file`] reads and writes it under the lock that every
//! program on the folder honours, [`reconcile`] merges loop files into it, [`upsert`] takes what
//! clients send, [`registry`] knows the projects. Nothing here knows the ledger.

pub mod document;
pub mod file;
pub mod folder;
mod guard;
mod lock;
pub mod nudge;
mod read;
pub mod reconcile;
pub mod registry;
mod replace;
mod splice;
mod temp;
mod turn;
pub mod upsert;

pub use document::{Document, DocumentError, Entry, Patch, StatePatch};
pub use file::{Locked, Written, open_locked, read_only, update};
pub use folder::{FileStamp, Folder, Probe, Step};
pub use reconcile::{Reconciled, reconcile};
pub use registry::{Listing, Project, Registry, RegistryError, project_id};
pub use upsert::{DeleteError, UpsertError, Upserted, delete, upsert};

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why an operation on a project's file failed; nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The id cannot be a file name.
    #[error("`{id}` is no project id: it would leave the projects folder")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// The id is longer than a file name may be.
    #[error(
        "the project's id has {bytes} bytes, too many for a file name: move the project to a \
         folder with a shorter path, or reach it through a symbolic link and add that"
    )]
    IdTooLong {
        /// The id.
        id: String,
        /// Its length.
        bytes: usize,
    },
    /// Others held the lock too long.
    #[error("{}", busy_message(lock, *pid, *age_ms, *waited))]
    Busy {
        /// The lock file.
        lock: PathBuf,
        /// The holder, where the lock names one.
        pid: Option<u32>,
        /// How old the lock says it is, in ms of wall time.
        age_ms: Option<i64>,
        /// How long was waited, in awake time.
        waited: Duration,
    },
    /// The file is no JSON object; it is left as it is.
    #[error("{}: {error}; it is left as it is: repair or remove it, then all goes on", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: DocumentError,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}{}", path.display(), way_out(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ProjectError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> ProjectError {
        ProjectError::Io { action, path: path.to_owned(), source }
    }
}

fn way_out(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        PermissionDenied | ReadOnlyFilesystem => {
            "; give the user that runs Loopkeeper the right to read and write its folder"
        }
        StorageFull => "; free some space, then it goes on",
        _ => "",
    }
}

fn busy_message(lock: &Path, pid: Option<u32>, age_ms: Option<i64>, waited: Duration) -> String {
    let holder = pid.map_or_else(|| "another program".to_owned(), |pid| format!("process {pid}"));
    let age = age_ms.map_or_else(String::new, |age| format!(" since {} s", age / 1000));
    format!(
        "{} is held by {holder}{age}; waited {} s: end that program if it hangs, or remove the \
         file if nothing uses it, and try again",
        lock.display(),
        waited.as_secs()
    )
}
