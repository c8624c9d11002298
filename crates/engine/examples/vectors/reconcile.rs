//! Answers the cases of `reconcile.jsonl`.

use serde_json::Value;

/// Answers one case.
pub fn answer(_case: &Value) -> Option<Value> {
    None
}
