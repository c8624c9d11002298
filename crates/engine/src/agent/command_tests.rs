use super::super::testing::{Note, Notes, job};
use super::*;
use crate::agent::journal::{Control, JournalError};
use crate::host::Liveness;
use std::sync::Arc;

fn shell(script: &str) -> CommandConfig {
    let argv = ["/bin/sh", "-c", script, "agent", "{prompt}", "{model}", "{title}"];
    CommandConfig { argv: argv.map(str::to_owned).to_vec(), stdin: false }
}

struct Running {
    notes: Arc<Notes>,
    controls: mpsc::Sender<Control>,
    task: tokio::task::JoinHandle<Outcome>,
    folder: tempfile::TempDir,
}

fn begin(config: CommandConfig, prompt: &str) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let (controls, receiver) = mpsc::channel(4);
    let notes = Arc::new(Notes::default());
    let task = tokio::spawn({
        let (notes, directory, prompt) =
            (Arc::clone(&notes), folder.path().to_owned(), prompt.to_owned());
        async move {
            let mut inbox = Inbox::new(receiver);
            let job = job("agent", "sonnet", &prompt);
            run(&config, &[], &directory, &prompt, &job, &*notes, &mut inbox).await
        }
    });
    Running { notes, controls, task, folder }
}

impl Running {
    async fn group(&self) -> u32 {
        self.notes
            .wait(|notes, _| {
                notes.iter().find_map(|note| match note {
                    Note::Child(child) => Some(child.pid),
                    _ => None,
                })
            })
            .await
    }

    async fn says(&self, text: &str) {
        self.notes.wait(|_, tail| tail.contains(text).then_some(())).await;
    }

    async fn stop(self, reason: StopReason) -> (Outcome, u32) {
        let group = self.group().await;
        self.controls.send(Control::Stop { reason }).await.expect("still running");
        (self.task.await.expect("no panic"), group)
    }

    async fn end(self) -> (Outcome, u32) {
        let group = self.group().await;
        (self.task.await.expect("no panic"), group)
    }
}

fn assert_nothing_left(group: u32) {
    assert!(!process::group_lives(group), "the group {group} must be gone with its run");
}

