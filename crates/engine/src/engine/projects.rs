//! Projects: the folders in which loops are found.

use super::{Engine, EngineError, Result, no_project};
use crate::project::registry::{Registry, RegistryError};
use crate::runtime::board::ProjectEntry;
use crate::runtime::lock;
use crate::view::ProjectView;
use std::path::PathBuf;

impl From<RegistryError> for EngineError {
    fn from(error: RegistryError) -> Self {
        let message = error.to_string();
        match error {
            RegistryError::NotAFolder { .. } => {
                EngineError::Invalid { field: Some("path".to_owned()), message }
            }
            RegistryError::NotFound { .. } => EngineError::NotFound(message),
            RegistryError::Foreign { .. } => EngineError::Refused(message),
            _ => EngineError::Unavailable { message, help: None },
        }
    }
}

impl Engine {
    /// Lists all projects.
    ///
    /// # Errors
    /// Never for a single bad project: its problems are in the answer.
    pub async fn projects(&self) -> Result<Vec<ProjectView>> {
        self.with(|runtime| {
            for id in runtime.read_registry() {
                runtime.sync_if_new(&id);
            }
            Ok(lock(&runtime.board).projects.values().map(view).collect())
        })
        .await
    }

    /// Returns one project.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn project(&self, project: &str) -> Result<ProjectView> {
        let id = project.to_owned();
        self.with(move |runtime| {
            if !runtime.sync_known(&id) {
                return Err(no_project(&id));
            }
            lock(&runtime.board).projects.get(&id).map(view).ok_or_else(|| no_project(&id))
        })
        .await
    }

    /// Adds a folder as a project; one that is known already is returned as it is.
    ///
    /// # Errors
    /// `Invalid` when it is no folder; `Unavailable` when the list cannot be written.
    pub async fn add_project(&self, path: &str) -> Result<ProjectView> {
        let path = PathBuf::from(path);
        let id = self
            .with(move |runtime| {
                let registry = Registry::of(&runtime.around.paths);
                let project = registry.add(&path, None, runtime.clock.now_ms())?;
                runtime.read_registry();
                Ok(project.id)
            })
            .await?;
        let view = self.project(&id).await?;
        self.rewatch();
        self.runtime().events.send(
            self.now(),
            crate::event::EventKind::TasksChanged,
            Some(&id),
            None,
            None,
        );
        Ok(view)
    }

    /// Removes a project that was added with Loopkeeper; its folder and files stay as they are.
    ///
    /// # Errors
    /// `NotFound`; `Refused` for one that OpenChamber's settings list.
    pub async fn remove_project(&self, project: &str) -> Result<()> {
        let id = project.to_owned();
        self.with(move |runtime| {
            Registry::of(&runtime.around.paths).remove(&id)?;
            runtime.read_registry();
            Ok(())
        })
        .await?;
        self.rewatch();
        self.runtime().events.send(
            self.now(),
            crate::event::EventKind::TasksChanged,
            Some(project),
            None,
            None,
        );
        Ok(())
    }
}

fn view(entry: &ProjectEntry) -> ProjectView {
    ProjectView {
        id: entry.project.id.clone(),
        path: entry.project.path.display().to_string(),
        label: entry.project.label.clone(),
        tasks: entry.tasks.len(),
        enabled: entry.tasks.iter().filter(|task| task.task.enabled).count(),
        removable: entry.project.own,
        problems: entry.problems.clone(),
    }
}
