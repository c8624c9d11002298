use super::*;

fn ask(id: &str) -> Ask {
    Ask {
        id: id.into(),
        kind: AskKind::Permission,
        text: "May I run `rm`?".into(),
        pattern: Some("rm *".into()),
        options: vec![],
        asked_at: 0,
        answered_at: None,
        answer: None,
    }
}

#[test]
fn a_run_goes_claimed_running_blocked_running_succeeded_with_its_steps() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    ledger.set_session(run, fence, "ses_1").expect("stores");
    assert!(ledger.knows_session("ses_1").expect("looks"), "the session is ours");
    ledger.step(run, "accepted", None).expect("notes");
    assert_eq!(ledger.block(run, fence, &[ask("q1")]).expect("blocks"), Verdict::Done, "running");
    assert_eq!(status(&ledger, run), Status::Blocked, "it waits for a person");
    let other = bed.open_as(neighbour());
    let answer = Control::Answer { ask: "q1".into(), answer: Answer::Once };
    assert_eq!(
        other.control(run, &answer).expect("asks"),
        ControlVerdict::Asked,
        "any process may"
    );
    let unknown = Control::Answer { ask: "q9".into(), answer: Answer::Once };
    assert_eq!(other.control(run, &unknown).expect("asks"), ControlVerdict::Unknown, "no such ask");
    assert_eq!(ledger.waiting_controls().expect("looks"), [run], "the holder notices");
    assert!(other.take_controls(run, fence + 1).expect("takes").is_empty(), "only the holder's");
    assert_eq!(
        ledger.take_controls(run, fence).expect("takes"),
        std::slice::from_ref(&answer),
        "the holder's"
    );
    assert!(ledger.take_controls(run, fence).expect("takes").is_empty(), "and once");
    ledger.answered(run, fence, "q1", "once").expect("notes");
    assert_eq!(other.control(run, &answer).expect("asks"), ControlVerdict::TooLate, "answered");
    ledger.unblock(run, fence).expect("goes on");
    bed.clock.advance(Duration::from_secs(3));
    let mut good = Ending::new(Status::Succeeded);
    good.answer = Some(format!("{}é", "x".repeat(ANSWER_LIMIT - 1)));
    good.tokens = Some(Tokens { input: 10, output: 5, ..Tokens::default() });
    good.cost = Some(0.25);
    ledger.finish(run, fence, &good).expect("ends");
    let detail = ledger.run(run).expect("reads").expect("there");
    let kinds: Vec<&str> = detail.steps.iter().map(|step| step.kind.as_str()).collect();
    let expected = "due claimed started session accepted blocked answered unblocked ended";
    assert_eq!(kinds.join(" "), expected, "every step with its time");
    assert_eq!(detail.run.duration_ms, Some(3000), "it took three seconds");
    assert_eq!(detail.run.answer.map(|a| a.len()), Some(ANSWER_LIMIT - 1), "cut before the é");
    assert_eq!(detail.run.tokens.map(|t| t.input), Some(10), "tokens are kept");
    assert_eq!(detail.asks[0].answer.as_deref(), Some("once"), "and the answer");
    assert_eq!(ledger.pending_json().expect("lists").len(), 1, "the JSON does not show it yet");
    ledger.json_flushed(run).expect("notes");
    assert!(ledger.pending_json().expect("lists").is_empty(), "now it does");
    let wire = serde_json::to_value(ledger.run(run).expect("reads")).expect("serialises");
    assert_eq!(wire["scheduledFor"], T0, "camelCase on the wire: {wire}");
    assert!(wire.get("fence").is_none(), "the fence is nobody's business");
}

#[test]
fn the_schema_allows_exactly_the_legal_transitions() {
    let bed = Bed::new();
    let ledger = bed.open();
    let raw = bed.raw();
    for from in Status::ALL {
        for to in Status::ALL {
            raw.execute(
                "INSERT INTO run (project, task, task_name, trigger, status, created_at) \
                 VALUES ('p', 't', 'T', 'manual', ?, 0)",
                [from],
            )
            .expect("inserts");
            let id = raw.last_insert_rowid();
            let moved =
                raw.execute("UPDATE run SET status = ? WHERE id = ?", rusqlite::params![to, id]);
            let legal = from == to || from.may_become(*to);
            assert_eq!(moved.is_ok(), legal, "{from} → {to}: schema and table must agree");
        }
    }
    drop(ledger);
}

