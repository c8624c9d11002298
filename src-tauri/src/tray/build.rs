//! What the tray shows: a pure function from the engine's overview to a menu.

use super::menu::{Action, Icon, Item, Menu, PauseFor, Reply};
use crate::place::Place;
use crate::words::{away, clock, count, length, line};
use chrono_tz::Tz;
use loopkeeper_engine::ledger::{Ask, AskKind, Run, Status};
use loopkeeper_engine::view::{Condition, Need, NeedKind, Overview, TaskSummary};
use std::collections::HashMap;

/// How many tasks have a line of their own; the rest is in the window.
pub const TASKS: usize = 25;
/// The same for needs and for runs.
const FEW: usize = 10;
/// How long a name and a sentence may be, in characters.
const NAME: usize = 40;
const SENTENCE: usize = 72;

/// Everything that the menu is made from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The whole; `None` while the engine is not there.
    pub overview: Option<&'a Overview>,
    /// The first tasks as lists show them; more than [`TASKS`] are not needed.
    pub tasks: &'a [TaskSummary],
    /// Wall time, ms since 1970.
    pub now: i64,
    /// The machine's zone.
    pub zone: Tz,
    /// Whether the program starts at login; `None` where that cannot be known.
    pub start_at_login: Option<bool>,
    /// Why the engine is not there.
    pub problem: Option<&'a str>,
}

/// Makes the menu.
pub fn build(facts: &Facts<'_>) -> Menu {
    let Some(overview) = facts.overview else { return without_engine(facts) };
    let head = head(facts, overview);
    let mut items = vec![Item::Text(head.clone()), Item::Separator];
    if !overview.needs_you.is_empty() {
        items.push(needs(&overview.needs_you));
    }
    if !overview.running.is_empty() {
        items.push(running(&overview.running, facts.now));
    }
    items.push(tasks(facts, overview.tasks));
    items.push(pause(overview));
    items.push(Item::Separator);
    items.push(Item::act("Open Loopkeeper", Action::Open(None)));
    items.extend(login(facts));
    items.push(Item::act(quit(overview), Action::Quit));
    Menu { icon: icon(overview), head, items }
}

fn without_engine(facts: &Facts<'_>) -> Menu {
    let (head, icon) = match facts.problem {
        Some(_) => ("Loopkeeper cannot work".to_owned(), Icon::Attention),
        None => ("Loopkeeper is starting…".to_owned(), Icon::Paused),
    };
    let mut items = vec![Item::Text(head.clone())];
    if let Some(problem) = facts.problem {
        items.push(Item::Text(line(problem, SENTENCE * 2)));
        items.push(Item::Separator);
        items.push(Item::act("Try again", Action::TryAgain));
    }
    items.extend(login(facts));
    items.push(Item::act("Quit", Action::Quit));
    Menu { icon, head, items }
}

fn icon(overview: &Overview) -> Icon {
    if overview.stalled || !overview.needs_you.is_empty() {
        Icon::Attention
    } else if overview.paused.is_some() {
        Icon::Paused
    } else if overview.running.is_empty() {
        Icon::Armed
    } else {
        Icon::Running
    }
}

fn head(facts: &Facts<'_>, overview: &Overview) -> String {
    if overview.stalled {
        return "The scheduler has stalled: quit and start Loopkeeper again".to_owned();
    }
    if overview.tasks == 0 {
        return "No tasks yet: open Loopkeeper and add a project".to_owned();
    }
    let armed = format!("{} armed", overview.armed);
    if let Some(paused) = &overview.paused {
        let until = paused.until.map(|until| clock(until, facts.now, facts.zone));
        return match until {
            Some(until) => format!("Paused until {until} · {armed}"),
            None => format!("Paused until resumed · {armed}"),
        };
    }
    match &overview.next {
        Some(next) => format!(
            "{armed} · next: {} {} ({})",
            line(&next.name, NAME),
            clock(next.at, facts.now, facts.zone),
            away(next.at, facts.now)
        ),
        None => format!("{armed} · no next run"),
    }
}

fn quit(overview: &Overview) -> String {
    match overview.armed {
        0 => "Quit".to_owned(),
        1 => "Quit (1 task stays unarmed)".to_owned(),
        armed => format!("Quit ({armed} tasks stay unarmed)"),
    }
}

fn login(facts: &Facts<'_>) -> Option<Item> {
    let checked = facts.start_at_login?;
    let action = Action::StartAtLogin;
    Some(Item::Check { label: "Start at login".to_owned(), checked, action })
}

