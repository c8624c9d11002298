//! Which projects there are: the peer's list, read only, and ours beside it.
//!
//! `settings.json` belongs to the peer, holds secrets and is rewritten without a lock: it is read,
//! never written. Projects that are added with Loopkeeper stand in `loopkeeper/projects.json`.
//! The union is deduplicated by folder identity, since one folder has many paths.

use super::guard::GuardPlace;
use super::replace;
use super::turn::pause;
use super::{Folder, ProjectError, splice, temp};
use crate::clock::{Clock, SystemClock};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an addition waits for another one.
const WAIT: Duration = Duration::from_secs(10);

/// A folder whose loops and tasks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// The name of its shared file; as the peer wrote it, or computed by [`project_id`].
    pub id: String,
    /// The folder.
    pub path: PathBuf,
    /// What people call it; the folder's name where nobody gave one.
    pub label: String,
    /// Whether it stands in our own list, so that it can be removed here.
    pub own: bool,
}

/// Every project that could be read, and what could not.
#[derive(Debug, Default)]
pub struct Listing {
    /// The peer's first, then ours, each folder once.
    pub projects: Vec<Project>,
    /// A list that cannot be read hides its own projects only.
    pub errors: Vec<RegistryError>,
}

/// Why a list could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A list is no JSON, or has another shape.
    #[error("{}: {message}; its projects are not shown until it is repaired", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A project must be a folder.
    #[error("{} is no folder: name the folder that holds the project", path.display())]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
    /// The folder's path makes no usable id.
    #[error(transparent)]
    Id(#[from] ProjectError),
    /// No project has the id.
    #[error("there is no project `{id}`")]
    NotFound {
        /// The id.
        id: String,
    },
    /// It stands in the peer's list, which is never written.
    #[error("the project `{id}` was added with OpenChamber: remove it there")]
    Foreign {
        /// The id.
        id: String,
    },
    /// Another process of ours holds our list too long.
    #[error("{} is held by another process for {} s: try again", path.display(), WAIT.as_secs())]
    Busy {
        /// The guard's file.
        path: PathBuf,
    },
}

/// The two lists of projects in a data folder.
#[derive(Debug, Clone)]
pub struct Registry {
    settings: PathBuf,
    own: PathBuf,
    guard: PathBuf,
    folder: Folder,
}

impl Registry {
    /// Names the lists of a data folder.
    pub fn of(paths: &crate::Paths) -> Registry {
        Registry {
            settings: paths.data.join("settings.json"),
            own: paths.own().join("projects.json"),
            guard: paths.own().join("locks").join(".projects"),
            folder: Folder::of(paths),
        }
    }

    /// Reads both lists. Blocks.
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        let mut seen = HashSet::new();
        let mut ids = HashSet::new();
        for (file, own) in [(&self.settings, false), (&self.own, true)] {
            let projects = match read_list(file) {
                Ok(projects) => projects,
                Err(error) => {
                    listing.errors.push(error);
                    continue;
                }
            };
            for project in projects.iter().filter_map(|value| read_project(value, own)) {
                if let Err(error) = self.folder.file(&project.id) {
                    listing.errors.push(error.into());
                } else if seen.insert(identity(&project.path)) && ids.insert(project.id.clone()) {
                    listing.projects.push(project);
                }
            }
        }
        listing
    }

    /// Adds a folder to our list, unless a project has it already: then that one is returned.
    /// `now_ms` is wall time. Blocks.
    ///
    /// # Errors
    /// When it is no folder, its path is too long, or our list cannot be read or written.
    pub fn add(
        &self,
        path: &Path,
        label: Option<&str>,
        now_ms: i64,
    ) -> Result<Project, RegistryError> {
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| RegistryError::NotAFolder { path: path.to_owned() })?;
        let _guard = self.wait()?;
        let mine = identity(&real);
        let known = self.list().projects;
        if let Some(known) = known.into_iter().find(|known| identity(&known.path) == mine) {
            return Ok(known);
        }
        let id = id_of_real(&real);
        self.folder.file(&id)?;
        let label = label.map_or_else(|| folder_name(&real), str::to_owned);
        let mut list = read_list(&self.own)?;
        list.retain(|value| value.get("id").and_then(Value::as_str) != Some(&id));
        list.push(json!({ "id": id, "path": real, "label": label, "addedAt": now_ms }));
        self.write(&list)?;
        Ok(Project { id, path: real, label, own: true })
    }

    /// Removes a project from our list; its folder and its tasks stay. Blocks.
    ///
    /// # Errors
    /// When it is not in our list, or the list cannot be read or written.
    pub fn remove(&self, id: &str) -> Result<(), RegistryError> {
        let _guard = self.wait()?;
        let mut list = read_list(&self.own)?;
        let count = list.len();
        list.retain(|value| value.get("id").and_then(Value::as_str) != Some(id));
        if list.len() < count {
            return self.write(&list);
        }
        let id = id.to_owned();
        let foreign = self.list().projects.iter().any(|project| project.id == id);
        Err(if foreign { RegistryError::Foreign { id } } else { RegistryError::NotFound { id } })
    }

    fn write(&self, list: &[Value]) -> Result<(), RegistryError> {
        let text = splice::pretty(&json!({ "version": 1, "projects": list }), 0);
        let written = replace::replace(&self.own, text.as_bytes(), &|| true, &|_| {});
        written.map_err(|source| self.failed("write", &self.own, source))?;
        replace::sync_folder(&self.own);
        Ok(())
    }

    fn wait(&self) -> Result<super::guard::Guard, RegistryError> {
        let path = self.guard.clone();
        let guard = GuardPlace::File(path.clone()).open();
        let guard = guard.ok_or_else(|| {
            self.failed("open", &path, io::Error::from(io::ErrorKind::PermissionDenied))
        })?;
        let start = SystemClock.awake();
        while !guard.try_lock() {
            if SystemClock.awake().saturating_sub(start) > WAIT {
                return Err(RegistryError::Busy { path });
            }
            pause(1, 10);
        }
        if let Some(folder) = self.own.parent() {
            temp::clean(folder, SystemClock.now_ms());
        }
        Ok(guard)
    }

    fn failed(&self, action: &'static str, path: &Path, source: io::Error) -> RegistryError {
        RegistryError::Io { action, path: path.to_owned(), source }
    }
}

