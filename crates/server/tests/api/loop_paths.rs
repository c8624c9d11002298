//! Files are reached only as loops: directly in a loop folder, regular, ending with `.md`.

use crate::setup::{World, encoded};
use serde_json::json;
use std::path::Path;

const TEXT: &str =
    "---\nname: in\nschedule: \"@daily\"\nenabled: false\nmodel: demo/echo\n---\nInside.\n";

async fn status(world: &World, method: &str, path: &str) -> u16 {
    let at = format!("/api/loop-file?path={}", encoded(path));
    let body = (method == "PUT").then(|| json!({"text": "overwritten", "etag": "any"}));
    world.ask(method, &at, body).await.0
}

#[tokio::test]
async fn nothing_outside_the_loop_folders_is_read_or_written() {
    let world = World::new().await;
    let inside = world.write_loop("in.md", TEXT);
    let secret = world.root.join("secret.md");
    std::fs::write(&secret, "secret").expect("written");
    let other = world.root.join("stranger/.agents/loops");
    std::fs::create_dir_all(&other).expect("made");
    std::fs::write(other.join("x.md"), TEXT).expect("written");
    let loops = inside.parent().expect("a folder").to_owned();
    std::fs::write(loops.join("notes.txt"), "no loop").expect("written");
    std::fs::create_dir(loops.join("folder.md")).expect("made");
    std::fs::create_dir(loops.join("deeper")).expect("made");
    std::fs::write(loops.join("deeper/x.md"), TEXT).expect("written");
    let (loops, root) = (loops.display().to_string(), world.root.display().to_string());

    assert_eq!(status(&world, "GET", &inside.display().to_string()).await, 200);
    for path in [
        secret.display().to_string(),
        format!("{loops}/../../../secret.md"),
        format!("{loops}/../loops/../../../secret.md"),
        format!("{root}/stranger/.agents/loops/x.md"),
        format!("{loops}/notes.txt"),
        format!("{loops}/in.md/"),
        format!("{loops}/in.md/x.md"),
        format!("{loops}/folder.md"),
        format!("{loops}/deeper/x.md"),
        format!("{loops}/in.MD"),
        format!("{loops}/in.md\0.md"),
        format!("{loops}/.."),
        loops.clone(),
        "in.md".to_owned(),
        ".agents/loops/in.md".to_owned(),
        "../secret.md".to_owned(),
        "~/.agents/loops/in.md".to_owned(),
        "file:///etc/passwd.md".to_owned(),
        String::new(),
        "/".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
    ] {
        // A path that only ends with a slash names the file itself.
        let expected: &[u16] = if path.ends_with("in.md/") { &[200, 403] } else { &[403, 404] };
        for method in ["GET", "PUT"] {
            let got = status(&world, method, &path).await;
            let expected = if method == "PUT" && path.ends_with("in.md/") {
                &[403, 412][..]
            } else {
                expected
            };
            assert!(expected.contains(&got), "{method} {path:?} was answered {got}");
        }
    }
    let kept = std::fs::read_to_string(&secret).expect("read");
    assert_eq!(kept, "secret", "no way round led to it");
    let through = format!("{loops}/../loops/in.md");
    assert_eq!(status(&world, "GET", &through).await, 200, "a way round to a loop is one to it");
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_pipes_are_no_loops() {
    use std::os::unix::fs::symlink;
    let world = World::new().await;
    let inside = world.write_loop("in.md", TEXT);
    let loops = inside.parent().expect("a folder");
    let secret = world.root.join("secret.md");
    std::fs::write(&secret, "secret").expect("written");
    symlink(&secret, loops.join("link.md")).expect("linked");
    symlink(&world.root, loops.join("outside")).expect("linked");
    symlink("nowhere", loops.join("dangling.md")).expect("linked");
    // A pipe without a writer would hold whoever opens it for ever.
    let pipe = loops.join("pipe.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    for path in [
        loops.join("link.md"),
        loops.join("outside/secret.md"),
        loops.join("dangling.md"),
        pipe,
        Path::new("/dev/stdin.md").to_owned(),
    ] {
        for method in ["GET", "PUT"] {
            let got = status(&world, method, &path.display().to_string()).await;
            assert!(matches!(got, 403 | 404), "{method} {} was answered {got}", path.display());
        }
    }
    assert_eq!(std::fs::read_to_string(&secret).expect("read"), "secret");

    // A project that is reached through a link is still that project.
    let alias = world.root.join("alias");
    symlink(&world.project, &alias).expect("linked");
    let through = alias.join(".agents/loops/in.md").display().to_string();
    assert_eq!(status(&world, "GET", &through).await, 200);
}

#[tokio::test]
async fn a_new_loop_stays_in_its_folder_whatever_its_name() {
    let world = World::new().await;
    for name in ["../../escape", "/etc/cron.d/x", "..", "a/b\\c", "CON", "."] {
        let new = json!({"project": world.id, "name": name, "text": TEXT});
        let (status, made) = world.post("/api/loop-file", new).await;
        assert_eq!(status, 201, "{name}: {made}");
        let path = made["path"].as_str().expect("a path");
        let folder = Path::new(path).parent().expect("a folder");
        assert_eq!(folder, world.project.join(".agents/loops"), "{name} led to {path}");
    }
    let large = "x".repeat(1024 * 1024);
    let new = json!({"project": world.id, "name": "large", "text": large});
    assert_eq!(world.post("/api/loop-file", new).await.0, 413, "a text is bounded");
}
