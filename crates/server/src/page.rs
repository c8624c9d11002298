//! The page: the built front end, taken into the program.
//!
//! Each load of the document gets a nonce of its own; only scripts and styles of ours carry it.
//! `ui/dist` is taken in when the program is built; without it a small page says how to build it,
//! so that cargo alone works.

use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

const PLACEHOLDER: &str = "<!doctype html>
<html lang=\"en\">
<head><meta charset=\"utf-8\"><title>Loopkeeper</title><style>body { font-family: sans-serif; margin: 4rem }</style></head>
<body>
<h1>Loopkeeper runs</h1>
<p>This program was built without its page. In the sources: <code>npm --prefix ui ci &amp;&amp; npm --prefix ui run build</code>, then build it again.</p>
<p>The REST interface is complete: <a href=\"/api/openapi.json\">/api/openapi.json</a>.</p>
</body>
</html>
";

/// Answers a request for the page or one of its files.
pub(crate) fn answer<B>(request: &Request<B>) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    respond(FILES, request.uri().path())
}

fn respond(files: &[(&str, &'static [u8])], path: &str) -> Response {
    let name = path.trim_start_matches('/');
    let found = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1);
    if !name.is_empty() && name != "index.html" {
        if let Some(bytes) = found(name) {
            return file(name, bytes);
        }
        // What looks like a file is missing; everything else is an address within the page.
        if name.rsplit('/').next().is_some_and(|last| last.contains('.')) {
            return (StatusCode::NOT_FOUND, "there is no such file").into_response();
        }
    }
    let html = found("index.html").map_or(PLACEHOLDER.into(), String::from_utf8_lossy);
    match nonce() {
        Ok(nonce) => document(&html, &nonce),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn nonce() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn document(html: &str, nonce: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
         object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, with_nonce(html, nonce)).into_response()
}

/// Gives the nonce to each `<style>` and `<script>` element.
fn with_nonce(html: &str, nonce: &str) -> String {
    let mut out = String::with_capacity(html.len() + 200);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let length = ["<style", "<script"].into_iter().find_map(|open| {
            let head = tag.get(..open.len())?;
            let ends = tag[open.len()..]
                .starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace());
            (head.eq_ignore_ascii_case(open) && ends).then_some(open.len())
        });
        match length {
            Some(length) => {
                out.push_str(&tag[..length]);
                out.push_str(&format!(" nonce=\"{nonce}\""));
                rest = &tag[length..];
            }
            None => {
                out.push('<');
                rest = &tag[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn file(name: &str, bytes: &'static [u8]) -> Response {
    // Names below `assets/` hold a hash of their content.
    let cache = if name.starts_with("assets/") {
        "private, max-age=31536000, immutable"
    } else {
        "no-store"
    };
    let media = HeaderValue::from_static(media(name));
    let headers =
        [(header::CONTENT_TYPE, media), (header::CACHE_CONTROL, HeaderValue::from_static(cache))];
    (headers, bytes).into_response()
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: &[(&str, &[u8])] = &[
        ("index.html", b"<!doctype html><head><style>a{}</style><script type=\"module\" crossorigin src=\"/assets/a-1.js\"></script></head><styled>"),
        ("assets/a-1.js", b"1"),
        ("favicon.svg", b"<svg/>"),
    ];

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 1_000_000).await.expect("a body");
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    #[tokio::test]
    async fn each_load_has_a_nonce_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for path in ["/", "/index.html", "/tasks/some-task"] {
            let response = respond(BUILT, path);
            assert_eq!(
                response.headers()["cache-control"],
                "no-store",
                "a nonce must not be used again"
            );
            let policy =
                response.headers()["content-security-policy"].to_str().expect("ASCII").to_owned();
            let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
            let nonce = nonce.expect("the policy names the nonce").to_owned();
            assert!(!policy.contains("unsafe"), "nothing else is let in: {policy}");
            let html = text(response).await;
            assert!(html.contains(&format!("<style nonce=\"{nonce}\">a{{}}</style>")), "{html}");
            assert!(html.contains(&format!("<script nonce=\"{nonce}\" type=\"module\"")), "{html}");
            assert!(html.ends_with("<styled>"), "only whole tag names are meant");
            assert!(seen.insert(nonce), "a nonce that comes twice protects nothing");
        }
    }

    #[tokio::test]
    async fn hashed_files_are_kept_and_missing_ones_are_not_the_page() {
        let asset = respond(BUILT, "/assets/a-1.js");
        assert_eq!(asset.headers()["content-type"], "text/javascript; charset=utf-8");
        assert!(asset.headers()["cache-control"].to_str().expect("ASCII").contains("immutable"));
        assert_eq!(respond(BUILT, "/favicon.svg").headers()["cache-control"], "no-store");
        assert_eq!(respond(BUILT, "/assets/gone.js").status(), 404, "a script must never be HTML");
        assert_eq!(
            respond(BUILT, "/../../etc/passwd.txt").status(),
            404,
            "there is no file system behind it"
        );
    }

    #[tokio::test]
    async fn without_a_built_page_it_says_how_to_build_it() {
        let html = text(respond(&[], "/")).await;
        assert!(html.contains("npm --prefix ui run build"), "{html}");
    }
}
