//! The README is true: its examples run, its loops are right, its tables are whole.

mod place;

use place::{Place, path_variable, ran, repository};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).expect("the README")
}

/// Returns the fenced blocks with this word after the fence.
fn blocks(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in readme().lines() {
        open = match (open, line.strip_prefix("```")) {
            (None, Some(info)) => Some((info == word, String::new())),
            (None, None) => None,
            (Some((wanted, text)), Some(_)) => {
                found.extend(wanted.then_some(text));
                None
            }
            (Some((wanted, text)), None) => Some((wanted, text + line + "\n")),
        };
    }
    found
}

#[test]
fn the_examples_run() {
    let place = Place::new();
    std::fs::remove_dir_all(place.project.join(".agents")).expect("a project without loops");
    let program = Path::new(env!("CARGO_BIN_EXE_loopkeeper"));
    let folder = program.parent().expect("a folder").display();
    let examples = blocks("sh test");
    assert_eq!(examples.len(), 2, "blocks marked `sh test`");
    for example in examples {
        let mut shell = Command::new("sh");
        shell
            .args(["-eux", "-c", &example])
            .env_clear()
            .env("HOME", &place.home)
            .env("PATH", format!("{folder}:{}", path_variable()))
            .env("TZ", "UTC")
            .current_dir(&place.project);
        ran(&mut shell).exits(0);
    }
}

#[test]
fn the_loops_are_right() {
    let place = Place::new();
    let loops = blocks("markdown");
    assert!(!loops.is_empty());
    for text in loops {
        std::fs::write(place.loop_path("shown"), &text).expect("written");
        let check = place.run(&["check"]);
        assert_eq!(check.code, 0, "{text}\n{check:#?}");
    }
}

/// Returns the first cells of the table below this head.
fn table(head: &str) -> Vec<Vec<String>> {
    let text = readme();
    let at = text.find(head).unwrap_or_else(|| panic!("a table with {head}"));
    let rows = text[at..].lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches([' ', '|']).to_owned()).collect())
        .collect()
}

/// Returns what stands between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_command_is_listed() {
    let help = Place::new().run(&["--help"]).exits(0).out;
    let told = help.split("Commands:\n").nth(1).expect("commands");
    let told: BTreeSet<&str> = told
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    let rows = table("| Command | Does |");
    let listed: BTreeSet<&str> = rows.iter().flat_map(|row| code(&row[0])).collect();
    assert_eq!(listed, told);
}

#[test]
fn the_settings_are_those_that_are_read_with_their_defaults() {
    let mut place = Place::registered();
    let file = place.root.path().join("settings.toml");
    place.environment.push(("LOOPKEEPER_CONFIG".into(), file.display().to_string()));
    let rows = table("| Key | Default | Meaning |");
    assert!(rows.len() > 20, "{rows:?}");
    let mut text = String::new();
    for row in &rows {
        let (key, value) = (code(&row[0]), code(&row[1]));
        if let ([key], [value]) = (&key[..], &value[..]) {
            text += &format!("{} = {value}\n", key.replace("NAME", "name"));
        }
    }
    text += "command.name.argv = [\"true\"]\n";
    std::fs::write(&file, &text).expect("written");
    let list = place.run(&["list"]);
    assert_eq!(list.code, 0, "{text}\n{list:#?}");
}
