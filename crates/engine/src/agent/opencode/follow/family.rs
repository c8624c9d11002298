//! The followed session and its child sessions: what a child asks for, and what it costs, is ours.

use crate::agent::opencode::client::{CallError, Client};
use crate::agent::opencode::wire;

/// How many child sessions are counted.
const MOST_RELATIVES: usize = 200;

/// Tells the sessions of a run from others in the same folder.
pub(super) struct Family {
    session: String,
    /// The session and the children that were met.
    members: Vec<String>,
    /// Sessions that asked for something and are no children of ours.
    strangers: Vec<String>,
}

impl Family {
    pub(super) fn new(session: &str) -> Self {
        let session = session.to_owned();
        Family { members: vec![session.clone()], session, strangers: Vec::new() }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.members.iter().any(|known| known == id)
    }

    /// Finds out whether sessions that ask for something are children of ours.
    pub(super) async fn meet<'a>(
        &mut self,
        client: &Client,
        directory: &str,
        ids: impl Iterator<Item = &'a String>,
    ) -> Result<(), CallError> {
        let unknown: Vec<String> =
            ids.filter(|id| !self.has(id) && !self.strangers.contains(id)).cloned().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        self.meet_children(client, directory).await?;
        let strangers = unknown.into_iter().filter(|id| !self.members.contains(id));
        self.strangers.extend(strangers);
        Ok(())
    }

    /// Reads the child sessions of the session, and theirs; returns them.
    pub(super) async fn meet_children(
        &mut self,
        client: &Client,
        directory: &str,
    ) -> Result<Vec<wire::Session>, CallError> {
        let mut all: Vec<wire::Session> = Vec::new();
        let mut parents = vec![self.session.clone()];
        while let Some(parent) = parents.pop() {
            for child in client.children(&parent, directory).await? {
                if all.len() < MOST_RELATIVES && !all.iter().any(|known| known.id == child.id) {
                    parents.push(child.id.clone());
                    all.push(child);
                }
            }
        }
        for child in &all {
            if !self.has(&child.id) {
                self.members.push(child.id.clone());
            }
        }
        Ok(all)
    }
}
