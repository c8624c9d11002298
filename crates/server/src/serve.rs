//! The router on a socket: guarded, with the page, and bounded in what a client may cost.

use crate::SERVER_NAME;
use crate::error::ApiError;
use crate::extract::{BODY_LIMIT, too_large};
use crate::guard::{Guard, GuardError, Verdict};
use crate::routes::{self, no_store};
use crate::{page, router};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use loopkeeper_engine::clock::Clock;
use loopkeeper_engine::engine::Engine;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How long a client may take to send the head of a request, and how long it may sit idle.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// The largest head, in bytes.
const HEAD_LIMIT: usize = 32 * 1024;
/// How many header lines a head may have.
const HEAD_LINES: usize = 100;
/// How many connections are served at once; further ones wait.
const CONNECTIONS: usize = 1_024;
/// How long open answers may go on after the end was asked for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Where to listen.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The host name or address.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Whether an address beyond loopback is allowed.
    pub allow_remote: bool,
    /// Host names, beside `localhost`, that browsers may call it by.
    pub names: Vec<String>,
    /// The token's file, made when missing.
    pub token_file: PathBuf,
}

/// Why it does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address reaches beyond this machine.
    #[error(
        "{host} can be reached from other machines, over plain HTTP; if that is meant, say \
         --allow-remote (an SSH tunnel to 127.0.0.1 is safer)"
    )]
    Remote {
        /// What was asked for.
        host: String,
    },
    /// Somebody else has the port.
    #[error("{address} is taken")]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The name means nothing, or the system refuses.
    #[error("cannot listen on {host}:{port}: {source}")]
    Listen {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// There is no guard, so nothing is served.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// A listener with its guard, before anything is answered.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
}

impl Bound {
    /// Returns the address that is listened on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the page's address, without a code.
    pub fn url(&self) -> String {
        let ip = self.address.ip();
        let address = if ip.is_unspecified() {
            let loopback: std::net::IpAddr = match ip {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            };
            SocketAddr::new(loopback, self.address.port())
        } else {
            self.address
        };
        format!("http://{address}/")
    }

    /// Returns a link to the page that works once, within 10 min.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn link(&self) -> Result<String, GuardError> {
        Ok(format!("{}?code={}", self.url(), self.guard.code()?))
    }
}

/// Listens, so that a taken port is known before anything is started.
///
/// # Errors
/// The address is taken, not ours, or beyond loopback without leave; or there is no token.
pub async fn bind(options: &ServeOptions, clock: Arc<dyn Clock>) -> Result<Bound, ServeError> {
    let (host, port) = (options.host.clone(), options.port);
    let fault = |source| ServeError::Listen { host: host.clone(), port, source };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut addresses = tokio::net::lookup_host((bare, port)).await.map_err(fault)?;
    let address = addresses.next().ok_or_else(|| {
        fault(std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address"))
    })?;
    if !address.ip().is_loopback() && !options.allow_remote {
        return Err(ServeError::Remote { host: host.clone() });
    }
    let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => ServeError::Taken { address },
        _ => fault(source),
    })?;
    let address = listener.local_addr().map_err(fault)?;
    let mut names = options.names.clone();
    names.push(host.to_ascii_lowercase());
    let guard = Guard::new(&options.token_file, address, names, clock)?;
    Ok(Bound { listener, address, guard: Arc::new(guard) })
}

/// Serves an engine until `end` is there; streams are cut then, answers get half a second.
pub async fn serve(engine: Engine, bound: Bound, end: impl Future<Output = ()> + Send) {
    serve_router(router(engine), bound, end).await;
}

async fn serve_router(api: Router, bound: Bound, end: impl Future<Output = ()> + Send) {
    let app = guarded(api, bound.guard.clone());
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut end = std::pin::pin!(end);
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = accept(&bound.listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (app, stopping) = (app.clone(), stopping.clone());
        connections.spawn(async move {
            converse(stream, app, stopping).await;
            drop(place);
        });
    }
    let _ = stop.send(true);
    let all_done = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_WORDS, all_done).await;
    connections.abort_all();
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            // Out of file descriptors, or the client is gone already: later ones may do better.
            tracing::warn!(%error, "a connection could not be taken");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn converse(stream: TcpStream, app: Router, mut stopping: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_LIMIT)
        .max_headers(HEAD_LINES);
    let service = TowerToHyperService::new(app);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection broke off");
            }
            return;
        }
        _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Wraps the API into what a socket needs: the guard first, then limits, page and headers.
fn guarded(api: Router, guard: Arc<Guard>) -> Router {
    api.fallback(page_or_unknown).layer(axum::middleware::from_fn(
        move |request: Request, next: Next| {
            let guard = guard.clone();
            async move {
                let response = match guard.judge(&request) {
                    Verdict::Answer(response) => *response,
                    Verdict::Pass if is_too_large(&request) => too_large().into_response(),
                    Verdict::Pass if request.uri().path() == "/api/link" => link(&request, &guard),
                    Verdict::Pass => next.run(request).await,
                };
                no_store(hardened(response)).await
            }
        },
    ))
}

async fn page_or_unknown(request: Request<Body>) -> Response {
    let path = request.uri().path();
    if path == "/api" || path.starts_with("/api/") {
        return routes::unknown(request.uri().clone()).await;
    }
    page::answer(&request)
}

/// Gives a new one-time link to whoever holds the token: `loopkeeper open` asks for it.
fn link(request: &Request, guard: &Guard) -> Response {
    if request.method() != Method::POST {
        let error = ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "/api/link answers POST",
        );
        return error.into_response();
    }
    match guard.code() {
        Ok(code) => {
            let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
            let url = format!("http://{}/?code={code}", host.unwrap_or_default());
            Json(serde_json::json!({ "url": url, "code": code })).into_response()
        }
        Err(error) => {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
                .into_response()
        }
    }
}

fn is_too_large(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > BODY_LIMIT as u64)
}

fn hardened(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::SERVER, SERVER_NAME),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
