use super::*;
use crate::loops::template::{NewLoop, TemplateError, create_from_template, render};
use crate::loops::write::{WriteError, write_file};
use crate::task::Schedule;
use crate::task::policy::Policy;
use proptest::prelude::*;
use std::fs;

fn new() -> NewLoop {
    NewLoop {
        name: "no".into(),
        schedule: "*/5 * * * *".into(),
        model: "p/m:free".into(),
        enabled: true,
        agent: Some("a: b".into()),
        timezone: Some("Europe/Kyiv".into()),
        policy: Policy::default(),
        prompt: "Do it".into(),
    }
}

/// F09: what a form holds is quoted, and the text is read back before it is written.
#[test]
fn f09_a_form_reads_back_as_it_was_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let loops = folder.path().join(".agents/loops");
    let path = create_from_template(&loops, &new()).expect("created");
    assert_eq!(path, loops.join("no.md"));
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.contains("schedule: \"*/5 * * * *\"\n"), "{text}");
    let parsed = read(&text);
    assert_eq!(parsed.diagnostics, [], "a template is beyond reproach");
    let definition = parsed.definition.expect("good");
    assert_eq!(definition.name, "no");
    assert!(definition.enabled);
    assert_eq!(
        definition.schedule,
        Schedule::Cron { cron: "*/5 * * * *".into(), timezone: Some("Europe/Kyiv".into()) }
    );
    assert_eq!(definition.execution.agent.as_deref(), Some("a: b"));
    assert_eq!(definition.execution.model_id, "m:free");
    let second = create_from_template(&loops, &new()).expect("created");
    assert_eq!(second, loops.join("no-2.md"), "no file is ever replaced");
}

#[test]
fn a_policy_goes_into_the_file() {
    let policy: Policy = serde_json::from_value(serde_json::json!({
        "timeout": "5m", "blocked_timeout": "1d", "catch_up": "latest", "catch_up_window": "2d", "overlap": "queue",
        "retries": 0, "retry_backoff": "30s", "notify": "never", "run_on": ["desk", "no: 1"], "only_in": ["/a/b c"],
        "budget": {"runs_per_day": 3}, "signal": "https://ping.test/x?a=b#c", "variables": true, "worktree": false,
    }))
    .expect("a policy");
    let text = render(&NewLoop { policy: policy.clone(), ..new() }).expect("a loop");
    let parsed = read(&text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    assert_eq!(parsed.definition.expect("good").policy, Some(policy.into()), "{text}");
    assert!(!render(&new()).expect("a loop").contains("policy"), "an empty one writes nothing");
}

#[test]
fn a_form_that_makes_no_loop_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = NewLoop { schedule: "never".into(), ..new() };
    let error = create_from_template(folder.path(), &bad).expect_err("no such schedule");
    assert!(matches!(error, TemplateError::Malformed { .. }));
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 0);
    assert!(render(&NewLoop { prompt: " ".into(), ..new() }).is_err());
}

#[test]
fn links_are_not_written_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let (real, link) = (folder.path().join("real.md"), folder.path().join("link.md"));
    fs::write(&real, "x").expect("written");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    let error = write_file(&link, b"y").expect_err("refused");
    assert!(matches!(error, WriteError::NotAFile { .. }), "{error}");
    assert!(error.to_string().contains("link.md"));
    assert_eq!(fs::read(&real).expect("read"), b"x");
}

proptest! {
    #[test]
    fn whatever_is_typed_reads_back(name in "\\PC{1,30}", agent in "\\PC{0,12}", prompt in "[ -~\n]{1,60}") {
        let form = NewLoop { name, agent: Some(agent), prompt, ..new() };
        prop_assume!(!crate::loops::text::js_trim(&form.name).is_empty());
        prop_assume!(!crate::loops::text::js_trim(&form.prompt).is_empty());
        render(&form).map_err(|error| TestCaseError::fail(format!("{form:?}: {error}")))?;
    }
}
