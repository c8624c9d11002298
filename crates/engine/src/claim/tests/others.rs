//! What others do while a claim is under way: writers without a lock, faults, and worse.

use super::*;
use crate::project::{Document, Step};
use std::sync::Mutex;

/// Every step of a claim at which the old file may come back before it is verified.
const BEFORE_THE_CHECK: [Step; 3] = [Step::Locked, Step::BeforeFsync, Step::BeforeVerify];
const AFTER_THE_RENAME: [Step; 2] = [Step::AfterRename, Step::BeforeUnlink];

/// The claim of a peer that takes no lock.
fn claimed_elsewhere(config: &Value, slot: i64) -> Value {
    let mut config = config.clone();
    let state = &mut config["scheduledTasks"][0]["state"];
    state["lastScheduledFor"] = json!(slot);
    state["lastRunAt"] = json!(NINE + 7);
    state["lastStatus"] = json!("running");
    config
}

fn interrupted(bed: &Bed, step: Step, config: Value) -> Desk {
    let file = bed.file();
    let mut desk = bed.desk.clone();
    desk.folder.probe = Some(once_at(step, move || put(&file, &config)));
    desk
}

#[test]
fn an_abandoned_write_is_undone_as_a_whole_and_made_again() {
    for step in [Step::BeforeFsync, Step::BeforeVerify] {
        let bed = Bed::new();
        let mut touched = bed.get();
        touched["theirs"] = json!(1);
        let desk = interrupted(&bed, step, touched);
        let claim = won(bed.claim_as(&desk, NINE));
        assert_eq!(bed.get()["theirs"], 1, "{step:?}: what they wrote is kept");
        assert_eq!(bed.state()["lastRunAt"], json!(claim.run_at), "{step:?}");
        assert_eq!(bed.statuses(), [Status::Running], "{step:?}: the first row is gone");
        assert_eq!(desk.folder.abandoned(), 1, "{step:?}: it did happen");
    }
}

#[test]
fn a_slot_that_a_peer_claims_meanwhile_is_never_run_twice() {
    for step in BEFORE_THE_CHECK.into_iter().chain(AFTER_THE_RENAME) {
        for (slot, taken) in [(NINE, Taken::Slot), (NINE + DAY, Taken::Later)] {
            let bed = Bed::new();
            let theirs = claimed_elsewhere(&bed.get(), slot);
            let desk = interrupted(&bed, step, theirs.clone());
            let claimed = bed.claim_as(&desk, NINE);
            match claimed {
                Ok(Claimed::Taken(how)) => assert_eq!(how, taken, "{step:?}"),
                other => panic!("{step:?}: the peer has it, but it is {other:?}"),
            }
            assert_eq!(bed.get(), theirs, "{step:?}: their claim stands");
            assert_eq!(bed.rows(), Vec::new(), "{step:?}: ours is undone");
            assert_eq!(bed.running(), None, "{step:?}: the marker is free");
        }
    }
}

#[test]
fn a_claim_that_vanished_is_made_again_with_the_same_row() {
    for step in AFTER_THE_RENAME {
        let bed = Bed::new();
        let mut theirs = bed.get();
        theirs["theirs"] = json!(1);
        let desk = interrupted(&bed, step, theirs);
        let claim = won(bed.claim_as(&desk, NINE));
        assert_eq!(desk.folder.writes(), 2, "{step:?}: written twice");
        assert_eq!(bed.get()["theirs"], 1, "{step:?}: what they wrote is kept");
        assert_eq!(bed.state()["lastScheduledFor"], json!(NINE), "{step:?}");
        assert_eq!(bed.rows().len(), 1, "{step:?}: one slot, one row");
        assert_eq!(bed.rows()[0].id, claim.run, "{step:?}");
    }
}

#[test]
fn a_task_that_is_gone_when_the_claim_vanished_leaves_no_row() {
    let bed = Bed::new();
    let desk = interrupted(&bed, Step::BeforeUnlink, json!({ "scheduledTasks": [] }));
    let claimed = bed.claim_as(&desk, NINE);
    assert!(matches!(claimed, Ok(Claimed::NotTrue { task: None })), "{claimed:?}");
    assert_eq!((bed.rows(), bed.running()), (Vec::new(), None));
}

