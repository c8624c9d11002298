//! What people and scripts read: tables and colours on a terminal, plain lines otherwise, JSON
//! when asked.

use crate::visible::{Kind, coloured, visible};
use chrono::{DateTime, TimeZone as _};
use chrono_tz::Tz;
use loopkeeper_engine::ledger::{Run, Status};
use loopkeeper_engine::view::{Condition, PauseView};
use serde::Serialize;
use std::io::Write as _;

/// Where output goes and how it looks.
#[derive(Debug, Clone)]
pub struct Output {
    /// Whether colours are wanted.
    pub colour: bool,
    /// Whether everything is JSON.
    pub json: bool,
    /// Whether only what was asked for is printed.
    pub quiet: bool,
    /// Whether progress may be drawn on standard error.
    pub progress: bool,
    /// The zone in which times are shown.
    pub zone: Tz,
}

/// The colours, by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It wants a look.
    Warn,
    /// It is beside the point.
    Dim,
    /// It is the point.
    Bold,
}

impl Output {
    /// Prints a line for a person; what could break out of it or steer the terminal is shown.
    pub fn line(&self, text: impl AsRef<str>) {
        self.raw(&visible(text.as_ref(), Kind::Line));
    }

    /// Prints a text that may have several lines, as an answer; what could steer the terminal is
    /// shown.
    pub fn text(&self, text: impl AsRef<str>) {
        self.raw(&visible(text.as_ref(), Kind::Text));
    }

    /// Prints the lines of a text below what they belong to.
    pub fn indented(&self, indent: &str, text: &str) {
        for line in text.lines() {
            self.line(format!("{indent}{}", self.ink(Ink::Dim, line)));
        }
    }

    /// Prints a line of a stream: with `--json` a row that is JSON already, else a line for a person.
    pub fn told(&self, row: &str) {
        if self.json { self.raw(row) } else { self.line(row) }
    }

