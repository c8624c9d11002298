//! The dialect of cron expressions: text → bit sets.
//!
//! It follows cron-parser 4.9, which reads the same files in the peer, so that both arm the same
//! instants. Departures, all on purpose: fewer than five and more than six fields are refused
//! (cron-parser fills them up from the left, so that `9 * * *` runs sixty times), aliases count in
//! any case, a weekday step adds no false Sunday, and a day field counts as unrestricted only when
//! a star or a question mark is in it and it holds every value.

use super::ScheduleError;
use super::field::{self, SHAPES, Shape, error, number, replace_names, set};

/// The longest expression that the peer keeps whole; it cuts longer ones, and the rest then means
/// something else.
pub const MAX_LENGTH: usize = 200;

/// One expression, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// The expression as written, trimmed.
    pub text: String,
    /// The five or six fields, an alias already replaced.
    pub fields: Vec<String>,
    /// Bits 0–59.
    pub seconds: u64,
    /// Bits 0–59.
    pub minutes: u64,
    /// Bits 0–23.
    pub hours: u32,
    /// Which days.
    pub days: Days,
    /// Bits 1–12.
    pub months: u16,
    /// Whether minute or hour field begin with `*`: such an expression means a beat, not a time.
    pub interval: bool,
}

/// The two day fields of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// Days of the month, bits 1–31.
    pub of_month: u32,
    /// `L`: the last day of the month.
    pub last_of_month: bool,
    /// Weekdays, bits 0–6, Sunday 0.
    pub of_week: u8,
    /// `5L`: the last such weekday of the month, bits 0–6.
    pub last_of_week: u8,
    /// `1#2`: weekday and which one of the month; the weekday is then not in `of_week`.
    pub nth: Option<(u8, u8)>,
    /// Whether the day of the month is restricted.
    pub month_restricted: bool,
    /// Whether the weekday is restricted.
    pub week_restricted: bool,
}

pub const EVERY_DAY_OF_MONTH: u32 = 0xffff_fffe;
pub const EVERY_WEEKDAY: u8 = 0x7f;
pub const EVERY_MONTH: u16 = 0x1ffe;
pub const EVERY_HOUR: u32 = 0x00ff_ffff;

impl Days {
    /// Every day.
    pub const ALL: Days = Days {
        of_month: EVERY_DAY_OF_MONTH,
        last_of_month: false,
        of_week: EVERY_WEEKDAY,
        last_of_week: 0,
        nth: None,
        month_restricted: false,
        week_restricted: false,
    };

    /// Returns the matching days of a month as bits 1–31. `first` is the weekday of its first day,
    /// `length` its number of days. Both fields restricted: either is enough.
    pub fn in_month(&self, first: u32, length: u32) -> u32 {
        let month = if self.month_restricted { self.by_month(length) } else { 0 };
        let week = if self.week_restricted { self.by_week(first, length) } else { 0 };
        let all = EVERY_DAY_OF_MONTH & ((1u64 << (length + 1)) - 1) as u32;
        if self.month_restricted || self.week_restricted { (month | week) & all } else { all }
    }

    fn by_month(&self, length: u32) -> u32 {
        self.of_month | if self.last_of_month { 1 << length } else { 0 }
    }

    fn by_week(&self, first: u32, length: u32) -> u32 {
        (1..=length).filter(|day| self.is_weekday(first, length, *day)).fold(0, |b, d| b | 1 << d)
    }

    fn is_weekday(&self, first: u32, length: u32, day: u32) -> bool {
        let weekday = (first + day - 1) % 7;
        let bit = 1u8 << weekday;
        let nth = self.nth.is_some_and(|(wanted, n)| {
            u32::from(wanted) == weekday && u32::from(n) == day.div_ceil(7)
        });
        self.of_week & bit != 0 || (self.last_of_week & bit != 0 && day + 7 > length) || nth
    }
}

