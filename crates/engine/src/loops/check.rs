//! What a loop's schedule and zone are checked with: the very schedule that will be armed.

use std::str::FromStr;

/// What is wrong with a schedule or a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Checks an expression; the notes say where it differs from classic cron.
///
/// # Errors
/// What is wrong, and what to write.
pub(crate) fn check_cron(expression: &str, zone: Option<&str>) -> Result<Vec<String>, Problem> {
    if let Some(zone) = zone {
        check_zone(zone)?;
    }
    let fields = expression.split_whitespace().count();
    let alias = expression.starts_with('@') && fields == 1;
    if !alias && !(5..=6).contains(&fields) {
        return Err(Problem {
            message: format!("`{expression}` has {fields} fields"),
            help: "write five: minute hour day month weekday, such as 0 9 * * *".to_owned(),
        });
    }
    croner::parser::CronParser::builder()
        .seconds(croner::parser::Seconds::Optional)
        .build()
        .parse(expression)
        .map(|_| Vec::new())
        .map_err(|error| Problem {
            message: format!("`{expression}` is not a cron expression: {error}"),
            help: "write five fields: minute hour day month weekday, such as 0 9 * * *".to_owned(),
        })
}

/// Checks a zone; the answer is its proper name.
///
/// # Errors
/// What is wrong, and what to write.
pub(crate) fn check_zone(zone: &str) -> Result<String, Problem> {
    let known = chrono_tz::TZ_VARIANTS.iter().map(|known| known.name());
    let found = chrono_tz::Tz::from_str(zone).map(|zone| zone.name()).ok();
    let found = found.or_else(|| known.into_iter().find(|known| known.eq_ignore_ascii_case(zone)));
    found.map(str::to_owned).ok_or_else(|| Problem {
        message: format!("`{zone}` is no time zone"),
        help: "write an IANA name such as Europe/Kyiv or UTC".to_owned(),
    })
}

/// Returns the zone that was probably meant by an abbreviation or a city.
pub(crate) fn meant_zone(written: &str) -> Option<&'static str> {
    let zone = match written.to_ascii_uppercase().as_str() {
        "PST" | "PDT" | "PT" | "US/PACIFIC-NEW" => "America/Los_Angeles",
        "MDT" | "MT" => "America/Denver",
        "CST" | "CDT" | "CT" => "America/Chicago",
        "EDT" | "ET" => "America/New_York",
        "BST" => "Europe/London",
        "CEST" => "Europe/Berlin",
        "EEST" => "Europe/Kyiv",
        "MSK" => "Europe/Moscow",
        "IST" => "Asia/Kolkata",
        "JST" => "Asia/Tokyo",
        "KST" => "Asia/Seoul",
        "SGT" => "Asia/Singapore",
        "HKT" => "Asia/Hong_Kong",
        "AEST" | "AEDT" => "Australia/Sydney",
        "NZST" | "NZDT" => "Pacific/Auckland",
        "Z" | "UTC+0" | "UTC+00:00" | "+00:00" => "UTC",
        _ => return by_city(written),
    };
    Some(zone)
}

fn by_city(written: &str) -> Option<&'static str> {
    let city = written.rsplit('/').next()?.trim().replace(' ', "_");
    let mut found = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()).filter(|name| {
        name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&city))
            && name.contains('/')
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
