//! Every coming occurrence of all tasks, in the order of time.

use super::summaries::{Past, auto_paused, effective, summaries};
use super::{Engine, Result, no_project};
use crate::runtime::board::BoardTask;
use crate::runtime::lock;
use crate::schedule::Compiled;
use crate::task::TaskKey;
use crate::task::policy::Policy;
use crate::view::{TaskSummary, Upcoming};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A task, its rules, and what comes of it.
#[derive(Debug, Clone)]
pub struct TaskPlan {
    /// The task as lists show it.
    pub summary: TaskSummary,
    /// What its definition says.
    pub policy: Arc<Policy>,
    /// What holds, the settings' own values included.
    pub effective_policy: Policy,
    /// Whether failures in a row paused it.
    pub is_auto_paused: bool,
    /// Why its schedule cannot be read; `None` when it can.
    pub schedule_error: Option<String>,
    /// Its occurrences within the time that was asked for.
    pub next: Vec<Upcoming>,
}

/// The coming occurrences of all tasks.
#[derive(Debug, Clone)]
pub struct Plan {
    /// In the order of lists.
    pub tasks: Vec<TaskPlan>,
    /// The first occurrence that is left out, ms since 1970; `None` when none is.
    pub cut_at: Option<i64>,
}

impl Engine {
    /// Collects the occurrences after `from` up to `to` (ms since 1970), of all tasks or of one
    /// project's; at most `most`, the earliest of them. Tasks that are off are left out, unless
    /// they are wanted too.
    ///
    /// # Errors
    /// `NotFound` for an unknown project; `Unavailable` when the ledger cannot be read.
    pub async fn plan(
        &self,
        project: Option<&str>,
        from: i64,
        to: i64,
        off_too: bool,
        most: usize,
    ) -> Result<Plan> {
        let id = project.map(str::to_owned);
        self.with(move |runtime| {
            if let Some(id) = &id
                && !lock(&runtime.board).projects.contains_key(id)
            {
                return Err(no_project(id));
            }
            runtime.sync_unseen();
            let settings = runtime.settings();
            let paused = auto_paused(runtime)?;
            let summaries = summaries(runtime, id.as_deref(), Past::All)?;
            let board = lock(&runtime.board);
            let known: Vec<(TaskSummary, BoardTask)> = summaries
                .into_iter()
                .filter(|summary| summary.enabled || off_too)
                .filter_map(|summary| {
                    let task = board.projects.get(&summary.project_id)?.task(&summary.id)?.clone();
                    Some((summary, task))
                })
                .collect();
            drop(board);
            let schedules = known.iter().map(|(_, task)| task.compiled.as_ref()).collect();
            let (occurrences, cut_at) = earliest(schedules, from, to, most);
            let tasks =
                known.into_iter().zip(occurrences).map(|((summary, task), next)| TaskPlan {
                    is_auto_paused: paused
                        .contains(&TaskKey::new(&summary.project_id, &summary.id)),
                    effective_policy: effective(&settings.effective(&task.policy)),
                    policy: task.policy,
                    schedule_error: match task.compiled {
                        Some(_) => None,
                        None => {
                            Compiled::new(&task.task.schedule).err().map(|error| error.to_string())
                        }
                    },
                    summary,
                    next,
                });
            Ok(Plan { tasks: tasks.collect(), cut_at })
        })
        .await
    }
}

/// Takes occurrences of all schedules in the order of time until enough are there; names the first
/// that is left.
fn earliest(
    schedules: Vec<Option<&Compiled>>,
    from: i64,
    to: i64,
    most: usize,
) -> (Vec<Vec<Upcoming>>, Option<i64>) {
    let mut found: Vec<Vec<Upcoming>> = vec![Vec::new(); schedules.len()];
    let next = |index: usize, after: i64| {
        schedules[index]?.next_after(after).filter(|at| *at <= to).map(|at| Reverse((at, index)))
    };
    let mut heads: BinaryHeap<_> = (0..schedules.len()).filter_map(|at| next(at, from)).collect();
    let mut count = 0;
    while let Some(Reverse((at, index))) = heads.pop() {
        if count == most {
            return (found, Some(at));
        }
        let clock_change = schedules[index].and_then(|compiled| compiled.clock_change(at));
        found[index].push(Upcoming { at, clock_change });
        count += 1;
        heads.extend(next(index, at));
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Schedule;

    #[test]
    fn the_earliest_of_all_are_taken_and_the_cut_is_told() {
        let compiled = |cron: &str| {
            let timezone = Some("UTC".to_owned());
            Compiled::new(&Schedule::Cron { cron: cron.to_owned(), timezone }).expect("valid")
        };
        let (minute, hour) = (compiled("* * * * *"), compiled("0 * * * *"));
        let start = 1_767_225_600_000;
        let at = |minutes: i64| start + minutes * 60_000;
        let times = |found: &[Upcoming]| found.iter().map(|next| next.at).collect::<Vec<_>>();
        let both = vec![Some(&minute), None, Some(&hour)];
        let (found, cut) = earliest(both.clone(), start, at(61), 1_000);
        assert_eq!((found[0].len(), found[1].len(), times(&found[2])), (61, 0, vec![at(60)]));
        assert_eq!(cut, None, "all are there, the last instant included");
        let (found, cut) = earliest(both, start, at(61), 60);
        assert_eq!((found[0].len(), found[2].len(), cut), (60, 0, Some(at(60))));
        let (found, cut) = earliest(vec![Some(&minute)], start, at(60), 60);
        assert_eq!((found[0].len(), cut), (60, None), "as many as there are is no cut");
    }
}
