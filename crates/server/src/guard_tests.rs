//! What the guard lets through, and what it never does.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        0
    }
    fn awake(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

struct Set {
    guard: Guard,
    clock: Arc<HandClock>,
    _folder: tempfile::TempDir,
}

fn set(address: &str, names: &[&str]) -> Set {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(HandClock::default());
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let address = address.parse().expect("an address");
    let guard = Guard::new(&folder.path().join("own/token"), address, names, clock.clone());
    Set { guard: guard.expect("a guard"), clock, _folder: folder }
}

fn ask(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> Result<(), (u16, Option<String>)> {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match guard.judge(&request.body(()).expect("a request")) {
        Verdict::Pass => Ok(()),
        Verdict::Answer(response) => {
            let cookie = response.headers().get("set-cookie");
            let cookie = cookie.map(|value| value.to_str().expect("ASCII").to_owned());
            Err((response.status().as_u16(), cookie))
        }
    }
}

fn status(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> u16 {
    ask(guard, uri, headers).map_or_else(|(status, _)| status, |()| 200)
}

#[test]
fn only_the_token_opens() {
    let set = set("127.0.0.1:4117", &[]);
    let bearer = format!("Bearer {}", set.guard.token.0);
    let host = ("host", "127.0.0.1:4117");
    assert_eq!(status(&set.guard, "/api/runs", &[host]), 401, "no token");
    assert_eq!(status(&set.guard, "/", &[host]), 401, "the page needs it too");
    assert_eq!(status(&set.guard, "/api/runs", &[host, ("authorization", "Bearer wrong")]), 401);
    let cut = &bearer[..bearer.len() - 1];
    assert_eq!(
        status(&set.guard, "/api/runs", &[host, ("authorization", cut)]),
        401,
        "a part of it"
    );
    assert_eq!(status(&set.guard, "/api/runs", &[host, ("authorization", &bearer)]), 200);
}

#[test]
fn foreign_hosts_and_origins_are_refused_also_with_the_token() {
    let set = set("127.0.0.1:4117", &[]);
    let bearer = format!("Bearer {}", set.guard.token.0);
    let with = |host: &str, origin: Option<&str>| {
        let mut headers = vec![("authorization", bearer.as_str()), ("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        status(&set.guard, "/api/runs", &headers)
    };
    assert_eq!(with("evil.example:4117", None), 403, "a name that resolves to 127.0.0.1");
    assert_eq!(with("127.0.0.1.evil.example:4117", None), 403, "a name that looks like an address");
    assert_eq!(with("127.0.0.1:9999", None), 403, "another port is another server");
    assert_eq!(with("192.168.1.9:4117", None), 403, "we listen on loopback only");
    for own in ["127.0.0.1:4117", "localhost:4117", "LOCALHOST:4117", "[::1]:4117"] {
        assert_eq!(with(own, None), 200, "{own} is ours");
    }
    assert_eq!(with("localhost:4117", Some("http://localhost:4117")), 200, "our own page");
    for foreign in [
        "http://evil.example",
        "null",
        "http://localhost:3000",
        "https://localhost:4117",
        "http://127.0.0.1:4117",
    ] {
        assert_eq!(with("localhost:4117", Some(foreign)), 403, "{foreign} is another site");
    }
    let none = ask(&set.guard, "/api/runs", &[("authorization", &bearer)]);
    assert_eq!(none, Err((403, None)), "a request without a host");
    let two =
        [("authorization", bearer.as_str()), ("host", "localhost:4117"), ("host", "evil.example")];
    assert_eq!(status(&set.guard, "/api/runs", &two), 403, "two hosts are one too many");
    let line = [("authorization", bearer.as_str()), ("host", "localhost:4117")];
    assert_eq!(
        status(&set.guard, "http://evil.example/api/runs", &line),
        403,
        "the request line's host"
    );
}

#[test]
fn beyond_loopback_addresses_and_named_hosts_pass() {
    let set = set("0.0.0.0:4117", &["tower"]);
    let bearer = format!("Bearer {}", set.guard.token.0);
    for (host, expected) in [
        ("192.168.1.9:4117", 200),
        ("tower:4117", 200),
        ("Tower:4117", 200),
        ("evil.example:4117", 403),
    ] {
        let headers = [("authorization", bearer.as_str()), ("host", host)];
        assert_eq!(status(&set.guard, "/api/runs", &headers), expected, "{host}");
    }
}

#[test]
fn a_code_gives_the_cookie_once_and_for_ten_minutes() {
    let set = set("127.0.0.1:4117", &[]);
    let host = ("host", "localhost:4117");
    let code = set.guard.code().expect("a code");
    let link = format!("/?code={code}");
    let (code_status, cookie) = ask(&set.guard, &link, &[host]).expect_err("a redirect");
    assert_eq!(code_status, 303, "the code leaves the address bar at once");
    let cookie = cookie.expect("the cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().expect("name=value");
    assert_eq!(status(&set.guard, "/", &[host, ("cookie", &format!("a=b; {pair}"))]), 200);
    assert_eq!(status(&set.guard, "/", &[host, ("cookie", "loopkeeper_4117=wrong")]), 401);
    assert_eq!(ask(&set.guard, &link, &[host]), Err((401, None)), "a used code opens nothing");
    assert!(!pair.contains(&set.guard.token.0), "the cookie does not hold the token");

    let old = set.guard.code().expect("a code");
    set.clock.0.store(601, Ordering::Relaxed);
    assert_eq!(
        ask(&set.guard, &format!("/?code={old}"), &[host]),
        Err((401, None)),
        "after 10 min"
    );
    let late = set.guard.code().expect("a code");
    set.clock.0.store(1_201, Ordering::Relaxed);
    assert_eq!(status(&set.guard, &format!("/?code={late}"), &[host]), 303, "just in time");
    assert_eq!(status(&set.guard, "/?code=", &[host]), 401, "an empty code");
}

#[test]
fn a_code_of_a_foreign_site_is_not_even_looked_at() {
    let set = set("127.0.0.1:4117", &[]);
    let code = set.guard.code().expect("a code");
    let link = format!("/?code={code}");
    assert_eq!(status(&set.guard, &link, &[("host", "evil.example:4117")]), 403);
    assert_eq!(status(&set.guard, &link, &[("host", "localhost:4117")]), 303, "it was not used up");
}

#[test]
fn the_token_file_is_private_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("own/token");
    let first = read_or_make(&path).expect("a token is made");
    assert_eq!(read_or_make(&path).expect("it is kept"), first);
    assert_eq!(std::fs::read_to_string(&path).expect("read"), first, "its only content");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("opened");
        read_or_make(&path).expect("read again");
        assert_eq!(mode(&path), 0o600, "others must not read it");
    }
    assert_eq!(
        std::fs::read_dir(path.parent().expect("own")).expect("read").count(),
        1,
        "nothing is left beside it"
    );
    std::fs::write(&path, "short").expect("written");
    assert!(
        matches!(read_or_make(&path), Err(GuardError::Content { .. })),
        "an empty or cut file is no token"
    );
}

#[test]
fn processes_that_make_the_token_at_once_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    let tokens: Vec<_> = std::thread::scope(|scope| {
        let makers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| read_or_make(&path).expect("a token"))).collect();
        makers.into_iter().map(|maker| maker.join().expect("it ends")).collect()
    });
    assert!(tokens.iter().all(|token| *token == tokens[0]), "only one can be in the file");
}
