use super::*;
use crate::clock::{Clock, SystemClock};
use crate::loops::Scope;
use crate::project::reconcile::{Source, reconcile_sources};
use crate::project::{Entry, Patch, StatePatch};
use crate::task::{Definition, Execution, Schedule};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A clock whose awake time is moved by hand.
#[derive(Debug, Default)]
pub(in crate::project) struct Stepped(AtomicU64);

impl Stepped {
    pub(in crate::project) fn step(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).expect("short"), Ordering::SeqCst);
    }
}

impl Clock for Stepped {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn awake(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

fn tasks(n: usize) -> Value {
    let task = |k: usize| {
        json!({
            "id": format!("t{k}"), "name": format!("T{k}"), "enabled": true,
            "schedule": { "kind": "cron", "cron": "0 9 * * *", "timezone": "UTC" },
            "execution": { "prompt": "p", "providerID": "demo", "modelID": "echo" },
            "state": { "lastDurationMs": 0 },
        })
    };
    json!({ "version": 1, "scheduledTasks": (0..n).map(task).collect::<Vec<_>>() })
}

fn folder() -> (tempfile::TempDir, Folder) {
    let root = tempfile::tempdir().expect("a folder");
    let data = root.path();
    let mut folder = Folder::new(data.join("projects"));
    folder.guards_dir = Some(data.join("loopkeeper").join("locks"));
    folder.trash_dir = Some(data.join("loopkeeper").join("trash"));
    std::fs::create_dir(&folder.projects_dir).expect("created");
    let text = serde_json::to_string_pretty(&tasks(2)).expect("JSON");
    std::fs::write(folder.projects_dir.join("p.json"), text).expect("written");
    (root, folder)
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.projects_dir).expect("there");
    entries.map(|entry| entry.expect("readable").file_name().into_string().unwrap()).collect()
}

fn add_one(document: &mut Document) -> Result<(), ProjectError> {
    let old = document.task("t0").and_then(|task| task.state.last_duration_ms).unwrap_or(0);
    let patch = StatePatch { last_duration_ms: Patch::Set(old + 1), ..StatePatch::default() };
    document.set_state("t0", &patch);
    Ok(())
}

fn counter(folder: &Folder) -> i64 {
    let document = read_only(folder, "p").expect("readable");
    document.task("t0").and_then(|task| task.state.last_duration_ms).expect("counted")
}

#[test]
fn threads_increment_a_counter_and_the_sum_is_exact() {
    let (_root, folder) = folder();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    update(&folder, "p", add_one).expect("written");
                }
            });
        }
    });
    assert_eq!(counter(&folder), 100, "no increment may be lost");
    assert_eq!(folder.writes(), 100, "each one wrote once");
    assert_eq!(names(&folder), ["p.json"], "no lock and no temporary file is left");
}

#[test]
fn what_changes_nothing_writes_nothing() {
    let (_root, folder) = folder();
    let before = folder.stamp("p");
    let (_, written) = update(&folder, "p", |document| {
        document.set_enabled("t0", true);
        Ok::<_, ProjectError>(())
    })
    .expect("no fault");
    assert_eq!(written, Written::Unchanged);
    assert_eq!((folder.writes(), folder.stamp("p")), (0, before), "the file was not touched");
    assert!(!folder.is_own_write("p"), "nor was it written by us");
    update(&folder, "p", add_one).expect("written");
    assert!(folder.is_own_write("p"), "our own write rings no bell");
    std::fs::write(folder.file("p").expect("a name"), "{}").expect("somebody else writes");
    assert!(!folder.is_own_write("p"), "theirs does");
    let (_, written) = update(&folder, "new", |_| Ok::<_, ProjectError>(())).expect("no fault");
    assert_eq!(written, Written::Unchanged, "a missing file stays missing");
    assert_eq!(names(&folder), ["p.json"]);
}

