//! `import crontab`: lines that call an agent become loop files.

mod crontab;

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use crate::find::{Place, project};
use crate::output::Ink;
use crontab::{Line, Loop};
use loopkeeper_engine::engine::check_loop;
use serde_json::json;
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, clap::Subcommand)]
enum From {
    /// From a crontab: lines whose command is a known agent call
    Crontab {
        /// The crontab; `-` reads standard input; without it, `crontab -l`
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Write the loop files; without it, only say what would be written
        #[arg(long)]
        write: bool,
        #[command(flatten)]
        place: Place,
    },
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let From::Crontab { file, write, place } = args.from;
    let text = read(file.as_deref(), context)?;
    let lines = crontab::read(&text);
    let mut report = Vec::new();
    let mut failed = false;
    let engine = if write { Some(context.open(false).await?) } else { None };
    for line in &lines {
        let (number, found) = match line {
            Line::Loop { number, found } => (*number, found),
            Line::Other { number, why } => {
                report.push(json!({ "line": number, "imported": false, "why": why }));
                continue;
            }
        };
        let mut row = json!({
            "line": number, "name": found.name, "text": found.text(), "notCarriedOver": found.lost,
        });
        let check =
            check_loop(found.text().as_bytes(), &context.environment.machine.zone, context.now());
        if !check.ok {
            failed = true;
            row["imported"] = false.into();
            row["why"] =
                check.diagnostics.first().map_or("it makes no loop", |found| &found.message).into();
        } else if let Some(engine) = &engine {
            match create(context, engine, &place, found).await {
                Ok(path) => {
                    row["imported"] = true.into();
                    row["path"] = path.into();
                }
                Err(failure) => {
                    failed = true;
                    row["imported"] = false.into();
                    row["why"] = failure.message.into();
                    row["help"] = failure.help.into();
                }
            }
        }
        report.push(row);
    }
    if context.out.json {
        context.out.value(&report);
    } else {
        print(context, &report, write);
    }
    Ok(if failed { FAILED } else { DONE })
}

async fn create(
    context: &Context,
    engine: &loopkeeper_engine::engine::Engine,
    place: &Place,
    found: &Loop,
) -> Result<String, Failure> {
    let place = match (&found.folder, &place.project, &place.dir) {
        (Some(folder), None, None) => Place { project: None, dir: Some(home(folder, context)) },
        _ => place.clone(),
    };
    let project = project(context, engine, &place).await?;
    let id = project.as_ref().map(|project| project.id.as_str());
    let file = engine.create_loop_file(id, &found.name, Some(&found.text())).await?;
    Ok(file.path)
}

/// cron starts in the home folder, and its lines say `~` and `$HOME`.
fn home(folder: &str, context: &Context) -> PathBuf {
    let home = &context.environment.machine.home;
    for prefix in ["~", "$HOME", "${HOME}"] {
        if let Some(rest) = folder.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return home.join(rest.trim_start_matches('/'));
        }
    }
    home.join(folder)
}

fn read(file: Option<&Path>, context: &Context) -> Result<String, Failure> {
    match file {
        Some(file) if file == Path::new("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| {
                Failure::usage(format!("standard input cannot be read: {error}"))
            })?;
            Ok(text)
        }
        Some(file) => std::fs::read_to_string(context.environment.here.join(file))
            .map_err(|error| Failure::usage(format!("{}: {error}", file.display()))),
        None => {
            let output = std::process::Command::new("crontab").arg("-l").output();
            match output {
                Ok(output) if output.status.success() => {
                    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
                }
                Ok(output) => Err(Failure::usage(format!(
                    "crontab -l: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                ))
                .help("name a file, or - for standard input")),
                Err(error) => Err(Failure::usage(format!("crontab cannot be started: {error}"))
                    .help("name a file, or - for standard input")),
            }
        }
    }
}

fn print(context: &Context, report: &[serde_json::Value], write: bool) {
    let out = &context.out;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    let mut made = 0;
    for row in report {
        let line = &row["line"];
        if row["imported"] == false {
            out.line(format!(
                "line {line}: {} {}",
                out.ink(Ink::Warn, "not imported:"),
                text(&row["why"])
            ));
            if let Some(help) = row["help"].as_str() {
                out.line(format!("  {help}"));
            }
            continue;
        }
        made += 1;
        match row["path"].as_str() {
            Some(path) => {
                out.line(format!("line {line}: {} {path}", out.ink(Ink::Good, "written:")))
            }
            None => {
                out.line(format!("line {line}: would write {}.md", text(&row["name"])));
                for line in text(&row["text"]).lines() {
                    out.text(format!("    {line}"));
                }
            }
        }
        for lost in row["notCarriedOver"].as_array().into_iter().flatten() {
            out.line(format!("  not carried over: {}", text(lost)));
        }
    }
    if made == 0 {
        out.note("no line calls an agent that is known (claude, opencode, codex, gemini)");
    } else if write {
        out.note("The loops are off. Remove the lines from the crontab first, then: loopkeeper enable NAME");
    } else {
        out.note("Nothing was written yet; say --write");
    }
}
