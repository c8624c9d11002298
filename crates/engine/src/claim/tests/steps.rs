//! What each step of PROTOCOL §4 decides, and what it leaves in file and ledger.

use super::*;

#[test]
fn a_won_claim_stands_in_the_file_and_in_the_ledger() {
    let bed = Bed::new();
    let claim = won(bed.claim(NINE));
    let expected = json!({ "createdAt": 1000, "updatedAt": NINE, "lastStatus": "running",
        "lastScheduledFor": NINE, "nextRunAt": NINE + DAY, "lastRunAt": NINE });
    assert_eq!(bed.state(), expected);
    let rows = bed.rows();
    assert_eq!((rows.len(), rows[0].id, rows[0].status), (1, claim.run, Status::Running));
    assert_eq!(bed.running().map(|run| run.id), Some(claim.run), "the marker is its");
    bed.end(&claim);
    assert_eq!(bed.state()["lastStatus"], "success");
    assert_eq!(bed.running(), None, "the marker is free");
}

/// Case A01: of two processes one runs the slot; the other goes on with the next day's.
#[test]
fn a01_the_slower_of_two_loses_and_the_next_day_is_there_for_both() {
    let bed = Bed::new();
    let other = bed.process(neighbour());
    let first = won(bed.claim(NINE));
    let second = bed.claim_as(&other, NINE);
    assert!(matches!(second, Ok(Claimed::Taken(Taken::Slot))), "{second:?}");
    assert_eq!(bed.rows().len(), 1, "one slot, one run, one row");
    bed.end(&first);
    bed.clock.set(NINE + DAY);
    won(bed.claim_as(&other, NINE + DAY));
}

/// Case A02: a peer that starts inside its own slack writes tomorrow's `nextRunAt`; the slot must
/// run all the same, on the first day and on the second.
#[test]
fn a02_an_advanced_next_run_at_says_nothing() {
    let bed = Bed::new();
    for day in 0..2 {
        let slot = NINE + day * DAY;
        bed.edit(|task| task["state"]["nextRunAt"] = json!(slot + DAY));
        bed.clock.set(slot);
        let claim = won(bed.claim(slot));
        bed.end(&claim);
    }
    assert_eq!(bed.statuses(), [Status::Succeeded; 2], "one run a day");
}

#[test]
fn a_slot_ahead_of_the_clock_is_refused_and_nothing_is_touched() {
    let bed = Bed::new();
    let before = bed.get();
    bed.clock.set(NINE - AHEAD_MS - 1);
    assert!(matches!(bed.claim(NINE), Ok(Claimed::Ahead)), "the clock was set back");
    assert_eq!((bed.get(), bed.rows().len()), (before, 0));
    bed.clock.set(NINE - AHEAD_MS);
    won(bed.claim(NINE));
}

#[test]
fn a_running_task_consumes_its_slot_for_everybody() {
    let bed = Bed::new();
    let first = won(bed.claim(NINE));
    bed.clock.set(NINE + DAY);
    let second = bed.claim(NINE + DAY);
    assert!(matches!(second, Ok(Claimed::AlreadyRunning { run: Some(_) })), "{second:?}");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE + DAY), "nobody else runs it either");
    assert_eq!(bed.state()["lastRunAt"], json!(first.run_at), "the running one is still shown");
    let skipped = bed.rows().into_iter().find(|row| row.status == Status::Skipped);
    assert_eq!(skipped.and_then(|row| row.reason), Some(Reason::AlreadyRunning));
    let third = bed.claim(NINE + DAY);
    assert!(matches!(third, Ok(Claimed::Taken(Taken::Slot))), "it is spent: {third:?}");
}

#[test]
fn an_overlap_that_waits_consumes_its_slot_and_runs_from_its_row() {
    let bed = Bed::new();
    let first = won(bed.claim(NINE));
    bed.clock.set(NINE + DAY);
    let task = key();
    let queued = Request { overlap: Overlap::Queue, ..wish(&task, NINE + DAY) };
    let Ok(Claimed::Queued { run }) = bed.desk.claim(&*bed.clock, &queued, &NoRules) else {
        panic!("it must wait");
    };
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE + DAY));
    let from_row = Request { row: Some(run), trigger: Trigger::Retry, ..wish(&task, NINE + DAY) };
    let early = bed.desk.claim(&*bed.clock, &from_row, &NoRules);
    assert!(matches!(early, Ok(Claimed::AlreadyRunning { run: None })), "it goes on waiting");
    bed.end(&first);
    bed.clock.set(NINE + DAY + 1000);
    let second = won(bed.desk.claim(&*bed.clock, &from_row, &NoRules));
    assert_eq!(second.run, run, "the row that waited is the one that runs");
    assert_eq!(bed.state()["lastRunAt"], json!(NINE + DAY + 1000));
    let again = bed.desk.claim(&*bed.clock, &from_row, &NoRules);
    assert!(!matches!(again, Ok(Claimed::Won(_))), "a row runs once: {again:?}");
}

