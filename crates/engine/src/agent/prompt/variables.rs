//! `{{names}}` in a prompt, filled in for tasks that ask for it (`policy: {variables: true}`).

use crate::agent::job::Variables;

/// The names that are filled in.
pub const NAMES: [&str; 4] = ["scheduled_for", "last_result", "last_success_at", "project"];

/// A name that nobody fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVariable {
    /// The name between the braces, without blanks around it.
    pub name: String,
    /// Where the opening braces stand, in bytes.
    pub offset: usize,
    /// How long it is with its braces, in bytes.
    pub length: usize,
}

/// One `{{name}}` of a text.
struct Place<'a> {
    name: &'a str,
    offset: usize,
    length: usize,
}

/// Finds everything that has the form of a variable: braces, and a plain name between them.
fn places(text: &str) -> impl Iterator<Item = Place<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let offset = from + text[from..].find("{{")?;
            let inside = &text[offset + 2..];
            let Some(end) = inside.find("}}") else {
                from = text.len();
                return None;
            };
            let name = inside[..end].trim();
            let plain = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
            if plain {
                let length = end + 4;
                from = offset + length;
                return Some(Place { name, offset, length });
            }
            from = offset + 1;
        }
    })
}

/// Returns the names of a prompt that nobody fills in, in their order.
pub fn unknown(prompt: &str) -> Vec<UnknownVariable> {
    places(prompt)
        .filter(|place| !NAMES.contains(&place.name))
        .map(|place| UnknownVariable {
            name: place.name.to_owned(),
            offset: place.offset,
            length: place.length,
        })
        .collect()
}

/// Fills in the names of a prompt. Unknown ones stay as they are, and what is filled in is not
/// looked at again: an earlier answer that holds `{{project}}` is text.
pub fn fill(prompt: &str, values: &Variables) -> String {
    let mut out = String::with_capacity(prompt.len());
    let mut done = 0;
    for place in places(prompt) {
        let value = match place.name {
            "scheduled_for" => &values.scheduled_for,
            "last_result" => &values.last_result,
            "last_success_at" => &values.last_success_at,
            "project" => &values.project,
            _ => continue,
        };
        out.push_str(&prompt[done..place.offset]);
        out.push_str(value);
        done = place.offset + place.length;
    }
    out.push_str(&prompt[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_once_and_unknown_ones_stay() {
        let values = Variables {
            scheduled_for: "2026-12-01 09:00".into(),
            last_result: "see {{project}}".into(),
            last_success_at: String::new(),
            project: "/srv/alpha".into(),
        };
        let filled =
            fill("{{project}} {{ scheduled_for }} {{last_result}} {{nope}} {{a b}}", &values);
        assert_eq!(
            filled, "/srv/alpha 2026-12-01 09:00 see {{project}} {{nope}} {{a b}}",
            "a value is text, never a template"
        );
    }

    #[test]
    fn unknown_names_are_found_where_they_stand() {
        let found = unknown("ä {{projekt}} {{project}} {{");
        assert_eq!(
            found,
            [UnknownVariable { name: "projekt".into(), offset: 3, length: 11 }],
            "an editor underlines exactly this"
        );
    }
}
