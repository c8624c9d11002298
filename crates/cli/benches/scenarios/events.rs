//! One event to 100 listeners.

use crate::figure::{Figure, percentile};
use crate::load::Load;
use crate::program::Program;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

const LISTENERS: usize = 100;
const TURNS: usize = 20;

pub fn run() {
    let load = Load::of(100);
    let program = Program::start(&load);
    let (address, token) = (program.address(), program.token());
    let before = program.resident();
    let (ready, listening) = channel();
    let (heard, hearing) = channel();
    for _ in 0..LISTENERS {
        let (address, token) = (address.clone(), token.clone());
        let (ready, heard) = (ready.clone(), heard.clone());
        std::thread::spawn(move || listen(&address, &token, &ready, &heard));
    }
    for _ in 0..LISTENERS {
        listening.recv_timeout(Duration::from_secs(30)).expect("it listens");
    }
    let mut first = Vec::new();
    let mut last = Vec::new();
    for turn in 0..TURNS {
        let began = Instant::now();
        let what = if turn % 2 == 0 { "POST" } else { "DELETE" };
        ask(&address, &token, what, "/api/pause");
        let mut times: Vec<f64> = (0..LISTENERS)
            .map(|_| hearing.recv_timeout(Duration::from_secs(30)).expect("it is told"))
            .map(|at: Instant| at.duration_since(began).as_secs_f64() * 1000.0)
            .collect();
        times.sort_by(f64::total_cmp);
        first.push(times[0]);
        last.push(percentile(&times, 100.0));
    }
    let words = format!("{LISTENERS} event streams, 100 tasks");
    let figure = |name, unit| Figure { name, unit, load: &words, goal: None };
    figure("request to the first that is told", "ms").print(&first);
    figure("request to the last that is told", "ms").print(&last);
    let each = (program.resident() - before) * 1024.0 / LISTENERS as f64;
    figure("memory of a listener", "kB").print(&[each]);
}

/// Listens until the program ends, and says when `paused` or `resumed` came.
fn listen(address: &str, token: &str, ready: &Sender<()>, heard: &Sender<Instant>) {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(
        stream,
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().expect("an answer").expect("text");
    assert!(status.contains(" 200 "), "{status}");
    ready.send(()).expect("heard");
    for line in lines.map_while(Result::ok) {
        let told = line.starts_with("data:")
            && (line.contains("\"paused\"") || line.contains("\"resumed\""));
        if told && heard.send(Instant::now()).is_err() {
            return;
        }
    }
}

/// Sends a request and waits for its answer.
pub fn ask(address: &str, token: &str, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    let body = if method == "POST" { "{}" } else { "" };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    assert!(text.starts_with("HTTP/1.1 2"), "{method} {path}: {text}");
    text
}
