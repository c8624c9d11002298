//! What is broken on disk: each is told with the file and what to do, nothing is lost, and
//! everything else goes on.

#![cfg(unix)]

mod place;

use place::{Place, Ran, ran};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A place with one good loop, `good`.
fn place() -> Place {
    let place = Place::new();
    place.write_loop("good", "0 9 * * *", "demo/echo", "", "Say hello.");
    place.register();
    place
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("read")
}

/// A place that belongs to a user whom permission bits bind; root is not bound by them.
struct Bound {
    place: Place,
    program: PathBuf,
    user: Option<u32>,
}

impl Bound {
    fn new() -> Bound {
        let place = Place::new();
        place.write_loop("good", "0 9 * * *", "demo/echo", "", "Say hello.");
        let root = place.root.path();
        let user = (std::fs::metadata(root).expect("made").uid() == 0).then_some(65_534);
        // Other users may not reach the folder that it was built in.
        let program = root.join("loopkeeper");
        std::fs::copy(env!("CARGO_BIN_EXE_loopkeeper"), &program).expect("copied");
        let bound = Bound { place, program, user };
        if let Some(user) = user {
            give(bound.place.root.path(), user);
        }
        bound.run(&["projects", "add", "."]).exits(0);
        bound
    }

    fn command(&self, program: &str) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let id = user.to_string();
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--", program]);
                command
            }
        };
        command
            .env_clear()
            .env("HOME", &self.place.home)
            .env("PATH", place::path_variable())
            .env("TZ", "UTC")
            .env("OPENCHAMBER_DATA_DIR", &self.place.data)
            .current_dir(&self.place.project);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(self.program.to_str().expect("UTF-8")).args(arguments))
    }

    /// Runs a shell line as the bound user.
    fn shell(&self, line: &str) {
        ran(self.command("sh").args(["-c", line])).exits(0);
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("given");
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("listed") {
            give(&entry.expect("listed").path(), user);
        }
    }
}

#[test]
fn a_malformed_loop_is_named_and_hides_no_other() {
    let place = place();
    place.write_loop("bad", "0 9 * *", "demo/echo", "", "Say hello.");
    let before = read(&place.loop_path("bad"));
    let file = place.loop_path("bad").canonicalize().expect("there");
    let file = file.to_str().expect("UTF-8");
    let list =
        place.run(&["list"]).exits(0).says(&[file, "line 3", "four fields", "write `0 9 * * *`"]);
    assert!(list.out.contains("good"), "{list:#?}");
    let status = place.run(&["status"]).exits(0);
    assert!(status.out.contains(file), "it needs somebody: {status:#?}");
    let check = place.run(&["check"]).exits(1);
    assert!(check.out.contains("bad.md:3:"), "{check:#?}");
    place.run(&["run", "--task", "good"]).exits(0);
    assert_eq!(read(&place.loop_path("bad")), before, "it is its author's");

    // A task that was good keeps its last good definition, and says so.
    let good = place.loop_path("good");
    std::fs::write(&good, read(&good).replace("0 9 * * *", "nonsense")).expect("written");
    let list = place.run(&["list"]).exits(0).says(&["good.md:3:", "nonsense"]);
    assert!(list.out.contains("Every day at 09:00"), "armed as it was: {list:#?}");
}

#[test]
fn an_unreadable_folder_or_file_of_loops_takes_no_task_away() {
    let bound = Bound::new();
    let loops = bound.place.project.join(".agents/loops");
    mode(&loops, 0o000);
    let name = loops.to_str().expect("UTF-8");
    let list = bound.run(&["list"]).exits(0).says(&[".agents/loops", "Permission denied", "right"]);
    assert!(list.out.contains("good"), "its task stays: {list:#?}");
    bound.run(&["check"]).exits(1).says(&[name, "Permission denied", "right to read"]);
    bound.run(&["run", "--task", "good"]).exits(0);
    mode(&loops, 0o755);

    mode(&loops.join("good.md"), 0o000);
    let list = bound.run(&["list"]).exits(0).says(&["good.md", "Permission denied"]);
    assert!(list.out.contains("armed"), "its task stays: {list:#?}");
    let check = bound.run(&["check"]).exits(1);
    assert!(check.out.contains("good.md") && check.out.contains("permissions"), "{check:#?}");
    // It is there, so it is not gone: the last good definition runs.
    bound.run(&["run", "--task", "good"]).exits(0);
    mode(&loops.join("good.md"), 0o644);
    let list = bound.run(&["list"]).exits(0);
    assert!(list.err.is_empty(), "it heals itself: {list:#?}");
}

