//! Agents that are programs: an argument list, the prompt in it or on the standard input.
//!
//! The prompt never meets a shell. The program runs in the project's folder, in a process group of
//! its own, and the whole group is ended with the run: whatever it forked is not left behind.

use super::config::CommandConfig;
use super::job::{ANSWER_LIMIT, EndReason, Ended, Job, Outcome, keep_tail};
use super::journal::{Inbox, Journal, StopReason, note};
use super::output::{Lines, Tail};
use super::process::{self, GroupGuard};
use crate::host::ProcessId;
use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How often the newest output is shown.
const SHOW_EVERY: Duration = Duration::from_millis(500);
/// How long output is still read after the whole group is gone.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs a command, which is the job's provider, to its end.
pub(crate) async fn run(
    config: &CommandConfig,
    environment: &[(OsString, OsString)],
    directory: &Path,
    prompt: &str,
    job: &Job,
    journal: &dyn Journal,
    inbox: &mut Inbox,
) -> Outcome {
    let name = job.execution.provider_id.as_str();
    let mut child = match start(config, environment, directory, prompt, job) {
        Ok(child) => child,
        Err(error) => {
            return Outcome::failed(
                EndReason::NotSent,
                format!("The command agent `{name}` could not be started: {error}"),
            );
        }
    };
    let Some(pid) = child.id() else {
        return Outcome::failed(EndReason::NotSent, format!("`{name}` ended before it began."));
    };
    let guard = GroupGuard::new(pid);
    let began = Instant::now();
    if let Err(error) = journal.child(&ProcessId::of(pid)).await {
        // A child that nobody could find after a crash must not work.
        process::end_group(pid).await;
        let _ = child.wait().await;
        return Outcome::failed(EndReason::NotSent, format!("`{name}` was not run: {error}"));
    }
    note(journal.accepted().await);
    if let Some(mut stdin) = child.stdin.take() {
        let prompt = prompt.to_owned();
        // A program may never read it, so nobody waits for this.
        tokio::spawn(async move {
            let _ = stdin.write_all(prompt.as_bytes()).await;
        });
    }
    let followed = follow(&mut child, pid, journal, inbox).await;
    guard.release();
    let mut outcome = judge(name, followed);
    outcome.duration = Some(began.elapsed());
    outcome
}

fn start(
    config: &CommandConfig,
    environment: &[(OsString, OsString)],
    directory: &Path,
    prompt: &str,
    job: &Job,
) -> Result<Child, String> {
    let mut words = config.argv.iter().map(|word| fill(word, prompt, job));
    let program = words
        .next()
        .filter(|program| !program.is_empty())
        .ok_or("its `argv` in the settings is empty. Write the program and its arguments there.")?;
    let mut command = Command::new(&program);
    command
        .args(words)
        .current_dir(directory)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("LOOPKEEPER_TASK", &job.task_id)
        .env("LOOPKEEPER_RUN", job.run_id.to_string())
        .env(
            "LOOPKEEPER_SCHEDULED_FOR",
            job.scheduled_for.map(|at| at.to_string()).unwrap_or_default(),
        )
        .stdin(if config.stdin { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "`{program}` was not found. Install it, or write its whole path into the settings."
        ),
        std::io::ErrorKind::PermissionDenied => {
            format!("`{program}` may not be executed ({error}).")
        }
        std::io::ErrorKind::ArgumentListTooLong => {
            "the prompt is too long for an argument. Write `stdin = true` for it.".to_owned()
        }
        _ => format!("`{program}`: {error}"),
    })
}

/// Fills in the placeholders of one argument, in one pass: a prompt that holds `{model}` is text.
fn fill(word: &str, prompt: &str, job: &Job) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [
            ("{prompt}", prompt),
            ("{model}", job.execution.model_id.as_str()),
            ("{title}", job.title.as_str()),
        ];
        let (length, text) = known
            .iter()
            .find(|(name, _)| rest.starts_with(name))
            .map_or((1, "{"), |(name, text)| (name.len(), *text));
        out.push_str(text);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// What was seen of a command until it was gone.
struct Followed {
    exit: Option<ExitStatus>,
    stop: Option<StopReason>,
    tail: Tail,
    errors: Tail,
    report: super::output::Report,
}

