//! The real programs that tests of several crates drive; each includes this file by its path.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of the repository: every crate lies two folders below it.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the real OpenCode.
#[allow(clippy::disallowed_methods, reason = "a test reads where its program is")]
pub fn opencode() -> PathBuf {
    let path = std::env::var_os("LOOPKEEPER_TEST_OPENCODE").map_or_else(
        || repository().join("tests/node_modules/opencode-linux-x64/bin/opencode"),
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "the real OpenCode is needed and is not at {}: run `npm ci` in tests/, or set LOOPKEEPER_TEST_OPENCODE",
        path.display()
    );
    path
}

/// Starts a program that ends when this one does, and returns the first line it prints.
#[allow(clippy::zombie_processes, reason = "it ends after this process")]
pub fn first_line(command: &mut Command) -> String {
    use std::io::BufRead as _;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
    // Its standard input stays open as long as this process lives.
    std::mem::forget(child.stdin.take());
    let mut line = String::new();
    let out = child.stdout.take().expect("piped");
    std::io::BufReader::new(out).read_line(&mut line).expect("a line");
    line.trim().to_owned()
}
