//! Waiting for one's turn: first the queue of our own processes, then the lock of everybody.

use super::ProjectError;
use super::folder::{Folder, Step};
use super::guard::{Guard, GuardPlace};
use super::lock::{self, Judged, LockFile, Look};
use std::path::Path;
use std::time::Duration;

/// How long it waits for the guard: a stopped process of ours must not wedge the others.
const GUARD_WAIT: Duration = Duration::from_secs(5);
/// A lock that is taken again this soon is contended, or soon will be.
const SOON: Duration = Duration::from_millis(25);
/// Under contention one of so many operations leaves the lock free for a moment, longer than other
/// programs wait between two looks: our queue would otherwise never let them in.
const LET_IN: u32 = 16;

/// The right to change one project's file.
#[derive(Debug)]
pub(super) struct Turn {
    pub lock: LockFile,
    /// `None` where the system has no such locks, or when it took too long.
    pub guard: Option<Guard>,
    /// Whether a stale lock was taken over.
    pub taken_over: bool,
}

/// Waits for guard and lock, for as long as the folder says in all. Blocks.
pub(super) fn take(folder: &Folder, id: &str, path: &Path) -> Result<Turn, ProjectError> {
    let start = folder.clock.awake();
    let waited = || folder.clock.awake().saturating_sub(start);
    let again = folder.released_ago(id, start).is_some_and(|ago| ago < SOON);
    if again && folder.guards_dir.is_none() && fastrand::u8(..4) == 0 {
        // Where our processes have no turnstile, the last one must not always be the next one.
        pause(2, 5);
    }
    let (guard, queued) = wait_for_guard(folder, id, path, &waited);
    if guard.is_some() {
        folder.probe(Step::Guarded);
    }
    if (again || queued) && fastrand::u32(..LET_IN) == 0 {
        pause(25, 30);
    }
    loop {
        let failed = |error| ProjectError::io("take the lock", path, error);
        let held = match lock::look(path, folder.clock.as_ref()).map_err(failed)? {
            Look::Free { contested } => {
                let lock = LockFile::create(path, folder.clock.now_ms()).map_err(failed)?;
                match lock {
                    Some(lock) if !contested || settled(&lock) => {
                        return Ok(Turn { lock, guard, taken_over: contested });
                    }
                    _ => None,
                }
            }
            Look::Held(judged) => Some(judged),
            Look::Stale(stale) => {
                if lock::displace(path, &stale).map_err(failed)? {
                    folder.probe(Step::Displaced);
                    folder.count_take_over();
                    let lock = LockFile::create(path, folder.clock.now_ms()).map_err(failed)?;
                    if let Some(lock) = lock.filter(settled) {
                        return Ok(Turn { lock, guard, taken_over: true });
                    }
                }
                None
            }
        };
        if waited() >= folder.wait {
            let (pid, age_ms) =
                held.map_or((None, None), |Judged { pid, age_ms, .. }| (pid, age_ms));
            let (lock, waited) = (path.to_owned(), waited());
            return Err(ProjectError::Busy { lock, pid, age_ms, waited });
        }
        pause(15, 25);
    }
}

/// Waits whether a lock that was created where a stale one stood survives its other thieves.
fn settled(lock: &LockFile) -> bool {
    let ms = u64::try_from(lock::SETTLE.as_millis()).unwrap_or(40);
    pause(ms, ms + 5);
    lock.is_ours()
}

/// Waits for our own queue; says also whether there was one. `None` when it took too long.
fn wait_for_guard(
    folder: &Folder,
    id: &str,
    lock: &Path,
    waited: &dyn Fn() -> Duration,
) -> (Option<Guard>, bool) {
    let (turnstile, guard) = match &folder.guards_dir {
        Some(guards) => (
            GuardPlace::File(guards.join(format!("{id}.next"))).open(),
            GuardPlace::File(guards.join(id)).open(),
        ),
        None => (None, GuardPlace::Folder(folder.projects_dir.clone()).open()),
    };
    let mut queued = false;
    // The first in the queue holds the turnstile until it has the guard, so that whoever just
    // released the guard cannot overtake it.
    if let Some(turnstile) = &turnstile {
        queued = !turnstile.try_lock();
        if queued && !poll(turnstile, folder, lock, waited) {
            return (None, queued);
        }
    }
    let guard = guard.filter(|guard| {
        guard.try_lock() || {
            queued = true;
            poll(guard, folder, lock, waited)
        }
    });
    (guard, queued)
}

/// Tries a guard again and again, for as long as one is waited for; false when it took too long.
fn poll(guard: &Guard, folder: &Folder, lock: &Path, waited: &dyn Fn() -> Duration) -> bool {
    let mut looked = Duration::ZERO;
    while !guard.try_lock() {
        let now = waited();
        if now >= GUARD_WAIT.min(folder.wait) {
            return false;
        }
        if now.saturating_sub(looked) > Duration::from_millis(20) {
            // A stale lock is watched from here on, not only once the guard is ours.
            let _ = lock::look(lock, folder.clock.as_ref());
            looked = now;
        }
        pause(1, 4);
    }
    true
}

/// Waits between two looks, with jitter so that several waiting processes do not march in step.
#[allow(clippy::disallowed_methods, reason = "the lock's poll: the caller is a blocking thread")]
pub(super) fn pause(from_ms: u64, to_ms: u64) {
    std::thread::sleep(Duration::from_micros(fastrand::u64(from_ms * 1_000..=to_ms * 1_000)));
}
