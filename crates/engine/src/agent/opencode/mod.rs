//! OpenCode: attached to, or started, and followed to the real end of a run.
//!
//! A prompt that was accepted is not a run that ended: OpenCode answers 204 to almost everything,
//! also for a model that does not exist. So a run is checked before it is sent, its session is
//! stored before the prompt goes out, and then its end is looked for by events *and* by polling
//! ([`follow`]), and read from the session's messages ([`judge`]).

mod asks;
mod check;
mod client;
mod error;
mod events;
#[cfg(test)]
mod fake;
mod follow;
mod goals;
mod info;
mod judge;
#[cfg(test)]
mod recorded;
mod send;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub use error::AgentError;
pub use info::{AgentInfo, CommandInfo, ModelInfo, OpencodeHealth, ProviderInfo};

use super::config::AgentsConfig;
use super::job::{EndReason, Job, Outcome};
use super::journal::{self, Inbox, Journal, StepKind};
use crate::clock::Clock;
use client::Client;
use server::{OwnServer, Places};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The line of versions that everything here was tried with.
const TRIED: &str = "1.18.";

/// How long things are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Between two looks, whatever the events say.
    pub(crate) poll: Duration,
    /// How long "not busy" must hold before an unfinished turn counts as over.
    pub(crate) settle: Duration,
    /// The same for a prompt whose answer has not begun.
    pub(crate) begin: Duration,
    /// How long a prompt that nobody has seen may take to be seen.
    pub(crate) appear: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            poll: Duration::from_secs(2),
            settle: Duration::from_secs(1),
            begin: Duration::from_secs(5),
            appear: Duration::from_secs(30),
        }
    }
}

/// The way to OpenCode.
#[derive(Debug)]
pub struct Opencode {
    config: Arc<AgentsConfig>,
    clock: Arc<dyn Clock>,
    /// The client, and whether it can do TLS.
    http: Mutex<Option<(bool, reqwest::Client)>>,
    places: Places,
    /// Held while a server is looked for; what only looks at it goes by `places`.
    own: tokio::sync::Mutex<OwnServer>,
    in_use: Arc<AtomicUsize>,
    warned: Mutex<Option<String>>,
    pub(crate) timing: Timing,
}

enum Endpoint {
    Attached(String),
    Own,
}

