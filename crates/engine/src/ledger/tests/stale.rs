use super::*;

fn swept(ledger: &Ledger) -> Vec<(i64, StaleCause)> {
    let stale = ledger.sweep(&[]).expect("sweeps");
    stale.iter().map(|stale| (stale.run.id, stale.cause)).collect()
}

#[test]
fn a_marker_exactly_one_lease_old_stays_and_a_moment_later_goes() {
    let bed = Bed::new();
    let holder = bed.open_as(neighbour());
    let ledger = bed.open();
    let (run, _) = running(&holder, "t", T0);
    bed.clock.advance(LEASE);
    assert!(swept(&ledger).is_empty(), "exactly one lease old: presumed alive");
    bed.clock.advance(Duration::from_millis(1));
    assert_eq!(swept(&ledger), [(run, StaleCause::LeaseExpired)], "older than its lease");
    assert!(ledger.sweep(&[run]).expect("sweeps").is_empty(), "never what is active here");
}

/// Case I04: beats decide, and a machine that slept made nobody old.
#[test]
fn i04_only_the_silent_run_is_swept_and_sleep_ages_nobody() {
    let bed = Bed::new();
    let holder = bed.open_as(neighbour());
    let ledger = bed.open();
    let mut request = slot("live", T0);
    request.lease = Duration::from_secs(60);
    let (live, fence) = win(&holder, &request);
    request.task = key("dead");
    let (silent, _) = win(&holder, &request);
    bed.clock.advance(Duration::from_secs(51));
    assert_eq!(holder.beat(live, fence).expect("beats"), 1, "its marker is reached");
    bed.clock.nap(Duration::from_secs(7200));
    bed.clock.set(T0 - 86_400_000);
    assert!(swept(&ledger).is_empty(), "neither two hours of sleep nor a set clock age anyone");
    bed.clock.advance(Duration::from_secs(10));
    assert_eq!(swept(&ledger), [(silent, StaleCause::LeaseExpired)], "61 s without a beat");
}

#[test]
fn the_provably_dead_and_earlier_boots_go_at_once_and_the_foreign_age_by_the_wall() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (gone, _) = running(&bed.open_as(dead()), "gone", T0);
    let mut earlier = neighbour();
    earlier.boot = "an earlier boot".into();
    let (before, _) = running(&bed.open_as(earlier), "before", T0);
    let mut foreign = neighbour();
    foreign.machine = "elsewhere".into();
    let (far, _) = running(&bed.open_as(foreign), "far", T0);
    let mut causes = swept(&ledger);
    causes.sort_by_key(|(run, _)| *run);
    let expected = [(gone, StaleCause::HolderGone), (before, StaleCause::EarlierBoot)];
    assert_eq!(causes, expected, "a foreign one is presumed alive");
    bed.clock.nap(LEASE + Duration::from_millis(1));
    let causes = swept(&ledger);
    assert!(causes.contains(&(far, StaleCause::LeaseExpired)), "by wall time: {causes:?}");
}

#[test]
fn a_foreign_beat_ahead_of_the_clock_ages_from_first_sight() {
    let bed = Bed::new();
    let mut foreign = neighbour();
    foreign.machine = "elsewhere".into();
    let holder = bed.open_as(foreign);
    bed.clock.set(T0 + 86_400_000);
    let (run, _) = running(&holder, "t", T0);
    bed.clock.set(T0);
    let ledger = bed.open();
    assert!(swept(&ledger).is_empty(), "first sight");
    bed.clock.advance(LEASE);
    assert!(swept(&ledger).is_empty(), "one lease after it");
    bed.clock.advance(Duration::from_millis(1));
    assert_eq!(swept(&ledger), [(run, StaleCause::LeaseExpired)], "and no day longer");
}

