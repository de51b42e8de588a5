//! Submissions: whose they are, how much they may be, and what became of them.

use super::route::{App, busy};
use super::{Receipt, answer, ask};
use crate::Refusal;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use flate2::bufread::MultiGzDecoder;
use http_body_util::BodyExt;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Bytes of all submissions that are held at once, in MiB, or two of the largest.
const HELD_MIB: u32 = 256;

/// Submissions that are written at once; the others wait.
const WRITTEN_MAX: usize = 8;

/// Time for the next piece of a body, and for all of it.
const PIECE_TIME: Duration = Duration::from_secs(30);
const BODY_TIME: Duration = Duration::from_secs(300);

/// Time until there is room.
const ROOM_TIME: Duration = Duration::from_secs(30);

/// What is packed has so many times the bytes that a plain body may have.
const UNPACKED_TIMES: u64 = 8;

/// What begins a file of gzip.
const MAGIC: &[u8] = &[0x1f, 0x8b];

/// Bytes of submissions that there is room for.
pub(super) struct Room {
    bytes_max: u32,
    held: Arc<Semaphore>,
    written: Arc<Semaphore>,
}

impl Room {
    pub(super) fn new(bytes_max: u32) -> Self {
        let held = HELD_MIB.max(2 * mib(bytes_max));
        Self {
            bytes_max,
            held: Arc::new(Semaphore::new(usize::try_from(held).unwrap_or(usize::MAX))),
            written: Arc::new(Semaphore::new(WRITTEN_MAX)),
        }
    }
}

const fn mib(bytes: u32) -> u32 {
    (bytes >> 20) + 1
}

/// `POST /api/attempts`.
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    match taken(&app, &uri, &headers, body).await {
        Ok(receipt) => acknowledged(&receipt),
        Err(refused) => *refused,
    }
}

type Refused = Box<Response<Body>>;

fn no(status: StatusCode, why: &str) -> Refused {
    Box::new(answer::error(status, why))
}

async fn taken(
    app: &Arc<App>,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Receipt, Refused> {
    let who = who(app, headers)?;
    let set = ask::submission(uri.query().unwrap_or_default())
        .map_err(|why| no(StatusCode::BAD_REQUEST, &why))?;
    check_kind(headers)?;
    let length = length(headers, app.room.bytes_max)?;
    let room = Arc::clone(&app.room.held).acquire_many_owned(mib(length));
    let held = within(ROOM_TIME, room).await?;
    let bytes = whole(body, app.room.bytes_max).await?;
    let permit = within(ROOM_TIME, Arc::clone(&app.room.written).acquire_owned()).await?;
    let app = Arc::clone(app);
    let work = tokio::task::spawn_blocking(move || {
        let taken = unpacked(bytes, app.room.bytes_max)
            .and_then(|mut body| app.submissions.take(&mut body, &who, set));
        drop((held, permit));
        if let Err(error @ Refusal::Archive(_)) = &taken {
            app.failed("a submission was not taken in", error);
        }
        taken
    });
    match work.await {
        Ok(taken) => taken.map_err(|refusal| Box::new(answer::refused(&refusal))),
        Err(_) => Err(no(
            StatusCode::INTERNAL_SERVER_ERROR,
            "it was not taken in: submit it again",
        )),
    }
}

/// Whose submission it is.
fn who(app: &App, headers: &HeaderMap) -> Result<String, Refused> {
    let Some(tokens) = &app.tokens else {
        return Err(no(
            StatusCode::FORBIDDEN,
            "this server takes no submissions: `plimsoll serve --tokens FILE` does; or \
             `ssh HOST plimsoll archive add -`",
        ));
    };
    let token = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked("bearer ".len())?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
        is_bearer.then(|| token.trim_ascii())
    });
    let name = tokens.name(token.unwrap_or_default()).map_err(|error| {
        app.failed("nobody may submit", &error);
        no(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the tokens of this server cannot be read: its log says why",
        )
    })?;
    name.ok_or_else(|| {
        let mut refused = no(
            StatusCode::UNAUTHORIZED,
            "submissions need a token that this server knows: `Authorization: Bearer TOKEN`",
        );
        let headers = refused.headers_mut();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        refused
    })
}

