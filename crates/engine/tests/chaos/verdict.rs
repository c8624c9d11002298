//! What must hold after everything, whatever happened.

use crate::mixture::COUNTED;
use crate::stage::{BASE, MINUTE, Stage};
use loopkeeper_engine::ledger::{Run, RunFilter, Status};
use std::collections::HashMap;

/// What was met; a test that met nothing proves nothing.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "some counts are only told")]
struct Met {
    won: usize,
    lost: usize,
    plain: usize,
    kills: usize,
    inside_claims: usize,
    locks_taken_over: usize,
    rows_taken_over: usize,
    swept: usize,
    abandoned: usize,
    errors: usize,
    plain_doubles: usize,
}

pub fn check(stage: &Stage, projects: &[String], tasks: &[String], slots: i64, kills: usize) {
    let noted = stage.noted("ours");
    let of = |kind: &str| noted.iter().filter(|line| line[0] == kind).collect::<Vec<_>>();
    let sum = |kind: &str| of(kind).iter().filter_map(|l| l[1].parse::<usize>().ok()).sum();
    let mut met = Met {
        won: of("won").len(),
        lost: of("lost").len(),
        kills: kills + of("died").len(),
        inside_claims: of("died").len(),
        locks_taken_over: sum("took-over"),
        swept: of("swept").len(),
        abandoned: sum("abandoned"),
        errors: of("error").len(),
        ..Met::default()
    };
    let mut ours: HashMap<(String, String, i64), usize> = HashMap::new();
    for line in of("won") {
        let k = line[3].parse().expect("a number");
        *ours.entry((line[1].clone(), line[2].clone(), k)).or_default() += 1;
    }
    let mut plain: HashMap<(String, String, i64), usize> = HashMap::new();
    for project in projects {
        for line in stage.noted(&format!("plain-{project}-")) {
            let k = line[2].parse().expect("a number");
            *plain.entry((project.clone(), line[1].clone(), k)).or_default() += 1;
            met.plain += 1;
        }
    }
    for (slot, times) in &ours {
        assert_eq!(*times, 1, "{slot:?}: two of ours ran it");
        assert_eq!(plain.get(slot), None, "{slot:?}: run by one of ours and by another");
    }
    met.plain_doubles = plain.values().filter(|times| **times > 1).count();

    let ledger = stage.ledger();
    for project in projects {
        for task in tasks {
            let filter = RunFilter {
                project: Some(project.clone()),
                task: Some(task.clone()),
                limit: 100_000,
                ..RunFilter::default()
            };
            let rows = ledger.runs(&filter).expect("the ledger is sound");
            for row in &rows {
                let steps = ledger.run(row.id).expect("reads").expect("there").steps;
                met.rows_taken_over +=
                    steps.iter().filter(|step| step.kind == "taken_over").count();
            }
            every_slot(project, task, slots, &rows, &ours);
            let state = stage.state(project, task);
            let last = state["lastScheduledFor"].as_i64().expect("claimed");
            assert_eq!(last, BASE + (slots - 1) * MINUTE, "{project} {task}: the newest slot");
            let raw = stage.config(project).to_string();
            assert!(raw.contains("\"future\""), "{project}: what nobody knows is kept");
        }
    }

    let of_it = |kind: &str| of(kind).into_iter().filter(|line| line[1] == COUNTED).count();
    let (counting, counted, uncounted) = (of_it("counting"), of_it("counted"), of_it("uncounted"));
    let value = stage.state(COUNTED, &tasks[0])["lastDurationMs"].as_u64().expect("a number");
    let value = usize::try_from(value).expect("small");
    assert!(
        (counted..=counting - uncounted).contains(&value),
        "{counted} acknowledged of {counting} begun, {uncounted} refused, but the file says {value}"
    );
    assert_eq!(stage.left_over(), Vec::<String>::new(), "no lock and no temporary file is left");

    println!("chaos: {met:?}, {counted} counted");
    assert!(met.won > 0 && met.plain > 0, "both kinds take part");
    assert!(met.lost > 0, "no claim was lost: there was no contention");
    assert!(met.locks_taken_over > 0, "no lock was taken over: there was no contention");
    assert!(met.rows_taken_over > 0, "no row was taken over: nobody died in a claim");
    assert!(met.inside_claims > 0, "nobody was killed inside a claim");
}

/// Exactly one ending or a recorded reason for each slot.
fn every_slot(
    project: &str,
    task: &str,
    slots: i64,
    rows: &[Run],
    ours: &HashMap<(String, String, i64), usize>,
) {
    for k in 0..slots {
        let slot = BASE + k * MINUTE;
        let of_slot: Vec<&Run> =
            rows.iter().filter(|row| row.scheduled_for == Some(slot)).collect();
        let [row] = of_slot.as_slice() else {
            panic!("{project} {task} {k}: it must have one row, but has {of_slot:?}");
        };
        assert!(!row.status.is_open(), "{project} {task} {k}: it has not ended: {row:?}");
        let sent = ours.contains_key(&(project.to_owned(), task.to_owned(), k));
        if sent {
            let ended = matches!(row.status, Status::Succeeded | Status::Lost);
            assert!(ended, "{project} {task} {k}: it was sent, but its row says {row:?}");
        } else {
            assert_ne!(row.status, Status::Succeeded, "{project} {task} {k}: nobody sent it");
            assert!(row.reason.is_some(), "{project} {task} {k}: no reason: {row:?}");
        }
    }
    assert_eq!(rows.len(), usize::try_from(slots).expect("small"), "{project} {task}: no others");
}
