//! Schedules in words, so that every surface says them alike.

use super::cron::{Cron, Days, EVERY_DAY_OF_MONTH, EVERY_HOUR, EVERY_MONTH};
use super::{cron, read};
use crate::task::Schedule;
use chrono::NaiveDate;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// More times of the day than this are told as minutes and hours.
const TIMES: usize = 6;

/// Says a schedule that compiles.
pub fn of(schedule: &Schedule, cron: Option<&Cron>) -> String {
    match (schedule, cron) {
        (_, Some(cron)) => cron_words(cron),
        (Schedule::Cron { cron, .. }, None) => cron.clone(),
        (Schedule::Daily { times, .. }, _) => format!("Every day at {}", list_of_times(times)),
        (Schedule::Weekly { times, weekdays, .. }, _) => {
            let bits = read::weekdays(weekdays).unwrap_or(0);
            format!("{} at {}", weekdays_of(bits), list_of_times(times))
        }
        (Schedule::Once { date, time, .. }, _) => format!("Once on {} at {time}", day_of(date)),
    }
}

fn day_of(date: &str) -> String {
    NaiveDate::parse_from_str(date, "%Y-%m-%d")
        .map_or_else(|_| date.to_owned(), |date| date.format("%-d %B %Y").to_string())
}

fn list_of_times(times: &[String]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.dedup();
    and(&times)
}

fn and(items: &[String]) -> String {
    join(items, "and")
}

fn join(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} {word} {last}", most.join(", ")),
    }
}

fn bits(set: u64) -> Vec<u32> {
    (0..64).filter(|bit| set & (1 << bit) != 0).collect()
}

/// Returns start and step of a set that is an even row through the whole of `0..size`.
fn row(values: &[u32], size: u32) -> Option<(u32, u32)> {
    let (first, second) = (values.first()?, values.get(1)?);
    let step = second - first;
    let even = values.windows(2).all(|pair| pair[1] - pair[0] == step);
    // It must begin within the first step and end within the last one.
    (even && *first < step && values.last()? + step >= size).then_some((*first, step))
}

fn cron_words(cron: &Cron) -> String {
    let days = days_of(cron);
    let hours = bits(u64::from(cron.hours));
    let (minutes, seconds) = (bits(cron.minutes), bits(cron.seconds));
    if hours.len() * minutes.len() * seconds.len() <= TIMES && cron.hours != EVERY_HOUR {
        let mut times = Vec::new();
        for hour in &hours {
            for minute in &minutes {
                for second in &seconds {
                    times.push(match (seconds.as_slice(), second) {
                        ([0], _) => format!("{hour:02}:{minute:02}"),
                        _ => format!("{hour:02}:{minute:02}:{second:02}"),
                    });
                }
            }
        }
        return format!("{} at {}", days.unwrap_or_else(|| "Every day".into()), and(&times));
    }
    let beat = beat(&hours, &minutes, &seconds);
    match days {
        Some(days) => format!("{days}, {beat}"),
        None if cron.hours != EVERY_HOUR && !beat.contains("hours") => {
            format!("Every day, {beat}")
        }
        None => capital(&beat),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Says minutes and hours that are too many to list.
fn beat(hours: &[u32], minutes: &[u32], seconds: &[u32]) -> String {
    let every_hour = hours.len() == 24;
    let every_minute = minutes.len() == 60;
    if seconds != [0] {
        let seconds = match (seconds.len(), row(seconds, 60)) {
            (60, _) => "every second".to_owned(),
            (_, Some((0, step))) => format!("every {step} seconds"),
            _ if every_minute => format!("every minute at second {}", and(&texts(seconds))),
            _ => format!("at second {}", and(&texts(seconds))),
        };
        let minutes = if every_minute { String::new() } else { format!(" of {}", past(minutes)) };
        return format!("{seconds}{minutes}{}", during(hours));
    }
    if let [minute] = minutes {
        // One time an hour.
        let at = if *minute == 0 { String::new() } else { format!(" at :{minute:02}") };
        return match (every_hour, row(hours, 24), hours) {
            (true, ..) => format!("every hour{at}"),
            (_, Some((0, step)), _) if 24 % step == 0 => format!("every {step} hours{at}"),
            (_, _, [first, .., last]) if (last - first) as usize + 1 == hours.len() => {
                format!("every hour, {first:02}:{minute:02}–{last:02}:{minute:02}")
            }
            _ => {
                let times: Vec<String> =
                    hours.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect();
                format!("at {}", and(&times))
            }
        };
    }
    let beat = match row(minutes, 60) {
        _ if every_minute => "every minute".to_owned(),
        Some((0, step)) => format!("every {step} minutes"),
        Some((first, step)) if 60 % step == 0 => {
            format!("every {step} minutes from :{first:02} on")
        }
        _ => format!("every hour at {}", past(minutes)),
    };
    format!("{beat}{}", during(hours))
}

fn texts(values: &[u32]) -> Vec<String> {
    values.iter().map(u32::to_string).collect()
}

/// Says minutes as `:05 and :20`, runs of three and more as `:00–:09`.
fn past(minutes: &[u32]) -> String {
    let runs: Vec<String> = runs(minutes)
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![format!(":{first:02}")],
            1 => vec![format!(":{first:02}"), format!(":{last:02}")],
            _ => vec![format!(":{first:02}–:{last:02}")],
        })
        .collect();
    and(&runs)
}

