//! What may surprise in a schedule: where classic cron or the peer read it differently.

use super::cron::{Cron, EVERY_DAY_OF_MONTH, EVERY_WEEKDAY};
use super::zone;
use crate::task::Schedule;

/// Returns a sentence for each difference and surprise.
pub fn of(schedule: &Schedule, cron: Option<&Cron>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(cron) = cron {
        if cron.text.starts_with('@') {
            if let Some(fields) = cron.for_peer() {
                notes.push(format!("OpenChamber does not know `{}`: write `{fields}`.", cron.text));
            }
        } else {
            seconds(cron, &mut notes);
            days(cron, &mut notes);
            steps(cron, &mut notes);
        }
    }
    if let Some(name) = schedule.timezone() {
        zone_name(name, &mut notes);
    }
    notes
}

fn seconds(cron: &Cron, notes: &mut Vec<String>) {
    if cron.fields.len() != 6 {
        return;
    }
    notes.push("The first of six fields is the second; classic cron has only five.".to_owned());
    let a_minute = cron.seconds.count_ones();
    if a_minute > 1 {
        notes.push(format!(
            "It is due {a_minute} times a minute: what is due while a run goes on is skipped."
        ));
    }
}

fn days(cron: &Cron, notes: &mut Vec<String>) {
    let (day, weekday) = match cron.fields.as_slice() {
        [.., day, _, weekday] => (day, weekday),
        _ => return,
    };
    let days = &cron.days;
    if days.month_restricted && days.week_restricted {
        let star = |text: &str| text.starts_with(['*', '?']);
        notes.push(if star(day) || star(weekday) {
            "Day of the month and weekday are both restricted: a day that matches either is \
             enough. Classic cron wants both where one of them begins with `*`."
                .to_owned()
        } else {
            "Day of the month and weekday are both restricted: a day that matches either is \
             enough."
                .to_owned()
        });
        let full = days.of_month == EVERY_DAY_OF_MONTH || days.of_week == EVERY_WEEKDAY;
        if full {
            notes.push(
                "One of the day fields names every value without a `*`, so that it runs every \
                 day; OpenChamber ignores such a field. Write `*` in it to be read alike."
                    .to_owned(),
            );
        }
    }
    for (sign, used) in [
        ("L", days.last_of_month || days.last_of_week != 0),
        ("#", days.nth.is_some()),
        ("?", day.contains('?') || weekday.contains('?')),
    ] {
        if used {
            notes.push(format!("Classic cron does not know `{sign}`."));
        }
    }
}

fn steps(cron: &Cron, notes: &mut Vec<String>) {
    let explicit = cron.for_peer();
    if cron.has_false_sunday() {
        if let Some(fields) = &explicit {
            notes.push(format!("OpenChamber would add the Sunday: write `{fields}`."));
        }
    } else if let Some(fields) = &explicit {
        notes.push(format!(
            "A step behind a single number counts up to the end of the field, as in `{fields}`; \
             classic cron ignores or refuses it."
        ));
    }
    let offset = cron.fields.len() - 5;
    for (field, size, unit, whole) in
        [(offset, 60, "minutes", "hour"), (offset + 1, 24, "hours", "day")]
    {
        let step = cron.fields[field].strip_prefix("*/").and_then(|step| step.parse::<u32>().ok());
        if let Some(step) = step.filter(|step| *step < size && size % step != 0) {
            let rest = size - (size - 1) / step * step;
            let unit = if rest == 1 { unit.trim_end_matches('s') } else { unit };
            notes.push(format!(
                "`*/{step}` begins anew with every {whole}: the last step of each is {rest} {unit}."
            ));
        }
    }
}

fn zone_name(name: &str, notes: &mut Vec<String>) {
    let Ok(zone) = zone::zone(name) else { return };
    let written = name.trim();
    if written != zone.name() {
        notes.push(format!("The zone `{written}` is read as {}.", zone.name()));
    }
    if let Some(today) = zone::renamed(zone.name()) {
        notes.push(format!("{} is an older name of {today}.", zone.name()));
    }
    let fixed = match zone.name() {
        "EST" => Some(("UTC−5", "America/New_York")),
        "MST" => Some(("UTC−7", "America/Denver")),
        "HST" => Some(("UTC−10", "Pacific/Honolulu")),
        _ => None,
    };
    if let Some((offset, place)) = fixed {
        notes.push(format!(
            "{} is {offset} all year, without summer time; {place} is the place's own time.",
            zone.name()
        ));
    }
    if zone.name().starts_with("Etc/GMT") && zone.name().contains(['+', '-']) {
        notes.push(format!("The sign in {} is reversed: Etc/GMT-2 is UTC+2.", zone.name()));
    }
}
