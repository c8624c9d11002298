//! What the program was started with; a second start hands its arguments to the first.

use crate::place::Place;
use std::path::PathBuf;

/// What `--help` answers.
pub const HELP: &str = "\
Usage: loopkeeper-desktop [--hidden | --open[=PLACE]] [--data-dir DIR]

  --hidden        start in the tray, without a window
  --open[=PLACE]  open the window: tasks, needs, timeline, runs, settings,
                  task:PROJECT/TASK or run:NUMBER
  --data-dir DIR  the data folder, else OPENCHAMBER_DATA_DIR, else ~/.config/openchamber
  --version       print the version
  --help          print this

A second start hands its arguments to the program that runs already.
";

/// The arguments of one start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Stay in the tray.
    pub hidden: bool,
    /// Where the window is opened; `None` where it was left.
    pub open: Option<Place>,
    /// The data folder; `None` for the usual one.
    pub data: Option<PathBuf>,
    /// Print the version and end.
    pub version: bool,
    /// Print the help and end.
    pub help: bool,
}

impl Arguments {
    /// Reads the arguments, the program's own name left out.
    ///
    /// # Errors
    /// Names the argument that is not understood, and what is.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
        let mut read = Arguments::default();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            match (name, value) {
                ("--hidden", None) => read.hidden = true,
                ("--open", None) => {}
                ("--open", Some(place)) => {
                    read.open = Some(Place::parse(&place).ok_or_else(|| {
                        format!("--open={place} is no place: see loopkeeper-desktop --help")
                    })?);
                }
                ("--data-dir", value) => {
                    let folder = value.or_else(|| rest.next()).filter(|folder| !folder.is_empty());
                    read.data = Some(folder.ok_or("--data-dir wants a folder")?.into());
                }
                ("--version" | "-V", None) => read.version = true,
                ("--help" | "-h", None) => read.help = true,
                // What the desktop's session manager may add is none of ours to refuse.
                (other, _) if other.starts_with("--gapplication") => {}
                (other, _) => {
                    return Err(format!("{other} is no argument: see loopkeeper-desktop --help"));
                }
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn arguments_are_read() {
        let read = parse(&["--open=run:4", "--data-dir", "/d"]).expect("both are known");
        assert_eq!(read.open, Some(Place::Run(4)), "the window opens at what was named");
        assert_eq!(read.data, Some("/d".into()), "the folder may follow as its own word");
        assert!(parse(&["--hidden"]).expect("known").hidden, "start at login shows no window");
        assert_eq!(parse(&["--open"]).expect("known").open, None, "without a place: where it was");
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for wrong in [&["--hiden"][..], &["--open=nowhere"], &["--data-dir"]] {
            let error = parse(wrong).expect_err("not understood");
            assert!(error.contains(wrong[0].split('=').next().unwrap_or("")), "{error}");
        }
    }
}
