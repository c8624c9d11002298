//! The shared project file as text slices.
//!
//! A [`Document`] is parsed once; each task keeps its own slice. Setting a task's state splices
//! that slice alone, and a document that nothing changed gives back the same bytes (PROTOCOL §1).

use super::read::{read_task, text_of};
use super::splice::{self, Edit, Elements, Members};
use crate::task::{LastStatus, Task};
use serde_json::Value;

/// The file is not valid JSON, or not an object with a list of tasks; it is never overwritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct DocumentError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1; 0 where the end of the line is meant.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// One element of the task list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The task's id; empty when it has none that can be read.
    pub id: String,
    /// The task as it reads; `None` when this version cannot read it (its text is kept).
    pub task: Option<Task>,
    /// The path of the loop file that owns it, trimmed; `None` for a JSON task.
    pub loop_file: Option<String>,
    text: String,
    before: String,
    after: String,
}

/// What happens to one key of a task's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is set.
    Set(T),
    /// It is removed.
    Remove,
}

/// Changes of a task's state, key by key; times in ms since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of TaskState")]
pub struct StatePatch {
    pub created_at: Patch<i64>,
    pub updated_at: Patch<i64>,
    pub last_status: Patch<LastStatus>,
    pub last_run_at: Patch<i64>,
    pub last_duration_ms: Patch<i64>,
    pub next_run_at: Patch<i64>,
    pub last_scheduled_for: Patch<i64>,
    pub last_session_id: Patch<String>,
    pub last_error: Patch<String>,
}

impl StatePatch {
    fn edits(&self) -> Vec<Edit<'static>> {
        let mut edits: Vec<Edit> = Vec::new();
        let numbers = [
            ("createdAt", &self.created_at),
            ("updatedAt", &self.updated_at),
            ("lastRunAt", &self.last_run_at),
            ("lastDurationMs", &self.last_duration_ms),
            ("nextRunAt", &self.next_run_at),
            ("lastScheduledFor", &self.last_scheduled_for),
        ];
        for (key, patch) in numbers {
            push_edit(&mut edits, key, patch, |number| number.to_string());
        }
        push_edit(&mut edits, "lastStatus", &self.last_status, |status| splice::pretty(status, 0));
        push_edit(&mut edits, "lastSessionId", &self.last_session_id, |text| splice::quote(text));
        push_edit(&mut edits, "lastError", &self.last_error, |text| splice::quote(text));
        edits
    }
}

fn push_edit<T>(
    edits: &mut Vec<Edit<'static>>,
    key: &'static str,
    patch: &Patch<T>,
    write: impl Fn(&T) -> String,
) {
    match patch {
        Patch::Keep => {}
        Patch::Set(value) => edits.push((key, Some(write(value)))),
        Patch::Remove => edits.push((key, None)),
    }
}

/// The shared project file: tasks with their text, and everything else verbatim.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    /// Where the task list stands in `text`; `None` when there is none yet.
    list: Option<std::ops::Range<usize>>,
    /// The white space before the list's closing bracket.
    closing: String,
    entries: Vec<Entry>,
    changed: bool,
}

/// The peer's empty file.
const EMPTY: &str = "{\n  \"version\": 1,\n  \"scheduledTasks\": []\n}";

impl Document {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is not JSON, not an object, or its `scheduledTasks` is something else than a list.
    pub fn parse(text: &str) -> Result<Document, DocumentError> {
        let members: Members = serde_json::from_str(text).map_err(|error| DocumentError {
            line: error.line(),
            column: error.column(),
            message: plain_message(&error),
        })?;
        let at = |part: &str| splice::offset(text, part);
        let list = splice::last(&members.0, "scheduledTasks");
        let mut document = Document {
            text: text.to_owned(),
            list: list.map(|part| at(part)..at(part) + part.len()),
            closing: "\n  ".to_owned(),
            entries: Vec::new(),
            changed: false,
        };
        let Some(list) = list.filter(|list| *list != "null") else { return Ok(document) };
        let Ok(elements) = serde_json::from_str::<Elements>(list) else {
            let before = &text[..at(list)];
            return Err(DocumentError {
                line: before.matches('\n').count() + 1,
                column: before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1,
                message: "scheduledTasks is not a list".to_owned(),
            });
        };
        let mut from = 1;
        for (index, element) in elements.0.iter().enumerate() {
            let start = splice::offset(list, element.get());
            let end = start + element.get().len();
            // Behind an element stands white space up to a comma or the closing bracket.
            let stop = list[end..].find([',', ']']).map_or(list.len() - 1, |stop| end + stop);
            let last = index + 1 == elements.0.len();
            let mut entry = Entry::read(element.get().to_owned());
            list[from..start].clone_into(&mut entry.before);
            if last {
                list[end..stop].clone_into(&mut document.closing);
            } else {
                list[end..stop].clone_into(&mut entry.after);
            }
            document.entries.push(entry);
            from = stop + 1;
        }
        Ok(document)
    }

    /// Returns the document of a file that does not exist yet.
    pub fn empty() -> Document {
        let start = EMPTY.find("[]").unwrap_or(0);
        Document {
            text: EMPTY.to_owned(),
            list: Some(start..start + 2),
            closing: "\n  ".to_owned(),
            entries: Vec::new(),
            changed: false,
        }
    }

