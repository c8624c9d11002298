use super::*;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Copies the files as a kill at this very moment would leave them: without the shared memory.
fn freeze(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for name in ["ledger.db", "ledger.db-wal"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).expect("copies");
        }
    }
}

/// What must hold whatever was cut off: markers and open runs belong together, one to one.
fn assert_sound(dir: &Path, clock: &Arc<ManualClock>, point: &str) {
    let clock: Arc<dyn Clock> = clock.clone();
    let opened =
        Ledger::open(dir, ProcessId::current().clone(), clock).expect("opens after a kill");
    assert_eq!(opened.set_aside, None, "killed at {point}: not damaged");
    let broken: i64 = opened
        .ledger
        .read("checking", |conn| {
            conn.query_row(
                "SELECT (SELECT count(*) FROM marker WHERE running_at IS NOT NULL AND NOT EXISTS \
                   (SELECT 1 FROM run WHERE run.id = marker.run AND run.fence = marker.fence \
                    AND status IN ('claimed', 'running', 'blocked'))) \
                 + (SELECT count(*) FROM run WHERE status IN ('claimed', 'running', 'blocked') \
                    AND NOT EXISTS (SELECT 1 FROM marker WHERE marker.run = run.id \
                    AND marker.fence = run.fence AND running_at IS NOT NULL))",
                [],
                |row| row.get(0),
            )
        })
        .expect("counts");
    assert_eq!(broken, 0, "killed at {point}: every open run has its marker, and only those");
}

/// Walks one life of a run; every verdict is ignored, since a crash may have cut the one before.
fn live(ledger: &Ledger, name: &str, at: i64) {
    let task = key(name);
    let sighting =
        Sighting { task: task.clone(), schedule_hash: "h".into(), last_scheduled_for: Some(1) };
    if let Ok(seen) = ledger.sight(&[sighting]) {
        let row = SlotRow::new(task, "Task", at - 3, Status::Missed, Some(Reason::Down));
        let _ = ledger.account(&key(name), &seen[0], at - 3, &[row]);
    }
    if let Ok(ClaimVerdict::Won { run, fence }) = ledger.claim(&slot(name, at - 2)) {
        let _ = ledger.undo_claim(run, fence);
    }
    if let Ok(ClaimVerdict::Won { run, fence }) = ledger.claim(&slot(name, at - 1)) {
        let _ = ledger.fail_claim(run, fence, Reason::ClaimFailed, "x");
    }
    if let Ok(ClaimVerdict::Won { run, fence }) = ledger.claim(&slot(name, at)) {
        let _ = ledger.start(run, fence);
        let _ = ledger.set_session(run, fence, "s");
        let _ = ledger.block(run, fence, &[]);
        let _ = ledger.unblock(run, fence);
        let mut ending = Ending::new(Status::Failed);
        ending.retry_at = Some(0);
        if let Ok(FinishVerdict::Finished { retry: Some(run), .. }) =
            ledger.finish(run, fence, &ending)
        {
            let waiting = WaitingRequest { run, run_at: 0, lease: LEASE, gate: Gate::default() };
            if let Ok(ClaimVerdict::Won { run, fence }) = ledger.claim_waiting(&waiting) {
                let _ = ledger.start(run, fence);
                let _ = ledger.finish(run, fence, &Ending::new(Status::Succeeded));
            }
        }
    }
}

#[test]
fn a_kill_between_any_two_statements_leaves_a_sound_ledger() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (own, copy, clock) = (bed.own(), bed.dir.path().join("killed"), bed.clock.clone());
    let points = Arc::new(AtomicUsize::new(0));
    let counted = points.clone();
    ledger.set_probe(move |point| {
        counted.fetch_add(1, Ordering::Relaxed);
        freeze(&own, &copy);
        assert_sound(&copy, &clock, point);
        Injected::Nothing
    });
    live(&ledger, "t", T0);
    let seen = points.load(Ordering::Relaxed);
    assert!(seen > 40, "the walk passed {seen} points");
    assert_eq!(
        ledger.last_runs(&key("t"), 1).expect("lists")[0].status,
        Status::Succeeded,
        "to its end"
    );
}

#[test]
fn a_panic_or_a_fault_at_any_point_rolls_the_whole_transaction_back() {
    let faults = [None, Some(Injected::Busy), Some(Injected::Full), Some(Injected::Corrupt)];
    for (n, fault) in faults.into_iter().enumerate() {
        let bed = Bed::new();
        let ledger = bed.open();
        // A panic at every point; each kind of fault at every fourth, another fourth for each.
        let every = if fault.is_none() { 1 } else { 4 };
        for stop in (n..60).step_by(every) {
            let passed = AtomicUsize::new(0);
            ledger.set_probe(move |point| {
                let reached = passed.fetch_add(1, Ordering::Relaxed) == stop;
                match fault {
                    Some(fault) if reached => fault,
                    None if reached => panic!("killed at {point}"),
                    _ => Injected::Nothing,
                }
            });
            let name = format!("t{stop}");
            let walk = || live(&ledger, &name, T0);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(walk));
            ledger.set_probe(|_| Injected::Nothing);
            assert_sound(&bed.own(), &bed.clock, &format!("point {stop}, {fault:?}"));
        }
        win(&ledger, &slot("another", T0));
    }
}

#[test]
fn an_end_that_could_not_be_written_can_be_written_later() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    for fault in [Injected::Busy, Injected::Full, Injected::Corrupt] {
        ledger.set_probe(
            move |point| if point == "finish: marker" { fault } else { Injected::Nothing },
        );
        let error = ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect_err("fault");
        assert!(error.is_transient(), "{fault:?} may pass: {error}");
        assert_eq!(ledger.beat(run, fence).expect("beats"), 1, "the holder goes on beating");
    }
    ledger.set_probe(|_| Injected::Nothing);
    let ended = ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    assert!(matches!(ended, FinishVerdict::Finished { .. }), "late, but true: {ended:?}");
}
