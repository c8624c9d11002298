//! The schema, its migrations, and the pragmas with their reasons.

use super::error::{LedgerError, from_sql};
use super::place;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One step from `user_version` n to n + 1.
pub(super) struct Migration {
    /// What it is about; names the backup that is made before it.
    pub subject: &'static str,
    /// Plain SQL; runs in one transaction with the other steps.
    pub sql: &'static str,
}

/// All steps, oldest first; their number is the schema's version. A released step never changes.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { subject: "first-schema", sql: include_str!("schema.sql") },
    Migration { subject: "ended-index", sql: include_str!("ended.sql") },
];

/// A new ledger counts its ids from the seconds since this moment (14 November 2023), so that they
/// are never those of a ledger that was set aside.
const ID_EPOCH_S: i64 = 1_700_000_000;

/// The longest wait for another writer; the peer gives up its lock after 10 s, and we hold the
/// project lock meanwhile (PROTOCOL, lock order).
const BUSY_LIMIT_MS: u64 = 2_000;

/// Opens and prepares the database at `path`; a `suspect` one is checked whole, whatever its size.
pub(super) fn connect(
    path: &Path,
    now_ms: i64,
    migrations: &[Migration],
    suspect: bool,
) -> Result<Connection, LedgerError> {
    let sql = |during| move |source| from_sql(source, path, during);
    let mut conn = Connection::open(path).map_err(sql("opening"))?;
    let mut waited = 0;
    conn.busy_handler(Some(move |tries: i32| {
        if tries == 0 {
            waited = 0;
        }
        // Jitter, so that waiting processes do not knock in step; who has waited longer knocks
        // more often, so that nobody starves.
        let longest = u64::try_from(10 - tries.clamp(0, 8)).unwrap_or(2);
        let nap = fastrand::u64(1..=longest);
        waited += nap;
        place::pause(Duration::from_millis(nap));
        waited < BUSY_LIMIT_MS
    }))
    .map_err(sql("setting the busy wait"))?;
    // Until the file proved sound, closing it must not fold its log in and delete it: a damaged
    // ledger is set aside as it was found.
    keep_log(&conn, true).map_err(sql("opening"))?;
    check(&conn, path, suspect)?;
    if conn.is_readonly("main").map_err(sql("opening"))? {
        return Err(LedgerError::ReadOnly {
            path: path.to_owned(),
            detail: "it is write-protected".to_owned(),
        });
    }
    set_pragmas(&conn).map_err(sql("setting pragmas"))?;
    migrate(&mut conn, path, now_ms, migrations)?;
    keep_log(&conn, false).map_err(sql("opening"))?;
    Ok(conn)
}

/// Says whether closing leaves the log beside the file, rather than folding it in.
pub(super) fn keep_log(conn: &Connection, keep: bool) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
}

fn set_pragmas(conn: &Connection) -> rusqlite::Result<()> {
    // Readers never wait for a writer, nor it for them. Two processes that make the file at once
    // meet here without a busy wait, so the wait is ours.
    let mut waited = 0;
    loop {
        match conn.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if waited < BUSY_LIMIT_MS
                    && error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
            {
                let nap = fastrand::u64(1..=12);
                waited += nap;
                place::pause(Duration::from_millis(nap));
            }
            other => break other?,
        }
    }
    // A claim that a power cut could undo would be run again.
    conn.pragma_update(None, "synchronous", "full")?;
    // Steps and questions go with their run.
    conn.pragma_update(None, "foreign_keys", true)?;
    // Sorting happens in memory: no temporary files beside the user's.
    conn.pragma_update(None, "temp_store", "memory")?;
    // After a burst the log shrinks again.
    conn.pragma_update(None, "journal_size_limit", 4 << 20)?;
    // A doctored file cannot call functions through its schema.
    conn.pragma_update(None, "trusted_schema", false)
}

/// A full check reads every page; above this size only the tables that decide are checked.
const FULL_CHECK_BYTES: u64 = 8 << 20;

fn check(conn: &Connection, path: &Path, suspect: bool) -> Result<(), LedgerError> {
    let large = !suspect && std::fs::metadata(path).is_ok_and(|file| file.len() > FULL_CHECK_BYTES);
    let parts: &[&str] = if large {
        &[
            "quick_check(marker)",
            "quick_check(account)",
            "quick_check(hold)",
            "quick_check(approval)",
        ]
    } else {
        &["quick_check(1)"]
    };
    for part in parts {
        let verdict: String = conn
            .query_row(&format!("PRAGMA {part}"), [], |row| row.get(0))
            .map_err(|source| from_sql(source, path, "checking"))?;
        if verdict != "ok" {
            return Err(LedgerError::Corrupt { path: path.to_owned(), detail: verdict });
        }
    }
    Ok(())
}

/// Reads `user_version`.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Reads a number that differs when another connection wrote since the last reading.
pub(super) fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

fn migrate(
    conn: &mut Connection,
    path: &Path,
    now_ms: i64,
    migrations: &[Migration],
) -> Result<(), LedgerError> {
    let sql = |source| from_sql(source, path, "upgrading");
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let found = version(conn).map_err(sql)?;
    if found > known {
        return Err(LedgerError::Newer { path: path.to_owned(), found, known });
    }
    let next = usize::try_from(found).ok().and_then(|n| migrations.get(n));
    let Some(step) = next else { return Ok(()) };
    if found > 0 {
        back_up(conn, path, now_ms, step.subject)?;
    }
    // All steps at once: nobody ever finds a ledger between two of them.
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Another process may have been faster: then its steps count.
    let found = usize::try_from(version(&tx).map_err(sql)?).unwrap_or(usize::MAX);
    for (number, step) in migrations.iter().enumerate().skip(found) {
        tx.execute_batch(step.sql).map_err(sql)?;
        if number == 0 {
            tx.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('run', ?)",
                [(now_ms / 1000 - ID_EPOCH_S).max(0)],
            )
            .map_err(sql)?;
        }
    }
    tx.pragma_update(None, "user_version", known.max(version(&tx).map_err(sql)?)).map_err(sql)?;
    tx.commit().map_err(sql)
}

/// Copies the ledger to `ledger-DATE-before-SUBJECT.db`; one that is there already is kept.
fn back_up(conn: &Connection, path: &Path, now_ms: i64, subject: &str) -> Result<(), LedgerError> {
    let day: String = place::stamp(now_ms).chars().take(10).collect();
    let target = path.with_file_name(format!("ledger-{day}-before-{subject}.db"));
    if target.exists() {
        return Ok(());
    }
    let failed = |detail: String| LedgerError::Backup { path: path.to_owned(), detail };
    // A copy that was cut short never bears the final name.
    let partial: PathBuf = place::with_suffix(&target, &format!(".{}.partial", std::process::id()));
    let _ = std::fs::remove_file(&partial);
    conn.execute("VACUUM INTO ?", [partial.to_string_lossy()])
        .map_err(|error| failed(error.to_string()))?;
    std::fs::rename(&partial, &target).map_err(|error| failed(error.to_string()))
}
