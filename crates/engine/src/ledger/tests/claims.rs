use super::*;
use std::sync::{Barrier, Mutex};

#[test]
fn of_two_connections_one_wins_and_its_marker_survives_read_through_the_losers() {
    let bed = Bed::new();
    let (a, b) = (bed.open(), bed.open_as(neighbour()));
    let (run, fence) = win(&a, &slot("t", T0));
    let lost = b.claim(&slot("t", T0 + 60_000)).expect("answers");
    let ClaimVerdict::AlreadyRunning { run: Some(skip), by } = lost else {
        panic!("the second claim must lose, but is {lost:?}");
    };
    assert_eq!(by, Some(run), "the loser is told who runs");
    let row = b.run(skip).expect("reads").expect("there").run;
    assert_eq!(
        (row.status, row.reason),
        (Status::Skipped, Some(Reason::AlreadyRunning)),
        "a trace"
    );
    let (holder, seen) = b.holder(run).expect("reads").expect("the marker is held");
    assert_eq!(holder, *ProcessId::current(), "the loser must not overwrite the winner's marker");
    assert_eq!(seen, fence, "nor its fence");
    assert_eq!(b.beat(skip, fence).expect("beats"), 0, "the loser has nothing to beat");
}

#[test]
fn the_same_slot_is_taken_and_a_manual_run_is_refused_while_running() {
    let bed = Bed::new();
    let (a, b) = (bed.open(), bed.open_as(neighbour()));
    let (run, fence) = running(&a, "t", T0);
    match b.claim(&slot("t", T0)).expect("answers") {
        ClaimVerdict::Taken(row) => assert_eq!(row.id, run, "the row of the slot is named"),
        other => panic!("the slot has a row, so it is taken, not {other:?}"),
    }
    let manual = ClaimRequest::manual(key("t"), "Task", LEASE);
    let verdict = b.claim(&manual).expect("answers");
    assert!(matches!(verdict, ClaimVerdict::AlreadyRunning { .. }), "one run a task: {verdict:?}");
    a.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    let (second, _) = win(&b, &manual);
    assert!(second > run, "a free marker is won, and ids ascend");
}

/// Case I01: eight connections, a hundred rounds, one winner each, and nobody sees a locked file.
#[test]
fn i01_eight_claimers_have_one_winner_a_round_and_no_error() {
    const CLAIMERS: usize = 8;
    const ROUNDS: i64 = 100;
    let bed = Bed::new();
    let barrier = Barrier::new(CLAIMERS);
    let ledgers: Vec<Ledger> = (0..CLAIMERS).map(|_| bed.open()).collect();
    let others = Mutex::new(Vec::new());
    let wins: usize = std::thread::scope(|scope| {
        let claimers: Vec<_> = ledgers
            .iter()
            .map(|ledger| {
                scope.spawn(|| {
                    let mut wins = 0;
                    for round in 0..ROUNDS {
                        barrier.wait();
                        // One task a round: the slot decides, not a marker left from before.
                        let request = slot(&format!("t{round}"), T0 + round);
                        // A panic here would leave the others at the barrier for ever.
                        match ledger.claim(&request) {
                            Ok(ClaimVerdict::Won { run, fence }) => {
                                wins += usize::from(ledger.start(run, fence).is_ok());
                            }
                            Ok(ClaimVerdict::Taken(_)) => {}
                            other => others.lock().expect("sound").push(format!("{other:?}")),
                        }
                    }
                    wins
                })
            })
            .collect();
        claimers.into_iter().map(|claimer| claimer.join().expect("no panic")).sum()
    });
    let others = others.into_inner().expect("sound");
    assert_eq!(others, Vec::<String>::new(), "won or taken, never `database is locked`");
    assert_eq!(wins, ROUNDS as usize, "each round has exactly one winner");
    let rows: i64 =
        bed.raw().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).expect("counts");
    assert_eq!(rows, ROUNDS, "and one row");
}

#[test]
fn an_undone_claim_leaves_nothing_behind() {
    let bed = Bed::new();
    let ledger = bed.open();
    let sighting =
        Sighting { task: key("t"), schedule_hash: "h".into(), last_scheduled_for: Some(T0 - 9) };
    ledger.sight(&[sighting]).expect("sights");
    let (run, fence) = win(&ledger, &slot("t", T0));
    assert_eq!(ledger.undo_claim(run, fence + 1).expect("answers"), Verdict::Superseded, "fenced");
    assert_eq!(ledger.undo_claim(run, fence).expect("undoes"), Verdict::Done, "ours");
    assert!(ledger.run(run).expect("reads").is_none(), "the row is gone");
    let account = ledger.accounted_to(&key("t")).expect("reads").expect("seen");
    assert!(account.accounted_to < T0, "the slot has no row, so it is unaccounted again");
    let (again, newer) = win(&ledger, &slot("t", T0));
    assert!(again > run && newer > fence, "neither id nor fence is used twice");
}

#[test]
fn a_failed_claim_frees_the_marker_and_says_why() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = win(&ledger, &slot("t", T0));
    ledger.fail_claim(run, fence, Reason::ClaimFailed, "the lock was busy").expect("fails");
    let row = ledger.run(run).expect("reads").expect("there").run;
    assert_eq!((row.status, row.reason), (Status::Failed, Some(Reason::ClaimFailed)), "recorded");
    win(&ledger, &ClaimRequest::manual(key("t"), "Task", LEASE));
}

