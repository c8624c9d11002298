//! The recorded cases of toggles, byte by byte.

use crate::loops::edit::set_enabled;
use crate::loops::parse;

/// Every recorded toggle differs from its original in one token or one inserted line.
#[test]
fn recorded_toggles_change_one_token_or_add_one_line() {
    let cases = include_str!("../../../../../tests/vectors/toggle.jsonl");
    let mut changed = 0;
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case a line");
        let (id, text) = (case["id"].as_str().expect("id"), case["text"].as_str().expect("text"));
        let enabled = case["enabled"].as_bool().expect("a boolean");
        let result = set_enabled(text.as_bytes(), enabled);
        assert_eq!(result.is_ok(), case["expected"]["ok"] == true, "{id}");
        let Ok(bytes) = result else { continue };
        let new = String::from_utf8(bytes).expect("UTF-8");
        assert!(
            parse(new.as_bytes()).definition.is_some_and(|found| found.enabled == enabled),
            "{id}"
        );
        let same_start = text.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let rest = text.len().min(new.len()) - same_start;
        let (old_tail, new_tail) = (text.bytes().rev(), new.bytes().rev());
        let same_end = old_tail.zip(new_tail).take(rest).take_while(|(a, b)| a == b).count();
        let (old, put) =
            (&text[same_start..text.len() - same_end], &new[same_start..new.len() - same_end]);
        if old.is_empty() && put.is_empty() {
            continue;
        }
        changed += 1;
        // `true` and `false` end alike, so the shortest difference of a token is `fals` and `tru`.
        let token = matches!((old, put), ("fals", "tru") | ("tru", "fals") | ("yes", "false"));
        let line = old.is_empty()
            && new.contains(&format!("\nenabled: {enabled}\n"))
            && put.trim_end().lines().count() == 1
            && put.len() == format!("enabled: {enabled}\n").len();
        assert!(token || line, "{id}: {old:?} became {put:?}");
    }
    assert!(changed >= 10, "the cases do toggle something");
}