fn needs(needs: &[Need]) -> Item {
    let mut items: Vec<Item> = needs.iter().take(FEW).map(need).collect();
    if needs.len() > FEW {
        items.push(Item::Separator);
        let label = format!("All {} that need you…", needs.len());
        items.push(Item::act(label, Action::Open(Some(Place::Needs))));
    }
    Item::sub(format!("Needs you ({})", needs.len()), items)
}

fn need(need: &Need) -> Item {
    let open = |place| Item::act("Open", Action::Open(Some(place)));
    let mut items = Vec::new();
    for ask in need.asks.iter().filter(|ask| ask.answered_at.is_none()) {
        if let Some(run) = need.run_id {
            items.extend(answers(run, ask));
        }
    }
    if items.is_empty() && !need.help.is_empty() {
        items.push(Item::Text(line(&need.help, SENTENCE)));
    }
    let task = need.project_id.clone().zip(need.task_id.clone());
    match (need.kind, task) {
        (NeedKind::AutoPaused, Some((project, task))) => {
            items.push(Item::act("Resume the task", Action::ResumeTask { project, task }));
        }
        (NeedKind::Failed | NeedKind::Missed, Some((project, task))) => {
            items.push(Item::act("Run now", Action::Run { project, task }));
        }
        _ => {}
    }
    items.push(match (need.kind, need.run_id, &need.path) {
        (NeedKind::FileError, _, Some(path)) => {
            let project = need.project_id.clone().unwrap_or_default();
            open(Place::Edit { path: path.clone(), project })
        }
        (NeedKind::Blocked | NeedKind::Failed | NeedKind::PersistError, Some(run), _) => {
            open(Place::Run(run))
        }
        _ => open(Place::Needs),
    });
    if matches!(need.kind, NeedKind::Failed | NeedKind::Missed | NeedKind::PersistError) {
        items.push(Item::act("Dismiss", Action::Dismiss(need.id.clone())));
    }
    Item::sub(line(&need.text, SENTENCE), items)
}

fn answers(run: i64, ask: &Ask) -> Vec<Item> {
    let answer =
        |label: &str, reply| Item::act(label, Action::Answer { run, ask: ask.id.clone(), reply });
    let mut items = vec![Item::Text(line(&ask.text, SENTENCE))];
    match ask.kind {
        AskKind::Permission => {
            items.push(answer("Allow once", Reply::Once));
            items.push(answer("Deny", Reply::Deny));
        }
        AskKind::Question => {
            let options = ask.options.iter().take(FEW);
            items.extend(
                options
                    .map(|option| answer(&line(option, SENTENCE), Reply::Option(option.clone()))),
            );
        }
    }
    items
}

fn running(runs: &[Run], now: i64) -> Item {
    let mut items: Vec<Item> = runs
        .iter()
        .take(FEW)
        .map(|run| {
            let items = vec![
                Item::act("Stop", Action::Stop(run.id)),
                Item::act("Open", Action::Open(Some(Place::Run(run.id)))),
            ];
            Item::sub(format!("{} — {}", line(&run.task_name, NAME), open_run(run, now)), items)
        })
        .collect();
    if runs.len() > FEW {
        items.push(Item::Separator);
        let label = format!("All {} runs…", runs.len());
        items.push(Item::act(label, Action::Open(Some(Place::Runs))));
    }
    Item::sub(format!("Running ({})", runs.len()), items)
}

fn open_run(run: &Run, now: i64) -> String {
    // The menu is drawn anew once a minute: seconds would stand still.
    let since = || {
        let long = run.started_at.map(|at| now - at).filter(|long| *long >= 60_000);
        long.map(|long| format!(" {}", length(long))).unwrap_or_default()
    };
    match run.status {
        Status::Blocked => "waits for you".to_owned(),
        Status::Queued => "waits for its turn".to_owned(),
        Status::Retrying => "waits for its next attempt".to_owned(),
        _ => format!("running{}", since()),
    }
}

fn tasks(facts: &Facts<'_>, total: usize) -> Item {
    if facts.tasks.is_empty() {
        return Item::act("Tasks…", Action::Open(Some(Place::Tasks)));
    }
    let mut same = HashMap::new();
    for task in facts.tasks {
        *same.entry(task.name.as_str()).or_insert(0usize) += 1;
    }
    let mut items: Vec<Item> = facts
        .tasks
        .iter()
        .take(TASKS)
        .map(|summary| task(summary, same.get(summary.name.as_str()) > Some(&1), facts))
        .collect();
    if total > TASKS {
        items.push(Item::Separator);
        let label = format!("All {total} tasks…");
        items.push(Item::act(label, Action::Open(Some(Place::Tasks))));
    }
    Item::sub("Tasks", items)
}

