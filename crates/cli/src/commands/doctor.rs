//! `doctor`: everything that can be wrong, and what to do about it.

use crate::context::Context;
use crate::failure::{DONE, FAILED, Failure, Outcome};
use crate::output::Ink;
use loopkeeper_engine::view::{Finding, FindingSeverity};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub async fn run(_: Args, context: &Context) -> Outcome {
    // What keeps the data folder from being opened is the first finding.
    let findings = match context.settings() {
        Err(failure) => vec![refused("settings", &failure, &context.paths.settings)],
        Ok(settings) => match context.open_with(settings, false).await {
            Ok(engine) => engine.doctor().await?,
            Err(failure) => vec![refused("data folder", &failure, &context.paths.data)],
        },
    };
    if context.out.json {
        context.out.value(&findings);
    } else {
        for finding in &findings {
            let (ink, mark) = match finding.severity {
                FindingSeverity::Ok => (Ink::Good, "ok     "),
                FindingSeverity::Warning => (Ink::Warn, "warning"),
                FindingSeverity::Error => (Ink::Bad, "error  "),
            };
            context.out.line(format!(
                "{}  {}: {}",
                context.out.ink(ink, mark),
                finding.area,
                finding.message
            ));
            context.out.indented("         ", finding.help.as_deref().unwrap_or_default());
        }
    }
    let broken = findings.iter().any(|finding| finding.severity == FindingSeverity::Error);
    Ok(if broken { FAILED } else { DONE })
}

fn refused(area: &str, failure: &Failure, path: &Path) -> Finding {
    Finding {
        area: area.to_owned(),
        severity: FindingSeverity::Error,
        message: failure.message.clone(),
        help: failure.help.clone().or_else(|| Some(format!("look at {}", path.display()))),
    }
}