/// Every operation of the holder, on a run in every status and with every fence: only what is
/// legal reaches the row.
#[test]
fn no_operation_makes_an_illegal_step() {
    type Operation = (&'static str, fn(&Ledger, i64, i64), &'static [Status], Status);
    use Status::*;
    const OPERATIONS: &[Operation] = &[
        ("start", |l, r, f| drop(l.start(r, f)), &[Claimed], Running),
        ("fail", |l, r, f| drop(l.fail_claim(r, f, Reason::ClaimFailed, "x")), &[Claimed], Failed),
        ("block", |l, r, f| drop(l.block(r, f, &[])), &[Running, Blocked], Blocked),
        ("unblock", |l, r, f| drop(l.unblock(r, f)), &[Blocked], Running),
        (
            "succeed",
            |l, r, f| drop(l.finish(r, f, &Ending::new(Succeeded))),
            &[Running, Blocked],
            Succeeded,
        ),
        (
            "time out",
            |l, r, f| drop(l.finish(r, f, &Ending::new(TimedOut))),
            &[Running, Blocked],
            TimedOut,
        ),
        (
            "lose",
            |l, r, f| drop(l.finish(r, f, &Ending::new(Lost))),
            &[Claimed, Running, Blocked],
            Lost,
        ),
        ("finish as skipped", |l, r, f| drop(l.finish(r, f, &Ending::new(Skipped))), &[], Skipped),
        (
            "end waiting",
            |l, r, _| drop(l.end_waiting(r, Superseded, None)),
            &[Queued, Retrying],
            Superseded,
        ),
        ("release as lost", |l, r, f| drop(l.release_claim(r, f, Lost, None, None)), &[], Lost),
    ];
    let bed = Bed::new();
    let ledger = bed.open();
    let raw = bed.raw();
    for (name, operation, sources, target) in OPERATIONS {
        for from in Status::ALL {
            for fence in [7, 8] {
                raw.execute(
                    "INSERT INTO run (project, task, task_name, trigger, status, created_at, fence) \
                     VALUES ('p', 't', 'T', 'manual', ?, 0, 7)",
                    [from],
                )
                .expect("inserts");
                let id = raw.last_insert_rowid();
                operation(&ledger, id, fence);
                let fenced_off = fence == 8 && *name != "end waiting";
                let expected = if sources.contains(from) && !fenced_off { target } else { from };
                let now = status(&ledger, id);
                assert_eq!(now, *expected, "{name} on {from} with fence {fence}");
            }
        }
    }
}

#[test]
fn a_prompt_that_was_never_sent_cannot_have_succeeded() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = win(&ledger, &slot("t", T0));
    let error = ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect_err("illegal");
    assert!(matches!(error, LedgerError::Illegal { .. }), "said as it is: {error}");
    assert!(ledger.running(&key("t")).expect("reads").is_some(), "and the marker stays");
}

#[test]
fn failures_are_counted_by_slot_and_the_first_success_is_a_recovery() {
    let bed = Bed::new();
    let ledger = bed.open();
    for n in 1..=3 {
        let (run, fence) = running(&ledger, "t", T0 + n);
        let ended = ledger.finish(run, fence, &Ending::new(Status::Failed)).expect("ends");
        let FinishVerdict::Finished { failures, .. } = ended else { panic!("it is ours") };
        assert_eq!(i64::from(failures), n, "each failed slot counts");
    }
    let (run, fence) = running(&ledger, "t", T0 + 4);
    ledger.finish(run, fence, &Ending::new(Status::Cancelled)).expect("ends");
    assert_eq!(ledger.failures_in_a_row(&key("t")).expect("counts"), 3, "a cancel says nothing");
    for (n, recovers) in [(5, true), (6, false)] {
        let (run, fence) = running(&ledger, "t", T0 + n);
        let ended = ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
        let FinishVerdict::Finished { failures, recovered, .. } = ended else { panic!("ours") };
        assert_eq!((failures, recovered), (0, recovers), "recovered once after a failure");
    }
    let good = ledger.last_success(&key("t")).expect("reads").expect("there is one");
    assert_eq!(good.scheduled_for, Some(T0 + 6), "the newest success");
}

#[test]
fn a_cancel_ends_what_waits_and_asks_the_holder_of_what_runs() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    let mut queued = slot("t", T0 + 1);
    queued.queue = true;
    let ClaimVerdict::Queued { run: waiting } = ledger.claim(&queued).expect("answers") else {
        panic!("it waits");
    };
    let cancel = |run| ledger.control(run, &Control::Cancel).expect("asks");
    assert_eq!(cancel(waiting), ControlVerdict::Cancelled, "nobody holds it");
    assert_eq!(cancel(run), ControlVerdict::Asked, "its holder will");
    assert_eq!(cancel(run), ControlVerdict::Asked, "twice");
    assert_eq!(ledger.take_controls(run, fence).expect("takes"), [Control::Cancel], "is once");
    ledger.finish(run, fence, &Ending::new(Status::Cancelled)).expect("ends");
    assert_eq!(cancel(run), ControlVerdict::TooLate, "it has ended");
    assert_eq!(cancel(1), ControlVerdict::Unknown, "no such run");
}
