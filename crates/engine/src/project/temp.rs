//! Temporary files in the shared folder: named so that anyone can tell whose they are.
//!
//! A name tells place, pid and start time of its process, so those of dead processes can be
//! removed without asking anybody. Names are short: project ids may fill a file name.

use crate::host::{Liveness, ProcessId};
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PREFIX: &str = ".loopkeeper-";
const SUFFIX: &str = ".tmp";
/// How old one of another machine or container must be to be removed.
const FOREIGN: Duration = Duration::from_hours(24);

/// A unique name, removed again unless it was moved away.
#[derive(Debug)]
pub(super) struct TempName(PathBuf);

impl TempName {
    /// Returns a new name in the folder of `path`.
    pub(super) fn beside(path: &Path) -> io::Result<TempName> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let me = ProcessId::current();
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let place = &*PLACE;
        let name = format!("{PREFIX}{place}-{}-{}-{n}{SUFFIX}", me.pid, me.started);
        Ok(TempName(folder.join(name)))
    }
}

impl Deref for TempName {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TempName {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempName {
    fn drop(&mut self) {
        // Usually it was renamed; what is left here is ours alone.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A short mark of this machine and pid namespace: pids mean something only inside it.
static PLACE: LazyLock<String> = LazyLock::new(|| {
    let me = ProcessId::current();
    let digest = Sha256::digest(format!("{}\n{}\n{}", me.machine, me.boot, me.namespace));
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
});

/// Removes temporary files whose process is certainly gone; `now_ms` is wall time.
pub(super) fn clean(folder: &Path, now_ms: i64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(owner) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX))
        else {
            continue;
        };
        if is_left_over(owner, || age(&entry, now_ms)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_left_over(owner: &str, age: impl FnOnce() -> Option<Duration>) -> bool {
    let parts: Vec<&str> = owner.split('-').collect();
    if let [place, pid, started, _] = parts[..]
        && place == PLACE.as_str()
        && let (Ok(pid), Ok(started)) = (pid.parse(), started.parse())
    {
        let owner = ProcessId { pid, started, ..ProcessId::current().clone() };
        return owner.liveness() == Liveness::Dead;
    }
    age().is_some_and(|age| age > FOREIGN)
}

fn age(entry: &std::fs::DirEntry, now_ms: i64) -> Option<Duration> {
    let written = super::folder::mtime_ns(&entry.metadata().ok()?) / 1_000_000;
    u64::try_from(i128::from(now_ms) - written).ok().map(Duration::from_millis)
}