#[tokio::test]
async fn arguments_are_passed_whole_and_without_a_shell() {
    let running =
        begin(shell(r#"printf '%s|%s|%s' "$1" "$2" "$3""#), "$(rm -rf x); {model}\n\"q\"");
    let (outcome, group) = running.end().await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    let answer = outcome.answer.expect("an answer");
    assert_eq!(
        answer, "$(rm -rf x); {model}\n\"q\"|sonnet|Task 2026-12-01 09:00",
        "a prompt is text"
    );
    assert_nothing_left(group);
}

#[tokio::test]
async fn the_prompt_comes_on_the_standard_input() {
    let config = CommandConfig { argv: vec!["cat".into()], stdin: true };
    let (outcome, _) = begin(config, "hello\nthere").end().await;
    assert_eq!(outcome.answer.as_deref(), Some("hello\nthere"));
}

#[tokio::test]
async fn a_program_that_reads_no_input_still_ends() {
    let mut config = shell("echo done");
    config.stdin = true;
    config.argv.truncate(4);
    let (outcome, _) = begin(config, &"x".repeat(1_000_000)).end().await;
    assert_eq!(outcome.answer.as_deref(), Some("done"), "nobody waits for the pipe");
}

#[tokio::test]
async fn it_runs_in_the_project_and_knows_its_task() {
    let running = begin(shell(r#"pwd -P; echo "$LOOPKEEPER_TASK $LOOPKEEPER_RUN""#), "x");
    let folder = std::fs::canonicalize(running.folder.path()).expect("there");
    let (outcome, _) = running.end().await;
    let expected = format!("{}\nt 1", folder.display());
    assert_eq!(outcome.answer, Some(expected));
}

#[tokio::test]
async fn a_program_that_ignores_term_is_killed() {
    let running = begin(shell("trap '' TERM; echo ready; while :; do sleep 1; done"), "x");
    running.says("ready").await;
    let (outcome, group) = running.stop(StopReason::TimedOut).await;
    assert_eq!(outcome.status, Ended::TimedOut);
    assert_eq!(outcome.answer.as_deref(), Some("ready"), "what it said is kept");
    assert_nothing_left(group);
}

#[tokio::test]
async fn what_it_forked_goes_with_it() {
    let script = "sleep 1000 & sleep 1000 & (trap '' HUP; sleep 1000) & echo forked";
    let (outcome, group) = begin(shell(script), "x").end().await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    assert_eq!(outcome.answer.as_deref(), Some("forked"), "open pipes do not hold the run");
    assert_nothing_left(group);
}

#[tokio::test]
async fn a_flood_is_kept_short_and_does_not_block() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo \"line $i of a flood of many lines\"; i=$((i+1)); done; printf half";
    let (outcome, group) = begin(shell(script), "x").end().await;
    let answer = outcome.answer.expect("a tail");
    assert!(answer.len() <= ANSWER_LIMIT, "{} bytes", answer.len());
    assert!(answer.ends_with("half"), "a last line without its end is kept");
    assert_nothing_left(group);
}

#[tokio::test]
async fn exit_codes_and_signals_are_told() {
    let (outcome, _) = begin(shell("echo no quota >&2; exit 3"), "x").end().await;
    assert_eq!(outcome.reason, Some(EndReason::ExitCode));
    assert_eq!(outcome.error.as_deref(), Some("`agent` ended with exit code 3: no quota"));
    let (outcome, _) = begin(shell("kill -SEGV $$"), "x").end().await;
    assert_eq!(outcome.reason, Some(EndReason::Signal));
    assert!(outcome.error.expect("a text").contains("SIGSEGV"));
}

#[tokio::test]
async fn a_missing_program_says_what_to_do() {
    let config = CommandConfig { argv: vec!["/nowhere/claude".into()], stdin: true };
    let outcome = begin(config, "x").task.await.expect("no panic");
    assert_eq!(outcome.reason, Some(EndReason::NotSent));
    assert!(outcome.error.expect("a text").contains("/nowhere/claude"));
}

#[tokio::test]
async fn shutdown_ends_a_command() {
    let running = begin(shell("echo ready; exec sleep 1000"), "x");
    running.says("ready").await;
    let (outcome, group) = running.stop(StopReason::Shutdown).await;
    assert_eq!(outcome.status, Ended::Cancelled);
    assert_eq!(outcome.error.as_deref(), Some("stopped by shutdown"));
    assert_nothing_left(group);
}

#[tokio::test]
async fn a_child_that_cannot_be_recorded_does_not_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = Notes::refusing(JournalError::Failed("disk full".into()));
    let (_sender, receiver) = mpsc::channel(1);
    let (config, job) = (shell("exec sleep 1000"), job("agent", "m", "x"));
    let mut inbox = Inbox::new(receiver);
    let outcome = run(&config, &[], folder.path(), "x", &job, &notes, &mut inbox).await;
    assert_eq!(outcome.reason, Some(EndReason::NotSent));
    assert!(outcome.error.expect("a text").contains("disk full"));
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing() {
    let running = begin(shell("sleep 1000 & echo ready; wait"), "x");
    let group = running.group().await;
    running.says("ready").await;
    running.task.abort();
    let _ = running.task.await;
    let gone = async {
        while process::group_lives(group) {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "the group is killed when the run is dropped");
}

#[tokio::test]
async fn an_orphan_is_ended_by_pid_and_start_time() {
    let mut child = Command::new("/bin/sh");
    child.args(["-c", "sleep 1000 & sleep 1000"]).process_group(0);
    let mut child = child.spawn().expect("started");
    let id = ProcessId::of(child.id().expect("running"));
    let reaper = tokio::spawn(async move { child.wait().await });

    let stranger = ProcessId { started: id.started + 1, ..id.clone() };
    let outcome = follow_orphan("agent", Some(&stranger)).await;
    assert_eq!(outcome.status, Ended::Lost);
    assert_eq!(id.liveness(), Liveness::Alive, "another start time is another process");

    let outcome = follow_orphan("agent", Some(&id)).await;
    assert_eq!(outcome.reason, Some(EndReason::Orphaned));
    reaper.await.expect("no panic").expect("waited");
    assert_nothing_left(id.pid);
    assert!(
        follow_orphan("agent", None).await.error.is_some_and(|text| text.contains("nobody knows"))
    );
}
