//! Snippets: `#name` in a prompt stands for the text of a markdown file.
//!
//! Files are `<name>.md` in `.opencode/snippets` and `.opencode/snippet` of the project and in the
//! same two folders of OpenCode's configuration; the project wins. A file's frontmatter may name
//! aliases. `<prepend>` and `<append>` blocks go before and after the whole prompt (PEERS §3).

use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How often one snippet is expanded in one prompt.
const MOST_EXPANSIONS: u32 = 15;
/// The longest prompt that expansion may make, in bytes: nested snippets grow fast.
const LONGEST: usize = 1024 * 1024;
/// The longest snippet file that is read, in bytes.
const LONGEST_FILE: u64 = 256 * 1024;

/// The snippets that a project sees.
#[derive(Debug, Default)]
pub struct Snippets {
    by_name: HashMap<String, Rc<Snippet>>,
    /// What could not be read, as sentences that name the file.
    pub problems: Vec<String>,
}

#[derive(Debug)]
struct Snippet {
    key: String,
    aliases: Vec<String>,
    inline: String,
    prepend: Vec<String>,
    append: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Frontmatter {
    #[serde(default)]
    aliases: Option<Names>,
    #[serde(default)]
    alias: Option<Names>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Snippets {
    /// Reads the snippets of a project. Missing folders are no problem, unreadable files are told.
    pub fn read(project: &Path, opencode_config: &Path) -> Self {
        let mut snippets = Snippets::default();
        let project = project.join(".opencode");
        for folder in [
            opencode_config.join("snippets"),
            opencode_config.join("snippet"),
            project.join("snippets"),
            project.join("snippet"),
        ] {
            snippets.read_folder(&folder);
        }
        snippets
    }

    fn read_folder(&mut self, folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect();
        files.sort();
        for file in files {
            let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else { continue };
            if !is_name(name) {
                continue;
            }
            match read_file(&file) {
                Ok(text) => self.add(name, &text),
                Err(error) => self.problems.push(format!(
                    "The snippet {} could not be read ({error}), so #{name} stays as it stands.",
                    file.display()
                )),
            }
        }
    }

    /// Adds a snippet; a later one of the same name takes the place of an earlier one.
    fn add(&mut self, name: &str, text: &str) {
        let (front, body) = split_frontmatter(text);
        let front: Frontmatter =
            front.and_then(|front| serde_saphyr::from_str(front).ok()).unwrap_or_default();
        let aliases = match front.aliases.or(front.alias) {
            Some(Names::One(name)) => vec![name],
            Some(Names::Many(names)) => names,
            None => Vec::new(),
        };
        let aliases: Vec<String> = aliases
            .iter()
            .map(|alias| alias.trim())
            .filter(|alias| is_name(alias))
            .map(str::to_lowercase)
            .collect();
        let (inline, prepend) = take_blocks(body, "prepend");
        let (inline, append) = take_blocks(&inline, "append");
        // Blocks that only interactive programs use.
        let (inline, _) = take_blocks(&inline, "inject");
        let key = name.to_lowercase();
        if let Some(earlier) = self.by_name.get(&key).cloned() {
            for alias in &earlier.aliases {
                self.by_name.remove(alias);
            }
        }
        let snippet = Rc::new(Snippet {
            key: key.clone(),
            aliases,
            inline: inline.trim().to_owned(),
            prepend,
            append,
        });
        for alias in &snippet.aliases {
            self.by_name.insert(alias.clone(), Rc::clone(&snippet));
        }
        self.by_name.insert(key, snippet);
    }

    /// Expands every `#name` of a prompt that names a snippet; others stay as they are.
    pub fn expand(&self, prompt: &str) -> String {
        if self.by_name.is_empty() || !prompt.contains('#') {
            return prompt.to_owned();
        }
        let mut expansion = Expansion::default();
        let text = self.expand_text(prompt, &mut expansion);
        let mut blocks = expansion.prepend;
        blocks.push(text.trim().to_owned());
        blocks.append(&mut expansion.append);
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n\n")
    }

    fn expand_text(&self, text: &str, expansion: &mut Expansion) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('#') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let length = after.len() - after.trim_start_matches(is_name_char).len();
            let name = after[..length].to_lowercase();
            let whole = &rest[at..at + 1 + length];
            rest = &after[length..];
            // `#skill(…)` calls something else.
            let call = name == "skill" && rest.starts_with('(');
            match self.by_name.get(&name).filter(|_| !call) {
                Some(snippet) if expansion.may(&snippet.key, snippet.inline.len()) => {
                    for (block, first) in snippet
                        .prepend
                        .iter()
                        .map(|block| (block, true))
                        .chain(snippet.append.iter().map(|block| (block, false)))
                    {
                        let block = self.expand_text(block, expansion);
                        if first {
                            expansion.prepend.push(block);
                        } else {
                            expansion.append.push(block);
                        }
                    }
                    out.push_str(&self.expand_text(&snippet.inline, expansion));
                }
                _ => out.push_str(whole),
            }
        }
        out.push_str(rest);
        out
    }
}

