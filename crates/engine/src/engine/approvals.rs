//! Approval by content: a loop with more power than its author may have meant runs only after
//! somebody looked at it on this machine (DESIGN §5).

use super::{Engine, EngineError, Result};
use crate::claim::content_hash;
use crate::event::EventKind;
use crate::runtime::board::BoardTask;
use crate::runtime::{Runtime, lock};
use crate::task::TaskKey;
use crate::view::ApprovalView;
use std::sync::Arc;

impl Engine {
    /// Lists what waits for approval, with the content now and the content approved last.
    ///
    /// # Errors
    /// `Unavailable` when the ledger cannot be read.
    pub async fn approvals(&self) -> Result<Vec<ApprovalView>> {
        self.with(|runtime| {
            runtime.sync_unseen();
            let tasks: Vec<(String, BoardTask)> = lock(&runtime.board)
                .tasks()
                .map(|(entry, task)| (entry.project.id.clone(), task.clone()))
                .collect();
            let mut waiting = Vec::new();
            for (project_id, task) in tasks {
                let key = TaskKey::new(project_id, &task.task.id);
                if let Some(view) = waits(runtime, &key, &task)? {
                    waiting.push(view);
                }
            }
            Ok(waiting)
        })
        .await
    }

    /// Approves a task's content; `hash` is the one that was shown.
    ///
    /// # Errors
    /// `NotFound`; `Stale` when the content is another one by now.
    pub async fn approve(&self, project: &str, task: &str, hash: &str) -> Result<()> {
        let key = TaskKey::new(project, task);
        let (subject, shown) = (key.clone(), hash.to_owned());
        self.with(move |runtime| {
            let found = super::tasks::current(runtime, &subject)?;
            let now = content_hash(&found);
            if now != shown {
                return Err(EngineError::Stale {
                    path: found.loop_file.unwrap_or_else(|| found.name.clone()),
                    text: text_of(runtime, &subject),
                    etag: Some(now),
                });
            }
            let text = text_of(runtime, &subject).unwrap_or_default();
            runtime.ledger.approve_text(&subject, &now, &text)?;
            Ok(())
        })
        .await?;
        self.runtime().emit(EventKind::TasksChanged, Some(&key), None);
        Ok(())
    }
}

fn waits(runtime: &Arc<Runtime>, key: &TaskKey, task: &BoardTask) -> Result<Option<ApprovalView>> {
    let mode = runtime.settings().approval.mode;
    let Some(why) = runtime.needs_approval(&task.task, mode) else { return Ok(None) };
    let hash = content_hash(&task.task);
    if runtime.ledger.is_approved(&hash)? {
        return Ok(None);
    }
    Ok(Some(ApprovalView {
        project_id: key.project_id.clone(),
        task_id: key.task_id.clone(),
        name: task.task.name.clone(),
        path: task.task.loop_file.clone(),
        hash,
        why: why.to_owned(),
        text: text_of(runtime, key).unwrap_or_default(),
        approved_text: runtime.ledger.approved_text(key)?,
    }))
}

fn text_of(runtime: &Arc<Runtime>, key: &TaskKey) -> Option<String> {
    let task = lock(&runtime.board).task(key).cloned()?;
    Some(crate::runtime::defining_text(&task.task, task.file.as_deref()))
}