/// Returns the five fields that an `@alias` stands for.
fn alias(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return None,
    })
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// Names the field or the field count, and what to write; never-matching expressions too.
    pub fn parse(text: &str) -> Result<Cron, ScheduleError> {
        let text = text.trim();
        let fields = split(text)?;
        let with_second = fields.len() == 6;
        let mut parts = fields.iter().map(String::as_str);
        let seconds = if with_second { parts.next().unwrap_or("0") } else { "0" };
        let [minute, hour, day, month, weekday] = [(); 5].map(|()| parts.next().unwrap_or("*"));
        let days = days(day, weekday)?;
        let cron = Cron {
            text: text.to_owned(),
            seconds: set(&SHAPES[0], seconds)?,
            minutes: set(&SHAPES[1], minute)?,
            hours: set(&SHAPES[2], hour)? as u32,
            days,
            months: set(&SHAPES[4], month)? as u16,
            interval: minute.starts_with('*') || hour.starts_with('*'),
            fields,
        };
        if cron.ever_matches() { Ok(cron) } else { Err(never(&cron)) }
    }

    /// Says whether any date matches. Exact without a search: within 400 years every month begins
    /// on every weekday, in leap years too.
    fn ever_matches(&self) -> bool {
        (1..=12u32).filter(|month| self.months & (1 << month) != 0).any(|month| {
            let longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            (0..7).any(|first| self.days.in_month(first, longest) != 0)
        })
    }

    /// Returns the expression as the peer reads it in the same way, where this one it would refuse
    /// or read otherwise: aliases that it lacks, and a weekday step up to Sunday.
    pub fn for_peer(&self) -> Option<String> {
        const KNOWN: [&str; 5] = ["@yearly", "@monthly", "@weekly", "@daily", "@hourly"];
        if self.text.starts_with('@') {
            return (!KNOWN.contains(&self.text.as_str())).then(|| self.fields.join(" "));
        }
        let last = self.fields.len() - 1;
        let mut fields = self.fields.clone();
        let mut changed = false;
        for (index, shape) in SHAPES.iter().skip(6 - fields.len()).enumerate() {
            let parts: Vec<String> = fields[index]
                .split(',')
                .map(|part| stepped(shape, part).unwrap_or_else(|| part.to_owned()))
                .collect();
            let written = if index == last && self.has_false_sunday() {
                list(u64::from(self.days.of_week))
            } else {
                parts.join(",")
            };
            changed |= written != fields[index];
            fields[index] = written;
        }
        changed.then(|| fields.join(" "))
    }

    /// Says whether cron-parser 4.9 adds a Sunday that is not meant: it does for each weekday range
    /// that ends at 7, whatever its step.
    pub fn has_false_sunday(&self) -> bool {
        let Some(weekday) = self.fields.last() else { return false };
        let Ok(weekday) = replace_names(&SHAPES[5], weekday) else { return false };
        self.days.of_week & 1 == 0
            && weekday.split(',').any(|part| {
                part.split_once('/').is_some_and(|(range, _)| {
                    range.ends_with("-7") || range.bytes().all(|b| b.is_ascii_digit())
                })
            })
    }
}

/// Writes `N/step` as `N-max/step`; `None` for everything else.
fn stepped(shape: &Shape, part: &str) -> Option<String> {
    let (start, step) = part.split_once('/')?;
    start.bytes().all(|b| b.is_ascii_digit()).then(|| format!("{start}-{}/{step}", shape.max))
}

/// Writes a bit set as a list.
fn list(bits: u64) -> String {
    let values: Vec<String> =
        (0..64).filter(|bit| bits & (1 << bit) != 0).map(|bit: u32| bit.to_string()).collect();
    values.join(",")
}

