//! The log of our server: it writes the file itself, so here it is only opened, kept short and read.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The longest log that a running server may write before it is cut, in bytes.
const LOG_LIMIT: u64 = 4 * 1024 * 1024;

/// Opens the log for one more start; a long one becomes `opencode.log.1`.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > LOG_LIMIT / 4) {
        let _ = std::fs::rename(path, path.with_extension("log.1"));
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Cuts the log of a running server when it is too long.
pub(super) fn keep_short(path: &Path) {
    // The server appends, so a log that is cut goes on from its beginning.
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > LOG_LIMIT) {
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0));
        if let Err(error) = cut {
            tracing::warn!(%error, "OpenCode's log was not cut");
        }
    }
}

/// Returns the last lines of the server's log.
pub(super) fn tail(path: &Path, lines: usize) -> Vec<String> {
    // Lines of a log are longer than those of a book, and none may cost without bound.
    let most = u64::try_from(lines).unwrap_or(u64::MAX).saturating_mul(512);
    let most = most.clamp(16 * 1024, 1024 * 1024);
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(most))).is_err()
        || file.take(most).read_to_end(&mut bytes).is_err()
    {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}