/// Counts one use of OpenCode as long as it lives.
struct InUse(Arc<AtomicUsize>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tries again for a while, with growing pauses; what cannot change by waiting fails at once.
struct Patience {
    end: Instant,
    wait: Duration,
    told: String,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        let (wait, told) = (Duration::from_millis(500), String::new());
        Patience { end: Instant::now() + limit, wait, told }
    }

    /// Waits after a failed attempt.
    ///
    /// # Errors
    /// Returns the error when there is no point in a further attempt.
    async fn after(&mut self, error: AgentError, journal: &dyn Journal) -> Result<(), AgentError> {
        if !error.is_passing() || Instant::now() + self.wait >= self.end {
            return Err(error);
        }
        let text = error.to_string();
        if self.told != text {
            journal::note(journal.step(StepKind::Waiting, &text).await);
            self.told = text;
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(Duration::from_secs(10));
        Ok(())
    }
}

impl Opencode {
    pub(crate) fn new(config: Arc<AgentsConfig>, clock: Arc<dyn Clock>) -> Self {
        let places = Places::new(&config.own);
        let own = OwnServer::new(Arc::clone(&config), places.clone(), Arc::clone(&clock));
        Opencode {
            config,
            clock,
            http: Mutex::new(None),
            places,
            own: tokio::sync::Mutex::new(own),
            in_use: Arc::default(),
            warned: Mutex::new(None),
            timing: Timing::default(),
        }
    }

    fn using(&self) -> InUse {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(&self.in_use))
    }

    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }

    fn http(&self, endpoint: &Endpoint) -> Result<reqwest::Client, AgentError> {
        let tls = matches!(endpoint, Endpoint::Attached(url) if !url.starts_with("http://"));
        let mut kept = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, http)) = kept.as_ref().filter(|(can, _)| *can == tls) {
            return Ok(http.clone());
        }
        let http =
            client::http(tls).map_err(|error| AgentError::Start { cause: error.to_string() })?;
        *kept = Some((tls, http.clone()));
        Ok(http)
    }

    /// Finds the server that is meant: `--opencode`, the setting, OPENCODE_HOST, OPENCODE_PORT.
    fn endpoint(&self) -> Result<Endpoint, AgentError> {
        let config = &self.config.opencode;
        let given = [
            ("--opencode", &config.flag),
            ("`opencode.url` in the settings", &config.url),
            ("OPENCODE_HOST", &config.host),
        ];
        for (name, value) in given {
            if let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) {
                let url = if value.contains("://") {
                    value.to_owned()
                } else {
                    format!("http://{value}")
                };
                let valid = reqwest::Url::parse(&url)
                    .is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
                if !valid {
                    return Err(AgentError::BadAddress { name, value: value.to_owned() });
                }
                return Ok(Endpoint::Attached(url));
            }
        }
        match config.port.as_deref().map(str::trim).filter(|port| !port.is_empty()) {
            None => Ok(Endpoint::Own),
            Some(port) => match port.parse::<u16>() {
                Ok(number) if number > 0 => {
                    Ok(Endpoint::Attached(format!("http://127.0.0.1:{number}")))
                }
                _ => Err(AgentError::BadAddress { name: "OPENCODE_PORT", value: port.to_owned() }),
            },
        }
    }

    fn attached(&self, http: reqwest::Client, url: &str) -> Client {
        let config = &self.config.opencode;
        let user = config.username.as_deref().unwrap_or(server::USER);
        Client::new(http, url, user, config.password.as_deref())
    }

    /// Attaches to the server or starts it: one attempt.
    pub(crate) async fn connect(&self) -> Result<Client, AgentError> {
        let endpoint = self.endpoint()?;
        let http = self.http(&endpoint)?;
        match endpoint {
            Endpoint::Own => {
                let client = self.own.lock().await.ensure(&http).await?;
                if let Some(server) = self.places.read() {
                    self.warn_of(&server.version);
                }
                Ok(client)
            }
            Endpoint::Attached(url) => {
                let client = self.attached(http, &url);
                let health = client
                    .health()
                    .await
                    .map_err(|error| AgentError::from_call(&client, &error))?;
                self.warn_of(&health.version);
                Ok(client)
            }
        }
    }

    fn warn_of(&self, version: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if !version.starts_with(TRIED) && warned.as_deref() != Some(version) {
            tracing::warn!(version, "Loopkeeper was not tried with this version of OpenCode");
            *warned = Some(version.to_owned());
        }
    }

    /// Attaches to the server or starts it, and keeps trying.
    async fn connect_patiently(&self, journal: &dyn Journal) -> Result<Client, AgentError> {
        let mut patience = Patience::new(self.config.opencode.patience);
        loop {
            match self.connect().await {
                Ok(client) => return Ok(client),
                Err(error) => patience.after(error, journal).await?,
            }
        }
    }

    /// Runs a job to its end.
    pub(crate) async fn run(
        &self,
        job: &Job,
        directory: &Path,
        prompt: &str,
        journal: &dyn Journal,
        inbox: &mut Inbox,
    ) -> Outcome {
        let _used = self.using();
        let ready = tokio::select! {
            biased;
            reason = inbox.stopped() => return super::stopped(reason, &[]),
            ready = self.prepare(job, directory, journal) => ready,
        };
        match ready {
            Ok(ready) => send::send_and_follow(self, job, prompt, ready, journal, inbox).await,
            Err(outcome) => *outcome,
        }
    }

    async fn prepare(
        &self,
        job: &Job,
        directory: &Path,
        journal: &dyn Journal,
    ) -> Result<send::Ready, Box<Outcome>> {
        let directory = real_path(directory)
            .map_err(|error| Box::new(Outcome::failed(EndReason::BadFolder, error)))?;
        let mut patience = Patience::new(self.config.opencode.patience);
        loop {
            let error = match self.connect().await {
                Err(error) => error,
                Ok(client) => match check::check(&client, &directory, &job.execution).await {
                    Ok(checked) => return checked.map(|()| send::Ready { client, directory }),
                    Err(error) => AgentError::from_call(&client, &error),
                },
            };
            let waited = patience.after(error, journal).await;
            waited.map_err(|error| Box::new(unreachable_outcome(&error)))?;
        }
    }

    /// Follows a session that another process made, to its end.
    pub(crate) async fn follow(
        &self,
        job: &Job,
        directory: &Path,
        session: &str,
        journal: &dyn Journal,
        inbox: &mut Inbox,
    ) -> Outcome {
        let _used = self.using();
        // The folder may be gone by now; the session still has an end.
        let directory =
            real_path(directory).unwrap_or_else(|_| directory.to_string_lossy().into_owned());
        send::take_over(self, job, session, directory, journal, inbox).await
    }

    /// Connects for a question of a picker.
    async fn ask(&self) -> Result<Client, AgentError> {
        self.connect().await
    }

    pub(crate) async fn models(&self, directory: &Path) -> Result<Vec<ProviderInfo>, AgentError> {
        let _used = self.using();
        let client = self.ask().await?;
        let answer = client.providers(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        Ok(answer.providers.into_iter().map(provider_info).collect())
    }

    pub(crate) async fn agents(&self, directory: &Path) -> Result<Vec<AgentInfo>, AgentError> {
        let _used = self.using();
        let client = self.ask().await?;
        let answer = client.agents(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        let visible = answer.into_iter().filter(|agent| agent.hidden != Some(true));
        Ok(visible
            .map(|agent| AgentInfo {
                name: agent.name,
                description: agent.description.unwrap_or_default(),
                mode: agent.mode.unwrap_or_default(),
            })
            .collect())
    }

    pub(crate) async fn commands(&self, directory: &Path) -> Result<Vec<CommandInfo>, AgentError> {
        let _used = self.using();
        let client = self.ask().await?;
        let answer = client.commands(&directory.to_string_lossy()).await;
        let answer = answer.map_err(|error| AgentError::from_call(&client, &error))?;
        Ok(answer
            .into_iter()
            .map(|command| CommandInfo {
                name: command.name,
                description: command.description.unwrap_or_default(),
            })
            .collect())
    }

    /// Returns the server as it is now, without starting one.
    async fn present(&self) -> Result<Option<(Client, bool)>, AgentError> {
        let endpoint = self.endpoint()?;
        let http = self.http(&endpoint)?;
        Ok(match endpoint {
            Endpoint::Attached(url) => Some((self.attached(http, &url), false)),
            Endpoint::Own => self.places.running(&http).map(|client| (client, true)),
        })
    }

    pub(crate) async fn health(&self) -> OpencodeHealth {
        let mut health = OpencodeHealth {
            url: None,
            own: true,
            healthy: false,
            version: None,
            tried: false,
            binary: None,
            error: None,
            log: Vec::new(),
        };
        match self.present().await {
            Err(error) => health.error = Some(error.to_string()),
            Ok(None) => {
                let binaries = &self.config.opencode.binaries;
                health.binary = binaries.iter().find(|path| path.is_file()).cloned();
                if health.binary.is_none() {
                    health.error =
                        Some(AgentError::Missing { looked: binaries.clone() }.to_string());
                }
            }
            Ok(Some((client, own))) => {
                health.own = own;
                health.url = Some(client.base().to_owned());
                match client.health().await {
                    Ok(answer) => {
                        health.healthy = answer.healthy;
                        health.tried = answer.version.starts_with(TRIED);
                        health.version = Some(answer.version);
                    }
                    Err(error) => {
                        health.error = Some(AgentError::from_call(&client, &error).to_string());
                    }
                }
            }
        }
        if health.own {
            health.log = self.places.log_tail(20);
        }
        health
    }

    pub(crate) fn log(&self, lines: usize) -> (PathBuf, Vec<String>) {
        (self.places.log(), self.places.log_tail(lines))
    }

    pub(crate) async fn is_busy(&self, session_id: &str, directory: &Path) -> Option<bool> {
        let (client, _) = self.present().await.ok()??;
        let directory =
            real_path(directory).unwrap_or_else(|_| directory.to_string_lossy().into_owned());
        let statuses = client.statuses(&directory).await.ok()?;
        Some(statuses.get(session_id).is_some_and(|status| *status != wire::Status::Idle))
    }

    pub(crate) async fn end_server(
        &self,
        unused: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<bool, AgentError> {
        let own = self.own.lock().await;
        if self.in_use() > 0 {
            return Ok(false);
        }
        own.end(unused).await
    }
}

fn provider_info(provider: wire::Provider) -> ProviderInfo {
    let models = provider.models.into_iter().map(|(id, model)| ModelInfo {
        name: model.name.unwrap_or_else(|| id.clone()),
        variants: model.variants,
        id,
    });
    ProviderInfo {
        name: provider.name.unwrap_or_else(|| provider.id.clone()),
        models: models.collect(),
        id: provider.id,
    }
}

fn real_path(path: &Path) -> Result<String, String> {
    let real = std::fs::canonicalize(path)
        .map_err(|error| format!("The folder {} cannot be used: {error}", path.display()))?;
    real.into_os_string().into_string().map_err(|_| {
        format!(
            "The folder {} has a name that OpenCode cannot take: it is no UTF-8.",
            path.display()
        )
    })
}

fn unreachable_outcome(error: &AgentError) -> Outcome {
    Outcome::failed(EndReason::Unreachable, format!("{error} Nothing was sent."))
}

#[cfg(test)]
mod address_tests {
    use super::super::config::OpencodeConfig;
    use super::*;
    use crate::clock::SystemClock;
    use std::path::PathBuf;

    fn opencode(config: OpencodeConfig) -> Opencode {
        let config = AgentsConfig {
            opencode: config,
            commands: Default::default(),
            own: PathBuf::from("/nonexistent"),
            opencode_config: PathBuf::from("/nonexistent"),
            environment: Vec::new(),
        };
        Opencode::new(Arc::new(config), Arc::new(SystemClock))
    }

    fn url(config: OpencodeConfig) -> Option<String> {
        match opencode(config).endpoint().expect("an address") {
            Endpoint::Attached(url) => Some(url),
            Endpoint::Own => None,
        }
    }

    #[test]
    fn the_first_address_given_is_meant() {
        let all = OpencodeConfig {
            flag: Some("http://a:1".into()),
            url: Some("http://b:2".into()),
            host: Some("c:3".into()),
            port: Some("4".into()),
            ..OpencodeConfig::default()
        };
        assert_eq!(url(all.clone()).as_deref(), Some("http://a:1"), "the flag");
        let all = OpencodeConfig { flag: None, ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://b:2"), "then the setting");
        let all = OpencodeConfig { url: Some(String::new()), ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://c:3"), "then OPENCODE_HOST");
        let all = OpencodeConfig { host: None, ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://127.0.0.1:4"), "then OPENCODE_PORT");
        assert_eq!(url(OpencodeConfig { port: None, ..all }), None, "else one is started");
    }

    #[test]
    fn a_bad_address_names_where_it_comes_from() {
        let bad = OpencodeConfig { port: Some("http".into()), ..OpencodeConfig::default() };
        let error = opencode(bad).endpoint().err().expect("no port").to_string();
        assert!(error.contains("OPENCODE_PORT"), "{error}");
    }

    #[test]
    fn pickers_get_no_keys() {
        let answer: wire::Providers = recorded::body("config-providers.json");
        let infos: Vec<ProviderInfo> = answer.providers.into_iter().map(provider_info).collect();
        let shown = serde_json::to_string(&infos).expect("JSON");
        assert!(shown.contains("slow-10"), "the models are there");
        assert!(!shown.contains("sk-stub") && !shown.contains("apiKey"), "the key is not: {shown}");
    }
}
