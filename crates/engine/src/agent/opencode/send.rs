//! A run's beginning: what is sent, in which order, and the turns of a goal after it.
//!
//! The event stream is open before the prompt goes out, so that no error is missed; the session is
//! stored before it goes out, so that a crash leaves nothing that nobody follows.

use super::client::{CallError, Client};
use super::events::{Events, Signal};
use super::follow::{Follower, Sending, TurnEnd};
use super::judge::{self, End};
use super::retry::patiently;
use super::{AgentError, Opencode, unreachable_outcome, wire};
use crate::agent::job::{EndReason, Job, Outcome};
use crate::agent::journal::{Inbox, Journal, StepKind, note};
use crate::agent::prompt::{goal, slash};
use std::path::Path;
use std::time::Duration;

/// How long the event stream may take to open; without it, polling does.
const STREAM_LIMIT: Duration = Duration::from_secs(5);

/// A server that was reached, and a task that was checked.
pub(crate) struct Ready {
    pub(crate) client: Client,
    pub(crate) directory: String,
}

/// What is sent.
struct Plan {
    send: Send,
    /// What the goal is about; `None` without a goal.
    objective: Option<String>,
}

enum Send {
    Text(String),
    Command(wire::CommandBody),
}

/// Sends a prompt and follows it to its end.
pub(crate) async fn send_and_follow(
    opencode: &Opencode,
    job: &Job,
    prompt: &str,
    ready: Ready,
    journal: &dyn Journal,
    inbox: &mut Inbox,
) -> Outcome {
    let begun = tokio::select! {
        biased;
        reason = inbox.stopped() => return crate::agent::stopped(reason, &[]),
        begun = begin(opencode, job, prompt, ready, journal) => begun,
    };
    let (mut follower, plan) = match begun {
        Ok(begun) => begun,
        Err(outcome) => return *outcome,
    };
    let sent_at_ms = opencode.clock.now_ms();
    let sending = match send(&follower, job, &plan).await {
        Ok(sending) => sending,
        Err(error) => return not_taken(&mut follower, &error).await,
    };
    let end = follower.turn(inbox, None, sending, false).await;
    conclude(follower, job, plan.objective, end, Some(sent_at_ms), inbox).await
}

/// Follows a run that another process sent.
pub(crate) async fn take_over(
    opencode: &Opencode,
    job: &Job,
    session: &str,
    directory: String,
    journal: &dyn Journal,
    inbox: &mut Inbox,
) -> Outcome {
    let client = loop {
        // The run's own time limit ends this: until then it may come back.
        let connected = tokio::select! {
            biased;
            reason = inbox.stopped() => return unreachable_stop(reason, session),
            connected = opencode.connect_patiently(journal) => connected,
        };
        match connected {
            Ok(client) => break client,
            Err(error) => note(journal.step(StepKind::Waiting, &error.to_string()).await),
        }
        tokio::select! {
            biased;
            reason = inbox.stopped() => return unreachable_stop(reason, session),
            () = tokio::time::sleep(Duration::from_secs(10)) => {}
        }
    };
    let events = Events::open(client.clone(), directory.clone());
    let mut follower =
        Follower::new(opencode, client, directory, session.to_owned(), events, journal);
    let objective =
        job.execution.goal_enabled.unwrap_or(false).then(|| job.execution.prompt.to_string());
    let end = follower.turn(inbox, None, None, true).await;
    conclude(follower, job, objective, end, None, inbox).await
}

fn unreachable_stop(reason: crate::agent::StopReason, session: &str) -> Outcome {
    use crate::agent::{Ended, StopReason};
    let outcome = match reason {
        StopReason::Shutdown => Outcome::new(Ended::LeftRunning),
        StopReason::Cancelled => crate::agent::stopped(reason, &[]),
        StopReason::TimedOut | StopReason::BlockedTimedOut => Outcome::lost(
            EndReason::Unreachable,
            "OpenCode could not be reached again before the run's time was over, so nobody knows what became of it.",
        ),
    };
    Outcome { session_id: Some(session.to_owned()), ..outcome }
}

