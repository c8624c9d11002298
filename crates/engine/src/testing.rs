//! Virtual time, and whole engines in it, for tests.

#[cfg(unix)]
mod host;
mod scene;
mod test_clock;

#[cfg(unix)]
pub use host::Host;
pub use scene::{Scene, instant};
pub use test_clock::TestClock;

use crate::clock::Clock;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    times: Mutex<(i64, Duration)>,
}

impl ManualClock {
    /// Makes a clock that shows `now_ms` (wall time) and an hour of awake time.
    pub fn new(now_ms: i64) -> Self {
        ManualClock { times: Mutex::new((now_ms, Duration::from_secs(3600))) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut (i64, Duration)) -> T) -> T {
        change(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets time pass awake: both clocks move.
    pub fn advance(&self, by: Duration) {
        self.with(|times| {
            times.0 += i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            times.1 += by;
        });
    }

    /// Sleeps the machine: wall time moves, awake time stands still.
    pub fn nap(&self, by: Duration) {
        self.with(|times| times.0 += i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    }

    /// Sets wall time, as a person or NTP does: awake time stands still.
    pub fn set(&self, now_ms: i64) {
        self.with(|times| times.0 = now_ms);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.with(|times| times.0)
    }

    fn awake(&self) -> Duration {
        self.with(|times| times.1)
    }
}
