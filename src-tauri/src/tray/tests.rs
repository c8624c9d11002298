//! What the menu shows for 0, 1, 25 and 140 tasks, and in each state.

use super::build::{Facts, build, farewell};
use super::draw::literal;
use super::menu::{Action, Icon, Item, Menu, PauseFor, Reply, same_shape};
use crate::place::Place;
use chrono_tz::Tz;
use loopkeeper_engine::view::{Overview, TaskSummary};
use serde_json::{Value, json};

/// 2026-01-05 08:18 UTC, a Monday.
const NOW: i64 = 1_767_601_080_000;
const MINUTE: i64 = 60_000;

/// Puts `b`'s keys over `a`'s, and reads what a test's JSON stands for.
fn made<T: serde::de::DeserializeOwned>(mut a: Value, b: Value) -> T {
    for (key, value) in b.as_object().expect("an object") {
        a[key] = value.clone();
    }
    serde_json::from_value(a).expect("as the engine writes it")
}

fn task(number: usize, with: Value) -> TaskSummary {
    let usual = json!({
        "projectId": "p", "projectLabel": "alpha", "id": format!("t{number}"),
        "name": format!("task {number}"), "enabled": true, "condition": "armed",
        "words": "Every day at 09:00", "timezone": "UTC", "foreignZone": false,
        "model": "demo/echo", "nextRunAt": NOW + 42 * MINUTE, "seenIn": 1, "recent": [],
        "loopFile": format!("/p/.agents/loops/t{number}.md"),
    });
    made(usual, with)
}

fn run(with: Value) -> Value {
    let mut run = json!({
        "id": 7, "projectId": "p", "taskId": "t0", "taskName": "task 0", "trigger": "scheduled",
        "attempt": 1, "status": "running", "createdAt": NOW - 3 * MINUTE,
        "startedAt": NOW - 3 * MINUTE,
    });
    for (key, value) in with.as_object().expect("an object") {
        run[key] = value.clone();
    }
    run
}

fn overview(tasks: usize, with: Value) -> Overview {
    let mut usual = json!({
        "now": NOW, "armed": tasks, "tasks": tasks, "projects": 1, "running": [], "needsYou": [],
        "stalled": false, "warnings": [],
    });
    if tasks > 0 {
        let at = NOW + 42 * MINUTE;
        usual["next"] = json!({ "projectId": "p", "taskId": "t0", "name": "task 0", "at": at });
    }
    made(usual, with)
}

fn menu(overview: &Overview, tasks: &[TaskSummary]) -> Menu {
    build(&Facts {
        overview: Some(overview),
        tasks,
        now: NOW,
        zone: Tz::UTC,
        start_at_login: Some(false),
        problem: None,
    })
}

fn label(item: &Item) -> &str {
    match item {
        Item::Text(label)
        | Item::Do { label, .. }
        | Item::Check { label, .. }
        | Item::Sub { label, .. } => label,
        Item::Separator => "-",
    }
}

fn labels(items: &[Item]) -> Vec<&str> {
    items.iter().map(label).collect()
}

fn inside<'a>(items: &'a [Item], name: &str) -> &'a [Item] {
    let found = items.iter().find(|item| label(item).starts_with(name));
    match found {
        Some(Item::Sub { items, .. }) => items,
        _ => panic!("no menu {name} in {:?}", labels(items)),
    }
}

#[test]
fn without_tasks_it_says_what_to_do() {
    let menu = menu(&overview(0, json!({})), &[]);
    assert_eq!(
        labels(&menu.items),
        [
            "No tasks yet: open Loopkeeper and add a project",
            "-",
            "Tasks…",
            "Pause",
            "-",
            "Open Loopkeeper",
            "Start at login",
            "Quit",
        ],
        "an empty start is no dead end"
    );
    assert_eq!(menu.icon, Icon::Armed, "nothing is wrong");
}

