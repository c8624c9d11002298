//! What executes a prompt: OpenCode over HTTP, a command as a child process, or the built-in demo.
//!
//! [`Agents::run`] picks the agent by the provider of `model: provider/model`: `demo` is built in,
//! a name under `[command]` in the settings is a command, everything else is OpenCode's. A run tells
//! its worker what happens through a [`Journal`], obeys [`Control`]s, and its return value is its
//! end. Time limits are the worker's: an agent stops when it is told to.
//!
//! | What happens | What the agent does |
//! |---|---|
//! | the agent cannot be reached | tries for 10 minutes, then fails: nothing was sent |
//! | this process is killed | the session goes on at its server, a command's child lives on; [`Agents::follow`] finds both by what the journal stored |
//! | the agent's server restarts | its turn is gone for good: lost |
//! | a stop | the session is aborted and its pending requests are rejected; a command's group gets TERM, after 5 s KILL |
//! | shutdown | sessions go on ([`Ended::LeftRunning`]), commands are ended |
//!
//! Deliberately absent: a trait for agents. There are three, and they share a [`Job`] and an
//! [`Outcome`], not a life cycle.

mod command;
pub mod config;
pub mod demo;
pub mod find;
pub mod job;
pub mod journal;
pub mod opencode;
mod output;
pub mod process;
pub mod prompt;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod worktree;

pub use config::{AgentsConfig, CommandConfig, OpenCodeEnvironment, OpencodeConfig};
pub use job::{EndReason, Ended, Evidence, Job, Outcome, ProjectRef, Tokens, Variables};
pub use journal::{
    Answer, Ask, AskChoice, AskKind, AskQuestion, Control, Inbox, Journal, JournalError, Recorded,
    StepKind, StopReason,
};
pub use opencode::{AgentError, AgentInfo, CommandInfo, ModelInfo, OpencodeHealth, ProviderInfo};

use crate::clock::Clock;
use prompt::snippets::Snippets;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use worktree::{Left, Worktree};

#[cfg(all(test, unix))]
mod tests;

/// The provider name of the built-in demo agent.
pub const DEMO: &str = "demo";

/// All agents of a process; cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents {
    config: Arc<AgentsConfig>,
    opencode: Arc<opencode::Opencode>,
}

/// Which agent a provider's name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// The built-in demo.
    Demo,
    /// A command of the settings.
    Command,
    /// OpenCode.
    Opencode,
}

impl Agents {
    /// Makes the agents. Nothing is started or asked before it is needed.
    pub fn new(config: AgentsConfig, clock: Arc<dyn Clock>) -> Self {
        let config = Arc::new(config);
        let opencode = Arc::new(opencode::Opencode::new(Arc::clone(&config), clock));
        Agents { config, opencode }
    }

    /// Says which agent a provider means. A command's name wins over OpenCode's providers.
    pub fn kind(&self, provider: &str) -> AgentKind {
        if provider == DEMO {
            AgentKind::Demo
        } else if self.config.commands.contains_key(provider) {
            AgentKind::Command
        } else {
            AgentKind::Opencode
        }
    }

    /// Runs a job to its end.
    pub async fn run(
        &self,
        job: &Job,
        journal: &dyn Journal,
        controls: mpsc::Receiver<Control>,
    ) -> Outcome {
        let mut inbox = Inbox::new(controls);
        let kind = self.kind(&job.execution.provider_id);
        if kind == AgentKind::Demo {
            return demo::run(job, journal, &mut inbox).await;
        }
        if let Some(outcome) = check_folder(&job.project.path) {
            return outcome;
        }
        let worktree = match self.worktree(job).await {
            Ok(worktree) => worktree,
            Err(error) => return Outcome::failed(EndReason::Worktree, error),
        };
        let directory = directory(job, worktree.as_ref());
        let prompt = self.prompt(job, journal).await;
        let mut outcome = match self.config.commands.get(&job.execution.provider_id) {
            Some(command) => {
                command::run(
                    command,
                    &self.config.environment,
                    &directory,
                    &prompt,
                    job,
                    journal,
                    &mut inbox,
                )
                .await
            }
            None => self.opencode.run(job, &directory, &prompt, journal, &mut inbox).await,
        };
        leave(worktree, &mut outcome, journal).await;
        outcome
    }

