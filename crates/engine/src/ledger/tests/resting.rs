use super::*;

/// Asks with the version of now: only what stands in the ledger decides.
fn is_at_rest(ledger: &Ledger) -> bool {
    ledger.is_at_rest(ledger.data_version().expect("reads"))
}

#[test]
fn whatever_can_need_somebody_ends_the_rest() {
    let run = |status: &str, pending: u8| {
        format!(
            "INSERT INTO run (project, task, task_name, trigger, status, created_at, json_pending) \
             VALUES ('p', 't', 'T', 'manual', '{status}', 1, {pending})"
        )
    };
    let hold = |project: &str| {
        format!("INSERT INTO hold (project, task, since) VALUES ('{project}', '{project}', 1)")
    };
    let marker = |at: &str| {
        format!("INSERT INTO marker (project, task, running_at) VALUES ('p', 't', {at})")
    };
    let held = "INSERT INTO held_slot (project, task, slot, task_name, reason, held_at) \
                VALUES ('p', 't', 1, 'T', 'paused', 1)";
    let mut wakes = vec![marker("1"), hold(""), run("succeeded", 1), held.to_owned()];
    wakes.extend(Status::OPEN.iter().map(|status| run(status.word(), 0)));
    let rests = [marker("NULL"), hold("p"), run("failed", 0), run("missed", 0)];
    for (change, rests) in
        wakes.iter().map(|sql| (sql, false)).chain(rests.iter().map(|sql| (sql, true)))
    {
        let bed = Bed::new();
        let ledger = bed.open();
        assert!(is_at_rest(&ledger), "a new ledger");
        bed.raw().execute(change, []).expect("written");
        assert_eq!(is_at_rest(&ledger), rests, "after {change}");
    }
}

#[test]
fn what_another_process_wrote_is_looked_at_and_a_ledger_in_use_is_not_waited_for() {
    let bed = Bed::new();
    let (ledger, other) = (bed.open(), bed.open_as(neighbour()));
    let version = ledger.data_version().expect("reads");
    assert!(ledger.is_at_rest(version), "nothing happened");
    other.approve("h").expect("written");
    assert!(!ledger.is_at_rest(version), "somebody wrote");
    assert!(is_at_rest(&ledger), "and it was nothing that needs anybody");
    let version = ledger.data_version().expect("reads");
    let used = ledger.lock();
    assert!(!ledger.is_at_rest(version), "in use");
    drop(used);
    assert!(ledger.is_at_rest(version), "and free again");
}