#[test]
fn a_sync_of_unchanged_loops_writes_nothing() {
    let (_root, folder) = folder();
    let schedule = Schedule::Cron { cron: "0 9 * * *".to_owned(), timezone: None };
    let execution = Execution {
        prompt: "do".into(),
        provider_id: "demo".to_owned(),
        model_id: "echo".to_owned(),
        ..Execution::default()
    };
    let define = |name: String| {
        let (schedule, execution) = (schedule.clone(), execution.clone());
        Definition { name, enabled: true, schedule, execution, policy: None }
    };
    let loops: Vec<(PathBuf, Definition)> = (0..100)
        .map(|n| (PathBuf::from(format!("/w/{n}.md")), define(format!("loop {n}"))))
        .collect();
    let sources: Vec<Source> = loops
        .iter()
        .map(|(path, definition)| Source {
            scope: Scope::Project,
            path,
            definition: Some(definition),
        })
        .collect();
    for _ in 0..3 {
        let merge = |document: &mut Document| {
            reconcile_sources(document, &sources, &[], "UTC", SystemClock.now_ms());
            Ok::<_, ProjectError>(())
        };
        update(&folder, "p", merge).expect("no fault");
    }
    assert_eq!(folder.writes(), 1, "a hundred new tasks are one write, unchanged ones are none");
    assert_eq!(read_only(&folder, "p").expect("readable").tasks().len(), 102);
}

#[test]
fn h03_a_holder_that_slept_gives_up_its_write_and_starts_again() {
    let (_root, mut folder) = folder();
    let path = folder.projects_dir.join("p.json.lock");
    let (other, slept) = (folder.clone(), Arc::new(AtomicBool::new(false)));
    let theirs = path.clone();
    folder.probe = Some(Arc::new(move |step| {
        // While it sleeps before its last check, somebody takes the old lock, writes, releases.
        if step == Step::BeforeVerify && !slept.swap(true, Ordering::SeqCst) {
            std::fs::remove_file(&theirs).expect("taken");
            let mut other = other.clone();
            other.guards_dir = None;
            update(&other, "p", |document| {
                let patch = StatePatch { last_run_at: Patch::Set(5), ..StatePatch::default() };
                document.set_state("t1", &patch);
                add_one(document)
            })
            .expect("written");
            // And the next one holds it already.
            let at = SystemClock.now_ms();
            std::fs::write(&theirs, format!("{{\"pid\":1,\"at\":{at}}}")).expect("locked");
        } else if step == Step::BeforeUnlink {
            let ours = std::fs::read_to_string(&theirs).is_ok_and(|text| text.contains("nonce"));
            if !ours {
                assert!(theirs.exists(), "a lock of somebody else must survive our release");
            }
        }
    }));
    let mut locked = open_locked(&folder, "p").expect("free");
    let mut document = locked.read().expect("readable");
    add_one(&mut document).expect("changed");
    assert_eq!(locked.write(&document).expect("no fault"), Written::Abandoned);
    drop(locked);
    assert!(path.exists(), "the other's lock is not ours to remove");
    assert_eq!(counter(&folder), 1, "the other's change is not lost");
    std::fs::remove_file(&path).expect("the other releases");
    update(&folder, "p", add_one).expect("written");
    assert_eq!(counter(&folder), 2, "it starts again from what the other wrote");
    assert_eq!(folder.abandoned(), 1);
    assert_eq!(names(&folder), ["p.json"], "nothing is left");
}

#[test]
fn a_writer_that_takes_no_lock_is_noticed() {
    let (_root, mut folder) = folder();
    let file = folder.file("p").expect("a name");
    let met = Arc::new(AtomicBool::new(false));
    folder.probe = Some(Arc::new(move |step| {
        if step == Step::BeforeVerify && !met.swap(true, Ordering::SeqCst) {
            std::fs::write(&file, tasks(1).to_string()).expect("written without the lock");
        }
    }));
    update(&folder, "p", add_one).expect("written at the second try");
    let document = read_only(&folder, "p").expect("readable");
    assert_eq!(document.tasks().len(), 1, "the other's change is not lost");
    assert_eq!((counter(&folder), folder.abandoned()), (1, 1), "and ours is in it");
}

#[test]
fn g03_a_broken_file_is_refused_copied_once_and_heals() {
    let (root, folder) = folder();
    let file = folder.file("p").expect("a name");
    std::fs::write(&file, "{\"scheduledTasks\":[").expect("cut by a crash");
    for _ in 0..2 {
        let error = update(&folder, "p", add_one).expect_err("unreadable").to_string();
        assert!(error.contains("p.json: line 1, column 19"), "{error}");
    }
    assert_eq!(std::fs::read(&file).expect("there"), b"{\"scheduledTasks\":[", "left as it is");
    let trash = std::fs::read_dir(root.path().join("loopkeeper").join("trash")).expect("there");
    assert_eq!(trash.count(), 1, "one copy, however often it was met");
    assert_eq!(names(&folder), ["p.json"], "the lock is released");
    std::fs::write(&file, tasks(1).to_string()).expect("repaired");
    update(&folder, "p", add_one).expect("all heals itself when the file does");
}