    /// Follows a run that another process began, by the evidence in `job.resume`, to its end.
    ///
    /// Nothing is ever sent again: a session without our message is `failed: not_sent`, a command
    /// is ended and `lost`.
    pub async fn follow(
        &self,
        job: &Job,
        journal: &dyn Journal,
        controls: mpsc::Receiver<Control>,
    ) -> Outcome {
        let mut inbox = Inbox::new(controls);
        let evidence = job.resume.clone().unwrap_or_default();
        let provider = &job.execution.provider_id;
        let worktree = if job.worktree { self.worktree(job).await.ok().flatten() } else { None };
        let mut outcome = match self.kind(provider) {
            AgentKind::Demo => Outcome::lost(
                EndReason::Restarted,
                "The demo agent ended together with the program it ran in.",
            ),
            AgentKind::Command => command::follow_orphan(provider, evidence.child.as_ref()).await,
            // A command that is no longer in the settings is known by its child.
            AgentKind::Opencode if evidence.child.is_some() => {
                command::follow_orphan(provider, evidence.child.as_ref()).await
            }
            AgentKind::Opencode => match &evidence.session_id {
                None => Outcome::failed(
                    EndReason::NotSent,
                    "Loopkeeper ended before it had a session, so nothing was sent.",
                ),
                Some(session) => {
                    let directory = directory(job, worktree.as_ref());
                    self.opencode.follow(job, &directory, session, journal, &mut inbox).await
                }
            },
        };
        leave(worktree, &mut outcome, journal).await;
        outcome
    }

    async fn worktree(&self, job: &Job) -> Result<Option<Worktree>, String> {
        if !job.worktree {
            return Ok(None);
        }
        Worktree::make(&self.config.own, &job.project.path, job.run_id).await.map(Some)
    }

    /// Makes the text that is sent: variables filled in, then snippets expanded, so that a snippet
    /// may hold anything but an answer of an earlier run expands nothing.
    async fn prompt(&self, job: &Job, journal: &dyn Journal) -> String {
        let project = job.project.path.clone();
        let config = self.config.opencode_config.clone();
        let prompt = job.execution.prompt.clone();
        let expanded = tokio::task::spawn_blocking(move || {
            let snippets = Snippets::read(&project, &config);
            (snippets.expand(&prompt), snippets.problems)
        })
        .await;
        let (prompt, problems) =
            expanded.unwrap_or_else(|_| (job.execution.prompt.to_string(), Vec::new()));
        for problem in problems {
            journal::note(journal.step(StepKind::Note, &problem).await);
        }
        match &job.variables {
            Some(values) => prompt::variables::fill(&prompt, values),
            None => prompt,
        }
    }

    /// Returns everything that can be chosen as `model`, without secrets. Starts OpenCode if needed.
    ///
    /// # Errors
    /// OpenCode cannot be reached; the demo's and the commands' names are then in
    /// [`Self::local_models`].
    pub async fn models(&self, directory: &Path) -> Result<Vec<ProviderInfo>, AgentError> {
        let mut models = self.local_models();
        models.extend(self.opencode.models(directory).await?);
        Ok(models)
    }

    /// Returns the demo agent and the commands, which need no server.
    pub fn local_models(&self) -> Vec<ProviderInfo> {
        let demo = ProviderInfo {
            id: DEMO.to_owned(),
            name: "Demo (built in)".to_owned(),
            models: demo::MODELS
                .iter()
                .map(|(id, name)| ModelInfo {
                    id: (*id).to_owned(),
                    name: (*name).to_owned(),
                    variants: Vec::new(),
                })
                .collect(),
        };
        let commands = self.config.commands.iter().map(|(name, command)| ProviderInfo {
            id: name.clone(),
            name: format!("Command {}", command.argv.first().map_or("", String::as_str)),
            models: Vec::new(),
        });
        std::iter::once(demo).chain(commands).collect()
    }