#[test]
fn a_project_file_that_is_no_json_is_left_as_it_is() {
    let place = place();
    let other = place.root.path().join("other");
    std::fs::create_dir_all(other.join(".agents/loops")).expect("made");
    std::fs::copy(place.loop_path("good"), other.join(".agents/loops/good.md")).expect("copied");
    let file = place.project_file();
    let good = read(&file);
    let broken = "{\"version\": 1, \"scheduledTasks\": [";
    std::fs::write(&file, broken).expect("written");
    let name = file.to_str().expect("UTF-8");
    place.run(&["projects", "add", other.to_str().expect("UTF-8")]).exits(0);
    place.run(&["list", "--dir", "."]).exits(4).says(&[name, "line 1", "repair or remove"]);
    place.run(&["run", "--task", "good"]).exits(4).says(&[name, "repair or remove"]);
    let all = place.run(&["list", "--all"]).exits(0).says(&[name]);
    assert!(all.out.contains("other"), "the other project goes on: {all:#?}");
    let status = place.run(&["status"]).exits(0);
    assert!(status.out.contains(name), "{status:#?}");
    let doctor = place.run(&["doctor"]).exits(1);
    assert!(doctor.out.contains(name), "{doctor:#?}");
    let run = place.run(&["run", "--task", "good", "--project", "other"]).exits(0);
    assert!(run.out.contains("Say hello."), "{run:#?}");
    assert_eq!(read(&file), broken, "never overwritten");
    std::fs::write(&file, good).expect("written");
    place.run(&["run", "--task", "good", "--dir", "."]).exits(0);
}

#[test]
fn a_settings_json_that_is_none_is_left_to_its_owner() {
    let place = place();
    let file = place.data.join("settings.json");
    std::fs::write(&file, "{\"projects\": [").expect("written");
    let name = file.to_str().expect("UTF-8");
    place.run(&["projects", "list"]).exits(0).says(&[name, "line 1", "repaired"]);
    let list = place.run(&["list"]).exits(0).says(&[name]);
    assert!(list.out.contains("good"), "our own projects go on: {list:#?}");
    place.run(&["run", "--task", "good"]).exits(0);
    assert_eq!(read(&file), "{\"projects\": [", "read, never written");
}

#[test]
fn a_bad_setting_is_named_with_its_line() {
    let place = place();
    let file = place.root.path().join("settings.toml");
    let name = file.to_str().expect("UTF-8").to_owned();
    let mut place = place;
    place.environment.push(("LOOPKEEPER_CONFIG".into(), name.clone()));
    for (text, parts) in [
        ("[runs]\nglobl = 3\n", [":2:", "runs.globl", "`global`"]),
        ("[runs]\ntimeout = \"soon\"\n", [":2:", "soon", "30s"]),
        ("[server]\nport = 70000\n", [":2:", "server.port", "65535"]),
        ("[runs\n", [":1:", "not TOML", "`]`"]),
    ] {
        std::fs::write(&file, text).expect("written");
        place.run(&["list"]).exits(2).says(&[&name]).says(&parts);
        place.run(&["serve", "--port", "0"]).exits(2).says(&[&name]).says(&parts);
        let doctor = place.run(&["doctor"]).exits(1);
        assert!(doctor.out.contains("settings: ") && doctor.out.contains(&name), "{doctor:#?}");
        // What needs no settings goes on.
        place.run(&["check"]).exits(0);
        place.run(&["next", "--cron", "0 9 * * *"]).exits(0);
        assert_eq!(read(&file), text, "it is its author's");
    }
}

