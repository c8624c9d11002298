//! `plan`: every coming occurrence of all tasks, and what would become of it.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{Place, project};
use crate::output::Ink;
use crate::schedule::instant;
use chrono::TimeZone as _;
use chrono_tz::Tz;
use loopkeeper_engine::engine::{Engine, TaskPlan};
use loopkeeper_engine::schedule::ClockChange;
use loopkeeper_engine::task::policy::{Overlap, Policy};
use loopkeeper_engine::view::{Condition, PauseView, ProjectView};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;

/// How many rows a plan holds at most.
const MOST: usize = 20_000;
/// How many of the tasks that are due together a row names.
const NAMED: usize = 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// From when [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Until when [default: a day later]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Also tasks that are off
    #[arg(long)]
    off: bool,
}

/// One occurrence, with what would become of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    at: i64,
    project_id: String,
    project_label: String,
    task_id: String,
    task_name: String,
    /// `run`, or why not: the reasons of skipped rows, and `off`.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_change: Option<ClockChange>,
    /// The first tasks that are due in the same second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collides: Vec<String>,
    /// How many more are.
    #[serde(skip_serializing_if = "is_zero")]
    collides_more: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What decides about every row alike.
struct World {
    now: i64,
    host: String,
    pause: Option<PauseView>,
    global: u32,
    per_project: u32,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let (now, zone) = (context.now(), context.out.zone);
    let from = args.from.as_deref().map_or(Ok(now), |text| instant(text, now, zone))?;
    let to = args.to.as_deref().map_or(Ok(from + 86_400_000), |text| instant(text, now, zone))?;
    if to <= from {
        return Err(Failure::usage(format!(
            "{} is not later than {}",
            context.out.at(to),
            context.out.at(from)
        )));
    }
    let settings = context.settings()?;
    let world = World {
        now,
        host: context.environment.machine.host_name.clone(),
        pause: None,
        global: settings.runs.global,
        per_project: settings.runs.per_project,
    };
    let engine = context.open_with(settings, false).await?;
    let world = World { pause: engine.overview().await?.paused, ..world };
    let place = project(context, &engine, &args.place).await?;
    let found = gather(&engine, place.as_ref(), &world, (from, to), args.off).await?;
    let rows = collisions(found.rows, &world);
    if context.out.json {
        context.out.value(&json!({
            "from": from, "to": to, "rows": rows, "more": found.cut_at.is_some(),
            "cutAt": found.cut_at, "faults": found.faults,
        }));
        return Ok(DONE);
    }
    print(context, &rows);
    for fault in &found.faults {
        context.out.warn(fault);
    }
    if let Some(at) = found.cut_at {
        // What is left out first is after that.
        let before = context.out.at(at - 1_000);
        context.out.warn(format!("these are the first {MOST}; go on with --from \"{before}\""));
    }
    Ok(DONE)
}

/// The rows in the order of time, and what is not in them.
struct Found {
    rows: Vec<Row>,
    cut_at: Option<i64>,
    faults: Vec<String>,
}

async fn gather(
    engine: &Engine,
    place: Option<&ProjectView>,
    world: &World,
    (from, to): (i64, i64),
    off: bool,
) -> Result<Found, Failure> {
    let projects: HashMap<String, ProjectView> =
        engine.projects().await?.into_iter().map(|project| (project.id.clone(), project)).collect();
    let id = place.map(|project| project.id.as_str());
    let plan = engine.plan(id, from, to, off, MOST).await?;
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for task in &plan.tasks {
        if let Some(error) = &task.schedule_error {
            faults.push(format!("{}: {error}", task.summary.name));
        }
        rows.extend(judge(task, world, projects.get(&task.summary.project_id)));
    }
    rows.sort_by(|a, b| (a.at, &a.task_name).cmp(&(b.at, &b.task_name)));
    Ok(Found { rows, cut_at: plan.cut_at, faults })
}

