//! Notifications over D-Bus, with buttons: `org.freedesktop.Notifications`.
//!
//! One connection, and one thread that listens for clicks. A daemon that starts late is found, since
//! each notification asks for it anew; one that is not there is an error that nobody needs to see,
//! because everything told stands under "needs you" too.

use super::super::OnClick;
use crate::notes::Note;
use crate::tray::menu::Action;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tauri::AppHandle;
use zbus::blocking::proxy::SignalIterator;
use zbus::blocking::{Connection, Proxy};
use zbus::zvariant::Value;

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// What the buttons of the notifications on screen do, by notification and button.
type Buttons = Arc<Mutex<HashMap<u32, HashMap<String, Action>>>>;

/// Shows notifications.
#[derive(Clone)]
pub struct Notifier {
    bus: Arc<Mutex<Option<Connection>>>,
    buttons: Buttons,
    on_click: OnClick,
}

impl Notifier {
    /// Makes one; the bus is asked when there is something to show.
    pub fn start(_app: AppHandle, on_click: OnClick) -> Notifier {
        Notifier { bus: Arc::default(), buttons: Arc::default(), on_click }
    }

    /// Shows a notification.
    ///
    /// # Errors
    /// There is no bus, or no daemon that shows notifications.
    pub fn show(&self, note: &Note) -> Result<(), String> {
        self.notify(note).map_err(|error| error.to_string())
    }

    fn notify(&self, note: &Note) -> zbus::Result<()> {
        let bus = self.connection()?;
        let proxy = Proxy::new(&bus, NAME, PATH, NAME)?;
        let can: Vec<String> = proxy.call("GetCapabilities", &())?;
        let has = |what: &str| can.iter().any(|can| can == what);
        let body = if has("body-markup") { escaped(&note.body) } else { note.body.clone() };
        let mut keys =
            HashMap::from([("default".to_owned(), Action::Open(Some(note.place.clone())))]);
        let mut actions = vec!["default".to_owned(), "Open".to_owned()];
        for (number, (label, action)) in note.buttons.iter().enumerate() {
            let key = format!("button-{number}");
            actions.extend([key.clone(), label.clone()]);
            keys.insert(key, action.clone());
        }
        if !has("actions") {
            actions.clear();
        }
        let urgency = Value::U8(if note.urgent { 2 } else { 1 });
        let hints = HashMap::from([
            ("urgency", urgency),
            ("desktop-entry", Value::from("Loopkeeper")),
            ("category", Value::from("x-loopkeeper")),
        ]);
        // Locked until the buttons are noted: a click may come before the answer is read.
        let mut buttons = self.buttons.lock().unwrap_or_else(PoisonError::into_inner);
        let id: u32 = proxy.call(
            "Notify",
            &("Loopkeeper", 0u32, "loopkeeper-desktop", &note.title, body, actions, hints, -1i32),
        )?;
        buttons.insert(id, keys);
        Ok(())
    }

    fn connection(&self) -> zbus::Result<Connection> {
        let mut known = self.bus.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bus) = &*known {
            return Ok(bus.clone());
        }
        let bus = Connection::session()?;
        // Before anything is shown: a click that comes at once must not be missed.
        let signals = Proxy::new(&bus, NAME, PATH, NAME)?.receive_all_signals()?;
        let buttons = Arc::clone(&self.buttons);
        let (on_click, slot) = (Arc::clone(&self.on_click), Arc::clone(&self.bus));
        std::thread::Builder::new()
            .name("notifications".to_owned())
            .spawn(move || {
                if let Err(error) = listen(signals, &buttons, &on_click) {
                    tracing::debug!(%error, "notifications tell no clicks");
                }
                // The bus went away: the next notification looks for it again.
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
            })
            .map_err(|error| zbus::Error::Failure(error.to_string()))?;
        *known = Some(bus.clone());
        Ok(bus)
    }
}

fn listen(signals: SignalIterator<'_>, buttons: &Buttons, on_click: &OnClick) -> zbus::Result<()> {
    for signal in signals {
        let header = signal.header();
        match header.member().map(|member| member.as_str()) {
            Some("ActionInvoked") => {
                let (id, key): (u32, String) = signal.body().deserialize()?;
                let action = buttons
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(&id)
                    .and_then(|keys| keys.get(&key).cloned());
                if let Some(action) = action {
                    on_click(action);
                }
            }
            Some("NotificationClosed") => {
                let (id, _): (u32, u32) = signal.body().deserialize()?;
                buttons.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Escapes what a daemon would read as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
