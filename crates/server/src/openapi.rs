//! The description of the API, taken from the handlers themselves.
//!
//! `crates/server/openapi.json` is its committed form, which is also what is served; a test takes
//! it anew and compares.

use crate::routes;
use aide::openapi::OpenApi;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// The committed document.
const COMMITTED: &str = include_str!("../openapi.json");

/// Returns the OpenAPI 3.1 document as JSON text, taken from the handlers.
pub fn document() -> String {
    let mut api = OpenApi::default();
    let _ = routes::described().finish_api_with(&mut api, |api| {
        api.title("Loopkeeper")
            .version(env!("CARGO_PKG_VERSION"))
            .description(
                "Runs AI agents on a schedule. Times are ms since 1970 UTC, durations ms; ids in \
                 paths are percent-encoded. Over a socket every request needs the token of the \
                 data folder (`Authorization: Bearer …`, or the page's cookie).",
            )
            .security_scheme(
                "token",
                aide::openapi::SecurityScheme::Http {
                    scheme: "bearer".to_owned(),
                    bearer_format: None,
                    description: Some(
                        "The content of `<data folder>/loopkeeper/token`.".to_owned(),
                    ),
                    extensions: Default::default(),
                },
            )
            .security_requirement("token")
    });
    let mut text = serde_json::to_string_pretty(&api).unwrap_or_default();
    text.push('\n');
    text
}

/// Serves the committed document.
pub(crate) async fn serve() -> Response {
    let media = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (media, COMMITTED).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_document_is_current() {
        let taken = document();
        let at = taken.lines().zip(COMMITTED.lines()).position(|(taken, kept)| taken != kept);
        assert!(
            taken == COMMITTED,
            "crates/server/openapi.json must be what the handlers say (first difference in line \
             {:?}): cargo run -p loopkeeper-server --example openapi > crates/server/openapi.json",
            at.map(|line| line + 1)
        );
    }

    #[test]
    fn every_operation_has_an_id_of_its_own() {
        let document: serde_json::Value =
            serde_json::from_str(&document()).expect("the document is JSON");
        let mut ids = std::collections::HashSet::new();
        for (path, item) in document["paths"].as_object().expect("there are paths") {
            for (method, operation) in item.as_object().expect("an item is an object") {
                let id = operation["operationId"].as_str();
                let id = id.unwrap_or_else(|| {
                    panic!("{method} {path} needs an id: clients name calls by it")
                });
                assert!(ids.insert(id.to_owned()), "{id} is given twice");
            }
        }
        assert!(ids.len() > 35, "all routes are described, not {}", ids.len());
    }
}
