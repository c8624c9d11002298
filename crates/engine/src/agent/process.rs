//! Child processes in groups of their own, ended whole: TERM, after 5 s KILL.
//!
//! A group is what remains of a command that forks. A process that leaves its group on purpose
//! (`setsid`) is out of reach.

use crate::host::{Liveness, ProcessId};
use std::time::Duration;
use tokio::time::Instant;

/// How long a process may take to obey TERM.
pub const GRACE: Duration = Duration::from_secs(5);
/// How often is looked whether a group is gone.
const LOOK: Duration = Duration::from_millis(20);

/// A signal that is sent to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Term,
    Kill,
}

/// Sends a signal to a whole group; says whether anything was there to get it.
#[cfg(unix)]
pub(crate) fn signal_group(group: u32, signal: Signal) -> bool {
    let Some(group) = group_number(group) else { return false };
    let number = match signal {
        Signal::Term => libc::SIGTERM,
        Signal::Kill => libc::SIGKILL,
    };
    // SAFETY: killpg has no memory effects; the number is a positive group, never ours or "all".
    unsafe { libc::killpg(group, number) == 0 }
}

/// Says whether a group has a living member.
#[cfg(unix)]
pub(crate) fn group_lives(group: u32) -> bool {
    let Some(number) = group_number(group) else { return false };
    // SAFETY: signal 0 sends nothing.
    let there = unsafe { libc::killpg(number, 0) == 0 };
    there && !only_zombies(number)
}

/// Says whether nothing but zombies is left of a group: where nobody reaps orphans (a container
/// without an init) they stay for ever.
#[cfg(target_os = "linux")]
fn only_zombies(group: libc::pid_t) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let living = entries.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        std::fs::read_to_string(entry.path().join("stat")).ok()
    });
    !living.into_iter().any(|stat| {
        // The command name may hold anything: the fields begin after the last ')'.
        let fields = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
        let mut fields = fields.split_whitespace();
        let state = fields.next();
        let its_group = fields.nth(1).and_then(|field| field.parse().ok());
        its_group == Some(group) && !matches!(state, Some("Z" | "X"))
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn only_zombies(_group: libc::pid_t) -> bool {
    false
}

#[cfg(unix)]
fn group_number(group: u32) -> Option<libc::pid_t> {
    // 0 is the caller's own group and 1 the system's: neither is ever a command's.
    libc::pid_t::try_from(group).ok().filter(|group| *group > 1)
}

#[cfg(not(unix))]
pub(crate) fn signal_group(group: u32, signal: Signal) -> bool {
    // Without groups the tree is ended by the system's own tool, which has no gentle way.
    signal == Signal::Kill
        && std::process::Command::new("taskkill")
            .args(["/T", "/F", "/PID", &group.to_string()])
            .output()
            .is_ok_and(|output| output.status.success())
}

#[cfg(not(unix))]
pub(crate) fn group_lives(group: u32) -> bool {
    crate::host::pid_liveness(group) != Liveness::Dead
}

/// Ends a group and waits until it is gone: TERM, after [`GRACE`] KILL.
pub(crate) async fn end_group(group: u32) {
    if !signal_group(group, Signal::Term) && cfg!(unix) {
        return;
    }
    if !gone_within(group, GRACE).await {
        signal_group(group, Signal::Kill);
        gone_within(group, GRACE).await;
    }
}

async fn gone_within(group: u32, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while group_lives(group) {
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
    true
}

/// What became of an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphan {
    /// It was there, and it was ended.
    Ended,
    /// It was gone already.
    Gone,
    /// It lives on another machine or in another container: not touched.
    Foreign,
}

/// Ends the group of a recorded child whose holder is gone.
///
/// The recorded start time protects a stranger that was given the same pid since. When the leader is
/// gone its group may still have members; its number cannot be given away while it does.
pub async fn end_orphan(child: &ProcessId) -> Orphan {
    let me = ProcessId::current();
    if child.machine != me.machine || child.namespace != me.namespace {
        return Orphan::Foreign;
    }
    if !child.boot.is_empty() && !me.boot.is_empty() && child.boot != me.boot {
        return Orphan::Gone;
    }
    match child.liveness() {
        Liveness::Alive => {}
        Liveness::Dead => {
            // Another process has this pid: then the group's number is that one's.
            let reused = ProcessId::of(child.pid);
            if reused.started != 0 && reused.started != child.started {
                return Orphan::Gone;
            }
            if !group_lives(child.pid) {
                return Orphan::Gone;
            }
        }
        Liveness::Unknown => return Orphan::Foreign,
    }
    end_group(child.pid).await;
    Orphan::Ended
}

/// Ends a group when it is dropped: for a run whose future is dropped in the middle.
#[derive(Debug)]
pub(crate) struct GroupGuard(Option<u32>);

impl GroupGuard {
    pub(crate) fn new(group: u32) -> Self {
        GroupGuard(Some(group))
    }

    /// Ends the guard's duty.
    pub(crate) fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            signal_group(group, Signal::Kill);
        }
    }
}

/// Returns a signal's name, such as `SIGKILL`.
#[cfg(unix)]
pub(crate) fn signal_name(number: i32) -> String {
    let name = match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        _ => return format!("signal {number}"),
    };
    name.to_owned()
}
