//! The OpenCode agent against the real program and a stub model: one server for the whole binary,
//! started by the engine itself in a home folder of its own.
//!
//! `LOOPKEEPER_TEST_OPENCODE` names the program; else it is the one that `npm ci` puts into
//! `tests/node_modules`.

mod real;

use loopkeeper_engine::agent::testing::Note;
use loopkeeper_engine::agent::{Answer, AskKind, EndReason, Ended, Outcome, StepKind, StopReason};
use real::World;

fn succeeded(outcome: &Outcome) -> &str {
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
    outcome.answer.as_deref().expect("a success has an answer")
}

fn failed(outcome: &Outcome, reason: EndReason) -> &str {
    assert_eq!(outcome.status, Ended::Failed, "{outcome:?}");
    assert_eq!(outcome.reason, Some(reason), "{:?}", outcome.error);
    outcome.error.as_deref().expect("a failure has a text")
}

#[tokio::test]
async fn a_run_is_followed_to_its_answer() {
    let world = World::get().await;
    let running = world.run("stub/ok", "Report, please.");
    let (outcome, notes) = running.end().await;
    assert_eq!(succeeded(&outcome), "Hello from the stub.");
    let session = outcome.session_id.clone().expect("a session");
    assert_eq!(
        notes[..2],
        [Note::Session(session.clone()), Note::Accepted],
        "the session is stored before anything is accepted"
    );
    let tokens = outcome.tokens.expect("counted");
    assert_eq!((tokens.input, tokens.output, tokens.cache_read), (200, 30, 1000));
    assert!(outcome.cost.is_some_and(|cost| cost > 0.0), "{:?}", outcome.cost);
    assert!(outcome.duration.is_some_and(|duration| !duration.is_zero()), "{:?}", outcome.duration);
    let told = world.session(&session).await;
    assert_eq!(told["title"], "Task 2026-12-01 09:00");
    assert!(world.prompts().await.iter().any(|prompt| prompt.contains("Report, please.")));
}

#[tokio::test]
async fn unknown_models_agents_and_folders_fail_before_anything_is_sent() {
    let world = World::get().await;
    let (outcome, notes) = world.run("stub/nope", "x").end().await;
    assert!(failed(&outcome, EndReason::UnknownModel).contains("ok"), "it lists what exists");
    assert!(notes.is_empty(), "no session was made: {notes:?}");
    let (outcome, _) = world.run("nope/ok", "x").end().await;
    assert!(failed(&outcome, EndReason::UnknownModel).contains("stub"));
    let (outcome, _) = world.start(world.job("stub/ok", "x").agent("ghost")).end().await;
    assert!(failed(&outcome, EndReason::UnknownAgent).contains("build"));
    let mut job = world.job("stub/ok", "x");
    job.0.project.path = world.folder().join("moved away");
    let (outcome, _) = world.start(job).end().await;
    assert!(failed(&outcome, EndReason::BadFolder).contains("moved away"));
}

#[tokio::test]
async fn errors_of_the_model_are_failures_with_its_text() {
    let world = World::get().await;
    let (outcome, _) = world.run("stub/e401", "x").end().await;
    let text = failed(&outcome, EndReason::ModelError);
    assert!(text.contains("Incorrect API key") && text.contains("opencode auth"), "{text}");
    let (outcome, _) = world.run("stub/e400", "x").end().await;
    assert!(failed(&outcome, EndReason::ModelError).contains("malformed"));
}

#[tokio::test]
async fn retries_at_the_model_are_shown_and_can_be_stopped() {
    let world = World::get().await;
    for model in ["stub/e429", "stub/e500", "stub/cut"] {
        let running = world.run(model, "x");
        running.step(StepKind::Retrying).await;
        let (outcome, _) = running.stop(StopReason::TimedOut).await;
        assert_eq!(outcome.status, Ended::TimedOut, "{model}: {:?}", outcome.error);
        assert!(!world.is_busy(&outcome).await, "{model}: the session was aborted");
    }
}

#[tokio::test]
async fn a_hanging_model_is_stopped_at_our_limit() {
    let world = World::get().await;
    let running = world.run("stub/hang", "x");
    running.accepted().await;
    let (outcome, _) = running.stop(StopReason::TimedOut).await;
    assert_eq!(outcome.status, Ended::TimedOut);
    assert!(!world.is_busy(&outcome).await, "nothing goes on at the server");
}

