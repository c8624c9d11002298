//! Finding the loops of a project.
//!
//! Searched are the user's folder and those from the project folder up to the worktree root. A
//! project loop shadows a user loop of the same name, a nearer folder a farther one, and within a
//! folder the first in UTF-16 order wins, as the peer sorts. A malformed file shadows nothing.

use super::diagnostic::{Diagnostic, Severity};
use super::parse::{LARGEST_FILE, parse};
use super::write::read_bounded;
use crate::loops_folder;
use crate::task::Definition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whose loop it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// It lies in the project, or above it in the same worktree.
    Project,
    /// It lies in the user's home folder and counts in every project.
    User,
}

/// What tells a changed file from an unchanged one without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The file's number on its device; 0 where the system has none.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// When it was last written, ns since 1970.
    pub mtime_ns: i128,
}

impl Stamp {
    /// Takes the stamp of a file.
    pub fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        let (inode, mtime_ns) = {
            use std::os::unix::fs::MetadataExt;
            (
                metadata.ino(),
                i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
            )
        };
        #[cfg(not(unix))]
        let (inode, mtime_ns) = (
            0,
            metadata
                .modified()
                .ok()
                .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok())
                .map_or(0, |since| since.as_nanos() as i128),
        );
        Stamp { inode, size: metadata.len(), mtime_ns }
    }
}

/// One loop file as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is, absolute when the project and home folders are.
    pub path: PathBuf,
    /// Its stamp from before it was read.
    pub stamp: Stamp,
    /// What it defines; `None` when it is malformed or unreadable.
    pub definition: Option<Definition>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A loop folder that could not be listed; its tasks are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderError {
    /// The folder.
    pub path: PathBuf,
    /// The system's words and what to do.
    pub message: String,
}

/// What [`discover`] found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovery {
    /// Malformed files first, then the loops that count; shadowed ones are not among them.
    pub loops: Vec<Arc<LoopFile>>,
    /// Folders that could not be listed.
    pub folder_errors: Vec<FolderError>,
    /// Findings about files that are not among `loops`, and clashes of names.
    pub diagnostics: Vec<(PathBuf, Diagnostic)>,
}

/// What was read before, by path and stamp: unchanged files are not read again.
#[derive(Debug, Default)]
pub struct Cache {
    files: HashSet<ByPath>,
    reads: u64,
    stats: u64,
}

/// A file that is known by its path.
#[derive(Debug)]
struct ByPath(Arc<LoopFile>);

impl Borrow<Path> for ByPath {
    fn borrow(&self) -> &Path {
        &self.0.path
    }
}

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for ByPath {}

impl Hash for ByPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.path.hash(state);
    }
}

impl Cache {
    /// Returns how many files were read through this cache, ever.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Returns how many files were stat-ed through this cache, ever.
    pub fn stats(&self) -> u64 {
        self.stats
    }

    /// Returns how many files it holds.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Says whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Looks at one loop file: stat-s it, and reads it only when it changed since the last look.
    /// `None` when it is not there, or is no plain file.
    pub fn look(&mut self, path: &Path, scope: Scope) -> Option<Arc<LoopFile>> {
        self.stats += 1;
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Arc::new(unreadable(path, scope, Stamp::default(), &error))),
        };
        let stamp = Stamp::of(&metadata);
        if let Some(ByPath(known)) = self.files.get(path)
            && known.stamp == stamp
            && known.scope == scope
        {
            return Some(Arc::clone(known));
        }
        self.reads += 1;
        // The stamp is older than the bytes: a write in between is seen at the next look.
        let bytes = match read_bounded(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            // Not remembered: permissions change without changing the stamp.
            Err(error) => {
                self.files.remove(path);
                return Some(Arc::new(unreadable(path, scope, stamp, &error)));
            }
        };
        let (definition, diagnostics) = if bytes.len() as u64 > LARGEST_FILE {
            let finding = Diagnostic::whole_file(
                Severity::Error,
                "file-too-large",
                "The file is larger than 4 MiB and is not read",
            );
            (None, vec![finding])
        } else {
            let parsed = parse(&bytes);
            (parsed.definition, parsed.diagnostics)
        };
        let path = path.to_owned();
        let file = Arc::new(LoopFile { scope, path, stamp, definition, diagnostics });
        self.files.replace(ByPath(Arc::clone(&file)));
        Some(file)
    }

    /// Forgets the files of a folder that are no longer there.
    fn keep(&mut self, folders: &HashSet<&Path>, seen: &HashSet<PathBuf>) {
        self.files.retain(|ByPath(file)| {
            let path = &file.path;
            seen.contains(path) || !path.parent().is_some_and(|folder| folders.contains(folder))
        });
    }
}

/// Returns SHA-256 in hex.
pub fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn unreadable(path: &Path, scope: Scope, stamp: Stamp, error: &io::Error) -> LoopFile {
    let finding = Diagnostic::whole_file(
        Severity::Error,
        "unreadable",
        format!("The file cannot be read: {error}"),
    )
    .help("give the user that runs Loopkeeper the right to read it");
    LoopFile { scope, path: path.to_owned(), stamp, definition: None, diagnostics: vec![finding] }
}