fn judge(task: &TaskPlan, world: &World, project: Option<&ProjectView>) -> Vec<Row> {
    let summary = &task.summary;
    let policy = &task.effective_policy;
    let zone: Tz = summary.timezone.parse().unwrap_or(Tz::UTC);
    let usual = summary.last_run.as_ref().and_then(|run| run.duration_ms);
    let mut of_day: HashMap<String, u32> = HashMap::new();
    let mut before: Option<i64> = None;
    let rows = task.next.iter().map(|next| {
        let at = next.at;
        let mut notes = Vec::new();
        let day = zone.timestamp_millis_opt(at).single().map(|at| at.format("%F").to_string());
        let mut verdict = refusal(task, at, world, project);
        if verdict == "run" {
            let runs = of_day.entry(day.unwrap_or_default()).or_default();
            match policy.budget.and_then(|budget| budget.runs_per_day) {
                Some(limit) if *runs >= limit => verdict = "budget",
                _ => *runs += 1,
            }
        }
        if verdict == "run" {
            notes.extend(overlap(policy, usual, before.map(|before| at - before)));
            before = Some(at);
        }
        if at <= world.now {
            notes.push("is over: `loopkeeper runs` says what became of it".to_owned());
        }
        Row {
            at,
            project_id: summary.project_id.clone(),
            project_label: summary.project_label.clone(),
            task_id: summary.id.clone(),
            task_name: summary.name.clone(),
            verdict,
            notes,
            clock_change: next.clock_change.clone(),
            collides: Vec::new(),
            collides_more: 0,
        }
    });
    rows.collect()
}

/// Returns `run`, or the rule that would stop this occurrence.
fn refusal(task: &TaskPlan, at: i64, world: &World, project: Option<&ProjectView>) -> &'static str {
    let policy = &task.policy;
    let here = |name: &String| name.eq_ignore_ascii_case(&world.host);
    let this_project = |name: &String| {
        project.is_none_or(|project| {
            let folder = std::path::Path::new(&project.path);
            project.id == *name
                || project.path == *name
                || folder.file_name().is_some_and(|last| last == name.as_str())
        })
    };
    let paused = world.pause.as_ref().is_some_and(|pause| pause.holds(at));
    if !task.summary.enabled {
        "off"
    } else if !policy.run_on.is_empty() && !policy.run_on.iter().any(here) {
        "wrong_host"
    } else if !policy.only_in.is_empty() && !policy.only_in.iter().any(this_project) {
        "wrong_project"
    } else if paused {
        "paused"
    } else if task.summary.condition == Condition::NeedsApproval {
        "not_approved"
    } else if task.is_auto_paused {
        "auto_paused"
    } else {
        "run"
    }
}

/// Says what happens when the run before is likely to go on still.
fn overlap(policy: &Policy, usual_ms: Option<i64>, gap_ms: Option<i64>) -> Option<String> {
    let (usual, gap) = (usual_ms?, gap_ms?);
    (usual > gap).then(|| {
        let last = crate::output::duration(usual);
        match policy.overlap.unwrap_or_default() {
            Overlap::Skip => {
                format!("the last run took {last}: this one may be skipped (already running)")
            }
            Overlap::Queue => format!("the last run took {last}: this one may wait for it"),
        }
    })
}

/// Marks what is due in the same second, and what has to wait for its turn.
fn collisions(mut rows: Vec<Row>, world: &World) -> Vec<Row> {
    let mut start = 0;
    while start < rows.len() {
        let second = rows[start].at.div_euclid(1_000);
        let length =
            rows[start..].iter().take_while(|row| row.at.div_euclid(1_000) == second).count();
        let group = &mut rows[start..start + length];
        let running = group.iter().filter(|row| row.verdict == "run");
        let together = running.clone().count();
        // One more than are named: a row does not name itself.
        let first: Vec<String> = running.take(NAMED + 1).map(|row| row.task_name.clone()).collect();
        let (mut ahead, mut ahead_here) = (0, HashMap::<String, u32>::new());
        for (own, row) in group.iter_mut().filter(|row| row.verdict == "run").enumerate() {
            let others = first.iter().enumerate().filter(|(index, _)| *index != own);
            row.collides = others.take(NAMED).map(|(_, name)| name.clone()).collect();
            row.collides_more = together - 1 - row.collides.len();
            let here = ahead_here.entry(row.project_id.clone()).or_default();
            if *here >= world.per_project {
                row.notes.push(format!(
                    "waits for its turn ({} at once in a project)",
                    world.per_project
                ));
            } else if ahead >= world.global {
                row.notes.push(format!("waits for its turn ({} at once)", world.global));
            } else {
                ahead += 1;
                *here += 1;
            }
        }
        start += length;
    }
    rows
}