#[test]
fn a_skip_whose_write_is_abandoned_is_consumed_all_the_same() {
    let bed = Bed::new();
    let first = won(bed.claim(NINE));
    bed.clock.set(NINE + DAY);
    let mut touched = bed.get();
    touched["theirs"] = json!(1);
    let desk = interrupted(&bed, Step::BeforeVerify, touched);
    let claimed = bed.claim_as(&desk, NINE + DAY);
    assert!(matches!(claimed, Ok(Claimed::AlreadyRunning { run: Some(_) })), "{claimed:?}");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE + DAY), "nobody runs it elsewhere");
    assert_eq!(bed.rows().len(), 2, "one row for each slot");
    bed.end(&first);
}

#[test]
fn a_writer_gone_wild_ends_the_claim_and_frees_the_marker() {
    let bed = Bed::new();
    let (file, before) = (bed.file(), bed.get());
    let mut desk = bed.desk.clone();
    desk.folder.probe = Some(Arc::new(move |step| {
        if step == Step::BeforeUnlink {
            put(&file, &before);
        }
    }));
    let claimed = bed.claim_as(&desk, NINE);
    assert!(matches!(claimed, Err(ClaimError::Contended { .. })), "{claimed:?}");
    assert_eq!((bed.statuses(), bed.running()), (vec![Status::Failed], None));
    assert_eq!(bed.rows()[0].reason, Some(Reason::ClaimFailed));
}

/// Case A06: a claim that cannot be made leaves nothing running, and the task can run by hand.
#[test]
fn a06_a_lock_that_cannot_be_had_leaves_nothing_behind() {
    let bed = Bed::new();
    let lock = bed.file().with_extension("json.lock");
    let held = json!({ "pid": neighbour().pid, "at": crate::clock::SystemClock.now_ms() });
    std::fs::write(&lock, held.to_string()).expect("held by another");
    let mut desk = bed.desk.clone();
    desk.folder = desk.folder.with_wait(Duration::from_millis(60));
    let claimed = bed.claim_as(&desk, NINE);
    assert!(matches!(claimed, Err(ClaimError::Project(ProjectError::Busy { .. }))), "{claimed:?}");
    assert_eq!((bed.rows(), bed.running()), (Vec::new(), None), "nothing stays running");
    std::fs::remove_file(lock).expect("released");
    let task = key();
    won(bed.desk.claim(&*bed.clock, &by_hand(&task), &NoRules));
}

#[test]
fn a_write_that_fails_ends_the_row_and_the_next_slot_runs() {
    let bed = Bed::new();
    let before = bed.get();
    let projects = bed.desk.folder.projects_dir.clone();
    let mut desk = bed.desk.clone();
    desk.folder.probe = Some(once_at(Step::BeforeRename, move || {
        for entry in std::fs::read_dir(&projects).expect("lists").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "p.json" && name != "p.json.lock" {
                std::fs::remove_file(entry.path()).expect("the temporary file goes");
            }
        }
    }));
    let claimed = bed.claim_as(&desk, NINE);
    assert!(matches!(claimed, Err(ClaimError::Project(ProjectError::Io { .. }))), "{claimed:?}");
    assert_eq!((bed.statuses(), bed.running()), (vec![Status::Failed], None));
    assert_eq!(bed.rows()[0].reason, Some(Reason::ClaimFailed));
    assert_eq!(bed.get(), before, "the old file is intact");
    bed.clock.set(NINE + DAY);
    won(bed.claim_as(&desk, NINE + DAY));
}

#[test]
fn a_file_that_breaks_under_a_claim_frees_the_marker() {
    // Right after the claim the file is no JSON any more: nothing may be sent, nor stay running.
    let bed = Bed::new();
    let file = bed.file();
    let mut desk = bed.desk.clone();
    desk.folder.probe = Some(once_at(Step::BeforeUnlink, move || {
        std::fs::write(&file, "{").expect("broken");
    }));
    let claimed = bed.claim_as(&desk, NINE);
    let unreadable = ProjectError::Unreadable { path: bed.file(), error: broken() };
    match claimed {
        Err(ClaimError::Project(error)) => {
            assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&unreadable));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((bed.statuses(), bed.running()), (vec![Status::Failed], None));
    assert_eq!(std::fs::read_to_string(bed.file()).expect("there"), "{", "it is left as it is");
}

