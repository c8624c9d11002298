//! A git worktree for one run: made before it, removed when it left no changes, kept otherwise.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// A worktree that belongs to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worktree {
    /// The repository's own folder.
    repository: PathBuf,
    /// The worktree.
    path: PathBuf,
    /// Where the run works: the project's place inside the worktree.
    pub(crate) directory: PathBuf,
    /// The repository's commit when the worktree was made or found again.
    base: String,
}

/// What became of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// It had no changes and is gone.
    Removed,
    /// It holds changes or commits.
    Kept(PathBuf),
}

impl Worktree {
    /// Returns the folder of a run's worktree.
    fn folder(own: &Path, run_id: i64) -> PathBuf {
        own.join("run").join(format!("worktree-{run_id}"))
    }

    /// Makes the worktree of a run, or finds it again when the run is taken over.
    ///
    /// # Errors
    /// Says what git said, and what to do.
    pub(crate) async fn make(own: &Path, project: &Path, run_id: i64) -> Result<Self, String> {
        let top = git(project, &["rev-parse", "--show-toplevel"]).await.map_err(|error| {
            format!(
                "The task asks for a worktree, but {} is not in a git repository ({error}). Remove `worktree` from its policy, or make one with `git init`.",
                project.display()
            )
        })?;
        let base = git(project, &["rev-parse", "--verify", "HEAD"]).await.map_err(|error| {
            format!(
                "The repository {top} has no commit yet, so no worktree can be made ({error}). Commit something first."
            )
        })?;
        let prefix = git(project, &["rev-parse", "--show-prefix"]).await.unwrap_or_default();
        let path = Self::folder(own, run_id);
        let repository = PathBuf::from(&top);
        let directory = path.join(prefix.trim_end_matches('/'));
        if !path.join(".git").exists() {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)
                    .map_err(|error| format!("{} could not be made: {error}", parent.display()))?;
            }
            let folder = path.to_string_lossy().into_owned();
            git(&repository, &["worktree", "add", "--detach", &folder, &base])
                .await
                .map_err(|error| format!("The worktree {folder} could not be made: {error}"))?;
        }
        // A folder that is not committed is missing in the worktree.
        std::fs::create_dir_all(&directory)
            .map_err(|error| format!("{} could not be made: {error}", directory.display()))?;
        Ok(Worktree { repository, path, directory, base })
    }

    /// Removes the worktree if the run left nothing in it. When in doubt it is kept.
    pub(crate) async fn leave(self) -> Left {
        let status = git(&self.path, &["status", "--porcelain", "--untracked-files=all"]).await;
        let head = git(&self.path, &["rev-parse", "--verify", "HEAD"]).await;
        // A commit that the repository has is none of the run's: it may have moved on meanwhile.
        let known = match head {
            Ok(head) => {
                let ask = ["merge-base", "--is-ancestor", &head, &self.base];
                head == self.base || git(&self.repository, &ask).await.is_ok()
            }
            Err(_) => false,
        };
        let clean = known && status.is_ok_and(|status| status.is_empty());
        if !clean {
            return Left::Kept(self.path);
        }
        let folder = self.path.to_string_lossy().into_owned();
        // Ignored files (build output) do not count as changes, hence the force.
        match git(&self.repository, &["worktree", "remove", "--force", &folder]).await {
            Ok(_) => Left::Removed,
            Err(error) => {
                tracing::warn!(%error, worktree = %folder, "a worktree was not removed");
                Left::Kept(self.path)
            }
        }
    }
}

async fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    // A surrounding git (a hook that started us) must not redirect these calls.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    let output = command
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .env("GIT_TERMINAL_PROMPT", "0")
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("git could not be started: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(error.trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn repository(folder: &Path) -> PathBuf {
        let project = folder.join("repo/sub");
        std::fs::create_dir_all(&project).expect("made");
        std::fs::write(project.join("file"), "one").expect("written");
        for arguments in [
            &["init", "-q"][..],
            &["add", "."],
            &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"],
        ] {
            git(&folder.join("repo"), arguments).await.expect("git works");
        }
        project
    }

    #[tokio::test]
    async fn it_is_removed_when_clean_and_kept_when_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = repository(folder.path()).await;
        let own = folder.path().join("own");
        let clean = Worktree::make(&own, &project, 1).await.expect("made");
        assert!(clean.directory.join("file").exists(), "it works in the project's own place");
        let path = clean.path.clone();
        assert_eq!(clean.leave().await, Left::Removed);
        assert!(!path.exists(), "nothing is left behind");

        let changed = Worktree::make(&own, &project, 2).await.expect("made");
        std::fs::write(changed.directory.join("new"), "two").expect("written");
        let path = changed.path.clone();
        let again = Worktree::make(&own, &project, 2).await.expect("found again");
        assert_eq!(again.directory, changed.directory, "a run that is taken over finds its place");
        assert_eq!(changed.leave().await, Left::Kept(path.clone()));
        assert!(path.exists(), "an untracked file is a change");
        assert_eq!(std::fs::read_to_string(project.join("file")).expect("there"), "one");
    }

    #[tokio::test]
    async fn a_commit_in_it_is_a_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = repository(folder.path()).await;
        let made = Worktree::make(&folder.path().join("own"), &project, 1).await.expect("made");
        let commit = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ];
        git(&made.directory, &commit).await.expect("committed");
        assert!(matches!(made.leave().await, Left::Kept(_)), "removing it would lose the commit");
    }

    #[tokio::test]
    async fn a_folder_without_git_is_said_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Worktree::make(folder.path(), folder.path(), 1).await.expect_err("no git");
        assert!(error.contains("git init"), "{error}");
    }
}
