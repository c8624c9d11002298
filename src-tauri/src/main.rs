//! The program of [`loopkeeper_desktop_lib`].

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

fn main() -> std::process::ExitCode {
    loopkeeper_desktop_lib::run()
}
