//! Edits of JSON text that leave every other byte alone.
//!
//! The shared file belongs to several programs in several versions, so nothing is parsed and
//! printed again: a value is set by replacing its slice. Key order, duplicate keys, number forms,
//! escapes (lone surrogates too) and white space of everything else stay as they came.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use std::fmt;

/// How deep a value is decoded; deeper ones count as null (they are kept in the text all the same).
const DEPTH: usize = 120;

/// The members of an object in their order, duplicates included, as slices of its text.
pub(super) struct Members<'a>(pub Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Read)
    }
}

/// The elements of a list as slices of its text.
pub(super) struct Elements<'a>(pub Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Elements<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Elements<'de>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element::<&RawValue>()? {
                    elements.push(element);
                }
                Ok(Elements(elements))
            }
        }
        from.deserialize_seq(Read)
    }
}

/// Returns where `part`, a slice of `whole`, begins in it.
pub(super) fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// Returns the members of an object's text; `None` when it is no object.
pub(super) fn members(text: &str) -> Option<Vec<(&RawValue, &RawValue)>> {
    serde_json::from_str::<Members>(text).ok().map(|members| members.0)
}

/// Says whether a key's slice spells `name`, however it is escaped.
pub(super) fn is_key(raw: &RawValue, name: &str) -> bool {
    let text = raw.get();
    let plain = &text[1..text.len() - 1];
    if plain.contains('\\') { decode_text(text) == name } else { plain == name }
}

/// Returns the value that counts for `name`: the last one, as JavaScript reads it.
pub(super) fn last<'a>(members: &[(&'a RawValue, &'a RawValue)], name: &str) -> Option<&'a str> {
    members.iter().rev().find(|(key, _)| is_key(key, name)).map(|(_, value)| value.get())
}

/// Decodes a value for use, never for writing: lone surrogates become U+FFFD, numbers that no f64
/// holds become null.
pub(super) fn decode(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| decode_leniently(text, DEPTH))
}

fn decode_leniently(text: &str, depth: usize) -> Value {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if depth == 0 {
        return Value::Null;
    }
    match text.as_bytes().first() {
        Some(b'{') => Value::Object(
            members(text)
                .unwrap_or_default()
                .into_iter()
                .map(|(key, value)| {
                    (decode_text(key.get()), decode_leniently(value.get(), depth - 1))
                })
                .collect(),
        ),
        Some(b'[') => Value::Array(
            serde_json::from_str::<Elements>(text)
                .map(|elements| elements.0)
                .unwrap_or_default()
                .into_iter()
                .map(|element| decode_leniently(element.get(), depth - 1))
                .collect(),
        ),
        Some(b'"') => Value::String(decode_text(text)),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        _ => text.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number),
    }
}

/// Decodes a string's text; a lone surrogate becomes U+FFFD.
fn decode_text(text: &str) -> String {
    if let Ok(plain) = serde_json::from_str(text) {
        return plain;
    }
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match chars.next() {
            Some('n') => 0x0a,
            Some('t') => 0x09,
            Some('r') => 0x0d,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&digits, 16).unwrap_or(0xfffd)
            }
            Some(other) => u16::try_from(u32::from(other)).unwrap_or(0xfffd),
            None => break,
        });
    }
    String::from_utf16_lossy(&units)
}

/// One change of an object: set a member's value (as JSON text), or remove it with `None`.
pub(super) type Edit<'a> = (&'a str, Option<String>);

