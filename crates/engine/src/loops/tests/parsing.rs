use super::*;
use crate::loops::Severity;

/// F01: a byte-order mark, CRLF and a fence at the end of the file.
#[test]
fn f01_byte_order_mark_and_carriage_returns_are_tolerated() {
    let head =
        "\u{feff}---\r\nname: a\r\nschedule: \"0 9 * * *\"\r\nenabled: true\r\nmodel: p/m\r\n---";
    let parsed = read(&format!("{head}\r\nDo it\r\n"));
    let definition = parsed.definition.expect("the file is good");
    assert_eq!(
        (definition.name.as_str(), definition.enabled, &*definition.execution.prompt),
        ("a", true, "Do it")
    );
    assert_eq!(parsed.diagnostics, [], "nothing is wrong with it");
    let without = read(head);
    assert_eq!(without.definition, None, "a loop needs a prompt");
    assert_eq!(find(&without, "missing-prompt").line, 6);
}

/// F04: only a real boolean enables, and what looks like one gets a fix.
#[test]
fn f04_only_a_real_boolean_enables() {
    let cases = [
        ("true", true, None),
        ("True", true, None),
        ("TRUE", true, None),
        ("true # note", true, None),
        ("no", false, Some("false")),
        ("yes", false, Some("true")),
        ("on", false, Some("true")),
        ("off", false, Some("false")),
        ("y", false, Some("true")),
        ("1", false, Some("true")),
        ("\"true\"", false, Some("true")),
    ];
    for (written, enabled, fix) in cases {
        let text = file(&format!("enabled: {written}\n"));
        let parsed = read(&text);
        let definition = parsed.definition.as_ref().expect("the loop is kept, only off");
        assert_eq!(definition.enabled, enabled, "{written}");
        match fix {
            None => assert_eq!(parsed.diagnostics, [], "{written} is a boolean"),
            Some(word) => {
                let finding = find(&parsed, "enabled-not-boolean");
                assert_eq!((finding.line, finding.column), (5, 10), "{written}");
                assert_eq!(
                    fixed(&text, "enabled-not-boolean"),
                    file(&format!("enabled: {word}\n")),
                    "{written}"
                );
            }
        }
    }
    let absent = read(&file(""));
    assert!(!absent.definition.expect("good").enabled, "a loop is off until it says otherwise");
    assert_eq!(absent.diagnostics, []);
}

/// F05: duplicate keys, tabs, bare colons, numbers as names.
#[test]
fn f05_what_other_readers_take_silently() {
    let twice = read(&file("enabled: true\nagent: x\nenabled: false\n"));
    assert_eq!(twice.definition, None, "nobody can tell whether it is on");
    let finding = find(&twice, "duplicate-key");
    assert_eq!(finding.line, 7);
    assert!(finding.message.contains("line 5") && finding.message.contains("line 7"));

    let tab = file("\tagent: x\n");
    assert_eq!(read(&tab).definition, None, "a tab is no indentation");
    assert_eq!(find(&read(&tab), "tab-indent").line, 5);
    let nested = file("opts:\n\tdeep: 1\n");
    assert_eq!(read(&nested).definition, None, "a tab is no indentation");

    let colon = "---\nname: digest: daily\nschedule: \"0 9 * * *\"\nmodel: p/m\n---\nx";
    let parsed = read(colon);
    assert_eq!(parsed.definition.as_ref().expect("read leniently").name, "digest: daily");
    let repaired = fixed(colon, "unquoted-colon");
    assert!(repaired.contains("name: \"digest: daily\"\n"), "{repaired}");
    assert_eq!(read(&repaired).definition, parsed.definition, "the fix keeps the meaning");
    assert_eq!(read(&repaired).diagnostics, []);

    let number = "---\nname: 007\nschedule: \"0 9 * * *\"\nmodel: p/m\n---\nx";
    assert_eq!(read(number).definition, None, "a number is no name");
    assert_eq!(read(&fixed(number, "name-not-text")).definition.expect("repaired").name, "007");
}

/// F11: limits count UTF-16 units, the model splits at the first slash.
#[test]
fn f11_limits_are_those_of_the_co_owner() {
    let named = |name: &str| read(&file("").replace("name: a", &format!("name: {name}")));
    let long = named(&"😀".repeat(41));
    assert_eq!(long.definition, None, "82 units are too many, though 41 characters are not");
    assert!(find(&long, "name-too-long").message.contains("82"));
    assert!(named(&"😀".repeat(40)).definition.is_some());

    let text = file("").replace("p/m", "openrouter/vendor/model-x");
    let execution = read(&text).definition.expect("good").execution;
    assert_eq!((&*execution.provider_id, &*execution.model_id), ("openrouter", "vendor/model-x"));

    let long = file("").replace("Do it", &"x".repeat(25_000));
    let parsed = read(&long);
    assert_eq!(parsed.definition.as_ref().expect("kept whole").execution.prompt.len(), 25_000);
    assert_eq!(find(&parsed, "prompt-long").severity, Severity::Warning);
}

