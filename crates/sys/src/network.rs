//! The network namespace of this process, and the addresses that it has.

use crate::error::{Error, check};
use std::collections::BTreeSet;
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;

/// `SO_NETNS_COOKIE`, since 5.14.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its inode number, while it lives nobody else's.
    pub inode: u32,
    /// Its cookie, never anybody else's; nothing where the kernel tells none.
    pub cookie: Option<u64>,
    /// The addresses of its interfaces but those of one link only (fe80::/10), which may be
    /// somebody else's on another; in network order, IPv4 as `::ffff:a.b.c.d`.
    pub addresses: BTreeSet<[u8; 16]>,
}

impl Network {
    /// That of this process, as it is now.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of_self() -> Result<Self, Error> {
        let failed = |source| Error::Call {
            call: "stat of /proc/self/ns/net",
            source,
        };
        let inode = std::fs::metadata("/proc/self/ns/net").map_err(failed)?;
        let inode = u32::try_from(inode.st_ino())
            .map_err(|_| failed(io::Error::from(io::ErrorKind::InvalidData)))?;
        Ok(Self {
            inode,
            cookie: cookie(),
            addresses: addresses()?,
        })
    }
}

fn cookie() -> Option<u64> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes plain numbers.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if fd < 0 {
        return None;
    }
    // SAFETY: just opened, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let (mut told, mut bytes) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes no more than `bytes`, and how many they were.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut told).cast(),
            &raw mut bytes,
        )
    };
    (result == 0).then_some(told)
}

fn addresses() -> Result<BTreeSet<[u8; 16]>, Error> {
    let mut first = std::ptr::null_mut();
    // SAFETY: writes one pointer.
    let result = unsafe { libc::getifaddrs(&raw mut first) };
    check("getifaddrs", result.into())?;
    let mut found = BTreeSet::new();
    let mut next = first;
    // SAFETY: null, or an entry of the list, which is freed only below.
    while let Some(entry) = unsafe { next.as_ref() } {
        found.extend(address(entry.ifa_addr));
        next = entry.ifa_next;
    }
    // SAFETY: what `getifaddrs` gave, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// Of an entry's address; nothing if it has none of IPv4 or IPv6, or one of its link only.
fn address(at: *const libc::sockaddr) -> Option<[u8; 16]> {
    // SAFETY: null, or an address of the list.
    let family = unsafe { at.as_ref() }?.sa_family;
    let address = match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: an address of this family has this form.
            let name = unsafe { at.cast::<libc::sockaddr_in>().read_unaligned() };
            Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)).to_ipv6_mapped()
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family has this form.
            let name = unsafe { at.cast::<libc::sockaddr_in6>().read_unaligned() };
            Ipv6Addr::from(name.sin6_addr.s6_addr)
        }
        _ => return None,
    };
    (!address.is_unicast_link_local()).then(|| address.octets())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_of_this_process_is_one() {
        let network = Network::of_self().unwrap();
        assert_eq!(Network::of_self().unwrap(), network);
        assert_ne!((network.inode, network.cookie), (0, Some(0)));
        let host = Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
        match std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
            Ok(_) => assert!(network.addresses.contains(&host), "{network:?}"),
            Err(error) => println!("skipped: {error}"),
        }
    }
}