fn task(summary: &TaskSummary, ambiguous: bool, facts: &Facts<'_>) -> Item {
    let (project, id) = (summary.project_id.clone(), summary.id.clone());
    let mut name = line(&summary.name, NAME);
    if ambiguous {
        name = format!("{name} ({})", line(&summary.project_label, NAME / 2));
    }
    let place = Place::Task { project: project.clone(), task: id.clone() };
    let mut items = vec![Item::act("Open", Action::Open(Some(place)))];
    items.push(match &summary.open_run {
        Some(run) => Item::act("Stop", Action::Stop(run.id)),
        None => Item::act("Run now", Action::Run { project: project.clone(), task: id.clone() }),
    });
    if summary.condition == Condition::AutoPaused {
        let action = Action::ResumeTask { project: project.clone(), task: id.clone() };
        items.push(Item::act("Resume", action));
    }
    let on = !summary.enabled;
    items.push(Item::Check {
        label: "Enabled".to_owned(),
        checked: summary.enabled,
        action: Action::Enable { project: project.clone(), task: id.clone(), on },
    });
    items.push(match &summary.loop_file {
        Some(path) => {
            let place = Place::Edit { path: path.clone(), project };
            Item::act("Edit loop…", Action::Open(Some(place)))
        }
        None => Item::act("Edit…", Action::Open(Some(Place::Form { project, task: id }))),
    });
    items.push(Item::Separator);
    items.push(Item::Text(last_result(summary.last_run.as_ref(), facts.now)));
    Item::sub(format!("{name} — {}", next(summary, facts)), items)
}

fn next(summary: &TaskSummary, facts: &Facts<'_>) -> String {
    match summary.condition {
        Condition::Blocked => "waits for you".to_owned(),
        Condition::NeedsApproval => "wants your approval".to_owned(),
        Condition::AutoPaused => "paused after failures".to_owned(),
        Condition::Running | Condition::Waiting => summary
            .open_run
            .as_ref()
            .map_or_else(|| "running".to_owned(), |run| open_run(run, facts.now)),
        Condition::Armed => match summary.next_run_at {
            Some(at) => away(at, facts.now),
            None => "no next run".to_owned(),
        },
        Condition::Idle => "no next run".to_owned(),
        Condition::Off => "off".to_owned(),
    }
}

fn last_result(run: Option<&Run>, now: i64) -> String {
    let Some(run) = run else { return "Never ran".to_owned() };
    let when = run.finished_at.or(run.started_at).or(run.scheduled_for);
    let when = when.map(|at| match away(at, now).as_str() {
        "now" => " just now".to_owned(),
        away => format!(" {away}"),
    });
    let when = when.unwrap_or_default();
    let took = run.duration_ms.map(|ms| format!(" · {}", length(ms))).unwrap_or_default();
    let because = |word: &str| match &run.error {
        Some(error) => format!("✗ {word}{when}: {}", line(error, SENTENCE)),
        None => format!("✗ {word}{when}"),
    };
    match run.status {
        Status::Succeeded => format!("✓ Succeeded{when}{took}"),
        Status::Failed => because("Failed"),
        Status::TimedOut => because("Timed out"),
        Status::Lost => because("Lost"),
        Status::Cancelled => format!("Cancelled{when}"),
        Status::Skipped => format!("Skipped{when}"),
        Status::Missed => format!("Missed{when}"),
        Status::Deduped => format!("Run elsewhere{when}"),
        Status::Superseded => format!("Superseded{when}"),
        Status::Claimed | Status::Queued | Status::Retrying | Status::Running | Status::Blocked => {
            open_run(run, now)
        }
    }
}

fn pause(overview: &Overview) -> Item {
    if overview.paused.is_some() {
        return Item::act("Resume all", Action::Resume);
    }
    let items = vec![
        Item::act("For 1 hour", Action::Pause(PauseFor::Hour)),
        Item::act("Until tomorrow", Action::Pause(PauseFor::Tomorrow)),
        Item::act("Until resumed", Action::Pause(PauseFor::Resumed)),
    ];
    Item::sub("Pause", items)
}

/// Says what the end of the program leaves behind; `None` when that is nothing.
pub fn farewell(overview: &Overview) -> Option<String> {
    let running = overview.running.iter().filter(|run| run.status.holds_marker()).count();
    let mut parts = Vec::new();
    if overview.armed > 0 {
        let verb = if overview.armed == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} no longer armed here.", count(overview.armed, "task")));
    }
    if running > 0 {
        let verb = if running == 1 { "goes" } else { "go" };
        parts.push(format!(
            "{} {verb} on with OpenCode, or was ended if a command ran it.",
            count(running, "run")
        ));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}
