//! What the library put down of a socket, as records.

use super::table::{half, quarter, word};
use preload::layout::{ADDRESS_BYTES, Socket, socket};
use record::socket::{Datagrams, Ends, SocketInfo};
use record::unit::{Bytes, Nanos};
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
/// Where a name begins in `struct sockaddr_un`.
const NAME_AT: usize = 2;

/// A socket as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) info: SocketInfo,
    /// When its connection was last looked at, on `CLOCK_MONOTONIC`.
    pub(super) looked_ns: u64,
    /// Of one that may be connected to nobody: what stayed on the machine.
    pub(super) datagrams: Datagrams,
}

/// The socket in the place of a row's path; none if nothing is told of it.
pub(super) fn socket(inode: u64, bytes: &[u8]) -> Option<Raw> {
    let state = half(bytes, offset_of!(Socket, state));
    if state & socket::ENDS == 0 {
        return None;
    }
    let address = |at: usize, length: usize| {
        let length = usize::from(quarter(bytes, length)).min(ADDRESS_BYTES);
        bytes.get(at..at + length).unwrap_or_default()
    };
    let local = address(offset_of!(Socket, local), offset_of!(Socket, local_bytes));
    let peer = address(offset_of!(Socket, peer), offset_of!(Socket, peer_bytes));
    let family = quarter(bytes, offset_of!(Socket, family));
    let name = Some(local).filter(|_| family == AF_UNIX).and_then(name);
    let other = || {
        Some(peer)
            .filter(|_| family == AF_UNIX)
            .and_then(self::name)
    };
    let connected = state & socket::CONNECTION != 0;
    let datagrams = state & socket::DATAGRAMS != 0 && !connected;
    let told = offset_of!(Socket, told);
    let (first, second) = (word(bytes, told), word(bytes, told + 8));
    let rtt_us = second & 0xffff_ffff;
    Some(Raw {
        info: SocketInfo {
            inode,
            family,
            kind: quarter(bytes, offset_of!(Socket, kind)),
            protocol: half(bytes, offset_of!(Socket, protocol)) as u16,
            local: internet(family, local),
            peer: internet(family, peer),
            path: name.or_else(other),
            retransmits: connected.then_some(second >> 32),
            round_trip: (connected && rtt_us > 0).then(|| Nanos(rtt_us * 1000)),
        },
        looked_ns: if connected { first } else { 0 },
        datagrams: Datagrams {
            local_sent: Bytes(if datagrams { first } else { 0 }),
            local_received: Bytes(if datagrams { second } else { 0 }),
            ..Datagrams::default()
        },
    })
}

/// Where the packets of a socket go; nothing if it is not of IPv4 or IPv6. The device that its
/// route leads to is not known: an address of this machine that is not its own looks like another
/// machine's.
pub(super) fn ends(socket: &Raw) -> Option<Ends> {
    let info = &socket.info;
    if !matches!(info.family, AF_INET | AF_INET6) {
        return None;
    }
    let is_local = |end: SocketAddr| end.ip().is_loopback();
    Some(match (info.local, info.peer) {
        (_, Some(peer)) if is_local(peer) => Ends::Loopback,
        (Some(local), Some(peer)) if local.ip() == peer.ip() => Ends::Loopback,
        (_, Some(_)) => Ends::Network,
        (Some(local), None) if is_local(local) => Ends::Loopback,
        (_, None) => Ends::Each(socket.datagrams),
    })
}

/// `struct sockaddr_in` or `struct sockaddr_in6`; nothing if it says nothing.
fn internet(family: u16, bytes: &[u8]) -> Option<SocketAddr> {
    let told = quarter(bytes, 0);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let address = match family {
        _ if told != family => return None,
        AF_INET => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?)),
        AF_INET6 => {
            let bytes = <[u8; 16]>::try_from(bytes.get(8..24)?).ok()?;
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    (port != 0 || !address.is_unspecified()).then(|| SocketAddr::new(address, port))
}

