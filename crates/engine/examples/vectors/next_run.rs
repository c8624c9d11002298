//! Answers the cases of `next_run.jsonl`: a task and a moment → its next occurrence.

use loopkeeper_engine::schedule::{Compiled, read};
use serde_json::{Value, json};

/// Answers one case; a task that is not enabled or has no good schedule has no next occurrence.
pub fn answer(case: &Value) -> Option<Value> {
    let now = case.get("now")?.as_i64()?;
    Some(json!(next_run(&case["task"], now)))
}

fn next_run(task: &Value, now: i64) -> Option<i64> {
    if task.get("enabled") != Some(&Value::Bool(true)) {
        return None;
    }
    let schedule = read::schedule_from_json(task.get("schedule")?)?;
    Compiled::new(&schedule).ok()?.next_after(now)
}
