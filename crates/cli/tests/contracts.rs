//! What scripts build on: the shape of `--json`, and the exit codes.

mod place;

use place::Place;
use serde_json::{Value, json};

/// Returns the keys of an object, sorted.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap_or_else(|| panic!("an object: {value}"))
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

fn has(value: &Value, wanted: &[&str]) {
    for key in wanted {
        assert!(value.get(key).is_some(), "`{key}` is missing in {value:#}");
    }
}

#[test]
fn next_tells_instants_words_and_notes() {
    let place = Place::new();
    let after = ["--after", "2026-12-01T00:00:00Z", "-n", "3"];
    let next = |arguments: &[&str]| place.json(&[&["next"], arguments, &after].concat());
    let told = next(&["--cron", "0 9 * * 1-5", "--timezone", "Europe/Berlin"]);
    let nine = 1_796_112_000_000_i64; // 2026-12-01 08:00 UTC
    let day = 86_400_000;
    assert_eq!(told["occurrences"], json!([nine, nine + day, nine + 2 * day]));
    assert_eq!(keys(&told), ["notes", "occurrences", "words"], "no other keys");
    assert!(told["words"].as_str().is_some_and(|words| words.contains("09:00")), "{told}");
    assert!(told["notes"].is_array());
    let berlin = ["--timezone", "Europe/Berlin"];
    let daily = next(&[&["--daily", "09:00,18:30"], &berlin[..]].concat());
    assert_eq!(daily["occurrences"], json!([nine, nine + 34_200_000, nine + day]));
    let weekly = next(&[&["--weekly", "0,3", "--time", "09:00"], &berlin[..]].concat());
    assert_eq!(weekly["occurrences"], json!([nine + day, nine + 5 * day, nine + 8 * day]));
    let once = next(&[&["--once", "2026-12-24", "--time", "09:00"], &berlin[..]].concat());
    assert_eq!(once["occurrences"], json!([nine + 23 * day]), "once is once");
    let seconds = next(&["--cron", "*/20 * * * * *", "--timezone", "UTC"]);
    let midnight = nine - 28_800_000;
    let expected = json!([midnight + 20_000, midnight + 40_000, midnight + 60_000]);
    assert_eq!(seconds["occurrences"], expected, "only what comes after");
    let many = place.json(&["next", "--cron", "* * * * *", "-n", "1000"]);
    assert_eq!(many["occurrences"].as_array().map(Vec::len), Some(1000));
    let usual = place.json(&["next", "--cron", "* * * * *"]);
    assert_eq!(usual["occurrences"].as_array().map(Vec::len), Some(5), "five by default");
    assert!(!place.data.exists(), "no data folder is needed");
}

#[test]
fn a_bad_schedule_exits_1_with_the_reason_and_what_to_write() {
    let place = Place::new();
    for (arguments, parts) in [
        (vec!["--cron", "61 * * * *"], vec!["61", "0", "59"]),
        (vec!["--cron", "* * *"], vec!["3 of the five", "0 9 * * 1-5"]),
        (vec!["--cron", "0 9 * * MOM"], vec!["MOM"]),
        (vec!["--cron", "0 9 * * *", "--timezone", "PST"], vec!["PST", "America/Los_Angeles"]),
        (vec!["--daily", "25:00"], vec!["25:00", "two digits", "09:00"]),
        (vec!["--weekly", "1", "--time", "9"], vec!["`9`", "two digits", "09:00"]),
        (vec!["--once", "2026-02-30", "--time", "09:00"], vec!["2026-02-30", "YYYY-MM-DD"]),
    ] {
        for more in [vec![], vec!["--json"]] {
            place.run(&[&["next"], &arguments[..], &more].concat()).exits(1).says(&parts);
        }
    }
}

