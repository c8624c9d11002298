//! The tray's menu as data, apart from how it is drawn.
//!
//! Labels are literal: whatever a task is called, nothing in it is an access key or a line break.

use crate::place::Place;
use serde::{Deserialize, Serialize};

/// What a click on an item asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Open the window; `None` where it was left.
    Open(Option<Place>),
    /// Start a run, of a disabled task too.
    Run {
        /// The project.
        project: String,
        /// The task.
        task: String,
    },
    /// End a run.
    Stop(i64),
    /// Answer what a blocked run asks.
    Answer {
        /// The run.
        run: i64,
        /// The request.
        ask: String,
        /// The answer.
        reply: Reply,
    },
    /// Enable or disable a task.
    Enable {
        /// The project.
        project: String,
        /// The task.
        task: String,
        /// Whether it is to be enabled.
        on: bool,
    },
    /// End a task's pause after failures.
    ResumeTask {
        /// The project.
        project: String,
        /// The task.
        task: String,
    },
    /// Take a need off the list.
    Dismiss(String),
    /// Pause everything.
    Pause(PauseFor),
    /// End the pause of everything.
    Resume,
    /// Start at login, or no longer: whichever it does not do now.
    StartAtLogin,
    /// Try once more to open the data folder.
    TryAgain,
    /// End the program.
    Quit,
}

/// An answer that a menu or a notification can give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Allowed this once.
    Once,
    /// Not allowed.
    Deny,
    /// One of the offered answers.
    Option(String),
}

/// How long everything is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseFor {
    /// For an hour.
    Hour,
    /// Until the next midnight of the machine's zone.
    Tomorrow,
    /// Until somebody resumes.
    Resumed,
}

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A text that cannot be clicked.
    Text(String),
    /// Something to do.
    Do {
        /// What is read.
        label: String,
        /// What is done.
        action: Action,
    },
    /// Something that is on or off.
    Check {
        /// What is read.
        label: String,
        /// Whether it is on.
        checked: bool,
        /// What a click does.
        action: Action,
    },
    /// A menu of its own.
    Sub {
        /// What is read.
        label: String,
        /// Its lines.
        items: Vec<Item>,
    },
    /// A line between groups.
    Separator,
}

/// Which icon the tray shows, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// Something waits for a person, or the scheduler has stalled.
    Attention,
    /// Everything is paused.
    Paused,
    /// A run goes on.
    Running,
    /// All is well.
    Armed,
}

/// The menu and what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The icon.
    pub icon: Icon,
    /// The first line; the tooltip where the system has one.
    pub head: String,
    /// The lines, the first included.
    pub items: Vec<Item>,
}

impl Item {
    /// Makes a line that does something.
    pub fn act(label: impl Into<String>, action: Action) -> Item {
        Item::Do { label: label.into(), action }
    }

    /// Makes a menu within the menu.
    pub fn sub(label: impl Into<String>, items: Vec<Item>) -> Item {
        Item::Sub { label: label.into(), items }
    }

    /// Says whether `next` can be shown by changing this line's text and mark alone.
    pub fn same_shape(&self, next: &Item) -> bool {
        match (self, next) {
            (Item::Text(_), Item::Text(_)) | (Item::Separator, Item::Separator) => true,
            (Item::Do { action: a, .. }, Item::Do { action: b, .. })
            | (Item::Check { action: a, .. }, Item::Check { action: b, .. }) => a == b,
            (Item::Sub { items: a, .. }, Item::Sub { items: b, .. }) => same_shape(a, b),
            _ => false,
        }
    }
}

/// Says whether menu `b` differs from menu `a` in texts and marks alone.
pub fn same_shape(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_shape(b))
}
