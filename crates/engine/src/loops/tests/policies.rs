use super::*;
use crate::loops::Severity;
use crate::task::policy::{Budget, CatchUp, Notify, Overlap, Policy};
use std::time::Duration;

fn policy(lines: &str) -> String {
    file(&format!("policy:\n{lines}"))
}

#[test]
fn every_key_is_read() {
    let text = policy(concat!(
        "  timeout: 45m\n  blocked_timeout: 2h\n  catch_up: latest\n  catch_up_window: 1d\n",
        "  overlap: queue\n  retries: 3\n  retry_backoff: 30s\n  notify: always\n",
        "  run_on: [one, two]\n  only_in: [a]\n  budget: {runs_per_day: 5}\n",
        "  signal: https://x.test/y\n  variables: true\n  worktree: false\n",
    ));
    let parsed = read(&text);
    assert_eq!(parsed.diagnostics, [], "all of it is right");
    let minutes = |minutes: u64| Some(Duration::from_secs(minutes * 60));
    assert_eq!(
        *parsed.definition.expect("good").policy.expect("there is one"),
        Policy {
            timeout: minutes(45),
            blocked_timeout: minutes(120),
            catch_up: Some(CatchUp::Latest),
            catch_up_window: minutes(24 * 60),
            overlap: Some(Overlap::Queue),
            retries: Some(3),
            retry_backoff: Some(Duration::from_secs(30)),
            notify: Some(Notify::Always),
            run_on: vec!["one".into(), "two".into()],
            only_in: vec!["a".into()],
            budget: Some(Budget { runs_per_day: Some(5) }),
            signal: Some("https://x.test/y".into()),
            variables: Some(true),
            worktree: Some(false),
        }
    );
}

#[test]
fn wrong_values_are_named_and_the_good_rest_stays() {
    let wrong = [
        "timeout: 30",
        "timeout: 0s",
        "timeout: []",
        "blocked_timeout: soon",
        "catch_up: all",
        "overlap: true",
        "retries: -1",
        "retries: many",
        "retries: 1.5",
        "notify: sometimes",
        "signal: x.test",
        "signal: https://",
        "variables: maybe",
        "worktree: 1x",
    ];
    for line in wrong {
        let parsed = read(&policy(&format!("  run_on: [h]\n  {line}\n")));
        let finding = find(&parsed, "policy-value");
        assert_eq!((finding.line, finding.severity), (7, Severity::Error), "{line}");
        assert!(finding.help.is_some(), "{line} shows a way out");
        let policy = parsed.definition.expect("the loop stays").policy.expect("the policy stays");
        assert_eq!(*policy, Policy { run_on: vec!["h".into()], ..Policy::default() }, "{line}");
    }
    let parsed = read(&file("policy: 3\n"));
    assert_eq!(find(&parsed, "policy-not-mapping").line, 5);
    assert_eq!(parsed.definition.expect("the loop stays").policy, None);
}

#[test]
fn a_restriction_that_cannot_be_read_is_not_dropped() {
    for line in [
        "run_on:",
        "run_on: {a: 1}",
        "only_in: [[x]]",
        "only_in: [~]",
        "run_on: true",
        "budget: 3",
        "budget: {runs_per_day: 0}",
        "budget: {runs_per_day: one}",
    ] {
        let parsed = read(&policy(&format!("  {line}\n")));
        assert_eq!(parsed.definition, None, "{line}: it would run though its author forbade it");
        assert_eq!(find(&parsed, "policy-value").line, 6, "{line}");
    }
    let text = policy("  run_on: laptop\n");
    let parsed = read(&text);
    let policy_read = parsed.definition.expect("one name is clear").policy.expect("there is one");
    assert_eq!(policy_read.run_on, ["laptop"]);
    assert_eq!(fixed(&text, "policy-value"), policy("  run_on: [\"laptop\"]\n"));
}

#[test]
fn mechanical_faults_are_fixed() {
    for (wrong, right, code) in [
        ("variables: yes", "variables: true", "policy-value"),
        ("worktree: \"false\"", "worktree: false", "policy-value"),
        ("catch_up: Latest", "catch_up: latest", "policy-value"),
        ("retries: \"2\"", "retries: 2", "policy-value"),
        ("time_out: 5m", "timeout: 5m", "policy-unknown-key"),
        ("catch-up: skip", "catch_up: skip", "policy-unknown-key"),
    ] {
        let text = policy(&format!("  {wrong}\n"));
        assert_eq!(fixed(&text, code), policy(&format!("  {right}\n")));
    }
    let parsed = read(&policy("  colour: red\n"));
    assert!(find(&parsed, "policy-unknown-key").help.as_ref().expect("help").contains("timeout"));
}
