//! What the agents need to know from outside; they read no settings file and no environment.

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
        }
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