    /// Returns OpenCode's agents that a task may name.
    ///
    /// # Errors
    /// OpenCode cannot be reached.
    pub async fn agents(&self, directory: &Path) -> Result<Vec<AgentInfo>, AgentError> {
        self.opencode.agents(directory).await
    }

    /// Returns OpenCode's slash commands.
    ///
    /// # Errors
    /// OpenCode cannot be reached.
    pub async fn commands(&self, directory: &Path) -> Result<Vec<CommandInfo>, AgentError> {
        self.opencode.commands(directory).await
    }

    /// Looks at OpenCode without starting it.
    pub async fn health(&self) -> OpencodeHealth {
        self.opencode.health().await
    }

    /// Returns where the log of the OpenCode server lies that is started for the data folder, and
    /// its last lines; none where none was started yet. Blocks.
    pub fn log(&self, lines: usize) -> (PathBuf, Vec<String>) {
        self.opencode.log(lines)
    }

    /// Says whether OpenCode works on a session, without starting it: `None` when nobody can tell.
    pub async fn is_busy(&self, session_id: &str, directory: &Path) -> Option<bool> {
        self.opencode.is_busy(session_id, directory).await
    }

    /// Ends the OpenCode server of this data folder, if there is one and nobody needs it.
    ///
    /// `unused` is asked while the lock is held under which every process looks for the server: say
    /// `true` only if no process of this folder has an open run of OpenCode's. Returns whether a
    /// server was ended. An attached server is never ended.
    ///
    /// # Errors
    /// The lock or the server's file could not be used.
    pub async fn end_server(
        &self,
        unused: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<bool, AgentError> {
        self.opencode.end_server(unused).await
    }

    /// Returns how many runs and questions of this process use OpenCode right now.
    pub fn opencode_in_use(&self) -> usize {
        self.opencode.in_use()
    }
}

fn directory(job: &Job, worktree: Option<&Worktree>) -> PathBuf {
    worktree.map_or_else(|| job.project.path.clone(), |worktree| worktree.directory.clone())
}

/// Checks that the project is there: OpenCode makes a session for any path, and would then work
/// somewhere else.
fn check_folder(path: &Path) -> Option<Outcome> {
    if path.is_absolute() && path.is_dir() {
        return None;
    }
    Some(Outcome::failed(
        EndReason::BadFolder,
        format!(
            "The project folder {} does not exist. If it was moved, remove the project and add it at its new place.",
            path.display()
        ),
    ))
}

async fn leave(worktree: Option<Worktree>, outcome: &mut Outcome, journal: &dyn Journal) {
    let Some(worktree) = worktree.filter(|_| outcome.status != Ended::LeftRunning) else { return };
    if let Left::Kept(path) = worktree.leave().await {
        let text = format!("The run left changes in the worktree {}", path.display());
        journal::note(journal.step(StepKind::Note, &text).await);
        outcome.worktree = Some(path);
    }
}

/// Makes the outcome of a run that was stopped; `asks` is what it waited for.
pub(crate) fn stopped(reason: StopReason, asks: &[Ask]) -> Outcome {
    match reason {
        StopReason::TimedOut => Outcome {
            error: Some(
                "The run was stopped at its time limit. Give it more with `policy: {timeout: 1h}`, or make the prompt smaller."
                    .to_owned(),
            ),
            ..Outcome::new(Ended::TimedOut)
        },
        StopReason::BlockedTimedOut => {
            let questions: Vec<&str> = asks.iter().map(|ask| ask.text.as_str()).collect();
            Outcome::failed(
                EndReason::BlockedTimeout,
                format!("Nobody answered in time: {}", questions.join(" · ")),
            )
        }
        StopReason::Cancelled => Outcome {
            error: Some("The run was cancelled.".to_owned()),
            ..Outcome::new(Ended::Cancelled)
        },
        StopReason::Shutdown => Outcome {
            reason: Some(EndReason::Shutdown),
            error: Some("stopped by shutdown".to_owned()),
            ..Outcome::new(Ended::Cancelled)
        },
    }
}
