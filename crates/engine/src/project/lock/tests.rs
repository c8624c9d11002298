use super::*;
use crate::clock::SystemClock;
use serde_json::json;

const NOW: i64 = 1_800_000_000_000;

fn verdict(content: &[u8]) -> Option<Duration> {
    judge(&Seen { inode: 1, mtime: 1, content: Some(content.to_vec()) }, NOW).stale_after
}

fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().expect("true starts");
    let pid = child.id();
    child.wait().expect("it ends");
    pid
}

#[test]
fn every_kind_of_lock_is_judged() {
    let alive = std::os::unix::process::parent_id();
    let text = |value: Value| value.to_string().into_bytes();
    let cases = [
        ("a living holder", text(json!({ "pid": alive, "at": NOW })), None),
        ("one that sleeps", text(json!({ "pid": alive, "at": NOW - 60_001 })), Some(OLD)),
        ("one from the future", text(json!({ "pid": alive, "at": NOW + 5_000 })), Some(UNKNOWN)),
        ("a dead holder", text(json!({ "pid": dead_pid(), "at": NOW })), Some(DEAD)),
        ("a pid as text", text(json!({ "pid": alive.to_string(), "at": NOW })), None),
        ("a dead one as text", text(json!({ "pid": dead_pid().to_string() })), Some(DEAD)),
        ("no pid", text(json!({ "at": NOW })), Some(UNKNOWN)),
        ("pid zero", text(json!({ "pid": 0, "at": NOW })), Some(UNKNOWN)),
        ("a fraction", text(json!({ "pid": 1.5, "at": NOW })), Some(UNKNOWN)),
        ("no time", text(json!({ "pid": alive })), Some(UNKNOWN)),
        ("an empty file", Vec::new(), Some(UNKNOWN)),
        ("no JSON", b"locked".to_vec(), Some(UNKNOWN)),
        ("no object", b"[1]".to_vec(), Some(UNKNOWN)),
    ];
    for (what, content, expected) in cases {
        assert_eq!(verdict(&content), expected, "{what}");
    }
    let folder = judge(&Seen { inode: 1, mtime: 1, content: None }, NOW);
    assert_eq!(folder.stale_after, Some(UNKNOWN), "a folder in place of the lock");
}

#[test]
fn our_own_pid_with_a_strange_nonce_is_an_earlier_container() {
    let me = ProcessId::current();
    let mut lock = serde_json::to_value(me).expect("JSON");
    lock["nonce"] = "strange".into();
    lock["at"] = NOW.into();
    assert_eq!(verdict(lock.to_string().as_bytes()), Some(DEAD), "nobody here issued it");
    lock["namespace"] = "pid:[1]".into();
    let foreign = verdict(lock.to_string().as_bytes());
    assert_eq!(foreign, Some(UNKNOWN), "a living one of another container may hold it");
    lock["namespace"] = me.namespace.clone().into();
    lock["pid"] = 1.into();
    lock["boot"] = "earlier".into();
    assert_eq!(verdict(lock.to_string().as_bytes()), Some(DEAD), "nothing survives a boot");
}

#[test]
fn a_lock_appears_complete_and_is_released_only_while_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.json.lock");
    let lock = LockFile::create(&path, NOW).expect("created").expect("nobody else");
    let content: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("there")).expect("JSON");
    assert_eq!(content["pid"], std::process::id(), "the peer looks for it");
    assert_eq!(content["at"], NOW);
    assert!(LockFile::create(&path, NOW).expect("no fault").is_none(), "one at a time");
    assert_eq!(verdict(&std::fs::read(&path).expect("there")), None, "our threads wait for it");
    std::fs::write(&path, "{\"pid\":1,\"at\":5}").expect("somebody took it");
    drop(lock);
    assert!(path.exists(), "the lock of somebody else is not ours to remove");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1, "nothing is left");
}

#[test]
fn a_stale_lock_that_was_replaced_is_put_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.json.lock");
    std::fs::write(&path, "old").expect("written");
    let stale = see(&path).expect("readable").expect("there");
    std::fs::remove_file(&path).expect("the other thief was faster");
    std::fs::write(&path, "new").expect("and locked");
    assert!(!displace(&path, &stale).expect("no fault"), "it was not the stale one");
    assert_eq!(std::fs::read(&path).expect("there"), b"new", "so it is put back");
    let stale = see(&path).expect("readable").expect("there");
    assert!(displace(&path, &stale).expect("no fault"), "this is the one that was seen");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0, "nothing is left");
    std::fs::create_dir(&path).expect("a folder in its place");
    let stale = see(&path).expect("readable").expect("there");
    assert!(displace(&path, &stale).expect("no fault"), "moved away");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0, "nothing is left");
}

#[test]
fn watching_lasts_across_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.json.lock");
    let clock = super::super::file::tests::Stepped::default();
    std::fs::write(&path, "rubbish").expect("written");
    assert!(matches!(look(&path, &clock), Ok(Look::Held(_))), "first sight");
    clock.step(Duration::from_secs(59));
    assert!(matches!(look(&path, &clock), Ok(Look::Held(_))), "not yet a minute");
    clock.step(Duration::from_secs(1));
    assert!(matches!(look(&path, &clock), Ok(Look::Stale(_))), "unchanged for a minute");
    std::fs::write(&path, "rubbish too").expect("written");
    assert!(matches!(look(&path, &clock), Ok(Look::Held(_))), "a changed one starts anew");
    std::fs::remove_file(&path).expect("removed");
    assert!(matches!(look(&path, &clock), Ok(Look::Free { contested: false })));
    let dead = json!({ "pid": dead_pid(), "at": 1 }).to_string();
    std::fs::write(&path, dead).expect("written");
    look(&path, &SystemClock).expect("readable");
    std::fs::remove_file(&path).expect("another thief took it");
    let look = look(&path, &SystemClock);
    assert!(matches!(look, Ok(Look::Free { contested: true })), "more thieves may be coming");
}