#[test]
fn one_task_has_everything_that_can_be_done() {
    let last = run(json!({ "id": 3, "status": "succeeded", "finishedAt": NOW - 125 * MINUTE,
        "durationMs": 72_000 }));
    let menu = menu(&overview(1, json!({})), &[task(0, json!({ "lastRun": last }))]);
    assert_eq!(menu.head, "1 armed · next: task 0 09:00 (in 42 min)", "the whole at a glance");
    let tasks = inside(&menu.items, "Tasks");
    assert_eq!(labels(tasks), ["task 0 — in 42 min"], "name and next run");
    let one = inside(tasks, "task 0");
    assert_eq!(
        labels(one),
        ["Open", "Run now", "Enabled", "Edit loop…", "-", "✓ Succeeded 2 h ago · 1 min"],
        "the menu alone is enough"
    );
    let off = Action::Enable { project: "p".into(), task: "t0".into(), on: false };
    let check = Item::Check { label: "Enabled".into(), checked: true, action: off };
    assert_eq!(one[2], check, "a click turns it off");
    let path = "/p/.agents/loops/t0.md".to_owned();
    let edit = Action::Open(Some(Place::Edit { path, project: "p".into() }));
    assert_eq!(one[3], Item::act("Edit loop…", edit), "the loop opens in the editor");
    assert_eq!(label(&menu.items[menu.items.len() - 1]), "Quit (1 task stays unarmed)", "said");
}

#[test]
fn twenty_five_tasks_are_listed_and_140_lead_to_the_window() {
    let tasks: Vec<_> = (0..140).map(|number| task(number, json!({}))).collect();
    let few = menu(&overview(25, json!({})), &tasks[..25]);
    assert_eq!(inside(&few.items, "Tasks").len(), 25, "all of them, and no way to more");
    let many = menu(&overview(140, json!({})), &tasks);
    let listed = inside(&many.items, "Tasks");
    assert_eq!(listed.len(), 27, "25, a line, and the rest");
    assert_eq!(
        listed[26],
        Item::act("All 140 tasks…", Action::Open(Some(Place::Tasks))),
        "the window has all"
    );
}

#[test]
fn labels_are_literal_and_short() {
    let name = format!("R&D_\n{}", "x".repeat(300));
    let menu = menu(&overview(1, json!({})), &[task(0, json!({ "name": name }))]);
    let shown = label(&inside(&menu.items, "Tasks")[0]);
    assert!(shown.starts_with("R&D_ xxx"), "a line break is a blank: {shown}");
    assert!(shown.chars().count() < 60, "a long name is cut: {shown}");
    assert_eq!(literal("R&D_&"), "R&&D_&&", "`&` is doubled, `_` is the library's to escape");
}

#[test]
fn equal_names_say_their_project() {
    let tasks = [
        task(0, json!({ "name": "audit" })),
        task(
            1,
            json!({ "name": "audit",
        "projectLabel": "beta" }),
        ),
    ];
    let menu = menu(&overview(2, json!({})), &tasks);
    assert_eq!(
        labels(inside(&menu.items, "Tasks")),
        ["audit (alpha) — in 42 min", "audit (beta) — in 42 min"],
        "nobody has to guess"
    );
}

#[test]
fn a_blocked_run_can_be_answered() {
    let ask = json!({ "id": "per_1", "kind": "permission", "text": "bash `npm audit`",
        "askedAt": NOW });
    let need = json!({ "id": "blocked:7", "kind": "blocked", "at": NOW, "text": "task 0 waits",
        "help": "Allow or deny", "projectId": "p", "taskId": "t0", "taskName": "task 0",
        "runId": 7, "asks": [ask] });
    let menu = menu(&overview(1, json!({ "needsYou": [need] })), &[task(0, json!({}))]);
    assert_eq!(menu.icon, Icon::Attention, "a person can act on it");
    let one = inside(inside(&menu.items, "Needs you (1)"), "task 0 waits");
    assert_eq!(labels(one), ["bash `npm audit`", "Allow once", "Deny", "Open"], "what it asks");
    let once = Action::Answer { run: 7, ask: "per_1".into(), reply: Reply::Once };
    assert_eq!(one[1], Item::act("Allow once", once), "the answer reaches the run");
}

#[test]
fn a_question_offers_its_answers_and_a_failure_another_run() {
    let ask = json!({ "id": "q", "kind": "question", "text": "Which?", "options": ["a", "b"],
        "askedAt": NOW });
    let question = json!({ "id": "blocked:7", "kind": "blocked", "at": NOW, "text": "asks",
        "help": "", "runId": 7, "asks": [ask] });
    let failed = json!({ "id": "failed:8", "kind": "failed", "at": NOW, "text": "broke",
        "help": "Look", "projectId": "p", "taskId": "t0", "runId": 8 });
    let menu = menu(&overview(1, json!({ "needsYou": [question, failed] })), &[]);
    let needs = inside(&menu.items, "Needs you (2)");
    assert_eq!(labels(inside(needs, "asks")), ["Which?", "a", "b", "Open"], "choices");
    assert_eq!(labels(inside(needs, "broke")), ["Look", "Run now", "Open", "Dismiss"], "ways out");
}

