//! Why OpenCode cannot be used: what happened, where, and what to do.

use super::client::{CallError, Client};
use std::path::PathBuf;

/// Says why OpenCode cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Nobody answers at its address.
    #[error("OpenCode does not answer at {url}: {cause}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What happened.
        cause: String,
    },
    /// It wants another password.
    #[error(
        "OpenCode at {url} wants another password. Set OPENCODE_SERVER_PASSWORD (and OPENCODE_SERVER_USERNAME) to its own."
    )]
    Denied {
        /// Its address.
        url: String,
    },
    /// Something else answers there.
    #[error(
        "What answers at {url} is not OpenCode. Check `opencode.url` in the settings, OPENCODE_HOST and OPENCODE_PORT."
    )]
    NotOpencode {
        /// The address.
        url: String,
    },
    /// It answered with an error.
    #[error("{cause}")]
    Answer {
        /// What it said.
        cause: String,
    },
    /// The program is not installed, or nobody knows where.
    #[error(
        "OpenCode was not found{}. Install it (https://opencode.ai), or set `opencode.binary` in the settings or OPENCODE_BINARY to the program.",
        looked_at(looked)
    )]
    Missing {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// It could not be started.
    #[error("OpenCode could not be started: {cause}")]
    Start {
        /// What happened.
        cause: String,
    },
    /// An address that is none.
    #[error("{name} is `{value}`, which is no address. Write one such as http://127.0.0.1:4096.")]
    BadAddress {
        /// Where it comes from.
        name: &'static str,
        /// What it says.
        value: String,
    },
    /// A file of ours could not be used.
    #[error("{path} could not be used: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: String,
    },
}

fn looked_at(looked: &[PathBuf]) -> String {
    if looked.is_empty() {
        return String::new();
    }
    let paths: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    format!(" (looked at {})", paths.join(", "))
}

impl AgentError {
    /// Says whether waiting may help.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            AgentError::Unreachable { .. }
            | AgentError::Answer { .. }
            | AgentError::Start { .. }
            | AgentError::File { .. } => true,
            AgentError::Denied { .. }
            | AgentError::NotOpencode { .. }
            | AgentError::Missing { .. }
            | AgentError::BadAddress { .. } => false,
        }
    }

    pub(super) fn from_call(client: &Client, error: &CallError) -> Self {
        let url = client.base().to_owned();
        match error {
            CallError::NoConnection(cause) | CallError::Broken(cause) => {
                AgentError::Unreachable { url, cause: cause.clone() }
            }
            CallError::Denied => AgentError::Denied { url },
            CallError::NotOpencode => AgentError::NotOpencode { url },
            CallError::Status { .. } => AgentError::Answer { cause: error.to_string() },
        }
    }
}
