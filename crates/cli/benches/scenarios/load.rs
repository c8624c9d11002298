//! The standard load: projects with loops whose prompts have 500 bytes.

use loopkeeper_engine::Paths;
use loopkeeper_engine::project::registry::Registry;
use std::fs;
use std::path::{Path, PathBuf};

/// How many tasks a project of the standard load has.
pub const PER_PROJECT: usize = 100;

/// A data folder, a home and projects in a temporary place.
pub struct Load {
    dir: tempfile::TempDir,
    pub tasks: usize,
}

impl Load {
    /// Makes so many tasks, a hundred in a project; none is due for months.
    pub fn of(tasks: usize) -> Load {
        let load = Load::empty();
        let mut left = tasks;
        let mut number = 0;
        while left > 0 {
            let here = left.min(PER_PROJECT);
            let project = load.project(&format!("p{number:02}"));
            for task in 0..here {
                let (minute, hour) = (task % 60, number % 24);
                let cron = format!("{minute} {hour} {} {} *", 1 + task % 28, 1 + task % 12);
                load.write(&project, &format!("task-{task:03}"), &cron, "demo/echo");
            }
            left -= here;
            number += 1;
        }
        Load { tasks, ..load }
    }

    /// Makes the folders only.
    pub fn empty() -> Load {
        let load = Load { dir: tempfile::tempdir().expect("a folder"), tasks: 0 };
        for folder in [load.home(), load.data()] {
            fs::create_dir_all(folder).expect("made");
        }
        load
    }

    /// Returns the folder of everything. The folder above is watched too, so it is nobody else's.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("load")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    pub fn settings(&self) -> PathBuf {
        self.root().join("settings.toml")
    }

    /// Names what the engine may touch, as the program does.
    pub fn paths(&self) -> Paths {
        Paths {
            data: self.data(),
            home: self.home(),
            settings: self.settings(),
            opencode_config: self.root().join("opencode"),
            runtime: None,
        }
    }

    /// Makes a project and lists it.
    pub fn project(&self, name: &str) -> PathBuf {
        let folder = self.root().join("projects").join(name);
        // The root of a worktree: nothing above it is searched.
        fs::create_dir_all(folder.join(".git")).expect("made");
        fs::create_dir_all(loopkeeper_engine::loops_folder(&folder)).expect("made");
        Registry::of(&self.paths()).add(&folder, None, 1_800_000_000_000).expect("listed");
        folder
    }

    /// Writes an enabled loop.
    pub fn write(&self, project: &Path, name: &str, cron: &str, model: &str) {
        let prompt = "Look at what changed since yesterday and say it in five lines. ".repeat(8);
        let text = format!(
            "---\nname: {name}\nenabled: true\nschedule: \"{cron}\"\ntimezone: Europe/Kyiv\nmodel: {model}\n---\n{}\n",
            &prompt[..500]
        );
        let folder = loopkeeper_engine::loops_folder(project);
        fs::write(folder.join(format!("{name}.md")), text).expect("written");
    }

    /// Says in words how much it is.
    pub fn words(&self) -> String {
        format!("{} tasks", self.tasks)
    }
}
