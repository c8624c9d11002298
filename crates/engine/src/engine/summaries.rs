//! Tasks as lists and pages show them.

use super::schedules::upcoming;
use super::{Engine, Result, no_task};
use crate::claim::content_hash;
use crate::ledger::{Ask, Brief, Run, Status};
use crate::loops::Scope;
use crate::runtime::board::{BoardTask, ProjectEntry};
use crate::runtime::{Runtime, lock};
use crate::task::TaskKey;
use crate::task::policy::{Budget, Policy};
use crate::view::{Condition, RunBar, Stats, TaskDetail, TaskSummary};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many ended runs a list shows as bars.
const BARS: usize = 14;

/// What the ledger says of all tasks, read once for a whole list.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The newest end of each task.
    ended: HashMap<TaskKey, Run>,
    /// The newest rows of each task, newest first.
    rows: HashMap<TaskKey, Vec<Brief>>,
    open: HashMap<TaskKey, Run>,
    asks: HashMap<i64, Vec<Ask>>,
    auto_paused: HashMap<TaskKey, String>,
    approved: HashMap<String, bool>,
    /// Whether anybody reads the schedules: to say one in words is most of a summary's cost.
    in_words: bool,
}

/// How much of the past is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past<'a> {
    /// The last end and the bars of every task.
    All,
    /// Those of one task.
    Of(&'a TaskKey),
    /// Only what wants somebody: the other tasks show no end and no bars, and none says its
    /// schedule in words.
    Troubles,
}

impl Known {
    /// Reads what tasks need.
    pub fn read(runtime: &Arc<Runtime>, past: Past<'_>) -> Result<Known> {
        let ledger = &runtime.ledger;
        let (ended, rows) = match past {
            Past::All => (ledger.last_ended_of_all()?, ledger.briefs_of_all(BARS + 1)?),
            Past::Of(key) => (
                ledger.last_ended(key)?.map(|run| (key.clone(), run)).into_iter().collect(),
                HashMap::from([(key.clone(), ledger.briefs(key, BARS + 1)?)]),
            ),
            Past::Troubles => (
                ledger.last_failures()?,
                ledger
                    .last_missed()?
                    .into_iter()
                    .map(|(key, run)| (key, vec![Brief::of(&run)]))
                    .collect(),
            ),
        };
        let mut known = Known {
            ended,
            rows,
            auto_paused: ledger
                .auto_paused_tasks()?
                .into_iter()
                .map(|hold| (hold.task, hold.reason))
                .collect(),
            in_words: past != Past::Troubles,
            ..Known::default()
        };
        for run in ledger.open_runs()? {
            if run.status == Status::Blocked {
                let asks = ledger.asks(run.id)?;
                known
                    .asks
                    .insert(run.id, asks.into_iter().filter(|a| a.answered_at.is_none()).collect());
            }
            let key = run.task();
            let shown = known.open.get(&key);
            // A run at work goes before one that waits.
            if shown.is_none_or(|shown| !shown.status.holds_marker()) {
                known.open.insert(key, run);
            }
        }
        Ok(known)
    }

    fn is_approved(&mut self, runtime: &Runtime, hash: &str) -> bool {
        if let Some(answer) = self.approved.get(hash) {
            return *answer;
        }
        let answer = runtime.ledger.is_approved(hash).unwrap_or(false);
        self.approved.insert(hash.to_owned(), answer);
        answer
    }
}

/// Names the tasks that failures in a row paused.
pub(super) fn auto_paused(runtime: &Runtime) -> Result<HashSet<TaskKey>> {
    Ok(runtime.ledger.auto_paused_tasks()?.into_iter().map(|hold| hold.task).collect())
}

