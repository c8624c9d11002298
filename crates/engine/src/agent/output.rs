//! What a command prints: a tail of everything, and what known agents say in JSON lines.
//!
//! Claude Code (`--output-format stream-json`), Codex (`exec --json`) and Gemini (`--output-format
//! json`) tell tokens, cost, session and final answer; a line that is none of theirs is plain output.

use super::job::{ANSWER_LIMIT, Tokens, keep_tail};
use serde_json::Value;

/// The longest line that is looked at as JSON, in bytes.
const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// Keeps the end of a stream of bytes.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(2 * ANSWER_LIMIT)..];
        self.bytes.extend_from_slice(bytes);
        // Cut at twice the limit, so that a flood is moved once in a while and not at each byte.
        if self.bytes.len() > 2 * ANSWER_LIMIT {
            self.bytes.drain(..self.bytes.len() - ANSWER_LIMIT);
            self.cut = true;
        }
    }

    /// Returns the tail as text; what is no UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim_end();
        if self.cut && text.len() <= ANSWER_LIMIT {
            return keep_tail(&format!("…{text}"), ANSWER_LIMIT);
        }
        keep_tail(text, ANSWER_LIMIT)
    }
}

/// What a known agent said about its run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) session_id: Option<String>,
    pub(crate) answer: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) cost: Option<f64>,
    /// Whether any line was a known agent's.
    pub(crate) known: bool,
}

