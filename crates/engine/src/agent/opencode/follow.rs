//! A session followed to the real end of its turn, by events and by polling.
//!
//! Events make it quick, polling makes it true: after each event that matters, and every two seconds
//! regardless, status, permissions and questions are asked for; once the status is absent the
//! messages say how the turn ended ([`super::judge`]). What a look may not decide alone waits for a
//! second one, since status and messages are two requests.
//!
//! | Seen while not busy | Verdict |
//! |---|---|
//! | an answer that finished with `stop` | succeeded, at once |
//! | another end of the turn | as it says, when seen twice |
//! | an answer that neither ended nor failed, for 1 s | lost: the server was restarted |
//! | our message, no answer, for 1 s after an error event, else 5 s | failed with the event's text |
//! | no message of ours for 30 s | failed: not started; for a run that is taken over 5 s: not sent |

use super::client::{CallError, Client};
use super::events::{Events, Signal};
use super::judge::{End, Seen, look};
use super::{Opencode, asks, judge, wire};
use crate::agent::job::{EndReason, Ended, Outcome, Tokens, keep_tail};
use crate::agent::journal::{Answer, Ask, Control, Inbox, Journal, StepKind, StopReason, note};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The pause before a second look that has to confirm the first.
const CONFIRM: Duration = Duration::from_millis(250);
/// How long a stopped session may take to become idle.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How long a stopped session without an ended turn must stay idle. An abort that comes before a
/// turn has begun stops nothing, and the turn then begins.
const STOP_SETTLE: Duration = Duration::from_secs(2);
/// How many child sessions are counted.
const MOST_RELATIVES: usize = 200;

/// How one turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnEnd {
    Ended(End),
    /// The server knows of no message of ours, and the run was taken over.
    NotSent,
    /// The prompt was taken, and nothing came of it.
    NotStarted(Option<Told>),
    Restarted,
    Deleted,
    Stopped(StopReason),
    /// Another process has the run now.
    Superseded,
}

/// What an error event or a refused request said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    reason: EndReason,
    text: String,
}

/// A request that answers when the run ends, running beside the follower.
pub(crate) type Sending = JoinHandle<Result<(), CallError>>;

pub(crate) struct Follower<'a> {
    pub(crate) opencode: &'a Opencode,
    pub(crate) client: Client,
    pub(crate) directory: String,
    pub(crate) session: String,
    pub(crate) journal: &'a dyn Journal,
    events: Events,
    family: Vec<String>,
    strangers: Vec<String>,
    asks: Vec<Ask>,
    told: Option<Told>,
    retry: u64,
    accepted: bool,
    unreachable: bool,
    superseded: bool,
    /// Whether the server may have been restarted since the prompt was sent: an event stream that
    /// stayed open is proof that it was not.
    gap: bool,
    /// The message that began the turn before the present one.
    before: Option<String>,
    /// The request of a slash command that has not answered yet.
    sending: Option<Sending>,
}

