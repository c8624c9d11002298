use super::history::runs_query;
use super::newest::{BRIEFS, LAST_ENDED, MISSED, OF_TASK_ENDED, run_columns};
use super::rest::AT_REST;
use super::run::COLUMNS;
use super::*;

fn missed(at: i64) -> SlotRow {
    SlotRow::new(key("t"), "Task", at, Status::Missed, Some(Reason::Asleep))
}

#[test]
fn consecutive_missed_slots_are_one_row_and_anything_between_starts_another() {
    let bed = Bed::new();
    let ledger = bed.open();
    let first = ledger.record(&missed(10).several(3, 8)).expect("records");
    let second = ledger.record(&missed(20)).expect("records");
    assert_eq!(first, second, "one row");
    let row = ledger.run(first).expect("reads").expect("there").run;
    assert_eq!((row.count, row.first_for, row.scheduled_for), (Some(4), Some(8), Some(20)), "of 4");
    assert_eq!(ledger.record(&missed(9)).expect("records"), first, "a slot in it has its row");
    match ledger.claim(&slot("t", 9)).expect("answers") {
        ClaimVerdict::Taken(row) => assert_eq!(row.id, first, "and is never run"),
        other => panic!("taken, not {other:?}"),
    }
    let down = SlotRow { reason: Some(Reason::Down), ..missed(30) };
    assert_ne!(ledger.record(&down).expect("records"), first, "another reason, another row");
    let (run, fence) = running(&ledger, "t", 40);
    ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    let later = ledger.record(&SlotRow { reason: Some(Reason::Down), ..missed(50) });
    assert!(later.expect("records") > run, "after a run a new row begins");
    let paused = |at| SlotRow::new(key("t"), "Task", at, Status::Skipped, Some(Reason::Paused));
    let one = ledger.record(&paused(60)).expect("records");
    assert_eq!(ledger.record(&paused(61)).expect("records"), one, "paused slots fold too");
    let busy = |at| SlotRow::new(key("t"), "Task", at, Status::Skipped, Some(Reason::Budget));
    let one = ledger.record(&busy(70)).expect("records");
    assert_ne!(ledger.record(&busy(71)).expect("records"), one, "other skips stand alone");
    let ran = SlotRow::new(key("t"), "Task", 80, Status::Succeeded, None);
    assert!(ledger.record(&ran).is_err(), "what did not run cannot have succeeded");
}

#[test]
fn slots_are_accounted_once_and_never_ahead_of_the_clock() {
    let bed = Bed::new();
    let (a, b) = (bed.open(), bed.open_as(neighbour()));
    let sight = |ledger: &Ledger, hash: &str, last| {
        let sighting =
            Sighting { task: key("t"), schedule_hash: hash.into(), last_scheduled_for: last };
        ledger.sight(&[sighting]).expect("sights").remove(0)
    };
    let seen = sight(&a, "h1", Some(T0 - 1000));
    assert_eq!(seen.accounted_to, T0 - 1000, "first sight starts at lastScheduledFor");
    assert_eq!(sight(&b, "h1", Some(T0 - 5)), seen, "later sights change nothing");
    let rows = [missed(T0 - 500).several(2, T0 - 900)];
    let account = |ledger: &Ledger| ledger.account(&key("t"), &seen, T0 + 99, &rows).expect("ok");
    assert_eq!(account(&a), AccountVerdict::Accounted, "the first process writes the rows");
    assert_eq!(account(&b), AccountVerdict::Overtaken, "the second writes nothing");
    assert_eq!(a.last_runs(&key("t"), 9).expect("lists").len(), 1, "one row");
    let now = a.accounted_to(&key("t")).expect("reads").expect("seen");
    assert_eq!(now.accounted_to, T0, "never ahead of the clock");
    bed.clock.advance(Duration::from_secs(60));
    assert_eq!(sight(&b, "h2", None).accounted_to, T0 + 60_000, "a changed schedule starts now");
    bed.clock.set(T0);
    assert_eq!(sight(&b, "h2", None).accounted_to, T0, "a clock set back pulls it back");
    win(&a, &slot("t", T0 - 1));
    bed.clock.set(T0 + 5);
    win(&a, &slot("u", T0 + 5));
    assert_eq!(a.accounted_to(&key("u")).expect("reads"), None, "an unseen task has no account");
}

#[test]
fn pruning_spares_the_newest_the_open_the_unflushed_and_the_young() {
    let bed = Bed::new();
    let ledger = bed.open();
    let done = |at: i64, pending: bool| {
        let (run, fence) = running(&ledger, "t", at);
        let mut ending = Ending::new(Status::Succeeded);
        ending.json_pending = pending;
        ledger.finish(run, fence, &ending).expect("ends");
        run
    };
    let unflushed = done(1, true);
    let old: Vec<i64> = (2..6).map(|at| done(at, false)).collect();
    bed.clock.advance(Duration::from_secs(48 * 3600));
    assert_eq!(ledger.prune(2).expect("prunes"), 0, "exactly 48 h old is spared");
    bed.clock.advance(Duration::from_secs(1));
    let young = done(6, false);
    let (open, _) = running(&ledger, "t", 7);
    assert_eq!(ledger.prune(1).expect("prunes"), 4, "the old ones beyond the count");
    let left: Vec<i64> =
        ledger.last_runs(&key("t"), 99).expect("lists").iter().map(|run| run.id).collect();
    assert_eq!(left, [open, young, unflushed], "what is spared; {old:?} are gone");
    let steps: i64 = bed
        .raw()
        .query_row("SELECT count(*) FROM step WHERE run NOT IN (SELECT id FROM run)", [], |r| {
            r.get(0)
        })
        .expect("counts");
    assert_eq!(steps, 0, "their steps went with them");
}

