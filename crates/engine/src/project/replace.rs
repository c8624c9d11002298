//! Replacing a file at once or not at all.

use super::folder::{FileStamp, Step};
use super::temp::TempName;
use super::turn::pause;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How often a rename is tried where indexers and scanners hold files for a moment.
const RENAMES: u32 = 10;

/// What copies of unreadable files end in, and how many are kept.
const COPY_ENDING: &str = ".unreadable";
const COPIES: usize = 20;

/// What became of a replacement.
#[derive(Debug)]
pub(super) enum Replaced {
    /// The file is the new one.
    Yes(FileStamp),
    /// `verify` said no; the old file stands.
    No,
}

/// Writes `bytes` beside the file (a symbolic link is written through), brings them to the disk,
/// asks `verify`, and renames; [`sync_folder`] brings that to the disk. Mode bits and owner are
/// kept.
pub(super) fn replace(
    file: &Path,
    bytes: &[u8],
    verify: &dyn Fn() -> bool,
    probe: &dyn Fn(Step),
) -> io::Result<Replaced> {
    let retry = cfg!(windows).then_some(RENAMES);
    replace_by(file, bytes, verify, probe, &|from, to| std::fs::rename(from, to), retry)
}

fn replace_by(
    file: &Path,
    bytes: &[u8],
    verify: &dyn Fn() -> bool,
    probe: &dyn Fn(Step),
    rename: &dyn Fn(&Path, &Path) -> io::Result<()>,
    retry: Option<u32>,
) -> io::Result<Replaced> {
    let target = link_target(file)?;
    let temporary = TempName::beside(&target)?;
    let mut written = create_like(&target, &temporary)?;
    written.write_all(bytes)?;
    probe(Step::BeforeFsync);
    written.sync_all()?;
    let stamp = FileStamp::of(&written.metadata()?);
    drop(written);
    probe(Step::BeforeVerify);
    let mut tries = 1;
    loop {
        if !verify() {
            return Ok(Replaced::No);
        }
        probe(Step::BeforeRename);
        match rename(&temporary, &target) {
            Ok(()) => break,
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && retry.is_some_and(|most| tries < most) =>
            {
                pause(u64::from(5 * tries), u64::from(10 * tries));
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
    probe(Step::AfterRename);
    Ok(Replaced::Yes(stamp))
}

/// Follows symbolic links to the file that is meant, which need not exist.
pub(super) fn link_target(file: &Path) -> io::Result<PathBuf> {
    let mut target = file.to_owned();
    for _ in 0..40 {
        match std::fs::read_link(&target) {
            Ok(link) => {
                let folder = target.parent().unwrap_or(Path::new(""));
                target = folder.join(link);
            }
            // Not a link, or nothing there.
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Creates the temporary file with mode and owner of the one it will replace.
fn create_like(target: &Path, temporary: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let Ok(old) = std::fs::metadata(target) else { return options.open(temporary) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
        let file = options.mode(old.permissions().mode() & 0o777).open(temporary)?;
        let mine = file.metadata()?;
        if (mine.uid(), mine.gid()) != (old.uid(), old.gid()) {
            // Only root may; elsewhere the file becomes ours, as with every program that renames.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(old.permissions())?;
        Ok(file)
    }
    #[cfg(not(unix))]
    {
        let _ = old;
        options.open(temporary)
    }
}

/// Brings a rename to the disk. The file stands already, so a refusal is only told.
pub(super) fn sync_folder(file: &Path) {
    #[cfg(unix)]
    if let Ok(target) = link_target(file)
        && let Some(folder) = target.parent()
        && let Err(error) = File::open(folder).and_then(|folder| folder.sync_all())
    {
        tracing::warn!(folder = %folder.display(), %error, "cannot bring the folder to the disk");
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// Removes the oldest copy when there are many: a file may be broken in ever new ways.
fn make_room(trash: &Path) {
    let Ok(entries) = std::fs::read_dir(trash) else { return };
    let copies: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(COPY_ENDING))
        .collect();
    if copies.len() < COPIES {
        return;
    }
    let age = |entry: &std::fs::DirEntry| entry.metadata().and_then(|data| data.modified()).ok();
    if let Some(oldest) = copies.iter().min_by_key(|entry| age(entry)) {
        let _ = std::fs::remove_file(oldest.path());
    }
}

/// Copies an unreadable project file into the trash, once per content; best effort.
pub(super) fn keep_copy(trash: Option<&Path>, id: &str, bytes: &[u8]) {
    let Some(trash) = trash else { return };
    let digest = Sha256::digest(bytes);
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    // The id may be as long as a file name; its end tells more than its beginning.
    let start = id.char_indices().rev().nth(99).map_or(0, |(at, _)| at);
    let copy = trash.join(format!("{}.{mark}{COPY_ENDING}", &id[start..]));
    let kept = std::fs::create_dir_all(trash).and_then(|()| {
        make_room(trash);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&copy)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        file.write_all(bytes)
    });
    match kept {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            tracing::warn!(copy = %copy.display(), %error, "cannot keep a copy");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn refused() -> io::Error {
        io::Error::from(io::ErrorKind::PermissionDenied)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        entries.map(|entry| entry.expect("readable").file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn g02_a_rename_that_is_refused_for_a_moment_is_tried_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.json");
        std::fs::write(&file, "old").expect("written");
        let tries = Cell::new(0);
        let rename = |from: &Path, to: &Path| {
            tries.set(tries.get() + 1);
            if tries.get() < 3 { Err(refused()) } else { std::fs::rename(from, to) }
        };
        let done = replace_by(&file, b"new", &|| true, &|_| {}, &rename, Some(RENAMES));
        assert!(matches!(done, Ok(Replaced::Yes(_))), "the third try succeeds");
        assert_eq!(std::fs::read(&file).expect("readable"), b"new");
        assert_eq!(names(folder.path()), ["p.json"], "no temporary file is left");
    }

    #[test]
    fn g02_a_rename_that_stays_refused_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.json");
        std::fs::write(&file, "old").expect("written");
        let failed = replace_by(&file, b"new", &|| true, &|_| {}, &|_, _| Err(refused()), Some(3));
        assert!(failed.is_err(), "the caller must hear of it");
        assert_eq!(std::fs::read(&file).expect("readable"), b"old", "the old file is intact");
        assert_eq!(names(folder.path()), ["p.json"], "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through_and_the_mode_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().join("real.json");
        std::fs::create_dir(folder.path().join("projects")).expect("created");
        std::fs::write(&real, "old").expect("written");
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).expect("set");
        let link = folder.path().join("projects").join("p.json");
        std::os::unix::fs::symlink("../real.json", &link).expect("linked");
        replace(&link, b"new", &|| true, &|_| {}).expect("replaced");
        assert!(link.is_symlink(), "the link stays a link");
        assert_eq!(std::fs::read(&real).expect("readable"), b"new");
        let mode = std::fs::metadata(&real).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "the mode is kept");
        assert_eq!(names(&folder.path().join("projects")), ["p.json"], "nothing beside the link");
    }
}
