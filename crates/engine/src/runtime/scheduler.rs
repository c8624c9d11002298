//! The scheduler loop (PROTOCOL §3): one timer for all tasks.
//!
//! It sleeps until the next occurrence, at most 30 s, and compares wall clocks again: never early.
//! It only notices and enqueues; claims and runs happen elsewhere, so that nothing can hold it up.

use super::slots::{Lateness, Noticed, Span, notice};
use super::{Runtime, lock};
use crate::event::EventKind;
use crate::ledger::{AccountVerdict, LedgerError, Reason, SlotRow, Status, Trigger};
use crate::schedule::Compiled;
use crate::task::TaskKey;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest sleep.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// How far the clocks may part before it was a nap or a change of the clock.
const NAP_MS: i64 = 5_000;

/// What the loop remembers between two looks.
#[derive(Debug, Clone, Copy)]
struct Look {
    wall: i64,
    awake: i64,
}

impl Runtime {
    /// Starts the loop; it runs until the runtime stops.
    pub(crate) fn start(self: &Arc<Self>) {
        // Noted here: the loop itself may come to it only after a nap.
        let first = Look { wall: self.clock.now_ms(), awake: self.awake_ms() };
        self.began.store(first.wall, Ordering::Relaxed);
        drop(self.go(Arc::clone(self).schedule(first)));
    }

