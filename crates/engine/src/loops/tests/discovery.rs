use super::unprivileged::unprivileged;
use super::*;
use crate::loops::{Cache, Discovery, Scope, Severity, discover};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

struct Tree {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new() -> Tree {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("mode");
        let root = folder.path().to_owned();
        Tree { _folder: folder, root }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, text).expect("written");
    }

    fn discover(&self, project: &str, cache: &mut Cache) -> Discovery {
        discover(&self.root.join(project), &self.root.join("home"), cache)
    }
}

fn named(name: &str) -> String {
    file("").replace("name: a", &format!("name: {name}"))
}

/// The recorded trees: which loops count, in which order.
#[test]
fn recorded_trees_give_the_recorded_loops() {
    let cases = include_str!("../../../../../tests/vectors/reconcile.jsonl");
    let mut count = 0;
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case a line");
        let Some(tree) = case.get("tree").and_then(|tree| tree.as_object()) else { continue };
        count += 1;
        let place = Tree::new();
        let root = place.root.to_str().expect("UTF-8").to_owned();
        for dir in case["dirs"].as_array().into_iter().flatten() {
            fs::create_dir_all(place.root.join(dir.as_str().expect("a path"))).expect("created");
        }
        for (path, text) in tree {
            match text.as_str() {
                Some(text) => place.put(path, text),
                None => fs::create_dir_all(place.root.join(path)).expect("created"),
            }
        }
        let path =
            |key: &str| PathBuf::from(case[key].as_str().expect("a path").replace("<root>", &root));
        let found = discover(&path("project"), &path("home"), &mut Cache::default());
        let got: Vec<serde_json::Value> = found
            .loops
            .iter()
            .map(|file| {
                let path = file.path.to_str().expect("UTF-8").replace(&root, "<root>");
                serde_json::json!({ "scope": file.scope, "filePath": path, "definition": file.definition })
            })
            .collect();
        assert_eq!(serde_json::json!(got), case["expected_loops"], "{}", case["id"]);
    }
    assert!(count >= 15, "the file holds trees");
}

/// F10: two files of one name in one folder: the first in the peer's order counts, and it is told.
#[test]
fn f10_a_clash_of_names_is_told() {
    let tree = Tree::new();
    tree.put("repo/.agents/loops/digest.md", &named("digest"));
    tree.put("repo/.agents/loops/digest (conflicted copy).md", &named("digest"));
    let found = tree.discover("repo", &mut Cache::default());
    assert_eq!(found.loops.len(), 1);
    assert!(found.loops[0].path.ends_with("digest (conflicted copy).md"), "sorted first");
    let (path, finding) = &found.diagnostics[0];
    assert!(path.ends_with("digest.md"));
    assert_eq!((finding.code.as_str(), finding.severity), ("name-clash", Severity::Warning));
    assert!(finding.message.contains("Two files claim the name `digest`"));
}

/// F11: links are no loops, and a user's loop counts in every project.
#[test]
fn f11_links_are_listed_as_such_and_user_loops_count_everywhere() {
    let tree = Tree::new();
    tree.put("home/.agents/loops/u.md", &named("u"));
    tree.put("a/x.md", &named("x"));
    fs::create_dir_all(tree.root.join("a/.agents/loops/dir.md")).expect("created");
    for (target, link) in [("a/x.md", "x.md"), ("nowhere", "gone.md"), ("nowhere", ".#lock.md")] {
        std::os::unix::fs::symlink(
            tree.root.join(target),
            tree.root.join("a/.agents/loops").join(link),
        )
        .expect("linked");
    }
    let mut cache = Cache::default();
    for project in ["a", "b", "c"] {
        fs::create_dir_all(tree.root.join(project)).expect("created");
        let found = tree.discover(project, &mut cache);
        assert_eq!(found.loops.len(), 1, "{project}");
        assert_eq!(found.loops[0].scope, Scope::User);
        let links =
            found.diagnostics.iter().filter(|(_, finding)| finding.code == "symlink").count();
        assert_eq!(
            links,
            if project == "a" { 2 } else { 0 },
            "an editor's lock is not worth a word"
        );
    }
    assert_eq!(cache.reads(), 1, "one file is read once for all projects");
}