#[test]
fn a_row_left_claimed_is_taken_over_only_from_the_provably_dead_and_unclaimed_in_the_file() {
    let bed = Bed::new();
    let (run, fence) = win(&bed.open_as(dead()), &slot("t", T0));
    let ledger = bed.open();
    let mut request = slot("t", T0);
    request.claimed_in_file = true;
    let verdict = ledger.claim(&request).expect("answers");
    assert!(matches!(verdict, ClaimVerdict::Taken(_)), "the file shows the claim: {verdict:?}");
    request.claimed_in_file = false;
    let verdict = ledger.claim(&request).expect("answers");
    assert_eq!(verdict, ClaimVerdict::TakenOver { run, fence: fence + 1 }, "nothing was sent");
    let alive = bed.open_as(neighbour()).claim(&slot("t", T0)).expect("answers");
    assert!(matches!(alive, ClaimVerdict::Taken(_)), "we live: {alive:?}");
    request.mine = Some((run, fence + 1));
    let again = ledger.claim(&request).expect("answers");
    assert_eq!(again, ClaimVerdict::Won { run, fence: fence + 1 }, "back to step 1 with this row");
}

#[test]
fn the_gate_writes_nothing_when_it_is_shut() {
    let bed = Bed::new();
    let ledger = bed.open();
    let mut request = slot("t", T0);
    request.gate = Gate {
        pause: true,
        definition_hash: Some("d1".into()),
        approval: Some("c1".into()),
        budget: Some(Budget { limit: 1, from: T0, to: T0 + 1000 }),
    };
    let ask = |request: &ClaimRequest| ledger.claim(request).expect("answers");
    ledger.pause(Some(T0 + 5)).expect("pauses");
    assert_eq!(ask(&request), ClaimVerdict::Refused(Reason::Paused), "everything is paused");
    bed.clock.set(T0 + 5);
    assert_eq!(ledger.paused().expect("reads"), None, "its time is over");
    ledger.auto_pause(&key("t"), "five failures", Some("d1")).expect("pauses");
    assert_eq!(ask(&request), ClaimVerdict::Refused(Reason::AutoPaused), "the same definition");
    assert!(ledger.definition_seen(&key("t"), "d2").expect("looks"), "a changed one ends it");
    assert_eq!(ask(&request), ClaimVerdict::Refused(Reason::NotApproved), "not approved");
    ledger.approve("c1").expect("approves");
    let (run, fence) = win(&ledger, &request);
    ledger.start(run, fence).expect("starts");
    ledger.finish(run, fence, &Ending::new(Status::Failed)).expect("ends");
    request.occurrence = Some(T0 + 500);
    assert_eq!(ask(&request), ClaimVerdict::Refused(Reason::Budget), "one run a day");
    assert_eq!(ledger.last_runs(&key("t"), 9).expect("lists").len(), 1, "refusals leave no row");
}

#[test]
fn an_overlapping_slot_waits_once_and_the_newest_wins() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    let mut queued = slot("t", T0 + 1);
    queued.queue = true;
    let ClaimVerdict::Queued { run: first } = ledger.claim(&queued).expect("answers") else {
        panic!("it must wait");
    };
    queued.occurrence = Some(T0 + 2);
    let ClaimVerdict::Queued { run: second } = ledger.claim(&queued).expect("answers") else {
        panic!("it must wait");
    };
    assert_eq!(status(&ledger, first), Status::Superseded, "one slot of a task waits: the newest");
    let waiting = WaitingRequest { run: second, run_at: 0, lease: LEASE, gate: Gate::default() };
    let verdict = ledger.claim_waiting(&waiting).expect("answers");
    assert!(matches!(verdict, ClaimVerdict::AlreadyRunning { run: None, .. }), "{verdict:?}");
    assert_eq!(status(&ledger, second), Status::Queued, "it goes on waiting");
    ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    let ClaimVerdict::Won { fence, .. } = ledger.claim_waiting(&waiting).expect("answers") else {
        panic!("the marker is free");
    };
    ledger.undo_claim(second, fence).expect("undoes");
    assert_eq!(status(&ledger, second), Status::Queued, "undone, it waits as before");
}

#[test]
fn a_retry_is_started_once_not_before_its_time_and_ends_with_a_newer_slot() {
    let bed = Bed::new();
    let (a, b) = (bed.open(), bed.open_as(neighbour()));
    let (run, fence) = running(&a, "t", T0);
    let mut failed = Ending::new(Status::Failed);
    failed.retry_at = Some(T0 + 60_000);
    let FinishVerdict::Finished { retry: Some(retry), .. } =
        a.finish(run, fence, &failed).expect("ends")
    else {
        panic!("a retry was asked for");
    };
    let waiting = WaitingRequest { run: retry, run_at: 0, lease: LEASE, gate: Gate::default() };
    let early = a.claim_waiting(&waiting).expect("answers");
    assert!(matches!(early, ClaimVerdict::Taken(_)), "it is not due: {early:?}");
    bed.clock.set(T0 + 60_000);
    let won = a.claim_waiting(&waiting).expect("answers");
    let ClaimVerdict::Won { fence, .. } = won else { panic!("it is due, but {won:?}") };
    let second = b.claim_waiting(&waiting).expect("answers");
    assert!(!matches!(second, ClaimVerdict::Won { .. }), "one process starts it: {second:?}");
    a.start(retry, fence).expect("starts");
    failed.retry_at = Some(T0 + 120_000);
    let FinishVerdict::Finished { retry: Some(third), failures, .. } =
        a.finish(retry, fence, &failed).expect("ends")
    else {
        panic!("a retry was asked for");
    };
    assert_eq!(failures, 0, "the slot is still being tried");
    running(&b, "t", T0 + 90_000);
    assert_eq!(status(&a, third), Status::Superseded, "a newer slot ends the retry");
}