#[test]
fn a_manual_run_takes_the_marker_and_never_moves_the_schedule() {
    let bed = Bed::new();
    bed.edit(|task| task["enabled"] = json!(false));
    let task = key();
    let claim = won(bed.desk.claim(&*bed.clock, &by_hand(&task), &NoRules));
    assert_eq!(bed.state()["lastScheduledFor"], Value::Null, "no occurrence is claimed");
    assert_eq!(bed.state()["nextRunAt"], Value::Null);
    let second = bed.process(neighbour()).claim(&*bed.clock, &by_hand(&task), &NoRules);
    assert!(matches!(second, Ok(Claimed::AlreadyRunning { run: Some(_) })), "{second:?}");
    bed.end(&claim);
    assert_eq!(bed.get()["scheduledTasks"][0]["enabled"], false);
}

#[test]
fn what_is_held_back_leaves_no_trace() {
    let bed = Bed::new();
    let before = bed.get();
    let task = key();
    let held = bed.desk.claim(&*bed.clock, &wish(&task, NINE), &Shut);
    assert!(matches!(held, Ok(Claimed::Withheld(Reason::WrongHost))), "{held:?}");
    bed.desk.ledger.pause(None).expect("paused");
    struct Paused;
    impl Rules for Paused {
        fn gate(&self, _task: &Task, _hash: &str) -> Result<Gate, Reason> {
            Ok(Gate { pause: true, ..Gate::default() })
        }
    }
    let held = bed.desk.claim(&*bed.clock, &wish(&task, NINE), &Paused);
    assert!(matches!(held, Ok(Claimed::Withheld(Reason::Paused))), "{held:?}");
    assert_eq!((bed.get(), bed.rows().len()), (before, 0), "another process may run it");
}

#[test]
fn a_row_of_a_dead_holder_is_taken_over_when_the_file_shows_no_claim() {
    let bed = Bed::new();
    let gone = bed.process(dead());
    let request = ledger::ClaimRequest::scheduled(key(), "Task", NINE, gone.lease);
    let row = gone.ledger.claim(&request).expect("claims");
    let ledger::ClaimVerdict::Won { run, fence } = row else { panic!("{row:?}") };
    bed.clock.set(NINE + 2000);
    let claim = won(bed.claim(NINE));
    assert_eq!((claim.run, claim.fence), (run, fence + 1), "the same row under a new fence");
    assert_eq!(bed.state()["lastRunAt"], json!(NINE + 2000), "shown with the new holder's time");
    assert_eq!(bed.rows()[0].run_at, Some(NINE + 2000), "and so in the row");
    let late = gone.ledger.start(run, fence).expect("answers");
    assert_eq!(late, ledger::Verdict::Superseded, "the old holder can do nothing any more");
}

#[test]
fn a_row_of_a_living_holder_is_never_taken_over() {
    let bed = Bed::new();
    let other = bed.process(neighbour());
    let request = ledger::ClaimRequest::scheduled(key(), "Task", NINE, other.lease);
    other.ledger.claim(&request).expect("claims");
    let claimed = bed.claim(NINE);
    assert!(matches!(claimed, Ok(Claimed::Taken(Taken::Slot))), "{claimed:?}");
    assert_eq!(bed.statuses(), [Status::Claimed], "it may be about to start");
    assert_eq!(bed.state()["lastScheduledFor"], Value::Null, "it has not run yet");
}

#[test]
fn a_slot_that_ran_is_raised_in_a_file_that_lost_it() {
    let bed = Bed::new();
    let before = bed.get();
    let claim = won(bed.claim(NINE));
    bed.end(&claim);
    bed.put(&before);
    let claimed = bed.claim(NINE);
    assert!(matches!(claimed, Ok(Claimed::Taken(Taken::Slot))), "{claimed:?}");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE), "others are told that it ran");
    assert_eq!(bed.statuses(), [Status::Succeeded]);
}

#[test]
fn a_claim_that_failed_does_not_tell_others_that_it_ran() {
    let bed = Bed::new();
    let before = bed.get();
    let request = ledger::ClaimRequest::scheduled(key(), "Task", NINE, bed.desk.lease);
    let row = bed.desk.ledger.claim(&request).expect("claims");
    let ledger::ClaimVerdict::Won { run, fence } = row else { panic!("{row:?}") };
    bed.desk.ledger.fail_claim(run, fence, Reason::ClaimFailed, "x").expect("failed");
    assert!(matches!(bed.claim(NINE), Ok(Claimed::Taken(Taken::Slot))), "the row stands");
    assert_eq!(bed.get(), before, "nothing was sent, so another process may run it");
}

