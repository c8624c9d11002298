//! The lock file that every program on the folder honours (PROTOCOL §2).
//!
//! Beside `<id>.json` stands `<id>.json.lock` while somebody changes the file. Ours appears
//! complete (a hard link to a written file), is taken over only after this process saw the same
//! stale one unchanged for a while of *awake* time, is verified again before every write, and is
//! removed only while it is ours.

use super::temp::TempName;
use crate::clock::Clock;
use crate::host::{Liveness, ProcessId, pid_liveness};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a lock of a certainly dead holder must stand still.
const DEAD: Duration = Duration::from_millis(250);
/// How long a lock that says it is older than [`OLD_MS`] must stand still.
const OLD: Duration = Duration::from_secs(5);
/// How long one that cannot be judged must stand still.
const UNKNOWN: Duration = Duration::from_secs(60);
const OLD_MS: i64 = 60_000;
/// How far ahead of the clock a lock may be dated before it counts as future-dated.
const AHEAD_MS: i64 = 1_000;
/// How long ours must survive where a stale one stood: a second thief may still be on its way.
pub(super) const SETTLE: Duration = Duration::from_millis(40);

/// What ours holds; the peer knows `pid` and `at` and tolerates the rest.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    pid: u32,
    /// Wall time, ms.
    at: i64,
    nonce: String,
    #[serde(flatten)]
    place: Place,
}

#[derive(Debug, Serialize, Deserialize)]
struct Place {
    machine: String,
    boot: String,
    namespace: String,
    started: u64,
}

/// Says which lock stands there: another one in its place differs in one of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    inode: u64,
    mtime: i128,
    content: Option<Vec<u8>>,
}

/// What a lock of somebody else amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    /// How long it must stand still before it may be taken; `None` while its holder has a right.
    pub stale_after: Option<Duration>,
    /// The holder's pid, where it names one.
    pub pid: Option<u32>,
    /// How old it says it is, in ms of wall time; `None` where it says nothing.
    pub age_ms: Option<i64>,
}

/// Remembers since when (awake) each lock has stood unchanged, for all operations of the process.
static WATCHED: LazyLock<Mutex<HashMap<PathBuf, Watched>>> = LazyLock::new(Mutex::default);
/// The nonces that this process holds locks with.
static HELD: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Watched {
    seen: Seen,
    since: Duration,
    /// When a stale lock was last seen here.
    stale_at: Option<Duration>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one look at the lock says.
#[derive(Debug)]
pub(super) enum Look {
    /// None stands there; `contested` when a stale one did a moment ago.
    Free { contested: bool },
    /// Somebody holds it.
    Held(Judged),
    /// It stood still long enough to be taken over.
    Stale(Seen),
}

/// Looks at the lock, and remembers what was seen.
pub(super) fn look(path: &Path, clock: &dyn Clock) -> io::Result<Look> {
    let awake = clock.awake();
    let Some(seen) = see(path)? else {
        let contested = locked(&WATCHED).remove(path).and_then(|watched| watched.stale_at);
        let contested = contested.is_some_and(|at| awake.saturating_sub(at) < OLD);
        return Ok(Look::Free { contested });
    };
    let judged = judge(&seen, clock.now_ms());
    let mut watched = locked(&WATCHED);
    let entry = watched.entry(path.to_owned()).or_insert_with(|| Watched {
        seen: seen.clone(),
        since: awake,
        stale_at: None,
    });
    if entry.seen != seen {
        entry.seen = seen;
        entry.since = awake;
    }
    if judged.stale_after == Some(DEAD) {
        entry.stale_at = Some(awake);
    }
    let stood = awake.saturating_sub(entry.since);
    Ok(match judged.stale_after {
        Some(wait) if stood >= wait => Look::Stale(entry.seen.clone()),
        _ => Look::Held(judged),
    })
}

/// Reads which lock stands at a path; `None` when none does.
fn see(path: &Path) -> io::Result<Option<Seen>> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (inode, mtime) = (super::folder::inode(&metadata), super::folder::mtime_ns(&metadata));
    // What cannot be read (a folder, another user's file) is seen all the same.
    let content =
        if metadata.is_file() && metadata.len() < 65_536 { std::fs::read(path).ok() } else { None };
    Ok(Some(Seen { inode, mtime, content }))
}

