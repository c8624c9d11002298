//! Wall times: which local seconds a schedule names, without any zone.
//!
//! A wall time is a count of seconds since 1970-01-01 00:00 *as the clock on the wall shows it*.

use super::cron::{self, Cron, Days};
use chrono::{Datelike, NaiveDate};

/// Seconds of a day on the wall.
pub const DAY: i64 = 86_400;

/// How far a search goes: every weekday falls on 29 February within 40 years, also across 2100.
const YEARS: i32 = 48;

/// The wall times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wall {
    /// One moment.
    Once(i64),
    /// Times of the day on days of the year.
    Recurring(Recurring),
}

/// Times of the day on days of the year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurring {
    /// Bits 1–12.
    months: u16,
    /// The matching days of a month, by weekday of its first day and by length − 28.
    days: [[u32; 4]; 7],
    times: Times,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Times {
    /// Every combination of hours, minutes and seconds.
    Grid { hours: u32, minutes: u64, seconds: u64 },
    /// Seconds of the day, ascending, never empty.
    List(Vec<u32>),
}

impl Recurring {
    /// Returns the wall times of a cron expression.
    pub fn cron(cron: &Cron) -> Recurring {
        let Cron { hours, minutes, seconds, .. } = *cron;
        Recurring::new(cron.months, cron.days, Times::Grid { hours, minutes, seconds })
    }

    /// Returns the wall times of times of the day (in seconds) on weekdays (bits 0–6, Sunday 0).
    pub fn times(mut times: Vec<u32>, weekdays: u8) -> Recurring {
        times.sort_unstable();
        times.dedup();
        let every = weekdays == cron::EVERY_WEEKDAY;
        let days = Days { of_week: weekdays, week_restricted: !every, ..Days::ALL };
        Recurring::new(cron::EVERY_MONTH, days, Times::List(times))
    }

    fn new(months: u16, days: Days, times: Times) -> Recurring {
        let mut table = [[0; 4]; 7];
        for (first, row) in (0..).zip(table.iter_mut()) {
            for (extra, bits) in (0..).zip(row.iter_mut()) {
                *bits = days.in_month(first, 28 + extra);
            }
        }
        Recurring { months, days: table, times }
    }

    fn next(&self, from: i64) -> Option<i64> {
        let (day, second) = (from.div_euclid(DAY), from.rem_euclid(DAY) as u32);
        let date = NaiveDate::from_epoch_days(i32::try_from(day).ok()?)?;
        let (mut year, mut month) = (date.year(), date.month());
        let last_year = (year + YEARS).min(9999);
        // The days that are left in the month at hand: this one with what is left of it, then all.
        let mut left = u32::MAX << date.day();
        if let Some(time) = self.times.at_or_after(second) {
            let first = Month::of(year, month)?;
            if self.matching(&first, month) & (1 << date.day()) != 0 {
                return Some(day * DAY + i64::from(time));
            }
        }
        left &= !(1 << date.day());
        loop {
            if self.months & (1 << month) != 0 {
                let at = Month::of(year, month)?;
                let days = self.matching(&at, month) & left;
                if days != 0 {
                    let day = at.first_day + i64::from(days.trailing_zeros()) - 1;
                    return Some(day * DAY + i64::from(self.times.first()));
                }
            }
            left = u32::MAX;
            let later = self.months & !((2 << month) - 1);
            if later != 0 {
                month = later.trailing_zeros();
            } else {
                year += 1;
                month = self.months.trailing_zeros();
            }
            if year > last_year {
                return None;
            }
        }
    }

    fn matching(&self, at: &Month, month: u32) -> u32 {
        if self.months & (1 << month) == 0 {
            return 0;
        }
        self.days[at.weekday as usize][at.length as usize - 28]
    }
}

struct Month {
    /// Days since 1970 of its first day.
    first_day: i64,
    weekday: u32,
    length: u32,
}

impl Month {
    fn of(year: i32, month: u32) -> Option<Month> {
        let first = NaiveDate::from_ymd_opt(year, month, 1)?;
        let leap = first.leap_year();
        let length = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let weekday = first.weekday().num_days_from_sunday();
        Some(Month { first_day: i64::from(first.to_epoch_days()), weekday, length })
    }
}

impl Times {
    fn first(&self) -> u32 {
        match self {
            Times::Grid { hours, minutes, seconds } => {
                hours.trailing_zeros() * 3600
                    + minutes.trailing_zeros() * 60
                    + seconds.trailing_zeros()
            }
            Times::List(times) => times.first().copied().unwrap_or(0),
        }
    }

    fn at_or_after(&self, from: u32) -> Option<u32> {
        match self {
            Times::List(times) => times.iter().copied().find(|time| *time >= from),
            Times::Grid { hours, minutes, seconds } => {
                let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
                if hours & (1 << hour) != 0 {
                    if minutes & (1 << minute) != 0
                        && let Some(second) = bit_from(*seconds, second)
                    {
                        return Some(hour * 3600 + minute * 60 + second);
                    }
                    if let Some(minute) = bit_from(*minutes, minute + 1) {
                        return Some(hour * 3600 + minute * 60 + seconds.trailing_zeros());
                    }
                }
                let hour = bit_from(u64::from(*hours), hour + 1)?;
                Some(hour * 3600 + minutes.trailing_zeros() * 60 + seconds.trailing_zeros())
            }
        }
    }
}

/// Returns the lowest set bit at or above `from`.
fn bit_from(bits: u64, from: u32) -> Option<u32> {
    let left = bits & u64::MAX.checked_shl(from).unwrap_or(0);
    (left != 0).then(|| left.trailing_zeros())
}

impl Wall {
    /// Returns the first wall time at or after `from`.
    pub fn at_or_after(&self, from: i64) -> Option<i64> {
        match self {
            Wall::Once(at) => (*at >= from).then_some(*at),
            Wall::Recurring(recurring) => recurring.next(from),
        }
    }
}
