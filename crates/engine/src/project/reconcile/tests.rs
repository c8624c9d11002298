use super::*;

const NOW: i64 = 1_767_225_600_000;

fn definition(name: &str, cron: &str, zone: Option<&str>) -> Definition {
    let execution = Execution {
        prompt: "do".into(),
        provider_id: "demo".to_owned(),
        model_id: "echo".to_owned(),
        ..Execution::default()
    };
    let timezone = zone.map(str::to_owned);
    let schedule = Schedule::Cron { cron: cron.to_owned(), timezone };
    Definition { name: name.to_owned(), enabled: true, schedule, execution, policy: None }
}

/// Merges `(path, definition)`s of project scope.
fn merge(
    document: &mut Document,
    loops: &[(&str, Option<Definition>)],
    unreadable: &[PathBuf],
    zone: &str,
) -> Reconciled {
    let owned: Vec<_> =
        loops.iter().map(|(path, definition)| (PathBuf::from(path), definition.clone())).collect();
    let sources: Vec<Source> = owned
        .iter()
        .map(|(path, definition)| Source {
            scope: Scope::Project,
            path,
            definition: definition.as_ref(),
        })
        .collect();
    reconcile_sources(document, &sources, unreadable, zone, NOW)
}

fn ids(document: &Document) -> Vec<(String, String)> {
    let tasks = document.tasks().iter().filter_map(|entry| entry.task.as_ref());
    tasks.map(|task| (task.id.clone(), task.name.clone())).collect()
}

fn pair(id: &str, name: &str) -> (String, String) {
    (id.to_owned(), name.to_owned())
}

#[test]
fn doing_it_again_changes_nothing() {
    let mut document = Document::empty();
    let loops = [
        ("/w/a.md", Some(definition("A", "0 9 * * *", None))),
        ("/w/b.md", None),
        ("/w/c.md", Some(definition("C", "nope", None))),
    ];
    let first = merge(&mut document, &loops, &[], "UTC");
    assert_eq!(first.changed, ["loop:project:A"]);
    assert_eq!(first.refused.len(), 1, "an invalid schedule counts as malformed");
    let text = document.to_text();
    let mut again = Document::parse(&text).expect("JSON");
    let second = merge(&mut again, &loops, &[], "UTC");
    assert!(second.changed.is_empty() && second.removed.is_empty(), "{second:?}");
    assert!(!again.changed(), "a sync that changes nothing writes nothing");
    assert_eq!(again.to_text(), text);
}

#[test]
fn swapped_names_swap_in_place_and_ids_are_never_handed_out_twice() {
    let mut document = Document::empty();
    let (a, b) = (definition("A", "0 9 * * *", None), definition("B", "0 9 * * *", None));
    merge(&mut document, &[("/w/a.md", Some(a.clone())), ("/w/b.md", Some(b.clone()))], &[], "UTC");
    merge(&mut document, &[("/w/a.md", Some(b.clone())), ("/w/b.md", Some(a.clone()))], &[], "UTC");
    assert_eq!(ids(&document), [pair("loop:project:A", "B"), pair("loop:project:B", "A")]);
    merge(&mut document, &[("/w/a.md", Some(b)), ("/w/n.md", Some(a))], &[], "UTC");
    let expected = [pair("loop:project:A", "B"), pair("loop:project:A#2", "A")];
    assert_eq!(ids(&document), expected, "its plain id belongs to another file's task");
}

#[test]
fn f03_a_malformed_file_keeps_its_task_and_a_deleted_one_does_not() {
    let mut document = Document::empty();
    merge(&mut document, &[("/w/a.md", Some(definition("A", "0 9 * * *", None)))], &[], "UTC");
    let text = document.to_text();
    merge(&mut document, &[("/w/a.md", None)], &[], "UTC");
    let unknown = definition("A", "61 9 * * *", None);
    merge(&mut document, &[("/w/a.md", Some(unknown))], &[], "UTC");
    let folder = [PathBuf::from("/w")];
    merge(&mut document, &[], &folder, "UTC");
    assert_eq!(document.to_text(), text, "the last good definition stays");
    merge(&mut document, &[], &[PathBuf::from("/v")], "UTC");
    assert!(document.tasks().is_empty(), "the file is gone, and its folder can be read");
}

#[test]
fn e08_the_stored_zone_of_a_loop_stays_when_the_file_names_none() {
    let mut document = Document::empty();
    let plain = || Some(definition("A", "0 9 * * *", None));
    merge(&mut document, &[("/w/a.md", plain())], &[], "Europe/Kyiv");
    let before = document.to_text();
    merge(&mut document, &[("/w/a.md", plain())], &[], "America/New_York");
    assert_eq!(document.to_text(), before, "processes in two zones must agree");
    let zone = |document: &Document| {
        let task = document.task("loop:project:A").expect("there");
        task.schedule.timezone().map(str::to_owned)
    };
    let named = Some(definition("A", "0 9 * * *", Some("Asia/Tokyo")));
    merge(&mut document, &[("/w/a.md", named)], &[], "UTC");
    assert_eq!(zone(&document).as_deref(), Some("Asia/Tokyo"), "a line in the file decides");
    merge(&mut document, &[("/w/a.md", plain())], &[], "UTC");
    assert_eq!(zone(&document).as_deref(), Some("Asia/Tokyo"), "and stays when it is removed");
}