    async fn schedule(self: Arc<Self>, mut last: Look) {
        let mut maintained = i64::MIN;
        loop {
            let look = Look { wall: self.clock.now_ms(), awake: self.awake_ms() };
            self.last_look.store(look.awake.max(1), Ordering::Relaxed);
            self.judge_waiting_after_nap(last, look);
            last = look;

            let due = lock(&self.timers).take_due(look.wall);
            for task in each_apart(due, |task| self.notice(task, look.wall)) {
                tracing::error!(task = %task.task_id, "looking at this task failed");
                for task in each_apart(vec![task], |task| self.give_up(task, look.wall)) {
                    tracing::error!(task = %task.task_id, "it stays unarmed until it changes");
                }
            }
            self.pump();
            if look.awake.saturating_sub(maintained) >= 30_000 {
                maintained = look.awake;
                self.maintain();
            }

            let next = lock(&self.timers).next().unwrap_or(i64::MAX);
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = self.bell.notified() => {}
                () = self.clock.until(next, LONGEST_SLEEP) => {}
            }
        }
    }

    /// Looks at what became due of one task, and arms its next occurrence.
    fn notice(self: &Arc<Self>, key: &TaskKey, now: i64) {
        let Some((noticed, name)) = self.judge(key, now) else { return };
        let spans = self.spans(&noticed);
        if spans.is_empty() {
            self.enqueue_noticed(key, &noticed);
        } else {
            // The rows first: the claim moves `accounted_to` past all of these.
            let compiled = lock(&self.board).task(key).and_then(|task| task.compiled.clone());
            let key = key.clone();
            self.go_blocking(move |runtime| match runtime.account(&key, &name, compiled, &spans) {
                Ok(()) => {
                    runtime.enqueue_noticed(&key, &noticed);
                    runtime.pump();
                }
                Err(error) => {
                    runtime.ledger_trouble("recording slots that passed", &error);
                    let first = spans.iter().map(|(span, ..)| span.first).min();
                    let first = first.or(noticed.run).unwrap_or(noticed.cursor);
                    runtime.hand_back(&key, first);
                }
            });
        }
        self.rearm(key);
    }

    fn enqueue_noticed(self: &Arc<Self>, key: &TaskKey, noticed: &Noticed) {
        if let Some(slot) = noticed.run {
            let trigger = if noticed.caught_up { Trigger::CatchUp } else { Trigger::Scheduled };
            self.enqueue_slot(key, slot, trigger);
        }
    }

    /// Marks the slot of a task whose look failed, and goes on behind it: the same look would only
    /// fail again.
    fn give_up(self: &Arc<Self>, key: &TaskKey, now: i64) {
        let slot = {
            let mut board = lock(&self.board);
            let Some(task) = board.task_mut(key) else { return };
            let slot = task.next();
            task.cursor = task.cursor.max(now);
            slot
        };
        if let Some(slot) = slot {
            let text = "an internal error stopped this slot; the log has its trace".to_owned();
            self.record_slot(key, slot, Status::Failed, Reason::ClaimFailed, Some(text));
        }
        self.emit(EventKind::RunFinished, Some(key), None);
        self.rearm(key);
    }

    /// Gives a slot back that could not be accounted for: without a ledger nothing is claimed, and
    /// it is looked at again when the ledger may have healed (PROTOCOL §7).
    pub(super) fn hand_back(self: &Arc<Self>, key: &TaskKey, slot: i64) {
        if let Some(task) = lock(&self.board).task_mut(key) {
            task.cursor = task.cursor.min(slot - 1);
        }
        let (runtime, key) = (Arc::clone(self), key.clone());
        self.go(async move {
            tokio::select! {
                () = runtime.stopping.cancelled() => {}
                () = tokio::time::sleep(LONGEST_SLEEP) => runtime.rearm(&key),
            }
        });
    }

    /// Judges the slots since the task's cursor and moves the cursor past them.
    fn judge(&self, key: &TaskKey, now: i64) -> Option<(Noticed, String)> {
        #[cfg(any(test, feature = "testing"))]
        if lock(&self.upset).as_ref() == Some(key) {
            std::panic::resume_unwind(Box::new("upset"));
        }
        let settings = self.settings();
        let mut board = lock(&self.board);
        let task = board.task_mut(key)?;
        if !task.task.enabled {
            return None;
        }
        let effective = settings.effective(&task.policy);
        let rules = Lateness {
            start_deadline: settings.runs.start_deadline,
            catch_up: effective.catch_up,
            catch_up_window: effective.catch_up_window,
        };
        let compiled = task.compiled.as_ref()?;
        let last = task.task.state.last_scheduled_for;
        let noticed = notice(compiled, task.cursor, now, last, rules);
        task.cursor = noticed.cursor.max(task.cursor);
        Some((noticed, task.task.name.clone()))
    }

    /// Arms a task for its next occurrence after what was handled.
    pub(super) fn rearm(&self, key: &TaskKey) {
        let next = lock(&self.board).task(key).and_then(super::board::BoardTask::next);
        lock(&self.timers).arm(key, next);
        self.bell.notify_one();
    }

    /// Lists the slots that will not run.
    fn spans(&self, noticed: &Noticed) -> Vec<(Span, Status, Reason)> {
        let began = self.began.load(Ordering::Relaxed);
        let down = noticed.missed.is_some_and(|missed| missed.last < began);
        let late = if down { Reason::Down } else { Reason::Asleep };
        let spans = [
            (noticed.passed, Status::Superseded, Reason::Newer),
            (noticed.taken.map(Span::one), Status::Deduped, Reason::ElsewhereClaimed),
            (noticed.missed, Status::Missed, late),
            (noticed.superseded, Status::Superseded, Reason::Newer),
        ];
        spans
            .into_iter()
            .filter_map(|(span, status, reason)| Some((span?, status, reason)))
            .collect()
    }

    /// Writes rows and moves `accounted_to` past them, whatever other processes accounted for
    /// meanwhile. Blocks.
    fn account(
        self: &Arc<Self>,
        key: &TaskKey,
        name: &str,
        compiled: Option<Compiled>,
        spans: &[(Span, Status, Reason)],
    ) -> Result<(), LedgerError> {
        // Each time somebody else was faster, so this ends; the limit guards against a ledger that
        // answers nonsense.
        for _ in 0..20 {
            let Some(seen) = self.ledger.accounted_to(key)? else { return Ok(()) };
            let rows: Vec<SlotRow> = spans
                .iter()
                .filter_map(|(span, status, reason)| {
                    let left = span.after(seen.accounted_to, compiled.as_ref())?;
                    let row = SlotRow::new(key.clone(), name, left.last, *status, Some(*reason));
                    // `account` itself moves the mark.
                    Some(SlotRow { accounts: false, ..row.several(left.count, left.first) })
                })
                .collect();
            let Some(until) = rows.iter().map(|row| row.scheduled_for).max() else {
                return Ok(());
            };
            match self.ledger.account(key, &seen, until, &rows)? {
                AccountVerdict::Accounted => {
                    self.emit(EventKind::RunChanged, Some(key), None);
                    if rows.iter().any(|row| row.status == Status::Missed) {
                        self.emit(EventKind::Missed, Some(key), None);
                        // A `once` that was missed is switched off by the next sync.
                        self.resync_soon(&key.project_id);
                    }
                    return Ok(());
                }
                AccountVerdict::Overtaken => {}
            }
        }
        Ok(())
    }

    /// Judges what waits in the queue once more after a nap: the wall clock ran ahead of awake
    /// time, or this loop was not scheduled for longer than its longest sleep. Waiting in the
    /// queue alone is not lateness.
    fn judge_waiting_after_nap(self: &Arc<Self>, last: Look, look: Look) {
        let jumped = (look.wall - last.wall) - (look.awake - last.awake) > NAP_MS;
        let starved = look.awake - last.awake
            > i64::try_from(LONGEST_SLEEP.as_millis()).unwrap_or(0) + NAP_MS;
        if !jumped && !starved {
            return;
        }
        tracing::info!(jumped, starved, "woke late; what waits is judged again");
        let deadline = i64::try_from(self.settings().runs.start_deadline.as_millis()).unwrap_or(0);
        let late = lock(&self.queue).take_if(|waiting| {
            waiting.trigger == Trigger::Scheduled
                && waiting.run.is_none()
                && waiting.scheduled_for.is_some_and(|slot| look.wall - slot > deadline)
        });
        for waiting in late {
            let Some(slot) = waiting.scheduled_for else { continue };
            let name = {
                let mut board = lock(&self.board);
                let Some(task) = board.task_mut(&waiting.task) else { continue };
                // Handed back: `notice` judges it together with what came due since.
                task.cursor = task.cursor.min(slot - 1);
                task.task.name.clone()
            };
            tracing::debug!(task = %name, slot, "judged again after a nap");
            self.notice(&waiting.task, look.wall);
        }
    }
}

/// Looks at tasks one by one, and returns those at which looking failed: one task's failure never
/// touches another's (case C04).
fn each_apart(tasks: Vec<TaskKey>, mut look: impl FnMut(&TaskKey)) -> Vec<TaskKey> {
    let mut failed = tasks;
    failed.retain(|task| catch_unwind(AssertUnwindSafe(|| look(task))).is_err());
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c04_a_task_that_fails_touches_no_other() {
        let tasks = ["a", "b", "c"].map(|task| TaskKey::new("p", task));
        let mut seen = Vec::new();
        let failed = each_apart(tasks.to_vec(), |task| {
            seen.push(task.task_id.clone());
            assert_ne!(task.task_id, "a", "its evaluation panics");
        });
        assert_eq!(seen, ["a", "b", "c"], "the others are on time");
        assert_eq!(failed, [TaskKey::new("p", "a")], "and the failed one is told");
    }
}
