//! The system's own alarm for an instant of wall time.
//!
//! A timer of tokio's of 30 s wakes its thread three times, once for each level of its wheel; this
//! one wakes it once. It also ends at once when somebody sets the clock, and when the machine wakes
//! from sleep (`TFD_TIMER_CANCEL_ON_SET`), so that neither has to be found out by looking.

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits until wall time is `at_ms`, at most `longest` from `now_ms` on.
pub(super) async fn until(now_ms: i64, at_ms: i64, longest: Duration) {
    let wait = super::left(now_ms, at_ms, longest);
    if wait.is_zero() {
        return;
    }
    let longest_ms = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
    let at_ms = at_ms.min(now_ms.saturating_add(longest_ms));
    // Out of file descriptors, say: then it is looked at as often as everywhere else.
    let Ok(alarm) = set(at_ms) else { return tokio::time::sleep(wait).await };
    // Readable when the instant is there, and when the clock was set.
    if alarm.readable().await.is_err() {
        tokio::time::sleep(wait).await;
    }
}

fn set(at_ms: i64) -> std::io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let alarm = timerfd_create(TimerfdClockId::Realtime, flags)?;
    let at = Timespec {
        tv_sec: at_ms.div_euclid(1000),
        // Zero altogether would switch the alarm off; that instant was in 1970.
        tv_nsec: (at_ms.rem_euclid(1000) * 1_000_000).max(1),
    };
    let never = Timespec { tv_sec: 0, tv_nsec: 0 };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(&alarm, flags, &Itimerspec { it_interval: never, it_value: at })?;
    // SAFETY: an `OwnedFd` always answers with the one descriptor that it owns, and it is open until
    // the `AsyncFd` that owns it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(alarm, Interest::READABLE) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[tokio::test]
    async fn the_alarm_is_never_early_and_ends_at_the_longest_wait() {
        let clock = SystemClock;
        let at = clock.now_ms() + 30;
        until(clock.now_ms(), at, Duration::from_secs(3600)).await;
        assert!(clock.now_ms() >= at, "not before its instant");
        let began = clock.awake();
        until(clock.now_ms(), i64::MAX, Duration::from_millis(30)).await;
        assert!(clock.awake() - began >= Duration::from_millis(29), "the wait has a longest time");
        until(clock.now_ms(), 5, Duration::from_secs(3600)).await;
        until(-10, -20, Duration::from_secs(3600)).await;
    }
}
