use super::*;
use serde_json::json;

fn parse(text: &str) -> Result<Settings, SettingsError> {
    Settings::parse(text, Path::new("settings.toml"))
}

/// The settings as the documentation shows them: all of them are the defaults.
const DOCUMENTED: &str = r#"
[opencode]
url = ""
binary = ""
ready_timeout = "10s"
[runs]
global = 4
per_project = 2
timeout = "30m"
blocked_timeout = "12h"
start_deadline = "5m"
retries = 0
retry_backoff = "1m"
catch_up = "skip"
catch_up_window = "24h"
overlap = "skip"
pause_after_failures = 5
history = 1000
[lease]
heartbeat = "2m"
duration = "10m"
[server]
host = "127.0.0.1"
port = 4117
[notify]
failure = true
[approval]
mode = "risky"
[desktop]
keep_awake = false
[signal]
url = ""
"#;

#[test]
fn the_documented_values_are_the_defaults() {
    let read = parse(DOCUMENTED).expect("every documented key is known");
    assert_eq!(read, Settings::default(), "what the documentation shows is what holds");
    assert_eq!(parse("").expect("empty is good"), Settings::default());
    let missing = Settings::load(Path::new("/nonexistent/settings.toml")).expect("no file is good");
    assert_eq!(missing, Settings::default());
    for (section, keys) in KEYS.iter().filter(|(section, _)| *section != "command") {
        assert!(DOCUMENTED.contains(&format!("[{section}]")), "[{section}] is documented");
        for key in *keys {
            assert!(DOCUMENTED.contains(&format!("\n{key} = ")), "{section}.{key} is documented");
        }
    }
}

#[test]
fn values_are_read() {
    let text = "[opencode]\nurl = \"http://127.0.0.1:4096\"\n[runs]\ntimeout = \"1h 30m\"\n\
                catch_up = \"latest\"\n[command.claude]\n\
                argv = [\"claude\", \"-p\", \"--model\", \"{model}\"]\nstdin = true\n\
                [approval]\nmode = \"all\"\n[server]\nport = 0\n";
    let read = parse(text).expect("good");
    assert_eq!(read.opencode.url.as_deref(), Some("http://127.0.0.1:4096"));
    assert_eq!(read.runs.timeout, Duration::from_secs(5400));
    assert_eq!(read.runs.catch_up, CatchUp::Latest);
    assert_eq!(read.command["claude"].argv[3], "{model}");
    assert_eq!(read.approval.mode, ApprovalMode::All);
    assert_eq!(read.server.port, 0, "a free port");
}

#[test]
fn what_does_not_fit_is_an_error_with_line_key_and_way_out() {
    for (text, line, key, said) in [
        ("[runs]\n\ntimout = \"5m\"", 3, "runs.timout", "write `timeout`"),
        ("[runs]\nperProject = 1", 2, "runs.perProject", "write `per_project`"),
        ("[server]\nheartbeat = \"1m\"", 2, "server.heartbeat", "belongs into [lease]"),
        ("[run]\nglobal = 1", 1, "run", "write `runs`"),
        ("port = 1", 1, "port", "belongs into [server]"),
        ("runs = 5", 1, "runs", "write [runs]"),
        ("[runs]\nglobal = 1\ntimeout = 30", 3, "runs.timeout", "\"5m\""),
        ("[runs]\ntimeout = \"soon\"", 2, "runs.timeout", "not a duration"),
        ("[runs]\ntimeout = \"0s\"", 2, "runs.timeout", "not a duration"),
        ("[runs]\nglobal = 0", 2, "runs.global", "from 1 to 1000"),
        ("[runs]\ncatch_up = \"all\"", 2, "runs.catch_up", "\"skip\" or \"latest\""),
        ("[notify]\nfailure = \"yes\"", 2, "notify.failure", "failure = true"),
        ("[server]\nport = 70000", 2, "server.port", "65535"),
        ("[server]\nhost = \"\"", 2, "server.host", "127.0.0.1"),
        ("[opencode]\nurl = \"localhost:4096\"", 2, "opencode.url", "http://"),
        ("[lease]\nduration = \"5m\"", 2, "lease.duration", "three heartbeats"),
        ("[lease]\nheartbeat = \"9m\"", 2, "lease.heartbeat", "three heartbeats"),
        ("[command.x]\nstdin = true", 1, "command.x", "argv = ["),
        ("[command.x]\nargv = \"claude -p\"", 2, "command.x.argv", "list of texts"),
        ("[command.x]\nargv = [\"x\"]\nstdin = false", 3, "command.x.stdin", "{prompt}"),
        ("[command.x]\nargs = []", 2, "command.x.args", "write `argv`"),
        ("[command.demo]\nargv = [\"x\"]", 1, "command.demo", "another name"),
    ] {
        let error = parse(text).expect_err(text);
        let SettingsError::Key { line: at, key: named, .. } = &error else {
            panic!("{text}: {error} is no error of a key")
        };
        assert_eq!((*at, named.as_str()), (line, key), "{text}");
        assert!(error.to_string().contains(said), "{text}: `{error}` must say {said}");
        assert!(error.to_string().starts_with(&format!("settings.toml:{line}: ")), "{error}");
    }
    let error = parse("[runs]\nglobal = 1\nglobal = 2").expect_err("a duplicate key");
    assert!(matches!(error, SettingsError::Syntax { line: 3, .. }), "{error}");
    let error = parse("[runs\n").expect_err("no TOML");
    assert!(matches!(error, SettingsError::Syntax { line: 1, .. }), "{error}");
}

