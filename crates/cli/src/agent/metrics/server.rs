//! Who has connected: each is answered once, none waits for another.
//!
//! Bounds: so many connections, so long a request, so much time. Who comes when all places are
//! taken takes that of the one who came first.

use super::address::Listener;
use super::http::{self, Asked, REQUEST_BYTES_MAX};
use record::unit::Nanos;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use store::openmetrics::Dialect;

/// Connections at once, at most.
const CONNECTIONS_MAX: usize = 32;
/// A connection lasts so long, at most.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Of what comes behind the request so much is read at a time, and thrown away.
const CHUNK_BYTES: usize = 4096;

/// Where a connection stands.
#[derive(Debug)]
enum State {
    Asking(Vec<u8>),
    Answering(Vec<u8>, usize),
    /// All is said: until the other side ends it, so that the end takes nothing of the answer away.
    Ending,
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    until: Nanos,
    state: State,
}

/// All of them, who came first in front.
#[derive(Debug)]
pub(super) struct Server {
    listener: Listener,
    connections: VecDeque<Connection>,
    /// So many were ended before their time.
    pub(super) cut_off: u64,
}

impl Server {
    pub(super) const fn new(listener: Listener) -> Self {
        Self {
            listener,
            connections: VecDeque::new(),
            cut_off: 0,
        }
    }

    /// What to wait for: the listener, then each connection.
    pub(super) fn waits(&self) -> Vec<PollFd<'_>> {
        let listener = PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN);
        let each = self.connections.iter().map(|one| {
            let flags = match one.state {
                State::Answering(..) => PollFlags::OUT,
                State::Asking(_) | State::Ending => PollFlags::IN,
            };
            PollFd::from_borrowed_fd(one.socket.as_fd(), flags)
        });
        [listener].into_iter().chain(each).collect()
    }

    /// When the first of them is late.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.connections.front().map(|one| one.until)
    }

    /// Serves who is ready, in the order of [`Server::waits`]; `page` makes a page.
    pub(super) fn serve(
        &mut self,
        now: Nanos,
        ready: &[bool],
        page: &mut dyn FnMut(Dialect) -> Vec<u8>,
    ) {
        let mut flags = ready.iter().copied().skip(1);
        let mut late = 0;
        self.connections.retain_mut(|one| {
            let is_ready = flags.next().unwrap_or(false);
            let stays = !is_ready || one.go_on(page);
            let is_late = stays && now >= one.until;
            late += u64::from(is_late && !matches!(one.state, State::Ending));
            stays && !is_late
        });
        self.cut_off += late;
        if ready.first() == Some(&true) {
            self.welcome(now);
        }
    }

    fn welcome(&mut self, now: Nanos) {
        // No more at once than there are places.
        for _ in 0..CONNECTIONS_MAX {
            let Ok(socket) = self.listener.accept() else {
                return;
            };
            if self.connections.len() >= CONNECTIONS_MAX {
                self.connections.pop_front();
                self.cut_off += 1;
            }
            self.connections.push_back(Connection {
                socket,
                until: now.plus(PATIENCE),
                state: State::Asking(Vec::new()),
            });
        }
    }
}

impl Connection {
    /// Reads or writes what can be now; whether it goes on.
    fn go_on(&mut self, page: &mut dyn FnMut(Dialect) -> Vec<u8>) -> bool {
        match &mut self.state {
            State::Asking(bytes) => {
                let Some(is_over) = read(&self.socket, bytes) else {
                    return true;
                };
                let answer = match http::read(bytes) {
                    // Who ends his side before he has asked gets nothing.
                    Asked::More => return !is_over,
                    Asked::Other(answer) => answer,
                    Asked::Page { dialect, is_head } => {
                        let body = page(dialect);
                        http::answer("200 OK", dialect.content_type(), &body, is_head)
                    }
                };
                self.state = State::Answering(answer, 0);
                self.write()
            }
            State::Answering(..) => self.write(),
            State::Ending => {
                let mut dropped = Vec::new();
                read(&self.socket, &mut dropped) != Some(true)
            }
        }
    }

    fn write(&mut self) -> bool {
        let State::Answering(answer, sent) = &mut self.state else {
            return true;
        };
        while let Some(rest) = answer.get(*sent..).filter(|rest| !rest.is_empty()) {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::send(&self.socket, rest, flags) {
                Ok(count) => *sent += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return error == rustix::io::Errno::AGAIN,
            }
        }
        self.state = State::Ending;
        rustix::net::shutdown(&self.socket, Shutdown::Write).is_ok()
    }
}

/// Appends what has come, no more than a request may have; whether that is all there will be.
/// Nothing: nothing has come.
fn read(socket: &OwnedFd, into: &mut Vec<u8>) -> Option<bool> {
    let start = into.len();
    let room = CHUNK_BYTES.min(REQUEST_BYTES_MAX.saturating_sub(start));
    into.resize(start + room, 0);
    let place = into.get_mut(start..).unwrap_or_default();
    let got = rustix::net::recv(socket, place, RecvFlags::DONTWAIT);
    let count = match &got {
        Ok((_, count)) => *count,
        Err(_) => 0,
    };
    into.truncate(start + count);
    match got {
        Ok(_) => Some(count == 0),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
        Err(_) => Some(true),
    }
}
