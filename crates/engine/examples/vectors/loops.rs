//! Answers the cases of `loops.jsonl`: what a loop file defines.

use base64::Engine;
use loopkeeper_engine::loops;
use loopkeeper_engine::task::Definition;
use serde_json::{Value, json};

/// A prompt of more UTF-16 units than this is answered by length and hash (`SCHEMA.md`).
const LONG_PROMPT: usize = 2000;

/// Answers one case.
pub fn answer(case: &Value) -> Option<Value> {
    let bytes = bytes(case)?;
    Some(loops::parse(&bytes).definition.map_or(Value::Null, |definition| shape(&definition)))
}

/// Returns the file of a case.
fn bytes(case: &Value) -> Option<Vec<u8>> {
    if let Some(text) = case.get("text") {
        return text.as_str().map(|text| text.as_bytes().to_vec());
    }
    if let Some(encoded) = case.get("base64") {
        return base64::engine::general_purpose::STANDARD.decode(encoded.as_str()?).ok();
    }
    let mut text = String::new();
    for part in case.get("text_parts")?.as_array()? {
        let count = usize::try_from(part.get(1)?.as_u64()?).ok()?;
        text.push_str(&part.get(0)?.as_str()?.repeat(count));
    }
    Some(text.into_bytes())
}

/// Returns a definition as the vectors write it; the policy is no part of them.
pub fn shape(definition: &Definition) -> Value {
    let mut shape = json!(definition);
    if let Some(shape) = shape.as_object_mut() {
        shape.remove("policy");
    }
    let prompt = &definition.execution.prompt;
    let units = prompt.encode_utf16().count();
    if units > LONG_PROMPT {
        let hash = loops::discover::hash(prompt.as_bytes());
        shape["execution"]["prompt"] = json!({ "utf16_len": units, "sha256_utf8": hash });
    }
    shape
}
