//! The rules that hold a run back, and the rows that say so a minute later.
//!
//! A policy skip leaves the shared file alone, so another process may still run the slot; our row
//! follows a minute later, and is `deduped` if the file then shows the slot as taken (PROTOCOL §6).

use super::queue::Waiting;
use super::{Runtime, lock};
use crate::agent::AgentKind;
use crate::claim::{self, Rules, Taken};
use crate::event::EventKind;
use crate::ledger::{Budget, Gate, HeldSlot, Reason, SlotRow, Status, Trigger};
use crate::project;
use crate::settings::ApprovalMode;
use crate::task::policy::Policy;
use crate::task::{Task, TaskKey};
use std::path::Path;
use std::sync::Arc;

/// How long a policy skip waits before it becomes a row.
const WAIT_MS: i64 = 60_000;

/// Judges a task's policy for one claim.
pub(super) struct PolicyGate<'a> {
    pub runtime: &'a Runtime,
    pub task: &'a TaskKey,
    pub trigger: Trigger,
}

impl Rules for PolicyGate<'_> {
    fn gate(&self, task: &Task, hash: &str) -> Result<Gate, Reason> {
        let policy = self.runtime.policy_of(self.task);
        let manual = self.trigger == Trigger::Manual;
        if !manual {
            self.runtime.is_here(&policy, &self.task.project_id)?;
        }
        let settings = self.runtime.settings();
        let budget = policy.budget.and_then(|budget| budget.runs_per_day).filter(|_| !manual);
        let zone = task.schedule.timezone().unwrap_or(&self.runtime.around.machine_zone);
        Ok(Gate {
            pause: !manual,
            definition_hash: (!manual).then(|| hash.to_owned()),
            budget: budget.map(|limit| {
                let (from, to) = day_of(self.runtime.clock.now_ms(), zone);
                Budget { limit, from, to }
            }),
            approval: self
                .runtime
                .needs_approval(task, settings.approval.mode)
                .map(|_| hash.to_owned()),
        })
    }
}

impl Runtime {
    /// Says whether `run_on` and `only_in` let a task run in this process.
    fn is_here(&self, policy: &Policy, project_id: &str) -> Result<(), Reason> {
        let host = &self.around.host_name;
        if !policy.run_on.is_empty() && !policy.run_on.iter().any(|name| name == host) {
            return Err(Reason::WrongHost);
        }
        if policy.only_in.is_empty() {
            return Ok(());
        }
        let board = lock(&self.board);
        let path = board.projects.get(project_id).map(|entry| entry.project.path.clone());
        let named = |name: &String| {
            let path = path.as_deref().unwrap_or(Path::new(""));
            name == project_id
                || Path::new(name) == path
                || path.file_name().is_some_and(|last| last == name.as_str())
        };
        if policy.only_in.iter().any(named) { Ok(()) } else { Err(Reason::WrongProject) }
    }

