//! `reconcile.jsonl`: loops merged into a file, step by step, or discovered in a tree of files.

use loopkeeper_engine::loops::{Cache, Scope, discover};
use loopkeeper_engine::project::Document;
use loopkeeper_engine::project::reconcile::{Source, reconcile, reconcile_sources};
use loopkeeper_engine::task::Definition;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const NOW: i64 = 1_767_225_600_000;

pub fn answer(case: &Value) -> Option<Value> {
    match case.get("steps") {
        Some(steps) => answer_steps(&case["initial"], steps.as_array()?),
        None => answer_tree(case),
    }
}

fn answer_steps(initial: &Value, steps: &[Value]) -> Option<Value> {
    let mut file = text_of(initial);
    let mut answers = Vec::new();
    for step in steps {
        let loops: Vec<_> =
            step["loops"].as_array()?.iter().map(Found::read).collect::<Option<_>>()?;
        let sources: Vec<Source> = loops.iter().map(Found::source).collect();
        let mut document =
            match file.as_deref().map_or_else(|| Ok(Document::empty()), Document::parse) {
                Ok(document) => document,
                Err(error) => {
                    answers.push(json!({ "error": error.to_string() }));
                    continue;
                }
            };
        reconcile_sources(&mut document, &sources, &[], "UTC", NOW);
        let text = document.to_text();
        answers.push(serde_json::from_str(&text).ok()?);
        file = Some(text);
    }
    Some(answers.into())
}

fn text_of(initial: &Value) -> Option<String> {
    match initial {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        config => Some(config.to_string()),
    }
}

struct Found {
    scope: Scope,
    path: PathBuf,
    definition: Option<Definition>,
}

impl Found {
    fn read(case: &Value) -> Option<Found> {
        Some(Found {
            scope: if case["scope"] == "user" { Scope::User } else { Scope::Project },
            path: case["filePath"].as_str()?.into(),
            definition: serde_json::from_value(case["definition"].clone()).ok()?,
        })
    }

    fn source(&self) -> Source<'_> {
        let Found { scope, path, definition } = self;
        Source { scope: *scope, path, definition: definition.as_ref() }
    }
}

/// Builds the tree in a temporary folder, which reads `<root>` in case and answer.
fn answer_tree(case: &Value) -> Option<Value> {
    let folder = tempfile::tempdir().ok()?;
    let root = folder.path().canonicalize().ok()?;
    let real = |text: &str| text.replace("<root>", root.to_str().unwrap_or_default());
    for dir in case["dirs"].as_array().into_iter().flatten() {
        std::fs::create_dir_all(root.join(dir.as_str()?)).ok()?;
    }
    for (path, content) in case["tree"].as_object()? {
        let path = root.join(path);
        match content.as_str() {
            None => std::fs::create_dir_all(path).ok()?,
            Some(content) => {
                std::fs::create_dir_all(path.parent()?).ok()?;
                std::fs::write(path, content).ok()?;
            }
        }
    }
    for (path, target) in case["symlinks"].as_object().into_iter().flatten() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent()?).ok()?;
        link(&real(target.as_str()?), &path)?;
    }
    let (home, project) = (real(case["home"].as_str()?), real(case["project"].as_str()?));
    std::fs::create_dir_all(&home).ok()?;
    std::fs::create_dir_all(&project).ok()?;
    let found = discover(Path::new(&project), Path::new(&home), &mut Cache::default());
    let initial = text_of(&case["initial"]).map(|text| real(&text));
    let mut document =
        initial.map_or_else(|| Ok(Document::empty()), |text| Document::parse(&text)).ok()?;
    let unreadable: Vec<PathBuf> =
        found.folder_errors.into_iter().map(|error| error.path).collect();
    reconcile(&mut document, &found.loops, &unreadable, "UTC", NOW);
    serde_json::from_str(&document.to_text().replace(root.to_str()?, "<root>")).ok()
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> Option<()> {
    std::os::unix::fs::symlink(target, path).ok()
}

#[cfg(not(unix))]
fn link(_target: &str, _path: &Path) -> Option<()> {
    None
}