#[tokio::test]
async fn an_answer_without_a_word_and_a_cut_one_are_failures() {
    let world = World::get().await;
    let (outcome, _) = world.run("stub/empty", "x").end().await;
    failed(&outcome, EndReason::NoAnswer);
    let (outcome, _) = world.run("stub/length", "x").end().await;
    failed(&outcome, EndReason::Truncated);
    assert_eq!(outcome.answer.as_deref(), Some("Hello from the stub."), "what was said is kept");
}

#[tokio::test]
async fn a_permission_blocks_until_it_is_given() {
    let world = World::get().await;
    let running = world.run("stub/tool-bash", "BASH: echo once > made");
    let ask = running.ask().await;
    assert_eq!((ask.kind, ask.text.as_str()), (AskKind::Permission, "Run `echo once > made`?"));
    running.answer(&ask, Answer::Once).await;
    let (outcome, notes) = running.end().await;
    succeeded(&outcome);
    assert!(notes.contains(&Note::Unblocked), "{notes:?}");
    assert!(notes.iter().any(|note| matches!(note, Note::Step(StepKind::Answered, _))));
}

#[tokio::test]
async fn a_refused_permission_is_a_failure() {
    let world = World::get().await;
    let running = world.run("stub/tool-bash", "BASH: echo never");
    let ask = running.ask().await;
    running.answer(&ask, Answer::Reject).await;
    let (outcome, _) = running.end().await;
    assert!(failed(&outcome, EndReason::Rejected).contains("bash"));
}

#[tokio::test]
async fn a_question_is_answered_in_words() {
    let world = World::get().await;
    let running = world.run("stub/tool-question", "x");
    let ask = running.ask().await;
    assert_eq!(ask.text, "Which colour?");
    assert_eq!(ask.questions[0].choices.len(), 2);
    running.answer(&ask, Answer::Text("Blue".into())).await;
    let (outcome, _) = running.end().await;
    succeeded(&outcome);
}

#[tokio::test]
async fn an_unanswered_question_is_rejected_with_the_run() {
    let world = World::get().await;
    let running = world.run("stub/tool-question", "x");
    running.ask().await;
    let (outcome, _) = running.stop(StopReason::BlockedTimedOut).await;
    assert!(failed(&outcome, EndReason::BlockedTimeout).contains("Which colour?"));
    let session = outcome.session_id.expect("a session");
    assert!(!world.pending().await.contains(&session), "nothing waits for a run that has ended");
}

#[tokio::test]
async fn auto_accept_never_blocks() {
    let world = World::get().await;
    let mut job = world.job("stub/tool-bash", "BASH: echo by itself");
    job.0.execution.permission_auto_accept = Some(true);
    let (outcome, notes) = world.start(job).end().await;
    succeeded(&outcome);
    assert!(!notes.iter().any(|note| matches!(note, Note::Blocked(_))), "{notes:?}");
}

#[tokio::test]
async fn slash_commands_keep_all_their_lines() {
    let world = World::get().await;
    let (outcome, _) = world.run("stub/ok", "/hello bob\nand   alice").end().await;
    succeeded(&outcome);
    let prompts = world.prompts().await;
    assert!(
        prompts.iter().any(|prompt| prompt.contains("Say hello to bob\nand alice")),
        "the template with all arguments: {prompts:?}"
    );
    let (outcome, notes) = world.run("stub/ok", "/no-such-command x").end().await;
    succeeded(&outcome);
    assert!(
        notes.iter().any(|note| matches!(note, Note::Step(StepKind::Note, text) if text.contains("/no-such-command"))),
        "an unknown command is sent as text, with a note: {notes:?}"
    );
    let (outcome, _) = world.run("stub/e401", "/hello bob").end().await;
    assert!(failed(&outcome, EndReason::ModelError).contains("Incorrect API key"));
    let running = world.run("stub/slow-60", "/hello bob");
    running.accepted().await;
    let (outcome, _) = running.stop(StopReason::Cancelled).await;
    assert_eq!(outcome.status, Ended::Cancelled);
    assert!(!world.is_busy(&outcome).await, "a command's session is aborted like any other");
}

#[tokio::test]
async fn a_session_stopped_elsewhere_is_cancelled() {
    let world = World::get().await;
    let running = world.run("stub/slow-60", "x");
    let session = running.accepted().await;
    world.abort(&session).await;
    let (outcome, _) = running.end().await;
    assert_eq!(outcome.status, Ended::Cancelled, "{:?}", outcome.error);
    assert_eq!(outcome.reason, Some(EndReason::Aborted));
}

