//! Answers the cases of `command.jsonl`.

use chrono_tz::Tz;
use loopkeeper_engine::agent::prompt::{goal, slash, title};
use serde_json::{Value, json};

/// Answers one case.
pub fn answer(case: &Value) -> Option<Value> {
    let args = &case["args"];
    match case["fn"].as_str()? {
        "parse_command" => {
            let prompt = args["prompt"].as_str().unwrap_or_default();
            Some(slash::parse_command(prompt).map_or(Value::Null, |call| json!(call)))
        }
        "expand_goal" => {
            Some(json!(goal::expand_goal(args["template"].as_str(), args["arguments"].as_str())))
        }
        "title" => {
            let task = &args["task"];
            let name = task["name"].as_str().unwrap_or_default();
            let zone = task["schedule"]["timezone"].as_str();
            Some(json!(title::session_title(name, zone, Tz::UTC, args["now"].as_i64()?)))
        }
        _ => None,
    }
}
