//! What a start (or a window) took and a resting process does not need goes back to the system.

/// Bounds the heaps that threads have to themselves: what one of them freed, no other could use.
/// For the first line of `main`, when there is no second thread yet.
pub fn keep_heap_small() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes two numbers.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Gives back memory that is free in the allocator, and the pages of code that was run until now:
/// what only the start needed would stay resident for ever. Code that is needed again comes from
/// the system's cache of files, page by page. For a process that is about to rest.
pub fn return_unused() {
    #[cfg(target_os = "linux")]
    let_code_go();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number, touches only what is free, and the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Unmaps the pages of code, which are clean copies of what the files hold.
#[cfg(target_os = "linux")]
fn let_code_go() {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for (start, end) in unchanged_code(&smaps) {
        // SAFETY: the range is one mapping of a file, only read and run, of which no page was
        // changed; the kernel reads it again from the file when it is next touched.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

/// Lists the mappings (start, end) of files' code in which nothing was changed since.
#[cfg(target_os = "linux")]
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_unchanged_code_is_let_go() {
        let smaps = "\
7f10-7f20 r-xp 00000000 fe:01 12 /usr/lib/a b.so\nRss: 4 kB\nAnonymous:             0 kB\n\
7f20-7f30 r-xp 00000000 fe:01 12 /usr/lib/changed.so\nAnonymous:             4 kB\n\
7f30-7f40 r--p 00000000 fe:01 12 /usr/lib/data.so\nAnonymous:             0 kB\n\
7f40-7f50 rw-p 00000000 00:00 0\nAnonymous:             0 kB\n\
7f50-7f60 r-xp 00000000 00:00 0 [vdso]\nAnonymous:             0 kB\n";
        assert_eq!(unchanged_code(smaps), [(0x7f10, 0x7f20)], "data and changes must stay");
        let own = || std::fs::read_to_string("/proc/self/smaps").expect("a process reads its own");
        let before = unchanged_code(&own());
        assert!(!before.is_empty(), "this program has code");
        return_unused();
        assert_eq!(unchanged_code(&own()), before, "what is run comes back, at the same place");
    }
}
