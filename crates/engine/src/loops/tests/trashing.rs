use super::*;
use crate::loops::trash::{KEPT_MS, TrashError, delete_to_trash, list, purge_trash, restore};
use crate::loops::write::WriteError;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_deletion_can_be_undone_for_thirty_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, trash) = (folder.path().join("a.md"), folder.path().join("trash"));
    fs::write(&path, file("")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mode");
    let entry = delete_to_trash(&path, &trash, 1_000).expect("deleted");
    assert!(!path.exists());
    assert_eq!(
        fs::metadata(&trash).expect("there").permissions().mode() & 0o777,
        0o700,
        "what was private stays so"
    );
    assert_eq!(list(&trash), std::slice::from_ref(&entry));
    assert_eq!(restore(&trash, &entry.id).expect("restored"), path);
    assert_eq!(fs::read_to_string(&path).expect("read"), file(""));
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    assert_eq!(list(&trash), [], "an entry is used once");
    let error = restore(&trash, &entry.id).expect_err("used up");
    assert!(matches!(error, TrashError::Unknown { .. }));

    let first = delete_to_trash(&path, &trash, 2_000).expect("deleted");
    fs::write(&path, "other").expect("written");
    let second = delete_to_trash(&path, &trash, 2_000).expect("deleted in the same millisecond");
    assert_ne!(first.id, second.id);
    assert_eq!(purge_trash(&trash, 2_000 + KEPT_MS).expect("purged"), 0, "30 days are kept");
    assert_eq!(purge_trash(&trash, 2_001 + KEPT_MS).expect("purged"), 2);
    assert_eq!(fs::read_dir(&trash).expect("listed").count(), 0, "nothing is left over");
}

#[test]
fn a_restored_loop_replaces_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, trash) = (folder.path().join("a.md"), folder.path().join("trash"));
    fs::write(&path, "old").expect("written");
    let entry = delete_to_trash(&path, &trash, 1).expect("deleted");
    fs::write(&path, "new").expect("written");
    let error = restore(&trash, &entry.id).expect_err("the place is taken");
    assert!(matches!(error, TrashError::Write(WriteError::Exists { .. })), "{error}");
    assert_eq!(fs::read(&path).expect("read"), b"new");
    assert_eq!(list(&trash).len(), 1, "nothing is lost");
    for id in ["", "../x", "1-0/../../a", "x"] {
        assert!(matches!(restore(&trash, id), Err(TrashError::Unknown { .. })), "{id}");
    }
}
