//! `service`: `serve` at login, by systemd (a user unit) or launchd (an agent).

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum What {
    /// Install it and start it
    Install {
        /// Only print what would be written
        #[arg(long)]
        print: bool,
    },
    /// Stop it and remove it
    Uninstall,
    /// Say whether it is installed and runs
    Status,
}

/// A program that the system's own keeper starts.
struct Unit {
    file: PathBuf,
    text: String,
    start: Vec<Vec<String>>,
    stop: Vec<Vec<String>>,
    status: Vec<String>,
    log: &'static str,
}

pub fn run(args: Args, context: &Context) -> Outcome {
    let unit = unit(context)?;
    let out = &context.out;
    match args.what {
        What::Install { print: true } => {
            out.text(format!("# {}\n{}", unit.file.display(), unit.text))
        }
        What::Install { print: false } => {
            let fault = |error: std::io::Error| {
                Failure::new(FAILED, format!("{}: {error}", unit.file.display()))
            };
            if let Some(folder) = unit.file.parent() {
                std::fs::create_dir_all(folder).map_err(fault)?;
            }
            std::fs::write(&unit.file, &unit.text).map_err(fault)?;
            for command in &unit.start {
                call(command)?;
            }
            if out.json {
                out.value(&json!({ "installed": true, "file": unit.file }));
            } else {
                out.note(format!("installed and started: {}", unit.file.display()));
                out.note("`loopkeeper open` opens its page");
                out.note(format!("its log: {}", unit.log));
            }
        }
        What::Uninstall => {
            if unit.file.exists() {
                for command in &unit.stop {
                    // It may not run; what counts is that the file goes.
                    let _ = call(command);
                }
                std::fs::remove_file(&unit.file).map_err(|error| {
                    Failure::new(FAILED, format!("{}: {error}", unit.file.display()))
                })?;
                if out.json {
                    out.value(&json!({ "installed": false }));
                } else {
                    out.note(format!("stopped and removed: {}", unit.file.display()));
                }
            } else {
                out.note("it is not installed");
            }
        }
        What::Status => {
            let installed = unit.file.exists();
            let running = installed && call(&unit.status).is_ok();
            if out.json {
                out.value(
                    &json!({ "installed": installed, "running": running, "file": unit.file }),
                );
            } else {
                out.line(match (installed, running) {
                    (false, _) => "not installed: loopkeeper service install".to_owned(),
                    (true, true) => format!("runs ({})", unit.file.display()),
                    (true, false) => format!("installed, but does not run; its log: {}", unit.log),
                });
            }
            return Ok(if running { DONE } else { FAILED });
        }
    }
    Ok(DONE)
}

fn call(command: &[String]) -> Result<(), Failure> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Failure::new(
            FAILED,
            format!("{}: {}", command.join(" "), String::from_utf8_lossy(&output.stderr).trim()),
        )),
        Err(error) => Err(Failure::new(FAILED, format!("{program} cannot be started: {error}"))),
    }
}

fn line(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn unit(context: &Context) -> Result<Unit, Failure> {
    let program = context.environment.program.display().to_string();
    let data = context.paths.data.display().to_string();
    if cfg!(target_os = "macos") {
        let file =
            context.environment.machine.home.join("Library/LaunchAgents/loopkeeper.serve.plist");
        let path = file.display().to_string();
        return Ok(Unit {
            text: plist(&program, &data),
            start: vec![line(&["launchctl", "load", "-w", &path])],
            stop: vec![line(&["launchctl", "unload", "-w", &path])],
            status: line(&["launchctl", "list", "loopkeeper.serve"]),
            log: "log show --predicate 'process == \"loopkeeper\"'",
            file,
        });
    }
    if cfg!(target_os = "linux") {
        return Ok(Unit {
            file: context.environment.machine.config.join("systemd/user/loopkeeper.service"),
            text: systemd(&program, &data),
            start: vec![
                line(&["systemctl", "--user", "daemon-reload"]),
                line(&["systemctl", "--user", "enable", "--now", "loopkeeper.service"]),
            ],
            stop: vec![line(&["systemctl", "--user", "disable", "--now", "loopkeeper.service"])],
            status: line(&["systemctl", "--user", "is-active", "--quiet", "loopkeeper.service"]),
            log: "journalctl --user -u loopkeeper",
        });
    }
    Err(Failure::new(FAILED, "there is neither systemd nor launchd here")
        .help("let the system's task scheduler start `loopkeeper serve` at login"))
}

fn systemd(program: &str, data: &str) -> String {
    // `%` begins a specifier, and quotes are the unit file's own.
    let quoted = |text: &str| {
        format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$")
        )
    };
    format!(
        "[Unit]\nDescription=Loopkeeper: AI agents on a schedule\nAfter=network-online.target\n\n\
         [Service]\nExecStart={} --data-dir {} serve\nRestart=on-failure\nRestartSec=10\n\
         # OpenCode and its sessions go on while this is restarted; it follows them again.\nKillMode=process\nTimeoutStopSec=20\n\n\
         [Install]\nWantedBy=default.target\n",
        quoted(program),
        quoted(data)
    )
}

fn plist(program: &str, data: &str) -> String {
    let text = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\"><dict>\n\
         <key>Label</key><string>loopkeeper.serve</string>\n\
         <key>ProgramArguments</key><array>\n\
         <string>{}</string><string>--data-dir</string><string>{}</string><string>serve</string>\n\
         </array>\n<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n\
         </dict></plist>\n",
        text(program),
        text(data)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packaged_unit_is_the_same() {
        let packaged = include_str!("../../../../src-tauri/linux/loopkeeper.service");
        let packaged = packaged.split_once("[Unit]").expect("a unit").1;
        let written = systemd("/usr/bin/loopkeeper", "/d");
        let start = r#""/usr/bin/loopkeeper" --data-dir "/d" serve"#;
        assert_eq!(
            written.replace(start, "/usr/bin/loopkeeper serve"),
            format!("[Unit]{packaged}"),
            "however it was installed, it behaves alike"
        );
    }

    #[test]
    fn paths_with_odd_characters_survive() {
        let unit = systemd("/opt/my \"tools\"/loopkeeper", "/home/a/100%/$x");
        assert!(
            unit.contains(
                r#"ExecStart="/opt/my \"tools\"/loopkeeper" --data-dir "/home/a/100%%/$$x" serve"#
            ),
            "{unit}"
        );
        assert!(plist("/a&b", "/c<d").contains(
            "<string>/a&amp;b</string><string>--data-dir</string><string>/c&lt;d</string>"
        ));
    }
}
