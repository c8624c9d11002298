//! `open`: a fresh one-time link to the page of the running server.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome, UNREACHABLE};
use crate::http;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let file = context.paths.own().join("token");
    let none = || {
        Failure::new(UNREACHABLE, format!("no server runs on {}", context.paths.data.display()))
            .help("start one: loopkeeper serve --open")
    };
    let token = std::fs::read_to_string(&file).map_err(|_| none())?;
    for address in addresses(context) {
        let Some(reply) = http::ask("POST", address, "/api/link", Some(token.trim())).await else {
            continue;
        };
        let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        let Some(url) = body["url"].as_str().filter(|_| reply.status == 200) else { continue };
        if context.out.json {
            context.out.value(&json!({ "url": url }));
        } else {
            context.out.line(url);
        }
        if !args.print && !context.out.json && context.environment.machine.has_screen {
            browse(url);
        }
        return Ok(DONE);
    }
    Err(none())
}

/// Returns where a server may listen: what servers noted, then what the settings say.
fn addresses(context: &Context) -> Vec<SocketAddr> {
    let notes = std::fs::read_dir(context.paths.own().join("run")).into_iter().flatten().flatten();
    let mut found: Vec<SocketAddr> = notes
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("serve-"))
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).ok()?;
            let note: Value = serde_json::from_str(&text).ok()?;
            let address: SocketAddr = note["address"].as_str()?.parse().ok()?;
            Some(reachable(address))
        })
        .collect();
    if let Ok(settings) = context.settings()
        && let Ok(ip) = settings.server.host.parse()
    {
        found.push(reachable(SocketAddr::new(ip, settings.server.port)));
    }
    found
}

/// An address that stands for all of them is asked on loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Opens a link in the user's browser; best effort.
pub fn browse(url: &str) {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        Command::new("explorer")
    } else {
        Command::new("xdg-open")
    };
    let quiet = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if quiet.spawn().is_err() {
        tracing::warn!("no browser could be opened; use the link");
    }
}