/// Reads a standard output line by line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    skipping: bool,
    report: Report,
    whole: Vec<u8>,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.whole.len() + bytes.len() <= LONGEST_LINE {
            self.whole.extend_from_slice(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.skipping {
                self.line.extend_from_slice(part);
                // A line that is no object is never needed whole.
                if self.line.len() > LONGEST_LINE || !self.line.starts_with(b"{") {
                    self.line.clear();
                    self.skipping = true;
                }
            }
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if !self.skipping {
            if let Ok(value) = serde_json::from_slice::<Value>(&self.line) {
                self.report.read(&value);
            }
            self.line.clear();
        }
        self.skipping = false;
    }

    /// Ends the stream; a last line without its end counts too.
    pub(crate) fn finish(mut self) -> Report {
        if !self.line.is_empty() {
            self.end_line();
        }
        if !self.report.known
            && let Ok(value) = serde_json::from_slice::<Value>(&self.whole)
        {
            self.report.read_gemini(&value);
        }
        self.report
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

impl Report {
    fn read(&mut self, value: &Value) {
        match value["type"].as_str() {
            Some("system" | "result" | "assistant") => self.read_claude(value),
            Some(
                "thread.started" | "turn.completed" | "turn.failed" | "item.completed" | "error",
            ) => self.read_codex(value),
            _ => {}
        }
    }

    fn read_claude(&mut self, value: &Value) {
        let Some(session) = text(&value["session_id"]) else { return };
        self.known = true;
        self.session_id = Some(session);
        match value["type"].as_str() {
            Some("assistant") => {
                let parts = value["message"]["content"].as_array();
                let said: String = parts
                    .into_iter()
                    .flatten()
                    .filter(|part| part["type"] == "text")
                    .filter_map(|part| part["text"].as_str())
                    .collect();
                if !said.trim().is_empty() {
                    self.answer = Some(said);
                }
            }
            Some("result") => {
                let result = text(&value["result"]);
                if value["is_error"] == true {
                    let subtype = value["subtype"].as_str().unwrap_or("error");
                    self.error = Some(result.unwrap_or_else(|| subtype.to_owned()));
                } else if result.is_some() {
                    self.answer = result;
                }
                self.cost = value["total_cost_usd"].as_f64();
                let usage = &value["usage"];
                if usage.is_object() {
                    self.tokens = Some(Tokens {
                        input: count(&usage["input_tokens"]),
                        output: count(&usage["output_tokens"]),
                        reasoning: 0,
                        cache_read: count(&usage["cache_read_input_tokens"]),
                        cache_write: count(&usage["cache_creation_input_tokens"]),
                    });
                }
            }
            _ => {}
        }
    }

    fn read_codex(&mut self, value: &Value) {
        match value["type"].as_str() {
            Some("thread.started") => {
                self.known = true;
                self.session_id = text(&value["thread_id"]);
            }
            Some("item.completed") if value["item"]["type"] == "agent_message" => {
                self.known = true;
                self.answer = text(&value["item"]["text"]);
            }
            Some("turn.completed") => {
                self.known = true;
                // A later turn that worked ends what an earlier line complained of.
                self.error = None;
                let usage = &value["usage"];
                let cached = count(&usage["cached_input_tokens"]);
                let mut tokens = self.tokens.unwrap_or_default();
                // Its input count includes what came from the cache.
                tokens += Tokens {
                    input: count(&usage["input_tokens"]).saturating_sub(cached),
                    output: count(&usage["output_tokens"]),
                    reasoning: count(&usage["reasoning_output_tokens"]),
                    cache_read: cached,
                    cache_write: 0,
                };
                self.tokens = Some(tokens);
            }
            Some("turn.failed") => {
                self.known = true;
                self.error =
                    text(&value["error"]["message"]).or_else(|| Some("turn failed".into()));
            }
            Some("error") if value["message"].is_string() => {
                self.error = text(&value["message"]);
            }
            _ => {}
        }
    }

    fn read_gemini(&mut self, value: &Value) {
        if !value["stats"].is_object() && value["response"].is_null() {
            return;
        }
        self.known = true;
        self.answer = text(&value["response"]);
        self.error = text(&value["error"]["message"]);
        let mut tokens = Tokens::default();
        for model in value["stats"]["models"].as_object().into_iter().flatten() {
            let counts = &model.1["tokens"];
            let cached = count(&counts["cached"]);
            tokens += Tokens {
                input: count(&counts["prompt"]).saturating_sub(cached),
                output: count(&counts["candidates"]),
                reasoning: count(&counts["thoughts"]),
                cache_read: cached,
                cache_write: 0,
            };
        }
        self.tokens = (tokens != Tokens::default()).then_some(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Report {
        let mut lines = Lines::default();
        // In odd pieces, as pipes deliver.
        for piece in text.as_bytes().chunks(7) {
            lines.push(piece);
        }
        lines.finish()
    }

    #[test]
    fn claude_codes_lines_are_read() {
        let report = read(concat!(
            r#"{"type":"system","subtype":"init","session_id":"c1","model":"sonnet"}"#,
            "\nnot json\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Working"}]},"session_id":"c1"}"#,
            "\n",
            r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"c1","total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":11}}"#
        ));
        assert_eq!(report.session_id.as_deref(), Some("c1"));
        assert_eq!(report.answer.as_deref(), Some("Done."), "the last line has no line end");
        assert_eq!(report.cost, Some(0.25));
        assert_eq!(report.tokens.map(|tokens| tokens.total()), Some(26));
        assert_eq!(report.error, None);
    }

    #[test]
    fn claude_codes_failures_are_failures() {
        let report = read(
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"c1"}"#,
        );
        assert_eq!(report.error.as_deref(), Some("error_max_turns"));
    }

    #[test]
    fn codexs_lines_are_read() {
        let report = read(concat!(
            r#"{"type":"thread.started","thread_id":"t1"}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"All good."}}"#,
            "\n",
            r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":80,"output_tokens":9}}"#,
            "\n"
        ));
        assert_eq!(report.session_id.as_deref(), Some("t1"));
        assert_eq!(report.answer.as_deref(), Some("All good."));
        assert_eq!(report.tokens.map(|tokens| (tokens.input, tokens.cache_read)), Some((20, 80)));
        let failed = read(r#"{"type":"turn.failed","error":{"message":"quota"}}"#);
        assert_eq!(failed.error.as_deref(), Some("quota"));
    }

    #[test]
    fn geminis_object_is_read() {
        let report = read(
            "{\n \"response\": \"Hi\",\n \"stats\": {\"models\": {\"g\": {\"tokens\": {\"prompt\": 10, \"candidates\": 2, \"cached\": 4, \"thoughts\": 1}}}}\n}\n",
        );
        assert_eq!(report.answer.as_deref(), Some("Hi"));
        assert_eq!(report.tokens.map(|tokens| tokens.total()), Some(13));
    }

    #[test]
    fn other_json_is_plain_output() {
        assert_eq!(read("{\"type\":\"result\"}\n{\"level\":\"info\"}\n"), Report::default());
    }

    #[test]
    fn a_flood_is_cut_to_its_end() {
        let mut tail = Tail::default();
        for n in 0..100_000 {
            tail.push(format!("line {n}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.len() <= ANSWER_LIMIT, "{} bytes", text.len());
        assert!(text.ends_with("line 99999") && text.starts_with('…'), "the newest part is kept");
    }
}
