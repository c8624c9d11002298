//! Statuses, reasons and triggers of runs, and which status may follow which.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs, reason = "the words are PROTOCOL §6's and say it")]
        pub enum $name { $($variant),+ }

        impl $name {
            /// Lists every word.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Returns the word as it stands in the ledger and on the wire.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// Reads a word; `None` for one that this version does not know.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.word()))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                $name::from_word(value.as_str()?).ok_or(FromSqlError::InvalidType)
            }
        }
    };
}

words! {
    /// What became of a slot or a manual run (PROTOCOL §6).
    Status {
        Claimed = "claimed", Queued = "queued", Retrying = "retrying", Running = "running",
        Blocked = "blocked", Succeeded = "succeeded", Failed = "failed", TimedOut = "timed_out",
        Cancelled = "cancelled", Lost = "lost", Skipped = "skipped", Missed = "missed",
        Deduped = "deduped", Superseded = "superseded",
    }
}

words! {
    /// Why a run has its status (PROTOCOL §6).
    Reason {
        AlreadyRunning = "already_running", Paused = "paused", AutoPaused = "auto_paused",
        Budget = "budget", NotApproved = "not_approved", WrongHost = "wrong_host",
        WrongProject = "wrong_project", ClaimFailed = "claim_failed", NotSent = "not_sent",
        Asleep = "asleep", Down = "down", Late = "late", Timeout = "timeout",
        BlockedTimeout = "blocked_timeout", ByUser = "by_user", Shutdown = "shutdown",
        ConfigUnreadable = "config_unreadable", AgentGone = "agent_gone",
        AgentError = "agent_error", NoAnswer = "no_answer", Newer = "newer",
        StaleResult = "stale_result", DefinitionChanged = "definition_changed",
        ElsewhereClaimed = "elsewhere_claimed", BadFolder = "bad_folder",
        UnknownModel = "unknown_model", UnknownAgent = "unknown_agent",
        Unreachable = "unreachable", NotStarted = "not_started", ModelError = "model_error",
        Truncated = "truncated", Rejected = "rejected", Aborted = "aborted",
        Restarted = "restarted", GoalBlocked = "goal_blocked", GoalBudget = "goal_budget",
        ExitCode = "exit_code", Signal = "signal", Orphaned = "orphaned",
        Worktree = "worktree",
    }
}

words! {
    /// What made a run start.
    Trigger {
        Scheduled = "scheduled", Manual = "manual", CatchUp = "catch_up", Retry = "retry",
    }
}

impl Status {
    /// The statuses of runs that may still change.
    pub const OPEN: &'static [Status] =
        &[Status::Claimed, Status::Queued, Status::Retrying, Status::Running, Status::Blocked];

    /// Says whether a row with this status may still change.
    pub fn is_open(self) -> bool {
        Status::OPEN.contains(&self)
    }

    /// Says whether a run with this status holds the task's marker.
    pub fn holds_marker(self) -> bool {
        matches!(self, Status::Claimed | Status::Running | Status::Blocked)
    }

    /// Says whether an agent was at work and came to an end.
    pub fn is_ended(self) -> bool {
        use Status::*;
        matches!(self, Succeeded | Failed | TimedOut | Cancelled | Lost)
    }

    /// Says whether an agent was asked (or may have been).
    pub fn was_sent(self) -> bool {
        self.is_ended() || matches!(self, Status::Running | Status::Blocked)
    }

    /// Says whether this end counts towards auto-pause.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Lost)
    }

    /// Says whether `next` may follow. The schema enforces the same table with a trigger, so that
    /// no statement of any version can make an illegal step.
    pub fn may_become(self, next: Status) -> bool {
        use Status::*;
        match self {
            Claimed => matches!(
                next,
                Running
                    | Queued
                    | Retrying
                    | Failed
                    | Cancelled
                    | Lost
                    | Skipped
                    | Deduped
                    | Superseded
            ),
            Queued | Retrying => {
                matches!(next, Claimed | Superseded | Cancelled | Skipped | Failed)
            }
            Running => matches!(next, Blocked | Succeeded | Failed | TimedOut | Cancelled | Lost),
            Blocked => matches!(next, Running | Succeeded | Failed | TimedOut | Cancelled | Lost),
            _ => false,
        }
    }

    /// Returns the marker-holding statuses that `self` may follow, as a list for SQL.
    pub(super) fn held_sources(self) -> String {
        Status::ALL
            .iter()
            .filter(|from| from.holds_marker() && from.may_become(self))
            .map(|from| format!("'{from}'"))
            .collect::<Vec<_>>()
            .join(",")
    }
}
