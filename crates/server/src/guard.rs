//! Who may ask over a socket.
//!
//! The attack: a web page anywhere makes the user's browser ask `127.0.0.1` (a cross-site post), or
//! has its own name resolve there (DNS rebinding) and reads the answers too. Three checks stop it:
//! the `Host` must be an address of ours or a name that we go by, an `Origin` must be that very
//! host, and every request needs the token of the data folder: as `Authorization: Bearer` from
//! programs, as a cookie from the page. The page gets its cookie for a one-time code in the link
//! that `serve` prints, so that nothing in a shell's or browser's history opens anything later.

use crate::error::ApiError;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use loopkeeper_engine::clock::Clock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use subtle::ConstantTimeEq;

/// How long a one-time code can be used, in awake time.
const CODE_LIFE: Duration = Duration::from_secs(600);
/// How many unused codes are kept; the oldest go first.
const CODES: usize = 32;
/// How long the page's cookie lasts, in seconds.
const COOKIE_LIFE: u32 = 30 * 24 * 3_600;

/// Why there is no guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The token file cannot be read or written.
    #[error("{path}: the token cannot be {what}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The token file holds something else.
    #[error("{path} does not hold a token; remove it, and a new one is made")]
    Content {
        /// The file.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// Decides who may ask.
#[derive(Debug)]
pub struct Guard {
    token: Token,
    address: SocketAddr,
    names: Vec<String>,
    clock: Arc<dyn Clock>,
    codes: Mutex<HashMap<String, Duration>>,
}

/// The token; never printed.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What the guard says to a request.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Let it through.
    Pass,
    /// Answer it so, and go no further.
    Answer(Box<Response>),
}

impl Guard {
    /// Makes the guard of a listener on `address`, with the token in `token_file` (made when
    /// missing, mode 0600). `names` are host names that it may be called by beside `localhost`;
    /// literal addresses need none, since no name server can forge them.
    ///
    /// # Errors
    /// The token cannot be read, written or made.
    pub fn new(
        token_file: &Path,
        address: SocketAddr,
        names: Vec<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Guard, GuardError> {
        let token = Token(read_or_make(token_file)?);
        Ok(Guard { token, address, names, clock, codes: Mutex::default() })
    }

    /// Makes a one-time code for a link, valid for 10 min.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn code(&self) -> Result<String, GuardError> {
        let code = random()?;
        let now = self.clock.awake();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, made| now.saturating_sub(*made) <= CODE_LIFE);
        while codes.len() >= CODES {
            let Some(oldest) =
                codes.iter().min_by_key(|(_, made)| **made).map(|(code, _)| code.clone())
            else {
                break;
            };
            codes.remove(&oldest);
        }
        codes.insert(fingerprint(&code), now);
        Ok(code)
    }

    /// Takes a code; it works once.
    fn take(&self, code: &str) -> bool {
        let now = self.clock.awake();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked up by fingerprint, so that the time it takes says nothing about the code.
        let made = codes.remove(&fingerprint(code));
        made.is_some_and(|made| now.saturating_sub(made) <= CODE_LIFE)
    }

    /// Decides about a request.
    pub(crate) fn judge<B>(&self, request: &Request<B>) -> Verdict {
        let headers = request.headers();
        let Some(host) = self.host(request.uri(), headers) else {
            return refuse(
                ApiError::new(StatusCode::FORBIDDEN, "forbidden", "this host name is not ours")
                    .hint("use the address that `loopkeeper open` shows"),
            );
        };
        if let Some(origin) = headers.get(header::ORIGIN)
            && !is_own_origin(origin, &host)
        {
            return refuse(ApiError::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                "requests of other sites are not answered",
            ));
        }
        if *request.method() == Method::GET
            && request.uri().path() == "/"
            && let Some(code) = query_value(request.uri(), "code")
        {
            return if self.take(&code) { self.welcome() } else { used_up() };
        }
        if self.knows(headers) {
            return Verdict::Pass;
        }
        if request.uri().path().starts_with("/api") {
            let error = ApiError::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "the token is missing or wrong",
            )
            .hint(
                "send Authorization: Bearer with the content of the data folder's loopkeeper/token",
            );
            let mut response = error.into_response();
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Verdict::Answer(Box::new(response));
        }
        Verdict::Answer(Box::new(notice(
            StatusCode::UNAUTHORIZED,
            "This page needs a link: run <code>loopkeeper open</code>.",
        )))
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        if bearer.is_some_and(|token| same(token, &self.token.0)) {
            return true;
        }
        let (name, value) = (self.cookie_name(), self.cookie_value());
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|header| header.to_str().ok())
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(pair, given)| pair == name && same(given, &value))
    }

    /// Cookies are shared by all ports of a host: the name keeps two servers apart.
    fn cookie_name(&self) -> String {
        format!("loopkeeper_{}", self.address.port())
    }

    /// Derived from the token: it survives a restart, and a new token ends it.
    fn cookie_value(&self) -> String {
        fingerprint(&format!("loopkeeper page cookie\n{}", self.token.0))
    }

    fn welcome(&self) -> Verdict {
        let cookie = format!(
            "{}={}; Path=/; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict",
            self.cookie_name(),
            self.cookie_value()
        );
        let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)];
        Verdict::Answer(Box::new((StatusCode::SEE_OTHER, headers).into_response()))
    }

    /// Returns the host that was asked for, when it is ours: `name[:port]` in lower case.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?.to_ascii_lowercase();
        if hosts.next().is_some() {
            return None;
        }
        // A request line may name a host of its own, which then goes before the header.
        if let Some(authority) = uri.authority()
            && !authority.as_str().eq_ignore_ascii_case(&host)
        {
            return None;
        }
        let (name, port) = split_port(&host)?;
        if port.unwrap_or(80) != self.address.port() {
            return None;
        }
        let known = match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => {
                name == "localhost" || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            }
        };
        known.then_some(host)
    }
}

