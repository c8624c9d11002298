//! Projects: the folders in which loops are found.

use super::{Engine, EngineError, Result, no_project};
use crate::loops::template::{NewLoop, create_from_template};
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
        self.register(PathBuf::from(path), None).await
    }

    /// Makes the built-in sample, a project with one loop that the demo agent runs every minute, and
    /// adds it; what is there already stays as it is.
    ///
    /// # Errors
    /// `Unavailable` when it cannot be written.
    pub async fn add_sample(&self) -> Result<ProjectView> {
        let folder = self.runtime().around.paths.own().join("sample");
        let at = folder.clone();
        self.with(move |_| {
            let loops = crate::loops_folder(&at);
            if loops.join("sample.md").symlink_metadata().is_ok() {
                return Ok(());
            }
            let sample = NewLoop {
                name: "sample".to_owned(),
                schedule: "* * * * *".to_owned(),
                model: "demo/echo".to_owned(),
                enabled: true,
                prompt: "Say hello. The demo agent needs no network: it answers with the prompt."
                    .to_owned(),
                ..NewLoop::default()
            };
            create_from_template(&loops, &sample).map(drop).map_err(|error| {
                EngineError::Unavailable { message: error.to_string(), help: None }
            })
        })
        .await?;
        self.register(folder, Some("Sample")).await
    }

    async fn register(&self, path: PathBuf, label: Option<&'static str>) -> Result<ProjectView> {
        let id = self
            .with(move |runtime| {
                let registry = Registry::of(&runtime.around.paths);
                let project = registry.add(&path, label, runtime.clock.now_ms())?;
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
