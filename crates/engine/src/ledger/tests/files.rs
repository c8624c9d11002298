use super::place::{Filesystem, judge_filesystem, owner_verdict};
use super::schema::{MIGRATIONS, Migration, connect};
use super::*;
use std::fs;

/// Case I02: network folders are refused with the way out, unlisted ones are used.
#[test]
fn i02_network_filesystems_are_refused_and_unlisted_ones_used() {
    let refused = [
        (0x6969, None),
        (0x517B, None),
        (0xFF53_4D42, None),
        (0xFE53_4D42, None),
        (0x5346_414F, None),
        (0x0102_1997, None),
        (0x6573_5546, Some("virtiofs")),
        (0x6573_5546, Some("fuse.sshfs")),
        (0x6573_5546, None),
    ];
    for (magic, kind) in refused {
        let verdict = judge_filesystem(magic, kind);
        assert!(matches!(verdict, Filesystem::Refused(_)), "{magic:x} {kind:?} is {verdict:?}");
    }
    for (magic, kind) in [(0xEF53, None), (0x0102_1994, None), (0x6573_5546, Some("fuseblk"))] {
        assert_eq!(judge_filesystem(magic, kind), Filesystem::Local, "{magic:x} {kind:?}");
    }
    assert_eq!(judge_filesystem(0x1234_5678, None), Filesystem::Unlisted, "start, and log it");
    let kind = "NFS".to_owned();
    let text = LedgerError::NetworkFilesystem { path: "/data".into(), kind }.to_string();
    assert!(text.contains("/data") && text.contains("--data-dir"), "the way out: {text}");
}

#[test]
fn a_folder_of_another_user_is_refused_with_the_way_out() {
    let dir = Path::new("/home/ann/.config/openchamber");
    assert!(owner_verdict(dir, 1000, 1000, false).is_ok(), "our own");
    assert!(owner_verdict(dir, 0, 1000, true).is_ok(), "a sticky folder is everybody's");
    let text = owner_verdict(dir, 1000, 0, false).expect_err("sudo").to_string();
    assert!(text.contains("sudo") && text.contains("/home/ann"), "what and what to do: {text}");
}

#[test]
fn a_damaged_ledger_is_set_aside_with_its_log_and_ids_are_not_used_again() {
    let bed = Bed::new();
    let (run, _) = running(&bed.open(), "t", T0);
    fs::write(bed.db(), vec![0x5a; 8192]).expect("damages");
    fs::write(bed.own().join("ledger.db-wal"), b"left over").expect("writes");
    bed.clock.advance(Duration::from_secs(60));
    let opened = Ledger::open(&bed.own(), ProcessId::current().clone(), bed.clock.clone())
        .expect("a new one is started");
    let aside = opened.set_aside.expect("and the old one is named");
    assert_eq!(fs::read(&aside).expect("reads").len(), 8192, "nothing was deleted");
    let mut wal = aside.into_os_string();
    wal.push("-wal");
    assert!(Path::new(&wal).exists(), "its log went with it");
    let (next, _) = win(&opened.ledger, &slot("t", T0 + 1));
    assert!(next > run, "run {run} is never meant by {next}");
}

#[test]
fn a_damaged_ledger_that_another_process_has_open_is_left_alone() {
    let bed = Bed::new();
    let _other = bed.open_as(neighbour());
    let folded: i64 = bed
        .raw()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .expect("folds the log in, which would heal the file");
    // Written in place: the other keeps the same file, and the lock on the one beside it.
    fs::write(bed.db(), vec![0x5a; 8192]).expect("damages");
    let error = Ledger::open(&bed.own(), ProcessId::current().clone(), bed.clock.clone())
        .expect_err("it must not be taken away under the other");
    assert!(matches!(error, LedgerError::DamagedInUse { .. }), "{error}, {folded}");
}