#[tokio::test]
async fn a_run_is_left_at_shutdown_and_taken_over() {
    let world = World::get().await;
    let running = world.run("stub/slow-3", "take me over");
    running.accepted().await;
    let (outcome, _) = running.stop(StopReason::Shutdown).await;
    assert_eq!(outcome.status, Ended::LeftRunning, "the session goes on");
    let session = outcome.session_id.expect("a session");
    let (outcome, _) = world.follow(&session).end().await;
    assert!(succeeded(&outcome).contains("tick 2"), "the new holder sees the whole answer");
    let again = world.follow(&session).end().await.0;
    succeeded(&again);
    let asked = world.prompts().await;
    let count = asked.iter().filter(|prompt| prompt.contains("take me over")).count();
    assert_eq!(count, 1, "nothing is ever sent again");
}

#[tokio::test]
async fn a_slash_command_whose_sender_vanished_is_followed() {
    let world = World::get().await;
    let session = world.empty_session().await;
    world.send_command_and_vanish(&session, "stub/slow-3").await;
    let (outcome, _) = world.follow(&session).end().await;
    assert!(succeeded(&outcome).contains("tick 2"), "the server goes on without its asker");
}

#[tokio::test]
async fn two_processes_share_one_server() {
    let world = World::get().await;
    let before = world.pid();
    let other = world.other_agents();
    let (one, two) =
        tokio::join!(other.agents(world.folder()), world.agents().agents(world.folder()));
    assert_eq!(one.expect("answered"), two.expect("answered"));
    assert_eq!(world.pid(), before, "the second process found the server of the first");
}

#[tokio::test]
async fn an_attached_server_is_used_and_never_ended() {
    let world = World::get().await;
    let agents = world.attached_agents();
    let (outcome, _) = world.run_with(agents.clone(), "stub/ok", "x").end().await;
    succeeded(&outcome);
    let health = agents.health().await;
    assert!(health.healthy && !health.own, "{health:?}");
    assert!(!agents.end_server(|| true).await.expect("asked"), "it is not ours to end");
    assert!(agents.health().await.healthy, "it lives");
}

#[tokio::test]
async fn a_session_without_our_message_was_not_sent() {
    let world = World::get().await;
    let session = world.empty_session().await;
    let (outcome, _) = world.follow(&session).end().await;
    failed(&outcome, EndReason::NotSent);
    let (outcome, _) = world.follow("ses_00000000000000000000000000").end().await;
    assert_eq!(outcome.status, Ended::Lost, "a session that is gone: {:?}", outcome.error);
}

#[tokio::test]
async fn a_goal_is_driven_on_until_it_is_reached() {
    let world = World::get().await;
    let mut job = world.job("stub/goal-2", "Make it green.");
    job.0.execution.goal_enabled = Some(true);
    let (outcome, notes) = world.start(job).end().await;
    assert!(succeeded(&outcome).contains("All is done."));
    let turns = notes.iter().filter(|note| matches!(note, Note::Step(StepKind::Turn, _))).count();
    assert_eq!(turns, 3, "the first and two further turns: {notes:?}");
    let session = world.session(outcome.session_id.as_deref().expect("a session")).await;
    let goal = &session["metadata"]["openchamber"]["goal"];
    assert_eq!((&goal["status"], &goal["turnsUsed"]), (&"complete".into(), &2.into()), "{goal}");
}

#[tokio::test]
async fn a_goal_ends_at_its_budget() {
    let world = World::get().await;
    let mut job = world.job("stub/goal-9", "Make it green.");
    job.0.execution.goal_enabled = Some(true);
    job.0.execution.goal_token_budget = Some(300);
    let (outcome, _) = world.start(job).end().await;
    assert!(failed(&outcome, EndReason::GoalBudget).contains("tokens"));
}

#[tokio::test]
async fn pickers_list_what_can_be_chosen_without_keys() {
    let world = World::get().await;
    let agents = world.agents();
    let models = agents.models(world.folder()).await.expect("answered");
    let shown = serde_json::to_string(&models).expect("JSON");
    assert!(shown.contains("slow-60") && shown.contains("echo"), "{shown}");
    assert!(!shown.contains("sk-stub"), "keys stay at OpenCode");
    let names: Vec<String> = agents
        .agents(world.folder())
        .await
        .expect("answered")
        .into_iter()
        .map(|a| a.name)
        .collect();
    assert!(names.contains(&"build".to_owned()), "{names:?}");
    let commands = agents.commands(world.folder()).await.expect("answered");
    assert!(commands.iter().any(|command| command.name == "hello"));
    let health = agents.health().await;
    assert!(health.healthy && health.own && health.tried, "{health:?}");
}