    /// Returns why a task has to be approved before it runs; `None` when it need not be
    /// (DESIGN §5: a loop that would run with more power than its author may have meant).
    pub(crate) fn needs_approval(&self, task: &Task, mode: ApprovalMode) -> Option<&'static str> {
        let from_loop = task.loop_file.is_some();
        match mode {
            ApprovalMode::None => None,
            ApprovalMode::All => {
                let user = self.around.paths.user_loops();
                let project_scope = task
                    .loop_file
                    .as_deref()
                    .is_some_and(|path| !Path::new(path).starts_with(user));
                project_scope.then_some("every loop of a project is approved before it runs")
            }
            ApprovalMode::Risky if !from_loop => None,
            ApprovalMode::Risky => {
                if self.agents().kind(&task.execution.provider_id) == AgentKind::Command {
                    Some("it runs a command on this machine")
                } else if task.execution.permission_auto_accept == Some(true) {
                    Some(
                        "it would grant every permission without asking, inherited from the task it took over",
                    )
                } else {
                    None
                }
            }
        }
    }

    /// Notes a slot that was held back, in the ledger: it gets its row also when this process ends.
    pub(super) fn defer_skip(self: &Arc<Self>, waiting: &Waiting, slot: i64, reason: Reason) {
        let task = waiting.task.clone();
        let name = lock(&self.board).task(&task).map(|task| task.task.name.clone());
        let held = HeldSlot {
            task_name: name.unwrap_or_else(|| task.task_id.clone()),
            task,
            slot,
            reason,
        };
        self.go_blocking(move |runtime| {
            if let Err(error) = runtime.ledger.hold_back(&held) {
                runtime.ledger_trouble("holding a slot back", &error);
                runtime.hand_back(&held.task, held.slot);
            }
        });
    }

    /// Writes the rows of slots that were held back long enough ago, by whichever process. Blocks.
    pub(super) fn write_deferred(self: &Arc<Self>) {
        let held = match self.ledger.held_back(self.clock.now_ms() - WAIT_MS) {
            Ok(held) => held,
            Err(error) => {
                return self.ledger_trouble("looking for slots that were held back", &error);
            }
        };
        for held in held {
            let document = project::read_only(&self.folder, &held.task.project_id).ok();
            let task = document.as_ref().and_then(|document| document.task(&held.task.task_id));
            let last = task.and_then(|task| task.state.last_scheduled_for);
            let compiled =
                lock(&self.board).task(&held.task).and_then(|task| task.compiled.clone());
            let taken = claim::judge_taken(held.slot, last, self.clock.now_ms(), compiled.as_ref());
            // A later slot that ran says nothing about this one: it was held back.
            let (status, reason) = match taken {
                Some(Taken::Slot) => (Status::Deduped, Reason::ElsewhereClaimed),
                Some(Taken::Later) | None => (Status::Skipped, held.reason),
            };
            let row =
                SlotRow::new(held.task.clone(), held.task_name, held.slot, status, Some(reason));
            match self.ledger.settle(&row) {
                Ok(_) => self.emit(EventKind::RunChanged, Some(&held.task), None),
                Err(error) => {
                    return self.ledger_trouble("recording a slot that was held back", &error);
                }
            }
        }
    }
}

/// Returns the first instant of the day in which `now` lies in a zone, and that of the next one, in
/// ms since 1970. A day has as many hours as the zone gives it.
fn day_of(now: i64, zone: &str) -> (i64, i64) {
    let zone = crate::schedule::zone(zone).unwrap_or(chrono_tz::UTC);
    let today = chrono::DateTime::from_timestamp_millis(now)
        .unwrap_or_default()
        .with_timezone(&zone)
        .date_naive();
    let begin = |day: Option<chrono::NaiveDate>| {
        let midnight = day.unwrap_or(today).and_time(chrono::NaiveTime::MIN);
        // Midnight may be left out by a clock change: the day then begins an hour later.
        let from = (0..4).find_map(|quarter| {
            let at = midnight + chrono::Duration::minutes(quarter * 30);
            at.and_local_timezone(zone).earliest()
        });
        from.map_or(now, |at| at.timestamp_millis())
    };
    (begin(Some(today)), begin(today.succ_opt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_s_day_is_the_zone_s_with_its_clock_changes() {
        let hours = |now, zone| {
            let (from, to) = day_of(now, zone);
            assert!((from..to).contains(&now), "now lies in its own day");
            (to - from) / 3_600_000
        };
        let noon = |day: i64| day * 86_400_000 + 43_200_000;
        // 29 March and 25 October 2026: the clocks change in Berlin.
        assert_eq!(hours(noon(20_541), "Europe/Berlin"), 23, "spring forward");
        assert_eq!(hours(noon(20_751), "Europe/Berlin"), 25, "fall back");
        assert_eq!(hours(noon(20_541), "UTC"), 24, "no change in UTC");
    }
}