    /// Prints a line as it is, for programs. A reader that went away (`| head`) is no fault.
    pub fn raw(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    /// Prints a line that is not the result, unless `--quiet` or `--json` was said.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json {
            self.line(text);
        }
    }

    /// Prints a line on standard error.
    pub fn warn(&self, text: impl AsRef<str>) {
        let _ = writeln!(std::io::stderr().lock(), "{}", visible(text.as_ref(), Kind::Line));
    }

    /// Draws a line of progress over the last one, on a terminal only.
    pub fn progress(&self, text: &str) {
        if self.progress && !self.json && !self.quiet {
            let text = visible(text, Kind::Line);
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K{text}").and_then(|()| err.flush());
        }
    }

    /// Prints a value as JSON.
    pub fn value(&self, value: &impl Serialize) {
        self.raw(&serde_json::to_string_pretty(value).unwrap_or_default());
    }

    /// Prints a value as one line of JSON, for streams.
    pub fn row(&self, value: &impl Serialize) {
        self.raw(&serde_json::to_string(value).unwrap_or_default());
    }

    /// Colours a text where colours are wanted. The colours are marks until the text is printed.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Warn => "33",
            Ink::Dim => "2",
            Ink::Bold => "1",
        };
        coloured(code, text)
    }

    /// Prints a table; on a terminal with headings, else the fields with tabs between them.
    pub fn table(&self, head: &[&str], rows: &[Vec<String>]) {
        let cells = |row: &Vec<String>| -> Vec<String> {
            row.iter().map(|cell| visible(cell, Kind::Line)).collect()
        };
        let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
        if !self.colour {
            for row in rows {
                self.raw(&row.join("\t"));
            }
            return;
        }
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| shown(cell));
            cells.chain([shown(head[at])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (at, cell) in cells.iter().enumerate() {
                text.push_str(cell);
                if at + 1 < cells.len() {
                    let gap = widths[at].saturating_sub(shown(cell)) + 2;
                    text.extend(std::iter::repeat_n(' ', gap));
                }
            }
            text
        };
        let head: Vec<String> = head.iter().map(|cell| self.ink(Ink::Dim, cell)).collect();
        self.raw(&line(&cells(&head)));
        for row in &rows {
            self.raw(&line(row));
        }
    }

    /// Says an instant in the shown zone.
    pub fn at(&self, ms: i64) -> String {
        self.instant(ms)
            .map_or_else(|| ms.to_string(), |at| at.format("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// Says an instant in a zone, with the day of the week.
    pub fn at_zone(&self, ms: i64, zone: Tz) -> String {
        let at = zone.timestamp_millis_opt(ms).single();
        at.map_or_else(|| ms.to_string(), |at| at.format("%a %Y-%m-%d %H:%M:%S %Z").to_string())
    }

    fn instant(&self, ms: i64) -> Option<DateTime<Tz>> {
        self.zone.timestamp_millis_opt(ms).single()
    }

    /// Says the state of a run.
    pub fn status(&self, status: Status) -> String {
        let ink = match status {
            Status::Succeeded => Ink::Good,
            Status::Failed | Status::TimedOut | Status::Lost => Ink::Bad,
            Status::Blocked | Status::Cancelled | Status::Missed => Ink::Warn,
            Status::Skipped | Status::Deduped | Status::Superseded => Ink::Dim,
            _ => Ink::Bold,
        };
        self.ink(ink, &word(&status))
    }

    /// Says what a task is doing.
    pub fn condition(&self, condition: Condition) -> String {
        let ink = match condition {
            Condition::Blocked | Condition::NeedsApproval | Condition::AutoPaused => Ink::Warn,
            Condition::Running | Condition::Waiting => Ink::Bold,
            Condition::Armed => Ink::Good,
            Condition::Idle | Condition::Off => Ink::Dim,
        };
        self.ink(ink, &word(&condition).replace('_', " "))
    }

    /// Says until when everything is paused, and what that means.
    pub fn pause(&self, pause: &PauseView) -> String {
        let until =
            pause.until.map_or_else(|| "`loopkeeper resume`".to_owned(), |until| self.at(until));
        format!("everything is paused until {until}; slots that come before that are skipped")
    }

    /// Says when a slot comes, and how far away it is or that the pause of everything holds it.
    pub fn coming(&self, at: i64, now: i64, pause: Option<&PauseView>) -> String {
        let held = pause.is_some_and(|pause| pause.holds(at));
        let away = if held { "held by the pause".to_owned() } else { away(at, now) };
        format!("{} ({away})", self.at(at))
    }

    /// Says a run in one line: time, task, status, duration, error.
    pub fn run(&self, run: &Run) -> String {
        let at = run.finished_at.or(run.started_at).or(run.scheduled_for);
        let mut line = format!(
            "{}  {}  {}",
            at.map_or_else(String::new, |at| self.at(at)),
            run.task_name,
            self.status(run.status)
        );
        if let Some(ms) = run.duration_ms {
            line.push_str(&format!("  {}", duration(ms)));
        }
        if let Some(reason) = &run.reason {
            line.push_str(&format!("  ({})", word(reason).replace('_', " ")));
        }
        if let Some(error) = &run.error {
            line.push_str(&format!("  {}", first_line(error)));
        }
        if let Some(error) = &run.persist_error {
            line.push_str(&format!(
                "  {}",
                self.ink(Ink::Warn, &format!("not written: {}", first_line(error)))
            ));
        }
        line
    }
}

/// Returns the word that a value has on the wire.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Counts the characters that are seen: colours are not.
fn shown(text: &str) -> usize {
    let mut count = 0;
    let mut escape = false;
    for c in text.chars() {
        match (escape, c) {
            (false, '\x1b') => escape = true,
            (false, _) => count += 1,
            (true, 'm') => escape = false,
            (true, _) => {}
        }
    }
    count
}

/// Returns the first line of a text.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

/// Says a duration as people do: `850 ms`, `12 s`, `3m 5s`, `2h 10m`, `3d 4h`.
pub fn duration(ms: i64) -> String {
    let s = ms / 1_000;
    match s {
        _ if ms < 1_000 => format!("{ms} ms"),
        0..60 => format!("{s} s"),
        60..3_600 => format!("{}m {}s", s / 60, s % 60),
        3_600..86_400 => format!("{}h {}m", s / 3_600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
    }
}

/// Says how many of a thing there are, as `1 task` or `2 tasks`.
pub fn many(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Says how far away an instant is.
pub fn away(at: i64, now: i64) -> String {
    if at >= now {
        format!("in {}", duration(at - now))
    } else {
        format!("{} ago", duration(now - at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_shortly() {
        for (ms, said) in [
            (850, "850 ms"),
            (12_400, "12 s"),
            (185_000, "3m 5s"),
            (7_800_000, "2h 10m"),
            (273_600_000, "3d 4h"),
        ] {
            assert_eq!(duration(ms), said);
        }
        assert_eq!(away(1_000, 61_000), "1m 0s ago");
    }

    /// `list` and `status` said `in 53 s` of a slot that a pause was going to skip.
    #[test]
    fn a_slot_within_the_pause_is_said_to_be_held() {
        let out =
            Output { colour: false, json: false, quiet: false, progress: false, zone: Tz::UTC };
        let endless = PauseView { since: 0, until: None };
        let short = PauseView { since: 0, until: Some(60_000) };
        for (at, pause, said) in [
            (53_000, None, "in 53 s"),
            (53_000, Some(&short), "held by the pause"),
            (60_000, Some(&short), "in 1m 0s"),
            (60_000, Some(&endless), "held by the pause"),
        ] {
            let told = out.coming(at, 0, pause);
            assert!(told.ends_with(&format!("({said})")), "{told}");
        }
        assert!(out.pause(&endless).contains("until `loopkeeper resume`"), "what ends it");
    }

    #[test]
    fn one_thing_is_said_as_one() {
        assert_eq!(many(1, "task"), "1 task", "`1 tasks` is no English");
        assert_eq!((many(0, "task"), many(2, "task")), ("0 tasks".into(), "2 tasks".into()));
    }

    #[test]
    fn colours_do_not_count_as_width() {
        assert_eq!(shown("\x1b[32mgood\x1b[0m"), 4, "a table must stay straight");
        let plain =
            Output { colour: false, json: false, quiet: false, progress: false, zone: Tz::UTC };
        assert_eq!(plain.ink(Ink::Bad, "text"), "text", "a file gets no escapes");
        assert_eq!(plain.at(0), "1970-01-01 00:00:00");
    }
}