/// Draws the summaries of all tasks, or of one project's.
pub(super) fn summaries(
    runtime: &Arc<Runtime>,
    project: Option<&str>,
    past: Past<'_>,
) -> Result<Vec<TaskSummary>> {
    let mut known = Known::read(runtime, past)?;
    // Judging approval asks the board again, so the picture is copied out first; the tasks in it
    // are shared, not copied.
    let picture: Vec<(String, String, BoardTask, usize)> = {
        let board = lock(&runtime.board);
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (_, task) in board.tasks() {
            if let Some(path) = task.task.loop_file.as_deref() {
                *seen.entry(path).or_default() += 1;
            }
        }
        let wanted = |entry: &ProjectEntry| project.is_none_or(|id| entry.project.id == id);
        board
            .tasks()
            .filter(|(entry, _)| wanted(entry))
            .map(|(entry, task)| {
                let path = task.task.loop_file.as_deref();
                let count = path.and_then(|path| seen.get(path).copied()).unwrap_or(1);
                (entry.project.id.clone(), entry.project.label.clone(), task.clone(), count)
            })
            .collect()
    };
    let mut all: Vec<TaskSummary> = picture
        .iter()
        .map(|(id, label, task, seen)| summary(runtime, &mut known, id, label, task, *seen))
        .collect();
    all.sort_by(|a, b| {
        let key = |s: &TaskSummary| (s.condition, s.next_run_at.unwrap_or(i64::MAX));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    Ok(all)
}

fn summary(
    runtime: &Arc<Runtime>,
    known: &mut Known,
    project_id: &str,
    project_label: &str,
    board: &BoardTask,
    seen_in: usize,
) -> TaskSummary {
    let task = &board.task;
    let key = TaskKey::new(project_id, &task.id);
    let mut rows = known.rows.remove(&key).unwrap_or_default();
    rows.retain(|row| !row.status.is_open());
    let open_run = known.open.remove(&key).map(|run| with_memory(runtime, run));
    let why = runtime.needs_approval(task, runtime.settings().approval.mode);
    let unapproved =
        why.map(|_| content_hash(task)).filter(|hash| !known.is_approved(runtime, hash));
    // After what was handled, and after now: a process without timers has looked at nothing yet.
    let from = board.cursor.max(runtime.clock.now_ms());
    let next = board
        .compiled
        .as_ref()
        .filter(|_| task.enabled)
        .and_then(|compiled| compiled.next_after(from));
    let condition = match &open_run {
        Some(run) if run.status == Status::Blocked => Condition::Blocked,
        Some(run) if run.status.holds_marker() => Condition::Running,
        _ if task.enabled && unapproved.is_some() => Condition::NeedsApproval,
        _ if known.auto_paused.contains_key(&key) => Condition::AutoPaused,
        Some(_) => Condition::Waiting,
        None if !task.enabled => Condition::Off,
        None if next.is_some() => Condition::Armed,
        None => Condition::Idle,
    };
    let zone = task.schedule.timezone().unwrap_or(&runtime.around.machine_zone);
    let file = board.file.as_deref();
    let asks = open_run.as_ref().and_then(|run| known.asks.remove(&run.id)).unwrap_or_default();
    TaskSummary {
        project_id: project_id.to_owned(),
        project_label: project_label.to_owned(),
        id: task.id.clone(),
        name: task.name.clone(),
        enabled: task.enabled,
        condition,
        words: match &board.compiled {
            _ if !known.in_words => String::new(),
            Some(compiled) => compiled.words(),
            None => "a schedule that cannot be read".to_owned(),
        },
        timezone: zone.to_owned(),
        foreign_zone: zone != runtime.around.machine_zone,
        model: format!("{}/{}", task.execution.provider_id, task.execution.model_id),
        next_run_at: next,
        loop_file: task.loop_file.clone(),
        scope: task.loop_file.as_ref().map(|path| scope_of(runtime, path)),
        seen_in,
        file_errors: file
            .filter(|file| file.definition.is_none())
            .map(|file| file.diagnostics.clone())
            .unwrap_or_default(),
        open_run,
        last_run: known.ended.remove(&key),
        recent: rows.iter().take(BARS).rev().map(bar).collect(),
        asks,
        approval_hash: unapproved,
    }
}

fn scope_of(runtime: &Runtime, path: &str) -> Scope {
    if std::path::Path::new(path).starts_with(runtime.around.paths.user_loops()) {
        Scope::User
    } else {
        Scope::Project
    }
}

fn bar(row: &Brief) -> RunBar {
    RunBar { id: row.id, status: row.status, at: row.at, duration_ms: row.duration_ms }
}

/// Shows the end that is in memory where the ledger could not take it.
pub(super) fn with_memory(runtime: &Runtime, mut run: Run) -> Run {
    if let Some(unwritten) = lock(&runtime.unwritten).get(&run.id) {
        run.status = unwritten.status;
        run.persist_error = Some(unwritten.why.clone());
    }
    run
}

impl Engine {
    /// Lists the tasks of all projects, or of one, as lists show them.
    ///
    /// # Errors
    /// `NotFound` for an unknown project; `Unavailable` when the ledger cannot be read.
    pub async fn task_summaries(&self, project: Option<&str>) -> Result<Vec<TaskSummary>> {
        let id = project.map(str::to_owned);
        self.with(move |runtime| {
            if let Some(id) = &id
                && !lock(&runtime.board).projects.contains_key(id)
            {
                return Err(super::no_project(id));
            }
            runtime.sync_unseen();
            summaries(runtime, id.as_deref(), Past::All)
        })
        .await
    }

    /// Returns one task with everything that its page shows.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` when the ledger cannot be read.
    pub async fn task(&self, project: &str, task: &str) -> Result<TaskDetail> {
        let key = TaskKey::new(project, task);
        self.with(move |runtime| {
            runtime.sync_unseen();
            let (label, board, seen) = {
                let board = lock(&runtime.board);
                let entry = board
                    .projects
                    .get(&key.project_id)
                    .ok_or_else(|| super::no_project(&key.project_id))?;
                let task = entry.task(&key.task_id).ok_or_else(|| no_task(&key))?.clone();
                let path = task.task.loop_file.as_deref();
                let projects: HashSet<&str> = board
                    .tasks()
                    .filter(|(_, other)| path.is_some() && other.task.loop_file.as_deref() == path)
                    .map(|(entry, _)| entry.project.id.as_str())
                    .collect();
                (entry.project.label.clone(), task.clone(), projects.len().max(1))
            };
            let mut known = Known::read(runtime, Past::Of(&key))?;
            let summary = summary(runtime, &mut known, &key.project_id, &label, &board, seen);
            let settings = runtime.settings();
            let stats = runtime.ledger.stats_30_days(&key)?;
            Ok(TaskDetail {
                summary,
                task: (*board.task).clone(),
                policy: (*board.policy).clone(),
                effective_policy: effective(&settings.effective(&board.policy)),
                next: board
                    .compiled
                    .as_ref()
                    .map(|compiled| upcoming(compiled, runtime.clock.now_ms(), 5))
                    .unwrap_or_default(),
                notes: board.compiled.as_ref().map(|c| c.notes()).unwrap_or_default(),
                stats: Stats {
                    runs: stats.runs,
                    succeeded: stats.succeeded,
                    cost: stats.cost,
                    tokens: stats.tokens,
                },
                auto_pause: runtime.ledger.auto_paused(&key)?.map(|hold| hold.reason),
            })
        })
        .await
    }
}

/// Shows what holds as a policy in which every field is said.
pub(super) fn effective(holds: &crate::settings::EffectivePolicy) -> Policy {
    Policy {
        timeout: Some(holds.timeout),
        blocked_timeout: Some(holds.blocked_timeout),
        catch_up: Some(holds.catch_up),
        catch_up_window: Some(holds.catch_up_window),
        overlap: Some(holds.overlap),
        retries: Some(holds.retries),
        retry_backoff: Some(holds.retry_backoff),
        notify: Some(holds.notify),
        run_on: holds.run_on.clone(),
        only_in: holds.only_in.clone(),
        budget: Some(Budget { runs_per_day: holds.runs_per_day }),
        signal: holds.signal.clone(),
        variables: Some(holds.variables),
        worktree: Some(holds.worktree),
    }
}