fn split(text: &str) -> Result<Vec<String>, ScheduleError> {
    const ORDER: &str = "write five fields: minute hour day-of-month month weekday, \
                         such as `0 9 * * 1-5`";
    if text.is_empty() {
        return Err(error("the cron expression is empty".into(), ORDER));
    }
    if text.len() > MAX_LENGTH {
        return Err(error(
            format!("the cron expression has {} characters, {MAX_LENGTH} at most", text.len()),
            "write lists as ranges and steps (`0-59`, `*/5`, `mon-fri`); \
             OpenChamber cuts longer expressions, which then mean something else",
        ));
    }
    if text.starts_with('@') {
        let Some(fields) = alias(text) else {
            let help = match text.split_whitespace().next() {
                Some("@every") => {
                    "write the beat as fields, such as `*/5 * * * *` for five minutes"
                }
                Some("@reboot") => "a loop runs at times, not at starts: write five fields",
                _ => "write @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually",
            };
            return Err(error(format!("`{text}` is no known alias"), help));
        };
        return Ok(fields.split(' ').map(str::to_owned).collect());
    }
    let fields: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match fields.len() {
        5 | 6 => Ok(fields),
        4 => Err(error(
            format!("`{text}` has four fields, a cron expression has five"),
            format!(
                "one is missing: write `{text} *` if it begins with the minute, \
                     `0 {text}` if with the hour"
            ),
        )),
        1..=3 => Err(error(
            format!("`{text}` has {} of the five fields of a cron expression", fields.len()),
            ORDER,
        )),
        7 => Err(error(
            format!("`{text}` has seven fields, a cron expression has five, or six with seconds"),
            "take out the year: it cannot be restricted",
        )),
        n => Err(error(
            format!("`{text}` has {n} fields, a cron expression has five, or six with seconds"),
            ORDER,
        )),
    }
}

fn never(cron: &Cron) -> ScheduleError {
    error(
        format!("`{}` never runs: no month has such a day", cron.text),
        "write a day that the month has, or `L` for its last one",
    )
}

fn days(day: &str, weekday: &str) -> Result<Days, ScheduleError> {
    let mut days = Days::ALL;
    days.of_month = 0;
    days.of_week = 0;
    let shape = &SHAPES[3];
    for part in day.split(',') {
        match part {
            "L" => days.last_of_month = true,
            _ => days.of_month |= field::part(shape, day, part)? as u32,
        }
    }
    let shape = &SHAPES[5];
    if let Some((which, n)) = weekday.split_once('#') {
        days.nth = Some(nth(weekday, &replace_names(shape, which)?, n)?);
    } else {
        for part in replace_names(shape, weekday)?.split(',') {
            match part.strip_suffix('L') {
                Some(which) => days.last_of_week |= 1 << last_weekday(weekday, which)?,
                None => {
                    let bits = field::part(shape, weekday, part)?;
                    days.of_week |= ((bits | bits >> 7) & 0x7f) as u8;
                }
            }
        }
    }
    let star = |text: &str| text.split(',').any(|part| part.starts_with(['*', '?']));
    days.month_restricted = !(star(day) && days.of_month == EVERY_DAY_OF_MONTH);
    days.week_restricted = !(star(weekday) && days.of_week == EVERY_WEEKDAY);
    Ok(days)
}

fn nth(field: &str, which: &str, n: &str) -> Result<(u8, u8), ScheduleError> {
    let bad = || {
        error(
            format!("weekday `{field}` is not understood"),
            "write one weekday, `#` and 1 to 5, such as `1#2` for the second Monday; \
             it cannot stand in a list or a range",
        )
    };
    let weekday = number(which).filter(|weekday| *weekday <= 7).ok_or_else(bad)?;
    let n = number(n).filter(|n| (1..=5).contains(n)).ok_or_else(bad)?;
    Ok(((weekday % 7) as u8, n as u8))
}

fn last_weekday(field: &str, which: &str) -> Result<u8, ScheduleError> {
    match number(which) {
        Some(weekday) if weekday <= 7 => Ok((weekday % 7) as u8),
        _ => Err(error(
            format!("weekday `{field}` is not understood"),
            "write the weekday before the `L`, such as `5L` for the last Friday of the month",
        )),
    }
}
