//! A session followed to the real end of its turn, by events and by polling.
//!
//! Events make it quick, polling makes it true: after each event that matters, and every two seconds
//! regardless, status, permissions and questions are asked for; once the status is absent the
//! messages say how the turn ended ([`super::judge`]). What a look may not decide alone waits for a
//! second one, since status and messages are two requests: [`verdict`] says what and for how long.

mod family;
mod outcome;
mod pending;
mod stop;
mod verdict;

pub(crate) use outcome::TurnEnd;

use super::client::{CallError, Client};
use super::events::{Events, Signal};
use super::judge::{Seen, look};
use super::{Opencode, wire};
use crate::agent::job::EndReason;
use crate::agent::journal::{Ask, Control, Inbox, Journal, StepKind, note};
use family::Family;
use outcome::{Told, told};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The pause before a second look that has to confirm the first.
const CONFIRM: Duration = Duration::from_millis(250);

/// A request that answers when the run ends, running beside the follower.
pub(crate) type Sending = JoinHandle<Result<(), CallError>>;

pub(crate) struct Follower<'a> {
    pub(crate) opencode: &'a Opencode,
    pub(crate) client: Client,
    pub(crate) directory: String,
    pub(crate) session: String,
    pub(crate) journal: &'a dyn Journal,
    events: Events,
    family: Family,
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
            family: Family::new(&session),
            session,
            journal,
            events,
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

    /// Takes an event in; says whether it calls for a look.
    fn heard(&mut self, signal: Signal) -> bool {
        let Signal::Event(event) = signal else {
            self.gap = true;
            return true;
        };
        let session = event.properties.session_id.as_deref();
        let ours = session.is_some_and(|id| self.family.has(id));
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
        self.take_asks(&permissions, &questions).await?;
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

    async fn tell_accepted(&mut self) {
        if !self.accepted {
            self.accepted = true;
            self.record(self.journal.accepted().await);
        }
    }

    fn record(&mut self, recorded: Result<(), crate::agent::JournalError>) {
        if recorded == Err(crate::agent::JournalError::Superseded) {
            self.superseded = true;
        }
        note(recorded);
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
