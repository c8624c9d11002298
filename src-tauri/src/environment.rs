//! The only place of the desktop that reads the environment, the home folder and the zone.

use crate::arguments::Arguments;
use directories::{BaseDirs, ProjectDirs};
use loopkeeper_engine::Paths;
use loopkeeper_engine::agent::find::programs;
use loopkeeper_engine::engine::OpenCodeEnvironment;
use std::ffi::OsString;
use std::path::PathBuf;

/// What this process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The folders in force.
    pub paths: Paths,
    /// Whether the data folder is another than the usual one.
    pub own_data: bool,
    /// The user's configuration folder.
    pub config: PathBuf,
    /// What is started at login: the AppImage's file where there is one, else this program's.
    pub program: PathBuf,
    /// What is said about OpenCode.
    pub opencode: OpenCodeEnvironment,
    /// `OPENCODE_BINARY`.
    opencode_binary: Option<PathBuf>,
    /// `PATH`.
    search_path: Option<OsString>,
    /// `SHELL`.
    login_shell: Option<PathBuf>,
    /// The machine's zone (IANA name).
    pub zone: String,
    /// The machine's name.
    pub host_name: String,
    /// `LOOPKEEPER_LOG`, else `RUST_LOG`: what is logged.
    pub log: Option<String>,
    /// Whether there is a screen.
    pub has_screen: bool,
}

#[allow(clippy::disallowed_methods, reason = "the desktop's one legal place")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[allow(clippy::disallowed_methods, reason = "the desktop's one legal place")]
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Environment {
    /// Reads everything.
    ///
    /// # Errors
    /// Says what is missing: a home folder, a working folder, this program's own file.
    #[allow(clippy::disallowed_methods, reason = "the desktop's one legal place")]
    pub fn read(arguments: &Arguments) -> Result<Environment, String> {
        let base = BaseDirs::new().ok_or("no home folder is known: set HOME")?;
        let home = base.home_dir().to_owned();
        let settings = path("LOOPKEEPER_CONFIG").unwrap_or_else(|| {
            let own = ProjectDirs::from("", "", "loopkeeper");
            let folder = own.map_or_else(
                || base.config_dir().join("loopkeeper"),
                |own| own.config_dir().to_owned(),
            );
            folder.join("settings.toml")
        });
        // The peer keeps its folder below ~/.config on every system.
        let usual = home.join(".config").join("openchamber");
        let data = arguments.data.clone().or_else(|| path("OPENCHAMBER_DATA_DIR"));
        let program = match path("APPIMAGE") {
            Some(image) => image,
            None => std::env::current_exe()
                .map_err(|error| format!("this program's own file is unknown: {error}"))?,
        };
        let data = absolute(data.unwrap_or_else(|| usual.clone()))?;
        Ok(Environment {
            own_data: data != usual,
            paths: Paths {
                data,
                settings: absolute(settings)?,
                opencode_config: home.join(".config").join("opencode"),
                runtime: path("XDG_RUNTIME_DIR"),
                home,
            },
            config: base.config_dir().to_owned(),
            program,
            opencode: OpenCodeEnvironment {
                flag: None,
                host: variable("OPENCODE_HOST"),
                port: variable("OPENCODE_PORT"),
                password: variable("OPENCODE_SERVER_PASSWORD"),
                username: variable("OPENCODE_SERVER_USERNAME"),
                binaries: Vec::new(),
            },
            opencode_binary: path("OPENCODE_BINARY"),
            search_path: path("PATH").map(PathBuf::into_os_string),
            login_shell: path("SHELL"),
            zone: variable("TZ")
                .and_then(|zone| zone.trim_start_matches(':').parse::<chrono_tz::Tz>().ok())
                .map(|zone| zone.name().to_owned())
                .or_else(|| iana_time_zone::get_timezone().ok())
                .unwrap_or_else(|| "UTC".to_owned()),
            host_name: host_name(),
            log: variable("LOOPKEEPER_LOG").or_else(|| variable("RUST_LOG")),
            has_screen: cfg!(any(windows, target_os = "macos"))
                || variable("DISPLAY").is_some()
                || variable("WAYLAND_DISPLAY").is_some(),
        })
    }

    /// Names the one program of this data folder on the session bus; `None` for the usual folder.
    pub fn instance(&self) -> Option<String> {
        self.own_data.then(|| {
            // FNV-1a: the same for every program of this folder, whichever version.
            let bytes = self.paths.data.as_os_str().as_encoded_bytes();
            let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            format!("org.loopkeeper.desktop.d{hash:016x}")
        })
    }

    /// Returns where the OpenCode program may be, best first: `OPENCODE_BINARY`, the `PATH`, and,
    /// when it is in neither, the login shell's `PATH`: a desktop session has a short one.
    pub async fn opencode_programs(&self) -> Vec<PathBuf> {
        let shell = self.login_shell.as_deref();
        programs(self.opencode_binary.clone(), self.search_path.as_deref(), shell).await
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    std::path::absolute(&path)
        .map_err(|error| format!("{} is no usable path: {error}", path.display()))
}

fn host_name() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    told.or_else(|| variable("COMPUTERNAME"))
        .or_else(|| variable("HOSTNAME"))
        .unwrap_or_else(|| "localhost".to_owned())
}

/// Turns off the buffer sharing with which some Linux drivers show an empty window; a value that
/// the user has set stays. Called first in `main`.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "the desktop's one legal place")]
pub fn show_pages_on_every_driver() {
    const VARIABLE: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: called first in `main`, when there is no second thread that could read it.
        unsafe { std::env::set_var(VARIABLE, "1") };
    }
}

/// Nothing is to be done here.
#[cfg(not(target_os = "linux"))]
pub fn show_pages_on_every_driver() {}
