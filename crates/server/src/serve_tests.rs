//! The socket, with a router that needs no engine.

use super::*;
use axum::routing::get;
use loopkeeper_engine::clock::SystemClock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

struct Running {
    address: SocketAddr,
    token: String,
    end: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

async fn start() -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let token_file = folder.path().join("token");
    let options = ServeOptions {
        host: "127.0.0.1".into(),
        port: 0,
        allow_remote: false,
        names: Vec::new(),
        token_file: token_file.clone(),
    };
    let bound = bind(&options, Arc::new(SystemClock)).await.expect("a free port");
    let address = bound.address();
    let token = std::fs::read_to_string(token_file).expect("the token");
    let api = Router::new().route("/api/ping", get(async || "pong")).route(
        "/api/stream",
        get(async || {
            Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>())
        }),
    );
    let (end, ended) = oneshot::channel();
    let server = tokio::spawn(serve_router(api, bound, async move {
        let _ = ended.await;
    }));
    Running { address, token, end, server, _folder: folder }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    async fn ask(&self, line: &str, headers: &str) -> String {
        let mut stream = self.connect().await;
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answered");
        answer
    }

    fn bearer(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.token)
    }
}

#[tokio::test]
async fn every_answer_is_guarded_and_hardened() {
    let running = start().await;
    let bearer = running.bearer();
    let refused = running.ask("GET /api/ping", "").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let passed = running.ask("GET /api/ping", &bearer).await;
    assert!(passed.starts_with("HTTP/1.1 200") && passed.ends_with("pong"), "{passed}");
    for header in
        ["server: loopkeeper/", "cache-control: no-store", "x-content-type-options: nosniff"]
    {
        assert!(passed.contains(header) && refused.contains(header), "{header} is on every answer");
    }
    let unknown = running.ask("GET /api/nothing", &bearer).await;
    assert!(
        unknown.starts_with("HTTP/1.1 404") && unknown.contains("\"code\":\"not_found\""),
        "{unknown}"
    );
    let page = running.ask("GET /tasks", &bearer).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy"), "{page}");
}

#[tokio::test]
async fn whoever_holds_the_token_gets_links_that_work_once() {
    let running = start().await;
    let answer = running.ask("POST /api/link", &running.bearer()).await;
    let code = answer.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = format!("GET /?code={}", code.expect("a code"));
    assert!(running.ask(&link, "").await.starts_with("HTTP/1.1 303"), "it opens the page");
    assert!(running.ask(&link, "").await.starts_with("HTTP/1.1 401"), "once");
    assert!(
        running.ask("POST /api/link", "").await.starts_with("HTTP/1.1 401"),
        "and only with the token"
    );
}

#[tokio::test]
async fn what_a_client_may_cost_is_bounded() {
    let running = start().await;
    let bearer = running.bearer();
    let long = format!("{bearer}content-length: 1048577\r\n");
    let refused = running.ask("POST /api/ping", &long).await;
    assert!(refused.starts_with("HTTP/1.1 413"), "refused before it is sent: {refused}");
    let wide = format!("x-wide: {}\r\n", "x".repeat(4 * HEAD_LIMIT));
    let mut stream = running.connect().await;
    let host = running.address;
    let head = format!("GET /api/ping HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{wide}\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn the_end_does_not_wait_for_streams() {
    let running = start().await;
    let mut streams = Vec::new();
    for _ in 0..500 {
        let mut stream = running.connect().await;
        let request = format!(
            "GET /api/stream HTTP/1.1\r\nhost: {}\r\n{}\r\n",
            running.address,
            running.bearer()
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.expect("the head");
        assert_eq!(&first, b"HTTP/1.1 200 OK", "500 streams at once are served");
        streams.push(stream);
    }
    assert!(
        running.ask("GET /api/ping", &running.bearer()).await.ends_with("pong"),
        "beside them others"
    );
    running.end.send(()).expect("it runs");
    running.server.await.expect("it ends though streams are open");
}

#[tokio::test]
async fn a_taken_port_and_a_remote_address_are_refused() {
    let running = start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let options = |host: &str, port| ServeOptions {
        host: host.into(),
        port,
        allow_remote: false,
        names: Vec::new(),
        token_file: folder.path().join("token"),
    };
    let taken = bind(&options("127.0.0.1", running.address.port()), Arc::new(SystemClock)).await;
    assert!(matches!(taken, Err(ServeError::Taken { .. })), "{taken:?}");
    let remote = bind(&options("0.0.0.0", 0), Arc::new(SystemClock)).await;
    assert!(matches!(remote, Err(ServeError::Remote { .. })), "{remote:?}");
    assert!(!folder.path().join("token").exists(), "a refusal leaves nothing behind");
}