#[derive(Default)]
struct Expansion {
    counts: HashMap<String, u32>,
    length: usize,
    prepend: Vec<String>,
    append: Vec<String>,
}

impl Expansion {
    fn may(&mut self, key: &str, length: usize) -> bool {
        let count = self.counts.entry(key.to_owned()).or_default();
        if *count >= MOST_EXPANSIONS || self.length + length > LONGEST {
            return false;
        }
        *count += 1;
        self.length += length;
        true
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn is_name(name: &str) -> bool {
    name.len() <= 80
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_name_char)
}

fn read_file(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > LONGEST_FILE {
        return Err(format!("it is longer than {LONGEST_FILE} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn split_frontmatter(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (None, text.trim());
    };
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end_matches(['\r', '\n']) == "---" {
            return (Some(&rest[..offset]), rest[offset + line.len()..].trim());
        }
        offset += line.len();
    }
    (None, text.trim())
}

/// Takes `<name>…</name>` blocks out of a text; one that is never closed reaches to the end.
fn take_blocks(text: &str, name: &str) -> (String, Vec<String>) {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    // ASCII lower case keeps every offset.
    let lower = text.to_ascii_lowercase();
    let (mut out, mut blocks, mut from) = (String::new(), Vec::new(), 0);
    while let Some(at) = lower[from..].find(&open).map(|at| from + at) {
        out.push_str(&text[from..at]);
        let inside = at + open.len();
        let (end, next) = match lower[inside..].find(&close) {
            Some(length) => (inside + length, inside + length + close.len()),
            None => (text.len(), text.len()),
        };
        let block = text[inside..end].trim();
        if !block.is_empty() {
            blocks.push(block.to_owned());
        }
        from = next;
    }
    out.push_str(&text[from..]);
    (out, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippets(files: &[(&str, &str)]) -> Snippets {
        let mut snippets = Snippets::default();
        for (name, text) in files {
            snippets.add(name, text);
        }
        snippets
    }

    #[test]
    fn names_aliases_and_nesting() {
        let snippets = snippets(&[
            ("style", "---\naliases: [tone, \"Voice\"]\n---\n\nBe brief. #tests"),
            ("tests", "Run the tests."),
        ]);
        assert_eq!(snippets.expand("Do it. #style"), "Do it. Be brief. Run the tests.");
        assert_eq!(snippets.expand("#VOICE!"), "Be brief. Run the tests.!", "case does not matter");
        assert_eq!(snippets.expand("Fix #123 in #other"), "Fix #123 in #other", "not snippets");
    }

    #[test]
    fn a_snippet_that_names_itself_ends() {
        let snippets = snippets(&[("a", "x #a")]);
        let expanded = snippets.expand("#a");
        assert_eq!(expanded.matches('x').count(), 15, "15 expansions, then the name stays");
        assert!(expanded.ends_with("#a"), "{expanded}");
    }

    #[test]
    fn snippets_that_double_each_other_stay_bounded() {
        let files: Vec<(String, String)> = (0..20)
            .map(|n| (format!("s{n}"), format!("{} ", format!("#s{} ", n + 1).repeat(15))))
            .collect();
        let mut snippets = Snippets::default();
        for (name, text) in &files {
            snippets.add(name, text);
        }
        assert!(snippets.expand("#s0").len() < 2 * LONGEST, "no prompt grows without limit");
    }

    #[test]
    fn blocks_go_around_the_prompt() {
        let snippets = snippets(&[("ctx", "<prepend>First.</prepend>mid<append>Last.")]);
        assert_eq!(snippets.expand("a #ctx b"), "First.\n\na mid b\n\nLast.");
    }

    #[test]
    fn the_project_wins_over_the_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let (project, config) = (folder.path().join("p"), folder.path().join("c"));
        for (folder, text) in
            [(config.join("snippets"), "user"), (project.join(".opencode/snippet"), "project")]
        {
            std::fs::create_dir_all(&folder).expect("made");
            std::fs::write(folder.join("who.md"), text).expect("written");
        }
        let snippets = Snippets::read(&project, &config);
        assert_eq!(snippets.expand("#who"), "project");
    }
}
