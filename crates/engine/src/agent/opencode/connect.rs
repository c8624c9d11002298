//! The way to the server: attached to, or started; once, patiently, or only looked at.

use super::client::{self, Client};
use super::endpoint::Endpoint;
use super::retry::Patience;
use super::{AgentError, Opencode, TRIED, server};
use crate::agent::journal::Journal;
use std::sync::PoisonError;

impl Opencode {
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

    fn attached(&self, http: reqwest::Client, url: &str) -> Client {
        let config = &self.config.opencode;
        let user = config.username.as_deref().unwrap_or(server::USER);
        Client::new(http, url, user, config.password.as_deref())
    }

    /// Attaches to the server or starts it: one attempt.
    pub(super) async fn connect(&self) -> Result<Client, AgentError> {
        let endpoint = Endpoint::of(&self.config.opencode)?;
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
    pub(super) async fn connect_patiently(
        &self,
        journal: &dyn Journal,
    ) -> Result<Client, AgentError> {
        let mut patience = Patience::new(self.config.opencode.patience);
        loop {
            match self.connect().await {
                Ok(client) => return Ok(client),
                Err(error) => patience.after(error, journal).await?,
            }
        }
    }

    /// Returns the server as it is now, without starting one.
    pub(super) async fn present(&self) -> Result<Option<(Client, bool)>, AgentError> {
        let endpoint = Endpoint::of(&self.config.opencode)?;
        let http = self.http(&endpoint)?;
        Ok(match endpoint {
            Endpoint::Attached(url) => Some((self.attached(http, &url), false)),
            Endpoint::Own => self.places.running(&http).map(|client| (client, true)),
        })
    }
}
