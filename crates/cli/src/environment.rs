//! The only place that reads the environment, the home folder, the working folder, the zone and
//! the terminal; everything else is told.

use directories::{BaseDirs, ProjectDirs};
use loopkeeper_engine::Paths;
use loopkeeper_engine::agent::find::programs;
use loopkeeper_engine::engine::OpenCodeEnvironment;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// What this process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The user's home folder.
    pub home: PathBuf,
    /// The data folder, unless a flag names another.
    pub data: PathBuf,
    /// The settings file.
    pub settings: PathBuf,
    /// The user's configuration folder.
    pub config: PathBuf,
    /// `XDG_RUNTIME_DIR`, where there is one.
    pub runtime: Option<PathBuf>,
    /// The working folder.
    pub here: PathBuf,
    /// This program's file.
    pub program: PathBuf,
    /// What is said about OpenCode; its programs come from [`Environment::opencode_programs`].
    pub opencode: OpenCodeEnvironment,
    opencode_binary: Option<PathBuf>,
    search_path: Option<OsString>,
    login_shell: Option<PathBuf>,
    /// The machine's zone (IANA name).
    pub zone: String,
    /// The machine's name.
    pub host_name: String,
    /// Whether colours are wanted on standard output: a terminal, and no `NO_COLOR`.
    pub colour: bool,
    /// Whether standard error is a terminal, so that progress can be drawn over.
    pub progress: bool,
    /// Whether standard input is a terminal, so that a question can be asked.
    pub can_ask: bool,
    /// `LOOPKEEPER_LOG`, else `RUST_LOG`: what is logged.
    pub log: Option<String>,
    /// Whether a screen is there to open a browser on.
    pub has_screen: bool,
}

#[allow(clippy::disallowed_methods, reason = "the one legal place for the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[allow(clippy::disallowed_methods, reason = "the one legal place for the environment")]
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Environment {
    /// Reads everything.
    ///
    /// # Errors
    /// Says what is missing: a home folder, a working folder.
    #[allow(clippy::disallowed_methods, reason = "the one legal place for the working folder")]
    pub fn read() -> Result<Environment, String> {
        let base = BaseDirs::new().ok_or("no home folder is known: set HOME")?;
        let home = base.home_dir().to_owned();
        let here = std::env::current_dir()
            .map_err(|error| format!("the working folder cannot be read: {error}"))?;
        let settings = path("LOOPKEEPER_CONFIG").unwrap_or_else(|| {
            let own = ProjectDirs::from("", "", "loopkeeper");
            let folder = own.map_or_else(
                || base.config_dir().join("loopkeeper"),
                |own| own.config_dir().to_owned(),
            );
            folder.join("settings.toml")
        });
        // The peer keeps its folder below ~/.config on every system.
        let data = path("OPENCHAMBER_DATA_DIR")
            .unwrap_or_else(|| home.join(".config").join("openchamber"));
        let screen = cfg!(any(windows, target_os = "macos"))
            || variable("DISPLAY").is_some()
            || variable("WAYLAND_DISPLAY").is_some();
        Ok(Environment {
            data: absolute(data, &here),
            settings: absolute(settings, &here),
            config: base.config_dir().to_owned(),
            runtime: path("XDG_RUNTIME_DIR"),
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("loopkeeper")),
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
            colour: variable("NO_COLOR").is_none() && std::io::stdout().is_terminal(),
            progress: std::io::stderr().is_terminal(),
            can_ask: std::io::stdin().is_terminal(),
            log: variable("LOOPKEEPER_LOG").or_else(|| variable("RUST_LOG")),
            has_screen: screen,
            home,
            here,
        })
    }

    /// Returns where the OpenCode program may be, best first: `OPENCODE_BINARY`, the `PATH`, and,
    /// when it is in neither and `ask_shell` allows it, the login shell's `PATH` (3 s at most): a
    /// desktop session has a short one.
    pub async fn opencode_programs(&self, ask_shell: bool) -> Vec<PathBuf> {
        let shell = self.login_shell.as_deref().filter(|_| ask_shell);
        programs(self.opencode_binary.clone(), self.search_path.as_deref(), shell).await
    }

    /// Names every folder that the engine may touch.
    pub fn paths(&self, data: Option<&PathBuf>) -> Paths {
        let data =
            data.cloned().map_or_else(|| self.data.clone(), |data| absolute(data, &self.here));
        Paths {
            data,
            home: self.home.clone(),
            settings: self.settings.clone(),
            opencode_config: self.home.join(".config").join("opencode"),
            runtime: self.runtime.clone(),
        }
    }
}

fn absolute(path: PathBuf, here: &std::path::Path) -> PathBuf {
    if path.is_absolute() { path } else { here.join(path) }
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
