//! The program as a shell sees it: exit codes and streams of what needs no data folder.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with nothing of this machine in its environment.
fn loopkeeper(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loopkeeper"))
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .env("TZ", "UTC")
        .current_dir(home)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn wrong_usage_exits_2_and_says_what_to_write() {
    let home = tempfile::tempdir().expect("a folder");
    for (arguments, part) in [
        (vec!["nonsense"], "unrecognized subcommand"),
        (vec!["check"], ".agents/loops"),
        (vec!["next"], "--cron"),
        (vec!["next", "--weekly", "1"], "--time"),
        (vec!["next", "--cron", "* * * * *", "--daily", "09:00"], "cannot be used with"),
        (vec!["next", "--cron", "* * * * *", "-n", "1001"], "1001"),
        (vec!["next", "--weekly", "noday", "--time", "09:00"], "no weekday"),
        (vec!["pause", "--for", "soon"], "no time"),
        (vec!["pause", "--for", "-1h"], "unexpected argument"),
        (vec!["create", "--name", "x", "--prompt", "p", "--model", "nomodel"], "provider/model"),
        (vec!["create", "--name", "x", "--prompt", "p", "--model", "a/b"], "--cron"),
        (vec!["runs", "--status", "broken"], "timed_out"),
    ] {
        let output = loopkeeper(home.path(), &arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?} must say {part}: {err}");
        assert!(output.stdout.is_empty(), "{arguments:?}: a script reads standard output");
    }
    let left = std::fs::read_dir(home.path()).expect("read").count();
    assert_eq!(left, 0, "wrong usage leaves nothing behind");
}

#[test]
fn completions_are_printed_for_each_shell() {
    let home = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = loopkeeper(home.path(), &["completions", shell]);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("loopkeeper"), "{shell}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_unit_can_be_looked_at_before_it_is_installed() {
    let home = tempfile::tempdir().expect("a folder");
    let output = loopkeeper(home.path(), &["--data-dir", "data", "service", "install", "--print"]);
    let unit = text(&output.stdout);
    assert!(output.status.success());
    assert!(unit.contains("[Service]") && unit.contains("--data-dir"), "{unit}");
    assert!(unit.contains(&format!("{}/data", home.path().display())), "paths are whole: {unit}");
    assert!(!home.path().join(".config").exists(), "nothing was written");
}