fn judge(seen: &Seen, now_ms: i64) -> Judged {
    let content: Option<Value> =
        seen.content.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
    let pid = content.as_ref().and_then(|content| match content.get("pid")? {
        Value::String(digits) => digits.trim().parse().ok(),
        number => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    });
    let at = content.as_ref().and_then(|content| content.get("at")?.as_f64());
    #[allow(clippy::cast_possible_truncation, reason = "a float cast saturates")]
    let age_ms = at.map(|at| now_ms.saturating_sub(at as i64));
    let judged = |stale_after| Judged { stale_after, pid, age_ms };
    let Some(pid) = pid.filter(|pid| *pid > 0) else { return judged(Some(UNKNOWN)) };
    let content = content.unwrap_or_default();
    let me = ProcessId::current();
    let place = serde_json::from_value::<Place>(content.clone()).ok();
    if place.as_ref().is_some_and(|p| p.machine != me.machine || p.namespace != me.namespace) {
        return judged(Some(UNKNOWN));
    }
    let nonce = content.get("nonce").and_then(Value::as_str);
    if pid == me.pid
        && let Some(nonce) = nonce
    {
        // A container's first process often has the pid of the one before it.
        return judged((!locked(&HELD).contains(nonce)).then_some(DEAD));
    }
    let liveness = match place {
        Some(Place { machine, boot, namespace, started }) => {
            ProcessId { machine, boot, namespace, pid, started }.liveness()
        }
        None => pid_liveness(pid),
    };
    judged(match (liveness, age_ms) {
        (Liveness::Dead, _) => Some(DEAD),
        (_, None) => Some(UNKNOWN),
        (_, Some(age)) if age < -AHEAD_MS => Some(UNKNOWN),
        (_, Some(age)) if age > OLD_MS => Some(OLD),
        _ => None,
    })
}

/// A lock of ours, until it is released or somebody took it.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    nonce: String,
    content: Vec<u8>,
}

impl LockFile {
    /// Creates the lock; `None` when somebody else was faster.
    pub(super) fn create(path: &Path, now_ms: i64) -> io::Result<Option<LockFile>> {
        let ProcessId { machine, boot, namespace, pid, started } = ProcessId::current().clone();
        let nonce = format!("{:032x}", fastrand::u128(..));
        let place = Place { machine, boot, namespace, started };
        let content = Content { pid, at: now_ms, nonce: nonce.clone(), place };
        let content = serde_json::to_vec(&content)?;
        let temporary = TempName::beside(path)?;
        std::fs::write(&temporary, &content)?;
        locked(&HELD).insert(nonce.clone());
        let lock = LockFile { path: path.to_owned(), nonce, content };
        match link_new(&temporary, path, &lock.content) {
            Ok(()) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says whether the lock that stands there is still this one.
    pub(super) fn is_ours(&self) -> bool {
        std::fs::read(&self.path).is_ok_and(|content| content == self.content)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.is_ours()
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(lock = %self.path.display(), %error, "cannot remove the lock");
        }
        locked(&HELD).remove(&self.nonce);
    }
}

/// Gives a complete file a second name that must be new; where hard links do not exist, the name
/// is created exclusively and filled.
fn link_new(from: &Path, to: &Path, content: &[u8]) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let mut file = std::fs::File::create_new(to)?;
            io::Write::write_all(&mut file, content).inspect_err(|_| {
                // Half a lock says nothing about its holder: others would wait a minute for it.
                let _ = std::fs::remove_file(to);
            })
        }
    }
}

/// Takes a stale lock out of the way: renames it to a unique name, and checks that it was the one
/// that was seen; another one is put back without overwriting. True when the way is free.
pub(super) fn displace(path: &Path, stale: &Seen) -> io::Result<bool> {
    let aside = TempName::beside(path)?;
    match std::fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let moved = see(&aside)?;
    if moved.as_ref() == Some(stale) {
        if moved.is_some_and(|moved| moved.content.is_none()) {
            // A folder in place of the lock; only an empty one is nobody's loss.
            let _ = std::fs::remove_dir(&aside);
        }
        return Ok(true);
    }
    if let Err(error) = std::fs::hard_link(&aside, path)
        && error.kind() != io::ErrorKind::AlreadyExists
        && !path.exists()
    {
        std::fs::rename(&aside, path)?;
    }
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests;