/// What a form of another web site sends is no submission.
fn check_kind(headers: &HeaderMap) -> Result<(), Refused> {
    let coding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if coding.is_some_and(|coding| coding != b"gzip" && coding != b"identity") {
        let why = "a body is plain or packed by gzip";
        return Err(no(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if kind.is_some_and(|kind| kind.starts_with(b"multipart/")) {
        let why = "a body is the reports themselves (curl --data-binary @FILE), no form";
        return Err(no(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    Ok(())
}

/// Bytes that the body says it has, else that it may have.
fn length(headers: &HeaderMap, bytes_max: u32) -> Result<u32, Refused> {
    let Some(length) = headers.get(CONTENT_LENGTH) else {
        return Ok(bytes_max);
    };
    let length = length.to_str().ok().and_then(|text| text.parse().ok());
    match length {
        Some(length) if length <= bytes_max => Ok(length),
        _ => Err(too_large(bytes_max)),
    }
}

fn too_large(bytes_max: u32) -> Refused {
    let why = format!(
        "a submission has at most {bytes_max} bytes (--submission-max): submit it in parts, or \
         packed by gzip"
    );
    no(StatusCode::PAYLOAD_TOO_LARGE, &why)
}

async fn within(
    time: Duration,
    room: impl Future<Output = Result<OwnedSemaphorePermit, tokio::sync::AcquireError>>,
) -> Result<OwnedSemaphorePermit, Refused> {
    match timeout(time, room).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Box::new(busy(
            "too much is submitted right now: try again in a few seconds",
        ))),
    }
}

/// The whole body.
async fn whole(mut body: Body, bytes_max: u32) -> Result<Vec<u8>, Refused> {
    let slow = || no(StatusCode::REQUEST_TIMEOUT, "the body came too slowly");
    let read = async {
        let mut bytes = Vec::new();
        loop {
            match timeout(PIECE_TIME, body.frame()).await {
                Err(_) => return Err(slow()),
                Ok(None) => return Ok(bytes),
                Ok(Some(Err(_))) => {
                    return Err(no(StatusCode::BAD_REQUEST, "the body ended too early"));
                }
                Ok(Some(Ok(frame))) => {
                    bytes.extend_from_slice(&frame.into_data().unwrap_or_default())
                }
            }
            if bytes.len() as u64 > u64::from(bytes_max) {
                return Err(too_large(bytes_max));
            }
        }
    };
    timeout(BODY_TIME, read)
        .await
        .unwrap_or_else(|_| Err(slow()))
}

/// What a body says, unpacked up to a bound.
fn unpacked(bytes: Vec<u8>, bytes_max: u32) -> Result<Box<dyn BufRead>, Refusal> {
    if !bytes.starts_with(MAGIC) {
        return Ok(Box::new(Cursor::new(bytes)));
    }
    let left = UNPACKED_TIMES * u64::from(bytes_max);
    let mut body = BufReader::new(Bounded {
        decoder: MultiGzDecoder::new(Cursor::new(bytes)),
        left,
    });
    let first = body
        .fill_buf()
        .map_err(|error| Refusal::Question(format!("the body cannot be unpacked: {error}")))?;
    match first.starts_with(MAGIC) {
        true => Err(Refusal::Question("the body is packed twice".to_owned())),
        false => Ok(Box::new(body)),
    }
}

/// Stops what unpacks to too much.
struct Bounded {
    decoder: MultiGzDecoder<Cursor<Vec<u8>>>,
    left: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(io::Error::other(format!(
                    "it unpacks to more than {UNPACKED_TIMES} times what a submission may have"
                )));
            }
        }
        Ok(count)
    }
}

/// The answer to what is on the device.
fn acknowledged(receipt: &Receipt) -> Response<Body> {
    let is_nothing = receipt.new + receipt.known == 0;
    let status = match is_nothing {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    let mut text = serde_json::json!(receipt);
    if let (true, Some(fields)) = (is_nothing, text.as_object_mut()) {
        let why = receipt
            .why
            .first()
            .map_or("it has no records", String::as_str);
        fields.insert(
            "error".to_owned(),
            format!("no report is in it: {why}").into(),
        );
    }
    answer::json(status, text.to_string())
}
