//! The one shape of an error: `{error, code, hint?}` and, where a route has them, further fields.

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response as ResponseDoc};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use loopkeeper_engine::engine::EngineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What every error answer holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What happened and to what, for people.
    pub error: String,
    /// The kind, for programs: `invalid`, `not_found`, `already_running`, `refused`, `stale`,
    /// `precondition_required`, `unavailable`, `run_failed`, `internal`, `unauthorized`,
    /// `forbidden`, `method_not_allowed`, `too_large`, `too_slow`, `unsupported_media_type`.
    pub code: String,
    /// What to do now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What else belongs to it: `field` of an invalid input; `task` and `runId` of a failed run;
    /// `path`, `text` and `etag` of a stale file.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An error on its way out.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body.
    pub body: Box<ErrorBody>,
}

impl ApiError {
    /// Makes an error of a status, a code and a message.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        ApiError {
            status,
            body: Box::new(ErrorBody {
                error: message.into(),
                code: code.to_owned(),
                hint: None,
                more: Map::new(),
            }),
        }
    }

    /// Makes a 400.
    pub fn invalid(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// Adds what to do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.body.more.insert(name.to_owned(), value);
        self
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Invalid { field, .. } => {
                let answer = ApiError::invalid(message);
                match field {
                    Some(field) => answer.with("field", Value::String(field)),
                    None => answer,
                }
            }
            EngineError::NotFound(_) => ApiError::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::AlreadyRunning(_) => {
                ApiError::new(StatusCode::CONFLICT, "already_running", message)
            }
            EngineError::Refused(_) => ApiError::new(StatusCode::FORBIDDEN, "refused", message),
            EngineError::Stale { path, text, etag } => {
                ApiError::new(StatusCode::PRECONDITION_FAILED, "stale", message)
                    .hint("compare with the text on disk, then save again with its entity tag")
                    .with("path", Value::String(path))
                    .with("text", json!(text))
                    .with("etag", json!(etag))
            }
            EngineError::Unavailable { help, .. } => {
                let answer = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
                match help {
                    Some(help) => answer.hint(help),
                    None => answer,
                }
            }
            EngineError::RunFailed { task, run_id, .. } => {
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", message)
                    .with("task", serde_json::to_value(task).unwrap_or_default())
                    .with("runId", json!(run_id))
            }
            EngineError::Internal(_) => {
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl OperationOutput for ApiError {
    type Inner = ErrorBody;

    fn operation_response(ctx: &mut GenContext, operation: &mut Operation) -> Option<ResponseDoc> {
        let mut response = Json::<ErrorBody>::operation_response(ctx, operation)?;
        response.description = "What went wrong, and what to do.".to_owned();
        Some(response)
    }

    fn inferred_responses(
        ctx: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, ResponseDoc)> {
        Self::operation_response(ctx, operation)
            .map(|response| (None, response))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopkeeper_engine::task::{Execution, Schedule, Task, TaskState};

    #[test]
    fn a_run_that_failed_before_its_session_carries_the_task() {
        let task = Task {
            id: "t".into(),
            name: "t".into(),
            enabled: true,
            schedule: Schedule::Cron { cron: "0 0 1 1 *".into(), timezone: Some("UTC".into()) },
            execution: Execution::default(),
            state: TaskState::default(),
            loop_file: None,
        };
        let error =
            EngineError::RunFailed { error: "no server".into(), task: Box::new(task), run_id: 7 };
        let answer = ApiError::from(error);
        assert_eq!(answer.status, 500, "the seed answers 500 there");
        let body = serde_json::to_value(&answer.body).expect("an error is JSON");
        assert_eq!(body["error"], "no server");
        assert_eq!(body["task"]["id"], "t", "the seed sends the task along");
        assert_eq!(body["runId"], 7);
    }

    #[test]
    fn each_kind_has_its_status_and_code() {
        let stale = EngineError::Stale {
            path: "/p/a.md".into(),
            text: Some("x".into()),
            etag: Some("e".into()),
        };
        for (error, status, code) in [
            (
                EngineError::Invalid { field: Some("task.name".into()), message: "m".into() },
                400,
                "invalid",
            ),
            (EngineError::NotFound("m".into()), 404, "not_found"),
            (EngineError::AlreadyRunning("m".into()), 409, "already_running"),
            (EngineError::Refused("m".into()), 403, "refused"),
            (stale, 412, "stale"),
            (
                EngineError::Unavailable { message: "m".into(), help: Some("h".into()) },
                503,
                "unavailable",
            ),
            (EngineError::Internal("m".into()), 500, "internal"),
        ] {
            let answer = ApiError::from(error);
            assert_eq!((answer.status.as_u16(), answer.body.code.as_str()), (status, code));
        }
    }
}
