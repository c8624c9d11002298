//! Every case of `tests/vectors/cases.jsonl` has a test that names it, and `tests/CASES.md` says
//! which; a table that no longer holds fails here, with the table to write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where tests are.
const FOLDERS: [&str; 4] = ["crates", "src-tauri", "tests/desktop", "ui"];

/// A test and where it is.
type Found = BTreeMap<String, BTreeSet<(String, String)>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("there")
}

fn cases() -> BTreeMap<String, String> {
    let path = root().join("tests/vectors/cases.jsonl");
    let text = std::fs::read_to_string(path).expect("the cases are in the repository");
    let case = |line: &str| {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case");
        let word = |key: &str| case[key].as_str().expect("text").to_owned();
        (word("id"), word("area"))
    };
    text.lines().map(case).collect()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            if !["target", "node_modules", "dist"].contains(&name.as_str()) {
                sources(&path, into);
            }
        } else if [".rs", ".test.ts", ".py"].iter().any(|end| name.ends_with(end)) {
            into.push(path);
        }
    }
}

/// Notes the cases that each test of a file names, in its own name or in the lines above it.
fn scan(file: &str, text: &str, ids: &BTreeMap<String, String>, found: &mut Found) {
    let (mut above, mut is_test) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        let rust = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
        let script = ["it('", "test('", "it(\"", "test(\""]
            .iter()
            .find_map(|start| line.strip_prefix(start))
            .and_then(|rest| rest.split_once(['\'', '"']));
        let python = line
            .strip_prefix("def ")
            .filter(|name| name.starts_with("test_"))
            .and_then(|rest| rest.split_once('('));
        if line.starts_with("///") || line.starts_with("//") {
            above.push_str(line);
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if line.starts_with("#[") {
            // Another attribute between the comment and the function.
        } else if let Some((name, _)) = script.or(python) {
            note(file, name, name, ids, found);
            above.clear();
        } else {
            if let (Some((name, _)), true) = (rust, is_test) {
                note(file, name, &format!("{above} {name}"), ids, found);
            }
            above.clear();
            is_test = false;
        }
    }
}

fn note(file: &str, name: &str, text: &str, ids: &BTreeMap<String, String>, found: &mut Found) {
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let id = word.to_ascii_uppercase();
        if ids.contains_key(&id) {
            found.entry(id).or_default().insert((file.to_owned(), name.to_owned()));
        }
    }
}

fn found(ids: &BTreeMap<String, String>) -> Found {
    let mut files = Vec::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut files);
    }
    files.sort();
    let mut found = Found::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let name = file.strip_prefix(root()).unwrap_or(&file).to_string_lossy().into_owned();
        scan(&name, &text, ids, &mut found);
    }
    found
}

#[test]
fn every_case_is_named_by_a_test() {
    let ids = cases();
    let found = found(&ids);
    let missing: Vec<&String> = ids.keys().filter(|id| !found.contains_key(*id)).collect();
    assert!(missing.is_empty(), "no test names these cases, in its name or above it: {missing:?}");
}

/// Each row of the table is true, and each case has one.
#[test]
fn the_table_of_cases_says_where_each_is() {
    let ids = cases();
    let found = found(&ids);
    let path = root().join("tests/CASES.md");
    let table = std::fs::read_to_string(path).expect("the table is in the repository");
    let mut rows = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, area, tests] = cells.as_slice() else { panic!("three cells a row: {line}") };
        assert_eq!(ids.get(*id).map(String::as_str), Some(*area), "{line}");
        rows.insert((*id).to_owned());
        let named: BTreeSet<String> = found
            .get(*id)
            .into_iter()
            .flatten()
            .map(|(file, name)| format!("`{file}`: `{name}`"))
            .collect();
        for test in tests.split("; ") {
            assert!(named.contains(test), "{id}: {test} is not there; write one of {named:?}");
        }
    }
    let missing: Vec<&String> = ids.keys().filter(|id| !rows.contains(*id)).collect();
    assert!(missing.is_empty(), "the table has no row for {missing:?}");
}
