//! macOS.

pub use super::plugins::*;
use std::process::{Child, Command};

/// Tray icons are templates: the system colours them for its menu bar.
pub const TEMPLATE_ICONS: bool = true;

/// Keeps the machine awake while it lives.
#[derive(Debug)]
pub struct KeepAwake(Child);

impl KeepAwake {
    /// Starts the system's own `caffeinate`, which also ends with this process.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn hold() -> Result<KeepAwake, String> {
        let pid = std::process::id().to_string();
        Command::new("/usr/bin/caffeinate")
            .args(["-i", "-w", &pid])
            .spawn()
            .map(KeepAwake)
            .map_err(|error| format!("caffeinate cannot be started: {error}"))
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The engine's comparison of clocks notices a sleep by itself.
pub fn watch_sleep(_wake: impl Fn() + Send + 'static) {}

/// The menu bar is always there.
pub fn tray_is_shown() -> bool {
    true
}

/// The system takes it back by itself.
pub fn give_memory_back() {}

/// The system ends them with the window.
pub fn end_pages() {}
