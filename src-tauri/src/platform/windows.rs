//! Windows.

pub use super::plugins::*;

/// Tray icons have colours of their own.
pub const TEMPLATE_ICONS: bool = false;

const ES_CONTINUOUS: u32 = 0x8000_0000;
const ES_SYSTEM_REQUIRED: u32 = 0x0000_0001;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetThreadExecutionState(flags: u32) -> u32;
}

/// Keeps the machine awake while it lives: the state belongs to a thread, so one waits for the end.
#[derive(Debug)]
pub struct KeepAwake {
    _end: std::sync::mpsc::Sender<()>,
}

impl KeepAwake {
    /// Asks the system to stay awake.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn hold() -> Result<KeepAwake, String> {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::Builder::new()
            .name("keep-awake".to_owned())
            .spawn(move || {
                // SAFETY: takes flags, returns the old ones.
                unsafe { SetThreadExecutionState(ES_CONTINUOUS | ES_SYSTEM_REQUIRED) };
                let _ = ended.recv();
                // SAFETY: as above.
                unsafe { SetThreadExecutionState(ES_CONTINUOUS) };
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(KeepAwake { _end: end })
    }
}

/// The engine's comparison of clocks notices a sleep by itself.
pub fn watch_sleep(_wake: impl Fn() + Send + 'static) {}

/// The notification area is always there.
pub fn tray_is_shown() -> bool {
    true
}

/// The system takes it back by itself.
pub fn give_memory_back() {}

/// The system ends them with the window.
pub fn end_pages() {}