async fn begin<'a>(
    opencode: &'a Opencode,
    job: &Job,
    prompt: &str,
    ready: Ready,
    journal: &'a dyn Journal,
) -> Result<(Follower<'a>, Plan), Box<Outcome>> {
    let Ready { client, directory } = ready;
    let unreachable =
        |error: &CallError| Box::new(unreachable_outcome(&AgentError::from_call(&client, error)));
    let plan = plan(&client, &directory, job, prompt, journal)
        .await
        .map_err(|error| unreachable(&error))?;
    let mut events = Events::open(client.clone(), directory.clone());
    let opened = async { while !matches!(events.next().await, Signal::Connected) {} };
    if tokio::time::timeout(STREAM_LIMIT, opened).await.is_err() {
        tracing::warn!("OpenCode's event stream did not open; the run is followed by polling");
    }
    let auto_accept = job.execution.permission_auto_accept == Some(true);
    let new = wire::NewSession {
        title: &job.title,
        permission: auto_accept.then(wire::Rule::allow_all).into_iter().collect(),
    };
    let session = patiently(|| client.create_session(&directory, &new))
        .await
        .map_err(|error| unreachable(&error))?;
    if let Some(other) = session.directory.as_deref().filter(|other| !is_same(other, &directory)) {
        let _ = client.delete_session(&session.id, &directory).await;
        return Err(Box::new(Outcome::failed(
            EndReason::BadFolder,
            format!(
                "OpenCode would work in {other} and not in {directory}, so nothing was sent. Is it a server of another machine or container?"
            ),
        )));
    }
    if let Err(error) = journal.session(&session.id).await {
        let _ = client.delete_session(&session.id, &directory).await;
        return Err(Box::new(Outcome::failed(
            EndReason::NotSent,
            format!("Nothing was sent: {error}."),
        )));
    }
    if let Some(objective) = &plan.objective {
        let now = opencode.clock.now_ms();
        let id = format!("loopkeeper-{}-{now}", job.run_id);
        let metadata = goal::begin(&id, objective, job.execution.goal_token_budget, now);
        if let Err(error) = client.set_metadata(&session.id, &directory, &metadata).await {
            let text = format!("The goal was not written into the session: {error}");
            note(journal.step(StepKind::Note, &text).await);
        }
    }
    let follower = Follower::new(opencode, client.clone(), directory, session.id, events, journal);
    Ok((follower, plan))
}

fn is_same(a: &str, b: &str) -> bool {
    a == b || std::fs::canonicalize(a).is_ok_and(|a| a == Path::new(b))
}

/// Decides what is sent: a slash command that exists goes as one, everything else as text.
async fn plan(
    client: &Client,
    directory: &str,
    job: &Job,
    prompt: &str,
    journal: &dyn Journal,
) -> Result<Plan, CallError> {
    let execution = &job.execution;
    let is_goal = execution.goal_enabled == Some(true);
    if let Some(call) = slash::parse_command(prompt) {
        let commands = patiently(|| client.commands(directory)).await?;
        if let Some(command) = commands.iter().find(|command| command.name == call.command) {
            let objective = is_goal
                .then(|| goal::expand_goal(command.template.as_deref(), Some(&call.arguments)))
                .flatten();
            let body = wire::CommandBody {
                command: call.command,
                arguments: call.arguments,
                agent: execution.agent.clone(),
                model: format!("{}/{}", execution.provider_id, execution.model_id),
                variant: execution.variant.clone(),
            };
            let objective = objective.or_else(|| is_goal.then(|| prompt.to_owned()));
            return Ok(Plan { send: Send::Command(body), objective });
        }
        let text =
            format!("OpenCode has no command `/{}`: the prompt is sent as text", call.command);
        note(journal.step(StepKind::Note, &text).await);
    }
    Ok(Plan { send: Send::Text(prompt.to_owned()), objective: is_goal.then(|| prompt.to_owned()) })
}

