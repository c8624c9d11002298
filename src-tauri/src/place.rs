//! Places of the window: what a click or `--open=…` leads to.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// Everything that `encodeURIComponent` leaves alone; the page decodes with its counterpart.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A place of the window, written behind the `#` of its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The list of tasks.
    Tasks,
    /// What needs a person.
    Needs,
    /// Past and coming runs over time.
    Timeline,
    /// The history.
    Runs,
    /// The settings.
    Settings,
    /// One task.
    Task {
        /// Its project's id.
        project: String,
        /// Its id.
        task: String,
    },
    /// One run.
    Run(i64),
    /// A loop file in the editor.
    Edit {
        /// The file.
        path: String,
        /// The project in which it was chosen.
        project: String,
    },
    /// A JSON task in the form.
    Form {
        /// Its project's id.
        project: String,
        /// Its id.
        task: String,
    },
}

impl Place {
    /// Returns the part of the address behind and with the `#`.
    pub fn hash(&self) -> String {
        let part = |text: &str| utf8_percent_encode(text, PART).to_string();
        match self {
            Place::Tasks => "#/tasks".to_owned(),
            Place::Needs => "#/needs".to_owned(),
            Place::Timeline => "#/timeline".to_owned(),
            Place::Runs => "#/runs".to_owned(),
            Place::Settings => "#/settings".to_owned(),
            Place::Task { project, task } => format!("#/tasks/{}/{}", part(project), part(task)),
            Place::Run(run) => format!("#/runs/{run}"),
            Place::Edit { path, project } => {
                format!("#/editor?path={}&project={}", part(path), part(project))
            }
            Place::Form { project, task } => {
                format!("#/task-form/{}/{}", part(project), part(task))
            }
        }
    }

    /// Reads what `--open=` names: `tasks`, `needs`, `timeline`, `runs`, `settings`,
    /// `task:PROJECT/TASK` or `run:NUMBER`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Place> {
        match text {
            "tasks" => return Some(Place::Tasks),
            "needs" => return Some(Place::Needs),
            "timeline" => return Some(Place::Timeline),
            "runs" => return Some(Place::Runs),
            "settings" => return Some(Place::Settings),
            _ => {}
        }
        match text.split_once(':')? {
            ("run", run) => run.parse().ok().map(Place::Run),
            ("task", task) => {
                let (project, task) = task.split_once('/')?;
                (!project.is_empty() && !task.is_empty())
                    .then(|| Place::Task { project: project.to_owned(), task: task.to_owned() })
            }
            _ => None,
        }
    }

    /// Says whether a window at the address part `shown` shows this already.
    pub fn is_shown_at(&self, shown: &str) -> bool {
        let shown = shown.trim_end_matches('/');
        let hash = self.hash();
        shown == hash || shown.strip_prefix(&hash).is_some_and(|rest| rest.starts_with(['/', '?']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_that_the_page_can_read() {
        let task = Place::Task { project: "p 1".into(), task: "a/b#c".into() };
        assert_eq!(task.hash(), "#/tasks/p%201/a%2Fb%23c", "parts are encoded one by one");
        let edit = Place::Edit { path: "/home/a b/x&y.md".into(), project: "p".into() };
        assert_eq!(
            edit.hash(),
            "#/editor?path=%2Fhome%2Fa%20b%2Fx%26y.md&project=p",
            "a path must not end the query"
        );
    }

    #[test]
    fn open_names_places() {
        assert_eq!(Place::parse("run:12"), Some(Place::Run(12)), "a run by its number");
        let task = Place::Task { project: "p".into(), task: "t/u".into() };
        assert_eq!(Place::parse("task:p/t/u"), Some(task), "only the first slash divides");
        for wrong in ["", "run:x", "task:p", "task:/t", "elsewhere", "javascript:alert(1)"] {
            assert_eq!(Place::parse(wrong), None, "{wrong} is no place");
        }
    }

    #[test]
    fn a_tab_of_a_place_shows_the_place() {
        let task = Place::Task { project: "p".into(), task: "t".into() };
        assert!(task.is_shown_at("#/tasks/p/t/runs"), "the task's own runs are the task");
        assert!(!task.is_shown_at("#/tasks/p/t2"), "another task is not");
        assert!(!Place::Run(1).is_shown_at("#/runs/12"), "another run is not");
    }
}
