//! Notifications and start at login by Tauri's plugins, where these know the system well enough.

use super::OnClick;
use crate::environment::Environment;
use crate::notes::Note;
use crate::tray::menu::Action;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tauri::AppHandle;
use tauri_plugin_autostart::ManagerExt as _;
use tauri_plugin_notification::{self as plugin, ActionType, NotificationExt as _};

/// How many notifications can still be clicked; nobody tells when one has gone.
const CLICKABLE: usize = 50;

/// The notifications that were shown, by the plugin's number.
type Shown = Arc<Mutex<BTreeMap<i32, Note>>>;

/// Shows notifications, with buttons.
#[derive(Clone)]
pub struct Notifier {
    app: AppHandle,
    shown: Shown,
    count: Arc<AtomicI32>,
}

impl Notifier {
    /// Makes one that reports clicks.
    pub fn start(app: AppHandle, on_click: OnClick) -> Notifier {
        let shown = Shown::default();
        let known = Arc::clone(&shown);
        let listens = app.notification().on_action(move |clicked| {
            let Some(number) = clicked.notification().map(|note| note.id()) else { return };
            let mut shown = known.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(note) = shown.remove(&number) else { return };
            let action = match clicked.action_id() {
                "tap" => Some(Action::Open(Some(note.place))),
                key => note.buttons.into_iter().find(|(label, _)| label == key).map(|(_, a)| a),
            };
            drop(shown);
            if let Some(action) = action {
                on_click(action);
            }
        });
        if let Err(error) = listens {
            tracing::debug!(%error, "notifications tell no clicks");
        }
        Notifier { app, shown, count: Arc::default() }
    }

    /// Shows a notification.
    ///
    /// # Errors
    /// What the system answered.
    pub fn show(&self, note: &Note) -> Result<(), String> {
        let number = {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            shown.insert(number, note.clone());
            while shown.len() > CLICKABLE {
                shown.pop_first();
            }
            number
        };
        self.notify(number, note).map_err(|error| error.to_string())
    }

    fn notify(&self, number: i32, note: &Note) -> plugin::Result<()> {
        let notifications = self.app.notification();
        let labels: Vec<&str> = note.buttons.iter().map(|(label, _)| label.as_str()).collect();
        let kind = labels.join("/");
        let buttons = labels.iter().map(|label| plugin::Action::builder(*label, *label).build());
        let buttons = ActionType::builder(&kind).actions(buttons.collect()).build();
        notifications.register_action_types(vec![buttons])?;
        let builder = notifications.builder().id(number).title(&note.title).body(&note.body);
        builder.action_type_id(kind).show()
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
