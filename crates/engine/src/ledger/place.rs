//! Where the ledger may lie, and the OS lock beside it.
//!
//! WAL needs shared memory of one machine: on a network folder it damages the file. The OS lock is
//! held shared by whoever has the ledger open; only who gets it exclusively may set a damaged
//! ledger aside, so nobody loses the file under his hands (PROTOCOL §7).

use super::error::LedgerError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a filesystem is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filesystem {
    /// A local one.
    Local,
    /// One that is not on our list: used, and worth a line in the log.
    Unlisted,
    /// A shared one, by its name: refused.
    Refused(&'static str),
}

/// Judges a filesystem by its magic number (Linux `statfs`) and, where known, its type's name as
/// the mount table has it: all FUSE filesystems share one number.
pub fn judge_filesystem(magic: u32, kind: Option<&str>) -> Filesystem {
    use Filesystem::*;
    match magic {
        0x6969 => Refused("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Refused("SMB"),
        0x0102_1997 => Refused("9p"),
        0x5346_414F | 0x6B41_4653 => Refused("AFS"),
        0x7375_7245 => Refused("Coda"),
        0x00C3_6400 => Refused("Ceph"),
        0x0BD0_0BD0 => Refused("Lustre"),
        0x4750_4653 => Refused("GPFS"),
        0x0116_1970 => Refused("GFS2"),
        0x7461_636F => Refused("OCFS2"),
        0x1983_0326 => Refused("BeeGFS"),
        0x786F_4256 => Refused("a VirtualBox shared folder"),
        0xBACB_ACBC => Refused("a VMware shared folder"),
        0x7C7C_6673 => Refused("a Parallels shared folder"),
        0x6573_5546 => match kind {
            Some("fuseblk" | "fuse.fuse-overlayfs" | "fuse.gocryptfs" | "fuse.bindfs") => Local,
            Some("virtiofs") => Refused("virtiofs"),
            _ => Refused("a FUSE filesystem that may be remote"),
        },
        // ext, xfs, btrfs, tmpfs, overlay, f2fs, zfs, bcachefs, ramfs, ecryptfs, exfat, vfat, ntfs
        0xEF53 | 0x5846_5342 | 0x9123_683E | 0x0102_1994 | 0x794C_7630 | 0xF2F5_2010
        | 0x2FC1_2FC1 | 0xCA45_1A4E | 0x8584_58F6 | 0xF15F | 0x2011_BAB0 | 0x4D44 | 0x5346_544E => {
            Local
        }
        _ => Unlisted,
    }
}

/// Makes the folder ready: creates it where missing, and refuses one that is not ours or not local.
pub(super) fn prepare(dir: &Path) -> Result<(), LedgerError> {
    let existing = if dir.exists() { Some(dir) } else { dir.parent().filter(|p| p.exists()) };
    if let Some(existing) = existing {
        check_owner(existing)?;
        check_filesystem(existing)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| folder_error(dir, source))?;
    check_owner(dir)?;
    check_filesystem(dir)
}

fn folder_error(path: &Path, source: std::io::Error) -> LedgerError {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let path = path.to_owned();
    match source.kind() {
        PermissionDenied | ReadOnlyFilesystem => {
            LedgerError::ReadOnly { path, detail: source.to_string() }
        }
        StorageFull => LedgerError::Full { path },
        _ => LedgerError::Folder { path, source },
    }
}

#[cfg(unix)]
fn check_owner(dir: &Path) -> Result<(), LedgerError> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(dir).map_err(|source| folder_error(dir, source))?;
    // A sticky folder such as /tmp is everybody's: what we make in it is ours.
    const STICKY: u32 = 0o1000;
    // SAFETY: geteuid cannot fail and touches no memory.
    let me = unsafe { libc::geteuid() };
    owner_verdict(dir, metadata.uid(), me, metadata.mode() & STICKY != 0)
}

#[cfg(unix)]
pub(super) fn owner_verdict(
    dir: &Path,
    owner: u32,
    me: u32,
    sticky: bool,
) -> Result<(), LedgerError> {
    if owner == me || sticky {
        return Ok(());
    }
    Err(LedgerError::ForeignOwner { path: dir.to_owned(), owner, me })
}

#[cfg(not(unix))]
fn check_owner(_dir: &Path) -> Result<(), LedgerError> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn check_filesystem(dir: &Path) -> Result<(), LedgerError> {
    use std::os::unix::ffi::OsStrExt;
    let Ok(name) = std::ffi::CString::new(dir.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: an all-zero statfs is a valid value, and `name` is a C string that outlives the call.
    let (answer, stat) = unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &mut stat), stat)
    };
    if answer != 0 {
        return Err(folder_error(dir, std::io::Error::last_os_error()));
    }
    #[allow(clippy::unnecessary_cast, reason = "the field's type differs between targets")]
    let magic = stat.f_type as u64 as u32;
    let kind = mounted_as(dir);
    match judge_filesystem(magic, kind.as_deref()) {
        Filesystem::Refused(kind) => {
            Err(LedgerError::NetworkFilesystem { path: dir.to_owned(), kind: kind.to_owned() })
        }
        Filesystem::Unlisted => {
            tracing::info!(folder = %dir.display(), magic, "the ledger lies on an unlisted filesystem");
            Ok(())
        }
        Filesystem::Local => Ok(()),
    }
}

