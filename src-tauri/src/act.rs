//! What clicks in the tray and on notifications do.

use crate::desktop::{Desktop, Running};
use crate::platform;
use crate::tray::menu::{Action, PauseFor, Reply};
use chrono::{DateTime, Days, TimeDelta, TimeZone};
use chrono_tz::Tz;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{EngineError, WaitFor};
use loopkeeper_engine::ledger::Answer;
use std::sync::Arc;

/// Does what was clicked; what goes wrong is told in a notification.
pub async fn perform(desktop: Arc<Desktop>, action: Action) {
    let done = match &action {
        Action::Open(place) => {
            desktop.open(place.as_ref());
            Ok(())
        }
        Action::StartAtLogin => {
            let (app, environment) = (&desktop.app, &desktop.environment);
            let on = platform::starts_at_login(app, environment) != Some(true);
            platform::set_start_at_login(app, environment, on)
        }
        Action::TryAgain => desktop.try_run().await,
        Action::Quit if !desktop.window.may_close(&desktop.app).await => Ok(()),
        Action::Quit => return desktop.quit(true).await,
        _ => match desktop.running() {
            Some(running) => ask(&desktop, &running, &action).await.map_err(sentence),
            None => Err(desktop.problem().unwrap_or_else(|| "it is still starting".to_owned())),
        },
    };
    if let Err(error) = done {
        tracing::warn!(error, ?action, "a click came to nothing");
        desktop.say(complaint(&action), &error);
    }
    desktop.put_marks_right();
}

async fn ask(
    desktop: &Desktop,
    running: &Running,
    action: &Action,
) -> loopkeeper_engine::engine::Result<()> {
    let engine = &running.engine;
    match action {
        Action::Run { project, task } => {
            engine.try_run(project, task, WaitFor::Accepted).await.map(drop)
        }
        Action::Stop(run) => engine.cancel(*run).await.map(drop),
        Action::Answer { run, ask, reply } => {
            let answer = match reply {
                Reply::Once => Answer::Once,
                Reply::Deny => Answer::Reject,
                Reply::Option(text) => Answer::Text(text.clone()),
            };
            engine.answer(*run, ask, &answer).await.map(drop)
        }
        Action::Enable { project, task, on } => {
            engine.set_enabled(project, task, *on).await.map(drop)
        }
        Action::ResumeTask { project, task } => engine.resume_task(project, task).await,
        Action::Dismiss(need) => engine.dismiss(need).await,
        Action::Pause(length) => {
            let until = until(*length, SystemClock.now_ms(), desktop.zone);
            engine.pause(until).await.map(drop)
        }
        Action::Resume => engine.resume().await,
        Action::Open(_) | Action::StartAtLogin | Action::TryAgain | Action::Quit => Ok(()),
    }
}

/// Returns when a pause ends, ms since 1970; `None`: when somebody resumes.
fn until(length: PauseFor, now: i64, zone: Tz) -> Option<i64> {
    match length {
        PauseFor::Hour => Some(now + 3_600_000),
        PauseFor::Tomorrow => {
            let today = DateTime::from_timestamp_millis(now)?.with_timezone(&zone).date_naive();
            let midnight = today.checked_add_days(Days::new(1))?.and_hms_opt(0, 0, 0)?;
            // Some zones have no midnight on the day of a clock change: the first time after it.
            (0..=24)
                .find_map(|hours| {
                    let time = midnight.checked_add_signed(TimeDelta::hours(hours))?;
                    zone.from_local_datetime(&time).earliest()
                })
                .map(|time| time.timestamp_millis())
        }
        PauseFor::Resumed => None,
    }
}

fn sentence(error: EngineError) -> String {
    match error {
        EngineError::Unavailable { message, help: Some(help) } => format!("{message}. {help}"),
        error => error.to_string(),
    }
}

fn complaint(action: &Action) -> &'static str {
    match action {
        Action::Run { .. } => "The run did not start",
        Action::Stop(_) => "The run was not stopped",
        Action::Answer { .. } => "The answer was not taken",
        Action::Enable { .. } => "The task was not changed",
        Action::ResumeTask { .. } | Action::Resume => "Nothing was resumed",
        Action::Dismiss(_) => "Nothing was dismissed",
        Action::Pause(_) => "Nothing was paused",
        Action::StartAtLogin => "Start at login was not changed",
        Action::Open(_) | Action::TryAgain | Action::Quit => "Loopkeeper cannot work",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tomorrow_begins_at_the_zone_s_midnight() {
        let now = 1_767_600_000_000; // 2026-01-05 08:00 UTC.
        let kyiv = until(PauseFor::Tomorrow, now, Tz::Europe__Kyiv);
        assert_eq!(kyiv, Some(now + 14 * 3_600_000), "22:00 UTC is midnight in Kyiv");
        // In Cairo the clocks of 2026-04-24 go from 00:00 to 01:00.
        let cairo = 1_777_020_000_000; // 2026-04-24 08:40 UTC.
        let before = until(PauseFor::Tomorrow, cairo - 86_400_000, Tz::Africa__Cairo);
        assert_eq!(before, Some(1_776_981_600_000), "a day without midnight begins at 01:00");
        assert_eq!(until(PauseFor::Resumed, now, Tz::UTC), None, "somebody resumes");
    }
}
