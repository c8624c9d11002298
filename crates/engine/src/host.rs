//! Who a process is, and whether it still lives.
//!
//! A pid alone says little: it is reused, and inside another container it names somebody else.
//! A [`ProcessId`] therefore carries machine, boot, pid namespace and start time, and
//! [`liveness`] calls a process dead only when that is certain (PROTOCOL §5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Identifies one process on one boot of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessId {
    /// The machine's id (`/etc/machine-id`), else its host name.
    pub machine: String,
    /// The id of this boot; empty where the system has none.
    pub boot: String,
    /// The pid namespace; empty where the system has none.
    pub namespace: String,
    /// The process number inside that namespace.
    pub pid: u32,
    /// The start time in the system's own unit since boot; 0 where it cannot be read.
    pub started: u64,
}

/// Says whether a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs here.
    Alive,
    /// It is certainly gone: no such pid, another start time, a zombie, or an earlier boot.
    Dead,
    /// It cannot be known from here (another machine or namespace, or an unreadable entry).
    Unknown,
}

impl ProcessId {
    /// Returns the identity of this process.
    pub fn current() -> &'static ProcessId {
        static CURRENT: OnceLock<ProcessId> = OnceLock::new();
        CURRENT.get_or_init(|| ProcessId::of(std::process::id()))
    }

    /// Returns the identity of a process of this machine and namespace, such as a child.
    pub fn of(pid: u32) -> ProcessId {
        ProcessId {
            machine: platform::machine(),
            boot: platform::boot(),
            namespace: platform::namespace(),
            pid,
            started: platform::started(pid).unwrap_or(0),
        }
    }

    /// Says whether this process lives, as far as it can be known from here.
    pub fn liveness(&self) -> Liveness {
        let me = ProcessId::current();
        if self.machine != me.machine {
            return Liveness::Unknown;
        }
        if !self.boot.is_empty() && !me.boot.is_empty() && self.boot != me.boot {
            return Liveness::Dead;
        }
        if self.namespace != me.namespace {
            return Liveness::Unknown;
        }
        platform::liveness(self.pid, self.started)
    }
}

/// Says whether a bare pid of this namespace lives, as the peer's lock file names it.
pub fn pid_liveness(pid: u32) -> Liveness {
    platform::liveness(pid, 0)
}

#[cfg(target_os = "linux")]
mod platform {
    use super::Liveness;
    use std::fs;

    pub fn machine() -> String {
        first_line("/etc/machine-id").unwrap_or_else(|| {
            first_line("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned())
        })
    }

    pub fn boot() -> String {
        first_line("/proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    pub fn namespace() -> String {
        fs::read_link("/proc/self/ns/pid")
            .map(|link| link.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    fn first_line(path: &str) -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// Returns state letter and start time (clock ticks since boot) from `/proc/PID/stat`.
    fn stat(pid: u32) -> Option<(char, u64)> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command name may hold blanks and parentheses: the fields begin after the last ')'.
        let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?.chars().next()?;
        let started = fields.nth(18)?.parse().ok()?;
        Some((state, started))
    }

    pub fn started(pid: u32) -> Option<u64> {
        stat(pid).map(|(_, started)| started)
    }

    pub fn liveness(pid: u32, started: u64) -> Liveness {
        if !super::pid_exists(pid) {
            return Liveness::Dead;
        }
        match stat(pid) {
            Some(('Z' | 'X', _)) => Liveness::Dead,
            Some((_, now)) if started != 0 && now != started => Liveness::Dead,
            Some(_) => Liveness::Alive,
            // An unreadable entry proves nothing (hidepid, a race with its end).
            None => Liveness::Unknown,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::Liveness;

    pub fn machine() -> String {
        "local".to_owned()
    }

    pub fn boot() -> String {
        String::new()
    }

    pub fn namespace() -> String {
        String::new()
    }

    pub fn started(_pid: u32) -> Option<u64> {
        None
    }

    pub fn liveness(pid: u32, _started: u64) -> Liveness {
        if super::pid_exists(pid) { Liveness::Unknown } else { Liveness::Dead }
    }
}

#[cfg(unix)]
fn pid_exists(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    if pid <= 0 {
        return false;
    }
    // SAFETY: signal 0 sends nothing; it only asks whether the pid exists.
    let answer = unsafe { libc::kill(pid, 0) };
    answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(not(unix))]
fn pid_exists(_pid: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives() {
        assert_eq!(ProcessId::current().liveness(), Liveness::Alive, "we are running");
    }

    #[test]
    fn another_start_time_is_another_process() {
        let mut reused = ProcessId::current().clone();
        reused.started += 1;
        assert_eq!(reused.liveness(), Liveness::Dead, "the pid was reused since");
    }

    #[test]
    fn an_earlier_boot_is_dead_and_a_foreign_namespace_unknown() {
        let mut earlier = ProcessId::current().clone();
        earlier.boot = "an earlier boot".to_owned();
        assert_eq!(earlier.liveness(), Liveness::Dead, "nothing survives a boot");
        let mut container = ProcessId::current().clone();
        container.namespace = "pid:[1]".to_owned();
        assert_eq!(container.liveness(), Liveness::Unknown, "its pids mean nothing here");
    }

    #[test]
    fn a_child_that_ended_is_dead() {
        let mut child = std::process::Command::new("true").spawn().expect("true starts");
        let id = ProcessId::of(child.id());
        child.wait().expect("true ends");
        assert_eq!(id.liveness(), Liveness::Dead, "it was reaped");
    }
}
