//! What a start took and an idle process does not need goes back to the system.

/// Gives back memory that is free in the allocator, and the pages of the program's own code: what
/// only the start needed would stay resident for ever. Code that is needed again comes from the
/// page cache, a microsecond for each 64 kB. For a process that is about to rest.
pub fn return_unused() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes no pointers, and the allocator locks itself.
        unsafe { libc::malloc_trim(0) };
    }
    #[cfg(target_os = "linux")]
    let_code_go();
}

/// Unmaps the pages of our own code, which are clean copies of the program's file.
#[cfg(target_os = "linux")]
fn let_code_go() {
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (start, length) in maps.lines().filter_map(|line| code_of(line, &program)) {
        // SAFETY: the range is a mapping of this process, as the system says, that is executable
        // and not writable: all its pages are what the file holds, and are read again from there.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
    }
}

/// Reads a line of `/proc/self/maps`: where the program's code lies, and how long it is. Data is
/// left out, also what is read-only by now: the loader wrote addresses into it.
#[cfg(target_os = "linux")]
fn code_of(line: &str, program: &std::path::Path) -> Option<(usize, usize)> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    if words.next()? != "r-xp" || std::path::Path::new(words.nth(3)?) != program {
        return None;
    }
    let (start, end) =
        (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    Some((start, end.checked_sub(start)?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn only_our_own_code_is_let_go() {
        let program = Path::new("/usr/bin/loopkeeper");
        let of = |line| code_of(line, program);
        let code = "10000-1a000 r-xp 00001000 fe:00 7  /usr/bin/loopkeeper";
        assert_eq!(of(code), Some((0x10000, 0xa000)), "code");
        let data = "1a000-1b000 r--p 0000b000 fe:00 7  /usr/bin/loopkeeper";
        assert_eq!(of(data), None, "data that the loader has written to");
        assert_eq!(of("2a000-2b000 r-xp 00001000 fe:00 9  /usr/lib/libc.so.6"), None, "others'");
        assert_eq!(of("2a000-2b000 r-xp 00000000 00:00 0"), None, "nobody's");
        assert_eq!(of("nonsense"), None);
    }

    #[test]
    fn what_runs_goes_on_running() {
        return_unused();
        let text: String = (0..1000).map(|number: i32| number.to_string()).collect();
        assert_eq!(text.len(), 2890, "code and memory are as they were");
    }
}
