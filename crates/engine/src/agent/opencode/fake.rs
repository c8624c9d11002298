//! A server that answers like OpenCode, for tests of what the real one does only by bad luck.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a request is answered with.
pub(crate) enum Reply {
    Json(Value),
    /// Accepted, without a body.
    Empty,
    Html,
    Status(u16, Value),
    /// An event stream on which nothing happens.
    Stream,
    /// The connection stays open and nothing comes.
    Silence,
    /// The connection is closed after the request was read.
    Hangup,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
}

type Answer = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    /// Starts a server for the folder `directory`. `answer` goes before the plain answers of an
    /// OpenCode on which every session ended well.
    pub(crate) async fn start(
        directory: &str,
        answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Answer> = Arc::new(answer);
        let (log, directory) = (Arc::clone(&seen), directory.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                let directory = directory.clone();
                tokio::spawn(async move { serve(stream, &log, &*answer, &directory).await });
            }
        });
        Fake { url, seen, task }
    }

    /// Returns the requests that change something, in their order.
    pub(crate) fn changes(&self) -> Vec<Request> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|request| request.method != "GET").cloned().collect()
    }
}

async fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<Request>>,
    answer: &Answer,
    directory: &str,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if header.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let path = target.split('?').next()?.to_owned();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request { method, path, body };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    let reply = answer(&request).unwrap_or_else(|| plain(&request, directory));
    let (status, kind, text) = match reply {
        Reply::Json(value) => (200, "application/json", value.to_string()),
        Reply::Empty => (204, "application/json", String::new()),
        Reply::Html => (200, "text/html", "<!doctype html>".to_owned()),
        Reply::Status(status, value) => (status, "application/json", value.to_string()),
        Reply::Stream => {
            let text = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n\
                data: {\"type\":\"server.connected\",\"properties\":{}}\n\n";
            stream.write_all(text.as_bytes()).await.ok()?;
            return std::future::pending().await;
        }
        Reply::Silence => return std::future::pending().await,
        Reply::Hangup => return None,
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(format!("{head}{text}").as_bytes()).await.ok()
}

/// What an OpenCode answers on which every session ended well.
fn plain(request: &Request, directory: &str) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        (_, "/global/health") => Reply::Json(json!({ "healthy": true, "version": "1.18.33" })),
        (_, "/config/providers") => Reply::Json(json!({
            "providers": [{ "id": "stub", "models": { "ok": {} }, "options": { "apiKey": "k" } }],
        })),
        (_, "/agent") => Reply::Json(json!([{ "name": "build", "mode": "primary" }])),
        (_, "/command") => Reply::Json(json!([{ "name": "hello", "template": "Hello $1" }])),
        (_, "/session/status") => Reply::Json(json!({})),
        ("POST", "/session") => Reply::Json(json!({ "id": "ses_1", "directory": directory })),
        (_, "/permission" | "/question") => Reply::Json(json!([])),
        ("GET", "/session/ses_1") => {
            Reply::Json(json!({ "id": "ses_1", "cost": 1.0, "tokens": { "input": 5 } }))
        }
        ("GET", "/session/ses_1/children") => {
            Reply::Json(json!([{ "id": "ses_2", "cost": 0.5, "tokens": { "output": 7 } }]))
        }
        ("GET", "/session/ses_2/children") => Reply::Json(json!([])),
        ("GET", "/session/ses_1/message") => Reply::Json(messages(&["user", "assistant"])),
        (_, path) if path.ends_with("/prompt_async") => Reply::Empty,
        (_, "/event") => Reply::Stream,
        _ => Reply::Html,
    }
}

/// Makes a session's messages: each assistant's is a good answer, `unfinished` one that grows.
pub(crate) fn messages(roles: &[&str]) -> Value {
    let message = |(n, role): (usize, &&str)| match *role {
        "user" => json!({ "info": { "id": format!("msg_{n}"), "role": "user" } }),
        "unfinished" => json!({ "info": { "id": format!("msg_{n}"), "role": "assistant" } }),
        _ => json!({
            "info": { "id": format!("msg_{n}"), "role": "assistant", "finish": "stop", "time": { "completed": 5000 } },
            "parts": [{ "type": "text", "text": "Done." }],
        }),
    };
    Value::Array(roles.iter().enumerate().map(message).collect())
}