#[test]
fn a_corrupt_ledger_is_set_aside_and_nothing_runs_again() {
    let place = Place::registered();
    place.write_loop("beat", "*/2 * * * * *", "demo/echo", "", "Say hello.");
    let mut serve = place.serve(&[]);
    let row = serve.end_of("beat");
    assert!(serve.terminate().success());
    let ledger = place.ledger();
    let _ = std::fs::remove_file(ledger.with_extension("db-wal"));
    let _ = std::fs::remove_file(ledger.with_extension("db-shm"));
    let damage = "this is no database ".repeat(300);
    std::fs::write(&ledger, &damage).expect("written");

    let name = ledger.to_str().expect("UTF-8");
    let status = place.run(&["status"]).exits(0).says(&[name, "damaged", "set aside"]);
    assert!(status.out.contains("armed"), "{status:#?}");
    let folder = ledger.parent().expect("a folder");
    let aside = std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("read").path());
    let aside = aside.filter(|path| path.to_string_lossy().contains("damaged"));
    let kept: Vec<String> = aside.map(|path| read(&path)).collect();
    assert_eq!(kept, [damage], "nothing is lost");

    let mut serve = place.serve(&[]);
    let next = serve.end_of("beat");
    assert!(
        next["scheduledFor"].as_i64() > row["scheduledFor"].as_i64(),
        "the shared file still holds the claims: {next:#}"
    );
    assert!(serve.terminate().success());
}

#[test]
fn a_locked_ledger_is_named_and_the_rest_can_be_read() {
    let place = place();
    place.run(&["run", "--task", "good"]).exits(0);
    let ledger = place.ledger();
    let held = rusqlite::Connection::open(&ledger).expect("opened");
    held.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let name = ledger.to_str().expect("UTF-8");
    place.run(&["run", "--task", "good"]).exits(4).says(&[name, "busy", "try again"]);
    let runs = place.run(&["runs"]).exits(0);
    assert!(runs.out.contains("succeeded"), "what is there can be read: {runs:#?}");
    held.execute_batch("ROLLBACK").expect("released");
    place.run(&["run", "--task", "good"]).exits(0);
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named_with_the_way_out() {
    let bound = Bound::new();
    let data = bound.place.data.to_str().expect("UTF-8").to_owned();
    bound.shell("chmod -R a-w \"$OPENCHAMBER_DATA_DIR\"");
    for arguments in [
        vec!["list"],
        vec!["status"],
        vec!["runs"],
        vec!["run", "good"],
        vec!["serve", "--port", "0"],
    ] {
        bound.run(&arguments).exits(4).says(&[&data, "Permission denied", "write permission"]);
    }
    let doctor = bound.run(&["doctor"]).exits(1);
    assert!(doctor.out.contains(&data) && doctor.out.contains("write permission"), "{doctor:#?}");
    bound.run(&["check"]).exits(0);

    // Only the shared part: the slot cannot be claimed, so it is not run.
    bound.shell(
        "chmod -R u+w \"$OPENCHAMBER_DATA_DIR\"; chmod a-w \"$OPENCHAMBER_DATA_DIR/projects\"",
    );
    let said = bound.run(&["run", "good"]).exits(4);
    let said = said.says(&["projects/", "Permission denied", "right to read and write"]);
    assert!(!said.out.contains("You said"), "no claim, no run: {said:#?}");
    bound.shell("chmod u+w \"$OPENCHAMBER_DATA_DIR/projects\"");
    bound.run(&["run", "good"]).exits(0);

    let file = bound.place.loop_path("good");
    let said = bound.run(&["list", "--data-dir", file.to_str().expect("UTF-8")]).exits(4);
    said.says(&["good.md", "--data-dir"]);
    if bound.user.is_some() {
        bound.place.run(&["list"]).exits(4).says(&[&data, "without sudo", "--data-dir"]);
    }
}
