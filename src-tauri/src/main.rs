//! The desktop program: a tray icon that stays, and a window that is built when it is opened.
//!
//! The window is destroyed when it is closed, so that a tray nobody looks at holds no web process.

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use tauri::menu::{MenuBuilder, MenuItemBuilder};
use tauri::tray::TrayIconBuilder;
use tauri::{AppHandle, Manager, RunEvent, WebviewUrl, WebviewWindowBuilder};

/// The label of the one window, as `capabilities/main.json` names it.
const WINDOW: &str = "main";

fn main() -> tauri::Result<()> {
    show_pages_on_every_driver();
    let open_at_start = std::env::args().any(|argument| argument == "--open");
    let app = tauri::Builder::default()
        .invoke_handler(tauri::generate_handler![version])
        .setup(move |app| {
            tray(app.handle())?;
            if open_at_start {
                open(app.handle())?;
            }
            Ok(())
        })
        .build(context())?;
    app.run(|_, event| {
        // Closing the last window asks to exit without a code; only Quit gives one.
        if let RunEvent::ExitRequested { code: None, api, .. } = event {
            api.prevent_exit();
        }
    });
    Ok(())
}

/// Holds what `tauri.conf.json` says, and the pages of `ui/dist`.
#[allow(
    clippy::disallowed_methods,
    reason = "the macro's own code ends the process where it cannot go on"
)]
fn context() -> tauri::Context {
    tauri::generate_context!()
}

/// Answers the version of this program.
#[tauri::command]
fn version(app: AppHandle) -> String {
    app.package_info().version.to_string()
}

/// Builds the tray icon. Its menu alone must be enough: on Linux a click on the icon tells nothing.
fn tray(app: &AppHandle) -> tauri::Result<()> {
    let menu = MenuBuilder::new(app)
        .item(&MenuItemBuilder::with_id("open", "Open Loopkeeper").build(app)?)
        .separator()
        .item(&MenuItemBuilder::with_id("quit", "Quit").build(app)?)
        .build()?;
    TrayIconBuilder::with_id("loopkeeper")
        .icon(tauri::include_image!("../icons/tray/armed-on-dark.png"))
        .tooltip("Loopkeeper")
        .menu(&menu)
        .on_menu_event(|app, event| match event.id().as_ref() {
            "open" => {
                if let Err(error) = open(app) {
                    eprintln!("the window could not be opened: {error}");
                }
            }
            "quit" => app.exit(0),
            _ => {}
        })
        .build(app)?;
    Ok(())
}

/// Brings the window to the front, building it when there is none.
fn open(app: &AppHandle) -> tauri::Result<()> {
    if let Some(window) = app.get_webview_window(WINDOW) {
        window.unminimize()?;
        window.show()?;
        return window.set_focus();
    }
    WebviewWindowBuilder::new(app, WINDOW, WebviewUrl::default())
        .title("Loopkeeper")
        .inner_size(1080.0, 720.0)
        .min_inner_size(640.0, 420.0)
        .build()?;
    Ok(())
}

/// Turns off the buffer sharing with which some Linux drivers show an empty window; a value that
/// the user has set stays.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "the desktop is where its environment is read")]
fn show_pages_on_every_driver() {
    const VARIABLE: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: called first in `main`, when there is no second thread that could read it.
        unsafe { std::env::set_var(VARIABLE, "1") };
    }
}

#[cfg(not(target_os = "linux"))]
fn show_pages_on_every_driver() {}