#[test]
fn an_unquoted_star_is_to_be_quoted() {
    for expression in ["*/5 * * * *", "* * * * *", "@daily"] {
        let text = file("").replace("\"0 9 * * *\"", &format!("{expression} # often"));
        let parsed = read(&text);
        assert_eq!(parsed.definition, None, "YAML has no such value");
        let finding = find(&parsed, "quote-value");
        assert_eq!((finding.line, finding.column), (3, 11));
        assert!(finding.help.as_ref().expect("help").contains("quote it"));
        let repaired = fixed(&text, "quote-value");
        assert!(repaired.contains(&format!("schedule: \"{expression}\" # often\n")), "{repaired}");
        assert!(read(&repaired).definition.is_some(), "{:#?}", read(&repaired).diagnostics);
    }
}

#[test]
fn fences_say_what_is_missing() {
    for (text, code) in [
        ("name: a", "no-opening-fence"),
        ("--- \nname: a\n---\nx", "no-opening-fence"),
        ("---\nname: a\n", "no-closing-fence"),
        ("---\nname: a\n----\nx", "no-closing-fence"),
        ("---\n# nothing\n---\nx", "header-empty"),
        ("---\n- a\n---\nx", "header-not-mapping"),
        ("---\nname: [a\n---\nx", "quote-value"),
        ("---\nname: \"a\n---\nx", "yaml-syntax"),
        ("---\nname: *b\n---\nx", "quote-value"),
        ("---\nx: [*b]\n---\nx", "unknown-alias"),
    ] {
        let parsed = read(text);
        assert_eq!(parsed.definition, None, "{text:?}");
        let finding = find(&parsed, code);
        assert_eq!(finding.severity, Severity::Error, "{text:?}");
        assert!(finding.help.is_some(), "{code} shows a way out");
    }
    assert_eq!(fixed("--- \na: 1\n---\nx", "no-opening-fence"), "---\na: 1\n---\nx");
    assert_eq!(fixed("---\na: 1\n----\nx", "no-closing-fence"), "---\na: 1\n---\nx");
}

#[test]
fn missing_keys_are_all_named_at_once() {
    let parsed = read("---\nenabled: true\n---\n");
    for key in ["name", "schedule", "model", "prompt"] {
        assert!(find(&parsed, &format!("missing-{key}")).help.is_some());
    }
}

#[test]
fn a_bad_schedule_or_zone_makes_the_file_malformed() {
    for (expression, zone) in [("nope", "UTC"), ("99 9 * * *", "UTC"), ("0 9 * *", "UTC")] {
        let text = file(&format!("timezone: {zone}\n")).replace("0 9 * * *", expression);
        let parsed = read(&text);
        assert_eq!(parsed.definition, None, "{expression} never fires");
        let finding = find(&parsed, "bad-schedule");
        assert!(finding.line == 3 && finding.help.is_some(), "{finding:?}");
    }
    let parsed = read(&file("timezone: Mars/Base\n"));
    assert_eq!(parsed.definition, None);
    assert_eq!(find(&parsed, "bad-timezone").line, 5);
    assert_eq!(
        fixed(&file("timezone: PST\n"), "bad-timezone"),
        file("timezone: America/Los_Angeles\n")
    );
    assert_eq!(fixed(&file("timezone: Kyiv\n"), "bad-timezone"), file("timezone: Europe/Kyiv\n"));
}

#[test]
fn zones_in_another_case_are_written_properly() {
    let text = file("timezone: europe/kyiv\n");
    assert!(read(&text).definition.is_some(), "the zone is known in any case");
    assert_eq!(fixed(&text, "timezone-case"), file("timezone: Europe/Kyiv\n"));
}

#[test]
fn notes_on_a_schedule_stand_at_it_and_offer_what_every_reader_takes_alike() {
    let text = file("").replace("\"0 9 * * *\"", "\"@midnight\"");
    let parsed = read(&text);
    assert!(parsed.definition.is_some(), "{parsed:#?}");
    let finding = find(&parsed, "schedule-note");
    assert_eq!((finding.severity, finding.line, finding.column), (Severity::Info, 3, 11));
    assert_eq!(fixed(&text, "schedule-note"), text.replace("@midnight", "0 0 * * *"));
    let never = file("").replace("0 9 * * *", "0 9 31 2 *");
    assert_eq!(read(&never).definition, None, "31 February never comes");
    assert_eq!(find(&read(&file("timezone: US/Pacific\n")), "timezone-note").line, 5);
}

