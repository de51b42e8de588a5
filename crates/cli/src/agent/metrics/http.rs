//! The little of HTTP/1.1 that a scrape needs: one request, one answer, the end.

use httparse::{EMPTY_HEADER, Error, Request, Status};
use store::openmetrics::Dialect;

/// The longest request.
pub(super) const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// What to do with what has come of a request so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// There must be more of it.
    More,
    /// The page.
    Page { dialect: Dialect, is_head: bool },
    /// This answer, whole.
    Other(Vec<u8>),
}

/// Reads a request.
pub(super) fn read(bytes: &[u8]) -> Asked {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() < REQUEST_BYTES_MAX => return Asked::More,
        Ok(Status::Partial) | Err(Error::TooManyHeaders) => {
            let text = "the request is too long\n";
            return Asked::Other(whole("431 Request Header Fields Too Large", text, false));
        }
        Err(_) => return Asked::Other(whole("400 Bad Request", "no HTTP/1.1\n", false)),
        Ok(Status::Complete(_)) => {}
    }
    let is_head = request.method == Some("HEAD");
    if !is_head && request.method != Some("GET") {
        let status = "405 Method Not Allowed\r\nAllow: GET, HEAD";
        return Asked::Other(whole(status, "GET or HEAD\n", false));
    }
    let path = request.path.unwrap_or_default();
    match path.split('?').next().unwrap_or_default() {
        "/metrics" => Asked::Page {
            dialect: dialect(&request),
            is_head,
        },
        "/" => Asked::Other(whole("200 OK", "plimsoll agent: see /metrics\n", is_head)),
        _ => Asked::Other(whole("404 Not Found", "there is /metrics\n", is_head)),
    }
}

/// OpenMetrics if that is among what is accepted, else the older format, which is what was meant
/// before there was another.
fn dialect(request: &Request<'_, '_>) -> Dialect {
    let accepts = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("accept"));
    let names = |header: &httparse::Header<'_>| {
        let value = String::from_utf8_lossy(header.value).to_ascii_lowercase();
        value.contains("application/openmetrics-text")
    };
    let mut accepts = accepts.peekable();
    match accepts.peek().is_none() || accepts.any(names) {
        true => Dialect::OpenMetrics,
        false => Dialect::Text,
    }
}

fn whole(status: &str, text: &str, is_head: bool) -> Vec<u8> {
    answer(
        status,
        "text/plain; charset=utf-8",
        text.as_bytes(),
        is_head,
    )
}

/// An answer; the body is left out for `HEAD`.
pub(super) fn answer(status: &str, content_type: &str, body: &[u8], is_head: bool) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    if !is_head {
        bytes.extend_from_slice(body);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> String {
        match read(request.as_bytes()) {
            Asked::Other(answer) => {
                let answer = String::from_utf8(answer).unwrap();
                answer.split(' ').nth(1).unwrap().to_owned()
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_request_has_its_answer() {
        let long = format!(
            "GET /metrics HTTP/1.1\r\nA: {}",
            "x".repeat(REQUEST_BYTES_MAX)
        );
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "A: b\r\n".repeat(HEADERS_MAX + 1)
        );
        for (request, expected) in [
            ("", "More"),
            ("GET /metrics HT", "More"),
            ("GET / HTTP/1.1\r\n\r\n", "200"),
            ("GET /x HTTP/1.0\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\x16\x03\x01\x02", "400"),
            ("GET /metrics HTTP/9.9\r\n\r\n", "400"),
            (&long, "431"),
            (&many, "431"),
        ] {
            assert_eq!(status(request), expected, "{request:?}");
        }
    }

    #[test]
    fn who_asks_for_a_format_gets_it() {
        let of =
            |headers: &str| read(format!("GET /metrics?x=1 HTTP/1.1\r\n{headers}\r\n").as_bytes());
        for (headers, dialect) in [
            ("", Dialect::OpenMetrics),
            (
                "accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n",
                Dialect::OpenMetrics,
            ),
            ("Accept: text/plain;version=0.0.4\r\n", Dialect::Text),
            ("Accept: */*\r\n", Dialect::Text),
        ] {
            let page = Asked::Page {
                dialect,
                is_head: false,
            };
            assert_eq!(of(headers), page, "{headers}");
        }
        let head = read(b"HEAD /metrics HTTP/1.1\r\n\r\n");
        let is_head = matches!(head, Asked::Page { is_head: true, .. });
        assert!(is_head);
        let answer = answer("200 OK", "x", b"abc", true);
        let text = String::from_utf8(answer).unwrap();
        assert!(text.contains("Content-Length: 3\r\n") && text.ends_with("\r\n\r\n"));
    }
}
