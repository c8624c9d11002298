//! `answer`: what a blocked run asks.

use crate::context::Context;
use crate::failure::{DONE, Failure, Outcome};
use loopkeeper_engine::ledger::{Answer, Ask, AskKind};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("reply").args(["once", "always", "reject", "text"]))]
pub struct Args {
    /// The run
    #[arg(value_name = "RUN")]
    run: i64,
    /// The answer to a question; one of its options or any text. `once`, `always` and `reject`
    /// answer a permission
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Allow it this time
    #[arg(long)]
    once: bool,
    /// Allow it from now on
    #[arg(long)]
    always: bool,
    /// Say no
    #[arg(long)]
    reject: bool,
    /// Which of several things it asks
    #[arg(long, value_name = "ID")]
    ask: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Outcome {
    let engine = context.open(false).await?;
    let view = engine.run(args.run).await?;
    let open: Vec<&Ask> = view.asks.iter().filter(|ask| ask.answered_at.is_none()).collect();
    let reply = reply(&args);
    let Some(mut reply) = reply else {
        for ask in &open {
            context.out.text(format!("{}: {}", ask.id, ask.text));
            for option in &ask.options {
                context.out.line(format!("  - {option}"));
            }
        }
        return Err(Failure::usage(if open.is_empty() {
            "the run asks nothing"
        } else {
            "what is the answer?"
        })
        .help("say --once, --always or --reject, or the text that answers a question"));
    };
    let ask = choose(&open, args.ask.as_deref())?;
    if let (AskKind::Permission, Answer::Text(word)) = (ask.kind, &reply) {
        // A question may have `once` among its options; a permission has nothing else.
        reply = match word.as_str() {
            "once" => Answer::Once,
            "always" => Answer::Always,
            "reject" => Answer::Reject,
            _ => reply,
        };
    }
    if ask.kind == AskKind::Permission && matches!(reply, Answer::Text(_)) {
        return Err(Failure::usage(format!("it wants a permission: {}", ask.text))
            .help("say --once, --always or --reject"));
    }
    if ask.kind == AskKind::Question && matches!(reply, Answer::Once | Answer::Always) {
        return Err(Failure::usage(format!("it asks a question: {}", ask.text))
            .help("write the answer as text, or say --reject"));
    }
    let run = engine.answer(args.run, &ask.id, &reply).await?;
    if context.out.json {
        context.out.value(&run);
    } else {
        context.out.note(format!(
            "answered; the run goes on within 2 s ({})",
            crate::output::word(&run.status)
        ));
    }
    Ok(DONE)
}

fn reply(args: &Args) -> Option<Answer> {
    match args {
        Args { once: true, .. } => Some(Answer::Once),
        Args { always: true, .. } => Some(Answer::Always),
        Args { reject: true, .. } => Some(Answer::Reject),
        Args { text: Some(text), .. } => Some(Answer::Text(text.clone())),
        _ => None,
    }
}

fn choose<'a>(open: &[&'a Ask], named: Option<&str>) -> Result<&'a Ask, Failure> {
    match (named, open) {
        (Some(id), _) => open
            .iter()
            .find(|ask| ask.id == id)
            .copied()
            .ok_or_else(|| Failure::usage(format!("the run asks nothing called {id}"))),
        (None, [ask]) => Ok(ask),
        (None, []) => {
            Err(Failure::usage("the run asks nothing")
                .help("`loopkeeper status` shows what needs you"))
        }
        (None, _) => {
            let ids: Vec<&str> = open.iter().map(|ask| ask.id.as_str()).collect();
            Err(Failure::usage("it asks several things")
                .help(format!("name one with --ask: {}", ids.join(", "))))
        }
    }
}
