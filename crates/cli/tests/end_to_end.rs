//! The whole path: the real `loopkeeper`, the real OpenCode, and a stub model on loopback.
//!
//! `LOOPKEEPER_TEST_OPENCODE` names the OpenCode program; else it is the one that `npm ci` puts
//! into `tests/node_modules`. One server is used by the whole test program.

mod opencode;
mod place;

use opencode::World;
use place::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("`{key}` is missing in {row:#}"))
}

fn steps(place: &Place, run: &Value) -> Vec<String> {
    let shown = place.json(&["runs", "show", &run["id"].to_string()]);
    let steps = shown["steps"].as_array().expect("steps").iter();
    steps.map(|step| text(step, "kind").to_owned()).collect()
}

/// Asserts that these steps were taken in this order, among others.
#[track_caller]
fn in_order(steps: &[String], wanted: &[&str]) {
    let mut rest = steps.iter();
    for step in wanted {
        assert!(rest.any(|taken| taken == step), "{step} of {wanted:?} in {steps:?}");
    }
}

#[test]
fn a_loop_is_found_armed_claimed_run_and_recorded() {
    let world = World::get();
    let place = world.place();
    let mut serve = place.serve(&[]);
    // Written while it is served: the watcher has to find it.
    place.write_loop("report", "*/5 * * * * *", "stub/ok", "", "Report on the main path.");
    let row = serve.end_of("report");
    assert_eq!(row["status"], "succeeded", "{row:#}");
    assert_eq!(row["trigger"], "scheduled");
    assert_eq!(row["scheduledFor"].as_i64().map(|at| at % 5_000), Some(0), "a slot: {row:#}");
    assert_eq!(text(&row, "answer"), "Hello from the stub.");
    assert_eq!(row["tokens"]["input"], 200, "the part that was not cached: {row:#}");
    assert_eq!(row["tokens"]["output"], 30);
    assert!(row["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{row:#}");
    assert!(row["durationMs"].as_i64().is_some_and(|ms| ms > 0), "{row:#}");
    assert!(row["startedAt"].as_i64() <= row["finishedAt"].as_i64());
    in_order(&steps(&place, &row), &["due", "claimed", "started", "session", "accepted", "ended"]);

    let session = text(&row, "sessionId");
    let messages = world.ask(&format!("/session/{session}/message"), &place.project);
    let prompt = messages[0]["parts"][0]["text"].as_str();
    assert!(prompt.is_some_and(|text| text.contains("Report on the main path.")), "{messages:#}");

    let file = std::fs::read_to_string(place.project_file()).expect("the shared file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let state = &file["scheduledTasks"][0]["state"];
    assert!(state["lastScheduledFor"].as_i64() >= row["scheduledFor"].as_i64(), "{state:#}");
    assert!(state["lastSessionId"].is_string(), "OpenChamber shows the session: {state:#}");
    let listed = place.json(&["runs", "--task", "report", "--status", "succeeded"]);
    let found = listed.as_array().expect("rows").iter().any(|one| one["id"] == row["id"]);
    assert!(found, "`runs` tells the same: {listed:#}");
    assert!(serve.terminate().success(), "SIGTERM ends it cleanly");
}

#[test]
fn what_goes_wrong_is_told_so_that_a_person_can_mend_it() {
    let world = World::get();
    let place = world.place();
    let limit = "policy:\n  timeout: 5s\n";
    for (name, model, more, status, reason, parts) in [
        (
            "model",
            "stub/nope",
            "",
            "failed",
            "unknown_model",
            vec!["nope", "slow-10", "task's model"],
        ),
        ("provider", "nobody/ok", "", "failed", "unknown_model", vec!["nobody", "stub"]),
        ("agent", "stub/ok", "agent: ghost\n", "failed", "unknown_agent", vec!["ghost", "build"]),
        ("e400", "stub/e400", "", "failed", "model_error", vec!["The request is malformed"]),
        ("e401", "stub/e401", "", "failed", "model_error", vec!["Incorrect API key provided"]),
        ("hang", "stub/hang", limit, "timed_out", "", vec!["time limit", "policy: {timeout: 1h}"]),
    ] {
        place.write_loop(name, "0 9 * * *", model, more, "Try it.");
        let ran = place.run(&["run", "--task", name, "--json"]).exits(1).json();
        let row = &ran["run"];
        assert_eq!(row["status"], status, "{row:#}");
        assert_eq!(row["reason"].as_str().unwrap_or_default(), reason, "{row:#}");
        assert!(row["finishedAt"].is_i64(), "ended: {row:#}");
        let error = text(row, "error");
        for part in parts {
            assert!(error.contains(part), "{name} must name `{part}`: {error}");
        }
        assert_eq!(ran["task"]["state"]["lastStatus"], "error", "the shared file has it: {ran:#}");
        if status == "timed_out" {
            let session = text(row, "sessionId");
            let busy = world.ask("/session/status", &place.project);
            assert!(busy.get(session).is_none(), "nothing goes on at the server: {busy}");
        }
    }
}

#[test]
fn a_permission_blocks_the_run_until_another_process_answers() {
    let world = World::get();
    let place = world.place();
    let prompt = "BASH: echo made > proof.txt";
    place.write_loop("ask", "0 9 * * *", "stub/tool-bash", "", prompt);
    let mut run = place.command(&["run", "--task", "ask", "--json"]);
    let run = run.stdout(Stdio::piped()).spawn().expect("started");
    let row = place.until("blocking", || {
        let rows = place.json(&["runs", "--status", "blocked"]);
        rows.get(0).cloned()
    });
    let id = row["id"].to_string();
    let shown = place.json(&["runs", "show", &id]);
    let asked = &shown["asks"][0];
    assert_eq!(asked["kind"], "permission");
    assert!(text(asked, "text").contains("echo made > proof.txt"), "what would be done: {asked}");
    let proof = place.project.join("proof.txt");
    assert!(!proof.exists(), "nothing was done before it was allowed");
    place.run(&["answer", &id]).exits(2).says(&["--once", "--reject"]);
    place.run(&["answer", &id, "--once"]).exits(0);
    let ended = run.wait_with_output().expect("ended");
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(told["run"]["status"], "succeeded", "{told:#}");
    assert_eq!(std::fs::read_to_string(proof).expect("done").trim(), "made");
    in_order(&steps(&place, &told["run"]), &["started", "blocked", "answered", "ended"]);
}

#[test]
fn a_run_whose_process_was_killed_is_followed_to_its_end_and_never_sent_again() {
    let world = World::get();
    let place = world.place();
    let serve = place.serve(&[]);
    place.write_loop("slow", "*/30 * * * * *", "stub/slow-10", "", "Survive the power cut.");
    let row = place.until("a run with a session", || {
        let rows = place.json(&["runs", "--task", "slow", "--status", "running"]);
        rows.get(0).filter(|row| steps(&place, row).contains(&"accepted".to_owned())).cloned()
    });
    serve.kill_9();
    let left = place.json(&["runs", "show", &row["id"].to_string()]);
    assert_eq!(left["run"]["status"], "running", "nobody was there to write an end: {left:#}");

    let mut serve = place.serve(&[]);
    let ended = serve.end_of("slow");
    assert_eq!(ended["id"], row["id"], "the same run: {ended:#}");
    assert_eq!(ended["status"], "succeeded", "{ended:#}");
    assert_eq!(ended["sessionId"], row["sessionId"], "in the same session");
    assert!(text(&ended, "answer").contains("tick 9"), "to its real end: {ended:#}");
    in_order(&steps(&place, &ended), &["started", "accepted", "taken_over", "ended"]);
    assert!(serve.terminate().success());

    let rows = place.rows();
    let same = rows.iter().filter(|one| one["scheduledFor"] == row["scheduledFor"]).count();
    assert_eq!(same, 1, "one slot, one row: {rows:#?}");
    let sessions: BTreeSet<&str> =
        rows.iter().filter_map(|row| row["sessionId"].as_str()).collect();
    let prompts = world.prompts();
    let sent = prompts.iter().filter(|prompt| prompt.contains("Survive the power cut.")).count();
    assert!(sent <= sessions.len(), "no prompt is ever sent twice: {sent}, {rows:#?}");
}

#[test]
fn two_processes_on_one_folder_run_each_slot_once() {
    let place = Place::registered();
    place.write_loop("beat", "*/5 * * * * *", "demo/echo", "", "Say hello.");
    let (mut one, two) = (place.serve(&[]), place.serve(&[]));
    // Whoever ran it: both see the ends in the ledger that they share.
    let rows = place.until("six slots", || {
        let rows = place.json(&["runs", "--task", "beat", "--status", "succeeded"]);
        rows.as_array().filter(|rows| rows.len() >= 6).cloned()
    });
    one.wait_for("any end", |event| (event["event"] == "run_finished").then_some(()));
    assert!(rows.len() >= 6);
    assert!(one.terminate().success() && two.terminate().success());

    let rows = place.rows();
    let mut slots: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for row in &rows {
        let last = row["scheduledFor"].as_i64().expect("every row has a slot");
        let first = row["firstFor"].as_i64().unwrap_or(last);
        for slot in (first..=last).step_by(5_000) {
            slots.entry(slot).or_default().push(text(row, "status"));
        }
    }
    let (first, last) =
        (*slots.keys().next().expect("slots"), *slots.keys().last().expect("slots"));
    for slot in (first..=last).step_by(5_000) {
        let told = slots.get(&slot).map(Vec::as_slice).unwrap_or_default();
        assert_eq!(told.len(), 1, "slot {slot} has one row: {told:?} of {rows:#?}");
    }
    let ran = rows.iter().filter(|row| row["status"] == "succeeded").count();
    let asked = rows.iter().filter_map(|row| row["sessionId"].as_str()).collect::<BTreeSet<_>>();
    assert_eq!(asked.len(), ran, "a session for each run, and no other: {rows:#?}");
    let log = place.log();
    assert!(!log.contains("ERROR"), "a lost race is nothing to complain about:\n{log}");
}
