//! The fields of an expression: numbers, names, ranges, lists and steps → bits.

use super::ScheduleError;

/// The name of the field in errors.
const FIELD: &str = "schedule.cron";

/// What a field may hold.
pub struct Shape {
    name: &'static str,
    min: u32,
    /// The greatest value, also of `n/step`.
    pub max: u32,
    names: &'static [&'static str],
    extra: &'static str,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The fields in order, the second first.
pub const SHAPES: [Shape; 6] = [
    Shape { name: "second", min: 0, max: 59, names: &[], extra: "" },
    Shape { name: "minute", min: 0, max: 59, names: &[], extra: "" },
    Shape { name: "hour", min: 0, max: 23, names: &[], extra: "" },
    Shape { name: "day of the month", min: 1, max: 31, names: &[], extra: "?L" },
    Shape { name: "month", min: 1, max: 12, names: &MONTHS, extra: "" },
    Shape { name: "weekday", min: 0, max: 7, names: &WEEKDAYS, extra: "?L#" },
];

/// Makes an error of the cron expression.
pub fn error(message: String, help: impl Into<String>) -> ScheduleError {
    ScheduleError { field: FIELD.to_owned(), message, help: help.into() }
}

/// Reads a field that is a set of numbers and nothing else.
pub fn set(shape: &Shape, text: &str) -> Result<u64, ScheduleError> {
    let named = replace_names(shape, text)?;
    named.split(',').try_fold(0, |bits, part| Ok(bits | self::part(shape, text, part)?))
}

/// Replaces the names of months and weekdays by their numbers.
pub fn replace_names(shape: &Shape, text: &str) -> Result<String, ScheduleError> {
    if shape.names.is_empty() || !text.bytes().any(|b| b.is_ascii_alphabetic()) {
        return Ok(text.to_owned());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (before, word) = rest.split_at(at);
        let end = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        // `friL` is the last Friday.
        let (name, last) = match word.strip_suffix('L') {
            Some(name) if name.len() == 3 || name.is_empty() => (name, "L"),
            _ => (word, ""),
        };
        out.push_str(before);
        if !name.is_empty() {
            let index = shape.names.iter().position(|known| name.eq_ignore_ascii_case(known));
            let index = index.ok_or_else(|| {
                error(
                    format!("`{word}` is no {}", shape.name),
                    format!("write one of {}", shape.names.join(" ")),
                )
            })?;
            out.push_str(&(index as u32 + shape.min).to_string());
        }
        out.push_str(last);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads digits and nothing else.
pub fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Reads one part of a list: `*`, `n`, `a-b`, each with an optional `/step`.
pub fn part(shape: &Shape, field: &str, part: &str) -> Result<u64, ScheduleError> {
    let (min, max, name) = (shape.min, shape.max, shape.name);
    let not_understood = |help: String| error(format!("{name} `{field}` is not understood"), help);
    if part.is_empty() {
        return Err(not_understood("take out the comma too many".into()));
    }
    let (range, step) = match part.split_once('/') {
        None => (part, None),
        Some((range, step)) => match number(step).filter(|step| *step > 0) {
            Some(step) => (range, Some(step)),
            None => {
                let help = "write a whole number from 1 on behind the slash, such as `*/15`";
                return Err(not_understood(help.into()));
            }
        },
    };
    let question = range == "?" && shape.extra.contains('?');
    let (from, to) = if range == "*" || question {
        (min, max)
    } else if let Some((from, to)) = range.split_once('-') {
        match (number(from), number(to)) {
            (Some(from), Some(to)) => (from, to),
            _ => return Err(not_understood(allowed(shape))),
        }
    } else {
        match (number(range), step) {
            (Some(from), None) => (from, from),
            (Some(from), Some(_)) => (from, max),
            _ => return Err(not_understood(allowed(shape))),
        }
    };
    if from < min || to > max || from > max {
        let value = if from < min || from > max { from } else { to };
        return Err(error(
            format!("{name} `{field}`: {value} is outside {min}–{max}"),
            format!("write numbers from {min} to {max}"),
        ));
    }
    if from > to {
        return Err(error(
            format!("{name} `{field}`: the range runs backwards"),
            backwards(shape, from, to),
        ));
    }
    Ok((from..=to).step_by(step.unwrap_or(1) as usize).fold(0, |bits, value| bits | 1 << value))
}

fn allowed(shape: &Shape) -> String {
    let extra = match shape.extra {
        "?L" => ", `?` or `L` for the last day",
        "?L#" => ", names (mon), `5L` for the last Friday or `1#2` for the second Monday",
        _ if !shape.names.is_empty() => " or names (jan)",
        _ => "",
    };
    format!(
        "write `*`, numbers from {} to {}, ranges `a-b`, lists `a,b`, steps `*/n`{extra}",
        shape.min, shape.max
    )
}

/// Says how to write a range that wraps round.
fn backwards(shape: &Shape, from: u32, to: u32) -> String {
    if shape.max == 7 && to == 0 {
        let list = if from == 6 { "6,0".to_owned() } else { format!("{from}-6,0") };
        return format!("Sunday is 7 at the end of a range: write `{from}-7` or `{list}`");
    }
    let part = |a: u32, b: u32| if a == b { a.to_string() } else { format!("{a}-{b}") };
    let top = if shape.max == 7 { 6 } else { shape.max };
    format!("write it as two: `{},{}`", part(from, top), part(shape.min, to))
}
