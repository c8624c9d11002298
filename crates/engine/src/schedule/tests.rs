//! Cases from public reports, named by their id, and properties that hold for every schedule.

use super::*;
use chrono::{DateTime, SecondsFormat};
use proptest::prelude::*;

fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).expect("a moment").timestamp_millis()
}

fn iso(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .expect("in range")
        .to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn cron(text: &str, zone: &str) -> Schedule {
    Schedule::Cron { cron: text.into(), timezone: Some(zone.into()) }
}

fn compiled(text: &str, zone: &str) -> Compiled {
    Compiled::new(&cron(text, zone)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn next(text: &str, zone: &str, after: &str, n: usize) -> Vec<String> {
    let schedule = compiled(text, zone);
    schedule.between(ms(after), i64::MAX).take(n).map(iso).collect()
}

fn refusal(text: &str) -> ScheduleError {
    Compiled::new(&cron(text, "UTC")).expect_err(&format!("`{text}` must be refused"))
}

#[test]
fn c03_a_month_ahead_is_no_overflow() {
    let now = ms("2026-02-01T05:00:00Z");
    let next = compiled("0 4 1 * *", "UTC").next_after(now).expect("it recurs");
    assert_eq!(iso(next), "2026-03-01T04:00:00Z", "the first of March, nothing before");
    assert_eq!(next - now, 2_415_600_000, "a wait above 2^31 ms must stay a wait");
    assert!(next - now > i64::from(i32::MAX), "else the case proves nothing");
}

#[test]
fn d02_impossible_months_are_passed_over() {
    let got = next("0 0 31 2,3,4,5 *", "UTC", "2018-07-27T12:00:00Z", 4);
    let right = ["2019-03-31", "2019-05-31", "2020-03-31", "2020-05-31"]
        .map(|day| format!("{day}T00:00:00Z"));
    assert_eq!(got, right, "the first month of the list must not decide");
}

#[test]
fn d03_leap_days_follow_the_gregorian_rule() {
    for (after, right) in [("2026", "2028"), ("2096", "2104")] {
        let got = next("0 12 29 2 *", "UTC", &format!("{after}-03-01T00:00:00Z"), 1);
        assert_eq!(got, [format!("{right}-02-29T12:00:00Z")], "2100 is no leap year");
    }
}

#[test]
fn d04_two_restricted_day_fields_mean_either() {
    let got = next("0 4 1 * 1-5", "UTC", "2026-12-31T12:00:00Z", 4);
    let right = ["01", "04", "05", "06"].map(|day| format!("2027-01-{day}T04:00:00Z"));
    assert_eq!(got, right, "the 1st, or any weekday");
    let words = compiled("0 4 1 * 1-5", "UTC").words();
    assert!(words.contains(" or "), "the words must say so: {words}");
}

#[test]
fn d05_a_stepped_day_field_is_restricted() {
    let got = next("0 0 */2 * 1", "UTC", "2025-01-01T00:00:00Z", 4);
    let right = ["03", "05", "06", "07"].map(|day| format!("2025-01-{day}T00:00:00Z"));
    assert_eq!(got, right, "either matches, as in the program that shares the file");
    let notes = compiled("0 0 */2 * 1", "UTC").notes().join(" ");
    assert!(notes.contains("Classic cron wants both"), "and that differs elsewhere: {notes}");
}

#[test]
fn d08_sunday_is_0_and_7_also_at_the_end_of_a_range() {
    let after = "2026-12-03T00:00:00Z";
    for text in ["0 16 * * 0", "0 16 * * 7", "0 16 * * SUN"] {
        assert_eq!(next(text, "UTC", after, 1), ["2026-12-06T16:00:00Z"], "{text} is Sunday");
    }
    let right = ["04", "05", "06"].map(|day| format!("2026-12-{day}T00:00:00Z"));
    assert_eq!(next("0 0 * * 5-7", "UTC", after, 3), right, "7 ends the range");
    let both = next("0 16 * * 0,7", "UTC", after, 2);
    assert_eq!(both, ["2026-12-06T16:00:00Z", "2026-12-13T16:00:00Z"], "one Sunday, not two");
    let error = refusal("0 0 * * SAT-SUN");
    assert!(error.help.contains("6,0"), "the peer refuses it, so say what to write: {error}");
}

#[test]
fn d09_a_step_behind_a_number_counts_to_the_end_of_the_field() {
    let got = next("5/15 * * * *", "UTC", "2026-12-01T10:00:00Z", 4);
    assert_eq!(got, ["05", "20", "35", "50"].map(|m| format!("2026-12-01T10:{m}:00Z")));
    let got = next("0 9 * * 2/2", "UTC", "2026-12-06T12:00:00Z", 4);
    let right = ["08", "10", "12", "15"].map(|day| format!("2026-12-{day}T09:00:00Z"));
    assert_eq!(got, right, "Tuesday, Thursday, Saturday and no false Sunday");
    let rewritten = |text| compiled(text, "UTC").for_peer();
    assert_eq!(rewritten("5/15 * * * *").as_deref(), Some("5-59/15 * * * *"), "on save");
    assert_eq!(rewritten("0 9 * * 2/2").as_deref(), Some("0 9 * * 2,4,6"), "on save");
    assert_eq!(rewritten("0 9 * * tue/2").as_deref(), Some("0 9 * * 2,4,6"), "names too");
    assert_eq!(rewritten("*/15 9-17 * * 1-5"), None, "read alike everywhere");
}

#[test]
fn d11_wrong_expressions_are_refused_with_the_field_named() {
    for (text, said) in [
        ("", "empty"),
        ("9 * * *", "four fields"),
        ("0 9 * *", "four fields"),
        ("60 * * * *", "minute"),
        ("0 33 * * *", "hour"),
        ("0 9 0 * *", "day of the month"),
        ("*/0 * * * *", "minute"),
        ("0 22-2 * * *", "hour"),
        ("0 9 * * 1,", "weekday"),
        ("0 9 * * 1 2027", "weekday"),
        ("0 0 9 * * 1 2027", "seven fields"),
    ] {
        let error = refusal(text);
        assert_eq!(error.field, "schedule.cron", "{text}: the field of the schedule is named");
        assert!(error.message.contains(said), "`{text}`: {error} must speak of {said}");
        assert!(!error.help.is_empty(), "`{text}`: a way out is given");
    }
    let help = refusal("0 22-2 * * *").help;
    assert!(help.contains("22-23,0-2"), "a range round midnight is written as two: {help}");
}

#[test]
fn d13_aliases_count_in_any_case_and_unknown_ones_never_mean_every_minute() {
    let after = "2026-12-01T10:45:10Z";
    for (alias, right) in [
        ("@hourly", "2026-12-01T11:00:00Z"),
        ("@daily", "2026-12-02T00:00:00Z"),
        ("@Midnight", "2026-12-02T00:00:00Z"),
        ("@weekly", "2026-12-06T00:00:00Z"),
        ("@MONTHLY", "2027-01-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("@annually", "2027-01-01T00:00:00Z"),
    ] {
        assert_eq!(next(alias, "UTC", after, 1), [right], "{alias}");
    }
    let rewritten = |text| compiled(text, "UTC").for_peer();
    assert_eq!(rewritten("@midnight").as_deref(), Some("0 0 * * *"), "the peer lacks it");
    assert_eq!(rewritten("@annually").as_deref(), Some("0 0 1 1 *"), "the peer lacks it");
    assert_eq!(rewritten("@daily"), None, "the peer knows it");
    assert!(refusal("@reboot").message.contains("no known alias"));
    assert!(refusal("@every 5m").help.contains("*/5"), "the beat is written as fields");
}

#[test]
fn e01_a_time_in_a_gap_moves_forward_by_the_gap() {
    let got = next("30 2 * * *", "America/New_York", "2027-03-13T12:00:00Z", 2);
    assert_eq!(got, ["2027-03-14T07:30:00Z", "2027-03-15T06:30:00Z"], "not skipped, not twice");
    let change = compiled("30 2 * * *", "America/New_York").clock_change(ms(&got[0]));
    let moved = ClockChange::Moved { named: "02:30".into(), runs: "03:30".into() };
    assert_eq!(change, Some(moved), "and the preview can say so");
    let later = compiled("30 2 * * *", "America/New_York").clock_change(ms(&got[1]));
    assert_eq!(later, None, "the next day is ordinary");
}

#[test]
fn e05_a_gap_may_be_half_an_hour() {
    let got = next("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2);
    assert_eq!(got, ["2026-10-03T15:45:00Z", "2026-10-04T15:15:00Z"]);
}

#[test]
fn e06_zones_are_iana_names_in_any_case_and_nothing_falls_back_to_utc() {
    let at = |zone: &str| next("0 9 * * *", zone, "2026-07-01T00:00:00Z", 1).remove(0);
    assert_eq!(at("EST"), "2026-07-01T14:00:00Z", "EST is five hours behind all year");
    assert_eq!(at("America/New_York"), "2026-07-01T13:00:00Z");
    assert_eq!(at("europe/berlin"), at("Europe/Berlin"), "case does not matter");
    assert_eq!(at("Europe/Kiev"), at("Europe/Kyiv"), "an old name is the same place");
    for (name, help) in [
        ("PST", "America/Los_Angeles"),
        ("+02:00", "Etc/GMT-2"),
        ("UTC+3", "Etc/GMT-3"),
        ("Mars/Base", "Europe/Kyiv"),
        ("Europe/Berln", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("", "Europe/Kyiv"),
    ] {
        let error = Compiled::new(&cron("0 9 * * *", name)).expect_err(name);
        assert_eq!(error.field, "schedule.timezone", "{name}");
        assert!(error.help.contains(help), "{name}: {} must name {help}", error.help);
    }
}

#[test]
fn e07_one_zone_holds_for_arming_later_slots_and_catch_up() {
    let schedule = compiled("0 9 * * *", "Europe/Kyiv");
    let first = schedule.next_after(ms("2026-12-01T00:00:00Z")).expect("it recurs");
    let later: Vec<i64> = schedule.between(first, first + 5 * 86_400_000).collect();
    assert_eq!(later.len(), 5, "one a day");
    assert!(
        later.iter().all(|at| (at - first) % 86_400_000 == 0),
        "every slot is in the zone of the first: no other zone is ever asked"
    );
    assert_eq!(schedule.zone().name(), "Europe/Kyiv", "the zone in force can be shown");
}

#[test]
fn e08_the_zone_stored_in_the_task_decides() {
    let definition = Schedule::Cron { cron: "0 9 * * *".into(), timezone: None };
    let stored = Compiled::new(&definition.with_timezone("Europe/Kyiv")).expect("valid");
    let at = stored.next_after(ms("2026-12-01T00:00:00Z")).map(iso);
    assert_eq!(at.as_deref(), Some("2026-12-01T07:00:00Z"), "not 09:00Z of this process");
}

#[test]
fn a_time_that_comes_twice_runs_at_the_first() {
    let schedule = compiled("30 1 * * *", "America/New_York");
    let got: Vec<String> =
        schedule.between(ms("2024-11-03T04:00:00Z"), i64::MAX).take(2).map(iso).collect();
    assert_eq!(got, ["2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"], "once a day");
    let change = schedule.clock_change(ms(&got[0]));
    assert_eq!(change, Some(ClockChange::FirstOfTwo { named: "01:30".into() }));
}

#[test]
fn a_beat_goes_on_through_both_clock_changes() {
    let beats = |text, zone, from: &str, n| {
        let got = next(text, zone, from, n);
        got.windows(2).map(|pair| (ms(&pair[1]) - ms(&pair[0])) / 60_000).collect::<Vec<_>>()
    };
    for (from, what) in [("2024-03-10T05:00:00Z", "gap"), ("2024-11-03T04:00:00Z", "fold")] {
        let got = beats("*/20 * * * *", "America/New_York", from, 20);
        assert!(got.iter().all(|minutes| *minutes == 20), "{what}: {got:?}");
    }
    let got = next("0 */2 * * *", "America/New_York", "2024-03-10T04:59:00Z", 3);
    let right = ["05", "07", "08"].map(|hour| format!("2024-03-10T{hour}:00:00Z"));
    assert_eq!(got, right, "02:00 is lost, so it runs behind the gap, two hours after 00:00");
    let got = next("*/20 1 * * *", "America/New_York", "2024-11-03T04:59:00Z", 6);
    assert_eq!(got.last().map(String::as_str), Some("2024-11-03T06:40:00Z"), "both passes");
}

#[test]
fn a_day_that_a_zone_leaves_out_has_no_slots_but_a_once_is_never_lost() {
    let friday = Schedule::Weekly {
        times: vec!["08:00".into()],
        weekdays: vec![5],
        timezone: Some("Pacific/Apia".into()),
    };
    let at = Compiled::new(&friday).expect("valid").next_after(ms("2011-12-29T20:00:00Z"));
    assert_eq!(at.map(iso).as_deref(), Some("2012-01-05T18:00:00Z"), "there was no 30 December");
    let once = Schedule::Once {
        date: "2011-12-30".into(),
        time: "12:00".into(),
        timezone: Some("Pacific/Apia".into()),
    };
    let once = Compiled::new(&once).expect("valid");
    let at = once.next_after(ms("2011-12-01T00:00:00Z"));
    assert_eq!(at.map(iso).as_deref(), Some("2011-12-30T22:00:00Z"), "moved by the day");
    assert_eq!(once.next_after(at.unwrap_or_default()), None, "and only once");
}

#[test]
fn never_matching_expressions_are_refused_without_a_search() {
    for text in ["0 9 31 4 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 9 * 0 *"] {
        assert!(!refusal(text).help.is_empty(), "{text}");
    }
    assert!(refusal("0 9 31 4 *").message.contains("never runs"));
    compiled("0 0 31 4 1", "UTC");
    compiled("0 0 * 2 1#5", "UTC");
}

#[test]
fn a_fifth_monday_in_february_is_found_across_2100() {
    let got = next("0 0 * 2 1#5", "UTC", "2072-03-01T00:00:00Z", 1);
    assert_eq!(got, ["2112-02-29T00:00:00Z"], "forty years: 2100 is no leap year");
}

#[test]
fn expressions_that_the_peer_would_cut_are_refused() {
    let minutes: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
    let text = format!("{} 9,10,11,12 * * mon,tue,wed,thu,fri", minutes.join(","));
    assert!(refusal(&text).help.contains("cuts"), "its end would be lost without a word");
}

#[test]
fn full_sets_without_a_star_are_restricted() {
    let got = next("0 9 1-31 * 1", "UTC", "2026-01-31T09:00:00Z", 1);
    assert_eq!(got, ["2026-02-01T09:00:00Z"], "either matches, and every day does");
    let got = next("0 9 1 * *", "UTC", "2026-01-31T10:00:00Z", 2);
    assert_eq!(got[1], "2026-03-01T09:00:00Z", "a star does not restrict");
    assert!(compiled("0 9 1-31 * 1", "UTC").notes().join(" ").contains("Write `*`"));
}

#[test]
fn every_kind_has_words() {
    for (text, words) in [
        ("0 9 * * *", "Every day at 09:00"),
        ("@daily", "Every day at 00:00"),
        ("*/15 8-18 * * 1-5", "Weekdays, every 15 minutes, 08:00–18:59"),
        ("* * * * *", "Every minute"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("5/15 * * * *", "Every 15 minutes from :05 on"),
        ("0 * * * *", "Every hour"),
        ("7 * * * *", "Every hour at :07"),
        ("0 */2 * * *", "Every 2 hours"),
        ("30 */6 * * 1,4", "Mondays and Thursdays at 00:30, 06:30, 12:30 and 18:30"),
        ("0 8-18 * * 1-5", "Weekdays, every hour, 08:00–18:00"),
        ("*/10 9,14 * * *", "Every day, every 10 minutes, 09:00–09:59 and 14:00–14:59"),
        ("0,20,21 * * * *", "Every hour at :00, :20 and :21"),
        ("0 8,17 * * mon,thu", "Mondays and Thursdays at 08:00 and 17:00"),
        ("0 9 * * 2-5", "Tuesdays to Fridays at 09:00"),
        ("0 9 * * 0,6", "Weekends at 09:00"),
        ("0 9 1 * *", "On the 1st of every month at 09:00"),
        ("0 9 1,15,L * *", "On the 1st, 15th and last day of every month at 09:00"),
        ("0 9 L 2,8 *", "On the last day of February and August at 09:00"),
        ("0 9 24 12 *", "Every year on 24 December at 09:00"),
        ("0 9 * * 5L", "On the last Friday of every month at 09:00"),
        ("0 9 * * 1#2", "On the second Monday of every month at 09:00"),
        ("0 4 1 * 1-5", "On the 1st of every month or on weekdays at 04:00"),
        ("0 9 13 * 5", "On the 13th of every month or on Fridays at 09:00"),
        ("0 0 */2 * *", "On every second day of every month at 00:00"),
        ("0 9 * 2 *", "Every day in February at 09:00"),
        ("0 9 * 6-8 1", "Mondays in June, July and August at 09:00"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("30 0 9 * * *", "Every day at 09:00:30"),
        ("* * 9 * * *", "Every day, every second, 09:00–09:59"),
    ] {
        assert_eq!(compiled(text, "UTC").words(), words, "{text}");
    }
    let zone = || Some("UTC".to_owned());
    let times = || vec!["17:30".to_owned(), "08:00".to_owned()];
    for (schedule, words) in [
        (Schedule::Daily { times: times(), timezone: zone() }, "Every day at 08:00 and 17:30"),
        (
            Schedule::Weekly { times: times(), weekdays: vec![4, 1], timezone: zone() },
            "Mondays and Thursdays at 08:00 and 17:30",
        ),
        (
            Schedule::Once { date: "2026-12-24".into(), time: "09:00".into(), timezone: zone() },
            "Once on 24 December 2026 at 09:00",
        ),
    ] {
        assert_eq!(Compiled::new(&schedule).expect("valid").words(), words);
    }
}

#[test]
fn notes_tell_what_may_surprise_and_ordinary_schedules_have_none() {
    for text in ["0 9 * * *", "*/15 8-18 * * 1-5", "@daily", "0 8,17 * * mon,thu", "0 */2 * * *"] {
        assert_eq!(compiled(text, "Europe/Kyiv").notes(), Vec::<String>::new(), "{text}");
    }
    for (text, zone, said) in [
        ("@midnight", "UTC", "write `0 0 * * *`"),
        ("*/10 * * * * *", "UTC", "6 times a minute"),
        ("*/7 * * * *", "UTC", "the last step of each is 4 minutes"),
        ("0 9 L * *", "UTC", "does not know `L`"),
        ("0 9 * * 1#2", "UTC", "does not know `#`"),
        ("5/15 * * * *", "UTC", "`5-59/15 * * * *`"),
        ("0 9 * * 2/2", "UTC", "would add the Sunday"),
        ("0 9 * * *", "Europe/Kiev", "older name of Europe/Kyiv"),
        ("0 9 * * *", "europe/berlin", "read as Europe/Berlin"),
        ("0 9 * * *", "EST", "without summer time"),
        ("0 9 * * *", "Etc/GMT-3", "reversed"),
    ] {
        let notes = compiled(text, zone).notes().join(" ");
        assert!(notes.contains(said), "`{text}` in {zone}: {notes:?} must say {said}");
    }
}

/// The cases that were recorded from the peer, scored as `tests/vectors/SCHEMA.md` says.
#[test]
fn recorded_cases_are_answered() {
    let cases = include_str!("../../../../tests/vectors/next_run.jsonl");
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case a line");
        let schedule = (case["task"]["enabled"] == true)
            .then(|| read::schedule_from_json(&case["task"]["schedule"]))
            .flatten();
        let now = case["now"].as_i64().expect("a moment");
        let got = schedule.and_then(|it| Compiled::new(&it).ok()).and_then(|it| it.next_after(now));
        let recorded = case.get("correct").unwrap_or(&case["expected"]);
        let mut right = vec![recorded];
        if case.get("correct").is_some() {
            right.extend(case["also_accept"].as_array().into_iter().flatten());
        } else {
            right.extend(case.get("vixie"));
        }
        let right: Vec<Option<i64>> = right.into_iter().map(serde_json::Value::as_i64).collect();
        assert!(right.contains(&got), "{}: {got:?} is none of {right:?}: {line}", case["id"]);
    }
}

#[test]
fn extreme_moments_are_answered() {
    let schedule = compiled("0 0 1 1 *", "Pacific/Apia");
    assert!(schedule.next_after(i64::MIN).is_some(), "before all time comes the first slot");
    assert_eq!(schedule.next_after(i64::MAX), None, "after the year 9999 comes none");
    assert!(!schedule.yields(i64::MIN), "no instant lies before it");
}

#[test]
fn spans_agree_with_the_zone_data() {
    use chrono::{Offset, TimeZone};
    for zone in chrono_tz::TZ_VARIANTS {
        let spans = Spans::of(zone);
        let mut index = 0;
        while let Some(span) = spans.get(index) {
            for second in [span.start.max(0), span.end.min(4_133_980_800) - 1] {
                let at = DateTime::from_timestamp(second, 0).expect("in range").naive_utc();
                let offset = zone.offset_from_utc_datetime(&at).fix().local_minus_utc();
                assert_eq!(i64::from(offset), span.offset, "{zone} at {second}");
                assert_eq!(spans.index(second), index, "{zone}: each second has its span");
            }
            index += 1;
        }
    }
}

const ZONES: [&str; 10] = [
    "UTC",
    "America/New_York",
    "Europe/Kyiv",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Antarctica/Troll",
];

/// A field: a star, a step, a range, a list or one number.
fn field(min: u32, max: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("*".to_owned()),
        2 => (2..max).prop_map(|step| format!("*/{step}")),
        2 => (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (min..=max, min..=max, 1u32..9)
            .prop_map(|(a, b, step)| format!("{}-{}/{step}", a.min(b), a.max(b))),
        3 => (min..=max).prop_map(|n| n.to_string()),
        2 => (min..=max, min..=max).prop_map(|(a, b)| format!("{a},{b}")),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let day = prop_oneof![4 => field(1, 31), 1 => Just("L".to_owned()), 1 => Just("?".to_owned())];
    let weekday = prop_oneof![
        5 => field(0, 6),
        1 => (0u32..=7).prop_map(|n| format!("{n}L")),
        1 => (0u32..=7, 1u32..=4).prop_map(|(day, n)| format!("{day}#{n}")),
    ];
    (
        prop_oneof![5 => Just(None), 1 => field(0, 59).prop_map(Some)],
        field(0, 59),
        field(0, 23),
        day,
        field(1, 12),
        weekday,
    )
        .prop_map(|(second, minute, hour, day, month, weekday)| {
            let five = format!("{minute} {hour} {day} {month} {weekday}");
            second.map_or(five.clone(), |second| format!("{second} {five}"))
        })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let zone = || prop::sample::select(&ZONES[..]).prop_map(|zone| Some(zone.to_owned()));
    let time = || (0u32..24, 0u32..60).prop_map(|(hour, minute)| format!("{hour:02}:{minute:02}"));
    prop_oneof![
        4 => (expression(), zone()).prop_map(|(cron, timezone)| Schedule::Cron { cron, timezone }),
        1 => (prop::collection::vec(time(), 1..4), zone())
            .prop_map(|(times, timezone)| Schedule::Daily { times, timezone }),
        1 => (prop::collection::vec(time(), 1..4), prop::collection::vec(0u8..7, 1..4), zone())
            .prop_map(|(times, weekdays, timezone)| Schedule::Weekly { times, weekdays, timezone }),
        1 => (2000i32..2040, 1u32..13, 1u32..29, time(), zone()).prop_map(|(y, m, d, time, timezone)| {
            Schedule::Once { date: format!("{y}-{m:02}-{d:02}"), time, timezone }
        }),
    ]
}

/// Moments of forty years, half of them within a day of a clock change.
fn moment() -> impl Strategy<Value = i64> {
    let changes = [
        "2024-03-10T07:00:00Z",
        "2024-11-03T06:00:00Z",
        "2025-03-30T01:00:00Z",
        "2025-10-26T01:00:00Z",
        "2024-10-05T15:30:00Z",
        "2024-04-06T15:00:00Z",
        "2011-12-30T10:00:00Z",
        "2018-11-04T03:00:00Z",
        "2019-02-17T02:00:00Z",
        "2026-04-23T22:00:00Z",
        "2026-10-29T21:00:00Z",
        "1985-12-31T18:30:00Z",
    ];
    let near = (prop::sample::select(changes.to_vec()), -90_000_000i64..90_000_000);
    prop_oneof![
        near.prop_map(|(change, by)| ms(change) + by),
        946_684_800_000i64..2_208_988_800_000,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn next_is_later_the_same_for_all_who_ask_and_an_occurrence(
        schedule in schedule(), t in moment(), part in 0.0f64..1.0,
    ) {
        let Ok(compiled) = Compiled::new(&schedule) else { return Ok(()) };
        let Some(next) = compiled.next_after(t) else { return Ok(()) };
        prop_assert!(next > t, "strictly later");
        prop_assert!(compiled.yields(next), "what comes next is an occurrence");
        // Whoever asks in between gets the same answer, and nothing lies in between.
        let between = t + ((next - t) as f64 * part) as i64;
        if between < next {
            prop_assert_eq!(compiled.next_after(between), Some(next), "asked at {}", between);
            prop_assert!(between == t || !compiled.yields(between), "nothing lies in between");
        }
        if let Some(after) = compiled.next_after(next) {
            prop_assert!(after > next, "monotone");
            let listed: Vec<i64> = compiled.between(t, after).collect();
            prop_assert_eq!(listed, vec![next, after], "a listing says the same");
        }
    }

    #[test]
    fn wall_times_agree_with_croner(text in expression(), t in moment()) {
        use croner::parser::{CronParser, Seconds, Year};
        let Ok(compiled) = Compiled::new(&cron(&text, "UTC")) else { return Ok(()) };
        let read = Cron::parse(&text).expect("it compiled");
        // Croner takes only the bare star as unrestricted; complete steps are ours (`*/1`).
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed);
        let other = parser.build().parse(&read.fields.join(" ").replace('?', "*"));
        let Ok(other) = other else { return Err(TestCaseError::fail(format!("croner refuses {text}"))) };
        let from = DateTime::from_timestamp_millis(t).expect("in range");
        let theirs = other.find_next_occurrence(&from, false).ok().map(|at| at.timestamp_millis());
        prop_assert_eq!(compiled.next_after(t).map(iso), theirs.map(iso), "{}", text);
    }
}