fn broken() -> crate::project::DocumentError {
    Document::parse("{").expect_err("broken")
}

#[test]
fn a_fault_at_any_point_of_the_ledger_leaves_nothing_running() {
    // First find every point that a claim passes.
    let points = Arc::new(Mutex::new(Vec::new()));
    let bed = Bed::new();
    let seen = points.clone();
    bed.desk.ledger.set_probe(move |point| {
        seen.lock().expect("sound").push(point);
        Injected::Nothing
    });
    won(bed.claim(NINE));
    // After a commit nothing can fail any more; a process that dies there is swept.
    let points = points.lock().expect("sound").clone();
    let faulty = |stop: &usize| points[*stop] != "committed";
    assert!(points.len() >= 3, "{points:?}");
    for stop in (0..points.len()).filter(faulty) {
        for fault in [Injected::Busy, Injected::Full] {
            let bed = Bed::new();
            let passed = AtomicUsize::new(0);
            bed.desk.ledger.set_probe(move |_| {
                if passed.fetch_add(1, Ordering::Relaxed) == stop {
                    fault
                } else {
                    Injected::Nothing
                }
            });
            let point = points[stop];
            let claimed = bed.claim(NINE);
            assert!(matches!(claimed, Err(ClaimError::Ledger(_))), "{point}: {claimed:?}");
            assert_eq!(bed.running(), None, "{point}: the marker is free");
            assert!(!bed.statuses().contains(&Status::Running), "{point}: nothing is sent");
            bed.clock.set(NINE + DAY);
            won(bed.claim(NINE + DAY));
        }
    }
}

#[test]
fn an_agent_is_asked_only_while_file_and_ledger_both_say_so() {
    // Whatever is cut off by a panic, a run that says `running` stands in the file.
    for stop in 0.. {
        let bed = Bed::new();
        let passed = Arc::new(AtomicUsize::new(0));
        let mut desk = bed.desk.clone();
        let count = passed.clone();
        let probe = move |point: String| {
            assert!(count.fetch_add(1, Ordering::Relaxed) != stop, "killed at {point}");
        };
        let probe = Arc::new(probe);
        let (of_file, of_ledger) = (probe.clone(), probe);
        // A panic in a destructor would end the process: the release is left out.
        desk.folder.probe = Some(Arc::new(move |step| {
            if step != Step::BeforeUnlink {
                of_file(format!("{step:?}"));
            }
        }));
        desk.ledger.set_probe(move |point| {
            of_ledger(point.to_owned());
            Injected::Nothing
        });
        let walk = || bed.claim_as(&desk, NINE);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(walk));
        desk.ledger.set_probe(|_| Injected::Nothing);
        let slot_in_file = bed.state()["lastScheduledFor"] == json!(NINE);
        let running = bed.statuses().contains(&Status::Running);
        assert!(!running || slot_in_file, "stop {stop}: running, but not in the file");
        if ended.is_ok() {
            assert!(stop >= 8, "the walk passed {stop} points");
            break;
        }
    }
}

/// A slot whose claim failed was told as claimed elsewhere when a later one had run meanwhile.
#[test]
fn a_claim_that_failed_is_no_loss_to_whoever_took_a_later_slot() {
    let bed = Bed::new();
    bed.clock.set(NINE + DAY);
    let claim = won(bed.claim(NINE + DAY));
    bed.end(&claim);
    let before = bed.get();
    let shown = |slot| {
        show_claim_failure(&bed.desk.folder, &key(), slot, None, "the lock was held", NINE + DAY)
    };
    assert_eq!(shown(NINE), Some(Taken::Later));
    assert_eq!(shown(NINE + DAY), Some(Taken::Slot));
    assert_eq!(bed.get(), before, "the later one's state stays");
}
