use super::testing::{Note, Notes, job};
use super::*;
use crate::clock::SystemClock;

struct Place {
    folder: tempfile::TempDir,
    agents: Agents,
}

/// Agents with one command, `echo`, that prints its folder's name and its prompt.
fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "touch \"$2\" 2>/dev/null; printf '%s' \"$1\"";
    let argv = ["sh", "-c", script, "sh", "{prompt}", "{model}"].map(str::to_owned).to_vec();
    let config = AgentsConfig {
        opencode: OpencodeConfig::default(),
        commands: [("echo".to_owned(), CommandConfig { argv, stdin: false })].into(),
        own: folder.path().join("own"),
        opencode_config: folder.path().join("config"),
        environment: Vec::new(),
    };
    std::fs::create_dir(folder.path().join("project")).expect("made");
    Place { folder, agents: Agents::new(config, Arc::new(SystemClock)) }
}

impl Place {
    fn job(&self, prompt: &str) -> Job {
        let mut job = job("echo", "/dev/null", prompt);
        job.project.path = self.folder.path().join("project");
        job
    }

    async fn run(&self, job: &Job) -> (Outcome, Vec<Note>) {
        let notes = Notes::default();
        let (_sender, receiver) = mpsc::channel(1);
        let outcome = self.agents.run(job, &notes, receiver).await;
        (outcome, notes.list())
    }
}

#[tokio::test]
async fn snippets_are_expanded_and_variables_filled_in() {
    let place = place();
    let snippets = place.folder.path().join("project/.opencode/snippets");
    std::fs::create_dir_all(&snippets).expect("made");
    std::fs::write(snippets.join("where.md"), "in {{project}}").expect("written");
    let mut job = place.job("Look #where: {{last_result}}");
    let (outcome, _) = place.run(&job).await;
    assert_eq!(
        outcome.answer.as_deref(),
        Some("Look in {{project}}: {{last_result}}"),
        "without the policy braces are text"
    );
    job.variables = Some(Variables {
        project: "/srv/alpha".to_owned(),
        last_result: "see #where".to_owned(),
        ..Variables::default()
    });
    let (outcome, _) = place.run(&job).await;
    assert_eq!(
        outcome.answer.as_deref(),
        Some("Look in /srv/alpha: see #where"),
        "an earlier answer expands nothing"
    );
}

#[tokio::test]
async fn a_worktree_with_changes_is_kept_and_named() {
    let place = place();
    let project = place.folder.path().join("project");
    let mut git = std::process::Command::new("sh");
    git.args([
        "-c",
        "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m one",
    ]);
    assert!(git.current_dir(&project).status().expect("git").success());
    let mut job = place.job("x");
    job.worktree = true;
    let (outcome, _) = place.run(&job).await;
    assert_eq!((outcome.status, &outcome.worktree), (Ended::Succeeded, &None), "no changes");
    job.execution.model_id = "made".to_owned();
    let (outcome, notes) = place.run(&job).await;
    let kept = outcome.worktree.expect("it made a file");
    assert!(kept.join("made").exists() && !project.join("made").exists(), "it worked apart");
    let named = |note: &Note| matches!(note, Note::Step(StepKind::Note, text) if text.contains(&*kept.to_string_lossy()));
    assert!(notes.iter().any(named), "the row names it: {notes:?}");
}

#[tokio::test]
async fn a_missing_project_folder_is_said_before_anything_runs() {
    let place = place();
    let mut job = place.job("x");
    job.project.path = place.folder.path().join("gone");
    let (outcome, notes) = place.run(&job).await;
    assert_eq!(outcome.reason, Some(EndReason::BadFolder));
    assert!(notes.is_empty(), "nothing was begun: {notes:?}");
}

#[tokio::test]
async fn commands_are_taken_over_by_their_child() {
    let place = place();
    assert_eq!(place.agents.kind("echo"), AgentKind::Command);
    assert_eq!(place.agents.kind("demo"), AgentKind::Demo);
    assert_eq!(place.agents.kind("anthropic"), AgentKind::Opencode);
    let (_sender, receiver) = mpsc::channel(1);
    let outcome = place.agents.follow(&place.job("x"), &Notes::default(), receiver).await;
    assert_eq!(outcome.status, Ended::Lost, "a command without a recorded child");
}

#[test]
fn a_run_can_be_spawned() {
    fn sendable<T: Send>(_: T) {}
    let place = place();
    let (job, notes) = (place.job("x"), Notes::default());
    let (_sender, receiver) = mpsc::channel(1);
    sendable(place.agents.run(&job, &notes, receiver));
    let (_sender, receiver) = mpsc::channel(1);
    sendable(place.agents.follow(&job, &notes, receiver));
}
