//! The policy of a task: how lateness, overlap, failures and limits are handled.
//!
//! Every field is optional: what a task does not say, the settings decide ([`crate::settings::Runs`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What happens to slots that were noticed too late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CatchUp {
    /// They are recorded as missed.
    #[default]
    Skip,
    /// The newest one inside the window runs once.
    Latest,
}

/// What happens to a slot that is due while the task still runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// It is recorded as skipped.
    #[default]
    Skip,
    /// It waits for the run to end.
    Queue,
}

/// When a run's end is told by a notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// When it failed.
    #[default]
    Failure,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much a task may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Budget {
    /// Runs a day, in the task's zone; `None` is without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_day: Option<u32>,
}

/// What one task asks for; `None` means as the settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Policy {
    /// Awake time that a run may take.
    #[serde(default, with = "optional_duration", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Duration>,
    /// How long a run may wait for a person.
    #[serde(default, with = "optional_duration", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub blocked_timeout: Option<Duration>,
    /// What happens to slots noticed too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUp>,
    /// How old a slot may be to be caught up.
    #[serde(default, with = "optional_duration", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub catch_up_window: Option<Duration>,
    /// What happens to a slot due while the task runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// Further attempts after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The wait before the first of them; it doubles each time.
    #[serde(default, with = "optional_duration", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub retry_backoff: Option<Duration>,
    /// When a notification tells of a run's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// The host names that may run it; empty is every host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_on: Vec<String>,
    /// The projects (id, folder or folder name) that it runs in; empty is every project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_in: Vec<String>,
    /// How much it may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// A URL called at start, success and failure, in place of the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether `{{names}}` in the prompt are filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<bool>,
    /// Whether each run gets a git worktree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<bool>,
}

/// Reads and writes `Option<Duration>` as `30s 5m 2h 1d`.
pub(crate) mod optional_duration {
    use super::super::policy::{format_duration, parse_duration};
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => to.serialize_str(&format_duration(*duration)),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| parse_duration(&text).map_err(serde::de::Error::custom)).transpose()
    }
}

/// Reads a duration such as `30s`, `5m`, `2h`, `1d`, `1h 30m`.
///
/// # Errors
/// Says what was wrong and what to write instead.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text.trim())
        .map_err(|_| format!("`{text}` is not a duration: write one such as 30s, 5m, 2h or 1d"))
}

/// Writes a duration as [`parse_duration`] reads it, in the largest units that are exact: `30s`,
/// `5m`, `1h 30m`, `1d`. What is below a millisecond is left out.
pub fn format_duration(duration: Duration) -> String {
    const UNITS: [(u128, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut left = duration.as_millis();
    let mut parts = Vec::new();
    for (size, unit) in UNITS {
        let count = left / size;
        left %= size;
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        for (text, written) in [
            ("30s", "30s"),
            ("5m", "5m"),
            ("120m", "2h"),
            ("24h", "1d"),
            ("90m", "1h 30m"),
            ("1500ms", "1s 500ms"),
            ("0s", "0s"),
            ("400d", "400d"),
        ] {
            let duration = parse_duration(text).expect(text);
            assert_eq!(format_duration(duration), written, "not `1day` or `2months`");
            let again = parse_duration(&format_duration(duration)).expect(written);
            assert_eq!(again, duration, "what is written is read as the same");
        }
    }
}
