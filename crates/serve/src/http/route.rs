//! Which path leads where, and what every answer carries.

use super::answer::{self, HTML, JSON, Text};
use super::connect::Peer;
use super::tokens::Tokens;
use super::{Say, Settings, Submissions, ask, submit};
use crate::Answers;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Questions that are answered at once, for each CPU and at most.
const QUESTIONS_EACH: usize = 2;
const QUESTIONS_MAX: usize = 32;

/// Threads that may wait for the archive.
pub(super) const BLOCKING_MAX: usize = 2 * QUESTIONS_MAX;

/// A question is answered within this time, or not at all.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Instead of the page.
const ABSENT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>plimsoll</title>\
     <h1>The page is absent in this build</h1>\
     <p>It was built without Node. Its answers are there: \
     <a href=api/overview>api/overview</a> and the others of docs/page.md.\n";

/// What all requests share.
pub(super) struct App {
    pub(super) tokens: Option<Tokens>,
    pub(super) submissions: Arc<dyn Submissions>,
    pub(super) room: submit::Room,
    page: [Text; 2],
    policy: HeaderValue,
    is_named: bool,
    answers: Arc<dyn Answers>,
    questions: Arc<Semaphore>,
    log: Option<Say>,
    say: Say,
}

impl App {
    pub(super) fn new(
        settings: Settings,
        tokens: Option<Tokens>,
        is_named: bool,
        answers: Arc<dyn Answers>,
        submissions: Arc<dyn Submissions>,
    ) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let page = settings.page.unwrap_or(ABSENT);
        let text = |is_packed| Text::new(HTML, page.as_bytes().to_vec(), is_packed);
        Self {
            page: [text(false), text(true)],
            policy: policy(page),
            tokens,
            is_named,
            answers,
            submissions,
            questions: Arc::new(Semaphore::new((QUESTIONS_EACH * cpus).min(QUESTIONS_MAX))),
            room: submit::Room::new(settings.submission_bytes_max),
            log: settings.log,
            say: settings.say,
        }
    }

    pub(super) fn reload(&self) {
        if let Some(Err(error)) = self.tokens.as_ref().map(Tokens::reload) {
            self.failed("nobody may submit", &error);
        }
    }

    /// Tells people what went wrong.
    pub(super) fn failed(&self, what: &str, error: &dyn std::error::Error) {
        let cause = error.source().map(|cause| format!(": {cause}"));
        (self.say)(&format!("{what}: {error}{}", cause.unwrap_or_default()));
    }
}

pub(super) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/healthz", get(health))
        .route("/api/attempts", get(question).post(submit::submit))
        .route("/api/{name}", get(question))
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(app), around))
        .with_state(Arc::clone(app))
}

async fn page(State(app): State<Arc<App>>, headers: HeaderMap) -> Response<Body> {
    let [plain, packed] = &app.page;
    let page = match answer::takes_gzip(&headers) {
        true => packed,
        false => plain,
    };
    page.clone().response(&headers)
}

async fn health() -> Response<Body> {
    answer::json(StatusCode::OK, "{\"status\":\"ok\"}".to_owned())
}

async fn nowhere() -> Response<Body> {
    answer::error(
        StatusCode::NOT_FOUND,
        "there is nothing here: / is the page, docs/page.md lists what stands below /api/",
    )
}

async fn wrong_method() -> Response<Body> {
    answer::error(
        StatusCode::METHOD_NOT_ALLOWED,
        "this is asked by GET or HEAD; attempts are submitted by POST to /api/attempts",
    )
}