enum Piece {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

async fn follow(
    child: &mut Child,
    group: u32,
    journal: &dyn Journal,
    inbox: &mut Inbox,
) -> Followed {
    let (sender, mut pieces) = mpsc::channel(64);
    if let Some(out) = child.stdout.take() {
        tokio::spawn(pump(out, sender.clone(), Piece::Out));
    }
    if let Some(err) = child.stderr.take() {
        tokio::spawn(pump(err, sender.clone(), Piece::Err));
    }
    drop(sender);
    let (mut tail, mut errors, mut lines) = (Tail::default(), Tail::default(), Lines::default());
    let (mut exit, mut stop): (Option<Option<ExitStatus>>, _) = (None, None);
    let (mut open, mut fresh) = (true, false);
    let mut show = tokio::time::interval(SHOW_EVERY);
    show.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while exit.is_none() && stop.is_none() {
        tokio::select! {
            biased;
            reason = inbox.stopped() => stop = Some(reason),
            status = child.wait() => {
                exit = Some(status.ok());
            }
            _ = show.tick(), if fresh => {
                fresh = false;
                note(journal.progress(&tail.text()).await);
            }
            piece = pieces.recv(), if open => match piece {
                Some(piece) => {
                    keep(piece, &mut tail, &mut errors, &mut lines);
                    fresh = true;
                }
                None => open = false,
            },
        }
    }
    // The leader is gone or has to go; what it forked goes with it. Reading goes on meanwhile, so
    // that nobody hangs on a full pipe.
    let ended = {
        let ending = async { tokio::join!(process::end_group(group), child.wait()).1.ok() };
        tokio::pin!(ending);
        loop {
            tokio::select! {
                biased;
                ended = &mut ending => break ended,
                piece = pieces.recv(), if open => match piece {
                    Some(piece) => keep(piece, &mut tail, &mut errors, &mut lines),
                    None => open = false,
                },
            }
        }
    };
    // A process that left the group may still hold the pipes: nobody waits for it.
    let drained = Instant::now() + DRAIN;
    while let Ok(Some(piece)) = tokio::time::timeout_at(drained, pieces.recv()).await {
        keep(piece, &mut tail, &mut errors, &mut lines);
    }
    let exit = exit.unwrap_or(ended);
    note(journal.progress(&tail.text()).await);
    Followed { exit, stop, tail, errors, report: lines.finish() }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    to: mpsc::Sender<Piece>,
    make: fn(Vec<u8>) -> Piece,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 || to.send(make(buffer[..length].to_vec())).await.is_err() {
            return;
        }
    }
}

fn keep(piece: Piece, tail: &mut Tail, errors: &mut Tail, lines: &mut Lines) {
    match piece {
        Piece::Out(bytes) => {
            tail.push(&bytes);
            lines.push(&bytes);
        }
        Piece::Err(bytes) => {
            tail.push(&bytes);
            errors.push(&bytes);
        }
    }
}

fn judge(name: &str, followed: Followed) -> Outcome {
    let Followed { exit, stop, tail, errors, report } = followed;
    let mut outcome = match stop {
        Some(StopReason::Shutdown) => Outcome {
            reason: Some(EndReason::Shutdown),
            error: Some("stopped by shutdown".to_owned()),
            ..Outcome::new(Ended::Cancelled)
        },
        Some(reason) => super::stopped(reason, &[]),
        None => match exit {
            Some(exit) if exit.success() => match &report.error {
                Some(error) => Outcome::failed(
                    EndReason::ModelError,
                    format!("`{name}` reported an error: {}", keep_tail(error, 2000)),
                ),
                None => Outcome::new(Ended::Succeeded),
            },
            exit => failed_exit(name, exit, report.error.as_deref(), &errors.text()),
        },
    };
    let said = report.answer.filter(|answer| !answer.trim().is_empty());
    let answer = said.map_or_else(|| tail.text(), |answer| keep_tail(&answer, ANSWER_LIMIT));
    outcome.answer = Some(answer).filter(|answer| !answer.is_empty());
    outcome.tokens = report.tokens;
    outcome.cost = report.cost;
    outcome.session_id = report.session_id;
    outcome
}

fn failed_exit(
    name: &str,
    exit: Option<ExitStatus>,
    reported: Option<&str>,
    errors: &str,
) -> Outcome {
    let last = reported
        .or_else(|| errors.lines().map(str::trim).rfind(|line| !line.is_empty()))
        .map(|line| format!(": {}", keep_tail(line, 2000)))
        .unwrap_or_default();
    #[cfg(unix)]
    if let Some(signal) = exit.and_then(|exit| std::os::unix::process::ExitStatusExt::signal(&exit))
    {
        return Outcome::failed(
            EndReason::Signal,
            format!("`{name}` was ended by {}{last}", process::signal_name(signal)),
        );
    }
    match exit.and_then(|exit| exit.code()) {
        Some(code) => Outcome::failed(
            EndReason::ExitCode,
            format!("`{name}` ended with exit code {code}{last}"),
        ),
        None => Outcome::failed(
            EndReason::ExitCode,
            format!("`{name}` ended, and the system did not say how{last}"),
        ),
    }
}

/// Ends what is left of a command whose holder is gone.
pub(crate) async fn follow_orphan(name: &str, child: Option<&ProcessId>) -> Outcome {
    let Some(child) = child else {
        return Outcome::lost(
            EndReason::Orphaned,
            format!(
                "Loopkeeper ended while it started `{name}`, so nobody knows whether it ran. Look at the project before you run it again."
            ),
        );
    };
    let what = match process::end_orphan(child).await {
        process::Orphan::Ended => "It still ran and was ended.",
        process::Orphan::Gone => "It has ended since, nobody knows how.",
        process::Orphan::Foreign => {
            "It belongs to another machine or container and was left alone."
        }
    };
    Outcome::lost(
        EndReason::Orphaned,
        format!("Loopkeeper ended while `{name}` (pid {}) ran. {what}", child.pid),
    )
}

#[cfg(all(test, unix))]
#[path = "command_tests.rs"]
mod tests;
