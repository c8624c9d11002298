//! What each of our programs reads from its surroundings, and the only place that reads the
//! environment, the home folder and the zone. What one program has alone (a terminal, a file to
//! start at login) it reads itself, beside this.

use directories::{BaseDirs, ProjectDirs};
use loopkeeper_engine::Paths;
use loopkeeper_engine::agent::find::programs;
use loopkeeper_engine::engine::OpenCodeEnvironment;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a program finds where it is started.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The user's home folder.
    pub home: PathBuf,
    /// The data folder: `OPENCHAMBER_DATA_DIR`, else the usual one.
    pub data: PathBuf,
    /// The usual data folder.
    pub usual_data: PathBuf,
    /// The settings file.
    pub settings: PathBuf,
    /// The user's configuration folder.
    pub config: PathBuf,
    /// `XDG_RUNTIME_DIR`, where there is one.
    pub runtime: Option<PathBuf>,
    /// What is said about OpenCode; its programs come from [`Surroundings::opencode_programs`].
    pub opencode: OpenCodeEnvironment,
    opencode_binary: Option<PathBuf>,
    search_path: Option<OsString>,
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

/// Reads a variable of the environment; an empty one counts as not set.
#[allow(clippy::disallowed_methods, reason = "the one legal place for the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads a variable that holds a path, in whichever encoding; an empty one counts as not set.
#[allow(clippy::disallowed_methods, reason = "the one legal place for the environment")]
pub fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Surroundings {
    /// Reads everything.
    ///
    /// # Errors
    /// Says what is missing: a home folder, a working folder where a path needs one.
    pub fn read() -> Result<Surroundings, String> {
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
        let usual_data = home.join(".config").join("openchamber");
        let data = path("OPENCHAMBER_DATA_DIR").unwrap_or_else(|| usual_data.clone());
        Ok(Surroundings {
            data: absolute(&data)?,
            usual_data,
            settings: absolute(&settings)?,
            config: base.config_dir().to_owned(),
            runtime: path("XDG_RUNTIME_DIR"),
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
            home,
        })
    }

    /// Names every folder that the engine may touch; `data` is a flag's data folder.
    ///
    /// # Errors
    /// The flag's folder is relative, and there is no working folder.
    pub fn paths(&self, data: Option<&Path>) -> Result<Paths, String> {
        Ok(Paths {
            data: data.map_or_else(|| Ok(self.data.clone()), absolute)?,
            home: self.home.clone(),
            settings: self.settings.clone(),
            opencode_config: self.home.join(".config").join("opencode"),
            runtime: self.runtime.clone(),
        })
    }

    /// Returns where the OpenCode program may be, best first: `OPENCODE_BINARY`, the `PATH`, and,
    /// when it is in neither and `ask_shell` allows it, the login shell's `PATH` (3 s at most): a
    /// desktop session has a short one.
    pub async fn opencode_programs(&self, ask_shell: bool) -> Vec<PathBuf> {
        let shell = self.login_shell.as_deref().filter(|_| ask_shell);
        programs(self.opencode_binary.clone(), self.search_path.as_deref(), shell).await
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path)
        .map_err(|error| format!("{} is no usable path: {error}", path.display()))
}

fn host_name() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    told.or_else(|| variable("COMPUTERNAME"))
        .or_else(|| variable("HOSTNAME"))
        .or_else(asked)
        .unwrap_or_else(|| "localhost".to_owned())
}

fn asked() -> Option<String> {
    let output = std::process::Command::new("hostname").output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
