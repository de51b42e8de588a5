//! Datagrams of sockets that may be connected to nobody: which of them stay on the machine, by the
//! address of the other end that their call has.

use crate::count::{Way, more};
use crate::layout::{Header, halves, socket as told};
use crate::socket;
use crate::state;
use crate::system;
use crate::table;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
/// `struct sockaddr_in`, and of `struct sockaddr_in6` what is read.
const NAME_BYTES: usize = 16;
const NAME6_BYTES: usize = 24;
const SOL_SOCKET: usize = 1;
/// Since 5.14.
const SO_NETNS_COOKIE: usize = 71;
/// The smallest page of any kernel.
const PAGE_BYTES: usize = 4096;

/// Where a call has the name of the other end, and how long it is said to be; null: nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    pub(crate) at: *const u8,
    pub(crate) bytes: usize,
}

impl Name {
    /// Of a call that has none.
    pub(crate) const NONE: Self = Self {
        at: core::ptr::null(),
        bytes: 0,
    };
}

/// The bits for a socket of datagrams.
pub(crate) fn state_of(fd: i32, family: u16) -> u32 {
    if !matches!(family, AF_INET | AF_INET6) {
        return 0;
    }
    let known = table::header().map_or(0, |header| header.network.load(Relaxed));
    let mut cookie = [0; 8];
    let is_ours = known != 0
        && system::socket_option(fd, SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie) == Some(8)
        && u64::from_ne_bytes(cookie) == known;
    told::DATAGRAMS | if is_ours { told::OWN_NETWORK } else { 0 }
}

/// Counts what a call moved, if `name` is an address of this machine. Behind the call: the kernel
/// has taken the name for one.
#[inline(always)]
pub(crate) fn moved(fd: i32, way: Way, name: Name, bytes: isize) {
    if !name.at.is_null() && bytes > 0 {
        count(fd, way, name, bytes as u64);
    }
}

#[inline(never)]
fn count(fd: i32, way: Way, name: Name, bytes: u64) {
    let Some(row) = state::known().and_then(|state| state.known(fd)) else {
        return;
    };
    if !socket::is_socket(row.mode.load(Relaxed).into()) {
        return;
    }
    let socket = table::socket(row);
    let state = socket.state.load(Acquire);
    if state & told::DATAGRAMS == 0 {
        return;
    }
    let Some(address) = read(name) else { return };
    let own =
        || state & told::OWN_NETWORK != 0 && table::header().is_some_and(|it| has(it, address));
    if is_of_every_machine(address) || own() {
        let [sent, received] = &socket.told;
        more(if way == Way::Sent { sent } else { received }, bytes);
    }
}

/// The address in a name; that of IPv4 as `::ffff:a.b.c.d`.
fn read(name: Name) -> Option<[u8; 16]> {
    let mut room = [0; NAME6_BYTES];
    let wanted = if name.bytes < NAME6_BYTES {
        NAME_BYTES
    } else {
        NAME6_BYTES
    };
    let room = room.get_mut(..wanted).filter(|_| name.bytes >= wanted)?;
    if name.at as usize % PAGE_BYTES + wanted <= PAGE_BYTES {
        // SAFETY: the kernel just read or wrote the beginning of these bytes, and all of them lie
        // in one page; they do not overlap with ours.
        unsafe { core::ptr::copy_nonoverlapping(name.at, room.as_mut_ptr(), wanted) };
    } else if state::is_quiet() || !system::read_own(name.at, room) {
        // A program may say that it has more room for a name than it has.
        return None;
    }
    let mut address = [0; 16];
    match u16::from_ne_bytes([*room.first()?, *room.get(1)?]) {
        AF_INET => {
            let (head, tail) = address.split_at_mut(12);
            head.get_mut(10..)?.fill(0xff);
            tail.copy_from_slice(room.get(4..8)?);
        }
        AF_INET6 => address.copy_from_slice(room.get(8..24)?),
        _ => return None,
    }
    Some(address)
}

/// Whether every machine has it: 127.0.0.0/8 and ::1; or nobody (0.0.0.0 and ::), where what is
/// sent there comes back.
fn is_of_every_machine(address: [u8; 16]) -> bool {
    let (high, low) = halves(address);
    let is_v4 = low >> 32 == 0xffff;
    high == 0 && (low <= 1 || is_v4 && (low << 32 >> 56 == 127 || low as u32 == 0))
}

fn has(header: &Header, address: [u8; 16]) -> bool {
    let count = header.own_count.load(Relaxed) as usize;
    let own = header.own.get(..count).unwrap_or_default();
    let order = |it: &[core::sync::atomic::AtomicU64; 2]| {
        let [high, low] = it;
        (high.load(Relaxed), low.load(Relaxed))
    };
    own.binary_search_by_key(&halves(address), order).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    fn named(address: IpAddr) -> [u8; 28] {
        let mut name = [0; 28];
        match address {
            IpAddr::V4(address) => {
                name[..2].copy_from_slice(&AF_INET.to_ne_bytes());
                name[4..8].copy_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                name[..2].copy_from_slice(&AF_INET6.to_ne_bytes());
                name[8..24].copy_from_slice(&address.octets());
            }
        }
        name
    }

    fn read_of(bytes: &[u8], length: usize) -> Option<[u8; 16]> {
        read(Name {
            at: bytes.as_ptr(),
            bytes: length,
        })
    }

    #[test]
    fn an_address_is_of_every_machine_or_not() {
        for (text, every) in [
            ("127.0.0.1", true),
            ("127.255.255.255", true),
            ("126.255.255.255", false),
            ("128.0.0.0", false),
            ("0.0.0.0", true),
            ("0.0.0.1", false),
            ("192.0.2.1", false),
            ("::1", true),
            ("::", true),
            ("::2", false),
            ("::127.0.0.1", false),
            ("::ffff:127.0.0.1", true),
            ("::ffff:0.0.0.0", true),
            ("::ffff:192.0.2.1", false),
            ("1::ffff:127.0.0.1", false),
            ("fe80::1", false),
        ] {
            let name = named(text.parse().unwrap());
            let address = read_of(&name, if text.contains(':') { 28 } else { 16 });
            assert_eq!(is_of_every_machine(address.unwrap()), every, "{text}");
        }
    }

    #[test]
    fn what_is_no_name_has_no_address() {
        let four = named(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let six = named(IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(read_of(&four, 15), None);
        assert_eq!(read_of(&four, 16).map(|it| it[12]), Some(127));
        assert_eq!(read_of(&four, 28).map(|it| it[12]), Some(127));
        assert_eq!(read_of(&six, 16), None);
        assert_eq!(read_of(&six, 24).map(|it| it[15]), Some(1));
        assert_eq!(read_of(&[0; 28], 28), None);
    }

    #[test]
    fn a_name_across_two_pages_is_read() {
        let mut pages = std::vec![0u8; 3 * PAGE_BYTES];
        let start = PAGE_BYTES - pages.as_ptr() as usize % PAGE_BYTES + PAGE_BYTES - 9;
        let six = named(IpAddr::V6(Ipv6Addr::LOCALHOST));
        pages[start..start + 28].copy_from_slice(&six);
        assert_eq!(read_of(&pages[start..], 28).map(|it| it[15]), Some(1));
    }
}