fn print(context: &Context, rows: &[Row]) {
    let out = &context.out;
    if rows.is_empty() {
        out.note("nothing is due in that time");
    }
    // The same user loop is in several projects under one name.
    let several = rows.iter().any(|row| row.project_id != rows[0].project_id);
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let verdict = match row.verdict {
                "run" => out.ink(Ink::Good, "run"),
                other => out.ink(Ink::Warn, &other.replace('_', " ")),
            };
            let mut notes = row.notes.clone();
            notes.extend(row.clock_change.as_ref().map(ToString::to_string));
            if !row.collides.is_empty() {
                let names: Vec<&str> = row.collides.iter().take(3).map(String::as_str).collect();
                let rest = row.collides.len() - names.len() + row.collides_more;
                let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                notes.push(format!("together with {}{more}", names.join(", ")));
            }
            let project = several.then(|| row.project_label.clone());
            let cells = [out.at(row.at), row.task_name.clone()].into_iter().chain(project);
            cells.chain([verdict, notes.join("; ")]).collect()
        })
        .collect();
    if several {
        out.table(&["AT", "TASK", "PROJECT", "WOULD", "NOTES"], &table);
    } else if !table.is_empty() {
        out.table(&["AT", "TASK", "WOULD", "NOTES"], &table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: i64, task: &str, project: &str) -> Row {
        Row {
            at,
            project_id: project.into(),
            project_label: project.into(),
            task_id: task.into(),
            task_name: task.into(),
            verdict: "run",
            notes: Vec::new(),
            clock_change: None,
            collides: Vec::new(),
            collides_more: 0,
        }
    }

    #[test]
    fn tasks_due_together_wait_for_their_turn() {
        let world = World { now: 0, host: "h".into(), pause: None, global: 4, per_project: 2 };
        let off = Row { verdict: "off", ..row(1_000, "off", "p") };
        let rows = collisions(
            vec![
                row(1_000, "a", "p"),
                row(1_200, "b", "p"),
                off,
                row(1_900, "c", "p"),
                row(2_000, "d", "p"),
            ],
            &world,
        );
        assert_eq!(
            rows[0].collides,
            ["b", "c"],
            "the same second; what is off collides with nothing"
        );
        assert!(rows[2].collides.is_empty());
        assert!(rows[1].notes.is_empty() && rows[3].notes[0].contains("2 at once in a project"));
        assert!(rows[4].collides.is_empty(), "another second");
    }

    #[test]
    fn of_many_that_are_due_together_a_row_names_a_few() {
        let world = World { now: 0, host: "h".into(), pause: None, global: 4, per_project: 2 };
        let many = (0..2_000).map(|n| row(1_000, &format!("t{n}"), "p")).collect();
        let rows = collisions(many, &world);
        for row in [&rows[0], &rows[5], &rows[1_999]] {
            assert_eq!((row.collides.len(), row.collides_more), (10, 1_989));
            assert!(!row.collides.contains(&row.task_name), "{row:?}");
        }
    }

    #[test]
    fn a_long_run_meets_the_next_occurrence() {
        let skip = Policy::default();
        let queue = Policy { overlap: Some(Overlap::Queue), ..Policy::default() };
        assert!(
            overlap(&skip, Some(90_000), Some(60_000)).is_some_and(|note| note.contains("skipped"))
        );
        assert!(
            overlap(&queue, Some(90_000), Some(60_000)).is_some_and(|note| note.contains("wait"))
        );
        assert_eq!(overlap(&skip, Some(30_000), Some(60_000)), None);
        assert_eq!(overlap(&skip, None, Some(60_000)), None, "what never ran has no usual length");
    }
}