fn split_port(host: &str) -> Option<(&str, Option<u16>)> {
    let after_bracket = host.rfind(']').map_or(0, |at| at + 1);
    match host[after_bracket..].find(':') {
        None => Some((host, None)),
        Some(at) => {
            let at = after_bracket + at;
            host[at + 1..].parse().ok().map(|port| (&host[..at], Some(port)))
        }
    }
}

fn is_own_origin(origin: &HeaderValue, host: &str) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    origin.strip_prefix("http://").is_some_and(|rest| {
        let rest = rest.to_ascii_lowercase();
        rest == host || rest == host.strip_suffix(":80").unwrap_or(host)
    })
}

fn query_value(uri: &Uri, name: &str) -> Option<String> {
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next()
}

fn refuse(error: ApiError) -> Verdict {
    Verdict::Answer(Box::new(error.into_response()))
}

fn used_up() -> Verdict {
    Verdict::Answer(Box::new(notice(
        StatusCode::UNAUTHORIZED,
        "This link was used before, or is older than 10 minutes. Run <code>loopkeeper open</code> for a new one.",
    )))
}

/// A small page without scripts.
fn notice(status: StatusCode, text: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Loopkeeper</title><p>{text}</p></html>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, headers, html).into_response()
}

/// Compares without telling by its time where two texts differ.
fn same(given: &str, kept: &str) -> bool {
    given.as_bytes().ct_eq(kept.as_bytes()).into()
}

fn fingerprint(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random() -> Result<String, GuardError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| GuardError::Random(error.to_string()))?;
    Ok(hex(&bytes))
}

/// Reads the token, or makes one. Two processes that make one at once end with the same: it is
/// written aside and linked into its place, where only the first can be.
fn read_or_make(path: &Path) -> Result<String, GuardError> {
    let fault = |what| {
        let path = path.to_owned();
        move |source| GuardError::File { path, what, source }
    };
    if !path.exists() {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(fault("written"))?;
        let aside = folder.join(format!(".token.{}", &random()?[..16]));
        let made = write_private(&aside, &random()?).and_then(|()| {
            match std::fs::hard_link(&aside, path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    // No hard links here (FAT, some network folders).
                    std::fs::rename(&aside, path)
                }
                _ => Ok(()),
            }
        });
        let _ = std::fs::remove_file(&aside);
        made.map_err(fault("written"))?;
    }
    let text = std::fs::read_to_string(path).map_err(fault("read"))?;
    let token = text.trim();
    if token.len() < 32 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(GuardError::Content { path: path.to_owned() });
    }
    close_to_others(path).map_err(fault("written"))?;
    Ok(token.to_owned())
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
