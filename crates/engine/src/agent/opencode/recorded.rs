//! The recorded answers of the real program, for tests.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// Returns the body of a recorded answer.
pub(crate) fn body<T: DeserializeOwned>(name: &str) -> T {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode").join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{} is missing: {error}", path.display()));
    let mut value: Value = serde_json::from_str(&text).expect("recorded as JSON");
    serde_json::from_value(value["response"]["body"].take()).expect("of the expected shape")
}
