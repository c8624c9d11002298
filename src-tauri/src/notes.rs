//! Which notifications are due, and what they say: pure, apart from how they are shown.
//!
//! A notification can be lost (the daemon is not there, the user looks away), so all but good news
//! come from what stands under "needs you": a need that was not there before is worth telling. That
//! also tells what other processes on the folder ran.

use crate::place::Place;
use crate::tray::menu::{Action, Reply};
use crate::words::{count, line};
use loopkeeper_engine::ledger::{AskKind, Run};
use loopkeeper_engine::task::policy::Notify;
use loopkeeper_engine::view::{Need, NeedKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How long a title and a body may be, in characters; longer ones are cut by daemons at odd places.
const TITLE: usize = 80;
const BODY: usize = 400;
/// At most one notification of a task in this time, ms.
pub const QUIET: i64 = 60_000;
/// How long is waited for something more important about the same task, ms.
pub const GATHER: i64 = 800;

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What happened, to what.
    pub title: String,
    /// More about it, and what to do.
    pub body: String,
    /// Whether it stays until it was seen.
    pub urgent: bool,
    /// What can be answered at once.
    pub buttons: Vec<(String, Action)>,
    /// Where a click on it leads.
    pub place: Place,
}

/// What may be told, before it is looked at closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A need that was not there before.
    Need {
        /// Its id.
        id: String,
        /// Its kind.
        kind: NeedKind,
    },
    /// A good run after a failure.
    Recovered(i64),
    /// A run that ended.
    Ended(i64),
}

impl Subject {
    /// Of two subjects of one task the one with the smaller rank is told.
    fn rank(&self) -> u8 {
        match self {
            Subject::Need { kind, .. } => match kind {
                NeedKind::PersistError => 0,
                NeedKind::Blocked => 1,
                NeedKind::Approval => 2,
                NeedKind::AutoPaused => 3,
                NeedKind::Failed => 4,
                NeedKind::FileError => 5,
                NeedKind::Missed => 6,
            },
            Subject::Recovered(_) => 7,
            Subject::Ended(_) => 8,
        }
    }
}

/// Names who a notification is about: a task, or everything that was missed at once.
pub fn key(project: Option<&str>, task: Option<&str>) -> String {
    format!("{}/{}", project.unwrap_or_default(), task.unwrap_or_default())
}

fn key_of(need: &Need) -> String {
    match need.kind {
        // One notification for a whole night, not one a task.
        NeedKind::Missed => "missed".to_owned(),
        _ => key(need.project_id.as_deref(), need.task_id.as_deref()),
    }
}

/// Finds the needs that are new, and remembers those that are there.
#[derive(Debug, Default)]
pub struct Seen {
    ids: HashSet<String>,
}

impl Seen {
    /// Remembers the needs of now; returns those that were not there before, with whom they are about.
    pub fn update(&mut self, needs: &[Need]) -> Vec<(String, Subject)> {
        let new = needs
            .iter()
            .filter(|need| !self.ids.contains(&need.id))
            .map(|need| (key_of(need), Subject::Need { id: need.id.clone(), kind: need.kind }))
            .collect();
        self.ids = needs.iter().map(|need| need.id.clone()).collect();
        new
    }
}

/// Holds back what comes too soon, and lets the most important pass.
#[derive(Debug, Default)]
pub struct Gate {
    last: HashMap<String, i64>,
    waiting: BTreeMap<String, (i64, Vec<Subject>)>,
}

impl Gate {
    /// Takes a subject in; `now` in ms of any one clock.
    pub fn offer(&mut self, key: String, subject: Subject, now: i64) {
        let earliest = self.last.get(&key).map_or(0, |last| last + QUIET);
        let (_, subjects) =
            self.waiting.entry(key).or_insert_with(|| ((now + GATHER).max(earliest), Vec::new()));
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
        subjects.sort_by_key(Subject::rank);
    }

    /// Returns the next instant at which something is due.
    pub fn next(&self) -> Option<i64> {
        self.waiting.values().map(|(due, _)| *due).min()
    }

    /// Takes out what is due, the most important of each first.
    pub fn due(&mut self, now: i64) -> Vec<(String, Vec<Subject>)> {
        let due: Vec<String> = self
            .waiting
            .iter()
            .filter(|(_, (due, _))| *due <= now)
            .map(|(key, _)| key.clone())
            .collect();
        due.into_iter()
            .filter_map(|key| self.waiting.remove(&key).map(|(_, subjects)| (key, subjects)))
            .collect()
    }

    /// Remembers that a notification was shown.
    pub fn shown(&mut self, key: &str, now: i64) {
        self.last.retain(|_, last| *last + QUIET > now);
        self.last.insert(key.to_owned(), now);
    }
}

