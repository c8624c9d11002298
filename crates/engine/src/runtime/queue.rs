//! Who waits for a place, and who has one (DESIGN §4.5): global and per-project limits, counted in
//! this process; on-time work before catch-up; one waiting occurrence a task.

use crate::ledger::Trigger;
use crate::task::TaskKey;
use std::collections::{HashMap, HashSet};

/// The limits of this process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Runs at one time in all.
    pub global: usize,
    /// Runs at one time in one project.
    pub per_project: usize,
}

/// One run that waits for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The task.
    pub task: TaskKey,
    /// The slot; `None` for a manual run.
    pub scheduled_for: Option<i64>,
    /// What asked for it.
    pub trigger: Trigger,
    /// The row that exists already (a retry, a queued overlap); `None` before the claim.
    pub run: Option<i64>,
    /// Told to whoever waits for the run's row; 0 for nobody.
    pub ticket: u64,
    /// Older slots that it replaced while they waited: their rows come before its claim, which
    /// moves `accounted_to` past them.
    pub replaces: Vec<i64>,
}

impl Waiting {
    fn is_catch_up(&self) -> bool {
        self.trigger == Trigger::CatchUp
    }

    /// A task waits at most once by its schedule and once by hand.
    fn competes_with(&self, other: &Waiting) -> bool {
        self.task == other.task
            && (self.trigger == Trigger::Manual) == (other.trigger == Trigger::Manual)
    }
}

/// The waiting and the running ones of this process.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Vec<Waiting>,
    /// Tasks that hold a place.
    placed: HashSet<TaskKey>,
    /// Tasks whose run is blocked and gave its place back.
    yielded: HashSet<TaskKey>,
    per_project: HashMap<String, usize>,
}

impl Queue {
    /// Lets a run wait; returns the older one of the same task, which gives way, whichever came first.
    pub fn push(&mut self, mut waiting: Waiting) -> Option<Waiting> {
        let rival = self.waiting.iter().position(|other| other.competes_with(&waiting));
        if let Some(newer) = rival.map(|index| &mut self.waiting[index])
            && newer.scheduled_for > waiting.scheduled_for
        {
            // The rows of older slots took longer than this one: the newer slot stays.
            newer.replaces.append(&mut waiting.replaces);
            newer.replaces.extend(waiting.scheduled_for.filter(|_| waiting.run.is_none()));
            return Some(waiting);
        }
        let replaced = rival.map(|index| self.waiting.remove(index));
        if let Some(older) = &replaced {
            waiting.replaces.extend_from_slice(&older.replaces);
            waiting.replaces.extend(older.scheduled_for.filter(|_| older.run.is_none()));
        }
        self.waiting.push(waiting);
        replaced
    }

    /// Lets a row that waits already go on, unless something of its task waits for a place: a newer
    /// slot is never replaced by an older one's row.
    pub fn push_row(&mut self, waiting: Waiting) {
        if !self.waiting.iter().any(|other| other.competes_with(&waiting)) {
            self.waiting.push(waiting);
        }
    }

    /// Takes out the next run that may go on now, and says whether it was given a place, which it
    /// then holds until [`Queue::end`].
    ///
    /// A task that runs already in this process is let through without a place: its claim is
    /// decided at once (`already_running`, or queued).
    pub fn next(&mut self, limits: Limits) -> Option<(Waiting, bool)> {
        let mut best: Option<usize> = None;
        for (index, waiting) in self.waiting.iter().enumerate() {
            let eligible = self.is_active(&waiting.task)
                || (self.placed.len() < limits.global
                    && self.per_project.get(&waiting.task.project_id).copied().unwrap_or(0)
                        < limits.per_project);
            let better = match best {
                Some(found) => self.waiting[found].is_catch_up() && !waiting.is_catch_up(),
                None => true,
            };
            if eligible && better {
                best = Some(index);
                if !waiting.is_catch_up() {
                    break;
                }
            }
        }
        let waiting = self.waiting.remove(best?);
        let placed = !self.is_active(&waiting.task);
        if placed {
            self.take_place(&waiting.task);
        }
        Some((waiting, placed))
    }

    /// Says whether a run of this task goes on in this process.
    pub fn is_active(&self, task: &TaskKey) -> bool {
        self.placed.contains(task) || self.yielded.contains(task)
    }

    /// Gives a run that goes on after a person's answer its place again, past the limits. One that
    /// never had a place gets none: nobody would give it back.
    pub fn regain_place(&mut self, task: &TaskKey) {
        if self.yielded.contains(task) {
            self.take_place(task);
        }
    }

    /// Takes a place past the limits, for a run that was taken over.
    pub fn take_place(&mut self, task: &TaskKey) {
        self.yielded.remove(task);
        if self.placed.insert(task.clone()) {
            *self.per_project.entry(task.project_id.clone()).or_default() += 1;
        }
    }

    /// Gives the place back while the run is blocked.
    pub fn yield_place(&mut self, task: &TaskKey) {
        if self.placed.contains(task) {
            self.release(task);
            self.yielded.insert(task.clone());
        }
    }

    /// Ends a run's claim to a place.
    pub fn end(&mut self, task: &TaskKey) {
        self.yielded.remove(task);
        self.release(task);
    }