#[test]
fn an_edit_keeps_every_other_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/settings.toml");
    let made = edit(&path, &[("runs.timeout", json!("5m"))]).expect("folder and file are made");
    assert_eq!(made.runs.timeout, Duration::from_secs(300));

    let text = "# mine\n\n[runs]   # how many\n  global = 3 # was 4\n\ntimeout='10m'\n\n[lease]\n";
    std::fs::write(&path, text).expect("writable");
    let changes = [
        ("runs.global", json!(2)),
        ("runs.timeout", json!(null)),
        ("notify.failure", json!(false)),
        ("command.claude.argv", json!(["claude", "-p"])),
    ];
    let settings = edit(&path, &changes).expect("good");
    assert_eq!((settings.runs.global, settings.notify.failure), (2, false));
    assert_eq!(settings.runs.timeout, Runs::default().timeout, "null means the default again");
    let written = std::fs::read_to_string(&path).expect("readable");
    assert!(
        written.starts_with("# mine\n\n[runs]   # how many\n  global = 2 # was 4\n"),
        "comments and blanks stay: {written}"
    );
    assert!(!written.contains("[command]\n"), "no empty heading: {written}");
    assert_eq!(Settings::load(&path).expect("good"), settings, "what was returned is what holds");
}

#[test]
fn a_bad_edit_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("settings.toml");
    std::fs::write(&path, "[runs]\nglobal = 3\n").expect("writable");
    for (key, value) in [
        ("runs.global", json!("many")),
        ("runs.globl", json!(1)),
        ("runs", json!({})),
        ("runs.global.x", json!(1)),
        ("", json!(1)),
    ] {
        let error = edit(&path, &[("server.port", json!(1)), (key, value)]).expect_err(key);
        assert!(matches!(error, SettingsError::Key { .. }), "{key}: {error}");
    }
    let text = std::fs::read_to_string(&path).expect("readable");
    assert_eq!(text, "[runs]\nglobal = 3\n", "not even the good half of a change is written");
}

#[cfg(unix)]
#[test]
fn an_edit_keeps_mode_and_symlink() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let (real, link) = (folder.path().join("real.toml"), folder.path().join("settings.toml"));
    std::fs::write(&real, "").expect("writable");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("owner");
    symlink(&real, &link).expect("a link");
    edit(&link, &[("server.port", json!(1))]).expect("good");
    assert!(link.is_symlink(), "a link of a dotfile manager stays one");
    let mode = std::fs::metadata(&real).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o640, "the mode stays");
    assert!(std::fs::read_to_string(&real).expect("readable").contains("port = 1"));
}

#[test]
fn a_policy_is_resolved_against_the_settings() {
    let text =
        "[runs]\nretries = 2\n[notify]\nfailure = false\n[signal]\nurl = \"https://a.test/x\"";
    let settings = parse(text).expect("good");
    let open = settings.effective(&Policy::default());
    assert_eq!((open.retries, open.notify), (2, Notify::Never), "the settings decide");
    assert_eq!(open.signal.as_deref(), Some("https://a.test/x"));
    let own = Policy {
        retries: Some(0),
        notify: Some(Notify::Always),
        timeout: Some(Duration::from_secs(5)),
        ..Policy::default()
    };
    let own = settings.effective(&own);
    assert_eq!((own.retries, own.notify), (0, Notify::Always), "the task decides");
    assert_eq!(own.timeout, Duration::from_secs(5));
}

#[test]
fn settings_go_through_json_and_back() {
    let value = serde_json::to_value(Settings::default()).expect("serialisable");
    assert_eq!(value["runs"]["timeout"], "30m", "durations read as people write them");
    assert_eq!(value["runs"]["catch_up_window"], "1d");
    let back: Settings = serde_json::from_value(value).expect("readable");
    assert_eq!(back, Settings::default());
}
