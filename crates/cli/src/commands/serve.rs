//! `serve`: the scheduler, the REST interface and the page, in the foreground.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome, UNREACHABLE, USAGE};
use crate::http;
use crate::output::{Ink, many};
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::event::{Event, EventKind};
use loopkeeper_server::{Bound, ServeError, ServeOptions, bind, serve};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The address to listen on [default: settings, else 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The port; 0 takes a free one [default: settings, else 4117]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Allow an address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let settings = context.settings()?;
    let options = ServeOptions {
        host: args.host.unwrap_or_else(|| settings.server.host.clone()),
        port: args.port.unwrap_or(settings.server.port),
        allow_remote: args.allow_remote,
        names: vec![context.environment.machine.host_name.clone()],
        token_file: context.paths.own().join("token"),
    };
    // Before anything is started: a taken port must not leave a scheduler behind.
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let bound = match bind(&options, clock).await {
        Ok(bound) => bound,
        Err(error) => return Err(refusal(error).await),
    };
    let engine = context.open_with(settings, true).await?;
    let events = engine.events().subscribe();
    engine.start().await?;
    let note = note_address(context, &bound);
    greet(context, &engine).await?;
    let link = bound.link().map_err(|error| Failure::new(FAILED, error.to_string()))?;
    if context.out.json {
        context.out.row(&json!({ "event": "listening", "url": bound.url(), "link": link }));
    } else {
        context.out.line(format!("page:    {link}"));
        context.out.line(
            "         (opens once, within 10 min; `loopkeeper open` makes a new link; Ctrl-C ends)",
        );
    }
    if args.open {
        super::open::browse(&link);
    }
    let told = tokio::spawn(tell(context.clone(), engine.clone(), events));
    serve(engine.clone(), bound, ended()).await;
    context
        .out
        .note("ending: no new runs; sessions that go on are followed by whoever is there next");
    engine.stop().await;
    told.abort();
    if let Some(note) = note {
        let _ = std::fs::remove_file(note);
    }
    Ok(DONE)
}

async fn refusal(error: ServeError) -> Failure {
    match error {
        ServeError::Taken { address } => {
            let who = http::who(address).await;
            Failure::new(UNREACHABLE, format!("{address} is taken: {who}"))
                .help("use that one, or take a free port: loopkeeper serve --port 0")
        }
        ServeError::Remote { .. } => Failure::new(USAGE, error.to_string()),
        ServeError::Guard(_) => Failure::new(UNREACHABLE, error.to_string())
            .help("give yourself write permission there, or name another data folder: --data-dir"),
        ServeError::Listen { .. } => Failure::new(UNREACHABLE, error.to_string()),
    }
}

/// Notes where this server listens, for `open`; best effort.
fn note_address(context: &Context, bound: &Bound) -> Option<PathBuf> {
    let folder = context.paths.own().join("run");
    let pid = std::process::id();
    let file = folder.join(format!("serve-{pid}.json"));
    let text = json!({ "pid": pid, "address": bound.address().to_string(), "url": bound.url() });
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::write(&file, text.to_string()).ok()?;
    Some(file)
}

async fn greet(context: &Context, engine: &Engine) -> Result<(), Failure> {
    let out = &context.out;
    let (overview, projects) = (engine.overview().await?, engine.projects().await?);
    if out.json {
        out.row(&json!({ "event": "started", "data": context.paths.data, "projects": projects, "next": overview.next }));
        return Ok(());
    }
    out.line(format!("data:    {}", context.paths.data.display()));
    if projects.is_empty() {
        out.line("project: none yet; add one: loopkeeper projects add DIR");
    }
    for project in &projects {
        let what = format!("{}, {} enabled", many(project.tasks, "task"), project.enabled);
        out.line(format!("project: {}  {}  ({what})", project.label, project.path));
        for problem in &project.problems {
            out.line(format!("         {}", out.ink(Ink::Bad, problem)));
        }
    }
    if let Some(pause) = &overview.paused {
        out.line(format!("pause:   {}", out.ink(Ink::Warn, &out.pause(pause))));
    }
    match &overview.next {
        Some(next) => {
            let when = out.coming(next.at, overview.now, overview.paused.as_ref());
            out.line(format!("next:    {}  {when}", next.name));
        }
        None => out.line("next:    nothing is armed"),
    }
    for warning in &overview.warnings {
        out.line(format!("warning: {}", out.ink(Ink::Warn, warning)));
    }
    Ok(())
}

/// Prints each run as it ends, and what waits for a person.
async fn tell(context: Context, engine: Engine, mut events: Receiver<Event>) {
    let mut troubles = super::watch::Troubles::default();
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            // What was overrun stands in the history.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        if !context.out.json && !troubles.are_news(&event) {
            continue;
        }
        let ends_only = matches!(event.kind, EventKind::RunChanged);
        let lines = super::watch::told(&context, &engine, &event, ends_only).await;
        let out = context.out.clone();
        // A terminal that stands still (Ctrl-S) holds up what is printed, not the scheduler.
        let printed = tokio::task::spawn_blocking(move || lines.iter().for_each(|l| out.told(l)));
        if printed.await.is_err() {
            return;
        }
    }
}

/// Waits for Ctrl-C, or for the system to ask for the end.
pub async fn ended() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut hang_up)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            let _ = tokio::signal::ctrl_c().await;
            return;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = hang_up.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}
