//! Loop files: read with an entity tag, saved only against the text that was read.

use super::{Answer, Created, Shared, says};
use crate::error::ApiError;
use crate::extract::{Body, Params};
use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use aide::generate::GenContext;
use aide::openapi::{
    HeaderStyle, Operation, Parameter, ParameterData, ParameterSchemaOrContent,
    Response as ResponseDoc, SchemaObject,
};
use aide::operation::add_parameters;
use aide::{OperationInput, OperationOutput};
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::view::{CheckView, Deleted, LoopFileView};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new()
        .api_route(
            "/api/loop-file",
            get_with(read, says("readLoopFile", "loop files", "Returns a loop file with its entity tag."))
                .put_with(
                save,
                says(
                    "saveLoopFile",
                    "loop files",
                    "Saves a loop file; a malformed text is saved and answered with its diagnostics.",
                ),
            )
            .post_with(create, says("createLoopFile", "loop files", "Makes a loop file, from a template unless a text is given.")),
        )
        .api_route(
            "/api/loop-file/deleted",
            get_with(deleted, says("listDeletedLoopFiles", "loop files", "Lists the deleted loop files that can be brought back, newest first.")),
        )
        .api_route(
            "/api/loop-file/restore",
            post_with(restore, says("restoreLoopFile", "loop files", "Brings a deleted loop file back.")),
        )
        .api_route(
            "/api/check",
            post_with(check, says("checkLoop", "loop files", "Says what a loop text comes to; writes nothing.")),
        )
}

/// Which file.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// Its absolute path, inside a loop folder.
    path: String,
}

/// A text to save.
#[derive(Deserialize, JsonSchema)]
struct Saving {
    /// The whole text.
    text: String,
    /// The entity tag that was read, for callers that cannot set `If-Match`.
    etag: Option<String>,
}

/// A file to make.
#[derive(Deserialize, JsonSchema)]
struct NewFile {
    /// The project's id; without it the user's own loops.
    project: Option<String>,
    /// The loop's name; the file is named after it.
    name: String,
    /// Its text; without it a filled template.
    text: Option<String>,
}

/// A deleted file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Restoring {
    /// What its deletion answered.
    trash_id: String,
}

/// A text to check.
#[derive(Deserialize, JsonSchema)]
struct Checking {
    /// The whole text.
    text: String,
}

/// A loop file, with its entity tag as a header too.
struct Tagged(LoopFileView);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let etag = HeaderValue::from_str(&format!("\"{}\"", self.0.etag));
        let mut response = Json(self.0).into_response();
        if let Ok(etag) = etag {
            response.headers_mut().insert(header::ETAG, etag);
        }
        response
    }
}

impl OperationOutput for Tagged {
    type Inner = LoopFileView;

    fn operation_response(ctx: &mut GenContext, operation: &mut Operation) -> Option<ResponseDoc> {
        Json::<LoopFileView>::operation_response(ctx, operation)
    }

    fn inferred_responses(
        ctx: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, ResponseDoc)> {
        Json::<LoopFileView>::inferred_responses(ctx, operation)
    }
}

/// The entity tag in `If-Match`, if there is one.
struct IfMatch(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let header = parts.headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
        Ok(IfMatch(
            header.map(|tag| tag.trim().trim_start_matches("W/").trim_matches('"').to_owned()),
        ))
    }
}

impl OperationInput for IfMatch {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = SchemaObject {
            json_schema: ctx.schema.subschema_for::<String>(),
            example: None,
            external_docs: None,
        };
        let parameter_data = ParameterData {
            name: "If-Match".to_owned(),
            description: Some("The entity tag that was read; or `etag` in the body.".to_owned()),
            required: false,
            deprecated: None,
            format: ParameterSchemaOrContent::Schema(schema),
            example: None,
            examples: Default::default(),
            explode: None,
            extensions: Default::default(),
        };
        let parameter = Parameter::Header { parameter_data, style: HeaderStyle::Simple };
        add_parameters(ctx, operation, [parameter]);
    }
}

/// Returns the entity tag that a save is made against; the header goes before the body.
fn tag(header: IfMatch, body: Option<String>) -> Result<String, ApiError> {
    match header.0.or(body) {
        Some(tag) if !tag.is_empty() && tag != "*" => Ok(tag),
        _ => Err(ApiError::new(
            StatusCode::PRECONDITION_REQUIRED,
            "precondition_required",
            "the save does not say which text it replaces",
        )
        .hint("read the file first, and send its entity tag as If-Match")),
    }
}

async fn read(
    State(engine): State<Engine>,
    Params(which): Params<Which>,
) -> Result<Tagged, ApiError> {
    Ok(Tagged(engine.loop_file(&which.path).await?))
}

async fn save(
    State(engine): State<Engine>,
    Params(which): Params<Which>,
    header: IfMatch,
    Body(saving): Body<Saving>,
) -> Result<Tagged, ApiError> {
    let tag = tag(header, saving.etag)?;
    Ok(Tagged(engine.save_loop_file(&which.path, &saving.text, &tag).await?))
}

async fn create(
    State(engine): State<Engine>,
    Body(new): Body<NewFile>,
) -> Result<Created<LoopFileView>, ApiError> {
    let text = new.text.as_deref();
    Ok(Created(engine.create_loop_file(new.project.as_deref(), &new.name, text).await?))
}

async fn deleted(State(engine): State<Engine>) -> Answer<Vec<Deleted>> {
    Ok(Json(engine.deleted_loop_files().await?))
}

async fn restore(
    State(engine): State<Engine>,
    Body(restoring): Body<Restoring>,
) -> Result<Created<LoopFileView>, ApiError> {
    Ok(Created(engine.restore_loop_file(&restoring.trash_id).await?))
}

async fn check(State(engine): State<Engine>, Body(checking): Body<Checking>) -> Answer<CheckView> {
    Ok(Json(engine.check(&checking.text).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_names_the_text_it_replaces() {
        let missing = tag(IfMatch(None), None).expect_err("nothing was named");
        assert_eq!(missing.status, 428, "a blind save could lose somebody's text");
        assert_eq!(tag(IfMatch(None), Some("abc".into())).as_deref(), Ok("abc"));
        assert_eq!(tag(IfMatch(Some("def".into())), Some("abc".into())).as_deref(), Ok("def"));
        assert!(tag(IfMatch(Some("*".into())), None).is_err(), "`*` names no text");
    }
}
