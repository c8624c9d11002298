//! The system's watches: which folders have one, and why some cannot.

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The watches that stand.
pub(super) struct Armed {
    notifier: Result<RecommendedWatcher, String>,
    /// Watched folders with their identity: a folder that was replaced needs a new watch.
    watched: HashMap<PathBuf, (u64, u64)>,
    cause: Option<String>,
}

impl Armed {
    pub(super) fn new(notifier: notify::Result<RecommendedWatcher>) -> Armed {
        let notifier =
            notifier.map_err(|error| format!("the system cannot watch: {}", words(&error)));
        Armed { notifier, watched: HashMap::new(), cause: None }
    }

    /// Returns why watching does not work everywhere; `None` when it does.
    pub(super) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Drops the watches of paths that were removed or renamed; they may follow an old inode.
    pub(super) fn gone(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if self.watched.remove(path).is_some() {
                self.unwatch(path);
            }
        }
    }

    /// Sets the watches that these folders need, and takes away all others.
    pub(super) fn arm<'a>(&mut self, folders: impl Iterator<Item = &'a Path> + Clone) {
        self.cause = None;
        // A folder may appear between the look and the watch on its ancestor: look again.
        for _ in 0..8 {
            let wanted = wanted(folders.clone());
            let spare: Vec<PathBuf> =
                self.watched.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect();
            for path in spare {
                self.watched.remove(&path);
                self.unwatch(&path);
            }
            let missing: Vec<(PathBuf, (u64, u64))> = wanted
                .into_iter()
                .filter(|(path, identity)| self.watched.get(path) != Some(identity))
                .collect();
            if missing.is_empty() {
                break;
            }
            let mut again = false;
            for (path, identity) in missing {
                again |= self.watch(path, identity);
            }
            if !again {
                break;
            }
        }
        if self.cause.is_none() {
            self.cause = folders
                .filter_map(|folder| {
                    let system = remote_file_system(folder)?;
                    Some(format!(
                        "{} lies on {system}, which does not report changes made elsewhere",
                        folder.display()
                    ))
                })
                .next();
        }
    }

    /// Sets one watch; says whether something was set, so that another look is due.
    fn watch(&mut self, path: PathBuf, identity: (u64, u64)) -> bool {
        if self.watched.remove(&path).is_some() {
            self.unwatch(&path);
        }
        let failure = match &mut self.notifier {
            Err(cause) => cause.clone(),
            Ok(notifier) => match notifier.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path, identity);
                    return true;
                }
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => return true,
                Err(error) => format!("{} cannot be watched: {}", path.display(), words(&error)),
            },
        };
        self.cause.get_or_insert(failure);
        false
    }

    fn unwatch(&mut self, path: &Path) {
        if let Ok(notifier) = &mut self.notifier
            && let Err(error) = notifier.unwatch(path)
        {
            // The system drops the watch of a removed folder by itself.
            tracing::trace!(path = %path.display(), %error, "the watch was gone already");
        }
    }
}

/// Returns the folders to watch: each one that exists, and its nearest existing ancestor.
fn wanted<'a>(folders: impl Iterator<Item = &'a Path>) -> HashMap<PathBuf, (u64, u64)> {
    let mut wanted = HashMap::new();
    let mut looked = HashSet::new();
    for folder in folders {
        if !looked.insert(folder) {
            continue;
        }
        if let Some(identity) = identity(folder) {
            wanted.insert(folder.to_owned(), identity);
        }
        let ancestor =
            folder.ancestors().skip(1).find_map(|ancestor| Some((ancestor, identity(ancestor)?)));
        if let Some((ancestor, identity)) = ancestor {
            wanted.insert(ancestor.to_owned(), identity);
        }
    }
    wanted
}

/// Returns device and number of a folder; `None` when there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Some((0, 0))
    }
}

fn words(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system's limit of watches is reached; raise fs.inotify.max_user_watches".to_owned()
        }
        notify::ErrorKind::Io(error) if error.raw_os_error() == Some(24) => {
            "the system's limit of watchers is reached; raise fs.inotify.max_user_instances"
                .to_owned()
        }
        notify::ErrorKind::Io(error) => error.to_string(),
        notify::ErrorKind::Generic(words) => words.clone(),
        _ => error.to_string(),
    }
}

/// Names the file system of a folder where changes by others are not reported.
#[cfg(target_os = "linux")]
fn remote_file_system(folder: &Path) -> Option<&'static str> {
    use std::os::unix::ffi::OsStrExt;
    let existing = folder.ancestors().find(|ancestor| ancestor.exists())?;
    let path = std::ffi::CString::new(existing.as_os_str().as_bytes()).ok()?;
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `path` ends with a zero byte and lives through the call; `found` is written to in
    // full when the call answers 0, and read only then.
    let kind = unsafe {
        if libc::statfs(path.as_ptr(), found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init().f_type
    };
    #[allow(clippy::unnecessary_cast, reason = "the field's type differs between systems")]
    match kind as i64 & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("a Windows share"),
        0x6573_5546 => Some("FUSE"),
        0x0102_1997 => Some("a 9p share"),
        0x5346_414f => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn remote_file_system(_folder: &Path) -> Option<&'static str> {
    None
}
