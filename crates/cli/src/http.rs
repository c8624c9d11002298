//! A few words of HTTP with a server on this machine: enough to ask for a link, or who is there.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long anybody is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The `Server` header.
    pub server: Option<String>,
    /// The body.
    pub body: String,
}

/// Asks once; `None` when nobody answers, or not in HTTP.
pub async fn ask(
    method: &str,
    address: SocketAddr,
    path: &str,
    token: Option<&str>,
) -> Option<Reply> {
    tokio::time::timeout(PATIENCE, exchange(method, address, path, token)).await.ok()?
}

async fn exchange(
    method: &str,
    address: SocketAddr,
    path: &str,
    token: Option<&str>,
) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let token =
        token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n{token}\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer).await.ok()?;
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(answer: &str) -> Option<Reply> {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    first.next().filter(|version| version.starts_with("HTTP/"))?;
    let status = first.next()?.parse().ok()?;
    let server = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("server"));
    Some(Reply {
        status,
        server: server.map(|(_, value)| value.trim().to_owned()),
        body: body.to_owned(),
    })
}

/// Says in a few words who answers at an address.
pub async fn who(address: SocketAddr) -> String {
    if let Some(reply) = ask("GET", address, "/global/health", None).await {
        if let Some(server) = &reply.server {
            return if server.starts_with("loopkeeper/") {
                format!("another Loopkeeper ({server}) answers there")
            } else {
                format!("a web server ({server}) answers there")
            };
        }
        if reply.body.contains("\"healthy\"") {
            return "an OpenCode server answers there".to_owned();
        }
        return "a web server answers there".to_owned();
    }
    match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => "something that does not speak HTTP answers there".to_owned(),
        _ => "nobody answers there, but the port is held".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let reply = parse("HTTP/1.1 200 OK\r\nServer: loopkeeper/1\r\n\r\n{}").expect("HTTP");
        assert_eq!(
            reply,
            Reply { status: 200, server: Some("loopkeeper/1".into()), body: "{}".into() }
        );
        assert_eq!(parse("SSH-2.0-OpenSSH"), None, "another protocol");
    }

    #[tokio::test]
    async fn whoever_holds_a_port_is_named() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let server = tokio::spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.expect("asked");
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 401 Unauthorized\r\nserver: loopkeeper/0.1.0\r\n\r\n")
                    .await;
            }
        });
        assert_eq!(who(address).await, "another Loopkeeper (loopkeeper/0.1.0) answers there");
        server.abort();
    }
}
