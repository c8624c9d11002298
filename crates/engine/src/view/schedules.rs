//! A schedule in words and its coming occurrences: of a task, or of a text that is none yet.

use crate::schedule::ClockChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A schedule in words and its next occurrences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// In words, without the zone.
    pub words: String,
    /// The zone in force.
    pub timezone: String,
    /// The next occurrences.
    pub next: Vec<Upcoming>,
    /// What is worth knowing (a classic cron would differ, …).
    pub notes: Vec<String>,
}

/// One coming occurrence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upcoming {
    /// When.
    pub at: i64,
    /// What a clock change did to it, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_change: Option<ClockChange>,
}
