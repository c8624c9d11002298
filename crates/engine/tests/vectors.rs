//! The recorded cases of `tests/vectors`: every one is answered as the scorer wants it.

#[allow(dead_code, reason = "its main is the example's")]
#[path = "../examples/vectors/main.rs"]
mod vectors;

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("the cases are in the repository")
}

/// Answers a file and has the scorer compare; nothing may fail, nothing may be missing.
fn score(name: &str) {
    let text = read(name);
    let cases = text.lines().filter(|line| !line.trim().is_empty()).count();
    let mut results = tempfile::NamedTempFile::new().expect("a file");
    for line in vectors::answers(&text).expect("each line is a case") {
        writeln!(results, "{line}").expect("written");
    }
    let output = Command::new("node")
        .arg(folder().join("score.mjs"))
        .arg(folder().join(name))
        .arg(results.path())
        .output()
        .expect("node is needed for the scorer");
    let text = String::from_utf8_lossy(&output.stdout);
    let score: Option<Value> = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let score = score.unwrap_or_else(|| panic!("{name}: the scorer said {output:?}"));
    println!("{name}: {score} of {cases}");
    assert_eq!(score["fail"], 0, "{name}: {text}");
    assert_eq!(score["missing"], 0, "{name}: each case is answered");
    let judged = score["pass"].as_u64().unwrap_or(0) + score["manual"].as_u64().unwrap_or(0);
    assert_eq!(usize::try_from(judged), Ok(cases), "{name}: {text}");
}

#[test]
fn next_run() {
    score("next_run.jsonl");
}

#[test]
fn loops() {
    score("loops.jsonl");
}

#[test]
fn reconcile() {
    score("reconcile.jsonl");
}

#[test]
fn normalize() {
    score("normalize.jsonl");
}

#[test]
fn claim() {
    score("claim.jsonl");
}

#[test]
fn command() {
    score("command.jsonl");
}

#[test]
fn toggle() {
    score("toggle.jsonl");
}

/// The scorer leaves answers that name a next occurrence to the reader.
#[test]
fn a_slot_that_follows_within_the_slack_is_not_lost() {
    let text = read("claim.jsonl");
    let answers = vectors::answers(&text).expect("each line is a case");
    let mut judged = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let Some(next) = case["correct"].get("next_run_at") else { continue };
        let answer = answers.iter().find(|answer| answer["id"] == case["id"]).expect("answered");
        assert_eq!(answer["got"]["claimed"], case["correct"]["claimed"], "{}", case["id"]);
        let shown = &answer["got"]["after_claim"]["state"]["nextRunAt"];
        assert_eq!(shown, next, "{}: {}", case["id"], case["why"]);
        judged += 1;
    }
    assert_eq!(judged, 1, "each such case is looked at here");
}
