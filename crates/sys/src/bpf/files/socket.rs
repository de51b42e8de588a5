//! What `io.h` lays out of a socket.

use crate::bpf::layout::Reader;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `sizeof(struct socket_info)`.
#[cfg(test)]
const BYTES: usize = 176;
const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SOCK_STREAM: u16 = 1;
const IPPROTO_TCP: u16 = 6;
const PATH_BYTES: usize = 108;

/// A socket that a task uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketInfo {
    /// Inode number.
    pub inode: u64,
    /// Address family (`AF_*`).
    pub family: u16,
    /// Type (`SOCK_*`).
    pub kind: u16,
    /// Protocol (`IPPROTO_*`).
    pub protocol: u16,
    /// Its own address, if it has one.
    pub local: Option<SocketAddr>,
    /// That of the other end, if it is connected.
    pub peer: Option<SocketAddr>,
    /// Of a unix socket: its own name, else that of the other end, as in `sun_path`.
    pub path: Option<Vec<u8>>,
    /// Of TCP: segments sent once more.
    pub retransmits: Option<u64>,
    /// Of TCP: the smoothed round-trip time, microseconds, if one was measured.
    pub rtt_us: Option<u32>,
}

/// `struct socket_info`.
pub(in crate::bpf) fn decode(bytes: &[u8]) -> Option<SocketInfo> {
    let mut reader = Reader(bytes);
    let inode = reader.u64()?;
    let (local, peer): ([u8; 16], [u8; 16]) = (
        reader.take(16)?.try_into().ok()?,
        reader.take(16)?.try_into().ok()?,
    );
    let (retransmits, rtt_us) = (reader.u64()?, reader.u32()?);
    let mut halves = [0u16; 5];
    for half in &mut halves {
        *half = u16::from_ne_bytes(reader.take(2)?.try_into().ok()?);
    }
    let [family, kind, protocol, local_port, peer_port] = halves;
    let [_, path_bytes]: [u8; 2] = reader.take(2)?.try_into().ok()?;
    let path = reader.take(PATH_BYTES)?.get(..usize::from(path_bytes))?;
    let is_tcp = kind == SOCK_STREAM && protocol == IPPROTO_TCP;
    Some(SocketInfo {
        inode,
        family,
        kind,
        protocol,
        local: address(family, local, local_port),
        peer: address(family, peer, peer_port),
        path: Some(name(path)).filter(|path| family == AF_UNIX && !path.is_empty()),
        retransmits: is_tcp.then_some(retransmits),
        rtt_us: Some(rtt_us).filter(|rtt| is_tcp && *rtt > 0),
    })
}

fn address(family: u16, bytes: [u8; 16], port: u16) -> Option<SocketAddr> {
    let [.., a, b, c, d] = bytes;
    let address = match family {
        AF_INET => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical(),
        _ => return None,
    };
    let told = port != 0 || !address.is_unspecified();
    told.then_some(SocketAddr::new(address, port))
}

/// The name of a unix socket; one of a file system ends at its NUL.
fn name(path: &[u8]) -> Vec<u8> {
    match path.first() {
        Some(0) => path.to_vec(),
        _ => super::layout::until_nul(path).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(family: u16, local: [u8; 16], path: &[u8]) -> Vec<u8> {
        let mut bytes = 7u64.to_ne_bytes().to_vec();
        bytes.extend(local);
        bytes.extend([0; 16]);
        bytes.extend(3u64.to_ne_bytes());
        bytes.extend(250u32.to_ne_bytes());
        for half in [family, SOCK_STREAM, IPPROTO_TCP, 80, 0] {
            bytes.extend(half.to_ne_bytes());
        }
        bytes.extend([1, u8::try_from(path.len()).unwrap()]);
        bytes.extend(path);
        bytes.resize(BYTES, 0);
        bytes
    }

    #[test]
    fn addresses_are_told_by_family() {
        let mut v4 = [0; 16];
        v4[12..].copy_from_slice(&[127, 0, 0, 1]);
        let one = decode(&socket(AF_INET, v4, b"")).unwrap();
        assert_eq!(one.local.unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(
            (one.peer, one.retransmits, one.rtt_us),
            (None, Some(3), Some(250))
        );
        let mut mapped = v4;
        mapped[10..12].copy_from_slice(&[255, 255]);
        let six = decode(&socket(AF_INET6, mapped, b"")).unwrap();
        assert_eq!(six.local.unwrap().to_string(), "127.0.0.1:80");
        let mut own = [0; 16];
        own[15] = 1;
        let own = decode(&socket(AF_INET6, own, b"")).unwrap();
        assert_eq!(own.local.unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn names_of_unix_sockets_are_paths_or_begin_with_nul() {
        let named = |path: &[u8]| decode(&socket(AF_UNIX, [0; 16], path)).unwrap().path;
        assert_eq!(named(b"/run/s\0"), Some(b"/run/s".to_vec()));
        assert_eq!(named(b"\0hidden"), Some(b"\0hidden".to_vec()));
        assert_eq!(named(b""), None);
    }

    #[test]
    fn a_cut_socket_is_none() {
        let bytes = socket(AF_INET, [1; 16], b"");
        for cut in 0..BYTES - 8 {
            assert_eq!(decode(&bytes[..cut]), None, "cut to {cut}");
        }
        let mut wild = socket(AF_UNIX, [0; 16], b"x");
        wild[63] = 200;
        assert_eq!(decode(&wild), None);
    }
}
