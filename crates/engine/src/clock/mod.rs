//! Wall time and awake time, real or virtual.
//!
//! Two clocks with two purposes: *wall time* decides when a slot is due; *awake time* decides how
//! old a lease is, since neither sleep nor a changed clock may make anyone look dead.
//! Waiting is tokio's business (`tokio::time::sleep`), so a test that pauses tokio's time pauses
//! everything; only the scheduler's long wait for the next slot asks the clock itself.

#[cfg(target_os = "linux")]
mod alarm;

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

/// Tells wall time and awake time.
pub trait Clock: Debug + Send + Sync {
    /// Returns wall time in ms since 1970 UTC. It may jump in both directions.
    fn now_ms(&self) -> i64;

    /// Returns the time this machine was awake since boot: it never jumps and stands still in sleep
    /// (CLOCK_MONOTONIC on Linux, CLOCK_UPTIME_RAW on macOS, unbiased interrupt time on Windows).
    fn awake(&self) -> Duration;

    /// Waits until wall time is `at_ms`, but no longer than `longest`; may end before either, such
    /// as when the clock was set or the machine woke, and never reports `at_ms` early by itself:
    /// look at the clock again. `i64::MAX` waits for no instant.
    fn until(&self, at_ms: i64, longest: Duration) -> Wait<'_> {
        Box::pin(tokio::time::sleep(left(self.now_ms(), at_ms, longest)))
    }
}

/// A wait that somebody else drives.
pub type Wait<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Returns how long to wait from `now_ms` for `at_ms`, at most `longest`.
fn left(now_ms: i64, at_ms: i64, longest: Duration) -> Duration {
    let left = u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or(0);
    Duration::from_millis(left).min(longest)
}

/// The clocks of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one legal place for wall time")]
    fn now_ms(&self) -> i64 {
        let now = std::time::SystemTime::now();
        match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        }
    }

    fn awake(&self) -> Duration {
        awake_since_boot()
    }

    #[cfg(target_os = "linux")]
    fn until(&self, at_ms: i64, longest: Duration) -> Wait<'_> {
        Box::pin(alarm::until(self.now_ms(), at_ms, longest))
    }
}

#[cfg(unix)]
fn awake_since_boot() -> Duration {
    #[cfg(target_os = "macos")]
    const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
    #[cfg(not(target_os = "macos"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid timespec that outlives the call; the clock exists on every Unix we
    // build for, so the call cannot fail.
    unsafe { libc::clock_gettime(CLOCK, &mut spec) };
    Duration::new(u64::try_from(spec.tv_sec).unwrap_or(0), u32::try_from(spec.tv_nsec).unwrap_or(0))
}

#[cfg(windows)]
fn awake_since_boot() -> Duration {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn QueryUnbiasedInterruptTime(time: *mut u64) -> i32;
    }
    let mut hundred_ns = 0u64;
    // SAFETY: the pointer is valid for the call.
    unsafe { QueryUnbiasedInterruptTime(&mut hundred_ns) };
    Duration::from_nanos(hundred_ns.saturating_mul(100))
}
