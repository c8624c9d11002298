use super::*;

const SHARED: &str = r#"{
  "version": 1,
  "futureKey": { "a": 1e0, "a": 2 },
  "scheduledTasks": [
    {
      "id": "a", "name": "A \ud83d", "enabled": true, "xRetry": {"max": 3.0},
      "schedule": { "kind": "cron", "cron": "0 9 * * *", "timezone": "UTC", "jitter": 5 },
      "execution": { "prompt": "cut \ud83d", "providerID": "p", "modelID": "m" },
      "state": { "createdAt": 1.0, "streak": 4, "lastStatus": "idle", "lastError": "e" }
    },
    { "id": "i", "name": "I", "schedule": { "kind": "interval", "everyMinutes": 30 } }, null ,5
  ],
  "tail": [1,
2]
}
"#;

fn patch() -> StatePatch {
    StatePatch {
        created_at: Patch::Set(1),
        last_status: Patch::Set(LastStatus::Running),
        last_run_at: Patch::Set(7),
        last_error: Patch::Remove,
        ..StatePatch::default()
    }
}

#[test]
fn g01_a_state_change_keeps_what_it_does_not_know() {
    let mut document = Document::parse(SHARED).expect("an object");
    assert!(document.set_state("a", &patch()), "it is there");
    let expected =
        SHARED.replace("\"idle\", \"lastError\": \"e\" }", "\"running\", \"lastRunAt\": 7 }");
    assert_eq!(document.to_text(), expected, "only the keys that were set may differ");
    let task = document.task("a").expect("readable");
    assert_eq!(task.state.last_status, Some(LastStatus::Running), "and it reads as written");
    assert_eq!(task.name, "A \u{fffd}", "a lone surrogate is decoded lossily for use");
    assert_eq!(document.tasks().len(), 4, "what cannot be read stays in the list");
    assert!(document.tasks()[1].task.is_none(), "an unknown kind is nobody's task here");
}

#[test]
fn nothing_changed_means_the_same_bytes() {
    let mut document = Document::parse(SHARED).expect("an object");
    let same = StatePatch {
        created_at: Patch::Set(1),
        last_status: Patch::Set(LastStatus::Idle),
        last_run_at: Patch::Remove,
        ..StatePatch::default()
    };
    document.set_state("a", &same);
    document.set_enabled("a", true);
    assert!(!document.changed(), "equal values must not make anyone write");
    assert_eq!(document.to_text(), SHARED);
}

#[test]
fn tasks_come_and_go_between_the_others() {
    let mut document = Document::parse(SHARED).expect("an object");
    let task = document.task("a").expect("readable").clone();
    assert!(document.remove("a"));
    document.push(&Task { id: "n".to_owned(), ..task });
    let text = document.to_text();
    let again = Document::parse(&text).expect("still JSON");
    let ids: Vec<&str> = again.tasks().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["i", "", "", "n"], "{text}");
    assert!(text.contains("\n    {\n      \"id\": \"n\","), "two spaces a level: {text}");
    assert!(text.contains("{ \"id\": \"i\", \"name\": \"I\", \"schedule\""), "{text}");
    assert!(text.ends_with("\"tail\": [1,\n2]\n}\n"), "the rest is verbatim: {text}");
    let mut again = again;
    for id in ["i", "", "", "n"] {
        assert!(again.remove(id), "there is one {id:?}");
    }
    assert!(again.to_text().contains("\"scheduledTasks\": [],"), "{}", again.to_text());
}

#[test]
fn a_new_file_looks_as_the_peer_writes_it() {
    let mut document = Document::empty();
    assert!(!document.changed(), "a missing file is no reason to write");
    let source = Document::parse(SHARED).expect("an object");
    let task = source.task("a").expect("readable").clone();
    document.push(&task);
    let value = serde_json::json!({ "version": 1, "scheduledTasks": [task] });
    let expected = serde_json::to_string_pretty(&value).expect("JSON");
    assert_eq!(document.to_text(), expected, "no newline at the end");
}

#[test]
fn a_file_without_a_list_gets_one() {
    for text in ["{\"other\": true}", "{ \"other\": true, \"scheduledTasks\": null }\n"] {
        let mut document = Document::parse(text).expect("an object");
        let task = Document::parse(SHARED).expect("JSON").task("a").expect("there").clone();
        document.push(&task);
        let value: Value = serde_json::from_str(&document.to_text()).expect("JSON");
        assert_eq!(value["other"], true);
        assert_eq!(value["version"], 1, "the peer always writes its version");
        assert_eq!(value["scheduledTasks"][0]["id"], "a");
    }
}

#[test]
fn g03_what_is_no_object_is_an_error_with_its_place() {
    let error = Document::parse("{\n  \"version\": 1,\n  \"scheduledTasks\": [").expect_err("cut");
    assert_eq!(error.line, 3, "{error}");
    assert!(Document::parse("[]").is_err(), "a list is no project file");
    assert!(Document::parse("\u{feff}{}").is_err(), "the peer cannot read a BOM either");
    assert!(Document::parse("").is_err(), "an empty file is a crash, not an empty list");
    let odd = Document::parse("{\n \"scheduledTasks\": {}}").expect_err("not a list");
    assert_eq!((odd.line, odd.column), (2, 20), "a newer version's tasks must not be overwritten");
}

#[test]
fn of_two_elements_with_one_id_the_readable_one_counts() {
    let mut document = Document::parse(SHARED).expect("an object");
    let task = document.task("a").expect("readable").clone();
    document.push(&Task { id: "i".to_owned(), ..task });
    assert!(document.task("i").is_some(), "the first of them is of an unknown kind");
    let odd = document.tasks()[1].text().to_owned();
    assert!(document.set_state("i", &patch()) && document.remove("i"));
    assert_eq!(document.tasks()[1].text(), odd, "which stays as it is");
}

#[test]
fn of_duplicate_keys_the_last_counts_as_in_javascript() {
    let text = r#"{"scheduledTasks":[1],"scheduledTasks":[{"id":"a","state":{"x":1},"state":{}}]}"#;
    let mut document = Document::parse(text).expect("an object");
    assert_eq!(document.tasks().len(), 1);
    let patch = StatePatch { last_run_at: Patch::Set(2), ..StatePatch::default() };
    assert!(document.set_state("a", &patch));
    let text = document.to_text();
    assert!(
        text.starts_with(r#"{"scheduledTasks":[1],"scheduledTasks":[{"id":"a","state":{"x":1},"#)
    );
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["scheduledTasks"][0]["state"]["lastRunAt"], 2, "{text}");
}