#[test]
fn of_two_that_take_over_one_becomes_the_holder_and_the_old_one_learns_it() {
    let bed = Bed::new();
    let old = bed.open_as(neighbour());
    let (a, b) = (bed.open(), bed.open());
    let (run, fence) = running(&old, "t", T0);
    old.set_session(run, fence, "ses_1").expect("stores");
    bed.clock.advance(LEASE * 2);
    let (for_a, for_b) = (a.sweep(&[]).expect("sweeps"), b.sweep(&[]).expect("sweeps"));
    assert_eq!(for_a[0].run.session_id.as_deref(), Some("ses_1"), "evidence comes along");
    let new = a.take_over(&for_a[0], LEASE).expect("answers").expect("a was first");
    assert_eq!(new, fence + 1, "the fence counts up");
    assert_eq!(b.take_over(&for_b[0], LEASE).expect("answers"), None, "b was second");
    assert_eq!(old.beat(run, fence).expect("beats"), 0, "the old holder is superseded");
    let late = old.finish(run, fence, &Ending::new(Status::Failed)).expect("answers");
    assert_eq!(late, FinishVerdict::Superseded, "its end is not the run's");
    assert_eq!(status(&a, run), Status::Running, "nor does it change the row");
    assert_eq!(a.beat(run, new).expect("beats"), 1, "the new holder's beat counts");
}

#[test]
fn a_sign_of_life_defeats_the_take_over() {
    let bed = Bed::new();
    let old = bed.open_as(neighbour());
    let ledger = bed.open();
    let (run, fence) = running(&old, "t", T0);
    bed.clock.advance(LEASE * 2);
    let stale = ledger.sweep(&[]).expect("sweeps");
    old.beat(run, fence).expect("beats");
    assert_eq!(ledger.take_over(&stale[0], LEASE).expect("answers"), None, "it lives after all");
}

/// Case I05: swept as lost, the owner reports success later.
#[test]
fn i05_a_late_success_stays_evidence_and_blocks_nobody() {
    let bed = Bed::new();
    let old = bed.open_as(neighbour());
    let ledger = bed.open();
    let (run, fence) = running(&old, "t", T0);
    bed.clock.advance(LEASE * 2);
    let stale = ledger.sweep(&[]).expect("sweeps");
    let new = ledger.take_over(&stale[0], LEASE).expect("answers").expect("stale");
    ledger.finish(run, new, &Ending::new(Status::Lost)).expect("ends");
    bed.clock.advance(Duration::from_secs(5));
    let mut good = Ending::new(Status::Succeeded);
    good.answer = Some("done".into());
    let late = old.finish(run, fence, &good).expect("answers");
    assert_eq!(late, FinishVerdict::Superseded, "too late");
    let detail = ledger.run(run).expect("reads").expect("there");
    assert_eq!(detail.run.status, Status::Lost, "no flip-flop");
    let note = detail.run.note.unwrap_or_default();
    assert!(note.contains("finished late"), "but noted: {note:?}");
    let last = detail.steps.last().expect("steps");
    assert_eq!(last.kind, "stale_result", "the result is kept as evidence");
    assert!(last.detail.as_deref().is_some_and(|d| d.contains("done")), "with the answer");
    assert_eq!(ledger.running(&key("t")).expect("reads"), None, "nothing is running");
    running(&ledger, "t", T0 + 1);
}

#[test]
fn a_heartbeat_never_resurrects_a_released_marker() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    assert_eq!(ledger.beat(run, fence).expect("beats"), 0, "released");
    assert_eq!(ledger.running(&key("t")).expect("reads"), None, "and stays so");
    // The guard itself: a marker that still names the run, released by hand.
    let raw = bed.raw();
    raw.execute("UPDATE marker SET run = ?, fence = ? WHERE task = 't'", [run, fence])
        .expect("updates");
    assert_eq!(ledger.beat(run, fence).expect("beats"), 0, "running_at is NULL: nothing to beat");
    assert_eq!(ledger.running(&key("t")).expect("reads"), None, "and stays so");
}

/// A beat that came between the end in the ledger and that in the shared file was told as a take-over.
#[test]
fn a_run_that_ended_under_its_fence_was_not_taken_over() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    assert!(!ledger.was_released(run, fence).expect("reads"), "it goes on");
    ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    assert_eq!(ledger.beat(run, fence).expect("beats"), 0, "nothing to beat");
    assert!(ledger.was_released(run, fence).expect("reads"), "by itself");
    let holder = bed.open_as(dead());
    let (run, fence) = running(&holder, "other", T0);
    let stale = ledger.sweep(&[]).expect("sweeps");
    ledger.take_over(&stale[0], LEASE).expect("answers").expect("its holder is dead");
    assert!(!holder.was_released(run, fence).expect("reads"), "somebody else has it");
}