async fn question(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let name = uri.path().strip_prefix("/api/").unwrap_or_default();
    let question = match ask::question(name, uri.query().unwrap_or_default()) {
        None => return nowhere().await,
        Some(Err(why)) => return answer::error(StatusCode::BAD_REQUEST, &why),
        Some(Ok(question)) => question,
    };
    let is_packed = answer::takes_gzip(&headers);
    let answers = Arc::clone(&app.answers);
    let questions = Arc::clone(&app.questions);
    let answered = timeout(ANSWER_TIME, async move {
        let permit = questions.acquire_owned().await.ok()?;
        let work = move || {
            let text = answers.answer(&question);
            // Held by the work, which goes on when nobody waits for it any more.
            drop(permit);
            text.map(|text| Text::new(JSON, text.into_bytes(), is_packed))
        };
        tokio::task::spawn_blocking(work).await.ok()
    });
    match answered.await {
        Ok(Some(Ok(text))) => text.response(&headers),
        Ok(Some(Err(refusal))) => answer::refused(&refusal),
        Ok(None) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, "there was no answer"),
        Err(_) => busy("the answer took too long: try again, or ask for less"),
    }
}

/// There is no room or time right now.
pub(super) fn busy(why: &str) -> Response<Body> {
    let mut response = answer::error(StatusCode::SERVICE_UNAVAILABLE, why);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

/// What comes before and after every answer.
async fn around(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let began = Instant::now();
    let line = app.log.as_ref().map(|_| {
        let peer = peer.map_or_else(String::new, |Extension(Peer(peer))| peer);
        // Never what an Authorization says.
        format!("{peer} {} {}", request.method(), request.uri())
    });
    let mut response = match app.is_named || is_own(request.headers()) {
        true => next.run(request).await,
        false => answer::error(
            StatusCode::MISDIRECTED_REQUEST,
            "this server is asked as localhost or by its address; a proxy sends that as Host",
        ),
    };
    let headers = response.headers_mut();
    let mut fixed = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    fixed(X_CONTENT_TYPE_OPTIONS, "nosniff");
    fixed(REFERRER_POLICY, "no-referrer");
    fixed(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    fixed(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    headers.insert(CONTENT_SECURITY_POLICY, app.policy.clone());
    if let (Some(log), Some(line)) = (&app.log, line) {
        let status = response.status().as_u16();
        let bytes = response.body().size_hint().exact();
        let bytes = bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let took = began.elapsed().as_millis();
        log(&format!("{line} {status} {bytes} {took} ms"));
    }
    response
}

/// Whether a request names this machine: a page of others that made its own name lead here has
/// the browser's leave to read all answers.
fn is_own(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        // HTTP/1.0 has none, and no browser speaks that.
        return headers.get(HOST).is_none();
    };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// What the page may do: run the scripts that it has in it, and ask this server.
fn policy(page: &str) -> HeaderValue {
    let scripts: String = scripts(page)
        .map(|script| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
        .collect();
    let scripts = match scripts.is_empty() {
        true => " 'none'".to_owned(),
        false => scripts,
    };
    let text = format!(
        "default-src 'none'; script-src{scripts}; style-src 'unsafe-inline'; img-src data:; \
         font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The texts of the scripts in a page.
fn scripts(page: &str) -> impl Iterator<Item = &str> {
    let mut rest = page;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once("<script")?;
        let (_, text) = behind.split_once('>')?;
        let (script, behind) = text.split_once("</script")?;
        rest = behind;
        Some(script)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_lets_the_scripts_of_the_page_run_alone() {
        let page = "<p><script type=module>alert(1)</script><script>let a='<script>'</script>";
        let all: Vec<_> = scripts(page).collect();
        assert_eq!(all, ["alert(1)", "let a='<script>'"]);
        let policy = policy("<script>alert(1)</script>");
        // As `printf 'alert(1)' | openssl dgst -sha256 -binary | base64` has it.
        let hash = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert!(policy.to_str().unwrap().contains(hash), "{policy:?}");
        assert!(
            super::policy(ABSENT)
                .to_str()
                .unwrap()
                .contains("script-src 'none'")
        );
    }

    #[test]
    fn names_of_others_are_not_ours() {
        let own = |host: &'static str| {
            is_own(&HeaderMap::from_iter([(
                HOST,
                HeaderValue::from_static(host),
            )]))
        };
        for host in [
            "localhost",
            "LOCALHOST:8123",
            "127.0.0.1:1",
            "[::1]:80",
            "10.0.0.1",
        ] {
            assert!(own(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "",
            "127.0.0.1.evil.example",
        ] {
            assert!(!own(host), "{host}");
        }
    }
}
