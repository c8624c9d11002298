//! What happens to a task between arming and firing.

use super::*;
use crate::claim::content_hash;
use crate::schedule::Compiled;

const ID: &str = "loop:project:daily";

fn text(schedule: &str, enabled: bool, prompt: &str) -> String {
    format!(
        "---\nname: daily\nschedule: \"{schedule}\"\nenabled: {enabled}\nmodel: demo/echo\n---\n{prompt}\n"
    )
}

/// A project whose only task comes from a loop file, armed as the engine does it.
struct Loop {
    bed: Bed,
    path: PathBuf,
    armed: Armed,
    task: TaskKey,
}

impl Loop {
    fn new() -> Loop {
        let bed = Bed::new();
        let path = bed.dir.path().join("daily.md");
        std::fs::write(&path, text("0 9 * * *", true, "v1")).expect("written");
        bed.edit(|task| {
            task["id"] = json!(ID);
            task["name"] = json!("daily");
            task["loopFile"] = json!(path);
            task["execution"]["prompt"] = json!("v1");
        });
        let task = TaskKey::new("p", ID);
        let document = project::read_only(&bed.desk.folder, "p").expect("reads");
        let stored = document.task(ID).expect("there");
        let armed = Armed::new(stored, Compiled::new(&stored.schedule).ok());
        Loop { bed, path, armed, task }
    }

    fn claim(&self, slot: i64) -> Result<Claimed, ClaimError> {
        let request = Request { armed: Some(&self.armed), ..wish(&self.task, slot) };
        self.bed.desk.claim(&*self.bed.clock, &request, &NoRules)
    }

    fn save(&self, text: &str) {
        std::fs::write(&self.path, text).expect("saved");
    }

    fn nothing_happened(&self) {
        assert_eq!(self.bed.rows(), Vec::new());
        assert_eq!(self.bed.state()["lastScheduledFor"], Value::Null);
        assert_eq!(self.bed.state()["lastStatus"], "idle");
    }
}

/// Case A05: edited a second before its slot, the loop runs at its new time with its new prompt.
#[test]
fn a05_an_edited_loop_runs_at_its_new_time_with_its_new_prompt() {
    let it = Loop::new();
    it.save(&text("0 10 * * *", true, "v2"));
    let nine = it.claim(NINE);
    let Ok(Claimed::NotTrue { task: Some(now) }) = nine else { panic!("{nine:?}") };
    assert_eq!(&*now.execution.prompt, "v2", "the caller arms from what is");
    it.nothing_happened();
    let ten = NINE + 3_600_000;
    it.bed.clock.set(ten);
    let claim = won(it.claim(ten));
    assert_eq!(&*claim.task.execution.prompt, "v2", "the file decides, not what was armed");
    assert_eq!(claim.hash, content_hash(&claim.task), "approval is of what runs");
    let mut off = claim.task.clone();
    off.enabled = false;
    assert_eq!(
        claim.hash,
        content_hash(&off),
        "switching a loop on or off asks for no new approval"
    );
}

#[test]
fn a_disabled_loop_does_not_run() {
    let it = Loop::new();
    it.save(&text("0 9 * * *", false, "v1"));
    assert!(matches!(it.claim(NINE), Ok(Claimed::NotTrue { task: Some(_) })));
    it.nothing_happened();
}

#[test]
fn a_deleted_loop_does_not_run() {
    let it = Loop::new();
    std::fs::remove_file(&it.path).expect("deleted");
    assert!(matches!(it.claim(NINE), Ok(Claimed::NotTrue { task: None })));
    it.nothing_happened();
}

#[test]
fn a_loop_in_mid_edit_runs_its_last_good_definition() {
    let it = Loop::new();
    it.save("---\nname: daily\nschedule: \"0 9 *");
    let claim = won(it.claim(NINE));
    assert_eq!(&*claim.task.execution.prompt, "v1");
}

#[test]
fn a_loop_file_decides_over_an_older_definition_in_the_shared_file() {
    let it = Loop::new();
    // A process that has not seen the edit writes its older definition back.
    it.bed.edit(|task| {
        task["schedule"]["cron"] = json!("0 17 * * *");
        task["execution"]["prompt"] = json!("v0");
    });
    let claim = won(it.claim(NINE));
    assert_eq!(&*claim.task.execution.prompt, "v1", "nothing older than the file runs");
}

#[test]
fn a_json_task_is_what_the_file_says_now() {
    for (what, change) in [
        ("disabled", json!({ "enabled": false })),
        ("moved", json!({ "schedule": cron("0 17 * * *") })),
        ("broken", json!({ "schedule": cron("not a cron") })),
    ] {
        let bed = Bed::new();
        bed.edit(|task| {
            for (key, value) in change.as_object().expect("an object") {
                task[key] = value.clone();
            }
        });
        let claimed = bed.claim(NINE);
        assert!(matches!(claimed, Ok(Claimed::NotTrue { .. })), "{what}: {claimed:?}");
        assert_eq!(bed.rows(), Vec::new(), "{what}");
    }
    let bed = Bed::new();
    bed.put(&json!({ "scheduledTasks": [] }));
    assert!(matches!(bed.claim(NINE), Ok(Claimed::NotTrue { task: None })), "deleted");
    std::fs::remove_file(bed.file()).expect("removed");
    assert!(matches!(bed.claim(NINE), Ok(Claimed::NotTrue { task: None })), "no file at all");
}
