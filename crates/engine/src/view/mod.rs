//! What the engine shows: the answers of [`crate::engine::Engine`]'s operations.
//!
//! Every surface (tray, window, web page, command line) draws from these types alone, so that all
//! of them tell one truth. On the wire: camelCase, wall times in ms since 1970, durations in ms.
//! A module for each thing that is shown, named like its operations in [`crate::engine`].

mod agents;
mod approvals;
mod doctor;
mod loop_files;
mod needs;
mod overview;
mod projects;
mod runs;
mod schedules;
mod tasks;
mod timeline;

pub use agents::{AgentsView, CommandAgentView, LogView, ModelsView, SettingsView};
pub use approvals::ApprovalView;
pub use doctor::{Finding, FindingSeverity};
pub use loop_files::{CheckView, Deleted, LoopFileView};
pub use needs::{Need, NeedKind};
pub use overview::{NextUp, Overview, PauseView, StatusCounts};
pub use projects::ProjectView;
pub use runs::{RunAnswer, RunView};
pub use schedules::{Preview, Upcoming};
pub use tasks::{Condition, RunBar, Stats, TaskDetail, TaskSummary};
pub use timeline::{Lane, Timeline};
