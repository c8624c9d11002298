//! `plan`: every coming occurrence of all tasks, and what would become of it.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use crate::find::{Place, project};
use crate::output::Ink;
use crate::schedule::instant;
use chrono::TimeZone as _;
use chrono_tz::Tz;
use loopkeeper_engine::engine::{Engine, EngineError, preview_schedule};
use loopkeeper_engine::schedule::ClockChange;
use loopkeeper_engine::task::policy::{Overlap, Policy};
use loopkeeper_engine::view::{Condition, PauseView, ProjectView, TaskDetail};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;

/// How many rows a plan holds at most.
const MOST: usize = 20_000;

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
    task_id: String,
    task_name: String,
    /// `run`, or why not: the reasons of skipped rows, and `off`.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_change: Option<ClockChange>,
    /// The tasks that are due in the same second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collides: Vec<String>,
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
    let (rows, more, faults) =
        gather(context, &engine, place.as_ref(), &world, (from, to), args.off).await?;
    let rows = collisions(rows, &world);
    if context.out.json {
        context.out.value(
            &json!({ "from": from, "to": to, "rows": rows, "more": more, "faults": faults }),
        );
        return Ok(DONE);
    }
    print(context, &rows);
    for fault in &faults {
        context.out.warn(fault);
    }
    if more {
        context.out.warn(format!("more than {MOST} occurrences: name an earlier --to"));
    }
    Ok(DONE)
}

async fn gather(
    context: &Context,
    engine: &Engine,
    place: Option<&ProjectView>,
    world: &World,
    (from, to): (i64, i64),
    off: bool,
) -> Result<(Vec<Row>, bool, Vec<String>), Failure> {
    match place {
        Some(project) => engine.sync_project(&project.id).await?,
        None => engine.sync_all_projects().await?,
    }
    let projects: HashMap<String, ProjectView> =
        engine.projects().await?.into_iter().map(|project| (project.id.clone(), project)).collect();
    let (mut rows, mut more, mut faults) = (Vec::new(), false, Vec::new());
    for summary in engine.task_summaries(place.map(|project| project.id.as_str())).await? {
        if !summary.enabled && !off {
            continue;
        }
        let detail = engine.task(&summary.project_id, &summary.id).await?;
        let mut occurrences = Vec::new();
        match occur(context, &detail, from, to, MOST - rows.len(), &mut occurrences) {
            Ok(cut) => more |= cut,
            Err(error) => faults.push(format!("{}: {error}", summary.name)),
        }
        rows.extend(judge(&detail, &occurrences, world, projects.get(&summary.project_id)));
        if rows.len() >= MOST {
            more = true;
            break;
        }
    }
    rows.sort_by(|a, b| (a.at, &a.task_name).cmp(&(b.at, &b.task_name)));
    Ok((rows, more, faults))
}

/// Collects a task's occurrences (after `from` up to `to`); says whether some were left out.
fn occur(
    context: &Context,
    detail: &TaskDetail,
    from: i64,
    to: i64,
    room: usize,
    into: &mut Vec<(i64, Option<ClockChange>)>,
) -> Result<bool, EngineError> {
    let mut after = from;
    loop {
        let batch = preview_schedule(
            &detail.task.schedule,
            &context.environment.machine.zone,
            after,
            1_000,
        )?
        .next;
        for next in &batch {
            if next.at > to {
                return Ok(false);
            }
            if into.len() >= room {
                return Ok(true);
            }
            into.push((next.at, next.clock_change.clone()));
        }
        match batch.last() {
            Some(last) if batch.len() == 1_000 => after = last.at,
            _ => return Ok(false),
        }
    }
}

fn judge(
    detail: &TaskDetail,
    occurrences: &[(i64, Option<ClockChange>)],
    world: &World,
    project: Option<&ProjectView>,
) -> Vec<Row> {
    let summary = &detail.summary;
    let policy = &detail.effective_policy;
    let zone: Tz = summary.timezone.parse().unwrap_or(Tz::UTC);
    let usual = summary.last_run.as_ref().and_then(|run| run.duration_ms);
    let mut of_day: HashMap<String, u32> = HashMap::new();
    let mut before: Option<i64> = None;
    let rows = occurrences.iter().map(|(at, change)| {
        let mut notes = Vec::new();
        let day = zone.timestamp_millis_opt(*at).single().map(|at| at.format("%F").to_string());
        let mut verdict = refusal(detail, *at, world, project);
        if verdict == "run" {
            let runs = of_day.entry(day.unwrap_or_default()).or_default();
            match policy.budget.and_then(|budget| budget.runs_per_day) {
                Some(limit) if *runs >= limit => verdict = "budget",
                _ => *runs += 1,
            }
        }
        if verdict == "run" {
            notes.extend(overlap(policy, usual, before.map(|before| at - before)));
            before = Some(*at);
        }
        if *at <= world.now {
            notes.push("is over: `loopkeeper runs` says what became of it".to_owned());
        }
        Row {
            at: *at,
            project_id: summary.project_id.clone(),
            task_id: summary.id.clone(),
            task_name: summary.name.clone(),
            verdict,
            notes,
            clock_change: change.clone(),
            collides: Vec::new(),
        }
    });
    rows.collect()
}

/// Returns `run`, or the rule that would stop this occurrence.
fn refusal(
    detail: &TaskDetail,
    at: i64,
    world: &World,
    project: Option<&ProjectView>,
) -> &'static str {
    let policy = &detail.policy;
    let here = |name: &String| name.eq_ignore_ascii_case(&world.host);
    let this_project = |name: &String| {
        project.is_none_or(|project| {
            let folder = std::path::Path::new(&project.path);
            project.id == *name
                || project.path == *name
                || folder.file_name().is_some_and(|last| last == name.as_str())
        })
    };
    let paused = world
        .pause
        .as_ref()
        .is_some_and(|pause| at >= pause.since && pause.until.is_none_or(|until| at < until));
    if !detail.summary.enabled {
        "off"
    } else if !policy.run_on.is_empty() && !policy.run_on.iter().any(here) {
        "wrong_host"
    } else if !policy.only_in.is_empty() && !policy.only_in.iter().any(this_project) {
        "wrong_project"
    } else if paused {
        "paused"
    } else if detail.summary.condition == Condition::NeedsApproval {
        "not_approved"
    } else if detail.auto_pause.is_some() {
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
        let running: Vec<(String, String)> = group
            .iter()
            .filter(|row| row.verdict == "run")
            .map(|row| (row.task_name.clone(), row.project_id.clone()))
            .collect();
        let (mut ahead, mut ahead_here) = (0, HashMap::<String, u32>::new());
        for row in group.iter_mut().filter(|row| row.verdict == "run") {
            if running.len() > 1 {
                let mut others = running.clone();
                if let Some(own) = others.iter().position(|(name, project)| {
                    *name == row.task_name && *project == row.project_id
                }) {
                    others.remove(own);
                }
                row.collides = others.into_iter().map(|(name, _)| name).collect();
            }
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
                let (first, rest) =
                    (row.collides.iter().take(3), row.collides.len().saturating_sub(3));
                let names: Vec<&str> = first.map(String::as_str).collect();
                let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                notes.push(format!("together with {}{more}", names.join(", ")));
            }
            vec![out.at(row.at), row.task_name.clone(), verdict, notes.join("; ")]
        })
        .collect();
    if !table.is_empty() {
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
            task_id: task.into(),
            task_name: task.into(),
            verdict: "run",
            notes: Vec::new(),
            clock_change: None,
            collides: Vec::new(),
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
