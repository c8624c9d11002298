use super::*;
use serde_json::json;

fn input() -> Value {
    json!({
        "name": "Water", "schedule": { "kind": "cron", "cron": "0 9 * * *" },
        "execution": { "prompt": "p", "providerID": "a", "modelID": "m" },
    })
}

fn put(document: &mut Document, input: &Value) -> Result<Upserted, UpsertError> {
    upsert(document, input, 50, || "gen".to_owned(), "Europe/Kyiv")
}

#[test]
fn a_stored_tasks_state_zone_and_loop_are_not_the_clients_to_change() {
    let mut document = Document::empty();
    let mut task = input();
    task["state"] = json!({ "createdAt": 5, "lastStatus": "success", "lastScheduledFor": 40 });
    let done = put(&mut document, &task).expect("valid");
    assert!(done.created);
    assert_eq!(done.task.schedule.timezone(), Some("Europe/Kyiv"), "the machine's");
    assert_eq!(done.task.state.last_scheduled_for, Some(40), "a new one may bring its history");
    task["id"] = "gen".into();
    task["state"] = json!({ "lastScheduledFor": 99, "lastStatus": "idle" });
    let again = upsert(&mut document, &task, 60, String::new, "UTC").expect("valid");
    assert!(!again.created);
    assert_eq!(again.task.state.last_scheduled_for, Some(40), "a stored state is ours");
    assert_eq!(again.task.state.updated_at, Some(60));
    assert_eq!(again.task.schedule.timezone(), Some("Europe/Kyiv"), "the stored zone stays");
    assert_eq!(document.tasks().len(), 1);
}

#[test]
fn the_field_that_is_wrong_is_named_and_nothing_changes() {
    let mut document = Document::empty();
    let cases = [
        ("/name", json!(" "), "task.name"),
        ("/schedule", json!(5), "schedule"),
        ("/schedule/kind", json!("hourly"), "schedule.kind"),
        ("/schedule/timezone", json!("Mars/X"), "schedule.timezone"),
        ("/schedule/cron", json!("0 9 * *"), "schedule.cron"),
        ("/schedule/cron", json!(format!("0 9 * * {}", "1,".repeat(120) + "1")), "schedule.cron"),
        ("/execution", json!(null), "execution"),
        ("/execution/prompt", json!(""), "execution.prompt"),
        ("/execution/modelID", json!(7), "execution.modelID"),
    ];
    for (place, value, field) in cases {
        let mut task = input();
        match task.pointer_mut(place) {
            Some(old) => *old = value,
            None => task["schedule"]["timezone"] = value,
        }
        let error = put(&mut document, &task).expect_err(field);
        assert_eq!(error.field, field, "{error}");
    }
    assert_eq!(put(&mut document, &json!("x")).expect_err("text").field, "task");
    assert!(!document.changed(), "a refused task leaves no trace");
}

#[test]
fn long_names_and_prompts_are_cut_and_the_answer_says_so() {
    let mut task = input();
    task["name"] = format!("{}😀", "a".repeat(79)).into();
    task["execution"]["prompt"] = "x".repeat(20_001).into();
    let done = put(&mut Document::empty(), &task).expect("valid");
    assert_eq!(done.task.name, "a".repeat(79), "a pair is never cut in the middle");
    assert_eq!(done.task.execution.prompt.len(), 20_000);
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
}

#[test]
fn a_loop_task_goes_only_once_its_file_is_gone() {
    let mut document = Document::empty();
    let mut task = input();
    task["loopFile"] = "/w/a.md".into();
    put(&mut document, &task).expect("valid");
    let error = delete(&mut document, "gen", true).expect_err("the file would bring it back");
    assert!(error.to_string().contains("/w/a.md"), "{error}");
    delete(&mut document, "gen", false).expect("an orphan may go");
    assert!(matches!(delete(&mut document, "gen", false), Err(DeleteError::NotFound { .. })));
}
