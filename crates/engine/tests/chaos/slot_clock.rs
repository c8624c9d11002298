//! The clock of a process that claims slots as fast as it can; the benchmark of claims includes this
//! file by its path.

use loopkeeper_engine::clock::{Clock, SystemClock};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Wall time stands at the slot that is claimed; awake time is real.
#[derive(Debug)]
pub struct SlotClock(pub AtomicI64);

impl Clock for SlotClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn awake(&self) -> Duration {
        SystemClock.awake()
    }
}
