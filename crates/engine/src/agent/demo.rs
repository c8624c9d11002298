//! The built-in demo agent: no network, no model, for first runs and tests.
//!
//! `demo/echo` answers after a moment, `demo/slow` after 10 s, `demo/fail` fails, `demo/ask` blocks
//! until it is answered. It waits by tokio's time only, so it works in virtual time.

use super::job::{EndReason, Ended, Job, Outcome};
use super::journal::{Answer, Ask, AskKind, Control, Inbox, Journal, StepKind, StopReason, note};
use std::time::Duration;
use tokio::time::Instant;

/// The models that the demo agent has.
pub const MODELS: [(&str, &str); 4] = [
    ("echo", "Answers with the prompt after a moment"),
    ("slow", "Answers after 10 seconds"),
    ("fail", "Fails"),
    ("ask", "Waits for a permission"),
];

/// Runs a demo job to its end.
pub async fn run(job: &Job, journal: &dyn Journal, inbox: &mut Inbox) -> Outcome {
    let session_id = format!("demo_{}", job.run_id);
    if let Err(error) = journal.session(&session_id).await {
        return Outcome::failed(EndReason::NotSent, error.to_string());
    }
    note(journal.accepted().await);
    let began = Instant::now();
    let mut outcome = play(job, journal, inbox).await;
    outcome.session_id = Some(session_id);
    outcome.duration = Some(began.elapsed());
    outcome
}

async fn play(job: &Job, journal: &dyn Journal, inbox: &mut Inbox) -> Outcome {
    let (wait, model) = match job.execution.model_id.as_str() {
        model @ ("echo" | "fail" | "ask") => (Duration::from_millis(200), model),
        "slow" => (Duration::from_secs(10), "slow"),
        other => {
            let names: Vec<String> =
                MODELS.iter().map(|(name, _)| format!("demo/{name}")).collect();
            return Outcome::failed(
                EndReason::UnknownModel,
                format!(
                    "The demo agent has no model `{other}`. Write one of: {}.",
                    names.join(", ")
                ),
            );
        }
    };
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        reason = inbox.stopped() => return stopped(reason, None),
    }
    match model {
        "fail" => Outcome::failed(
            EndReason::ModelError,
            "The demo agent failed, as demo/fail always does. Choose demo/echo for a run that succeeds.",
        ),
        "ask" => ask(job, journal, inbox).await,
        _ => succeeded(format!("You said: {}", job.execution.prompt)),
    }
}

async fn ask(job: &Job, journal: &dyn Journal, inbox: &mut Inbox) -> Outcome {
    let ask = Ask {
        id: format!("demo_ask_{}", job.run_id),
        kind: AskKind::Permission,
        text: "May the demo agent go on?".to_owned(),
        detail: job.execution.prompt.to_string(),
        always: vec!["everything the demo agent does".to_owned()],
        questions: Vec::new(),
    };
    note(journal.blocked(std::slice::from_ref(&ask)).await);
    loop {
        match inbox.next().await {
            Control::Stop { reason } => return stopped(reason, Some(&ask)),
            Control::Answer { ask_id, .. } if ask_id != ask.id => {}
            Control::Answer { answer, .. } => {
                note(journal.unblocked().await);
                note(journal.step(StepKind::Answered, &format!("{} {answer:?}", ask.text)).await);
                return match answer {
                    Answer::Reject => Outcome::failed(
                        EndReason::Rejected,
                        "The demo agent was refused what it asked for.",
                    ),
                    _ => succeeded("Thank you, the demo agent went on.".to_owned()),
                };
            }
        }
    }
}

fn succeeded(answer: String) -> Outcome {
    Outcome {
        answer: Some(super::job::keep_tail(&answer, super::job::ANSWER_LIMIT)),
        ..Outcome::new(Ended::Succeeded)
    }
}

fn stopped(reason: StopReason, ask: Option<&Ask>) -> Outcome {
    super::stopped(reason, ask.map(std::slice::from_ref).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Note, Notes, job};
    use super::*;
    use tokio::sync::mpsc;

    async fn play(model: &str) -> (Outcome, Duration) {
        let (_sender, receiver) = mpsc::channel(1);
        let began = Instant::now();
        let outcome =
            run(&job("demo", model, "hello"), &Notes::default(), &mut Inbox::new(receiver)).await;
        (outcome, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn it_works_in_virtual_time() {
        let (outcome, took) = play("slow").await;
        assert_eq!(outcome.status, Ended::Succeeded);
        assert_eq!(outcome.answer.as_deref(), Some("You said: hello"));
        assert!(took >= Duration::from_secs(10), "demo/slow takes 10 s of tokio's time");
        assert_eq!(play("fail").await.0.status, Ended::Failed);
        let unknown = play("nope").await.0;
        assert!(unknown.error.expect("a text").contains("demo/echo"), "it lists what exists");
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_for_its_answer() {
        let notes = Notes::default();
        let (sender, receiver) = mpsc::channel(4);
        for ask_id in ["another", "demo_ask_1"] {
            let answer = Control::Answer { ask_id: ask_id.into(), answer: Answer::Once };
            sender.send(answer).await.expect("open");
        }
        let outcome = run(&job("demo", "ask", "x"), &notes, &mut Inbox::new(receiver)).await;
        assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);
        let list = notes.list();
        assert!(
            matches!(&list[..], [Note::Session(_), Note::Accepted, Note::Blocked(asks), Note::Unblocked, Note::Step(..)] if asks.len() == 1),
            "{list:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_question_stands_in_the_error() {
        let (sender, receiver) = mpsc::channel(1);
        let running = tokio::spawn(async move {
            run(&job("demo", "ask", "x"), &Notes::default(), &mut Inbox::new(receiver)).await
        });
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let stop = Control::Stop { reason: StopReason::BlockedTimedOut };
        sender.send(stop).await.expect("still waiting");
        let outcome = running.await.expect("no panic");
        assert_eq!(outcome.reason, Some(EndReason::BlockedTimeout));
        assert!(outcome.error.expect("a text").contains("May the demo agent go on?"));
    }
}
