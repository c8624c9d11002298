//! PROVISIONAL: the keys that the server and the command line read; the real settings replace this.
#![allow(missing_docs)]
use std::path::Path;

#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub server: ServerSettings,
    pub runs: RunSettings,
}
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub host: String,
    pub port: u16,
}
impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings { host: "127.0.0.1".to_owned(), port: 4117 }
    }
}
#[derive(Debug, Clone)]
pub struct RunSettings {
    pub global: u32,
    pub per_project: u32,
}
impl Default for RunSettings {
    fn default() -> Self {
        RunSettings { global: 4, per_project: 2 }
    }
}
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);
impl Settings {
    /// # Errors
    /// A bad key or value, with its line.
    #[allow(clippy::todo)]
    pub fn load(_path: &Path) -> Result<Settings, SettingsError> {
        todo!()
    }
}
