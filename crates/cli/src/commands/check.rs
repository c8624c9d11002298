//! `check`: loop files, with no data folder needed.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use crate::output::Ink;
use loopkeeper_engine::engine::check_loop;
use loopkeeper_engine::loops::{Cache, Diagnostic, Severity, discover};
use loopkeeper_engine::loops_folder;
use loopkeeper_engine::task::Definition;
use serde::Serialize;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The files; without any, all loops of the current folder's project
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What one file comes to.
#[derive(Debug, Serialize)]
struct Checked {
    path: PathBuf,
    ok: bool,
    definition: Option<Definition>,
    diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    words: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let all = args.files.is_empty();
    let files = if all { loops_here(&context.environment.here)? } else { args.files };
    let mut checked: Vec<Checked> = files.into_iter().map(|path| check(path, context)).collect();
    if all {
        add_what_files_do_to_each_other(&mut checked, context);
    }
    if context.out.json {
        context.out.value(&checked);
    } else {
        for file in &checked {
            print(file, context);
        }
    }
    // What is only worth knowing is no finding.
    let fine = checked.iter().all(|file| {
        file.ok && file.diagnostics.iter().all(|found| found.severity == Severity::Info)
    });
    Ok(if fine { DONE } else { FAILED })
}

/// Adds what no file shows alone: names that clash or shadow, links that are no loops.
fn add_what_files_do_to_each_other(checked: &mut [Checked], context: &Context) {
    let here = &context.environment.here;
    let found = discover(here, &context.environment.machine.home, &mut Cache::default());
    for (path, diagnostic) in found.diagnostics {
        let file = checked.iter_mut().find(|file| here.join(&file.path) == path);
        if let Some(file) = file.filter(|file| !file.diagnostics.contains(&diagnostic)) {
            file.diagnostics.push(diagnostic);
        }
    }
}

fn check(path: PathBuf, context: &Context) -> Checked {
    let here = context.environment.here.join(&path);
    match std::fs::read(&here) {
        Ok(bytes) => {
            let view = check_loop(&bytes, &context.environment.machine.zone, context.now());
            Checked {
                path,
                ok: view.ok,
                definition: view.definition,
                diagnostics: view.diagnostics,
                words: view
                    .preview
                    .map(|preview| format!("{} ({})", preview.words, preview.timezone)),
            }
        }
        Err(error) => Checked {
            diagnostics: vec![unreadable(&error)],
            path,
            ok: false,
            definition: None,
            words: None,
        },
    }
}

fn unreadable(error: &std::io::Error) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "unreadable".to_owned(),
        line: 1,
        column: 1,
        end_line: 1,
        end_column: 1,
        message: format!("the file cannot be read: {error}"),
        help: Some("check its name and its permissions".to_owned()),
        fix: None,
    }
}

fn print(file: &Checked, context: &Context) {
    let out = &context.out;
    let path = file.path.display();
    if let Some(definition) = &file.definition {
        let state = if definition.enabled { "enabled" } else { "off" };
        let words = file.words.as_deref().unwrap_or("");
        out.note(format!(
            "{path}: {} {} · {words} · {state}",
            out.ink(Ink::Good, "ok"),
            definition.name
        ));
    }
    for found in &file.diagnostics {
        let (ink, word) = match found.severity {
            Severity::Error => (Ink::Bad, "error"),
            Severity::Warning => (Ink::Warn, "warning"),
            Severity::Info => (Ink::Dim, "note"),
        };
        out.line(format!(
            "{path}:{}:{}: {}: {}",
            found.line,
            found.column,
            out.ink(ink, word),
            found.message
        ));
        out.indented("  ", found.help.as_deref().unwrap_or_default());
        if let Some(fix) = &found.fix {
            out.line(format!("  fix: {}", fix.title));
        }
    }
}

/// Finds the loops of the project that a folder is in: from there up to the worktree's root.
fn loops_here(here: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut any = false;
    for folder in here.ancestors() {
        let loops = loops_folder(folder);
        let entries = match std::fs::read_dir(&loops) {
            Ok(entries) => Some(entries),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => None,
            Err(error) => {
                let text = format!("the loops in {} cannot be listed: {error}", loops.display());
                return Err(Failure::new(FAILED, text)
                    .help("give yourself the right to read the folder, or name the files"));
            }
        };
        if let Some(entries) = entries {
            any = true;
            let names = entries.flatten().map(|entry| entry.path());
            let mut found: Vec<PathBuf> = names
                .filter(|path| {
                    path.extension().is_some_and(|ending| ending == "md") && path.is_file()
                })
                .collect();
            found.sort();
            files.extend(found);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    if any {
        return Ok(files);
    }
    Err(Failure::usage(format!(
        "there are no loops in {} and the folders above it",
        here.display()
    ))
    .help("name the files, or go into a project that has .agents/loops"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_looked_for_up_to_the_worktree() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("repo/sub/deep");
        std::fs::create_dir_all(&deep).expect("made");
        assert_eq!(
            loops_here(&deep).expect_err("none").exit,
            2,
            "without files and loops it makes no sense"
        );
        for (folder, name) in
            [("", "outside.md"), ("repo", "a.md"), ("repo/sub", "b.md"), ("repo/sub", "notes.txt")]
        {
            let loops = loops_folder(&root.path().join(folder));
            std::fs::create_dir_all(&loops).expect("made");
            std::fs::write(loops.join(name), "").expect("written");
        }
        std::fs::create_dir(root.path().join("repo/.git")).expect("made");
        let found = loops_here(&deep).expect("loops");
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["b.md", "a.md"], "nearest first; nothing above the worktree's root");
    }
}
