//! `claim.jsonl`: the claim of one slot with the clock standing where the case says, on a folder
//! and a ledger of its own, and the end of the run as the engine writes it.

use loopkeeper_engine::claim::{
    Armed, Claim, Claimed, Desk, NoRules, Request, Shown, show_claim_failure, show_end,
};
use loopkeeper_engine::clock::Clock;
use loopkeeper_engine::host::ProcessId;
use loopkeeper_engine::ledger::{Ending, Ledger, Status};
use loopkeeper_engine::project::{self, Folder};
use loopkeeper_engine::schedule::Compiled;
use loopkeeper_engine::task::{Task, TaskKey};
use loopkeeper_engine::testing::ManualClock;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(600);

/// Where a case plays.
struct Stage {
    clock: Arc<ManualClock>,
    desk: Desk,
    task: TaskKey,
    slot: i64,
    _dir: tempfile::TempDir,
}

/// Answers one case.
pub fn answer(case: &Value) -> Option<Value> {
    let slot = case["scheduled_for"].as_i64()?;
    let armed_task = case.get("armed_task").unwrap_or(&case["disk_task"]);
    let Some(armed) = arm(armed_task, slot) else {
        return Some(json!({ "armed": false }));
    };
    let stage = Stage::new(case, slot)?;
    let before = stage.task_on_disk();
    let mut answer = match case["claim_error"].as_str() {
        Some(error) => stage.refused(&armed, error),
        None => stage.claim(&armed, case["run_fails"] == true)?,
    };
    let claimed = answer["claimed"] == true;
    if let (false, Some(answer)) = (claimed, answer.as_object_mut())
        && !answer.contains_key("claim_error")
    {
        answer.insert("disk_unchanged".to_owned(), (stage.task_on_disk() == before).into());
    }
    answer["armed"] = true.into();
    answer["rearmed"] = stage.is_armed_again().into();
    Some(answer)
}

/// Arms a task as it is in memory; `None` when it is disabled or its slot is not one of its own.
fn arm(task: &Value, slot: i64) -> Option<Armed> {
    let text = json!({ "scheduledTasks": [task] }).to_string();
    let document = project::Document::parse(&text).ok()?;
    let task = document.task(task["id"].as_str()?).filter(|task| task.enabled)?;
    let compiled = Compiled::new(&task.schedule).ok()?;
    compiled.yields(slot).then(|| Armed::new(task, Some(compiled)))
}

impl Stage {
    fn new(case: &Value, slot: i64) -> Option<Stage> {
        let dir = tempfile::tempdir().ok()?;
        let projects = dir.path().join("projects");
        std::fs::create_dir(&projects).ok()?;
        let tasks: Vec<&Value> =
            Some(&case["disk_task"]).filter(|t| t.is_object()).into_iter().collect();
        let config = json!({ "version": 1, "scheduledTasks": tasks });
        std::fs::write(projects.join("p.json"), config.to_string()).ok()?;
        let clock = Arc::new(ManualClock::new(case["now"].as_i64()?));
        let me = ProcessId::current().clone();
        let ledger = Ledger::open(&dir.path().join("own"), me, clock.clone()).ok()?.ledger;
        let named = case.get("armed_task").unwrap_or(&case["disk_task"]);
        let desk = Desk {
            folder: Folder::new(projects),
            ledger,
            lease: LEASE,
            machine_zone: "UTC".to_owned(),
        };
        let task = TaskKey::new("p", named["id"].as_str()?);
        Some(Stage { clock, desk, task, slot, _dir: dir })
    }

    fn claim(&self, armed: &Armed, fails: bool) -> Option<Value> {
        let request = Request { armed: Some(armed), ..Request::scheduled(&self.task, self.slot) };
        let claimed = self.desk.claim(&*self.clock, &request, &NoRules).ok()?;
        Some(match claimed {
            Claimed::Won(claim) => {
                let after_claim = self.shown();
                self.end(&claim, fails)?;
                json!({
                    "claimed": true,
                    "after_claim": after_claim,
                    "after_run": self.shown(),
                })
            }
            Claimed::NotTrue { task: None } => {
                json!({ "claimed": false, "reason": "task-missing" })
            }
            _ => json!({ "claimed": false, "reason": "occurrence-claimed-or-disabled" }),
        })
    }

    /// Ends the run as the engine does: the ledger first, then the shared file.
    fn end(&self, claim: &Claim, fails: bool) -> Option<()> {
        let status = if fails { Status::Failed } else { Status::Succeeded };
        let ending = Ending {
            duration_ms: Some(0),
            session_id: (!fails).then(|| "ses-new".to_owned()),
            error: fails.then(|| "failed to create session".to_owned()),
            ..Ending::new(status)
        };
        self.desk.ledger.finish(claim.run, claim.fence, &ending).ok()?;
        let (now, shown) = (self.clock.now_ms(), Shown::of(&ending));
        show_end(&self.desk.folder, &self.task, claim.run_at, claim.slot, &shown, now).ok()
    }

    /// The claim could not be made: what the engine shows of it.
    fn refused(&self, armed: &Armed, error: &str) -> Value {
        let text = format!("Scheduled claim failed: {error}");
        let (compiled, now) = (armed.compiled.as_ref(), self.clock.now_ms());
        show_claim_failure(&self.desk.folder, &self.task, self.slot, compiled, &text, now);
        json!({ "claimed": false, "claim_error": error, "disk_after": self.shown() })
    }

    fn task_on_disk(&self) -> Option<Task> {
        let document = project::read_only(&self.desk.folder, "p").ok()?;
        document.task(&self.task.task_id).cloned()
    }

    /// `enabled` and `state` as they stand in the file.
    fn shown(&self) -> Value {
        let Ok(document) = project::read_only(&self.desk.folder, "p") else { return Value::Null };
        let config: Map<String, Value> =
            serde_json::from_str(&document.to_text()).unwrap_or_default();
        let task = &config["scheduledTasks"][0];
        json!({ "enabled": task["enabled"], "state": task["state"] })
    }

    /// Says whether the task has an occurrence to wait for, as the engine's timer looks for one:
    /// after the slot just handled.
    fn is_armed_again(&self) -> bool {
        self.task_on_disk().filter(|task| task.enabled).is_some_and(|task| {
            let after = self.slot.max(self.clock.now_ms());
            Compiled::new(&task.schedule).is_ok_and(|schedule| schedule.next_after(after).is_some())
        })
    }
}
