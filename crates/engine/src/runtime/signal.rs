//! The dead man's signal (DESIGN §8 `[signal]`): a URL called at a run's start, success and failure,
//! so that somebody else notices when nothing runs any more. It never holds up a run.

use super::Runtime;
use crate::task::policy::Policy;
use std::sync::Arc;
use std::time::Duration;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(10);

/// When the signal is called; the paths are those of healthchecks.io and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    Success,
    Failure,
}

impl Runtime {
    /// Calls the task's signal, else the setting's, in the background.
    pub(super) fn signal(self: &Arc<Self>, policy: &Policy, moment: Moment) {
        let settings = self.settings();
        let Some(url) = policy.signal.as_deref().or(settings.signal.url.as_deref()) else {
            return;
        };
        let url = url_at(url, moment);
        self.go(async move {
            let called = async {
                let client = crate::http::client().timeout(LIMIT).build()?;
                client.get(&url).send().await?.error_for_status()
            };
            if let Err(error) = called.await {
                // The URL is a secret of its kind: only what went wrong is logged.
                tracing::warn!(error = %error.without_url(), "the signal could not be sent");
            }
        });
    }
}

fn url_at(url: &str, moment: Moment) -> String {
    let base = url.trim_end_matches('/');
    match moment {
        Moment::Start => format!("{base}/start"),
        Moment::Success => base.to_owned(),
        Moment::Failure => format!("{base}/fail"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_are_the_usual_ones() {
        let url = "https://signal.example/ping/1/";
        assert_eq!(url_at(url, Moment::Start), "https://signal.example/ping/1/start");
        assert_eq!(url_at(url, Moment::Success), "https://signal.example/ping/1");
        assert_eq!(url_at(url, Moment::Failure), "https://signal.example/ping/1/fail");
    }
}
