//! What the page may call. One command carries every operation of the engine; the others are what
//! only a desktop can do.

use crate::desktop::{Desktop, Running};
use crate::platform;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tauri::{AppHandle, State};
use tauri_plugin_dialog::DialogExt as _;
use tauri_plugin_opener::OpenerExt as _;

/// What the routes answered.
#[derive(Debug, Serialize)]
pub struct Reply {
    status: u16,
    body: Value,
}

type Here<'a> = State<'a, Arc<Desktop>>;

/// Calls the engine by the same routes as over a socket; a new operation needs no new command.
#[tauri::command]
pub async fn api(
    desktop: Here<'_>,
    method: String,
    path: String,
    body: Option<Value>,
    if_match: Option<String>,
) -> Result<Reply, String> {
    tracing::debug!(method, path, "the page asks");
    let Some(Running { router, .. }) = desktop.running() else {
        let error = desktop.problem().unwrap_or_else(|| "Loopkeeper is starting".to_owned());
        let body = json!({ "error": error, "code": "unavailable" });
        return Ok(Reply { status: 503, body });
    };
    let (status, mut body) = loopkeeper_server::call_matching(
        &router,
        &method,
        &path,
        body.as_ref(),
        if_match.as_deref(),
    )
    .await;
    // What is wrong with the desktop itself stands beside what is wrong with the whole.
    if method == "GET"
        && path.split('?').next() == Some("/api/overview")
        && let Some(Value::Array(warnings)) = body.get_mut("warnings")
    {
        warnings.extend(desktop.warnings().into_iter().map(Value::String));
    }
    Ok(Reply { status: status.as_u16(), body })
}

/// Answers the version of this program.
#[tauri::command]
pub fn version(app: AppHandle) -> String {
    app.package_info().version.to_string()
}

/// Asks for a folder; `None` when nobody chose one.
#[tauri::command]
pub async fn pick_folder(app: AppHandle) -> Result<Option<String>, String> {
    let (told, hears) = tokio::sync::oneshot::channel();
    app.dialog().file().set_title("Add a project").pick_folder(move |folder| {
        let _ = told.send(folder);
    });
    let Some(folder) = hears.await.map_err(|error| error.to_string())? else { return Ok(None) };
    let folder = folder.into_path().map_err(|error| error.to_string())?;
    folder
        .into_os_string()
        .into_string()
        .map(Some)
        .map_err(|name| format!("{} is not written in Unicode", Path::new(&name).display()))
}

/// Shows a file in the system's file manager.
#[tauri::command]
pub async fn reveal(app: AppHandle, desktop: Here<'_>, path: String) -> Result<(), String> {
    let file = known(&desktop, &path).await?;
    app.opener().reveal_item_in_dir(file).map_err(|error| error.to_string())
}

/// Opens a file in the user's own editor.
#[tauri::command]
pub async fn open_file(app: AppHandle, desktop: Here<'_>, path: String) -> Result<(), String> {
    let file = known(&desktop, &path).await?;
    let file = file.to_str().ok_or("the path is not written in Unicode")?.to_owned();
    app.opener().open_path(file, None::<&str>).map_err(|error| error.to_string())
}

/// Says whether the program starts at login; `None` where that cannot be known.
#[tauri::command]
pub fn start_at_login(desktop: Here<'_>) -> Option<bool> {
    platform::starts_at_login(&desktop.app, &desktop.environment)
}

/// Makes the program start at login, or no longer.
#[tauri::command]
pub fn set_start_at_login(desktop: Here<'_>, on: bool) -> Result<(), String> {
    platform::set_start_at_login(&desktop.app, &desktop.environment, on)?;
    desktop.changed();
    Ok(())
}

/// Lets pass what the page may have opened: a loop file that the engine knows, the settings, and
/// Loopkeeper's own folder.
async fn known(desktop: &Desktop, path: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(path);
    let paths = &desktop.environment.paths;
    if file == paths.settings || file == paths.own() || file == paths.own().join("log") {
        return Ok(file);
    }
    let Some(Running { engine, .. }) = desktop.running() else {
        return Err("Loopkeeper is starting".to_owned());
    };
    engine.loop_file(path).await.map(|_| file).map_err(|error| error.to_string())
}
