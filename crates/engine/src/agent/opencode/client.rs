//! HTTP to one OpenCode server: one connection a request, a limit on each, and no bodies in logs.
//!
//! For about a second while it boots the server accepts connections and never answers, so a
//! connection is never used twice and no request waits long. An unknown path answers 200 with a page
//! of HTML: the content type is checked before anything is believed.

use super::wire;
use base64::Engine as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// The limit of a health check.
pub(crate) const HEALTH_LIMIT: Duration = Duration::from_secs(2);
/// The limit of a small request.
const SMALL_LIMIT: Duration = Duration::from_secs(3);
/// The limit of a request that may load a project first, or that answers with a whole session.
const LARGE_LIMIT: Duration = Duration::from_secs(20);

/// Says why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// No connection was made: nothing was sent.
    #[error("{0}")]
    NoConnection(String),
    /// The connection broke or took too long: it may have been sent.
    #[error("{0}")]
    Broken(String),
    #[error("OpenCode wants another password (HTTP 401)")]
    Denied,
    #[error("something else than OpenCode answers there")]
    NotOpencode,
    #[error("OpenCode answered {message} (HTTP {status})")]
    Status { status: u16, message: String },
}

impl CallError {
    /// Says whether the same call may work in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            CallError::NoConnection(_) | CallError::Broken(_) => true,
            CallError::Status { status, .. } => *status >= 500,
            CallError::Denied | CallError::NotOpencode => false,
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, CallError::Status { status: 404, .. })
    }
}

/// A server's address and the right to use it.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    auth: Option<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

/// Makes the HTTP client for servers in plain HTTP, or with TLS: that one reads the system's
/// certificates, for which a first run would wait.
pub(crate) fn http(tls: bool) -> Result<reqwest::Client, CallError> {
    let builder = crate::http::client();
    let builder = if tls { builder } else { builder.tls_certs_only([]) };
    builder
        .pool_max_idle_per_host(0)
        .connect_timeout(HEALTH_LIMIT)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| CallError::NoConnection(sentence(&error)))
}