#[test]
fn a_dead_holders_lock_is_taken_over_and_its_files_are_removed() {
    let (_root, folder) = folder();
    let mut child = std::process::Command::new("true").spawn().expect("true starts");
    let pid = child.id();
    child.wait().expect("it ends");
    let lock = folder.projects_dir.join("p.json.lock");
    std::fs::write(&lock, json!({ "pid": pid, "at": SystemClock.now_ms() }).to_string())
        .expect("left behind");
    let ours = crate::project::temp::TempName::beside(&lock).expect("a name");
    let name = ours.file_name().and_then(|name| name.to_str()).expect("text").to_owned();
    let dead = name.replace(&format!("-{}-", std::process::id()), &format!("-{pid}-"));
    std::fs::write(folder.projects_dir.join(dead), "half").expect("left behind");
    let mine = folder.projects_dir.join(&name);
    std::fs::write(&mine, "in use").expect("a living one");
    update(&folder, "p", add_one).expect("taken over");
    assert_eq!(folder.taken_over(), 1);
    let mut left = names(&folder);
    left.sort();
    assert_eq!(left, [name, "p.json".to_owned()], "a living process keeps its own");
}

#[test]
fn a_timeout_names_lock_holder_age_and_what_to_do() {
    let (_root, folder) = folder();
    let folder = folder.with_wait(Duration::from_millis(1));
    let lock = folder.projects_dir.join("p.json.lock");
    let at = SystemClock.now_ms() - 3_500;
    std::fs::write(&lock, format!("{{\"pid\":1,\"at\":{at}}}")).expect("held");
    let error = update(&folder, "p", add_one).expect_err("held by a living one").to_string();
    for part in ["p.json.lock", "process 1", "since 3 s", "try again"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    std::fs::remove_file(&lock).expect("released");
    update(&folder, "p", add_one).expect("no failed write blocks the next one");
}

#[test]
fn rubbish_in_place_of_the_lock_blocks_one_operation_and_not_for_ever() {
    let rubbish: [&dyn Fn(&Path); 4] = [
        &|lock| std::fs::write(lock, "").expect("empty"),
        &|lock| std::fs::write(lock, "rubbish").expect("no JSON"),
        &|lock| std::fs::write(lock, "{\"at\":5}").expect("no pid"),
        &|lock| std::fs::create_dir(lock).expect("a folder"),
    ];
    for (n, put) in rubbish.iter().enumerate() {
        let (_root, folder) = folder();
        let clock = Arc::new(Stepped::default());
        let folder = folder.with_clock(clock.clone()).with_wait(Duration::ZERO);
        put(&folder.projects_dir.join("p.json.lock"));
        let first = update(&folder, "p", add_one);
        assert!(matches!(first, Err(ProjectError::Busy { .. })), "{n}: first sight: {first:?}");
        clock.step(Duration::from_secs(61));
        update(&folder, "p", add_one).expect("a minute later it is taken over");
        assert_eq!(names(&folder), ["p.json"], "{n}: nothing is left");
    }
}

#[test]
fn ids_that_are_no_file_names_are_refused() {
    let (_root, folder) = folder();
    for id in ["", "../p", "a/b", "a\0b"] {
        assert!(matches!(folder.file(id), Err(ProjectError::InvalidId { .. })), "{id:?}");
    }
    let long = format!("path_{}", "x".repeat(241));
    let error = update(&folder, &long, add_one).expect_err("its lock would be too long");
    assert!(error.to_string().contains("246 bytes"), "{error}");
    let fits = &long[..245];
    update(&folder, fits, |_| Ok::<_, ProjectError>(())).expect("the longest that fits works");
}

#[test]
fn reading_and_writing_a_hundred_tasks_parses_them_once() {
    let text = tasks(100).to_string();
    let mut document = Document::parse(&text).expect("an object");
    let others: Vec<String> = document.tasks()[1..].iter().map(|e| e.text().to_owned()).collect();
    add_one(&mut document).expect("changed");
    let same = document.tasks()[1..].iter().map(Entry::text).eq(others.iter());
    assert!(same, "the state of one task must not touch another's text");
}
