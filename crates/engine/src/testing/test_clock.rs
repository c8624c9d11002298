//! A clock over tokio's paused time: whoever waits lets it pass.

use crate::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Wall time is a base, plus tokio's time since, plus naps and steps; awake time is tokio's alone.
#[derive(Debug)]
pub struct TestClock {
    base_ms: i64,
    began: Instant,
    /// Blocking threads ask too: they read the time of the runtime that made the clock.
    runtime: Handle,
    shift_ms: AtomicI64,
}

impl TestClock {
    /// Makes a clock that shows `now_ms` and an hour of awake time; inside a runtime only.
    pub fn new(now_ms: i64) -> Self {
        TestClock {
            base_ms: now_ms,
            began: Instant::now(),
            runtime: Handle::current(),
            shift_ms: AtomicI64::new(0),
        }
    }

    fn elapsed(&self) -> Duration {
        let _inside = self.runtime.enter();
        self.began.elapsed()
    }

    /// Sleeps the machine: wall time moves on, awake time stands still.
    pub fn nap(&self, by: Duration) {
        self.step(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    }

    /// Sets the wall clock by so many ms, in either direction, as a person or NTP does.
    pub fn step(&self, by_ms: i64) {
        self.shift_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.base_ms + elapsed + self.shift_ms.load(Ordering::SeqCst)
    }

    fn awake(&self) -> Duration {
        Duration::from_secs(3600) + self.elapsed()
    }
}