/// Says during which hours something goes on; nothing for all of them.
fn during(hours: &[u32]) -> String {
    if hours.len() == 24 {
        return String::new();
    }
    let spans: Vec<String> = runs(hours)
        .into_iter()
        .map(|(first, last)| format!("{first:02}:00–{last:02}:59"))
        .collect();
    format!(", {}", and(&spans))
}

fn runs(values: &[u32]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *value => *last = *value,
            _ => runs.push((*value, *value)),
        }
    }
    runs
}

/// Says the days; `None` for every day of the year.
fn days_of(cron: &Cron) -> Option<String> {
    let Cron { days, months, .. } = cron;
    let of =
        if *months == EVERY_MONTH { "every month".to_owned() } else { and(&month_names(*months)) };
    let within = if *months == EVERY_MONTH { String::new() } else { format!(" in {of}") };
    let single = |days: &Days| {
        let one = days.of_month.count_ones() == 1 && !days.last_of_month;
        (one && months.count_ones() == 1).then(|| {
            let month = MONTHS[months.trailing_zeros() as usize - 1];
            format!("every year on {} {month}", days.of_month.trailing_zeros())
        })
    };
    let month_part = || single(days).unwrap_or_else(|| format!("{} of {of}", days_of_month(days)));
    let text = match (days.month_restricted, days.week_restricted) {
        (false, false) if *months == EVERY_MONTH => return None,
        (false, false) => format!("every day in {of}"),
        (true, false) => month_part(),
        (false, true) => week_part(days, &of, &within),
        (true, true) => format!("{} or {}", month_part(), or_week_part(days, &of, &within)),
    };
    Some(capital(&text))
}

fn month_names(months: u16) -> Vec<String> {
    let months = bits(u64::from(months)).into_iter();
    months.map(|month| MONTHS[month as usize - 1].to_owned()).collect()
}

fn days_of_month(days: &Days) -> String {
    if days.of_month == EVERY_DAY_OF_MONTH {
        return "on every day".to_owned();
    }
    let values = bits(u64::from(days.of_month));
    if !days.last_of_month
        && let Some((first, step)) = row(&values.iter().map(|day| day - 1).collect::<Vec<_>>(), 31)
    {
        let from =
            if first == 0 { String::new() } else { format!(" from the {} on", ordinal(first + 1)) };
        return match step {
            2 => format!("on every second day{from}"),
            3 => format!("on every third day{from}"),
            _ if values.len() > 2 => format!("on every {} day{from}", ordinal(step)),
            _ => format!("on the {}", and(&values.iter().map(|d| ordinal(*d)).collect::<Vec<_>>())),
        };
    }
    let mut parts: Vec<String> = runs(&values)
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![ordinal(first)],
            1 => vec![ordinal(first), ordinal(last)],
            _ => vec![format!("{}–{}", ordinal(first), ordinal(last))],
        })
        .collect();
    if days.last_of_month {
        parts.push("last day".to_owned());
    }
    format!("on the {}", and(&parts))
}

fn ordinal(number: u32) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

fn week_part(days: &Days, of: &str, within: &str) -> String {
    match special_weekdays(days, of) {
        Some(text) => text,
        None => format!("{}{within}", weekdays_of(days.of_week)),
    }
}

/// The weekdays behind an "or", where "on" reads better.
fn or_week_part(days: &Days, of: &str, within: &str) -> String {
    match special_weekdays(days, of) {
        Some(text) => text,
        None if days.of_week.count_ones() == 7 => format!("on any weekday{within}"),
        None => format!("on {}{within}", lower_first(&weekdays_of(days.of_week))),
    }
}

fn lower_first(text: &str) -> String {
    match text {
        "Weekdays" | "Weekends" => text.to_lowercase(),
        _ => text.to_owned(),
    }
}

fn special_weekdays(days: &Days, of: &str) -> Option<String> {
    if let Some((weekday, n)) = days.nth {
        let n = ["first", "second", "third", "fourth", "fifth"][usize::from(n) - 1];
        return Some(format!("on the {n} {} of {of}", WEEKDAYS[usize::from(weekday)]));
    }
    if days.last_of_week == 0 {
        return None;
    }
    let last: Vec<String> = bits(u64::from(days.last_of_week))
        .into_iter()
        .map(|weekday| format!("the last {}", WEEKDAYS[weekday as usize]))
        .collect();
    let last = format!("on {} of {of}", and(&last));
    Some(match days.of_week {
        0 => last,
        week => format!("on {} and {last}", lower_first(&weekdays_of(week))),
    })
}

/// Says weekdays, Monday first: `Mondays and Thursdays`, `Weekdays`, `Tuesdays to Fridays`.
fn weekdays_of(bits_: u8) -> String {
    match bits_ {
        cron::EVERY_WEEKDAY => return "Every day".to_owned(),
        0b011_1110 => return "Weekdays".to_owned(),
        0b100_0001 => return "Weekends".to_owned(),
        _ => {}
    }
    let monday_first: Vec<u32> = (1..=7).filter(|day| bits_ & (1 << (day % 7)) != 0).collect();
    let name = |day: u32| format!("{}s", WEEKDAYS[day as usize % 7]);
    let parts: Vec<String> = runs(&monday_first)
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![name(first)],
            1 => vec![name(first), name(last)],
            _ => vec![format!("{} to {}", name(first), name(last))],
        })
        .collect();
    and(&parts)
}