/// Returns the object's text with the edits applied; `None` when the text is no object.
///
/// A value that already counts as equal is left as it is spelled. A set value replaces the last of
/// several members with that name, a removal takes all of them. New members go to the end, in the
/// style of the last one, or on lines of their own indented by two spaces a level of `depth`.
pub(super) fn edit_object(text: &str, edits: &[Edit], depth: usize) -> Option<String> {
    struct Part {
        before: String,
        key: String,
        colon: String,
        value: String,
        after: String,
    }
    let raw = members(text)?;
    let mut parts = Vec::with_capacity(raw.len() + edits.len());
    let mut at = 1;
    let mut closing = text.get(1..text.len().checked_sub(1)?)?.to_owned();
    for (index, (key, value)) in raw.iter().enumerate() {
        let (key_at, value_at) = (offset(text, key.get()), offset(text, value.get()));
        let (key_end, value_end) = (key_at + key.get().len(), value_at + value.get().len());
        let rest = &text[value_end..];
        let stop = rest.find([',', '}'])?;
        let last = index + 1 == raw.len();
        parts.push(Part {
            before: text[at..key_at].to_owned(),
            key: key.get().to_owned(),
            colon: text[key_end..value_at].to_owned(),
            value: value.get().to_owned(),
            after: if last { String::new() } else { rest[..stop].to_owned() },
        });
        if last {
            rest[..stop].clone_into(&mut closing);
        }
        at = value_end + stop + 1;
    }
    let mut changed = false;
    for (name, value) in edits {
        let here = |part: &Part| decode_text(&part.key) == *name;
        match value {
            None => {
                let count = parts.len();
                parts.retain(|part| !here(part));
                changed |= parts.len() != count;
            }
            Some(new) => match parts.iter_mut().rev().find(|part| here(part)) {
                Some(part) if same_value(&part.value, new) => {}
                Some(part) => {
                    part.value.clone_from(new);
                    changed = true;
                }
                None => {
                    let own_line = || format!("\n{}", "  ".repeat(depth + 1));
                    let (before, colon) = parts.last().map_or_else(
                        || (own_line(), ": ".to_owned()),
                        |part| (part.before.clone(), part.colon.clone()),
                    );
                    if parts.is_empty() {
                        closing = format!("\n{}", "  ".repeat(depth));
                    }
                    let key = quote(name);
                    let (value, after) = (new.clone(), String::new());
                    parts.push(Part { before, key, colon, value, after });
                    changed = true;
                }
            },
        }
    }
    if !changed {
        return Some(text.to_owned());
    }
    if parts.is_empty() {
        return Some("{}".to_owned());
    }
    let mut out = String::with_capacity(text.len() + 64);
    out.push('{');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        for piece in [&part.before, &part.key, &part.colon, &part.value, &part.after] {
            out.push_str(piece);
        }
    }
    out.push_str(&closing);
    out.push('}');
    Some(out)
}

/// Says whether two values mean the same; numbers are compared as JavaScript has them.
fn same_value(old: &str, new: &str) -> bool {
    if old == new {
        return true;
    }
    let (old, new) = (decode(old), decode(new));
    match (old.as_f64(), new.as_f64()) {
        (Some(old), Some(new)) => old == new,
        _ => old == new,
    }
}

/// Writes a string as JSON.
pub(super) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a value as the peer does, two spaces a level, standing at `depth`.
pub(super) fn pretty<T: serde::Serialize>(value: &T, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    // Line ends inside strings are escaped, so each one here is between tokens.
    text.replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_byte_stays() {
        let text = r#"{ "a" : 1.0,"b":"\ud83d cut", "a":1e2 , "z":{"k":[1 ,2]} }"#;
        let edited = edit_object(text, &[("a", Some("7".to_owned()))], 0).expect("an object");
        assert_eq!(edited, r#"{ "a" : 1.0,"b":"\ud83d cut", "a":7 , "z":{"k":[1 ,2]} }"#);
        let same = edit_object(text, &[("a", Some("100".to_owned()))], 0).expect("an object");
        assert_eq!(same, text, "1e2 is 100: nothing changes, so nothing is spelled anew");
        let gone = edit_object(text, &[("a", None)], 0).expect("an object");
        assert_eq!(
            gone, r#"{"b":"\ud83d cut", "z":{"k":[1 ,2]} }"#,
            "an earlier one must not count now"
        );
    }

    #[test]
    fn new_members_take_the_style_of_the_object() {
        let set = |text, key| edit_object(text, &[(key, Some("2".to_owned()))], 1).expect("object");
        assert_eq!(set(r#"{"a":1}"#, "b"), r#"{"a":1,"b":2}"#);
        assert_eq!(set("{\n    \"a\": 1\n  }", "b"), "{\n    \"a\": 1,\n    \"b\": 2\n  }");
        assert_eq!(set("{}", "b"), "{\n    \"b\": 2\n  }", "two spaces a level");
        assert_eq!(set(r#"{"a":{"b":"},"}}"#, "c"), r#"{"a":{"b":"},"},"c":2}"#);
    }

    #[test]
    fn lone_surrogates_and_odd_numbers_are_readable() {
        let value =
            decode(r#"{"p":"caf\u00e9 \ud83d","n":1e999,"pair":"\ud83d\ude00","\ud800":1}"#);
        assert_eq!(value["p"], "café \u{fffd}", "decoded lossily for use");
        assert_eq!(value["pair"], "😀", "whole pairs are characters");
        assert!(value["n"].is_null(), "no f64 holds it");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(decode(&deep).is_array(), "depth must not cost the stack");
    }
}