#[test]
fn what_the_format_does_not_define_is_kept_and_a_missing_agent_means_none() {
    let text = r#"{"scheduledTasks":[{"id":"j","name":"A","schedule":{"kind":"daily","times":["07:00"],"timezone":"Europe/Kyiv"},"execution":{"prompt":"x","providerID":"p","modelID":"m","agent":"plan","variant":"high","permissionAutoAccept":true},"state":{"lastScheduledFor":5}}]}"#;
    let mut document = Document::parse(text).expect("JSON");
    merge(&mut document, &[("/w/a.md", Some(definition("A", "0 9 * * *", None)))], &[], "UTC");
    let task = document.task("j").expect("adopted under its id");
    assert_eq!(task.execution.agent, None, "the file defines the agent: none");
    assert_eq!(task.execution.variant.as_deref(), Some("high"));
    assert_eq!(task.execution.permission_auto_accept, Some(true));
    assert_eq!(task.state.last_scheduled_for, Some(5), "its history stays");
    assert_eq!(task.schedule.timezone(), Some("UTC"), "adoption writes the machine's zone");
}

#[test]
fn a_prompt_that_the_peer_cut_is_not_written_again() {
    let mut document = Document::empty();
    let mut long = definition("A", "0 9 * * *", None);
    long.execution.prompt = format!("{}😀{}", "x".repeat(19_999), "y".repeat(5_000)).into();
    merge(&mut document, &[("/w/a.md", Some(long.clone()))], &[], "UTC");
    let cut = format!("{}\\ud83d", "x".repeat(19_999));
    let peer = document.to_text().replace(&*long.execution.prompt, &cut);
    let mut document = Document::parse(&peer).expect("JSON");
    merge(&mut document, &[("/w/a.md", Some(long))], &[], "UTC");
    assert!(!document.changed(), "else the two would rewrite each other's file for ever");
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// A folder of at most four files, each absent, malformed or a loop of one of three names.
    fn folder() -> impl Strategy<Value = Vec<(&'static str, Option<Definition>)>> {
        let name = prop::sample::select(vec!["A", "B", "C"]);
        let cron = prop::sample::select(vec!["0 9 * * *", "*/5 * * * *", "nope"]);
        let zone = prop::sample::select(vec![None, Some("Asia/Tokyo")]);
        let loop_file =
            (name, cron, zone).prop_map(|(name, cron, zone)| definition(name, cron, zone));
        let file = prop_oneof![
            1 => Just(None),
            1 => Just(Some(None)),
            4 => loop_file.prop_map(|definition| Some(Some(definition))),
        ];
        prop::collection::vec(file, 4).prop_map(|files| {
            let paths = ["/w/a.md", "/w/b.md", "/w/c.md", "/v/d.md"];
            let there = paths.into_iter().zip(files);
            there.filter_map(|(path, file)| Some((path, file?))).collect()
        })
    }

    const MINE: &str = r#"{"kept":1e0,"scheduledTasks":[{"id":"j","name":"A","schedule":{"kind":"cron","cron":"1 1 * * *"},"execution":{"prompt":"x","providerID":"p","modelID":"m"},"x":{"\ud83d":1.0}},{"id":"odd","name":"B","schedule":{"kind":"interval"}},7]}"#;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn whatever_the_files_do_ids_are_unique_and_a_file_drives_one_task(
            steps in prop::collection::vec((folder(), any::<bool>()), 1..6)
        ) {
            let mut text = MINE.to_owned();
            for (loops, unreadable) in steps {
                let unreadable = if unreadable { vec![PathBuf::from("/v")] } else { Vec::new() };
                let mut document = Document::parse(&text).expect("always JSON");
                merge(&mut document, &loops, &unreadable, "UTC");
                text = document.to_text();

                let mut again = Document::parse(&text).expect("always JSON");
                let second = merge(&mut again, &loops, &unreadable, "America/New_York");
                prop_assert!(!again.changed(), "a second sync must write nothing: {second:?}");

                let ids: Vec<&str> =
                    again.tasks().iter().map(|e| e.id.as_str()).filter(|id| !id.is_empty()).collect();
                let unique: HashSet<&str> = ids.iter().copied().collect();
                prop_assert_eq!(ids.len(), unique.len(), "no id may be handed out twice: {}", text);
                let files: Vec<&str> =
                    again.tasks().iter().filter_map(|e| e.loop_file.as_deref()).collect();
                let followed: HashSet<&str> = files.iter().copied().collect();
                prop_assert_eq!(files.len(), followed.len(), "one task a file: {}", text);
                for (path, definition) in &loops {
                    let valid = definition.as_ref().is_some_and(|definition| {
                        Compiled::new(&with_zone(&definition.schedule, "UTC")).is_ok()
                    });
                    prop_assert!(!valid || followed.contains(path), "{path} drives a task: {text}");
                }
                for path in files {
                    let there = loops.iter().any(|(file, _)| *file == path);
                    let kept = !unreadable.is_empty() && path.starts_with("/v/");
                    prop_assert!(there || kept, "{path} is gone: {text}");
                }
                let odd = r#"{"id":"odd","name":"B","schedule":{"kind":"interval"}},7"#;
                prop_assert!(text.contains(odd), "what cannot be read stays: {text}");
            }
        }
    }
}