/// Says what is told about a need; `None` when its task wants no such news.
pub fn of_need(need: &Need, wish: Notify) -> Option<Note> {
    let name = line(need.task_name.as_deref().unwrap_or("Loopkeeper"), TITLE / 2);
    if matches!(wish, Notify::Never) {
        return None;
    }
    let title = match need.kind {
        NeedKind::Blocked => format!("{name} waits for you"),
        NeedKind::Approval => format!("{name} wants your approval"),
        NeedKind::PersistError => format!("{name} ran, but its end could not be written"),
        NeedKind::AutoPaused => format!("{name} was paused after failures"),
        NeedKind::Failed => format!("{name} failed"),
        NeedKind::Missed => format!("{name} missed its time"),
        NeedKind::FileError => "A file cannot be read".to_owned(),
    };
    let mut buttons = Vec::new();
    let mut body = format!("{}\n{}", line(&need.text, BODY), line(&need.help, BODY));
    if need.kind == NeedKind::Blocked {
        let open: Vec<_> = need.asks.iter().filter(|ask| ask.answered_at.is_none()).collect();
        let first = open.first()?;
        body = line(&first.text, BODY);
        if open.len() > 1 {
            body = format!("{body}\nand {} more", open.len() - 1);
        }
        if let (AskKind::Permission, Some(run)) = (first.kind, need.run_id) {
            let answer = |reply| Action::Answer { run, ask: first.id.clone(), reply };
            buttons.push(("Allow once".to_owned(), answer(Reply::Once)));
            buttons.push(("Deny".to_owned(), answer(Reply::Deny)));
        }
    }
    let place = match (need.kind, need.run_id) {
        (NeedKind::Blocked | NeedKind::Approval | NeedKind::FileError, _) | (_, None) => {
            Place::Needs
        }
        (_, Some(run)) => Place::Run(run),
    };
    let urgent =
        matches!(need.kind, NeedKind::Blocked | NeedKind::PersistError | NeedKind::Approval);
    Some(Note { title, body, urgent, buttons, place })
}