#[test]
fn runs_are_filtered_and_paged_newest_first() {
    let bed = Bed::new();
    let ledger = bed.open();
    let mut ids = Vec::new();
    for n in 0..6 {
        let (run, fence) = running(&ledger, if n % 2 == 0 { "a" } else { "b" }, T0 + n);
        let status = if n < 3 { Status::Failed } else { Status::Succeeded };
        ledger.finish(run, fence, &Ending::new(status)).expect("ends");
        ids.push(run);
    }
    let list = |filter: RunFilter| -> Vec<i64> {
        ledger.runs(&filter).expect("lists").iter().map(|run| run.id).collect()
    };
    let page = RunFilter { limit: 2, ..RunFilter::default() };
    assert_eq!(list(page.clone()), [ids[5], ids[4]], "the newest page");
    assert_eq!(list(RunFilter { before: Some(ids[4]), ..page }), [ids[3], ids[2]], "the next");
    let task =
        RunFilter { project: Some("p".into()), task: Some("b".into()), ..RunFilter::default() };
    assert_eq!(list(task), [ids[5], ids[3], ids[1]], "of one task");
    let both = vec![Status::Failed, Status::Succeeded];
    let mixed = RunFilter { status: both, limit: 4, ..RunFilter::default() };
    assert_eq!(list(mixed), [ids[5], ids[4], ids[3], ids[2]], "statuses are merged in order");
    let all = ledger.briefs_of_all(2).expect("lists");
    let of = |task: &str| all[&key(task)].iter().map(|run| run.id).collect::<Vec<_>>();
    assert_eq!((of("a"), of("b")), (vec![ids[4], ids[2]], vec![ids[5], ids[3]]), "two of each");
    let stats = ledger.stats_30_days(&key("a")).expect("sums up");
    assert_eq!((stats.runs, stats.succeeded, stats.failed), (3, 1, 2), "30 days");
    assert_eq!(ledger.started_between(&key("a"), T0, T0 + 1).expect("counts"), 3, "in the window");
    assert!(ledger.open_runs().expect("lists").is_empty(), "all have ended");
}

/// Lists must not grow with history: every plan seeks, none scans the runs or sorts them.
#[test]
fn the_plans_seek() {
    let bed = Bed::new();
    let ledger = bed.open();
    let plan = |sql: &str| -> String {
        let text = ledger.read("explaining", |conn| {
            let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let nulls = vec![rusqlite::types::Null; statement.parameter_count()];
            let lines: Vec<String> = statement
                .query_map(rusqlite::params_from_iter(nulls), |row| row.get(3))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(lines.join("\n"))
        });
        text.expect("explains")
    };
    let of_all = [
        (BRIEFS.to_owned(), "run_task"),
        (format!("SELECT {} {MISSED}", run_columns()), "run_task"),
        (format!("SELECT {} {LAST_ENDED}", run_columns()), "run_ended"),
    ];
    for (sql, index) in of_all {
        let all = plan(&sql);
        assert!(all.contains("SCAN marker"), "one step per task:\n{all}");
        assert!(all.contains("SEARCH run USING"), "runs by id:\n{all}");
        let seek = |kind: &str| all.contains(&format!("SEARCH r USING {kind}INDEX {index}"));
        assert!(seek("COVERING ") || seek(""), "from the index's end:\n{all}");
        assert!(!all.contains("SCAN run") && !all.contains("SCAN r "), "never all runs:\n{all}");
    }
    let last = plan(&format!("SELECT {COLUMNS} FROM run {OF_TASK_ENDED}"));
    assert!(last.contains("SEARCH run USING INDEX run_ended"), "the end of a task:\n{last}");
    assert!(!last.contains("TEMP B-TREE"), "in the index's order:\n{last}");
    // These hold only what goes on, so that walking them is short.
    let short = ["CONSTANT ROW", "marker USING INDEX marker_running", "held_slot"];
    for line in plan(AT_REST).lines().filter(|line| line.starts_with("SCAN ")) {
        let known =
            short.iter().any(|table| line.ends_with(table)) || line.ends_with("run_pending");
        assert!(known, "nothing that grows is walked: {line}");
    }
    let project = Some("p".to_owned());
    let filters = [
        (
            RunFilter { project: project.clone(), task: Some("t".into()), ..RunFilter::default() },
            None,
        ),
        (RunFilter { project, ..RunFilter::default() }, None),
        (RunFilter::default(), Some(Status::Failed)),
    ];
    for (filter, status) in filters {
        let text = plan(&runs_query(&filter, status).0);
        assert!(text.contains("SEARCH run USING INDEX"), "{filter:?}:\n{text}");
        assert!(!text.contains("TEMP B-TREE"), "in the index's order, {filter:?}:\n{text}");
    }
    let newest = plan(&runs_query(&RunFilter::default(), None).0);
    assert!(!newest.contains("TEMP B-TREE"), "by id, backwards:\n{newest}");
}

#[test]
fn policies_and_approvals_are_kept() {
    use crate::task::policy::{Overlap, Policy};
    let bed = Bed::new();
    let ledger = bed.open();
    let policy = Policy { overlap: Some(Overlap::Queue), ..Policy::default() };
    ledger.set_policy(&key("t"), &policy).expect("sets");
    assert_eq!(ledger.policy(&key("t")).expect("reads"), Some(policy), "as it was set");
    ledger.set_policy(&key("t"), &Policy::default()).expect("sets");
    assert_eq!(ledger.policy(&key("t")).expect("reads"), None, "an empty one is none");
    ledger.approve("h").expect("approves");
    assert!(ledger.is_approved("h").expect("reads"), "approved");
    assert!(ledger.disapprove("h").expect("takes back"), "there was one");
    assert!(!ledger.is_approved("h").expect("reads"), "no longer");
}