impl Client {
    pub(crate) fn new(
        http: reqwest::Client,
        base: &str,
        user: &str,
        password: Option<&str>,
    ) -> Self {
        let auth = password.filter(|password| !password.is_empty()).map(|password| {
            let pair =
                base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            format!("Basic {pair}")
        });
        Client { http, base: base.trim_end_matches('/').to_owned(), auth }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Says whether two clients mean the same server with the same right.
    pub(crate) fn is_same(&self, other: &Client) -> bool {
        self.base == other.base && self.auth == other.auth
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .header("accept", "application/json");
        if let Some(auth) = &self.auth {
            request = request.header("authorization", auth);
        }
        request
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<T, CallError> {
        let request = self.request(reqwest::Method::GET, path).timeout(limit);
        read(send(request).await?).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, CallError> {
        let request = self.request(reqwest::Method::POST, path).timeout(limit).json(body);
        read(send(request).await?).await
    }

    pub(crate) async fn health(&self) -> Result<wire::Health, CallError> {
        self.get("/global/health", HEALTH_LIMIT).await
    }

    pub(crate) async fn agents(&self, directory: &str) -> Result<Vec<wire::Agent>, CallError> {
        self.get(&within("/agent", directory), LARGE_LIMIT).await
    }

    pub(crate) async fn commands(&self, directory: &str) -> Result<Vec<wire::Command>, CallError> {
        self.get(&within("/command", directory), LARGE_LIMIT).await
    }

    pub(crate) async fn providers(&self, directory: &str) -> Result<wire::Providers, CallError> {
        self.get(&within("/config/providers", directory), LARGE_LIMIT).await
    }

    pub(crate) async fn create_session(
        &self,
        directory: &str,
        new: &wire::NewSession<'_>,
    ) -> Result<wire::Session, CallError> {
        self.post(&within("/session", directory), new, LARGE_LIMIT).await
    }

    pub(crate) async fn session(
        &self,
        id: &str,
        directory: &str,
    ) -> Result<wire::Session, CallError> {
        self.get(&within(&format!("/session/{}", encode(id)), directory), SMALL_LIMIT).await
    }

    pub(crate) async fn children(
        &self,
        id: &str,
        directory: &str,
    ) -> Result<Vec<wire::Session>, CallError> {
        self.get(&within(&format!("/session/{}/children", encode(id)), directory), SMALL_LIMIT)
            .await
    }

    pub(crate) async fn delete_session(&self, id: &str, directory: &str) -> Result<(), CallError> {
        let path = within(&format!("/session/{}", encode(id)), directory);
        send(self.request(reqwest::Method::DELETE, &path).timeout(SMALL_LIMIT)).await.map(|_| ())
    }

    pub(crate) async fn set_metadata(
        &self,
        id: &str,
        directory: &str,
        metadata: &Value,
    ) -> Result<(), CallError> {
        let path = within(&format!("/session/{}", encode(id)), directory);
        let request = self
            .request(reqwest::Method::PATCH, &path)
            .timeout(SMALL_LIMIT)
            .json(&json!({ "metadata": metadata }));
        send(request).await.map(|_| ())
    }

    pub(crate) async fn prompt(
        &self,
        id: &str,
        directory: &str,
        body: &wire::PromptBody<'_>,
    ) -> Result<(), CallError> {
        let path = within(&format!("/session/{}/prompt_async", encode(id)), directory);
        let request = self.request(reqwest::Method::POST, &path).timeout(LARGE_LIMIT).json(body);
        let response = send(request).await?;
        // 204 is its answer; a page of HTML would be somebody else's.
        if is_html(&response) { Err(CallError::NotOpencode) } else { Ok(()) }
    }

    /// Sends a slash command; answers only when its run has ended, so it has no limit.
    pub(crate) async fn command(
        &self,
        id: &str,
        directory: &str,
        body: &wire::CommandBody,
    ) -> Result<(), CallError> {
        let path = within(&format!("/session/{}/command", encode(id)), directory);
        send(self.request(reqwest::Method::POST, &path).json(body)).await.map(|_| ())
    }

    /// Returns the sessions that are not idle: one that is listed as idle is as one that is not listed.
    pub(crate) async fn statuses(
        &self,
        directory: &str,
    ) -> Result<HashMap<String, wire::Status>, CallError> {
        let mut statuses: HashMap<String, wire::Status> =
            self.get(&within("/session/status", directory), SMALL_LIMIT).await?;
        statuses.retain(|_, status| *status != wire::Status::Idle);
        Ok(statuses)
    }

    pub(crate) async fn messages(
        &self,
        id: &str,
        directory: &str,
    ) -> Result<Vec<wire::Message>, CallError> {
        self.get(&within(&format!("/session/{}/message", encode(id)), directory), LARGE_LIMIT).await
    }

    pub(crate) async fn abort(&self, id: &str, directory: &str) -> Result<(), CallError> {
        let path = within(&format!("/session/{}/abort", encode(id)), directory);
        self.post::<Value>(&path, &json!({}), SMALL_LIMIT).await.map(|_| ())
    }

    pub(crate) async fn permissions(
        &self,
        directory: &str,
    ) -> Result<Vec<wire::Permission>, CallError> {
        self.get(&within("/permission", directory), SMALL_LIMIT).await
    }

    pub(crate) async fn questions(
        &self,
        directory: &str,
    ) -> Result<Vec<wire::QuestionRequest>, CallError> {
        self.get(&within("/question", directory), SMALL_LIMIT).await
    }

    pub(crate) async fn reply_permission(
        &self,
        id: &str,
        directory: &str,
        reply: &str,
    ) -> Result<(), CallError> {
        let path = within(&format!("/permission/{}/reply", encode(id)), directory);
        self.post::<Value>(&path, &json!({ "reply": reply }), SMALL_LIMIT).await.map(|_| ())
    }

    pub(crate) async fn reply_question(
        &self,
        id: &str,
        directory: &str,
        answers: &[Vec<String>],
    ) -> Result<(), CallError> {
        let path = within(&format!("/question/{}/reply", encode(id)), directory);
        self.post::<Value>(&path, &json!({ "answers": answers }), SMALL_LIMIT).await.map(|_| ())
    }

    pub(crate) async fn reject_question(&self, id: &str, directory: &str) -> Result<(), CallError> {
        let path = within(&format!("/question/{}/reject", encode(id)), directory);
        self.post::<Value>(&path, &json!({}), SMALL_LIMIT).await.map(|_| ())
    }

    /// Opens the event stream of a directory; its silence is the reader's to watch.
    pub(crate) async fn events(&self, directory: &str) -> Result<reqwest::Response, CallError> {
        let request = self
            .request(reqwest::Method::GET, &within("/event", directory))
            .header("accept", "text/event-stream");
        let opened = tokio::time::timeout(SMALL_LIMIT, send(request)).await;
        let response =
            opened.map_err(|_| CallError::Broken("the event stream did not open".to_owned()))??;
        if is_html(&response) { Err(CallError::NotOpencode) } else { Ok(response) }
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<reqwest::Response, CallError> {
    let response = request.send().await.map_err(|error| transport(&error))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.as_u16() == 401 {
        return Err(CallError::Denied);
    }
    let body = response.bytes().await.unwrap_or_default();
    let message = serde_json::from_slice::<wire::ErrorBody>(&body)
        .map_or_else(|_| "an error".to_owned(), |error| error.text());
    Err(CallError::Status { status: status.as_u16(), message })
}

async fn read<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, CallError> {
    if is_html(&response) {
        return Err(CallError::NotOpencode);
    }
    let bytes = response.bytes().await.map_err(|error| transport(&error))?;
    serde_json::from_slice(&bytes).map_err(|_| CallError::NotOpencode)
}

fn is_html(response: &reqwest::Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/html"))
}

fn transport(error: &reqwest::Error) -> CallError {
    if error.is_connect() {
        CallError::NoConnection(sentence(error))
    } else {
        CallError::Broken(sentence(error))
    }
}

/// Says what a transport error means, without the address, which the caller names.
fn sentence(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn within(path: &str, directory: &str) -> String {
    format!("{path}?directory={}", encode(directory))
}

/// Percent-encodes everything but the unreserved characters.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Reply};
    use super::*;

    #[test]
    fn a_directory_is_encoded() {
        assert_eq!(within("/agent", "/srv/a b&c"), "/agent?directory=%2Fsrv%2Fa%20b%26c");
    }

    /// Some looked for the word, others for the session: a stop took an idle one for busy.
    #[tokio::test]
    async fn a_session_that_is_listed_as_idle_is_as_one_that_is_not_listed() {
        let listed = json!({ "ses_1": { "type": "idle" }, "ses_2": { "type": "busy" } });
        let fake = Fake::start("/", move |_| Some(Reply::Json(listed.clone()))).await;
        let client = Client::new(http(false).expect("made"), &fake.url, "u", None);
        let statuses = client.statuses("/").await.expect("answered");
        let busy: Vec<&str> = statuses.keys().map(String::as_str).collect();
        assert_eq!(busy, ["ses_2"], "whoever asks whether a session is listed means busy");
    }

    #[test]
    fn a_client_never_shows_its_password() {
        let client =
            Client::new(http(false).expect("made"), "http://127.0.0.1:1/", "u", Some("secret"));
        let shown = format!("{client:?}");
        assert!(!shown.contains("secret") && !shown.contains("Basic"), "{shown}");
    }
}
