use super::*;
use crate::loops::edit::{EditError, set_enabled, toggle_file};
use proptest::prelude::*;
use std::fs;

fn toggled(text: &str, enabled: bool) -> String {
    String::from_utf8(set_enabled(text.as_bytes(), enabled).expect("it can be toggled"))
        .expect("UTF-8")
}

/// F07: switching off changes the word on one line; comments, quotes, order and line ends stay.
#[test]
fn f07_only_the_word_changes() {
    let text = concat!(
        "---\n# owner: ops\nenabled: true   # paused in May\nname: \"a\"\nschedule: '0 9 * * *'\n",
        "tags: [x, y]\n\nmodel: p/m\n---\n\nDo it"
    );
    assert_eq!(toggled(text, false), text.replace("true ", "false "));
    assert_eq!(toggled(text, true), text, "it already says so");
    let rewritten = "---\nname: a\nschedule: 0 9 * * *\nenabled: true\nmodel: p/m\n---\n\nDo it";
    assert_eq!(toggled(rewritten, false), rewritten.replace("true", "false"));
}

/// F01: a byte-order mark and every carriage return are kept.
#[test]
fn f01_byte_order_mark_and_line_ends_stay() {
    let text =
        "\u{feff}---\r\nname: a\r\nschedule: \"0 9 * * *\"\r\nmodel: p/m\r\n---\r\nDo it\r\n";
    let on = text.replace("model: p/m\r\n", "model: p/m\r\nenabled: true\r\n");
    assert_eq!(toggled(text, true), on, "the line is inserted with the file's line end");
    assert_eq!(toggled(&on, false), on.replace("true", "false"));
}

#[test]
fn every_way_to_write_it_changes_one_token() {
    for (written, off) in [
        ("enabled: TRUE", "enabled: false"),
        ("enabled : true # x", "enabled : false # x"),
        ("\"enabled\": true", "\"enabled\": false"),
        ("? enabled\n: true", "? enabled\n: false"),
        ("enabled:\n  true", "enabled:\n  false"),
        ("enabled: &e true", "enabled: &e false"),
        ("enabled: !!bool true", "enabled: !!bool false"),
        ("enabled: !!bool \"true\"", "enabled: !!bool false"),
    ] {
        let text = file(&format!("{written}\n"));
        assert_eq!(toggled(&text, false), file(&format!("{off}\n")), "{written}");
    }
    for (written, on) in [
        ("enabled: yes", "enabled: true"),
        ("enabled: \"true\"", "enabled: true"),
        ("enabled:", "enabled: true"),
        ("enabled: # later", "enabled: true # later"),
        ("enabled: ~", "enabled: true"),
        ("enabled: |-\n  off", "enabled: true"),
        ("enabled: [a, b]", "enabled: true"),
        ("d: &d false\nenabled: *d", "d: &d false\nenabled: true"),
    ] {
        let text = file(&format!("{written}\n"));
        assert_eq!(toggled(&text, true), file(&format!("{on}\n")), "{written}");
    }
    let flow = "---\n{name: A, schedule: \"0 9 * * *\", model: a/b}\n---\nx";
    assert_eq!(toggled(flow, true), flow.replace("a/b}", "a/b, enabled: true}"));
}

/// A toggle that would change more than the flag is refused: the anchor is used elsewhere.
#[test]
fn a_shared_value_is_not_changed_behind_its_back() {
    let text = file("policy:\n  variables: &v true\n")
        .replace("---\nname", "---\nenabled: &e true\nx: *e\nname");
    let text = text.replace("variables: &v true", "variables: *e");
    let error = set_enabled(text.as_bytes(), false).expect_err("the policy would change too");
    assert!(matches!(error, EditError::Entangled { line: 2 }), "{error}");
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    let error = set_enabled(b"---\nname: A\n---\ndo it\n", true).expect_err("no schedule");
    assert!(matches!(&error, EditError::Malformed { .. }), "{error}");
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn bytes_that_are_not_text_survive() {
    let mut bytes = file("enabled: true\n").into_bytes();
    bytes.extend_from_slice(b"\xff\xfe end");
    let off = set_enabled(&bytes, false).expect("the header is text");
    assert!(off.ends_with(b"\xff\xfe end"), "the body is not rewritten");
    assert_eq!(off.len(), bytes.len() + 1);
    let mut odd = b"---\nname: a\nschedule: \"0 9 * * *\"\nmodel: p/m # \xff\xff\n".to_vec();
    odd.extend_from_slice(b"enabled: true\n---\nx\xff");
    let off = set_enabled(&odd, false).expect("a broken comment is no reason to refuse");
    let at = odd.windows(4).position(|window| window == b"true").expect("it is there");
    assert_eq!(off, [&odd[..at], b"false", &odd[at + 4..]].concat());
}

#[test]
fn toggling_a_file_keeps_mode_and_refuses_links() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.md");
    fs::write(&path, file("enabled: false\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("mode");
    assert!(toggle_file(&path, true).expect("toggled"));
    assert!(!toggle_file(&path, true).expect("nothing to do"), "idempotent");
    assert_eq!(fs::read_to_string(&path).expect("read"), file("enabled: true\n"));
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
    let link = folder.path().join("b.md");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    toggle_file(&link, false).expect_err("a link is not replaced by a file");
    assert_eq!(fs::read_to_string(&path).expect("read"), file("enabled: true\n"));
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 2, "nothing is left over");
}

proptest! {
    /// Off and on again gives the bytes back where the key was a plain boolean; everything outside
    /// of the token is equal in between.
    #[test]
    fn twice_gives_the_bytes_back(
        before in prop::collection::vec("(# [a-z: ]{0,12}|[b-d]{2,5}: [a-z0-9 ]{1,9}|[e-h]{2,4}: \"[a-z :]{0,9}\"|)", 0..4),
        after in prop::collection::vec("(# [a-z: ]{0,12}|[i-l]{2,5}: \\[[a-z]{1,3}, 1\\]|)", 0..4),
        enabled: bool,
        comment in "( #[ a-z]{0,6})?",
        crlf: bool,
        mark: bool,
        body in "[a-zA-Z#:\n🙂-]{1,40}x",
    ) {
        let word = if enabled { "true" } else { "false" };
        let mut lines = vec!["---".to_owned()];
        lines.extend(before);
        lines.push(format!("enabled: {word}{comment}"));
        lines.extend(["name: a", "schedule: \"0 9 * * *\"", "model: p/m"].map(str::to_owned));
        lines.extend(after);
        lines.push("---".to_owned());
        let end = if crlf { "\r\n" } else { "\n" };
        let text = format!("{}{}{end}{body}", if mark { "\u{feff}" } else { "" }, lines.join(end));
        prop_assume!(parse(text.as_bytes()).definition.is_some());
        let other = toggled(&text, !enabled);
        let expected = text.replacen(
            &format!("enabled: {word}"),
            &format!("enabled: {}", !enabled),
            1,
        );
        prop_assert_eq!(&other, &expected);
        prop_assert_eq!(toggled(&other, enabled), text);
    }
}
