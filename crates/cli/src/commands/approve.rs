//! `approve`: what waits for approval, with what changed since it was approved last.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome, REFUSED};
use crate::find::{self, Which};
use crate::output::{Ink, Output};
use loopkeeper_engine::view::ApprovalView;
use serde_json::json;
use std::io::Write as _;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Approve without asking
    #[arg(short, long)]
    yes: bool,
    /// Approve only this content: the hash that was shown
    #[arg(long)]
    hash: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let mut waiting = engine.approvals().await?;
    if args.which.given().is_some() {
        let task = find::task(context, &engine, &args.which).await?;
        waiting.retain(|view| view.project_id == task.project_id && view.task_id == task.id);
        if waiting.is_empty() {
            context.out.note(format!("{} does not wait for approval", task.name));
            return Ok(DONE);
        }
    } else {
        if context.out.json {
            context.out.value(&waiting);
            return Ok(DONE);
        }
        if waiting.is_empty() {
            context.out.note("nothing waits for approval");
        }
        for view in &waiting {
            let place = view.path.as_deref().unwrap_or("a task without a file");
            context.out.line(format!(
                "{}  {}  ({place})",
                context.out.ink(Ink::Bold, &view.name),
                view.why
            ));
        }
        if !waiting.is_empty() {
            context.out.note("see and approve one: loopkeeper approve TASK");
        }
        return Ok(DONE);
    }
    for view in &waiting {
        if let Some(hash) = args.hash.as_ref().filter(|hash| **hash != view.hash) {
            return Err(Failure::new(
                REFUSED,
                format!("the content is not {hash} any more, but {}", view.hash),
            )
            .help("look at it again"));
        }
        if !context.out.json {
            show(view, &context.out);
        }
        if !args.yes && args.hash.is_none() && !confirmed(context)? {
            return Err(Failure::new(REFUSED, format!("{} was not approved", view.name)));
        }
        engine.approve(&view.project_id, &view.task_id, &view.hash).await?;
        if context.out.json {
            context.out.value(&json!({ "ok": true, "hash": view.hash }));
        } else {
            context
                .out
                .note(format!("{} is approved in this content; a change asks again", view.name));
        }
    }
    Ok(DONE)
}

fn confirmed(context: &Context) -> Result<bool, Failure> {
    if !context.environment.can_ask || context.out.json {
        return Err(Failure::usage("nobody can be asked here")
            .help("say --yes, or --hash with the hash that was shown"));
    }
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "Approve it? [y/N] ").and_then(|()| out.flush());
    drop(out);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn show(view: &ApprovalView, out: &Output) {
    out.line(format!("{}: {}", out.ink(Ink::Bold, &view.name), view.why));
    if let Some(path) = &view.path {
        out.line(path);
    }
    out.line(format!("hash {}", view.hash));
    let before: Vec<&str> = view.approved_text.as_deref().unwrap_or("").lines().collect();
    let after: Vec<&str> = view.text.lines().collect();
    for (sign, line) in diff(&before, &after) {
        let text = format!("{sign} {line}");
        out.text(match sign {
            '+' => out.ink(Ink::Good, &text),
            '-' => out.ink(Ink::Bad, &text),
            _ => text,
        });
    }
}

/// Returns what changed, line by line, by the longest common subsequence.
fn diff<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let tail = before[head..]
        .iter()
        .rev()
        .zip(after[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let mut lines: Vec<(char, &str)> = before[..head].iter().map(|line| (' ', *line)).collect();
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        // Too much changed to be compared: all of the old, then all of the new.
        lines.extend(old.iter().map(|line| ('-', *line)));
        lines.extend(new.iter().map(|line| ('+', *line)));
    } else {
        let width = new.len() + 1;
        let mut common = vec![0u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                common[i * width + j] = if old[i] == new[j] {
                    common[(i + 1) * width + j + 1] + 1
                } else {
                    common[(i + 1) * width + j].max(common[i * width + j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < old.len() || j < new.len() {
            if i < old.len() && j < new.len() && old[i] == new[j] {
                lines.push((' ', old[i]));
                (i, j) = (i + 1, j + 1);
            } else if j >= new.len()
                || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
            {
                lines.push(('-', old[i]));
                i += 1;
            } else {
                lines.push(('+', new[j]));
                j += 1;
            }
        }
    }
    lines.extend(before[before.len() - tail..].iter().map(|line| (' ', *line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_line_by_line() {
        let lines = diff(&["a", "b", "c", "d"], &["a", "x", "c", "y", "d"]);
        let shown: Vec<String> = lines.iter().map(|(sign, line)| format!("{sign}{line}")).collect();
        assert_eq!(shown, [" a", "-b", "+x", " c", "+y", " d"]);
        assert_eq!(
            diff(&[], &["new"]),
            [('+', "new")],
            "what was never approved is new as a whole"
        );
        assert_eq!(diff(&["a", "a"], &["a"]).len(), 2, "a repeated line is not counted twice");
    }
}
