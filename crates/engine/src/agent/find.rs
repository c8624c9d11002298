//! Where a program may be: in the folders of a `PATH`, and of the login shell's `PATH`.
//!
//! A desktop session has a short `PATH`: what a user's shell start-up files add is missing. The
//! shell is asked once by the host, which also reads the environment; nothing here does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// How long a login shell may take: start-up files wait for networks at times.
pub const SHELL_LIMIT: Duration = Duration::from_secs(3);

/// The line that stands before the answer, since start-up files print whatever they like.
const MARK: &str = "loopkeeper-path:";

/// Returns where a program is in the folders of a `PATH`, in their order.
pub fn in_path(path: &OsStr, program: &str) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .filter(|file| file.is_file())
        .collect()
}

/// Returns where OpenCode's program may be, best first: the one that is named, those on the `PATH`,
/// and, when there is neither, those on the `PATH` of the login shell (asked once, 3 s at most).
pub async fn programs(
    named: Option<PathBuf>,
    path: Option<&OsStr>,
    shell: Option<&Path>,
) -> Vec<PathBuf> {
    let name = if cfg!(windows) { "opencode.exe" } else { "opencode" };
    let mut found: Vec<PathBuf> = named.into_iter().collect();
    found.extend(path.map(|path| in_path(path, name)).unwrap_or_default());
    if found.is_empty()
        && let Some(shell) = shell
        && let Some(path) = login_shell_path(shell).await
    {
        found.extend(in_path(&path, name));
    }
    found
}

/// Asks a login shell for its `PATH`; `None` when it fails or takes longer than [`SHELL_LIMIT`].
pub async fn login_shell_path(shell: &Path) -> Option<OsString> {
    let mut command = tokio::process::Command::new(shell);
    command
        .args(["-l", "-c", &format!("printf '\\n%s%s\\n' '{MARK}' \"$PATH\"")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let child = command.spawn().ok()?;
    let group = child.id()?;
    let output = tokio::time::timeout(SHELL_LIMIT, child.wait_with_output()).await;
    // Whatever the start-up files left running goes with it.
    super::process::signal_group(group, super::process::Signal::Kill);
    let text = String::from_utf8(output.ok()?.ok()?.stdout).ok()?;
    let path = text.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
    Some(OsString::from(path)).filter(|path| !path.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn shell(folder: &Path, script: &str) -> PathBuf {
        let shell = folder.join("shell");
        std::fs::write(&shell, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).expect("set");
        shell
    }

    #[tokio::test]
    async fn a_chatty_shell_is_understood() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "echo welcome; PATH=/opt/bin:/usr/bin; eval \"$3\"; echo bye";
        let path = login_shell_path(&shell(folder.path(), script)).await;
        assert_eq!(path.as_deref(), Some(OsStr::new("/opt/bin:/usr/bin")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shell_that_hangs_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = login_shell_path(&shell(folder.path(), "exec sleep 1000")).await;
        assert_eq!(path, None, "a start must not wait for it");
    }

    #[test]
    fn programs_are_found_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = ["a", "b"].map(|name| folder.path().join(name));
        for made in &folders {
            std::fs::create_dir(made).expect("made");
            std::fs::write(made.join("opencode"), "").expect("written");
        }
        let path = std::env::join_paths(
            [Path::new("relative"), &folders[1], Path::new("/nowhere"), &folders[0]].iter(),
        )
        .expect("joined");
        let found = in_path(&path, "opencode");
        assert_eq!(found, [folders[1].join("opencode"), folders[0].join("opencode")]);
    }
}
