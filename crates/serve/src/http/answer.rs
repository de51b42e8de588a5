//! Answers: JSON and the page, compressed and remembered by those who want that.

use crate::Refusal;
use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write;

/// Shorter answers are one packet anyway.
const COMPRESSED_FROM: usize = 1024;

/// Bytes of a digest that make a tag.
const TAG_BYTES: usize = 16;

/// What kind of text an answer is.
pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// A whole answer, as often as it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Text {
    kind: &'static str,
    tag: String,
    bytes: Vec<u8>,
    is_packed: bool,
}

impl Text {
    /// A text, compressed if that is wanted and worth it.
    pub(super) fn new(kind: &'static str, bytes: Vec<u8>, is_packed: bool) -> Self {
        let digest = Sha256::digest(&bytes);
        let digits = digest.iter().take(TAG_BYTES);
        let tag: String = digits.map(|byte| format!("{byte:02x}")).collect();
        let packed = match is_packed && bytes.len() >= COMPRESSED_FROM {
            true => packed(&bytes),
            false => None,
        };
        Self {
            kind,
            // Weak: the same for both encodings.
            tag: format!("W/\"{tag}\""),
            is_packed: packed.is_some(),
            bytes: packed.unwrap_or(bytes),
        }
    }

    /// The answer to who may have it already.
    pub(super) fn response(self, asked: &HeaderMap) -> Response<Body> {
        let is_there = has_tag(asked, &self.tag);
        let mut response = match is_there {
            true => Response::new(Body::empty()),
            false => Response::new(Body::from(self.bytes)),
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::try_from(self.tag) {
            headers.insert(ETAG, tag);
        }
        // Kept, and asked for again each time: the archive may have grown.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if is_there {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if self.is_packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Whether a client has what has this tag.
fn has_tag(asked: &HeaderMap, tag: &str) -> bool {
    let tags = asked.get_all(IF_NONE_MATCH).iter();
    tags.filter_map(|tags| tags.to_str().ok())
        .flat_map(|tags| tags.split(','))
        .map(str::trim)
        .any(|one| one == "*" || one.trim_start_matches("W/") == tag.trim_start_matches("W/"))
}

/// Whether a client takes gzip.
pub(super) fn takes_gzip(asked: &HeaderMap) -> bool {
    let codings = asked.get_all(ACCEPT_ENCODING).iter();
    codings
        .filter_map(|codings| codings.to_str().ok())
        .flat_map(|codings| codings.split(','))
        .any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let is_gzip = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            is_gzip && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|it| it > 0.0))
        })
}

/// Why there is no answer.
pub(super) fn error(status: StatusCode, why: &str) -> Response<Body> {
    let text = serde_json::json!({ "error": why }).to_string();
    json(status, text)
}

/// An answer that nobody keeps.
pub(super) fn json(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A refusal.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal {
        Refusal::NotFound(_) => StatusCode::NOT_FOUND,
        Refusal::Question(_) => StatusCode::BAD_REQUEST,
        Refusal::Archive(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    error(status, &refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: axum::http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (text, takes) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=x", false),
            ("br, zstd", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(&asked(ACCEPT_ENCODING, text)), takes, "{text}");
        }
    }

    #[test]
    fn what_a_client_has_is_not_sent_again() {
        let text = |is_packed| Text::new(JSON, vec![b'x'; 5000], is_packed);
        let first = text(true).response(&HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[CONTENT_ENCODING], "gzip");
        let tag = first.headers()[ETAG].clone();
        let has = HeaderMap::from_iter([(IF_NONE_MATCH, tag)]);
        assert_eq!(
            text(false).response(&has).status(),
            StatusCode::NOT_MODIFIED
        );
        let other = Text::new(JSON, vec![b'y'; 5000], false);
        assert_eq!(other.response(&has).status(), StatusCode::OK);
        assert!(!Text::new(JSON, b"{}".to_vec(), true).is_packed);
    }
}