#[test]
fn a_newer_schema_is_refused_at_start_and_stops_a_running_program() {
    let bed = Bed::new();
    let ledger = bed.open();
    bed.raw().pragma_update(None, "user_version", 99).expect("upgrades");
    let error = ledger.claim(&slot("t", T0)).expect_err("it must not claim");
    assert!(matches!(error, LedgerError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("restart"), "what to do: {error}");
    let error = Ledger::open(&bed.own(), ProcessId::current().clone(), bed.clock.clone())
        .expect_err("nor start");
    assert!(matches!(error, LedgerError::Newer { .. }), "{error}");
}

#[test]
fn every_old_schema_is_upgraded_after_a_backup_named_by_date_and_subject() {
    const NEXT: &str = "ALTER TABLE run ADD COLUMN colour TEXT";
    for old in 1..=MIGRATIONS.len() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ledger.db");
        let copy = |m: &Migration| Migration { subject: m.subject, sql: m.sql };
        let mut steps: Vec<Migration> = MIGRATIONS[..old].iter().map(copy).collect();
        let conn = connect(&path, T0, &steps, false).expect("the old schema");
        conn.execute(
            "INSERT INTO run (project, task, task_name, trigger, status, created_at) \
             VALUES ('p', 't', 'T', 'manual', 'succeeded', 1)",
            [],
        )
        .expect("inserts");
        drop(conn);
        steps.extend(MIGRATIONS[old..].iter().map(copy));
        steps.push(Migration { subject: "colours", sql: NEXT });
        let conn = connect(&path, T0, &steps, false).expect("upgrades");
        let kept: i64 = conn
            .query_row("SELECT count(*) FROM run WHERE colour IS NULL", [], |row| row.get(0))
            .expect("the new column is there");
        assert_eq!(kept, 1, "from version {old}: the history stays");
        // Named after the first step that was missing; all steps are one upgrade.
        let name = format!("ledger-2027-01-15-before-{}.db", steps[old].subject);
        let backup = dir.path().join(name);
        let version: i64 = Connection::open(&backup)
            .expect("the backup opens")
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .expect("reads");
        assert_eq!(version, old as i64, "the backup is the ledger of before");
        connect(&path, T0, &steps, false).expect("a second start upgrades nothing");
    }
}

#[test]
fn a_failing_migration_leaves_the_old_schema() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("ledger.db");
    connect(&path, T0, MIGRATIONS, false).expect("opens");
    let copy = |m: &Migration| Migration { subject: m.subject, sql: m.sql };
    let mut steps: Vec<Migration> = MIGRATIONS.iter().map(copy).collect();
    steps.push(Migration { subject: "bad", sql: "CREATE TABLE x (a); SELECT nonsense" });
    assert!(connect(&path, T0, &steps, false).is_err(), "it fails");
    let conn = connect(&path, T0, MIGRATIONS, false).expect("the old program goes on");
    let left = conn.prepare("SELECT * FROM x").is_ok();
    assert!(!left, "half a step is no step");
}

#[test]
fn the_pragmas_are_what_the_protocol_asks_for() {
    let bed = Bed::new();
    let ledger = bed.open();
    let ask = |name: &str| {
        let sql = format!("PRAGMA {name}");
        ledger.read("asking", |conn| {
            conn.query_row(&sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
        })
    };
    assert_eq!(ask("journal_mode").expect("reads"), "wal".to_owned().into(), "WAL");
    assert_eq!(ask("synchronous").expect("reads"), 2.into(), "FULL");
    assert_eq!(ask("foreign_keys").expect("reads"), 1.into(), "on");
}

#[test]
fn a_replaced_file_is_noticed_and_running_runs_are_inserted_again() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    ledger.set_session(run, fence, "ses_1").expect("stores");
    for suffix in ["", "-wal", "-shm"] {
        let from = format!("{}{suffix}", bed.db().display());
        let _ = fs::rename(&from, format!("{from}.moved"));
    }
    let version = ledger.data_version().expect("reads");
    assert_eq!(ledger.beat(run, fence).expect("beats"), 1, "the marker is in the new file too");
    let row = ledger.run(run).expect("reads").expect("so is the run").run;
    assert_eq!(
        (row.status, row.session_id.as_deref()),
        (Status::Running, Some("ses_1")),
        "as it was"
    );
    let other = bed.open_as(neighbour()).claim(&slot("t", T0 + 1)).expect("answers");
    assert!(matches!(other, ClaimVerdict::AlreadyRunning { .. }), "nobody else runs it: {other:?}");
    ledger.finish(run, fence, &Ending::new(Status::Succeeded)).expect("ends");
    assert_ne!(version, 0, "the version is a number");
}