/// Reads a list's entries; a missing file has none.
fn read_list(file: &Path) -> Result<Vec<Value>, RegistryError> {
    let corrupt = |message: String| RegistryError::Corrupt { path: file.to_owned(), message };
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(RegistryError::Io { action: "read", path: file.to_owned(), source });
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    // Checked first, since the lenient reading after it never fails.
    serde_json::from_str::<serde::de::IgnoredAny>(&text)
        .map_err(|error| corrupt(error.to_string()))?;
    let Value::Object(mut settings) = splice::decode(&text) else {
        return Err(corrupt("not an object".to_owned()));
    };
    match settings.remove("projects") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(corrupt("`projects` is not a list".to_owned())),
    }
}

fn read_project(value: &Value, own: bool) -> Option<Project> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let path = PathBuf::from(text("path")?);
    let label = text("label").map_or_else(|| folder_name(&path), str::to_owned);
    Some(Project { id: text("id")?.to_owned(), path, label, own })
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What tells folders apart, whatever path leads there.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

fn identity(path: &Path) -> Identity {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::MetadataExt;
        return Identity::Inode(metadata.dev(), metadata.ino());
    }
    Identity::Path(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// Returns the id of a project that is added: `path_` and the real path in base64url, as the peer
/// computes it.
///
/// # Errors
/// When the folder does not exist.
pub fn project_id(path: &Path) -> io::Result<String> {
    path.canonicalize().map(|real| id_of_real(&real))
}

fn id_of_real(real: &Path) -> String {
    let text = real.to_string_lossy();
    let trimmed = text.trim_end_matches(['/', '\\']);
    let text = if trimmed.is_empty() { &text } else { trimmed };
    format!("path_{}", URL_SAFE_NO_PAD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paths;

    fn data() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let paths = Paths {
            data: at("data"),
            home: at("home"),
            settings: at("settings.toml"),
            opencode_config: at("opencode"),
            runtime: None,
        };
        for name in ["data", "alpha", "beta"] {
            std::fs::create_dir(at(name)).expect("created");
        }
        (folder, Registry::of(&paths))
    }

    #[test]
    fn the_peers_list_is_read_and_never_written() {
        let (folder, registry) = data();
        let alpha = folder.path().join("alpha");
        let settings = json!({ "secret": 1, "projects": [{ "id": "its-own-id", "path": alpha }] });
        std::fs::write(&registry.settings, settings.to_string()).expect("written");
        let link = folder.path().join("link");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&alpha, &link).expect("linked");
        let known = registry.add(&link, None, 5).expect("known");
        assert_eq!(known.id, "its-own-id", "one folder is one project, whatever path leads there");
        let beta = registry.add(&folder.path().join("beta"), Some("B"), 5).expect("added");
        assert_eq!(beta.id, project_id(&beta.path).expect("there"));
        let listed: Vec<_> =
            registry.list().projects.into_iter().map(|p| (p.label, p.own)).collect();
        assert_eq!(listed, [("alpha".to_owned(), false), ("B".to_owned(), true)]);
        assert!(matches!(registry.remove("its-own-id"), Err(RegistryError::Foreign { .. })));
        registry.remove(&beta.id).expect("ours");
        assert_eq!(registry.list().projects.len(), 1, "it is gone");
        let text = std::fs::read_to_string(&registry.settings).expect("there");
        assert_eq!(text, settings.to_string(), "settings.json is never written");
    }

    #[test]
    fn a_corrupt_list_hides_its_own_projects_only_and_is_never_overwritten() {
        let (folder, registry) = data();
        std::fs::write(&registry.settings, "{ \"projects\": [").expect("written");
        registry.add(&folder.path().join("alpha"), None, 5).expect("ours is fine");
        let listing = registry.list();
        assert_eq!(listing.projects.len(), 1, "ours go on");
        let message = listing.errors[0].to_string();
        assert!(message.contains("settings.json") && message.contains("line 1"), "{message}");
        std::fs::write(&registry.own, "[]").expect("written");
        assert!(registry.add(&folder.path().join("beta"), None, 5).is_err(), "it cannot be read");
        assert_eq!(std::fs::read(&registry.own).expect("there"), b"[]", "so it is left as it is");
    }

    #[test]
    fn ids_are_the_peers() {
        assert_eq!(id_of_real(Path::new("/srv/work/alpha")), "path_L3Nydi93b3JrL2FscGhh");
        assert_eq!(id_of_real(Path::new("/srv/work/beta/")), "path_L3Nydi93b3JrL2JldGE");
    }
}