#[test]
fn a_running_task_can_be_stopped() {
    let open = run(json!({}));
    let tasks = [task(0, json!({ "condition": "running", "openRun": open }))];
    let menu = menu(&overview(1, json!({ "running": [open] })), &tasks);
    assert_eq!(menu.icon, Icon::Running, "seen at a glance");
    let one = inside(inside(&menu.items, "Running (1)"), "task 0 — running 3 min");
    assert_eq!(one[0], Item::act("Stop", Action::Stop(7)), "its run is ended");
    let shown = inside(inside(&menu.items, "Tasks"), "task 0 — running 3 min");
    assert_eq!(shown[1], Item::act("Stop", Action::Stop(7)), "instead of Run now");
    let young = run(json!({ "startedAt": NOW - 5_000 }));
    let menu = self::menu(&overview(1, json!({ "running": [young] })), &[]);
    let all = inside(&menu.items, "Running (1)");
    assert_eq!(labels(all), ["task 0 — running"], "seconds would stand still in an open menu");
}

#[test]
fn a_pause_shows_its_end_and_a_way_back() {
    let paused = json!({ "paused": { "since": NOW, "until": NOW + 60 * MINUTE } });
    let shown = menu(&overview(3, paused), &[]);
    assert_eq!(shown.head, "Paused until 09:18 · 3 armed", "shown as long as it lasts");
    assert_eq!(shown.icon, Icon::Paused, "seen at a glance");
    assert!(shown.items.contains(&Item::act("Resume all", Action::Resume)), "no dead end");
    let usual = menu(&overview(3, json!({})), &[]);
    assert_eq!(
        inside(&usual.items, "Pause")[1],
        Item::act("Until tomorrow", Action::Pause(PauseFor::Tomorrow)),
        "three lengths"
    );
}

#[test]
fn a_stalled_scheduler_wants_attention() {
    let menu = menu(&overview(3, json!({ "stalled": true })), &[]);
    assert_eq!(menu.icon, Icon::Attention, "nothing runs, so somebody must look");
    assert!(menu.head.contains("stalled"), "{}", menu.head);
}

#[test]
fn without_the_engine_it_says_why() {
    let facts = Facts {
        overview: None,
        tasks: &[],
        now: NOW,
        zone: Tz::UTC,
        start_at_login: None,
        problem: Some("/d is read-only"),
    };
    let menu = build(&facts);
    assert_eq!(
        labels(&menu.items),
        ["Loopkeeper cannot work", "/d is read-only", "-", "Try again", "Quit"],
        "cause and way out"
    );
}

#[test]
fn a_minute_later_only_texts_change() {
    let (whole, tasks) = (overview(1, json!({})), [task(0, json!({}))]);
    let now = menu(&whole, &tasks);
    let facts = Facts {
        overview: Some(&whole),
        tasks: &tasks,
        now: NOW + MINUTE,
        zone: Tz::UTC,
        start_at_login: Some(false),
        problem: None,
    };
    let later = build(&facts);
    assert_ne!(now, later, "41 minutes are not 42");
    assert!(same_shape(&now.items, &later.items), "an open menu must not close under the pointer");
    let off = menu(&whole, &[task(0, json!({ "enabled": false, "condition": "off" }))]);
    assert!(!same_shape(&now.items, &off.items), "another action is another item");
}

#[test]
fn an_action_survives_as_an_item_s_id() {
    let action = Action::Answer { run: 7, ask: "a\"b".into(), reply: Reply::Option("c".into()) };
    let id = serde_json::to_string(&action).expect("written");
    assert_eq!(serde_json::from_str::<Action>(&id).expect("read"), action, "as it was");
}

#[test]
fn the_farewell_says_what_stays_behind() {
    let whole = overview(3, json!({ "running": [run(json!({}))] }));
    let said = farewell(&whole).expect("there is something to say");
    assert!(said.starts_with("3 tasks are no longer armed here. 1 run goes on"), "{said}");
    assert_eq!(farewell(&overview(0, json!({}))), None, "nothing is left behind");
}