enum Look {
    Busy,
    Idle(Seen),
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        opencode: &'a Opencode,
        client: Client,
        directory: String,
        session: String,
        events: Events,
        journal: &'a dyn Journal,
    ) -> Self {
        Follower {
            opencode,
            client,
            directory,
            family: vec![session.clone()],
            session,
            journal,
            events,
            strangers: Vec::new(),
            asks: Vec::new(),
            told: None,
            retry: 0,
            accepted: false,
            unreachable: false,
            superseded: false,
            gap: false,
            before: None,
            sending: None,
        }
    }

    /// Follows one turn to its end. `before` is the message that began the turn before; `sending`
    /// the request of a slash command; `taken_over` says that another process sent it.
    pub(crate) async fn turn(
        &mut self,
        inbox: &mut Inbox,
        before: Option<String>,
        sending: Option<Sending>,
        taken_over: bool,
    ) -> TurnEnd {
        let timing = self.opencode.timing;
        let began = Instant::now();
        let mut idle_since: Option<Instant> = None;
        let mut next = began;
        self.told = None;
        self.before = before;
        self.sending = sending;
        self.gap |= taken_over;
        loop {
            tokio::select! {
                biased;
                control = inbox.next() => match control {
                    Control::Stop { reason } => return TurnEnd::Stopped(reason),
                    Control::Answer { ask_id, answer } => {
                        self.answer(&ask_id, &answer).await;
                        next = Instant::now();
                        continue;
                    }
                },
                sent = finished(&mut self.sending) => {
                    self.sending = None;
                    if let Err(error) = sent {
                        self.refused(&error);
                    }
                    next = Instant::now();
                    continue;
                }
                signal = self.events.next() => {
                    if self.heard(signal) {
                        next = Instant::now();
                    }
                    continue;
                }
                () = tokio::time::sleep_until(next) => {}
            }
            let looked = tokio::select! {
                biased;
                reason = inbox.stopped() => return TurnEnd::Stopped(reason),
                looked = self.poll() => looked,
            };
            if self.superseded {
                return TurnEnd::Superseded;
            }
            let now = Instant::now();
            next = now + timing.poll;
            match looked {
                Ok(Look::Busy) => idle_since = None,
                Ok(Look::Idle(seen)) => {
                    let quiet = idle_since.map(|since| now - since);
                    idle_since = idle_since.or(Some(now));
                    next = now + CONFIRM.min(timing.poll);
                    let ended = self.verdict(seen, quiet, now - began, taken_over);
                    if let Some(end) = ended {
                        return end;
                    }
                }
                Err(error) if error.is_gone() => return TurnEnd::Deleted,
                Err(error) => {
                    idle_since = None;
                    tokio::select! {
                        biased;
                        reason = inbox.stopped() => return TurnEnd::Stopped(reason),
                        () = self.reconnect(&error) => {}
                    }
                }
            }
        }
    }

    fn verdict(
        &self,
        seen: Seen,
        quiet: Option<Duration>,
        elapsed: Duration,
        taken_over: bool,
    ) -> Option<TurnEnd> {
        let timing = self.opencode.timing;
        let quiet_for = |limit| quiet.is_some_and(|quiet| quiet >= limit);
        // A server on a busy machine can be silent for seconds in the middle of a turn.
        let patient = |limit| if self.gap { limit } else { timing.appear };
        let failed = |told: &Told| TurnEnd::NotStarted(Some(told.clone()));
        match (seen, &self.told) {
            (Seen::Ended(end @ End::Said { .. }), _) => Some(TurnEnd::Ended(end)),
            (Seen::Ended(end), _) => quiet.map(|_| TurnEnd::Ended(end)),
            (Seen::Unfinished, _) => {
                quiet_for(patient(timing.settle)).then_some(TurnEnd::Restarted)
            }
            (_, Some(told)) => quiet_for(timing.settle).then(|| failed(told)),
            // A slash command may work for long before its message is there.
            (_, None) if self.sending.is_some() => None,
            (Seen::NoAnswer, None) => {
                quiet_for(patient(timing.begin)).then_some(TurnEnd::NotStarted(None))
            }
            (Seen::NoMessage, None) if taken_over => {
                quiet_for(timing.begin).then_some(TurnEnd::NotSent)
            }
            (Seen::NoMessage, None) => {
                (elapsed >= timing.appear).then_some(TurnEnd::NotStarted(None))
            }
        }
    }

    /// Takes an event in; says whether it calls for a look.
    fn heard(&mut self, signal: Signal) -> bool {
        let Signal::Event(event) = signal else {
            self.gap = true;
            return true;
        };
        let session = event.properties.session_id.as_deref();
        let ours = session.is_some_and(|id| self.family.iter().any(|known| known == id));
        if event.kind == "session.error" && session == Some(self.session.as_str()) {
            // The first is the plain one; the second of a pair is a stack.
            if let (Some(error), None) = (&event.properties.error, &self.told)
                && error.name != "MessageAbortedError"
            {
                self.told = Some(told(error));
            }
        }
        // A child session that nobody knows yet may ask for something.
        ours || event.kind.ends_with(".asked")
    }

    fn refused(&mut self, error: &CallError) {
        if self.told.is_none() && !matches!(error, CallError::Broken(_)) {
            let text = format!("OpenCode did not run the command: {error}.");
            self.told = Some(Told { reason: EndReason::NotStarted, text });
        }
    }

    async fn poll(&mut self) -> Result<Look, CallError> {
        let client = self.client.clone();
        let statuses = client.statuses(&self.directory).await?;
        let permissions = client.permissions(&self.directory).await?;
        let questions = client.questions(&self.directory).await?;
        if self.unreachable {
            self.unreachable = false;
            note(self.journal.step(StepKind::Note, "OpenCode answers again").await);
        }
        self.meet(
            permissions
                .iter()
                .map(|request| &request.session_id)
                .chain(questions.iter().map(|request| &request.session_id)),
        )
        .await?;
        let ours = |id: &String| self.family.contains(id);
        let asks: Vec<Ask> = permissions
            .iter()
            .filter(|request| ours(&request.session_id))
            .map(asks::from_permission)
            .chain(
                questions
                    .iter()
                    .filter(|request| ours(&request.session_id))
                    .map(asks::from_question),
            )
            .collect();
        self.tell_asks(asks).await;
        match statuses.get(&self.session) {
            Some(wire::Status::Retry { attempt, message }) => {
                self.tell_accepted().await;
                if *attempt != self.retry {
                    self.retry = *attempt;
                    let text = format!("The model answered: {message}. Attempt {attempt} failed");
                    note(self.journal.step(StepKind::Retrying, &text).await);
                }
                Ok(Look::Busy)
            }
            Some(wire::Status::Busy | wire::Status::Other) => {
                self.tell_accepted().await;
                Ok(Look::Busy)
            }
            None | Some(wire::Status::Idle) => {
                let messages = client.messages(&self.session, &self.directory).await?;
                let seen = look(&messages, self.before.as_deref());
                if seen != Seen::NoMessage {
                    self.tell_accepted().await;
                }
                Ok(Look::Idle(seen))
            }
        }
    }

    /// Finds out whether sessions that ask for something are children of ours.
    async fn meet(&mut self, ids: impl Iterator<Item = &String>) -> Result<(), CallError> {
        let unknown: Vec<String> = ids
            .filter(|id| !self.family.contains(id) && !self.strangers.contains(id))
            .cloned()
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        self.meet_children().await?;
        let strangers = unknown.into_iter().filter(|id| !self.family.contains(id));
        self.strangers.extend(strangers);
        Ok(())
    }

    /// Reads the child sessions of the session, and theirs; returns them.
    async fn meet_children(&mut self) -> Result<Vec<wire::Session>, CallError> {
        let mut all: Vec<wire::Session> = Vec::new();
        let mut parents = vec![self.session.clone()];
        while let Some(parent) = parents.pop() {
            for child in self.client.children(&parent, &self.directory).await? {
                if all.len() < MOST_RELATIVES && !all.iter().any(|known| known.id == child.id) {
                    parents.push(child.id.clone());
                    all.push(child);
                }
            }
        }
        for child in &all {
            if !self.family.contains(&child.id) {
                self.family.push(child.id.clone());
            }
        }
        Ok(all)
    }

    async fn tell_accepted(&mut self) {
        if !self.accepted {
            self.accepted = true;
            self.record(self.journal.accepted().await);
        }
    }

    async fn tell_asks(&mut self, asks: Vec<Ask>) {
        if asks == self.asks {
            return;
        }
        let told = if asks.is_empty() {
            self.journal.unblocked().await
        } else {
            self.journal.blocked(&asks).await
        };
        // What could not be recorded is told again at the next look.
        if told.is_ok() {
            self.asks = asks;
        }
        self.record(told);
    }

    fn record(&mut self, recorded: Result<(), crate::agent::JournalError>) {
        if recorded == Err(crate::agent::JournalError::Superseded) {
            self.superseded = true;
        }
        note(recorded);
    }

    async fn answer(&mut self, ask_id: &str, answer: &Answer) {
        let Some(ask) = self.asks.iter().find(|ask| ask.id == ask_id) else {
            let text = "The answer came too late: nobody waits for it any more";
            return note(self.journal.step(StepKind::Note, text).await);
        };
        let text = match asks::pass_on(&self.client, &self.directory, ask, answer).await {
            Ok(true) => {
                let text = format!("{} {}", ask.text, in_words(answer));
                return note(self.journal.step(StepKind::Answered, &text).await);
            }
            Ok(false) => "The answer came too late: OpenCode no longer waits for it".to_owned(),
            Err(error) => format!("The answer was not passed on: {error}. Answer again"),
        };
        note(self.journal.step(StepKind::Note, &text).await);
    }

    /// Finds the server again after a call failed. A server of ours that died is started again, so
    /// that its sessions can be read.
    async fn reconnect(&mut self, error: &CallError) {
        if !self.unreachable {
            self.unreachable = true;
            let text = format!("OpenCode does not answer: {error}. The run is followed on");
            note(self.journal.step(StepKind::Waiting, &text).await);
        }
        if let Ok(client) = self.opencode.connect().await
            && !client.is_same(&self.client)
        {
            self.events = Events::open(client.clone(), self.directory.clone());
            self.client = client;
            self.gap = true;
        }
    }

    /// Stops the session: aborts it, and rejects what it waits for, which an abort leaves pending.
    pub(crate) async fn stop(&mut self, reason: StopReason) -> Outcome {
        if reason == StopReason::Shutdown {
            return self.with_session(Outcome::new(Ended::LeftRunning));
        }
        let asks = self.asks.clone();
        let aborted = self.client.abort(&self.session, &self.directory).await;
        if let Err(error) = &aborted
            && reason == StopReason::TimedOut
            && error.is_passing()
        {
            return self.with_session(Outcome::lost(
                EndReason::Unreachable,
                format!(
                    "The run's time is over, and OpenCode does not answer ({error}), so nobody knows what became of it. Look at the session in OpenCode."
                ),
            ));
        }
        self.wait_idle().await;
        self.reject_pending().await;
        let mut outcome = crate::agent::stopped(reason, &asks);
        if let Err(error) = aborted {
            let text = outcome.error.unwrap_or_default();
            outcome.error = Some(format!(
                "{text} The session could not be stopped ({error}): it may still be running in OpenCode."
            ));
        }
        self.with_usage(outcome).await
    }

    /// Waits until nothing of an aborted turn goes on, and aborts again what began since.
    async fn wait_idle(&mut self) {
        let end = Instant::now() + STOP_LIMIT;
        let mut idle_since: Option<Instant> = None;
        while Instant::now() < end {
            self.reject_pending().await;
            let statuses = self.client.statuses(&self.directory).await;
            match statuses {
                Ok(statuses) if !statuses.contains_key(&self.session) => {
                    let now = Instant::now();
                    let since = *idle_since.get_or_insert(now);
                    if now - since >= STOP_SETTLE || self.has_ended().await {
                        return;
                    }
                }
                Ok(_) => {
                    idle_since = None;
                    let _ = self.client.abort(&self.session, &self.directory).await;
                }
                Err(_) => idle_since = None,
            }
            tokio::time::sleep(CONFIRM).await;
        }
    }

    /// Says whether the turn is over for good: its request has answered, and its messages say so.
    async fn has_ended(&mut self) -> bool {
        if self.sending.as_ref().is_some_and(|sending| !sending.is_finished()) {
            return false;
        }
        let messages = self.client.messages(&self.session, &self.directory).await;
        messages
            .is_ok_and(|messages| matches!(look(&messages, self.before.as_deref()), Seen::Ended(_)))
    }

    async fn reject_pending(&mut self) {
        let client = self.client.clone();
        let permissions = client.permissions(&self.directory).await.unwrap_or_default();
        let questions = client.questions(&self.directory).await.unwrap_or_default();
        let askers = permissions
            .iter()
            .map(|request| &request.session_id)
            .chain(questions.iter().map(|request| &request.session_id));
        // A child that cannot be found now is looked for again in a moment.
        let _ = self.meet(askers).await;
        for request in permissions {
            if self.family.contains(&request.session_id) {
                let _ = client.reply_permission(&request.id, &self.directory, "reject").await;
            }
        }
        for request in questions {
            if self.family.contains(&request.session_id) {
                let _ = client.reject_question(&request.id, &self.directory).await;
            }
        }
    }

    pub(crate) fn with_session(&self, mut outcome: Outcome) -> Outcome {
        outcome.session_id = Some(self.session.clone());
        outcome
    }

    /// Adds the session, and the cost and tokens of it and of its child sessions.
    pub(crate) async fn with_usage(&mut self, outcome: Outcome) -> Outcome {
        let mut outcome = self.with_session(outcome);
        let Ok(session) = self.client.session(&self.session, &self.directory).await else {
            return outcome;
        };
        let mut all = self.meet_children().await.unwrap_or_default();
        all.push(session);
        let mut tokens = Tokens::default();
        for session in &all {
            if let Some(counts) = &session.tokens {
                tokens += Tokens::from(counts);
            }
        }
        outcome.tokens = Some(tokens);
        outcome.cost = Some(all.iter().filter_map(|session| session.cost).sum());
        outcome
    }

    /// Makes the outcome of a turn's end, but for duration and usage.
    pub(crate) fn outcome(&self, end: TurnEnd) -> Outcome {
        let answer = |text: &str| Some(keep_tail(text, crate::agent::job::ANSWER_LIMIT));
        match end {
            TurnEnd::Ended(End::Said { text, .. }) => {
                Outcome { answer: answer(&text), ..Outcome::new(Ended::Succeeded) }
            }
            TurnEnd::Ended(End::Failed { reason, error, said, .. }) => Outcome {
                answer: said.as_deref().and_then(answer),
                ..Outcome::failed(reason, error)
            },
            TurnEnd::Ended(End::Aborted { .. }) => Outcome {
                reason: Some(EndReason::Aborted),
                error: Some("The session was stopped in OpenCode.".to_owned()),
                ..Outcome::new(Ended::Cancelled)
            },
            TurnEnd::NotSent => Outcome::failed(
                EndReason::NotSent,
                "Loopkeeper ended before the prompt was sent; the session is empty. It is not sent again for this slot.",
            ),
            TurnEnd::NotStarted(Some(told)) => Outcome::failed(told.reason, told.text),
            TurnEnd::NotStarted(None) => Outcome::failed(
                EndReason::NotStarted,
                "OpenCode took the prompt, but no answer began. Its log may say why.",
            ),
            TurnEnd::Restarted => Outcome::lost(
                EndReason::Restarted,
                "OpenCode was restarted in the middle of the run, and it does not take up a turn again. Look at the session before you run the task again.",
            ),
            TurnEnd::Deleted => Outcome::lost(
                EndReason::Aborted,
                "The session was deleted in OpenCode while the run went on.",
            ),
            TurnEnd::Superseded | TurnEnd::Stopped(_) => Outcome::new(Ended::LeftRunning),
        }
    }
}

async fn finished(sending: &mut Option<Sending>) -> Result<(), CallError> {
    match sending {
        Some(sending) => match sending.await {
            Ok(sent) => sent,
            Err(_) => Err(CallError::Broken("the request was dropped".to_owned())),
        },
        None => std::future::pending().await,
    }
}

fn told(error: &wire::ErrorBody) -> Told {
    let text = error.text();
    if text.starts_with("Agent not found") {
        return Told { reason: EndReason::UnknownAgent, text: format!("OpenCode says: {text}") };
    }
    if text.contains("odel not found") {
        return Told { reason: EndReason::UnknownModel, text: format!("OpenCode says: {text}") };
    }
    Told { reason: EndReason::ModelError, text: judge::model_error(error) }
}

fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Once => "Allowed once".to_owned(),
        Answer::Always => "Allowed from now on".to_owned(),
        Answer::Reject => "Refused".to_owned(),
        Answer::Text(text) => text.clone(),
        Answer::Choices(choices) => {
            choices.iter().map(|labels| labels.join(", ")).collect::<Vec<_>>().join(" · ")
        }
    }
}
