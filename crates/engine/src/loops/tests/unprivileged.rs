//! Runs a piece of a test without root's right to ignore permission bits.

/// Calls `f` on a thread of its own that has given up root, where the test has it. On Linux the
/// system calls change the calling thread alone, so that the other tests keep their rights.
pub(super) fn unprivileged<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                drop_root();
                f()
            })
            .join()
            .expect("no panic inside")
    })
}

#[cfg(target_os = "linux")]
fn drop_root() {
    const NOBODY: libc::c_long = 65_534;
    // SAFETY: these calls take numbers only; `setgroups` is told that there are none to read.
    unsafe {
        if libc::geteuid() != 0 {
            return;
        }
        let groups = libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>());
        let group = libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY);
        let user = libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY);
        assert_eq!((groups, group, user), (0, 0, 0), "root can become nobody");
    }
}

#[cfg(not(target_os = "linux"))]
fn drop_root() {
    // SAFETY: reads a number.
    assert_ne!(unsafe { libc::geteuid() }, 0, "run the tests as an ordinary user");
}
