//! Which task is due when: one ordered set for all tasks.

use crate::task::TaskKey;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The armed occurrences, at most one a task. Wall times in ms since 1970.
#[derive(Debug, Default)]
pub struct Timers {
    by_time: BTreeSet<(i64, Arc<TaskKey>)>,
    by_task: HashMap<Arc<TaskKey>, i64>,
}

impl Timers {
    /// Arms a task for an instant, in place of the one it was armed for; `None` disarms it.
    pub fn arm(&mut self, task: &TaskKey, at: Option<i64>) {
        if self.by_task.get(task).copied() == at {
            return;
        }
        let known = self.by_task.remove_entry(task).map(|(key, before)| {
            self.by_time.remove(&(before, Arc::clone(&key)));
            key
        });
        if let Some(at) = at {
            let key = known.unwrap_or_else(|| Arc::new(task.clone()));
            self.by_task.insert(Arc::clone(&key), at);
            self.by_time.insert((at, key));
        }
    }

    /// Takes out the tasks that are due at `now`, earliest first.
    pub fn take_due(&mut self, now: i64) -> Vec<TaskKey> {
        let mut due = Vec::new();
        while self.by_time.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, task)) = self.by_time.pop_first() {
                self.by_task.remove(&task);
                due.push(Arc::unwrap_or_clone(task));
            }
        }
        due
    }

    /// Returns the earliest armed instant; `None` when nothing is armed.
    pub fn next(&self) -> Option<i64> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arming_again_replaces_and_nothing_is_due_early() {
        let mut timers = Timers::default();
        let a = TaskKey::new("p", "a");
        let b = TaskKey::new("p", "b");
        timers.arm(&a, Some(100));
        timers.arm(&b, Some(200));
        timers.arm(&a, Some(300));
        assert_eq!(timers.next(), Some(200), "a moved behind b");
        assert!(timers.take_due(199).is_empty(), "never early");
        assert_eq!(timers.take_due(300), [b.clone(), a.clone()], "earliest first");
        timers.arm(&a, Some(400));
        timers.arm(&a, None);
        assert_eq!(timers.next(), None, "disarmed");
    }
}