/// Returns the type's name from the mount table: the entry with the same device, as `stat` has it.
#[cfg(target_os = "linux")]
fn mounted_as(dir: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let device = fs::metadata(dir).ok()?.dev();
    let wanted = format!("{}:{}", libc::major(device), libc::minor(device));
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    table.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        (mount.split(' ').nth(2)? == wanted)
            .then(|| filesystem.split(' ').next().map(str::to_owned))
            .flatten()
    })
}

#[cfg(target_os = "macos")]
fn check_filesystem(dir: &Path) -> Result<(), LedgerError> {
    use std::os::unix::ffi::OsStrExt;
    let Ok(name) = std::ffi::CString::new(dir.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: an all-zero statfs is a valid value, and `name` is a C string that outlives the call.
    let (answer, stat) = unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &mut stat), stat)
    };
    if answer != 0 {
        return Err(folder_error(dir, std::io::Error::last_os_error()));
    }
    if stat.f_flags & (libc::MNT_LOCAL as u32) == 0 {
        let kind = "a network volume".to_owned();
        return Err(LedgerError::NetworkFilesystem { path: dir.to_owned(), kind });
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn check_filesystem(dir: &Path) -> Result<(), LedgerError> {
    let text = dir.to_string_lossy();
    if text.starts_with("\\\\") && !text.starts_with("\\\\?\\") {
        let kind = "a network share".to_owned();
        return Err(LedgerError::NetworkFilesystem { path: dir.to_owned(), kind });
    }
    Ok(())
}

/// Tells a file from another one that took its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Returns what lies at the path now; `None` where nothing does.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|metadata| FileIdentity(metadata.dev(), metadata.ino()))
    }

    /// Windows refuses to move an open database, so being there is enough.
    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|_| FileIdentity(0, 0))
    }
}

const POLL: Duration = Duration::from_millis(20);
const POLLS: u32 = 150;

/// Takes the OS lock in the way that `try_lock` says; `None` after 3 s.
fn poll_lock(
    dir: &Path,
    try_lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>, LedgerError> {
    let path = dir.join("ledger.lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|source| folder_error(&path, source))?;
    for _ in 0..POLLS {
        match try_lock(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => pause(POLL),
            Err(TryLockError::Error(source)) => return Err(folder_error(&path, source)),
        }
    }
    Ok(None)
}

#[allow(
    clippy::disallowed_methods,
    reason = "the ledger is synchronous; callers use spawn_blocking"
)]
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}

pub(super) fn share(dir: &Path) -> Result<File, LedgerError> {
    poll_lock(dir, File::try_lock_shared)?
        .ok_or_else(|| LedgerError::Locked { path: dir.join("ledger.lock") })
}

pub(super) fn exclusive(dir: &Path) -> Result<Option<File>, LedgerError> {
    poll_lock(dir, File::try_lock)
}

/// Renames the database with its -wal and -shm: together, since each is worthless or harmful alone.
pub(super) fn set_aside(path: &Path, now_ms: i64) -> Result<PathBuf, LedgerError> {
    let stem = format!("{}.damaged-{}", path.display(), stamp(now_ms));
    let mut target = PathBuf::from(&stem);
    let mut n = 1;
    while target.exists() {
        n += 1;
        target = PathBuf::from(format!("{stem}-{n}"));
    }
    // The log first: a new database must never find the old one's.
    for suffix in ["-wal", "-shm", ""] {
        let from = with_suffix(path, suffix);
        match fs::rename(&from, with_suffix(&target, suffix)) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(folder_error(&from, source));
            }
            _ => {}
        }
    }
    Ok(target)
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns date and time as they stand in file names.
pub(super) fn stamp(now_ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(now_ms)
        .map(|at| at.format("%Y-%m-%dT%H%M%SZ").to_string())
        .unwrap_or_else(|| now_ms.to_string())
}
