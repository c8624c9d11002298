//! What can go wrong with the ledger; every message names the file and what to do.

use super::status::Status;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the ledger could not do what was asked. A lost race is never one of these: it is a verdict.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum LedgerError {
    #[error(
        "{path} lies on {kind}, where SQLite's locks cannot be trusted: keep the data folder on a \
         local disk (--data-dir or OPENCHAMBER_DATA_DIR)"
    )]
    NetworkFilesystem { path: PathBuf, kind: String },
    #[error(
        "{path} belongs to user {owner}, but this program runs as user {me}: start it as the owner \
         (without sudo), or name another folder with --data-dir"
    )]
    ForeignOwner { path: PathBuf, owner: u32, me: u32 },
    #[error(
        "{path} cannot be written ({detail}): give yourself write permission on it and its folder"
    )]
    ReadOnly { path: PathBuf, detail: String },
    #[error(
        "{path} cannot be used as a folder: {source}; name a folder of yours on a local disk with \
         --data-dir or OPENCHAMBER_DATA_DIR"
    )]
    Folder { path: PathBuf, source: std::io::Error },
    #[error(
        "{path} has schema {found}, this program knows {known}: a newer Loopkeeper has upgraded it; \
         upgrade this one and restart it"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "{path} is damaged, and another Loopkeeper has it open: stop the others, then start again \
         (the damaged file is set aside, nothing is deleted)"
    )]
    DamagedInUse { path: PathBuf },
    #[error("{path} is damaged ({detail}); it is set aside at the next attempt to open it")]
    Corrupt { path: PathBuf, detail: String },
    #[error(
        "{path} is being replaced by another process that does not finish: stop it, then try again"
    )]
    Locked { path: PathBuf },
    #[error("{path} is busy: another process wrote for more than 2 s; try again")]
    Busy { path: PathBuf },
    #[error(
        "the disk of {path} is full: free some space; what could not be written is tried again"
    )]
    Full { path: PathBuf },
    #[error(
        "{path} could not be backed up before its upgrade ({detail}): free some space beside it"
    )]
    Backup { path: PathBuf, detail: String },
    #[error("run {run} is {from} and cannot become {to}")]
    Illegal { run: i64, from: Status, to: Status },
    #[error("run {run} is not in the ledger: it may have been pruned; list the runs again")]
    NoSuchRun { run: i64 },
    #[error("{path}: {during}: {source}")]
    Sql { path: PathBuf, during: &'static str, source: rusqlite::Error },
}

impl LedgerError {
    /// Says whether the same call may succeed later without anybody's doing.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. } | Self::Full { .. } | Self::Locked { .. } | Self::Corrupt { .. }
        )
    }
}

/// An error inside a transaction, before the path and the operation are known.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Said(LedgerError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sql(error)
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Fault::Said(error)
    }
}

impl Fault {
    pub(super) fn at(self, path: &Path, during: &'static str) -> LedgerError {
        match self {
            Fault::Said(error) => error,
            Fault::Sql(error) => from_sql(error, path, during),
        }
    }
}

pub(super) fn from_sql(source: rusqlite::Error, path: &Path, during: &'static str) -> LedgerError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Busy { path },
        Some(ErrorCode::DiskFull) => LedgerError::Full { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            LedgerError::Corrupt { path, detail: source.to_string() }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            LedgerError::ReadOnly { path, detail: source.to_string() }
        }
        _ => LedgerError::Sql { path, during, source },
    }
}
