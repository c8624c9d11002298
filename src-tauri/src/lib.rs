//! The desktop program: a tray icon that stays, and a window that is built when it is opened.
//!
//! The engine runs in this process and knows nothing of either. Each module can be read alone:
//! [`arguments`] and [`environment`] say how it was started, [`desktop`] keeps tray and
//! notifications true, [`tray`] and [`notes`] say what they show, [`act`] does what is clicked,
//! [`commands`] is what the page may call, [`window`] the window, [`platform`] what differs between
//! systems. Deliberately absent: anything about tasks that the engine does not tell.

mod act;
mod arguments;
mod commands;
mod desktop;
mod environment;
mod notes;
mod place;
mod platform;
pub mod tray;
mod window;
mod words;

use arguments::Arguments;
use desktop::Desktop;
use environment::Environment;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tauri::{AppHandle, Manager, RunEvent};

/// How long a start at login waits for somebody who shows tray icons.
const TRAY_PATIENCE: Duration = Duration::from_secs(20);
/// What stands in the window when nobody came.
const NO_TRAY: &str = "Nobody shows tray icons in this session, so Loopkeeper opened its window. \
    Closing it leaves the scheduler running; `loopkeeper-desktop` opens it again.";

/// Runs the program as its arguments and the machine say, until it is quit.
pub fn run() -> ExitCode {
    environment::show_pages_on_every_driver();
    loopkeeper_engine::memory::keep_heap_small();
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("loopkeeper-desktop: {error}");
            return ExitCode::from(2);
        }
    };
    if arguments.help || arguments.version {
        if arguments.help {
            print!("{}", arguments::HELP);
        } else {
            println!("loopkeeper-desktop {}", env!("CARGO_PKG_VERSION"));
        }
        return ExitCode::SUCCESS;
    }
    let environment = match Environment::read(&arguments) {
        Ok(environment) => environment,
        Err(error) => {
            eprintln!("loopkeeper-desktop: {error}");
            return ExitCode::from(4);
        }
    };
    if !environment.machine.has_screen {
        eprintln!("loopkeeper-desktop: there is no screen; without one, use `loopkeeper serve`");
        return ExitCode::from(4);
    }
    log(&environment);
    match stay(arguments, environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loopkeeper-desktop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn log(environment: &Environment) {
    let filter = environment.machine.log.as_deref().unwrap_or("warn,zbus=error");
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

fn stay(arguments: Arguments, environment: Environment) -> tauri::Result<()> {
    // Each thread costs memory, and an engine waits most of its time.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let builder = tauri::Builder::default()
        .plugin(single_instance(&environment))
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::Builder::new().open_js_links_on_click(false).build());
    #[cfg(not(target_os = "linux"))]
    let builder = builder
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_autostart::Builder::new().arg("--hidden").build());
    let app = builder
        .invoke_handler(tauri::generate_handler![
            commands::api,
            commands::version,
            commands::pick_folder,
            commands::reveal,
            commands::open_file,
            commands::start_at_login,
            commands::set_start_at_login,
        ])
        .setup(move |app| {
            let desktop = Desktop::new(app.handle(), environment);
            app.manage(Arc::clone(&desktop));
            desktop.start();
            tauri::async_runtime::spawn(ended(Arc::clone(&desktop)));
            if arguments.hidden {
                tauri::async_runtime::spawn(show_without_tray(desktop));
            } else {
                desktop.open(arguments.open.as_ref());
            }
            Ok(())
        })
        .build(context())?;
    app.run(|_app, event| match event {
        // Closing the last window asks to exit without a code; only Quit gives one.
        RunEvent::ExitRequested { code: None, api, .. } => api.prevent_exit(),
        // The program's icon in the dock was clicked.
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => {
            if let Some(desktop) = desktop::of(_app) {
                desktop.open(None);
            }
        }
        _ => {}
    });
    Ok(())
}

/// Hands a second start's arguments to the first; one program for each data folder.
fn single_instance(environment: &Environment) -> tauri::plugin::TauriPlugin<tauri::Wry> {
    let builder = tauri_plugin_single_instance::Builder::new().callback(
        |app: &AppHandle, arguments: Vec<String>, _folder| {
            let Some(desktop) = desktop::of(app) else { return };
            match Arguments::parse(arguments.into_iter().skip(1)) {
                Ok(arguments) if arguments.hidden => {}
                Ok(arguments) => desktop.open(arguments.open.as_ref()),
                // What the other start's terminal was told there.
                Err(_) => desktop.open(None),
            }
        },
    );
    match environment.instance() {
        Some(name) => builder.dbus_id(name).build(),
        None => builder.build(),
    }
}

/// Opens the window after all when nobody shows the tray icon.
async fn show_without_tray(desktop: Arc<Desktop>) {
    let mut waited = Duration::ZERO;
    while waited < TRAY_PATIENCE {
        if tray_is_shown().await && desktop.warnings().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        waited += Duration::from_secs(2);
    }
    desktop.warn(NO_TRAY.to_owned());
    desktop.open(None);
    // It may still come, hours later.
    while !tray_is_shown().await {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    desktop.unwarn(NO_TRAY);
}

async fn tray_is_shown() -> bool {
    matches!(tokio::task::spawn_blocking(platform::tray_is_shown).await, Ok(true))
}

/// Ends with the session: the system asks by a signal.
async fn ended(desktop: Arc<Desktop>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut interrupt), Ok(mut hang_up)) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
            signal(SignalKind::hangup()),
        ) else {
            return;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
        desktop.quit(false).await;
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        desktop.quit(false).await;
    }
}

/// Holds what `tauri.conf.json` says, and the pages of `ui/dist`.
#[allow(
    clippy::disallowed_methods,
    reason = "the macro's own code ends the process where it cannot go on"
)]
fn context() -> tauri::Context {
    tauri::generate_context!()
}
