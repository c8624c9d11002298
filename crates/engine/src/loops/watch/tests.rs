use super::*;
use std::fs;

/// Long enough for any machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
const QUICK: Timing =
    Timing { debounce: Duration::from_millis(20), poll: Duration::from_millis(20) };

fn start(folders: Vec<Folder>) -> (Watcher, Receiver<Bell>) {
    let (to, bells) = channel();
    let watcher = Watcher::start(folders, QUICK, move |bell| {
        let _ = to.send(bell);
    });
    (watcher.expect("started"), bells)
}

fn next(bells: &Receiver<Bell>) -> Bell {
    bells.recv_timeout(PATIENCE).expect("a change rings")
}

/// Saves as editors do: in one step, so that it rings once however slow the machine is.
fn save_by_rename(path: &Path, text: &str) {
    let other = path.with_extension("swp");
    fs::write(&other, text).expect("written");
    fs::rename(other, path).expect("renamed");
}

/// J01: editors rename a new file over the old one; every save rings, not only the first.
#[test]
fn j01_saves_by_rename_are_all_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.md");
    fs::write(&path, "0").expect("written");
    let (_watcher, bells) = start(vec![Folder::loops(folder.path())]);
    for save in ["first", "second", "third"] {
        save_by_rename(&path, save);
        let bell = next(&bells);
        assert_eq!(bell, Bell { role: Role::Loops, folder: folder.path().to_owned() });
        assert_eq!(fs::read_to_string(&path).expect("read"), save, "the bell came after the save");
    }
}

#[test]
fn a_folder_that_does_not_exist_yet_is_seen_when_it_appears() {
    let base = tempfile::tempdir().expect("a folder");
    let loops = base.path().join("p/.agents/loops");
    let (watcher, bells) = start(vec![Folder::loops(&loops)]);
    fs::create_dir_all(&loops).expect("created");
    save_by_rename(&loops.join("a.md"), "x");
    next(&bells);
    save_by_rename(&loops.join("b.md"), "x");
    next(&bells);
    assert_eq!(watcher.status(), WatchStatus::Watching);
    fs::rename(base.path().join("p/.agents"), base.path().join("p/old")).expect("renamed");
    next(&bells);
    fs::create_dir_all(&loops).expect("created anew");
    save_by_rename(&loops.join("c.md"), "x");
    next(&bells);
}

/// Noise before a real change in another folder: only the real one rings.
#[test]
fn temporary_files_reads_and_own_writes_do_not_ring() {
    let (noisy, other) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let own = noisy.path().join("own.md");
    fs::write(&own, "0").expect("written");
    let registry = Folder::named(Role::Registry, other.path(), &["settings.json"]);
    let (watcher, bells) = start(vec![Folder::loops(noisy.path()), registry]);
    for name in [".loop-x.tmp", "a.md.swp", "4913", "p.json.lock"] {
        save_by_rename(&noisy.path().join(name), "x");
    }
    fs::read(&own).expect("read");
    let write = || crate::loops::write::write_file(&own, b"ours");
    watcher.writing(&own, write).expect("written");
    save_by_rename(&other.path().join("other.json"), "x");
    save_by_rename(&other.path().join("settings.json"), "x");
    assert_eq!(next(&bells), Bell { role: Role::Registry, folder: other.path().to_owned() });
    // The same file, by somebody else.
    save_by_rename(&own, "theirs now");
    assert_eq!(next(&bells).role, Role::Loops);
}

#[test]
fn other_folders_can_be_set() {
    let (first, second) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (watcher, bells) = start(vec![Folder::loops(first.path())]);
    save_by_rename(&first.path().join("0.md"), "x");
    assert_eq!(next(&bells).role, Role::Loops);
    watcher.set_folders(vec![Folder::projects(second.path())]);
    save_by_rename(&first.path().join("a.md"), "x");
    save_by_rename(&second.path().join("p.json"), "x");
    assert_eq!(next(&bells), Bell { role: Role::Projects, folder: second.path().to_owned() });
    // Known folders keep what was seen of them, new ones count from the call.
    watcher.set_folders(vec![Folder::projects(second.path()), Folder::loops(first.path())]);
    save_by_rename(&first.path().join("b.md"), "x");
    assert_eq!(next(&bells).role, Role::Loops);
}

#[test]
fn where_watching_fails_changes_are_looked_for_and_the_cause_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (to, bells) = channel();
    let broken = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
    let watcher = Watcher::with(
        Err(broken),
        channel(),
        vec![Folder::loops(folder.path())],
        QUICK,
        Box::new(move |bell| {
            let _ = to.send(bell);
        }),
    )
    .expect("started");
    for name in ["a.md", "b.md"] {
        save_by_rename(&folder.path().join(name), "x");
        assert_eq!(next(&bells).folder, folder.path());
    }
    let WatchStatus::Polling { cause } = watcher.status() else { panic!("it cannot watch") };
    assert!(cause.contains("max_user_watches"), "{cause}");
}

/// While watching works nothing wakes the thread: it waits without a limit.
#[test]
fn idle_watching_waits_without_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let (watcher, bells) = start(vec![Folder::loops(folder.path())]);
    save_by_rename(&folder.path().join("a.md"), "x");
    next(&bells);
    assert_eq!(watcher.status(), WatchStatus::Watching, "so `next` uses the wait without a limit");
    drop(watcher);
    assert_eq!(bells.recv(), Err(std::sync::mpsc::RecvError), "the thread has ended");
}
