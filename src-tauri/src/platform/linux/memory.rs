//! What a window leaves behind: processes of WebKit's, and memory.

use loopkeeper_engine::memory;
use std::fs;

/// As the kernel cuts it to 15 characters.
const NETWORK_PROCESS: &str = "WebKitNetworkPr";
const WEB_PROCESS: &str = "WebKitWebProces";

/// Gives back what the start or a window held; called when there is no window.
pub fn give_memory_back() {
    end_network_process();
    memory::return_unused();
}

/// Ends the process that WebKit keeps for its network as long as the program lives. WebKit has no
/// call for that, but starts another one when there is none; pages of this program use no network.
/// One that has only just been started must not be ended: WebKit would end the program.
fn end_network_process() {
    end(NETWORK_PROCESS, libc::SIGTERM);
}

/// Ends the processes of pages that do not answer: they do not hear either that they should end.
pub fn end_pages() {
    end(WEB_PROCESS, libc::SIGKILL);
}

fn end(name: &str, signal: i32) {
    for pid in children() {
        let its = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if its.trim_end() == name {
            // SAFETY: takes two numbers; the process is a child of this one, so its number is no
            // other's before WebKit has waited for it.
            unsafe { libc::kill(pid, signal) };
        }
    }
}

/// Lists the processes that this one has started.
fn children() -> Vec<i32> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The name stands in parentheses and may hold any others; then the state, the parent.
            let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
            parent == Some(own.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn children_are_found_and_nobody_else() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("started");
        let pid = i32::try_from(child.id()).expect("a small number");
        let found = children();
        child.kill().expect("ended");
        child.wait().expect("waited for");
        assert!(found.contains(&pid), "{pid} was started here: {found:?}");
        assert!(!found.contains(&1), "the first process is nobody's child here");
        assert!(!children().contains(&pid), "it is gone");
    }
}