/// The name of a unix socket; one of a file system ends at its NUL.
fn name(address: &[u8]) -> Option<Vec<u8>> {
    let name = address.get(NAME_AT..).filter(|name| !name.is_empty())?;
    Some(match name.first() {
        Some(0) => name.to_vec(),
        _ => name.split(|byte| *byte == 0).next()?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: u32 = 6;

    fn address(family: u16, port: u16, address: &[u8]) -> Vec<u8> {
        let mut bytes = family.to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.resize(if family == AF_INET6 { 8 } else { 4 }, 0);
        bytes.extend(address);
        bytes.resize(if family == AF_INET6 { 28 } else { 16 }, 0);
        bytes
    }

    fn unix(name: &[u8]) -> Vec<u8> {
        [&AF_UNIX.to_ne_bytes(), name].concat()
    }

    fn told(family: u16, local: &[u8], peer: &[u8]) -> Raw {
        let mut bytes = vec![0; size_of::<Socket>()];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(offset_of!(Socket, told), &7u64.to_ne_bytes());
        put(
            offset_of!(Socket, told) + 8,
            &(3u64 << 32 | 250).to_ne_bytes(),
        );
        let state = socket::ENDS | socket::CONNECTION;
        put(offset_of!(Socket, state), &state.to_ne_bytes());
        put(offset_of!(Socket, protocol), &TCP.to_ne_bytes());
        put(offset_of!(Socket, family), &family.to_ne_bytes());
        put(offset_of!(Socket, kind), &1u16.to_ne_bytes());
        put(offset_of!(Socket, local), local);
        put(offset_of!(Socket, peer), peer);
        let length = |part: &[u8]| (part.len() as u16).to_ne_bytes();
        put(offset_of!(Socket, local_bytes), &length(local));
        put(offset_of!(Socket, peer_bytes), &length(peer));
        socket(9, &bytes).unwrap()
    }

    fn v4(last: u8) -> Vec<u8> {
        address(AF_INET, 80, &[192, 0, 2, last])
    }

    #[test]
    fn both_ends_of_a_connection_are_told() {
        let Raw {
            info, looked_ns, ..
        } = told(AF_INET, &v4(1), &v4(2));
        assert_eq!(looked_ns, 7);
        assert_eq!((info.inode, info.kind, info.protocol), (9, 1, 6));
        assert_eq!(info.local.unwrap().to_string(), "192.0.2.1:80");
        assert_eq!(info.peer.unwrap().to_string(), "192.0.2.2:80");
        assert_eq!(info.retransmits, Some(3));
        assert_eq!(info.round_trip, Some(Nanos(250_000)));
        let mut mapped = [0; 16];
        mapped[10..].copy_from_slice(&[255, 255, 127, 0, 0, 1]);
        let mapped = told(AF_INET6, &address(AF_INET6, 5, &mapped), &[]).info;
        assert_eq!(mapped.local.unwrap().to_string(), "127.0.0.1:5");
        assert_eq!(mapped.peer, None);
    }

    #[test]
    fn packets_stay_on_the_machine_or_leave_it() {
        let of = |local: &[u8], peer: &[u8]| ends(&told(AF_INET, local, peer));
        let (own, other) = (v4(1), v4(2));
        let host = address(AF_INET, 0, &[127, 9, 9, 9]);
        let nobody = address(AF_INET, 0, &[0; 4]);
        assert_eq!(of(&own, &other), Some(Ends::Network));
        assert_eq!(of(&own, &own), Some(Ends::Loopback));
        assert_eq!(of(&own, &host), Some(Ends::Loopback));
        assert_eq!(of(&host, &other), Some(Ends::Network));
        assert_eq!(of(&host, &[]), Some(Ends::Loopback));
        assert_eq!(of(&own, &[]), Some(Ends::Each(Datagrams::default())));
        assert_eq!(of(&nobody, &[]), Some(Ends::Each(Datagrams::default())));
        let six = address(AF_INET6, 1, &Ipv6Addr::LOCALHOST.octets());
        let told6 = told(AF_INET6, &[], &six);
        assert_eq!(ends(&told6), Some(Ends::Loopback));
        assert_eq!(ends(&told(AF_UNIX, &unix(b"x"), &[])), None);
    }

    #[test]
    fn datagrams_within_the_machine_are_of_no_connection() {
        let mut bytes = vec![0; size_of::<Socket>()];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(offset_of!(Socket, told), &70u64.to_ne_bytes());
        put(offset_of!(Socket, told) + 8, &(9u64 << 32).to_ne_bytes());
        put(offset_of!(Socket, family), &AF_INET.to_ne_bytes());
        let state = socket::ENDS | socket::DATAGRAMS;
        put(offset_of!(Socket, state), &state.to_ne_bytes());
        let raw = socket(9, &bytes).unwrap();
        assert_eq!((raw.looked_ns, raw.info.retransmits), (0, None));
        let Some(Ends::Each(of)) = ends(&raw) else {
            panic!("{raw:?}");
        };
        assert_eq!(
            (of.local_sent, of.local_received),
            (Bytes(70), Bytes(9 << 32))
        );
    }

    #[test]
    fn names_of_unix_sockets_are_paths_or_begin_with_nul() {
        let of = |local: &[u8], peer: &[u8]| told(AF_UNIX, local, peer).info.path;
        assert_eq!(of(&unix(b"/run/s\0"), &[]), Some(b"/run/s".to_vec()));
        assert_eq!(of(&unix(b"\0hidden"), &[]), Some(b"\0hidden".to_vec()));
        assert_eq!(of(&unix(b""), &unix(b"named\0")), Some(b"named".to_vec()));
        assert_eq!(of(&[], &[]), None);
    }

    #[test]
    fn lengths_lead_nowhere_else() {
        let bytes = vec![0xff; size_of::<Socket>()];
        let Raw { info, .. } = socket(1, &bytes).unwrap();
        assert_eq!((info.local, info.peer, info.path), (None, None, None));
        for cut in 0..bytes.len() {
            socket(1, &bytes[..cut]);
        }
        assert_eq!(socket(1, &[0; size_of::<Socket>()]), None);
        let short = told(AF_INET, &v4(1)[..7], &AF_INET.to_ne_bytes()).info;
        assert_eq!((short.local, short.peer), (None, None));
    }
}