#[test]
fn check_tells_each_file_with_its_findings() {
    let place = Place::new();
    place.write_loop("good", "0 9 * * *", "demo/echo", "timezone: UTC\n", "Say hello.");
    let good = place.json(&["check", ".agents/loops/good.md"]);
    assert_eq!(keys(&good[0]), ["definition", "diagnostics", "ok", "path"]);
    assert_eq!(good[0]["ok"], true);
    assert_eq!(good[0]["path"], ".agents/loops/good.md");
    has(&good[0]["definition"], &["name", "enabled", "schedule", "execution"]);
    place.write_loop("bad", "0 9 * *", "demo/echo", "", "Say hello.");
    let bad = place.run(&["check", "--json"]).exits(1).json();
    assert_eq!(bad.as_array().map(Vec::len), Some(2), "all loops of the project");
    let bad = bad.as_array().and_then(|all| all.iter().find(|one| one["ok"] == false));
    let bad = bad.expect("the bad one");
    assert_eq!(bad["definition"], Value::Null, "null, not absent");
    has(
        &bad["diagnostics"][0],
        &["severity", "code", "line", "column", "endLine", "endColumn", "message"],
    );
    assert_eq!(bad["diagnostics"][0]["line"], 3, "the line of the mistake");
    let missing = place.run(&["check", "--json", "nowhere.md"]).exits(1).json();
    assert_eq!(missing[0]["ok"], false, "{missing}");
    std::fs::remove_dir_all(place.project.join(".agents")).expect("removed");
    place.run(&["check", "--json"]).exits(2).says(&[".agents/loops"]);
}