    /// Takes out what waits for a task by its schedule (its definition is gone).
    pub fn forget(&mut self, task: &TaskKey) -> Vec<Waiting> {
        self.take_if(|waiting| waiting.task == *task && waiting.trigger != Trigger::Manual)
    }

    /// Takes out everything that waits.
    pub fn drain(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    /// Returns what waits.
    #[cfg(test)]
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Takes out those that wait and fulfil a condition.
    pub fn take_if(&mut self, mut condition: impl FnMut(&Waiting) -> bool) -> Vec<Waiting> {
        let (taken, kept) = self.waiting.drain(..).partition(|waiting| condition(waiting));
        self.waiting = kept;
        taken
    }

    fn release(&mut self, task: &TaskKey) {
        if self.placed.remove(task)
            && let Some(count) = self.per_project.get_mut(&task.project_id)
        {
            *count -= 1;
            if *count == 0 {
                self.per_project.remove(&task.project_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { global: 3, per_project: 2 };

    fn waiting(project: &str, task: &str, slot: i64, trigger: Trigger) -> Waiting {
        let scheduled_for = (trigger != Trigger::Manual).then_some(slot);
        Waiting {
            task: TaskKey::new(project, task),
            scheduled_for,
            trigger,
            run: None,
            ticket: 0,
            replaces: Vec::new(),
        }
    }

    #[test]
    fn limits_hold_and_on_time_work_goes_before_catch_up() {
        let mut queue = Queue::default();
        for n in 0..40 {
            queue.push(waiting("p", &format!("old-{n}"), n, Trigger::CatchUp));
        }
        queue.push(waiting("p", "now", 100, Trigger::Scheduled));
        let (first, placed) = queue.next(LIMITS).expect("a place is free");
        assert!(placed, "nothing of this task runs");
        assert_eq!(first.task.task_id, "now", "on-time work is never starved by catch-up");
        assert!(queue.next(LIMITS).is_some(), "the second place of the project");
        assert!(queue.next(LIMITS).is_none(), "per project 2");
        queue.push(waiting("q", "a", 100, Trigger::Manual));
        queue.push(waiting("q", "b", 100, Trigger::Scheduled));
        assert!(queue.next(LIMITS).is_some(), "another project has room");
        assert!(queue.next(LIMITS).is_none(), "global 3");
        queue.end(&first.task);
        assert!(queue.next(LIMITS).is_some(), "an ended run gives its place on");
    }

    #[test]
    fn a_newer_occurrence_replaces_the_one_that_waits() {
        let mut queue = Queue::default();
        assert_eq!(queue.push(waiting("p", "a", 1, Trigger::Scheduled)), None);
        let replaced = queue.push(waiting("p", "a", 2, Trigger::Scheduled));
        assert_eq!(replaced.and_then(|old| old.scheduled_for), Some(1), "one waiting a task");
        assert_eq!(queue.push(waiting("p", "a", 0, Trigger::Manual)), None, "by hand is apart");
    }

    #[test]
    fn a_waiting_row_never_replaces_a_newer_slot() {
        let mut queue = Queue::default();
        queue.push(waiting("p", "a", 1, Trigger::Scheduled));
        queue.push(waiting("p", "a", 2, Trigger::Scheduled));
        queue.push_row(Waiting { run: Some(7), ..waiting("p", "a", 0, Trigger::Retry) });
        let left = queue.waiting();
        assert_eq!(left.len(), 1, "one waiting a task");
        assert_eq!(left[0].scheduled_for, Some(2), "the newer slot would be lost without a row");
        assert_eq!(left[0].replaces, [1], "whose row comes before the newer one's claim");
    }

    #[test]
    fn an_answer_gives_no_place_to_a_run_that_had_none() {
        let mut queue = Queue::default();
        let (a, b) = (TaskKey::new("p", "a"), waiting("p", "b", 1, Trigger::Scheduled));
        queue.regain_place(&a);
        queue.push(b);
        let limits = Limits { global: 1, per_project: 1 };
        assert!(queue.next(limits).is_some(), "a place that nobody gives back blocks all others");
    }

    #[test]
    fn an_older_slot_that_comes_late_gives_way_to_the_newer_one() {
        let mut queue = Queue::default();
        queue.push(waiting("p", "a", 2, Trigger::Scheduled));
        let gone = queue.push(waiting("p", "a", 1, Trigger::Scheduled));
        assert_eq!(gone.and_then(|gone| gone.scheduled_for), Some(1), "the older one has its row");
        let (next, _) = queue.next(LIMITS).expect("a place is free");
        assert_eq!((next.scheduled_for, next.replaces), (Some(2), vec![1]), "the newer one runs");
    }

    #[test]
    fn a_blocked_run_gives_its_place_back_and_stays_active() {
        let mut queue = Queue::default();
        let limits = Limits { global: 1, per_project: 1 };
        queue.push(waiting("p", "a", 1, Trigger::Scheduled));
        queue.push(waiting("p", "b", 1, Trigger::Scheduled));
        let (a, _) = queue.next(limits).expect("free");
        assert!(queue.next(limits).is_none(), "full");
        queue.yield_place(&a.task);
        assert!(queue.is_active(&a.task), "blocked is still running");
        assert!(queue.next(limits).is_some(), "its place is free meanwhile");
        queue.take_place(&a.task);
        queue.end(&a.task);
        assert!(!queue.is_active(&a.task), "ended");
    }
}
