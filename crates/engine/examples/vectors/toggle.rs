//! Answers the cases of `toggle.jsonl`: a loop file switched on or off.

use super::loops::shape;
use loopkeeper_engine::loops::{edit, parse};
use serde_json::{Value, json};

/// Answers one case.
pub fn answer(case: &Value) -> Option<Value> {
    let text = case.get("text")?.as_str()?;
    let enabled = case.get("enabled")?.as_bool()?;
    Some(match edit::set_enabled(text.as_bytes(), enabled) {
        Ok(bytes) => {
            let definition = parse(&bytes).definition.map_or(Value::Null, |found| shape(&found));
            json!({ "ok": true, "definition": definition })
        }
        Err(_) => json!({ "ok": false }),
    })
}