#[test]
fn run_runs_list_and_status_have_the_shapes_that_scripts_read() {
    let place = Place::registered();
    place.write_loop("echo", "0 9 * * *", "demo/echo", "timezone: UTC\n", "Say hello.");
    place.write_loop("fail", "0 9 * * *", "demo/fail", "", "Say hello.");
    let list = place.json(&["list"]);
    assert_eq!(keys(&list), ["tasks"]);
    let tasks = list["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 2, "`list` reads the loop files first");
    for task in tasks {
        has(task, &["id", "name", "enabled", "schedule", "execution", "state", "loopFile"]);
    }

    let run = place.json(&["run", "--task", "echo"]);
    assert_eq!(run["ok"], true);
    has(&run, &["run", "task", "sessionId"]);
    assert_eq!(run["task"]["name"], "echo");
    let row = &run["run"];
    has(
        row,
        &[
            "id",
            "projectId",
            "taskId",
            "taskName",
            "trigger",
            "status",
            "startedAt",
            "finishedAt",
            "durationMs",
            "answer",
        ],
    );
    assert_eq!((&row["trigger"], &row["status"]), (&json!("manual"), &json!("succeeded")));
    assert!(row.get("scheduledFor").is_none(), "a manual run has no slot: {row}");
    assert!(row["startedAt"].as_i64().is_some_and(|at| at > 1_700_000_000_000), "ms since 1970");
    assert_eq!(run["task"]["state"]["lastStatus"], "success", "as the shared file has it");

    let failed = place.run(&["run", "--task", "fail", "--json"]).exits(1).json();
    assert_eq!(failed["ok"], false);
    assert!(failed["error"].as_str().is_some_and(|error| !error.is_empty()), "{failed}");
    assert_eq!(failed["run"]["status"], "failed");

    let rows = place.json(&["runs"]);
    let names: Vec<&str> =
        rows.as_array().expect("rows").iter().filter_map(|row| row["taskName"].as_str()).collect();
    assert_eq!(names, ["fail", "echo"], "newest first");
    let newest = rows[0]["id"].to_string();
    for (arguments, expected) in [
        (vec!["--limit", "1"], vec!["fail"]),
        (vec!["--before", &newest], vec!["echo"]),
        (vec!["--status", "succeeded,missed"], vec!["echo"]),
        (vec!["--task", "fail"], vec!["fail"]),
        (vec!["--dir", "."], vec!["fail", "echo"]),
        (vec!["--project", "project"], vec!["fail", "echo"]),
    ] {
        let rows = place.json(&[&["runs"], &arguments[..]].concat());
        let names: Vec<&str> = rows
            .as_array()
            .expect("rows")
            .iter()
            .filter_map(|row| row["taskName"].as_str())
            .collect();
        assert_eq!(names, expected, "{arguments:?}");
    }

    let shown = place.json(&["runs", "show", &row["id"].to_string()]);
    let steps: Vec<&str> = shown["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["kind"].as_str())
        .collect();
    for wanted in ["claimed", "started", "ended"] {
        assert!(steps.contains(&wanted), "{wanted}: {steps:?}");
    }

    let status = place.json(&["status"]);
    for count in [
        "enabledScheduledTasksCount",
        "runningScheduledTasksCount",
        "hasEnabledScheduledTasks",
        "hasRunningScheduledTasks",
    ] {
        assert!(status.get(count).is_some(), "{count}: {status}");
    }
    assert!(status.get("pausedUntil").is_none(), "not paused: {status}");
    place.run(&["pause", "--for", "1h"]).exits(0);
    assert!(place.json(&["status"])["pausedUntil"].is_i64(), "ms since 1970");
    place.run(&["resume"]).exits(0);

    place.run(&["run", "--task", "nobody", "--json"]).exits(2).says(&["nobody"]);
    place.run(&["list", "--project", "nowhere"]).exits(2).says(&["nowhere", "project"]);
    place.run(&["runs", "show", "4242"]).exits(2).says(&["4242"]);
}

#[test]
fn a_running_task_is_refused_and_a_taken_port_is_named() {
    let place = Place::registered();
    place.write_loop("ask", "0 9 * * *", "demo/ask", "", "Say hello.");
    let mut waiting = place.command(&["run", "--task", "ask", "--json"]);
    let waiting = waiting.stdout(std::process::Stdio::piped()).spawn().expect("started");
    let blocked = place.until("blocking", || {
        let rows = place.json(&["runs", "--status", "blocked"]);
        rows[0]["id"].as_i64()
    });
    place.run(&["run", "--task", "ask"]).exits(3).says(&["ask", "loopkeeper cancel"]);
    place.run(&["answer", &blocked.to_string(), "--once"]).exits(0);
    let ended = waiting.wait_with_output().expect("ended");
    assert!(ended.status.success(), "the answer of another process reaches it: {ended:?}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    place.run(&["serve", "--port", &port]).exits(4).says(&[&port, "--port 0"]);
}

/// `status --json` had four counts and nothing of a pause; `list` and `status` called a task armed
/// whose next slot the pause was going to skip.
#[test]
fn a_pause_is_told_by_list_and_status_to_people_and_scripts() {
    let place = Place::registered();
    place.write_loop("slow", "0 9 * * *", "demo/echo", "", "Say hello.");
    place.json(&["list"]);
    let free = place.json(&["status"]);
    assert_eq!(free["paused"], Value::Null, "{free}");
    assert_eq!(free["next"]["name"], "slow", "{free}");
    assert_eq!(free["stalled"], false, "{free}");
    for list in ["running", "needsYou", "warnings"] {
        assert!(free[list].is_array(), "{list}: {free}");
    }
    assert!(!place.run(&["status"]).exits(0).out.contains("paused"), "nothing is");
    for (arguments, until) in
        [(vec!["pause"], "`loopkeeper resume`"), (vec!["pause", "--for", "9d"], "20")]
    {
        place.run(&arguments).exits(0);
        let said = format!("everything is paused until {until}");
        let list = place.run(&["list"]).exits(0).says(&[&said]);
        for part in ["armed, paused", "(held by the pause)"] {
            assert!(list.out.contains(part), "`{part}`: {list:#?}");
        }
        let status = place.run(&["status"]).exits(0);
        for part in [&said, "(held by the pause)"] {
            assert!(status.out.contains(part), "`{part}`: {status:#?}");
        }
        let paused = &place.json(&["status"])["paused"];
        assert!(paused["since"].is_i64(), "{paused}");
        assert_eq!(paused.get("until").map(Value::is_i64), Some(until == "20"), "{paused}");
    }
}

/// A slip such as `99999999d` was taken, and said as a number of milliseconds.
#[test]
fn a_pause_of_more_than_ten_years_is_refused_with_the_limit() {
    let place = Place::registered();
    for arguments in
        [["--for", "99999999d"], ["--for", "9000000000000000s"], ["--until", "2099-01-01"]]
    {
        let ran = place.run(&[&["pause"], &arguments[..]].concat()).exits(2);
        ran.says(&["ten years", "none"]);
    }
    assert_eq!(place.json(&["status"])["paused"], Value::Null, "nothing was paused");
    place.run(&["pause", "--for", "3600d"]).exits(0);
}

/// A task that nobody knows had `nothing has run yet`, and exit code 0.
#[test]
fn runs_of_an_unknown_task_are_refused_and_those_of_a_deleted_one_shown() {
    let place = Place::registered();
    place.write_loop("kept", "0 9 * * *", "demo/echo", "", "Say hello.");
    let create =
        ["create", "--name", "brief", "--daily", "09:00", "--model", "demo/echo", "--prompt", "hi"];
    place.run(&create).exits(0);
    let id = place.json(&["run", "brief"])["task"]["id"].as_str().expect("an id").to_owned();
    place.run(&["delete", "brief"]).exits(0);
    place.run(&["runs", "--task", "nosuch"]).exits(2).says(&["no task nosuch", "loopkeeper list"]);
    for named in [&id, "brief"] {
        let rows = place.json(&["runs", "--task", named]);
        assert_eq!(rows[0]["taskName"], "brief", "the history outlives its task: {rows}");
    }
    let none = place.run(&["runs", "--task", "brief", "--status", "failed"]).exits(0);
    assert!(none.out.contains("nothing has run yet"), "known, but without such a row: {none:#?}");
    let none = place.run(&["runs", "--task", "kept"]).exits(0);
    assert!(none.out.contains("nothing has run yet"), "it is there: {none:#?}");
}

/// `cancel` spoke of what a run asks.
#[test]
fn an_unknown_run_is_called_so_by_every_command() {
    let place = Place::registered();
    for arguments in
        [&["answer", "999", "--once"][..], &["cancel", "999"], &["runs", "show", "999"]]
    {
        let ran = place.run(arguments).exits(2);
        assert!(!ran.err.contains("asks"), "{arguments:?}: {ran:#?}");
        ran.says(&["there is no run 999", "pruned", "loopkeeper runs"]);
    }
}

/// `doctor` found an error wherever OpenCode is not installed, though no task needed it.
#[test]
fn opencode_is_missed_by_doctor_only_where_a_task_needs_it() {
    let mut place = Place::registered();
    let empty = place.root.path().join("programs");
    std::fs::create_dir_all(&empty).expect("made");
    place.environment.push(("PATH".into(), empty.to_string_lossy().into_owned()));
    place.write_loop("echo", "0 9 * * *", "demo/echo", "", "Say hello.");
    let said = |ran: place::Ran, start: &str| {
        let found = ran.out.lines().any(|line| {
            line.starts_with(start) && line.contains("opencode: ") && line.contains("OpenCode")
        });
        assert!(found, "{start}: {ran:#?}");
        ran
    };
    let ran = said(place.run(&["doctor"]).exits(0), "warning");
    assert!(ran.out.contains("No task that is enabled uses it"), "{ran:#?}");
    place.write_loop("needs", "0 9 * * *", "anthropic/x", "", "Say hello.");
    said(place.run(&["doctor"]).exits(1), "error");
    place.run(&["disable", "needs"]).exits(0);
    said(place.run(&["doctor"]).exits(0), "warning");
}

/// Lines of ends had the task's name, lines of what follows from them its id.
#[test]
fn serve_calls_a_task_by_its_name_in_every_line() {
    let mut place = Place::registered();
    let settings = place.root.path().join("settings.toml");
    std::fs::write(&settings, "[runs]\npause_after_failures = 1\n").expect("written");
    place.environment.push(("LOOPKEEPER_CONFIG".into(), settings.to_string_lossy().into_owned()));
    place.write_loop("broken", "* * * * * *", "demo/fail", "", "Say hello.");
    let mut command = place.command(&["serve", "--port", "0"]);
    let mut serve = command.stdout(std::process::Stdio::piped()).spawn().expect("started");
    let out = std::io::BufReader::new(serve.stdout.take().expect("piped"));
    let mut lines = std::io::BufRead::lines(out).map_while(Result::ok);
    let paused = lines.find(|line| line.contains("paused after failures"));
    serve.kill().expect("killed");
    serve.wait().expect("ended");
    let paused = paused.expect("it goes on until then");
    assert!(paused.contains("  broken  paused"), "the name, not the id: {paused}");
}

/// Names, errors and answers went out as they were, so a loop of somebody's repository could set the
/// terminal's title, wipe its screen, or forge lines.
#[test]
fn control_characters_of_names_and_answers_are_shown_and_not_sent() {
    let place = Place::registered();
    let text = "---\nname: \"a\\e]0;pwned\\a\\e[2J\\e[31m\\nb\\u202Ec\\u009bd\\x7f\"\nschedule: \"0 9 * * *\"\n\
                enabled: true\nmodel: bell/x\n---\nhi\n";
    std::fs::write(place.loop_path("evil"), text).expect("written");
    place.write_loop("bad", "0 9 * * \u{1b}[31m", "demo/echo", "", "hi");
    std::fs::create_dir_all(place.data.join("loopkeeper")).expect("made");
    let settings = place.root.path().join("settings.toml");
    let command = "[command.bell]\nargv = [\"printf\", '\\033]0;pwned\\007one\\n\\ttwo\\r\\n']\n";
    std::fs::write(&settings, command).expect("written");
    let mut place = place;
    place.environment.push(("LOOPKEEPER_CONFIG".into(), settings.to_string_lossy().into_owned()));
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let id = place.json(&["list"])["tasks"][0]["id"].as_str().expect("an id").to_owned();
    let commands: [&[&str]; 9] = [
        &["approve", &id, "--yes"],
        &["list"],
        &["check"],
        &["status"],
        &["doctor"],
        &["run", &id],
        &["runs"],
        &["runs", "show", "1"],
        &["plan"],
    ];
    let shown: Vec<String> = commands
        .iter()
        .map(|arguments| {
            let ran = place.run(arguments);
            let all = format!("{}{}", ran.out, ran.err);
            assert!(!all.contains(steers), "{arguments:?} steers the terminal: {all:?}");
            all
        })
        .collect();
    assert!(shown[1].contains("a␛]0;pwned␇␛[2J␛[31m␊b\u{fffd}c\u{fffd}d␡"), "{}", shown[1]);
    assert!(shown[5].contains("␛]0;pwned␇one\n\ttwo\n"), "an answer keeps its lines: {}", shown[5]);
    let name = place.json(&["list"])["tasks"][0]["name"].clone();
    assert!(name.as_str().is_some_and(|name| name.contains('\u{1b}')), "JSON is untouched: {name}");
}

/// `check` looked at each file alone, so it called two loops of one name, and a link, fine.
#[cfg(unix)]
#[test]
fn check_tells_of_names_that_clash_and_of_links() {
    let home = tempfile::tempdir().expect("a folder");
    let project = tempfile::tempdir().expect("a folder");
    let loops = project.path().join(".agents/loops");
    std::fs::create_dir_all(&loops).expect("made");
    let text = "---\nname: same\nschedule: \"0 9 * * *\"\nmodel: demo/echo\n---\nhi\n";
    for name in ["a.md", "b.md"] {
        std::fs::write(loops.join(name), text).expect("written");
    }
    std::os::unix::fs::symlink("a.md", loops.join("c.md")).expect("linked");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_loopkeeper"))
        .args(["check", "--json"])
        .current_dir(project.path())
        .env("HOME", home.path())
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1), "there are findings");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("\"name-clash\"") && told.contains("\"symlink\""), "both: {told}");
}