#[test]
fn another_processs_claim_in_the_new_file_supersedes_ours() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", bed.db().display()));
    }
    bed.clock.advance(Duration::from_secs(1));
    running(&bed.open_as(neighbour()), "t", T0 + 1);
    assert_eq!(ledger.beat(run, fence).expect("beats"), 0, "somebody else has the task");
    assert_eq!(status(&ledger, run), Status::Lost, "and our row says so");
}

#[test]
fn others_changes_show_in_the_data_version_and_own_ones_do_not() {
    let bed = Bed::new();
    let (ledger, other) = (bed.open(), bed.open_as(neighbour()));
    let before = ledger.data_version().expect("reads");
    ledger.pause(None).expect("pauses");
    assert_eq!(ledger.data_version().expect("reads"), before, "our own change");
    other.resume().expect("resumes");
    assert_ne!(ledger.data_version().expect("reads"), before, "another process's change");
}

#[test]
fn an_unusable_folder_is_an_error_that_names_it() {
    let bed = Bed::new();
    fs::write(bed.own(), b"a file in the way").expect("writes");
    let error = Ledger::open(&bed.own(), ProcessId::current().clone(), bed.clock.clone())
        .expect_err("no folder");
    assert!(error.to_string().contains("loopkeeper"), "names the path: {error}");
}

#[test]
fn a_ledger_that_breaks_while_open_is_set_aside_at_the_next_call_and_running_runs_go_on() {
    let bed = Bed::new();
    let ledger = bed.open();
    let (run, fence) = running(&ledger, "t", T0);
    let folded: i64 = bed
        .raw()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .expect("folds the log in, which would heal the file");
    assert_eq!(folded, 0, "nobody was in the way");
    fs::write(bed.db(), vec![0x5a; 8192]).expect("damages");
    ledger.set_probe(|_| Injected::Corrupt);
    let error = ledger.beat(run, fence).expect_err("SQLite notices");
    assert!(error.to_string().contains("ledger.db"), "the file is named: {error}");
    ledger.set_probe(|_| Injected::Nothing);
    bed.clock.advance(Duration::from_secs(60));
    assert_eq!(ledger.beat(run, fence).expect("beats"), 1, "the run is in the new ledger");
    let aside = ledger.take_set_aside().expect("the damaged one is named");
    assert_eq!(fs::read(aside).expect("reads"), vec![0x5a; 8192], "and kept as it was found");
    assert_eq!(ledger.take_set_aside(), None, "and told once");
    let (next, _) = running(&ledger, "u", T0);
    assert!(next > run, "ids go on");
}

/// Root ignores permission bits, so this thread gives up its rights over files (and only it).
#[cfg(target_os = "linux")]
#[test]
fn a_folder_without_write_permission_is_an_error_that_says_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let bed = Bed::new();
    let mode = |path: &Path, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("sets the mode");
    };
    fs::create_dir(bed.own()).expect("makes the folder");
    mode(bed.dir.path(), 0o755);
    mode(&bed.own(), 0o555);
    let (own, clock) = (bed.own(), bed.clock.clone());
    let open = move || {
        // SAFETY: it changes the rights of this thread alone, which ends with the test.
        unsafe {
            if libc::geteuid() == 0 {
                libc::setfsuid(65534);
            }
        }
        Ledger::open(&own, ProcessId::current().clone(), clock).expect_err("it cannot write")
    };
    let error = std::thread::spawn(open).join().expect("no panic");
    mode(&bed.own(), 0o755);
    assert!(matches!(error, LedgerError::ReadOnly { .. }), "a kind of its own: {error}");
    assert!(error.to_string().contains("write permission"), "what to do: {error}");
}
