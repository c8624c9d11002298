//! Notifications and start at login by Tauri's plugins, where these know the system well enough.

use super::OnClick;
use crate::environment::Environment;
use crate::notes::Note;
use tauri::AppHandle;
use tauri_plugin_autostart::ManagerExt as _;
use tauri_plugin_notification::NotificationExt as _;

/// Shows notifications; those of the plugin have no buttons here.
#[derive(Clone)]
pub struct Notifier {
    app: AppHandle,
}

impl Notifier {
    /// Makes one.
    pub fn start(app: AppHandle, _on_click: OnClick) -> Notifier {
        Notifier { app }
    }

    /// Shows a notification.
    ///
    /// # Errors
    /// What the system answered.
    pub fn show(&self, note: &Note) -> Result<(), String> {
        let builder = self.app.notification().builder().title(&note.title).body(&note.body);
        builder.show().map_err(|error| error.to_string())
    }
}

/// Says whether the program starts at login.
pub fn starts_at_login(app: &AppHandle, _environment: &Environment) -> Option<bool> {
    app.autolaunch().is_enabled().ok()
}

/// Makes the program start at login, or no longer.
///
/// # Errors
/// What the system answered.
pub fn set_start_at_login(
    app: &AppHandle,
    _environment: &Environment,
    on: bool,
) -> Result<(), String> {
    let login = app.autolaunch();
    if on { login.enable() } else { login.disable() }.map_err(|error| error.to_string())
}

/// Puts the path of a moved program right.
pub fn repair_start_at_login(app: &AppHandle, environment: &Environment) {
    if starts_at_login(app, environment) == Some(true) {
        let _ = set_start_at_login(app, environment, true);
    }
}
