//! Loopkeeper's engine: everything that is true without a window or a socket.
//!
//! The modules stand in layers, and a module imports only from what stands before it:
//! leaves (`clock host http memory event task settings`) → pure rules (`schedule loops`) → three
//! doors to the outside that do not know each other (`project ledger agent`) → `claim` → `runtime` →
//! `engine`.
//!
//! The engine reads no environment, home folder, system clock or terminal: the host passes
//! [`Paths`], [`settings::Settings`] and a [`clock::Clock`].

pub mod agent;
pub mod claim;
pub mod clock;
pub mod engine;
pub mod event;
pub mod host;
pub mod http;
pub mod ledger;
pub mod loops;
pub mod memory;
pub mod project;
mod runtime;
pub mod schedule;
pub mod settings;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod view;

use std::path::{Path, PathBuf};

/// Names every folder and file that the engine may touch; the host decides them once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The data folder that is shared with the peer (`projects/`, `settings.json`).
    pub data: PathBuf,
    /// The user's home folder: user-scope loops live in `.agents/loops` below it.
    pub home: PathBuf,
    /// The settings file; it need not exist.
    pub settings: PathBuf,
    /// OpenCode's configuration folder, for user-scope snippets (`~/.config/opencode`).
    pub opencode_config: PathBuf,
    /// A folder that lives as long as the login session (`XDG_RUNTIME_DIR`), where each process
    /// notes its data folder; `None` where the system has none.
    pub runtime: Option<PathBuf>,
}

impl Paths {
    /// Returns the folder of Loopkeeper's own files inside the data folder.
    pub fn own(&self) -> PathBuf {
        self.data.join("loopkeeper")
    }

    /// Returns the folder of the shared project files.
    pub fn projects(&self) -> PathBuf {
        self.data.join("projects")
    }

    /// Returns the folder of user-scope loops.
    pub fn user_loops(&self) -> PathBuf {
        loops_folder(&self.home)
    }
}

/// Returns the loop folder of a project or home folder.
pub fn loops_folder(base: &Path) -> PathBuf {
    base.join(".agents").join("loops")
}
