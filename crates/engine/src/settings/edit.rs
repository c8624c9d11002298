//! Changing single settings and keeping every other byte: comments, order, blank lines.

use super::{Settings, SettingsError};
use serde_json::Value as Json;
use std::io::Write;
use std::path::Path;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

/// Sets keys such as `runs.timeout`; null takes a key out, so that its default holds again.
///
/// The result is read as strictly as [`Settings::load`] does before anything is written, and the
/// file is replaced at once. A change that changes nothing writes nothing. Returns the new settings.
///
/// # Errors
/// The file as it is, or as it would be, is not good; or it cannot be written.
pub fn edit(path: &Path, changes: &[(&str, Json)]) -> Result<Settings, SettingsError> {
    let read = |source| SettingsError::Read { path: path.to_owned(), source };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(read(error)),
    };
    let changed = change(&text, path, changes)?;
    let settings = Settings::parse(&changed, path)?;
    if changed != text {
        let written = replace(path, changed.as_bytes());
        written.map_err(|source| SettingsError::Write { path: path.to_owned(), source })?;
    }
    Ok(settings)
}

/// Returns a name as it stands in a key, quoted where it has to be.
pub(crate) fn quoted(name: &str) -> String {
    Key::new(name).display_repr().into_owned()
}

fn change(text: &str, path: &Path, changes: &[(&str, Json)]) -> Result<String, SettingsError> {
    // Read strictly first: the error then names the line of the file that the user wrote.
    Settings::parse(text, path)?;
    let mut document: DocumentMut = text.parse().unwrap_or_default();
    for (key, value) in changes {
        let unknown = |message: String| SettingsError::Key {
            path: path.to_owned(),
            line: 1,
            key: (*key).to_owned(),
            message,
            help: "name section and key, such as runs.timeout".to_owned(),
        };
        let parts = Key::parse(key)
            .map_err(|_| unknown(format!("`{key}` is not the name of a setting")))?;
        let names: Vec<&str> = parts.iter().map(Key::get).collect();
        let Some((last, sections)) = names.split_last().filter(|(_, rest)| !rest.is_empty()) else {
            return Err(unknown(format!("`{key}` names no section")));
        };
        if value.is_null() {
            remove(document.as_table_mut(), sections, last);
            continue;
        }
        let Some(value) = toml(value) else {
            return Err(unknown(format!("`{key}` cannot hold {value}")));
        };
        let Some(table) = section(document.as_table_mut(), sections) else {
            return Err(unknown(format!("`{key}` lies in a value, not in a section")));
        };
        set(table, last, value);
    }
    Ok(document.to_string())
}

/// Finds a section, or makes it.
fn section<'a>(root: &'a mut dyn TableLike, names: &[&str]) -> Option<&'a mut dyn TableLike> {
    let Some((name, rest)) = names.split_first() else { return Some(root) };
    if !root.contains_key(name) {
        let mut table = Table::new();
        // `[command]` alone would be an empty heading above `[command.claude]`.
        table.set_implicit(!rest.is_empty());
        root.insert(name, Item::Table(table));
    }
    section(root.get_mut(name)?.as_table_like_mut()?, rest)
}

/// Sets a value where it stands, with the blanks and the comment around it.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

fn remove(root: &mut dyn TableLike, sections: &[&str], key: &str) {
    match sections.split_first() {
        None => {
            root.remove(key);
        }
        Some((name, rest)) => {
            if let Some(table) = root.get_mut(name).and_then(Item::as_table_like_mut) {
                remove(table, rest, key);
            }
        }
    }
}

fn toml(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().map(toml).collect::<Option<Array>>()?),
        Json::Object(entries) => {
            let mut table = InlineTable::new();
            for (key, value) in entries {
                table.insert(key, toml(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

/// Replaces the file at once; a symlink stays one, and the mode stays.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".settings-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(&target) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}
