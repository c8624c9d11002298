//! A server of ours started: which program, with what port, password and surroundings.
//!
//! Waiting for its first answer is not done here: that is the same for a server that runs already.

use super::log;
use super::places::{Places, ServerFile};
use crate::agent::config::AgentsConfig;
use crate::agent::opencode::AgentError;
use crate::clock::Clock;
use crate::host::ProcessId;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Starts a server in a group of its own, and says how it is found.
pub(super) fn spawn(
    config: &AgentsConfig,
    places: &Places,
    clock: &dyn Clock,
) -> Result<ServerFile, AgentError> {
    let candidates = &config.opencode.binaries;
    let binary =
        program(candidates).ok_or_else(|| AgentError::Missing { looked: candidates.clone() })?;
    let port = free_port().map_err(|error| AgentError::Start { cause: error.to_string() })?;
    let password = new_password();
    let process = run(config, places, binary, port, &password)?;
    Ok(ServerFile {
        url: format!("http://127.0.0.1:{port}"),
        password,
        process,
        started_at: clock.now_ms(),
        version: String::new(),
    })
}

/// Returns the program that is started: the first of the candidates that can be executed.
pub(crate) fn program(candidates: &[PathBuf]) -> Option<&Path> {
    candidates.iter().map(PathBuf::as_path).find(|path| is_program(path))
}

fn run(
    config: &AgentsConfig,
    places: &Places,
    binary: &Path,
    port: u16,
    password: &str,
) -> Result<ProcessId, AgentError> {
    let failed = |cause: String| AgentError::Start {
        cause: format!("{} could not be started: {cause}", binary.display()),
    };
    let log = log::open(&places.log()).map_err(|error| failed(error.to_string()))?;
    let again = log.try_clone().map_err(|error| failed(error.to_string()))?;
    let mut command = tokio::process::Command::new(binary);
    command
        .args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()])
        .current_dir(places.stand())
        .envs(config.environment.iter().map(|(name, value)| (name, value)))
        .env("OPENCODE_SERVER_PASSWORD", password)
        .env_remove("OPENCODE_SERVER_USERNAME")
        .stdin(Stdio::null())
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(again))
        .kill_on_drop(false);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let pid = child.id().ok_or_else(|| failed("it ended at once".to_owned()))?;
    let process = ProcessId::of(pid);
    // Somebody has to take note of its end, or it stays a zombie.
    tokio::spawn(async move {
        let _ = child.wait().await;
    });
    Ok(process)
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    metadata.is_file() && executable
}

fn free_port() -> std::io::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

/// Makes a password nobody can guess: 32 bytes of the system's randomness, as hex.
fn new_password() -> String {
    use sha2::{Digest, Sha256};
    use std::hash::{BuildHasher, Hasher};
    let mut bytes = [0u8; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    let mut digest = Sha256::new();
    digest.update(bytes);
    if read.is_err() {
        // Every thread's hasher is keyed with 16 bytes of the system's randomness.
        for _ in 0..4 {
            let keyed = std::thread::spawn(|| {
                std::collections::hash_map::RandomState::new().build_hasher().finish()
            });
            digest.update(keyed.join().unwrap_or_default().to_le_bytes());
            let here = std::collections::hash_map::RandomState::new().build_hasher().finish();
            digest.update(here.to_le_bytes());
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_differ() {
        assert_ne!(new_password(), new_password());
        assert_eq!(new_password().len(), 64);
    }
}