#[test]
fn a_skip_whose_process_died_before_the_file_is_made_good() {
    let bed = Bed::new();
    let first = won(bed.claim(NINE));
    bed.clock.set(NINE + DAY);
    let request = ledger::ClaimRequest::scheduled(key(), "Task", NINE + DAY, bed.desk.lease);
    let lost = bed.process(dead()).ledger.claim(&request).expect("claims");
    assert!(matches!(lost, ledger::ClaimVerdict::AlreadyRunning { .. }), "{lost:?}");
    let claimed = bed.claim(NINE + DAY);
    assert!(matches!(claimed, Ok(Claimed::AlreadyRunning { run: Some(_) })), "{claimed:?}");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE + DAY), "the slot is spent");
    bed.end(&first);
}

#[test]
fn once_is_switched_off_by_its_end_and_by_nothing_before() {
    let once = json!({ "kind": "once", "date": "2026-05-05", "time": "09:00", "timezone": "UTC" });
    let bed = Bed::with(&once);
    let claim = won(bed.claim(NINE));
    assert_eq!(bed.state()["nextRunAt"], Value::Null, "there is no other");
    assert_eq!(bed.get()["scheduledTasks"][0]["enabled"], true, "it still runs");
    assert!(matches!(bed.claim(NINE), Ok(Claimed::Taken(Taken::Slot))));
    bed.end(&claim);
    assert_eq!(bed.get()["scheduledTasks"][0]["enabled"], false, "consumed");

    let edited = Bed::with(&once);
    let claim = won(edited.claim(NINE));
    edited.edit(|task| task["schedule"]["date"] = json!("2026-05-06"));
    edited.end(&claim);
    assert_eq!(edited.get()["scheduledTasks"][0]["enabled"], true, "an edit is not overwritten");

    let deleted = Bed::with(&once);
    let claim = won(deleted.claim(NINE));
    deleted.put(&json!({ "scheduledTasks": [] }));
    deleted.end(&claim);
    assert_eq!(deleted.get()["scheduledTasks"], json!([]), "a deleted task stays deleted");
}

#[test]
fn slots_nearer_than_the_slack_are_slots_of_their_own() {
    let bed = Bed::with(&cron("*/2 * * * * *"));
    for k in 0..5 {
        bed.clock.set(NINE + k * 2000);
        let claim = won(bed.claim(NINE + k * 2000));
        assert_eq!(bed.state()["nextRunAt"], json!(NINE + (k + 1) * 2000));
        bed.end(&claim);
        let again = bed.claim(NINE + k * 2000);
        assert!(matches!(again, Ok(Claimed::Taken(Taken::Slot))), "{again:?}");
    }
    let older = bed.claim(NINE);
    assert!(matches!(older, Ok(Claimed::Taken(Taken::Later))), "it never goes back: {older:?}");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE + 8000));
}

#[test]
fn a_task_that_another_program_runs_is_not_run_beside_it() {
    let bed = Bed::new();
    let task = key();
    let busy = Request { busy: true, ..wish(&task, NINE) };
    for _ in 0..2 {
        let claimed = bed.desk.claim(&*bed.clock, &busy, &NoRules);
        assert!(
            matches!(
                claimed,
                Ok(Claimed::AlreadyRunning { run: Some(_) } | Claimed::Taken(Taken::Slot))
            ),
            "{claimed:?}"
        );
    }
    assert_eq!(bed.statuses(), [Status::Skipped], "the slot has its one row");
    assert_eq!(bed.state()["lastScheduledFor"], json!(NINE), "and is spent");
    let by_hand = Request { busy: true, ..by_hand(&task) };
    let claimed = bed.desk.claim(&*bed.clock, &by_hand, &NoRules);
    assert!(matches!(claimed, Ok(Claimed::AlreadyRunning { run: None })), "{claimed:?}");
    assert_eq!(bed.running(), None, "our marker stays free");
}

#[test]
fn a_once_that_failed_is_tried_again_although_its_end_switched_it_off() {
    let bed = Bed::with(
        &json!({ "kind": "once", "date": "2026-05-05", "time": "09:00", "timezone": "UTC" }),
    );
    let claim = won(bed.claim(NINE));
    let ending = ledger::Ending { retry_at: Some(NINE), ..ledger::Ending::new(Status::Failed) };
    let ended = bed.desk.ledger.finish(claim.run, claim.fence, &ending).expect("ends");
    let ledger::FinishVerdict::Finished { retry: Some(row), .. } = ended else {
        panic!("{ended:?}")
    };
    let shown = Shown::of(&ending);
    show_end(&bed.desk.folder, &key(), claim.run_at, claim.slot, &shown, NINE).expect("shown");
    assert_eq!(bed.get()["scheduledTasks"][0]["enabled"], false, "consumed");
    let task = key();
    let retry = Request { row: Some(row), trigger: Trigger::Retry, ..wish(&task, NINE) };
    bed.clock.set(NINE + 1000);
    let second = won(bed.desk.claim(&*bed.clock, &retry, &NoRules));
    assert_eq!(second.run, row);
}
