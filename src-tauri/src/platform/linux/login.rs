//! Start at login by an autostart file of the desktop.
//!
//! Written here rather than by a plugin: a path with blanks has to be quoted, and a file that the
//! user's own settings have switched off has to be read.

use crate::environment::Environment;
use std::io;
use std::path::{Path, PathBuf};
use tauri::AppHandle;

fn file(environment: &Environment) -> PathBuf {
    environment.machine.config.join("autostart").join("loopkeeper.desktop")
}

/// Says whether the program starts at login.
pub fn starts_at_login(_app: &AppHandle, environment: &Environment) -> Option<bool> {
    match std::fs::read_to_string(file(environment)) {
        Ok(text) => Some(is_on(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// Makes the program start at login, or no longer.
///
/// # Errors
/// Names the file that cannot be written.
pub fn set_start_at_login(
    _app: &AppHandle,
    environment: &Environment,
    on: bool,
) -> Result<(), String> {
    let file = file(environment);
    let done = if on { write(&file, &environment.program) } else { remove(&file) };
    done.map_err(|error| format!("{}: {error}", file.display()))
}

/// Puts the path right when the program it names is no longer there.
pub fn repair_start_at_login(_app: &AppHandle, environment: &Environment) {
    let file = file(environment);
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    let Some(program) = program(&text) else { return };
    if is_on(&text) && program != environment.program && !program.exists() {
        match write(&file, &environment.program) {
            Ok(()) => tracing::info!(old = %program.display(), "start at login: path put right"),
            Err(error) => tracing::warn!(file = %file.display(), %error, "start at login"),
        }
    }
}

fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn write(file: &Path, program: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text(program))
}

fn text(program: &Path) -> String {
    format!(
        "[Desktop Entry]\nType=Application\nVersion=1.0\nName=Loopkeeper\n\
         Comment=Runs AI agents on a schedule\nExec={} --hidden\nIcon=loopkeeper-desktop\n\
         Terminal=false\nStartupNotify=false\nX-GNOME-Autostart-enabled=true\n",
        quoted(&program.to_string_lossy())
    )
}

/// Quotes a program's path as the desktop entry specification wants it: first for the command
/// line, then for the file's own escapes; `%` begins a field code.
fn quoted(path: &str) -> String {
    let mut line = String::from("\"");
    for letter in path.chars() {
        match letter {
            '"' | '`' | '$' | '\\' => line.extend(['\\', letter]),
            '%' => line.push_str("%%"),
            _ => line.push(letter),
        }
    }
    line.push('"');
    line.replace('\\', "\\\\")
}

/// Reads back what [`quoted`] wrote; a path without quotes ends at the first blank.
fn program(text: &str) -> Option<PathBuf> {
    let value = text.lines().find_map(|line| line.strip_prefix("Exec="))?.replace("\\\\", "\\");
    let Some(rest) = value.strip_prefix('"') else {
        return value.split_whitespace().next().map(PathBuf::from);
    };
    let mut path = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return Some(path.into()),
            '\\' => path.push(letters.next()?),
            '%' => path.push(letters.next()?),
            letter => path.push(letter),
        }
    }
}

fn is_on(text: &str) -> bool {
    !text
        .lines()
        .any(|line| matches!(line.trim(), "Hidden=true" | "X-GNOME-Autostart-enabled=false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_autostart_file() {
        for path in ["/usr/bin/loopkeeper-desktop", "/home/a b/100% \"x\"$y\\z/Loop.AppImage"] {
            let text = text(Path::new(path));
            assert_eq!(program(&text), Some(path.into()), "read back as written: {text}");
            assert!(is_on(&text), "a new file starts the program");
        }
        assert!(
            text(Path::new("/a b/c")).contains("Exec=\"/a b/c\" --hidden\n"),
            "a blank must not end the program's name"
        );
    }

    #[test]
    fn a_file_that_the_desktop_switched_off_is_off() {
        assert!(!is_on("[Desktop Entry]\nExec=x\nHidden=true\n"), "as some settings write it");
        assert!(!is_on("[Desktop Entry]\nX-GNOME-Autostart-enabled=false\n"), "as GNOME does");
    }
}
