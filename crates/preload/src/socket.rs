//! What the kernel says of a socket: whose ends it has when it is first used, and how its
//! connection went when it is shut down, closed, or left at the end of the process.

use crate::clock;
use crate::datagram;
use crate::layout::{ADDRESS_BYTES, Row, Socket, socket as told};
use crate::state;
use crate::system;
use crate::table;
use core::sync::atomic::{
    AtomicU8, AtomicU16,
    Ordering::{Acquire, Relaxed, Release},
};

const FORMAT: u32 = 0o170_000;
const SOCKET: u32 = 0o140_000;
const SOL_SOCKET: usize = 1;
const SO_TYPE: usize = 3;
const SO_PROTOCOL: usize = 38;
const SO_DOMAIN: usize = 39;
const SOL_TCP: usize = 6;
const TCP_INFO: usize = 11;
const SOCK_STREAM: u16 = 1;
const SOCK_DGRAM: u32 = 2;
const IPPROTO_TCP: u32 = 6;
/// `struct tcp_info`, as far as it is read, and where in there.
const TCP_INFO_BYTES: usize = 104;
const RTT_AT: usize = 68;
const TOTAL_RETRANS_AT: usize = 100;

/// Whether a mode is that of a socket.
pub(crate) const fn is_socket(mode: u32) -> bool {
    mode & FORMAT == SOCKET
}

/// Of a row that is not shown yet.
#[cold]
#[inline(never)]
pub(crate) fn describe(row: &Row, fd: i32) {
    let socket = table::socket(row);
    let option = |name| system::socket_number(fd, SOL_SOCKET, name);
    let (Some(family), Some(kind)) = (option(SO_DOMAIN), option(SO_TYPE)) else {
        return;
    };
    socket.family.store(family as u16, Relaxed);
    socket.kind.store(kind as u16, Relaxed);
    socket
        .protocol
        .store(option(SO_PROTOCOL).unwrap_or(0), Relaxed);
    ends(socket, fd);
    connection(socket, fd);
    let datagrams = if kind == SOCK_DGRAM {
        datagram::state_of(fd, family as u16)
    } else {
        0
    };
    socket.state.fetch_or(told::ENDS | datagrams, Release);
}

/// How its connection went so far, and the other end if there was none yet: the bytes of a stream
/// all went there.
#[cold]
#[inline(never)]
pub(crate) fn renew(row: &Row, fd: i32) {
    let socket = table::socket(row);
    if state::is_quiet() || socket.state.load(Acquire) & told::ENDS == 0 {
        return;
    }
    let known = (row.device.load(Relaxed), row.inode.load(Relaxed));
    let same = |stat: system::Stat| (stat.device, stat.inode) == known;
    if !system::fstat(fd).is_some_and(same) {
        return;
    }
    let is_stream = socket.kind.load(Relaxed) == SOCK_STREAM;
    if is_stream && socket.peer_bytes.load(Acquire) == 0 {
        ends(socket, fd);
    }
    connection(socket, fd);
}

/// Of all that this process still has, at its end.
pub(crate) fn leave_all() {
    let Some(state) = state::known() else { return };
    let end = state.sockets_end.load(Relaxed);
    if end == 0 || state::is_quiet() || !state.is_ours() {
        return;
    }
    for fd in 0..end as i32 {
        if let Some(row) = state.known(fd)
            && is_socket(row.mode.load(Relaxed).into())
        {
            renew(row, fd);
        }
    }
}

/// A connection is about to be ended.
pub(crate) fn shutting_down(fd: i32) {
    if let Some(row) = state::known().and_then(|state| state.known(fd))
        && is_socket(row.mode.load(Relaxed).into())
    {
        renew(row, fd);
    }
}

fn ends(socket: &Socket, fd: i32) {
    let mut room = [0; ADDRESS_BYTES];
    if let Some(bytes) = system::socket_name(fd, &mut room) {
        keep(&socket.local, &socket.local_bytes, &room, bytes);
    }
    if let Some(bytes) = system::peer_name(fd, &mut room) {
        keep(&socket.peer, &socket.peer_bytes, &room, bytes);
    }
}

fn keep(places: &[AtomicU8], length: &AtomicU16, bytes: &[u8], count: usize) {
    for (place, byte) in places.iter().zip(bytes.iter().take(count)) {
        place.store(*byte, Relaxed);
    }
    length.store(count.min(places.len()) as u16, Release);
}

fn connection(socket: &Socket, fd: i32) {
    let is_stream = socket.kind.load(Relaxed) == SOCK_STREAM;
    if !is_stream || socket.protocol.load(Relaxed) != IPPROTO_TCP {
        return;
    }
    let mut bytes = [0; TCP_INFO_BYTES];
    if system::socket_option(fd, SOL_TCP, TCP_INFO, &mut bytes) != Some(TCP_INFO_BYTES) {
        return;
    }
    let number = |at: usize| {
        let four = bytes.get(at..at + 4).unwrap_or_default();
        four.try_into().map(u32::from_ne_bytes).unwrap_or_default()
    };
    let [looked, went] = &socket.told;
    let (retransmits, rtt_us) = (number(TOTAL_RETRANS_AT), number(RTT_AT));
    went.store(u64::from(retransmits) << 32 | u64::from(rtt_us), Relaxed);
    looked.store(clock::precise(), Relaxed);
    socket.state.fetch_or(told::CONNECTION, Release);
}
