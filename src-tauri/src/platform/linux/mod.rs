//! Linux: D-Bus for notifications and logind, a desktop file for start at login.

mod login;
mod memory;
mod notifications;
mod power;

pub use login::{repair_start_at_login, set_start_at_login, starts_at_login};
pub use memory::{end_pages, give_memory_back};
pub use notifications::Notifier;
pub use power::{KeepAwake, watch_sleep};

/// Tray icons have colours of their own.
pub const TEMPLATE_ICONS: bool = false;

/// Says whether somebody on the session bus shows tray icons.
pub fn tray_is_shown() -> bool {
    let Ok(bus) = zbus::blocking::Connection::session() else { return false };
    let Ok(proxy) = zbus::blocking::fdo::DBusProxy::new(&bus) else { return false };
    zbus::names::BusName::try_from("org.kde.StatusNotifierWatcher")
        .is_ok_and(|name| proxy.name_has_owner(name).unwrap_or(false))
}
