//! Which project and which task a command means.

use crate::context::Context;
use crate::failure::{Failure, UNREACHABLE};
use clap::Args;
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::{NeedKind, ProjectView, TaskSummary};
use std::path::{Path, PathBuf};

/// Which project.
#[derive(Debug, Clone, Default, Args)]
pub struct Place {
    /// The project: its id or its name
    #[arg(long, value_name = "PROJECT", conflicts_with = "dir")]
    pub project: Option<String>,
    /// The project's folder, or one inside it; without both, the current folder's project
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Which task.
#[derive(Debug, Clone, Args)]
pub struct Which {
    /// The task: its id, or its name where only one task has it
    #[arg(value_name = "TASK", conflicts_with = "task")]
    pub name: Option<String>,
    /// The same as a flag
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    #[command(flatten)]
    pub place: Place,
}

impl Which {
    /// Returns the id or name that was given.
    pub fn given(&self) -> Option<&str> {
        self.task.as_deref().or(self.name.as_deref())
    }
}

/// Finds the project that is meant; `None` when none was named and the current folder is in none.
///
/// # Errors
/// One was named that is not known.
pub async fn project(
    context: &Context,
    engine: &Engine,
    place: &Place,
) -> Result<Option<ProjectView>, Failure> {
    let projects = engine.projects().await?;
    if let Some(named) = &place.project {
        let exact = projects.iter().find(|project| project.id == *named);
        let mut labelled = projects.iter().filter(|project| project.label == *named);
        let found = match (exact, labelled.next(), labelled.next()) {
            (Some(project), _, _) | (None, Some(project), None) => project,
            (None, Some(_), Some(_)) => {
                return Err(Failure::usage(format!("several projects are called {named}"))
                    .help("name it by its id: `loopkeeper projects list` shows them"));
            }
            (None, None, _) => return Err(unknown(named, &projects)),
        };
        return Ok(Some(found.clone()));
    }
    let folder = match &place.dir {
        Some(dir) => context.environment.here.join(dir),
        None => context.environment.here.clone(),
    };
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let found = deepest(&folder, &projects).cloned();
    match (&found, &place.dir) {
        (None, Some(_)) => {
            Err(Failure::usage(format!("{} is in no project that is known", folder.display()))
                .help(format!("add it: loopkeeper projects add {}", folder.display())))
        }
        _ => Ok(found),
    }
}

/// Finds the project that is meant, where one is needed.
///
/// # Errors
/// None was named, and the current folder is in none.
pub async fn needed_project(
    context: &Context,
    engine: &Engine,
    place: &Place,
) -> Result<ProjectView, Failure> {
    project(context, engine, place).await?.ok_or_else(|| {
        Failure::usage(format!(
            "{} is in no project that is known",
            context.environment.here.display()
        ))
        .help("name one with --project or --dir, or add this folder: loopkeeper projects add .")
    })
}

/// Prints which files cannot be read and why, on standard error: what they hold is not shown.
///
/// # Errors
/// The ledger cannot be read.
pub async fn warn_of_files(
    context: &Context,
    engine: &Engine,
    project: Option<&str>,
) -> Result<(), Failure> {
    for need in engine.overview().await?.needs_you {
        let elsewhere = need.project_id.as_deref().zip(project).is_some_and(|(a, b)| a != b);
        if need.kind == NeedKind::FileError && need.task_id.is_none() && !elsewhere {
            context.out.warn(format!("warning: {}", need.text));
            for line in need.help.lines() {
                context.out.warn(format!("  {line}"));
            }
        }
    }
    Ok(())
}

fn unknown(named: &str, projects: &[ProjectView]) -> Failure {
    let known: Vec<&str> = projects.iter().map(|project| project.label.as_str()).take(10).collect();
    let help = if known.is_empty() {
        "no project is registered yet: loopkeeper projects add DIR".to_owned()
    } else {
        format!("known are: {}", known.join(", "))
    };
    Failure::usage(format!("there is no project {named}")).help(help)
}

fn deepest<'a>(folder: &Path, projects: &'a [ProjectView]) -> Option<&'a ProjectView> {
    let inside = projects.iter().filter(|project| {
        let path =
            std::fs::canonicalize(&project.path).unwrap_or_else(|_| PathBuf::from(&project.path));
        folder.starts_with(path)
    });
    inside.max_by_key(|project| project.path.len())
}

/// Finds the task that is meant, after the loop files were read again.
///
/// # Errors
/// None was named, none is called so, or several are.
pub async fn task(
    context: &Context,
    engine: &Engine,
    which: &Which,
) -> Result<TaskSummary, Failure> {
    let Some(given) = which.given() else {
        return Err(Failure::usage("which task?").help("name one: `loopkeeper list` shows them"));
    };
    let project = project(context, engine, &which.place).await?;
    let id = project.as_ref().map(|project| project.id.as_str());
    match id {
        Some(id) => engine.sync_project(id).await?,
        None => engine.sync_all_projects().await?,
    }
    let tasks = engine.task_summaries(id).await?;
    if !tasks.iter().any(|task| task.id == given || task.name == given) {
        // What cannot be read may hold it: "there is none" would send people the wrong way.
        let projects = engine.projects().await?;
        let mut meant = projects.iter().filter(|project| id.is_none_or(|id| project.id == id));
        if let Some(problem) = meant.find_map(|project| project.problems.first()) {
            return Err(Failure::new(UNREACHABLE, format!("{given} cannot be found: {problem}")));
        }
    }
    choose(given, tasks, project.as_ref().map(|project| project.label.as_str()))
}

fn choose(
    given: &str,
    tasks: Vec<TaskSummary>,
    project: Option<&str>,
) -> Result<TaskSummary, Failure> {
    let by_id = tasks.iter().filter(|task| task.id == given).count();
    let mut found: Vec<TaskSummary> = tasks
        .into_iter()
        .filter(|task| if by_id > 0 { task.id == given } else { task.name == given })
        .collect();
    let place =
        project.map_or_else(|| "any project".to_owned(), |label| format!("project {label}"));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::usage(format!("there is no task {given} in {place}"))
            .help("`loopkeeper list` shows what there is")),
        _ => {
            let ids: Vec<String> =
                found.iter().map(|task| format!("{} ({})", task.id, task.project_label)).collect();
            Err(Failure::usage(format!("{given} names several tasks in {place}"))
                .help(format!("name one by its id, with --project: {}", ids.join(", "))))
        }
    }
}
