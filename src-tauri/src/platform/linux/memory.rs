//! What a window leaves behind: processes of WebKit's, and free memory in the heap.

use std::fs;

/// As the kernel cuts it to 15 characters.
const NETWORK_PROCESS: &str = "WebKitNetworkPr";
const WEB_PROCESS: &str = "WebKitWebProces";

/// Bounds the heaps that threads have to themselves: what one of them freed, no other could use.
/// Called first in `main`.
pub fn keep_heap_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes two numbers; there is no second thread yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Gives back what the start or a window held; called when there is no window.
pub fn give_memory_back() {
    end_network_process();
    forget_code();
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number, touches only what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Takes the code that was run until now out of this process; the system's cache of files has it
/// still, and what is run again comes back page by page. Most of it served the start or a window.
fn forget_code() {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for (start, end) in unchanged_code(&smaps) {
        // SAFETY: the range is one mapping of a file, only read and run, of which no page was
        // changed; the kernel reads it again from the file when it is next touched.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

/// Lists the mappings (start, end) of files' code in which nothing was changed since.
fn unchanged_code(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut code = None;
    for line in smaps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // An address range, rights, offset, device, inode, path.
            [range, rights, _, _, _, path, ..] if range.contains('-') => {
                let limits = range.split_once('-').and_then(|(start, end)| {
                    let number = |text| usize::from_str_radix(text, 16).ok();
                    number(start).zip(number(end))
                });
                code = limits.filter(|_| *rights == "r-xp" && path.starts_with('/'));
            }
            ["Anonymous:", "0", "kB"] => found.extend(code.take()),
            ["Anonymous:", ..] => code = None,
            _ => {}
        }
    }
    found
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
    fn only_unchanged_code_is_forgotten() {
        let smaps = "\
7f10-7f20 r-xp 00000000 fe:01 12 /usr/lib/a b.so\nRss: 4 kB\nAnonymous:             0 kB\n\
7f20-7f30 r-xp 00000000 fe:01 12 /usr/lib/changed.so\nAnonymous:             4 kB\n\
7f30-7f40 r--p 00000000 fe:01 12 /usr/lib/data.so\nAnonymous:             0 kB\n\
7f40-7f50 rw-p 00000000 00:00 0\nAnonymous:             0 kB\n\
7f50-7f60 r-xp 00000000 00:00 0 [vdso]\nAnonymous:             0 kB\n";
        assert_eq!(unchanged_code(smaps), [(0x7f10, 0x7f20)], "data and changes must stay");
        let own = || fs::read_to_string("/proc/self/smaps").expect("a process can read its own");
        let before = unchanged_code(&own());
        assert!(!before.is_empty(), "this program has code");
        forget_code();
        assert_eq!(unchanged_code(&own()), before, "what is run comes back, at the same place");
    }

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