    /// Returns the elements of the task list in their order.
    pub fn tasks(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the first readable task with that id.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.entry(id).and_then(|entry| entry.task.as_ref())
    }

    /// Finds the element that counts for an id: the first readable one, else the first.
    fn position(&self, id: &str) -> Option<usize> {
        let mut with_id = self.entries.iter().enumerate().filter(|(_, entry)| entry.id == id);
        let (first, entry) = with_id.next()?;
        let readable = |entry: &Entry| entry.task.is_some();
        if readable(entry) {
            return Some(first);
        }
        Some(with_id.find(|(_, entry)| readable(entry)).map_or(first, |(index, _)| index))
    }

    /// Returns the element that counts for an id: the first readable one, else the first.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.position(id).and_then(|index| self.entries.get(index))
    }

    /// Changes keys of a task's state and nothing else; false when there is no such task.
    pub fn set_state(&mut self, id: &str, patch: &StatePatch) -> bool {
        self.edit(id, |text| {
            let raw = splice::members(text)?;
            let state = splice::last(&raw, "state").filter(|state| state.starts_with('{'));
            let state = splice::edit_object(state.unwrap_or("{}"), &patch.edits(), 3)?;
            splice::edit_object(text, &[("state", Some(state))], 2)
        })
    }

    /// Sets whether a task is armed and nothing else; false when there is no such task.
    pub fn set_enabled(&mut self, id: &str, enabled: bool) -> bool {
        self.edit(id, |text| {
            splice::edit_object(text, &[("enabled", Some(enabled.to_string()))], 2)
        })
    }

    fn edit(&mut self, id: &str, change: impl FnOnce(&str) -> Option<String>) -> bool {
        let index = self.position(id);
        let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) else {
            return false;
        };
        let Some(text) = change(&entry.text) else { return false };
        if text != entry.text {
            entry.set_text(text);
            self.changed = true;
        }
        true
    }

    /// Puts a task, normalised, in the place of the one with its id; false without one.
    pub fn replace(&mut self, task: &Task) -> bool {
        match self.position(&task.id) {
            Some(index) => {
                self.replace_at(index, task);
                true
            }
            None => false,
        }
    }

    pub(super) fn replace_at(&mut self, index: usize, task: &Task) {
        let text = splice::pretty(task, 2);
        if let Some(entry) = self.entries.get_mut(index).filter(|entry| entry.text != text) {
            entry.set_text(text);
            self.changed = true;
        }
    }

    /// Adds a task at the end of the list.
    pub fn push(&mut self, task: &Task) {
        let mut entry = Entry::read(splice::pretty(task, 2));
        "\n    ".clone_into(&mut entry.before);
        if self.entries.is_empty() {
            "\n  ".clone_into(&mut self.closing);
        }
        self.entries.push(entry);
        self.changed = true;
    }

    /// Removes the element that counts for an id; false without one.
    pub fn remove(&mut self, id: &str) -> bool {
        let index = self.position(id);
        if let Some(index) = index {
            self.entries.remove(index);
            self.changed = true;
        }
        index.is_some()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(usize, &Entry) -> bool) {
        let count = self.entries.len();
        let mut index = 0;
        self.entries.retain(|entry| {
            index += 1;
            keep(index - 1, entry)
        });
        self.changed |= self.entries.len() != count;
    }

    /// Says whether [`Document::to_text`] differs from what was read.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Returns the file's text; the very text that was read when nothing changed.
    pub fn to_text(&self) -> String {
        if !self.changed {
            return self.text.clone();
        }
        let mut list = String::from("[");
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 {
                list.push(',');
            }
            list.push_str(&entry.before);
            list.push_str(&entry.text);
            if index + 1 < self.entries.len() {
                list.push_str(&entry.after);
            }
        }
        if !self.entries.is_empty() {
            list.push_str(&self.closing);
        }
        list.push(']');
        let mut text = match &self.list {
            Some(span) => {
                format!("{}{list}{}", &self.text[..span.start], &self.text[span.end..])
            }
            None => self.outer(&[("scheduledTasks", Some(list))]),
        };
        let has_version =
            splice::members(self.body()).is_none_or(|raw| splice::last(&raw, "version").is_some());
        if !has_version {
            let version = Document { text, ..Document::empty() };
            text = version.outer(&[("version", Some("1".to_owned()))]);
        }
        text
    }

    /// Returns the object without the white space around it.
    fn body(&self) -> &str {
        self.text.trim_matches([' ', '\t', '\n', '\r'])
    }

    fn outer(&self, edits: &[Edit]) -> String {
        let body = self.body();
        let start = splice::offset(&self.text, body);
        let edited = splice::edit_object(body, edits, 0).unwrap_or_else(|| body.to_owned());
        format!("{}{edited}{}", &self.text[..start], &self.text[start + body.len()..])
    }
}

impl Entry {
    fn read(text: String) -> Entry {
        let value = splice::decode(&text);
        let id = value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let loop_file = text_of(value.get("loopFile"));
        Entry {
            task: read_task(&value),
            id,
            loop_file,
            text,
            before: String::new(),
            after: String::new(),
        }
    }

    fn set_text(&mut self, text: String) {
        let Entry { before, after, .. } = std::mem::replace(self, Entry::read(text));
        self.before = before;
        self.after = after;
    }

    /// Returns the element's text as it will be written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Returns the parser's message without its own "at line … column …".
fn plain_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

#[cfg(test)]
mod tests;
