//! Loop files, read and saved for the editor. They are reached only inside the loop folders of
//! known projects and the user's, after symlinks are resolved (DESIGN §10).

use super::{Engine, EngineError, Result, check_loop, no_project};
use crate::loops::discover::{folders, hash};
use crate::loops::template::{NewLoop, create_from_template, create_with_text};
use crate::loops::{Scope, write};
use crate::runtime::{Runtime, lock};
use crate::view::LoopFileView;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Engine {
    /// Reads a loop file.
    ///
    /// # Errors
    /// `Refused` outside the loop folders; `NotFound`; `Unavailable` when it cannot be read.
    pub async fn loop_file(&self, path: &str) -> Result<LoopFileView> {
        let path = PathBuf::from(path);
        self.with(move |runtime| {
            let place = locate(runtime, &path)?;
            view(runtime, &place)
        })
        .await
    }

    /// Saves a loop file if it still is what `if_match` names. A malformed text is saved too, and
    /// the last good definition stays armed.
    ///
    /// # Errors
    /// `Stale` with the text on disk; `Refused` outside the loop folders; `Unavailable`.
    pub async fn save_loop_file(
        &self,
        path: &str,
        text: &str,
        if_match: &str,
    ) -> Result<LoopFileView> {
        let (path, text, if_match) = (PathBuf::from(path), text.to_owned(), if_match.to_owned());
        let (saved, projects) = self
            .with(move |runtime| {
                let place = locate(runtime, &path)?;
                let on_disk = std::fs::read(&place.path).ok();
                let etag = on_disk.as_deref().map(hash);
                if etag.as_deref() != Some(if_match.trim_matches('"')) {
                    return Err(EngineError::Stale {
                        path: place.path.display().to_string(),
                        text: on_disk.map(|b| String::from_utf8_lossy(&b).into_owned()),
                        etag,
                    });
                }
                write::write_file(&place.path, text.as_bytes())
                    .map_err(|error| unwritable(error.to_string()))?;
                for id in &place.projects {
                    runtime.sync(id);
                }
                Ok((view(runtime, &place)?, place.projects))
            })
            .await?;
        for id in projects {
            self.nudge(&id);
        }
        Ok(saved)
    }

    /// Creates a loop file in a project, or for the user (`None`); without a text, from a filled
    /// template.
    ///
    /// # Errors
    /// `Invalid` for a name that is taken or no name; `NotFound` for an unknown project.
    pub async fn create_loop_file(
        &self,
        project: Option<&str>,
        name: &str,
        text: Option<&str>,
    ) -> Result<LoopFileView> {
        let (project, name) = (project.map(str::to_owned), name.to_owned());
        let text = text.map(str::to_owned);
        let (made, projects) = self
            .with(move |runtime| {
                let folder = match &project {
                    Some(id) => {
                        if !runtime.sync_known(id) {
                            return Err(no_project(id));
                        }
                        let board = lock(&runtime.board);
                        let entry = board.projects.get(id).ok_or_else(|| no_project(id))?;
                        crate::loops_folder(&entry.project.path)
                    }
                    None => runtime.around.paths.user_loops(),
                };
                let invalid = |message: String| EngineError::Invalid {
                    field: Some("name".to_owned()),
                    message,
                };
                let path = match text {
                    Some(text) => create_with_text(&folder, &name, text.as_bytes())
                        .map_err(|error| invalid(error.to_string()))?,
                    None => {
                        let new = NewLoop {
                            timezone: Some(runtime.around.machine_zone.clone()),
                            ..NewLoop::example(&name)
                        };
                        create_from_template(&folder, &new)
                            .map_err(|error| invalid(error.to_string()))?
                    }
                };
                let place = locate(runtime, &path)?;
                for id in &place.projects {
                    runtime.sync(id);
                }
                Ok((view(runtime, &place)?, place.projects))
            })
            .await?;
        self.rewatch();
        for id in projects {
            self.nudge(&id);
        }
        Ok(made)
    }
}

/// A loop file that may be reached.
struct Place {
    path: PathBuf,
    scope: Scope,
    /// The projects whose search passes its folder.
    projects: Vec<String>,
}

/// Resolves a path and makes sure that it lies directly in a loop folder.
fn locate(runtime: &Arc<Runtime>, path: &Path) -> Result<Place> {
    let refuse = || {
        EngineError::Refused(format!(
            "{} is no loop file: they lie in .agents/loops of a known project or of the home \
             folder, and end with .md",
            path.display()
        ))
    };
    let named = path.extension().is_some_and(|ending| ending == "md");
    if !named || !path.is_absolute() || path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refuse());
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refuse());
    };
    let folder = folder.canonicalize().map_err(|_| {
        if is_inside_any(runtime, folder) {
            EngineError::NotFound(format!("{} does not exist", path.display()))
        } else {
            refuse()
        }
    })?;
    let real = folder.join(name);
    if real.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(refuse());
    }
    let user = runtime.around.paths.user_loops();
    let is_user = user.canonicalize().is_ok_and(|user| user == folder);
    let mut projects = Vec::new();
    {
        let board = lock(&runtime.board);
        for (id, entry) in &board.projects {
            let searched = folders(&entry.project.path, &runtime.around.paths.home);
            if searched.iter().any(|(_, place)| place.canonicalize().is_ok_and(|p| p == folder)) {
                projects.push(id.clone());
            }
        }
    }
    if !is_user && projects.is_empty() {
        return Err(refuse());
    }
    let scope = if is_user { Scope::User } else { Scope::Project };
    Ok(Place { path: real, scope, projects })
}

fn is_inside_any(runtime: &Arc<Runtime>, folder: &Path) -> bool {
    let home = &runtime.around.paths.home;
    let board = lock(&runtime.board);
    runtime.around.paths.user_loops() == folder
        || board.projects.values().any(|entry| {
            folders(&entry.project.path, home).iter().any(|(_, place)| place == folder)
        })
}

fn view(runtime: &Arc<Runtime>, place: &Place) -> Result<LoopFileView> {
    let path = &place.path;
    let bytes = match write::read_file(path) {
        Ok(bytes) => bytes,
        Err(error) if !path.exists() => {
            return Err(EngineError::NotFound(format!(
                "{} does not exist: {error}",
                path.display()
            )));
        }
        Err(error) => return Err(unwritable(error.to_string())),
    };
    let check = check_loop(&bytes, &runtime.around.machine_zone, runtime.clock.now_ms());
    let shown = path.to_string_lossy();
    let board = lock(&runtime.board);
    let projects = board
        .tasks()
        .filter(|(_, task)| task.task.loop_file.as_deref() == Some(&*shown))
        .map(|(entry, _)| entry.project.id.clone())
        .collect();
    Ok(LoopFileView {
        path: shown.into_owned(),
        scope: place.scope,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        etag: hash(&bytes),
        projects,
        check,
    })
}

fn unwritable(message: String) -> EngineError {
    EngineError::Unavailable { message, help: None }
}