/// F03: a file that is broken in the middle of an edit is still there, without a definition.
#[test]
fn f03_a_broken_save_is_told_from_a_deletion() {
    let tree = Tree::new();
    let mut cache = Cache::default();
    tree.put("repo/.agents/loops/a.md", &named("a"));
    assert!(tree.discover("repo", &mut cache).loops[0].definition.is_some());
    tree.put("repo/.agents/loops/a.md", "---\nname: a\nmodel: p/m\n");
    let broken = tree.discover("repo", &mut cache);
    assert_eq!(broken.loops.len(), 1, "the file is there, so its task is kept");
    assert_eq!(broken.loops[0].definition, None);
    assert_eq!(broken.loops[0].diagnostics[0].code, "no-closing-fence");
    fs::remove_file(tree.root.join("repo/.agents/loops/a.md")).expect("removed");
    assert_eq!(tree.discover("repo", &mut cache), Discovery::default(), "gone is gone");
    assert!(cache.is_empty(), "and forgotten");
}

#[test]
fn unchanged_files_are_stat_ed_once_and_not_read() {
    let tree = Tree::new();
    for number in 0..200 {
        tree.put(&format!("repo/.agents/loops/{number}.md"), &named(&format!("n{number}")));
    }
    let mut cache = Cache::default();
    let first = tree.discover("repo", &mut cache);
    assert_eq!((first.loops.len(), cache.reads(), cache.stats()), (200, 200, 200));
    assert_eq!(tree.discover("repo", &mut cache), first, "the same answer");
    assert_eq!((cache.reads(), cache.stats()), (200, 400), "one stat a file, no reads");
    tree.put("repo/.agents/loops/7.md", &named("another"));
    let third = tree.discover("repo", &mut cache);
    assert_eq!((cache.reads(), cache.stats()), (201, 600), "one changed, one read");
    assert!(
        third
            .loops
            .iter()
            .any(|file| file.definition.as_ref().is_some_and(|d| d.name == "another"))
    );
}

#[test]
fn an_unreadable_folder_is_an_error_and_not_empty() {
    let tree = Tree::new();
    tree.put("repo/.agents/loops/a.md", &named("a"));
    tree.put("home/.agents/loops/u.md", &named("u"));
    let folder = tree.root.join("repo/.agents/loops");
    let mut cache = Cache::default();
    tree.discover("repo", &mut cache);
    set_mode(&folder, 0o000);
    let found = unprivileged(|| tree.discover("repo", &mut cache));
    set_mode(&folder, 0o755);
    assert_eq!(found.folder_errors.len(), 1, "{found:?}");
    assert_eq!(found.folder_errors[0].path, folder);
    assert!(found.folder_errors[0].message.contains("cannot be listed"));
    assert_eq!(found.loops.len(), 1, "the other folders go on");
    assert_eq!(cache.len(), 2, "what is known of it is not forgotten");
}

#[test]
fn an_unreadable_file_is_malformed_until_it_can_be_read() {
    let tree = Tree::new();
    tree.put("repo/.agents/loops/a.md", &named("a"));
    tree.put("repo/.agents/loops/b.md", &named("b"));
    let path = tree.root.join("repo/.agents/loops/a.md");
    set_mode(&path, 0o000);
    let mut cache = Cache::default();
    let found = unprivileged(|| tree.discover("repo", &mut cache));
    assert_eq!(found.loops.len(), 2);
    assert_eq!((&found.loops[0].path, &found.loops[0].definition), (&path, &None));
    assert_eq!(found.loops[0].diagnostics[0].code, "unreadable");
    set_mode(&path, 0o644);
    let found = unprivileged(|| tree.discover("repo", &mut cache));
    assert!(found.loops.iter().all(|file| file.definition.is_some()), "the failure was not kept");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}
