//! Builds the desktop's context: its command list, its permissions and the pages it embeds.

use std::path::Path;
use std::{fs, io};

/// Every command that the page may call. A command that is not named here could be called by any
/// page, so a new one is added here and in `capabilities/main.json`.
const COMMANDS: &[&str] = &[
    "api",
    "version",
    "pick_folder",
    "reveal",
    "open_file",
    "start_at_login",
    "set_start_at_login",
];

/// The page that stands in for the window's content where only cargo was run.
const PLACEHOLDER: &str = "<!doctype html><meta charset=utf-8><title>Loopkeeper</title>\
    <p>The page was not built. Run <code>make ui</code> and build again.</p>\n";

#[allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script its profile in the environment"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    pages(Path::new("../ui/dist"), release)?;
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))?;
    Ok(())
}

/// Makes sure that there are pages to embed: the built ones, or in a debug build a placeholder.
fn pages(dist: &Path, release: bool) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", dist.display());
    let index = dist.join("index.html");
    let is_placeholder = fs::read(&index).is_ok_and(|page| page == PLACEHOLDER.as_bytes());
    if release && (is_placeholder || !index.exists()) {
        let message = "ui/dist holds no built page: run `make ui` before a release build";
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    if !index.exists() {
        fs::create_dir_all(dist)?;
        fs::write(&index, PLACEHOLDER)?;
    }
    Ok(())
}
