//! Connections: taken in up to a bound, answered, and brought to an end.

use super::listen::{Listener, Stream};
use super::route::App;
use super::tls::Tls;
use axum::Router;
use axum::extract::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Connections at once; each costs some tens of KiB.
const CONNECTIONS_MAX: usize = 512;

/// Connections at once that are told that there are too many.
const REFUSED_MAX: usize = 64;

/// Bytes of what stands before a body, and the headers in it.
const HEAD_BYTES_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 64;

/// Time for the head of a request to come, also of the next one.
const HEAD_TIME: Duration = Duration::from_secs(15);
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// A connection is asked to end after this time, and ended as long again after that.
const CONNECTION_TIME: Duration = Duration::from_secs(600);

/// What is under way has this time to come to its end.
const END_TIME: Duration = Duration::from_secs(5);

/// Until the kernel has descriptors again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TOO_MANY: &str = "{\"error\":\"too many connections: try again in a few seconds\"}";

/// The signals that a server heeds.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Before anybody knows of the server: none that comes then is lost, or ends it as it is not
    /// to end. Needs a runtime.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// Answers until a signal ends it; which one.
pub(super) async fn serve(
    listener: Listener,
    tls: Option<Tls>,
    app: Arc<App>,
    signals: Signals,
) -> i32 {
    let Signals {
        mut interrupt,
        mut terminate,
        mut hangup,
    } = signals;
    let (ending, ends) = watch::channel(false);
    let house = House {
        seats: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        refused: Arc::new(Semaphore::new(REFUSED_MAX)),
        router: super::route::router(&app),
        is_secure: tls.is_some(),
    };
    let mut guests = JoinSet::new();
    let signal = loop {
        tokio::select! {
            signal = either(&mut interrupt, &mut terminate) => break signal,
            _ = hangup.recv() => reload(&app, tls.as_ref()),
            Some(_) = guests.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    house.admit(stream, peer, tls.as_ref(), &ends, &mut guests);
                }
                // Most often there are no descriptors left: others end theirs.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    };
    drop(listener);
    ending.send_replace(true);
    let all = async { while guests.join_next().await.is_some() {} };
    tokio::select! {
        _ = timeout(END_TIME, all) => {}
        _ = either(&mut interrupt, &mut terminate) => {}
    }
    signal
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) -> i32 {
    tokio::select! {
        _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
    }
}

fn reload(app: &App, tls: Option<&Tls>) {
    app.reload();
    if let Some(Err(error)) = tls.map(Tls::reload) {
        app.failed("the certificate stays as it was", &error);
    }
}

/// Whom there is room for.
struct House {
    seats: Arc<Semaphore>,
    refused: Arc<Semaphore>,
    router: Router,
    is_secure: bool,
}

impl House {
    fn admit(
        &self,
        stream: Box<dyn Stream>,
        peer: String,
        tls: Option<&Tls>,
        ends: &watch::Receiver<bool>,
        guests: &mut JoinSet<()>,
    ) {
        let Ok(seat) = Arc::clone(&self.seats).try_acquire_owned() else {
            // Words before a handshake would be no words of TLS.
            if !self.is_secure
                && let Ok(permit) = Arc::clone(&self.refused).try_acquire_owned()
            {
                guests.spawn(async move {
                    drop(timeout(HANDSHAKE_TIME, refuse(stream)).await);
                    drop(permit);
                });
            }
            return;
        };
        let router = self.router.clone().layer(Extension(Peer(peer)));
        let acceptor = tls.map(Tls::acceptor);
        let ends = ends.clone();
        guests.spawn(async move {
            let stream: Box<dyn Stream> = match acceptor {
                None => stream,
                Some(acceptor) => match timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => Box::new(stream),
                    // Scanners and clients that do not trust the certificate.
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            converse(stream, router, ends).await;
            drop(seat);
        });
    }
}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub(super) struct Peer(pub(super) String);

/// Answers one connection until it ends.
async fn converse(stream: Box<dyn Stream>, router: Router, mut ends: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        _ = connection.as_mut() => true,
        _ = ends.wait_for(|is_end| *is_end) => false,
        () = sleep(CONNECTION_TIME) => false,
    };
    if !ended {
        connection.as_mut().graceful_shutdown();
        // What goes wrong with a connection is its client's affair.
        drop(timeout(CONNECTION_TIME, connection).await);
    }
}

/// Says that there are too many, and waits for the client to have read it.
async fn refuse(mut stream: Box<dyn Stream>) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nRetry-After: 5\r\nConnection: close\r\n\r\n{TOO_MANY}",
        TOO_MANY.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.shutdown().await?;
    let mut left = [0; 1024];
    while stream.read(&mut left).await? > 0 {}
    Ok(())
}
