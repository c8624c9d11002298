//! What the agents need to know from outside; they read no settings file and no environment.

use crate::Paths;
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Everything the agents are made from; the host fills it from settings and environment.
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// How OpenCode is found.
    pub opencode: OpencodeConfig,
    /// The commands by name (`[command.NAME]`).
    pub commands: BTreeMap<String, CommandConfig>,
    /// The folder of Loopkeeper's own files (`Paths::own`).
    pub own: PathBuf,
    /// OpenCode's configuration folder, for user-scope snippets.
    pub opencode_config: PathBuf,
    /// Variables set on top of the inherited environment for everything that is started.
    pub environment: Vec<(OsString, OsString)>,
}

/// How OpenCode is found: the first of `--opencode`, `url`, `host`, `port`, else one is started
/// (DESIGN §8).
#[derive(Debug, Clone)]
pub struct OpencodeConfig {
    /// The value of `--opencode`.
    pub flag: Option<String>,
    /// The setting `opencode.url`; empty counts as unset.
    pub url: Option<String>,
    /// `OPENCODE_HOST`: a URL with its port.
    pub host: Option<String>,
    /// `OPENCODE_PORT` on this machine.
    pub port: Option<String>,
    /// `OPENCODE_SERVER_USERNAME`; `None` is `opencode`.
    pub username: Option<String>,
    /// `OPENCODE_SERVER_PASSWORD`, for a server that is not ours.
    pub password: Option<String>,
    /// Where the program may be, best first: setting, `OPENCODE_BINARY`, `PATH`, the login shell's.
    pub binaries: Vec<PathBuf>,
    /// How long one start may take.
    pub ready_timeout: Duration,
    /// How long a run tries to reach OpenCode before it fails.
    pub patience: Duration,
    /// How long is waited for another program to drive a goal on before Loopkeeper does; longer
    /// than the peer's 15 s.
    pub goal_quiet: Duration,
}

impl Default for OpencodeConfig {
    fn default() -> Self {
        OpencodeConfig {
            flag: None,
            url: None,
            host: None,
            port: None,
            username: None,
            password: None,
            binaries: Vec::new(),
            ready_timeout: Duration::from_secs(10),
            patience: Duration::from_secs(600),
            goal_quiet: Duration::from_secs(20),
        }
    }
}

impl AgentsConfig {
    /// Makes a configuration from the settings and from what the environment said.
    pub fn from_settings(settings: &Settings, paths: &Paths, found: OpenCodeEnvironment) -> Self {
        let mut binaries = found.binaries;
        if let Some(binary) = &settings.opencode.binary {
            binaries.insert(0, PathBuf::from(binary));
        }
        let commands = settings.command.iter().map(|(name, command)| {
            let config = CommandConfig { argv: command.argv.clone(), stdin: command.stdin };
            (name.clone(), config)
        });
        AgentsConfig {
            opencode: OpencodeConfig {
                flag: found.flag,
                url: settings.opencode.url.clone(),
                host: found.host,
                port: found.port,
                username: found.username,
                password: found.password,
                binaries,
                ready_timeout: settings.opencode.ready_timeout,
                ..OpencodeConfig::default()
            },
            commands: commands.collect(),
            own: paths.own(),
            opencode_config: paths.opencode_config.clone(),
            environment: Vec::new(),
        }
    }
}

/// What flags and environment say about OpenCode; the host reads them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OpenCodeEnvironment {
    /// `--opencode`: a URL; goes before everything else.
    pub flag: Option<String>,
    /// `OPENCODE_HOST`: a URL with its port.
    pub host: Option<String>,
    /// `OPENCODE_PORT`.
    pub port: Option<String>,
    /// `OPENCODE_SERVER_USERNAME`.
    pub username: Option<String>,
    /// `OPENCODE_SERVER_PASSWORD`; never logged.
    pub password: Option<String>,
    /// Where the program may be, best first, as [`programs`](super::find::programs) finds it. The
    /// setting goes before all of them.
    pub binaries: Vec<PathBuf>,
}

impl std::fmt::Debug for OpenCodeEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCodeEnvironment")
            .field("flag", &self.flag)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("password", &self.password.as_ref().map(|_| "(set)"))
            .field("binaries", &self.binaries)
            .finish_non_exhaustive()
    }
}

/// One command agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandConfig {
    /// Program and arguments, with `{prompt}`, `{model}` and `{title}` filled in.
    pub argv: Vec<String>,
    /// Whether the prompt goes to the standard input; else it is closed.
    pub stdin: bool,
}