#[test]
fn keys_that_were_meant_are_named() {
    assert_eq!(fixed(&file("Enabled: true\n"), "unknown-key"), file("enabled: true\n"));
    assert_eq!(fixed(&file("tz: UTC\n"), "unknown-key"), file("timezone: UTC\n"));
    assert_eq!(
        read(&file("description: x\n")).diagnostics,
        [],
        "others may have keys of their own"
    );
    assert_eq!(find(&read(&file("variant: x\n")), "key-not-in-files").severity, Severity::Info);
}

#[test]
fn positions_count_utf16_units_also_behind_a_byte_order_mark() {
    let text = format!("\u{feff}{}", file("x: {\"🙂\": 1, enabled: 2}\nagent: 5\n"));
    let parsed = read(&text);
    let finding = find(&parsed, "agent-not-text");
    assert_eq!((finding.line, finding.column, finding.end_column), (6, 8, 9));
    let flow =
        "---\n{\"🙂\": 1, name: a, schedule: \"0 9 * * *\", model: p/m, enabled: yes}\n---\nx";
    let parsed = read(flow);
    let finding = find(&parsed, "enabled-not-boolean");
    let column = flow.lines().nth(1).expect("a line").split("yes").next().expect("a part");
    assert_eq!(finding.column as usize, column.encode_utf16().count() + 1);
}

#[test]
fn aliases_are_followed_and_bombs_refused() {
    let text =
        file("").replace("---\nname", "---\nd: &d p/x\nname").replace("model: p/m", "model: *d");
    assert_eq!(read(&text).definition.expect("the alias is defined").execution.model_id, "x");
    let mut bomb = String::from("a: &a [1]\n");
    for (name, before) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")] {
        bomb.push_str(&format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{before}"); 12].join(", ")
        ));
    }
    let parsed = read(&file(&bomb));
    assert_eq!(parsed.definition, None);
    find(&parsed, "alias-bomb");
    let deep = file(&format!("x: {}{}\n", "[".repeat(100), "]".repeat(100)));
    assert_eq!(read(&deep).definition, None);
}

#[test]
fn prompt_variables_are_checked_when_they_are_on() {
    let text = file("policy: {variables: true}\n")
        .replace("Do it", "Since {{last_success_at}} in {{projct}} and {{other}}");
    let parsed = read(&text);
    let unknown: Vec<_> =
        parsed.diagnostics.iter().filter(|f| f.code == "unknown-variable").collect();
    assert_eq!(unknown.len(), 2, "{unknown:#?}");
    assert_eq!((unknown[0].line, unknown[0].column), (7, 30));
    assert!(fixed(&text, "unknown-variable").contains("in {{project}} and"));
    let off = read(&file("").replace("Do it", "{{project}} {{x}}"));
    assert_eq!(
        off.diagnostics.len(),
        1,
        "unknown names are no business of a prompt without variables"
    );
    find(&off, "variables-off");
}

#[test]
fn hostile_bytes_never_panic_and_always_explain_themselves() {
    use proptest::prelude::*;
    let piece = prop::sample::select(vec![
        "---",
        "\n",
        "\r\n",
        "name: a",
        "enabled: ",
        "true",
        "\t",
        " ",
        ": ",
        "*",
        "&a",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "|",
        ">",
        "#",
        "schedule: \"0 9 * * *\"",
        "model: p/m",
        "policy:",
        "  timeout: 1x",
        "🙂",
        "\u{feff}",
        "\u{7}",
        "{{x}}",
        "!!bool",
        "? ",
        "- ",
    ]);
    proptest!(ProptestConfig::with_cases(1500), |(pieces in prop::collection::vec(piece, 0..40))| {
        let text = format!("---\n{}", pieces.concat());
        let parsed = parse(text.as_bytes());
        if parsed.definition.is_none() {
            prop_assert!(parsed.diagnostics.iter().any(|f| f.severity == Severity::Error),
                "a malformed file says why: {text:?}");
        }
        for fix in parsed.diagnostics.iter().filter_map(|finding| finding.fix.as_ref()) {
            prop_assert!(fix.apply(&text).is_some(), "a fix fits its text: {text:?} {fix:?}");
        }
    });
}
