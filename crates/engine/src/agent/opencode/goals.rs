//! A goal driven on: by an OpenChamber server where there is one, else by Loopkeeper.
//!
//! Both work by the goal in the session's metadata. The peer waits for 15 s of quiet before it sends
//! a continuation, so Loopkeeper waits for 20: whoever sees that the other has begun follows.

use super::follow::{Follower, TurnEnd};
use super::judge::End;
use super::send::send_continuation;
use crate::agent::job::{EndReason, Job};
use crate::agent::journal::{Inbox, StepKind, note};
use crate::agent::prompt::goal::{self, MAX_TURNS, Statement};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Why a goal ended without being reached.
pub(crate) type GoalEnd = Option<(EndReason, String)>;

pub(crate) struct Drive<'a> {
    job: &'a Job,
    objective: &'a str,
    turns: u32,
    /// Whether nobody else drives this goal.
    alone: bool,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(job: &'a Job, objective: &'a str) -> Self {
        Drive { job, objective, turns: 0, alone: false }
    }

    /// Continues a goal whose turn ended with an answer; returns the last turn's end, and why the
    /// goal was not reached.
    pub(crate) async fn go_on(
        &mut self,
        follower: &mut Follower<'_>,
        mut end: TurnEnd,
        inbox: &mut Inbox,
    ) -> (TurnEnd, GoalEnd) {
        if let Some(goal) = read(follower).await {
            self.turns =
                u32::try_from(goal["turnsUsed"].as_u64().unwrap_or(0)).unwrap_or(MAX_TURNS);
        }
        loop {
            let TurnEnd::Ended(End::Said { text, .. }) = &end else { return (end, None) };
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let step =
                format!("Turn {}: {}", self.turns + 1, crate::agent::job::keep_tail(line, 200));
            note(follower.journal.step(StepKind::Turn, &step).await);
            match goal::statement(text) {
                Statement::Reached => {
                    settle(follower, "complete", "reached", self.turns).await;
                    return (end, None);
                }
                Statement::Blocked(why) => {
                    settle(follower, "blocked", &why, self.turns).await;
                    let why = if why.is_empty() { "it did not say by what" } else { &why };
                    let text = format!("The agent says that the goal is blocked: {why}.");
                    return (end, Some((EndReason::GoalBlocked, text)));
                }
                Statement::Continue => {}
            }
            if !self.alone {
                let others = tokio::select! {
                    biased;
                    reason = inbox.stopped() => return (TurnEnd::Stopped(reason), None),
                    others = self.wait_for_others(follower) => others,
                };
                match others {
                    Others::Settled(goal_end) => return (end, goal_end),
                    Others::Drive => {
                        end = follower.turn(inbox, None, None, true).await;
                        continue;
                    }
                    Others::Nobody => self.alone = true,
                }
            }
            let used = used_tokens(follower).await;
            let budget = self.job.execution.goal_token_budget.filter(|budget| *budget > 0);
            if budget.is_some_and(|budget| used >= u64::try_from(budget).unwrap_or(0)) {
                settle(follower, "budgetLimited", "budget used up", self.turns).await;
                let text = format!(
                    "The goal's budget is used up ({used} tokens) before it was reached. Raise `goalTokenBudget`, or make the goal smaller."
                );
                return (end, Some((EndReason::GoalBudget, text)));
            }
            if self.turns >= MAX_TURNS {
                settle(follower, "blocked", "too many turns", self.turns).await;
                let text = format!(
                    "The goal was not reached in {MAX_TURNS} further turns. Make it smaller, or say more exactly when it is reached."
                );
                return (end, Some((EndReason::GoalBudget, text)));
            }
            self.turns += 1;
            // Noted before it is sent: whoever takes over must not send it twice.
            settle(follower, "active", "", self.turns).await;
            let text = goal::continuation(self.objective, self.turns, used, budget);
            let before = match send_continuation(follower, self.job, &text).await {
                Ok(before) => before,
                Err(error) => {
                    let text = format!("The goal could not be continued: {error}.");
                    return (end, Some((EndReason::NotStarted, text)));
                }
            };
            end = follower.turn(inbox, before, None, false).await;
        }
    }

    /// Waits whether somebody else drives the goal on.
    async fn wait_for_others(&mut self, follower: &Follower<'_>) -> Others {
        let end = Instant::now() + follower.opencode.config.opencode.goal_quiet;
        loop {
            let statuses = follower.client.statuses(&follower.directory).await;
            let busy = statuses.is_ok_and(|statuses| statuses.contains_key(&follower.session));
            if let Some(goal) = read(follower).await {
                let turns = goal["turnsUsed"].as_u64().unwrap_or(0);
                match goal["status"].as_str() {
                    Some("complete") => return Others::Settled(None),
                    Some(status @ ("blocked" | "budgetLimited" | "paused")) => {
                        return Others::Settled(Some(ended_elsewhere(status, &goal)));
                    }
                    _ if busy || turns > u64::from(self.turns) => {
                        self.turns = u32::try_from(turns).unwrap_or(MAX_TURNS);
                        return Others::Drive;
                    }
                    _ => {}
                }
            }
            if Instant::now() >= end {
                return Others::Nobody;
            }
            tokio::time::sleep(follower.opencode.timing.poll).await;
        }
    }
}

enum Others {
    Nobody,
    Drive,
    Settled(GoalEnd),
}

fn ended_elsewhere(status: &str, goal: &Value) -> (EndReason, String) {
    let why = [&goal["statusReason"], &goal["note"]]
        .into_iter()
        .filter_map(Value::as_str)
        .find(|text| !text.is_empty())
        .map(|text| format!(": {text}"))
        .unwrap_or_default();
    match status {
        "budgetLimited" => (EndReason::GoalBudget, format!("The goal's budget is used up{why}.")),
        "paused" => (EndReason::GoalBlocked, format!("The goal was paused in OpenChamber{why}.")),
        _ => (EndReason::GoalBlocked, format!("The goal is blocked{why}.")),
    }
}

async fn metadata(follower: &Follower<'_>) -> Option<Value> {
    follower.client.session(&follower.session, &follower.directory).await.ok()?.metadata
}

async fn read(follower: &Follower<'_>) -> Option<Value> {
    Some(metadata(follower).await?["openchamber"]["goal"].take()).filter(Value::is_object)
}

/// Writes where the goal stands; everything else in the metadata stays.
async fn settle(follower: &Follower<'_>, status: &str, why: &str, turns: u32) {
    let Some(mut metadata) = metadata(follower).await else { return };
    let used = used_tokens(follower).await;
    let goal = &mut metadata["openchamber"]["goal"];
    if !goal.is_object() {
        return;
    }
    goal["status"] = json!(status);
    goal["statusReason"] = json!(why);
    goal["turnsUsed"] = json!(turns);
    goal["tokensUsed"] = json!(used);
    goal["updatedAt"] = json!(follower.opencode.clock.now_ms());
    let written =
        follower.client.set_metadata(&follower.session, &follower.directory, &metadata).await;
    if let Err(error) = written {
        tracing::warn!(%error, "where a goal stands was not written into its session");
    }
}

/// Returns what the goal has cost: everything but what came from the provider's cache.
async fn used_tokens(follower: &Follower<'_>) -> u64 {
    let session = follower.client.session(&follower.session, &follower.directory).await;
    let tokens = session
        .ok()
        .and_then(|session| session.tokens.as_ref().map(crate::agent::Tokens::from))
        .unwrap_or_default();
    tokens.total().saturating_sub(tokens.cache_read)
}