/// Returns the folders that are searched, in the order of the search. The user's comes first; one
/// that is also a project's counts as the project's.
pub fn folders(project: &Path, home: &Path) -> Vec<(Scope, PathBuf)> {
    let root = project.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
    let mut folders: Vec<(Scope, PathBuf)> = match root {
        Some(root) => project
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .map(|folder| (Scope::Project, loops_folder(folder)))
            .collect(),
        None => vec![(Scope::Project, loops_folder(project))],
    };
    let user = loops_folder(home);
    if !folders.iter().any(|(_, folder)| *folder == user) {
        folders.insert(0, (Scope::User, user));
    }
    folders
}

/// Finds the loops of a project. Costs one stat per file, and one read per changed file.
pub fn discover(project: &Path, home: &Path, cache: &mut Cache) -> Discovery {
    let folders = folders(project, home);
    let mut found = Discovery::default();
    let mut valid: Vec<Arc<LoopFile>> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    let mut failed = HashSet::new();
    for (scope, folder) in &folders {
        let names = match list(folder, &mut found.diagnostics) {
            Ok(names) => names,
            Err(error) => {
                failed.insert(folder.as_path());
                found.folder_errors.push(FolderError {
                    path: folder.clone(),
                    message: format!(
                        "the loops in {} cannot be listed: {error}; their tasks stay as they were, give the user that runs Loopkeeper the right to read the folder",
                        folder.display()
                    ),
                });
                continue;
            }
        };
        for name in names {
            let path = folder.join(name);
            let Some(file) = cache.look(&path, *scope) else { continue };
            seen.insert(path);
            let Some(definition) = &file.definition else {
                found.loops.push(file);
                continue;
            };
            match by_name.get(&definition.name) {
                None => {
                    by_name.insert(definition.name.clone(), valid.len());
                    valid.push(file);
                }
                Some(&at) if valid[at].scope == Scope::User && *scope == Scope::Project => {
                    shadowed(&mut found.diagnostics, &valid[at].path, &file);
                    valid[at] = file;
                }
                Some(&at) if valid[at].path.parent() == file.path.parent() => {
                    clash(&mut found.diagnostics, &valid[at], &file);
                }
                Some(&at) => shadowed(&mut found.diagnostics, &file.path, &valid[at]),
            }
        }
    }
    found.loops.extend(valid);
    let listed = folders
        .iter()
        .map(|(_, folder)| folder.as_path())
        .filter(|folder| !failed.contains(folder))
        .collect();
    cache.keep(&listed, &seen);
    found
}

/// Lists the names of a folder's loop files in UTF-16 order. A folder that is not there is empty.
fn list(folder: &Path, diagnostics: &mut Vec<(PathBuf, Diagnostic)>) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            if fs::symlink_metadata(folder).is_ok() {
                let finding = Diagnostic::whole_file(
                    Severity::Warning,
                    "folder-is-a-file",
                    "A file stands where the folder of loops belongs",
                )
                .help("move it away, and put the loops into a folder of that name");
                diagnostics.push((folder.to_owned(), finding));
            }
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            if name.to_string_lossy().ends_with(".md") {
                let finding = Diagnostic::whole_file(
                    Severity::Warning,
                    "name-not-utf8",
                    "The file's name is not UTF-8, so the file is not a loop",
                )
                .help("rename it");
                diagnostics.push((entry.path(), finding));
            }
            continue;
        };
        if !name.ends_with(".md") {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_file() {
            names.push(name.to_owned());
        } else if kind.is_symlink() && !name.starts_with(".#") {
            let finding = Diagnostic::whole_file(
                Severity::Warning,
                "symlink",
                "A symbolic link is not a loop and is ignored, as OpenChamber does",
            )
            .help("put a copy of the file here, or move the file into a loop folder");
            diagnostics.push((entry.path(), finding));
        }
    }
    names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    Ok(names)
}

fn shadowed(diagnostics: &mut Vec<(PathBuf, Diagnostic)>, path: &Path, by: &LoopFile) {
    let name = by.definition.as_ref().map_or("", |definition| definition.name.as_str());
    let finding = Diagnostic::whole_file(
        Severity::Info,
        "shadowed",
        format!("`{name}` is also the name of {}, which counts in this project", by.path.display()),
    );
    diagnostics.push((path.to_owned(), finding));
}

fn clash(diagnostics: &mut Vec<(PathBuf, Diagnostic)>, first: &LoopFile, second: &LoopFile) {
    let name = first.definition.as_ref().map_or("", |definition| definition.name.as_str());
    let (chosen, ignored) = (first.path.display(), second.path.display());
    let finding = Diagnostic::whole_file(
        Severity::Warning,
        "name-clash",
        format!("Two files claim the name `{name}`: {chosen} counts, {ignored} is ignored"),
    )
    .help("give one of them another name, or delete it");
    diagnostics.push((second.path.clone(), finding));
}
