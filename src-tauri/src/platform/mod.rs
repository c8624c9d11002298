//! What differs between systems, one module each, all with the same functions:
//!
//! - `Notifier::start(…)` and `show(note)`: notifications, with buttons where the system has them;
//! - `starts_at_login`, `set_start_at_login`, `repair_start_at_login`;
//! - `watch_sleep(wake)`: tells of a suspend that is over; `KeepAwake::hold()` keeps one away;
//! - `tray_is_shown()`: whether somebody shows tray icons;
//! - `give_memory_back()`, called after a window; `end_pages()`, for pages that do not answer.

use crate::tray::menu::Action;
use std::sync::Arc;

/// What is called when a notification or one of its buttons was clicked.
pub type OnClick = Arc<dyn Fn(Action) + Send + Sync>;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub use macos::*;

#[cfg(target_os = "windows")]
mod windows;
#[cfg(target_os = "windows")]
pub use windows::*;

#[cfg(not(target_os = "linux"))]
mod plugins;