/// Says what was missed, in one notification; `None` when that is nothing.
pub fn of_missed(rows: &[Run]) -> Option<Note> {
    if rows.is_empty() {
        return None;
    }
    let slots = rows.iter().map(|row| usize::try_from(row.count.unwrap_or(1)).unwrap_or(1)).sum();
    let mut names: Vec<&str> = rows.iter().map(|row| row.task_name.as_str()).collect();
    names.dedup();
    let few = names.iter().take(5).map(|name| line(name, TITLE / 2)).collect::<Vec<_>>();
    let more = names.len().saturating_sub(few.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(Note {
        title: format!("Missed: {} of {}", count(slots, "run"), count(rows.len(), "task")),
        body: format!(
            "{}{rest}. Nobody could run them (asleep or not started). Run by hand what is still wanted.",
            few.join(", ")
        ),
        urgent: false,
        buttons: Vec::new(),
        place: Place::Needs,
    })
}

/// Says that a task works again.
pub fn of_recovery(run: &Run, wish: Notify) -> Option<Note> {
    (!matches!(wish, Notify::Never)).then(|| Note {
        title: format!("{} works again", line(&run.task_name, TITLE / 2)),
        body: answer_of(run),
        urgent: false,
        buttons: Vec::new(),
        place: Place::Run(run.id),
    })
}

/// Says that a run ended well, where its task wants that told.
pub fn of_success(run: &Run, wish: Notify) -> Option<Note> {
    (matches!(wish, Notify::Always) && run.status == loopkeeper_engine::ledger::Status::Succeeded)
        .then(|| Note {
            title: format!("{} succeeded", line(&run.task_name, TITLE / 2)),
            body: answer_of(run),
            urgent: false,
            buttons: Vec::new(),
            place: Place::Run(run.id),
        })
}

fn answer_of(run: &Run) -> String {
    match &run.answer {
        Some(answer) => line(answer, 200),
        None => "The run succeeded.".to_owned(),
    }
}

/// Says whether a window with the input focus shows this already.
pub fn is_in_sight(note: &Note, focused_at: Option<&str>) -> bool {
    let Some(shown) = focused_at else { return false };
    // Whoever has "needs you" before them sees every need arrive.
    note.place.is_shown_at(shown) || Place::Needs.is_shown_at(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn need(with: Value) -> Need {
        let mut need = json!({ "id": "failed:8", "kind": "failed", "at": 0,
            "text": "digest failed: no such model", "help": "Look at the run.", "projectId": "p",
            "taskId": "t", "taskName": "digest", "runId": 8 });
        for (key, value) in with.as_object().expect("an object") {
            need[key] = value.clone();
        }
        serde_json::from_value(need).expect("as the engine writes it")
    }

    fn row(name: &str, count: i64) -> Run {
        serde_json::from_value(json!({ "id": 1, "projectId": "p", "taskId": name,
            "taskName": name, "trigger": "scheduled", "attempt": 1, "status": "missed",
            "createdAt": 0, "count": count }))
        .expect("as the ledger writes it")
    }

    #[test]
    fn only_new_needs_are_news() {
        let mut seen = Seen::default();
        assert_eq!(seen.update(&[need(json!({}))]).len(), 1, "it was not there before");
        assert_eq!(seen.update(&[need(json!({ "at": 5 }))]).len(), 0, "it is the same need");
        seen.update(&[]);
        assert_eq!(seen.update(&[need(json!({}))]).len(), 1, "it came again");
    }

    #[test]
    fn one_a_minute_and_the_most_important_first() {
        let mut gate = Gate::default();
        let subject = |id: &str, kind| Subject::Need { id: id.to_owned(), kind };
        gate.offer("p/t".into(), Subject::Ended(8), 0);
        gate.offer("p/t".into(), subject("failed:8", NeedKind::Failed), 10);
        gate.offer("p/t".into(), subject("persist:8", NeedKind::PersistError), 20);
        assert_eq!(gate.due(GATHER - 1), [], "what belongs together is waited for");
        let due = gate.due(GATHER);
        assert_eq!(due.len(), 1, "one task, one notification");
        assert_eq!(due[0].1[0], subject("persist:8", NeedKind::PersistError), "the gravest");
        gate.shown("p/t", GATHER);
        gate.offer("p/t".into(), subject("failed:9", NeedKind::Failed), 1000);
        gate.offer("p/u".into(), subject("failed:7", NeedKind::Failed), 1000);
        assert_eq!(gate.due(10_000).len(), 1, "the other task is not held back");
        assert_eq!(gate.next(), Some(GATHER + QUIET), "the next one comes after the minute");
        assert_eq!(gate.due(GATHER + QUIET).len(), 1, "and is not lost");
    }

    #[test]
    fn a_permission_is_answered_from_the_notification() {
        let ask = json!({ "id": "per_1", "kind": "permission", "text": "bash `npm audit`",
            "askedAt": 0 });
        let note = of_need(&need(json!({ "kind": "blocked", "asks": [ask] })), Notify::Failure)
            .expect("a person is needed");
        assert_eq!(note.title, "digest waits for you", "who");
        assert_eq!(note.body, "bash `npm audit`", "for what");
        let labels: Vec<_> = note.buttons.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["Allow once", "Deny"], "what can be said at once");
        let answered = json!({ "id": "per_1", "kind": "permission", "text": "x", "askedAt": 0,
            "answeredAt": 1 });
        let over = need(json!({ "kind": "blocked", "asks": [answered] }));
        assert_eq!(of_need(&over, Notify::Failure), None, "it was answered meanwhile");
    }

    #[test]
    fn a_persist_error_says_what_ran_what_was_not_written_and_what_that_means() {
        let note = of_need(
            &need(
                json!({ "kind": "persist_error", "text": "digest ran and ended as succeeded, but \
                that could not be written: /d/p.json: disk full", "help": "Nothing runs twice." }),
            ),
            Notify::Failure,
        )
        .expect("a warning");
        assert_eq!(note.title, "digest ran, but its end could not be written", "the task's name");
        assert!(note.body.contains("/d/p.json: disk full"), "what: {}", note.body);
        assert!(note.body.contains("Nothing runs twice"), "what it means: {}", note.body);
        assert!(note.urgent, "it stays until it was seen");
    }

    #[test]
    fn a_night_is_one_notification() {
        let note = of_missed(&[row("a", 8), row("b", 1)]).expect("something was missed");
        assert_eq!(note.title, "Missed: 9 runs of 2 tasks", "with counts");
        assert!(note.body.starts_with("a, b. Nobody could run them"), "{}", note.body);
        assert_eq!(of_missed(&[]), None, "nothing was missed");
    }

    #[test]
    fn wishes_are_honoured() {
        assert_eq!(of_need(&need(json!({})), Notify::Never), None, "never is never");
        let mut run = row("a", 1);
        run.status = loopkeeper_engine::ledger::Status::Succeeded;
        assert_eq!(of_success(&run, Notify::Failure), None, "good news is not asked for");
        assert!(of_success(&run, Notify::Always).is_some(), "here it is");
        assert!(of_recovery(&run, Notify::Failure).is_some(), "after a failure it is news");
    }

    #[test]
    fn a_window_that_shows_it_is_enough() {
        let note = of_need(&need(json!({})), Notify::Failure).expect("a failure");
        assert!(is_in_sight(&note, Some("#/runs/8")), "the run is before the user");
        assert!(is_in_sight(&note, Some("#/needs")), "so are all needs");
        assert!(!is_in_sight(&note, Some("#/settings")), "elsewhere it is not seen");
        assert!(!is_in_sight(&note, None), "without focus nobody looks");
    }
}
