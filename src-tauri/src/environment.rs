//! What only the desktop reads from its surroundings: which file is started at login, and what GTK
//! is to be told. The rest is [`Surroundings`].

use crate::arguments::Arguments;
use loopkeeper_engine::Paths;
use loopkeeper_server::{Surroundings, path};
use std::path::PathBuf;

/// What this process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// What every program of ours finds.
    pub machine: Surroundings,
    /// The folders in force.
    pub paths: Paths,
    /// What is started at login: the AppImage's file where there is one, else this program's.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the plugin finds it itself"))]
    pub program: PathBuf,
}

impl Environment {
    /// Reads everything.
    ///
    /// # Errors
    /// Says what is missing: a home folder, a working folder, this program's own file.
    pub fn read(arguments: &Arguments) -> Result<Environment, String> {
        let machine = Surroundings::read()?;
        let paths = machine.paths(arguments.data.as_deref())?;
        let program = match path("APPIMAGE") {
            Some(image) => image,
            None => std::env::current_exe()
                .map_err(|error| format!("this program's own file is unknown: {error}"))?,
        };
        Ok(Environment { machine, paths, program })
    }

    /// Names the one program of this data folder on the session bus; `None` for the usual folder.
    pub fn instance(&self) -> Option<String> {
        (self.paths.data != self.machine.usual_data).then(|| {
            // FNV-1a: the same for every program of this folder, whichever version.
            let bytes = self.paths.data.as_os_str().as_encoded_bytes();
            let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            format!("org.loopkeeper.desktop.d{hash:016x}")
        })
    }
}

/// Turns off the buffer sharing with which some Linux drivers show an empty window; without it GTK
/// has no use for a graphics driver either, which is large. A value that the user has set stays.
/// Called first in `main`.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "an empty value is the user's choice too")]
pub fn show_pages_on_every_driver() {
    for (variable, value) in [("WEBKIT_DISABLE_DMABUF_RENDERER", "1"), ("GDK_GL", "disable")] {
        if std::env::var_os(variable).is_some() {
            return;
        }
        // SAFETY: called first in `main`, when there is no second thread that could read it.
        unsafe { std::env::set_var(variable, value) };
    }
}

/// Nothing is to be done here.
#[cfg(not(target_os = "linux"))]
pub fn show_pages_on_every_driver() {}
