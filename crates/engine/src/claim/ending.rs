//! What the shared file shows of a run that ended, or of a claim that failed, in the peer's words.

use super::{Taken, judge_taken};
use crate::ledger::{Ending, Run, Status};
use crate::project::{self, Folder, Patch, ProjectError, StatePatch};
use crate::schedule::Compiled;
use crate::task::{LastStatus, TaskKey};

/// What the shared file shows of an end.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Whether it counts as a success there.
    pub succeeded: bool,
    /// How long the agent was at work; `None` leaves what stands there.
    pub duration_ms: Option<i64>,
    /// The session; `None` leaves what stands there.
    pub session_id: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Shown {
    /// Takes what is shown from an end.
    pub fn of(ending: &Ending) -> Shown {
        Shown {
            succeeded: ending.status == Status::Succeeded,
            duration_ms: ending.duration_ms,
            session_id: ending.session_id.clone(),
            error: ending.error.clone(),
        }
    }

    /// The same from a row that ended before.
    pub fn of_row(run: &Run) -> Shown {
        Shown {
            succeeded: run.status == Status::Succeeded,
            duration_ms: run.duration_ms,
            session_id: run.session_id.clone(),
            error: run.error.clone(),
        }
    }

    fn patch(&self, now: i64) -> StatePatch {
        let status = if self.succeeded { LastStatus::Success } else { LastStatus::Error };
        let mut patch = StatePatch {
            updated_at: Patch::Set(now),
            last_status: Patch::Set(status),
            ..StatePatch::default()
        };
        if let Some(duration) = self.duration_ms {
            patch.last_duration_ms = Patch::Set(duration);
        }
        if let Some(session) = &self.session_id {
            patch.last_session_id = Patch::Set(session.clone());
        }
        patch.last_error = match (&self.error, self.succeeded) {
            (_, true) => Patch::Remove,
            (Some(error), false) => Patch::Set(error.clone()),
            (None, false) => Patch::Set("the run failed without a word".to_owned()),
        };
        patch
    }
}

/// Writes an end into the shared file, only where `lastRunAt` is still this run's; a `once` task
/// whose slot it was is switched off (PROTOCOL §5). Times in ms since 1970. Blocks.
///
/// # Errors
/// When the file or its lock cannot be had; then nothing was written.
pub fn show_end(
    folder: &Folder,
    key: &TaskKey,
    run_at: i64,
    slot: Option<i64>,
    shown: &Shown,
    now: i64,
) -> Result<(), ProjectError> {
    project::update(folder, &key.project_id, |document| {
        let Some(task) = document.task(&key.task_id) else { return Ok(()) };
        if task.state.last_run_at != Some(run_at) {
            return Ok(());
        }
        // Judged on the fresh record: a deleted task is not resurrected, an edit not undone.
        let consumed = task.enabled
            && task.schedule.is_once()
            && slot.is_some_and(|slot| {
                Compiled::new(&task.schedule).is_ok_and(|schedule| schedule.yields(slot))
            });
        document.set_state(&key.task_id, &shown.patch(now));
        if consumed {
            document.set_enabled(&key.task_id, false);
        }
        Ok::<(), ProjectError>(())
    })
    .map(|_| ())
}

/// Writes a failed claim into the shared file, as far as that goes; says what somebody else took
/// meanwhile, this slot or a later one, and then writes nothing. Times in ms since 1970. Blocks.
pub fn show_claim_failure(
    folder: &Folder,
    key: &TaskKey,
    slot: i64,
    compiled: Option<&Compiled>,
    error: &str,
    now: i64,
) -> Option<Taken> {
    let mut taken = None;
    let written = project::update(folder, &key.project_id, |document| {
        let Some(task) = document.task(&key.task_id) else { return Ok(()) };
        let last = task.state.last_scheduled_for;
        taken = judge_taken(slot, last, now, compiled);
        if taken.is_none() {
            let patch = StatePatch {
                updated_at: Patch::Set(now),
                last_status: Patch::Set(LastStatus::Error),
                last_error: Patch::Set(error.to_owned()),
                ..StatePatch::default()
            };
            document.set_state(&key.task_id, &patch);
        }
        Ok::<(), ProjectError>(())
    });
    if let Err(error) = written {
        tracing::debug!(%error, "the failed claim is not in the shared file either");
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_state_never_keeps_an_error_of_a_success() {
        let mut ending = Ending::new(Status::Succeeded);
        ending.error = Some("kept in a worktree".to_owned());
        let patch = Shown::of(&ending).patch(1);
        assert_eq!(patch.last_error, Patch::Remove, "the peer reads lastError as a failure");
        let lost = Shown::of(&Ending::new(Status::Lost)).patch(1);
        assert_eq!(lost.last_status, Patch::Set(LastStatus::Error), "lost is no success");
    }
}