/// Sends. A prompt answers at once; a slash command when its run has ended, so its request goes on
/// by itself.
async fn send(
    follower: &Follower<'_>,
    job: &Job,
    plan: &Plan,
) -> Result<Option<Sending>, CallError> {
    match &plan.send {
        Send::Text(text) => {
            let introduction = plan
                .objective
                .is_some()
                .then(|| goal::introduction(job.execution.goal_token_budget));
            send_text(follower, job, text, introduction.as_deref()).await.map(|()| None)
        }
        Send::Command(body) => {
            let (client, body) = (follower.client.clone(), body.clone());
            let (session, directory) = (follower.session.clone(), follower.directory.clone());
            Ok(Some(tokio::spawn(async move { client.command(&session, &directory, &body).await })))
        }
    }
}

/// Sends a text. Only where certainly nothing was sent it is tried again; a request that broke may
/// have arrived, and the session's messages will tell.
async fn send_text(
    follower: &Follower<'_>,
    job: &Job,
    text: &str,
    introduction: Option<&str>,
) -> Result<(), CallError> {
    let execution = &job.execution;
    let part = |text, synthetic| wire::TextPart { kind: "text", text, synthetic };
    let body = wire::PromptBody {
        model: wire::ModelRef {
            provider_id: &execution.provider_id,
            model_id: &execution.model_id,
        },
        agent: execution.agent.as_deref(),
        variant: execution.variant.as_deref(),
        parts: std::iter::once(part(text, false))
            .chain(introduction.map(|text| part(text, true)))
            .collect(),
    };
    let mut tries = 0;
    loop {
        match follower.client.prompt(&follower.session, &follower.directory, &body).await {
            Ok(()) | Err(CallError::Broken(_)) => return Ok(()),
            Err(CallError::NoConnection(_)) if tries < 10 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn not_taken(follower: &mut Follower<'_>, error: &CallError) -> Outcome {
    let outcome =
        Outcome::failed(EndReason::NotSent, format!("OpenCode did not take the prompt: {error}."));
    follower.with_usage(outcome).await
}

/// Turns the end of the first turn into the end of the run; a goal goes on for more turns.
async fn conclude(
    mut follower: Follower<'_>,
    job: &Job,
    objective: Option<String>,
    mut end: TurnEnd,
    sent_at_ms: Option<i64>,
    inbox: &mut Inbox,
) -> Outcome {
    let mut goal_end = None;
    if let (Some(objective), TurnEnd::Ended(End::Said { .. })) = (&objective, &end) {
        let mut drive = super::goals::Drive::new(job, objective);
        (end, goal_end) = drive.go_on(&mut follower, end, inbox).await;
    }
    let ended_at_ms = match &end {
        TurnEnd::Ended(
            End::Said { at_ms, .. } | End::Failed { at_ms, .. } | End::Aborted { at_ms },
        ) => *at_ms,
        _ => None,
    };
    let outcome = match end {
        TurnEnd::Stopped(reason) => follower.stop(reason).await,
        TurnEnd::Superseded => follower.with_session(TurnEnd::Superseded.outcome()),
        end => {
            let mut outcome = end.outcome();
            if let Some((reason, error)) = goal_end {
                outcome = Outcome { answer: outcome.answer, ..Outcome::failed(reason, error) };
            }
            follower.with_usage(outcome).await
        }
    };
    let now = follower.opencode.clock.now_ms();
    let duration = sent_at_ms.map(|sent| {
        let until = ended_at_ms.unwrap_or(now).max(sent);
        Duration::from_millis(u64::try_from(until - sent).unwrap_or(0))
    });
    Outcome { duration, ..outcome }
}

/// Sends a further turn of a goal; returns the message that began the turn before.
pub(crate) async fn send_continuation(
    follower: &Follower<'_>,
    job: &Job,
    text: &str,
) -> Result<Option<String>, CallError> {
    let messages =
        patiently(|| follower.client.messages(&follower.session, &follower.directory)).await?;
    let before = judge::last_asked(&messages);
    send_text(follower, job, text, None).await?;
    Ok(before)
}
