//! Takes the built front end (`ui/dist`) into the program; nothing when it was not built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    // Asked for at run time: a build script that cargo kept from another checkout would take that one's page.
    let dist = told("CARGO_MANIFEST_DIR").join("../../ui/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&dist, &mut files);
    files.sort();
    let mut table = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let Ok(name) = file.strip_prefix(&dist) else { continue };
        let name = name.to_string_lossy().replace('\\', "/");
        let _ =
            writeln!(table, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    table.push_str("];\n");
    let out = told("OUT_DIR");
    if let Err(error) = std::fs::write(out.join("page.rs"), table) {
        println!("cargo:error={}: {error}", out.display());
    }
}

#[allow(clippy::disallowed_methods, reason = "cargo tells a build script its folders so")]
fn told(name: &str) -> PathBuf {
    std::env::var_os(name).map(PathBuf::from).unwrap_or_default()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
