//! `projects`: list, add, remove.

use crate::context::Context;
use crate::failure::{DONE, Outcome};
use crate::find::{Place, needed_project, warn_of_files};
use crate::output::{Ink, many};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the registered projects
    List,
    /// Register a folder
    Add {
        /// The folder
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Forget a project that was added here; its files stay
    Remove {
        /// The project: its id, name or folder
        project: String,
    },
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let out = &context.out;
    match args.what.unwrap_or(What::List) {
        What::List => {
            let projects = engine.projects().await?;
            warn_of_files(context, &engine, None).await?;
            if out.json {
                out.value(&json!({ "projects": projects }));
                return Ok(DONE);
            }
            if projects.is_empty() {
                out.note("no project is registered yet: loopkeeper projects add DIR");
                return Ok(DONE);
            }
            let rows: Vec<Vec<String>> = projects
                .iter()
                .map(|project| {
                    let problems = out.ink(Ink::Bad, &project.problems.join("; "));
                    let tasks = format!("{} ({} enabled)", project.tasks, project.enabled);
                    vec![
                        project.label.clone(),
                        tasks,
                        project.path.clone(),
                        project.id.clone(),
                        problems,
                    ]
                })
                .collect();
            out.table(&["PROJECT", "TASKS", "FOLDER", "ID", "PROBLEMS"], &rows);
        }
        What::Add { dir } => {
            let dir = context.environment.here.join(dir);
            let project = engine.add_project(&dir.to_string_lossy()).await?;
            engine.sync_project(&project.id).await?;
            let project = engine.project(&project.id).await?;
            if out.json {
                out.value(&project);
                return Ok(DONE);
            }
            out.note(format!(
                "{} is registered: {} ({})",
                project.label,
                project.path,
                many(project.tasks, "task")
            ));
            if project.tasks == 0 {
                out.note(format!("put a loop into {}/.agents/loops/NAME.md", project.path));
            }
        }
        What::Remove { project } => {
            let as_folder = context.environment.here.join(&project);
            let place = if as_folder.is_dir() {
                Place { project: None, dir: Some(as_folder) }
            } else {
                Place { project: Some(project), dir: None }
            };
            let project = needed_project(context, &engine, &place).await?;
            engine.remove_project(&project.id).await?;
            if out.json {
                out.value(&json!({ "ok": true, "id": project.id }));
            } else {
                out.note(format!("{} is forgotten; its files stay", project.label));
            }
        }
    }
    Ok(DONE)
}
