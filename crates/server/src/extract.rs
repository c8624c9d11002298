//! Reading a request: JSON bodies, path segments and queries, refused in our one error shape.

use crate::error::ApiError;
use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::Json;
use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::time::Duration;

/// The largest body, in bytes.
pub(crate) const BODY_LIMIT: usize = 1024 * 1024;
/// How long a client may take to send its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A JSON body; an empty one is `{}`.
pub(crate) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let media = request.headers().get(header::CONTENT_TYPE).map(|value| {
            let value = value.to_str().unwrap_or("");
            value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
        });
        // A form or a text body is what a foreign page can send without asking first.
        if let Some(media) = media
            && media != "application/json"
            && !media.ends_with("+json")
        {
            let message = format!("the body is {media}; send application/json");
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                message,
            ));
        }
        let read = tokio::time::timeout(BODY_TIME, to_bytes(request.into_body(), BODY_LIMIT));
        let bytes = match read.await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) if is_too_large(&error) => return Err(too_large()),
            Ok(Err(error)) => {
                return Err(ApiError::invalid(format!("the body broke off: {error}")));
            }
            Err(_) => {
                let message = "the body did not arrive within 30 s";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message));
            }
        };
        let text: &[u8] = if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { &bytes };
        match serde_json::from_slice(text) {
            Ok(value) => Ok(Body(value)),
            Err(error) => {
                Err(ApiError::invalid(format!("the body is not what is asked for: {error}")))
            }
        }
    }
}

/// The answer to a body over [`BODY_LIMIT`].
pub(crate) fn too_large() -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is over 1 MiB")
}

fn is_too_large(error: &axum::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = error.source();
    }
    error.to_string().contains("length limit exceeded")
}

impl<T: JsonSchema> OperationInput for Body<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Json::<T>::operation_input(ctx, operation);
    }
}

/// Path segments, percent-decoded; a `%2F` stays inside its segment.
pub(crate) struct Segments<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(segments)) => Ok(Segments(segments)),
            Err(rejection) => Err(ApiError::invalid(format!(
                "the address is not understood: {}",
                rejection.body_text()
            ))),
        }
    }
}

impl<T: JsonSchema> OperationInput for Segments<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Path::<T>::operation_input(ctx, operation);
    }
}

/// The query of an address.
pub(crate) struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Params(query)),
            Err(rejection) => Err(ApiError::invalid(format!(
                "the query is not understood: {}",
                rejection.body_text()
            ))),
        }
    }
}

impl<T: JsonSchema> OperationInput for Params<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Query::<T>::operation_input(ctx, operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body as Raw;
    use serde_json::Value;

    async fn read(media: Option<&str>, body: Raw) -> Result<Value, ApiError> {
        let mut request = Request::builder().method("POST").uri("/");
        if let Some(media) = media {
            request = request.header(header::CONTENT_TYPE, media);
        }
        let request = request.body(body).expect("a request");
        Body::<Value>::from_request(request, &()).await.map(|Body(value)| value)
    }

    #[tokio::test]
    async fn bodies_are_json_within_the_limit() {
        let json = Some("application/json; charset=utf-8");
        let read_back = read(json, Raw::from("{\"a\":1}")).await.expect("JSON is read");
        assert_eq!(read_back["a"], 1);
        assert_eq!(read(None, Raw::empty()).await.expect("empty"), serde_json::json!({}));
        let bad = read(json, Raw::from("{bad")).await.expect_err("it is not JSON");
        assert_eq!((bad.status.as_u16(), bad.body.code.as_str()), (400, "invalid"));
        let large =
            read(json, Raw::from(vec![b' '; BODY_LIMIT + 1])).await.expect_err("over the limit");
        assert_eq!(large.status, 413, "a body over 1 MiB is refused before it is kept");
        let form = read(Some("text/plain"), Raw::from("{}")).await.expect_err("a foreign page's");
        assert_eq!(form.status, 415, "only JSON makes a browser ask first");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let stalled = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
        let slow = read(None, Raw::from_stream(stalled)).await.expect_err("it never arrives");
        assert_eq!(slow.status, 408, "a slow client must not hold a connection for ever");
    }
}
