//! Netlink sockets (`netlink(7)`): opened without blocking, read many messages a call, lost
//! messages told.
//!
//! [`process`] speaks with the proc connector, [`generic`] with families that are found by name.

use crate::error::{Error, check};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub mod generic;
pub mod process;

/// Bytes of the header of every netlink message.
const HEADER: usize = 16;
/// Messages taken by one system call.
const BATCH_MESSAGES: usize = 64;
/// Room for one datagram; a longer one is cut and told as such.
const SLOT_BYTES: usize = 2048;

/// The protocols used here (`NETLINK_CONNECTOR`, `NETLINK_GENERIC`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Kernel connectors; the proc connector is one.
    Connector,
    /// Families with a name, taskstats among them.
    Generic,
}

/// What one call took from a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// So many datagrams, at least one.
    Messages(usize),
    /// Nothing is waiting.
    Nothing,
    /// The receive buffer was full at some time since the last call: the kernel dropped messages
    /// (`ENOBUFS`).
    Overrun,
}

/// A netlink socket bound to an address that the kernel chose.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// Room for the datagrams of one call.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            bytes: vec![0; BATCH_MESSAGES * SLOT_BYTES],
            lengths: Vec::with_capacity(BATCH_MESSAGES),
        }
    }
}

impl Batch {
    /// The datagrams of the last call that came from the kernel, in order, netlink headers
    /// included.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.bytes.chunks_exact(SLOT_BYTES);
        slots
            .zip(&self.lengths)
            .filter_map(|(slot, length)| slot.get(..*length))
            .filter(|datagram| !datagram.is_empty())
    }
}

impl Netlink {
    /// Opens a socket for `protocol`, a member of the multicast `groups` (a bit set).
    ///
    /// # Errors
    /// `EPERM` where this kernel lets only `CAP_NET_ADMIN` join a group; `EPROTONOSUPPORT` without
    /// the protocol.
    pub fn open(protocol: Protocol, groups: u32) -> Result<Self, Error> {
        let number = match protocol {
            Protocol::Connector => libc::NETLINK_CONNECTOR,
            Protocol::Generic => libc::NETLINK_GENERIC,
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, number) };
        check("socket(AF_NETLINK)", i64::from(fd))?;
        // SAFETY: the kernel just returned this descriptor and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let socket = Self { fd, sequence: 0 };
        socket.bind(groups)?;
        Ok(socket)
    }

    fn bind(&self, groups: u32) -> Result<(), Error> {
        let address = kernel_address(groups);
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        let pointer = (&raw const address).cast::<libc::sockaddr>();
        // SAFETY: `address` is a sockaddr_nl of `length` bytes that outlives the call.
        let result = unsafe { libc::bind(self.fd.as_raw_fd(), pointer, length) };
        check("bind(AF_NETLINK)", i64::from(result)).map(drop)
    }

    /// Asks for a receive buffer of `bytes`, past the limit of unprivileged users where we may.
    /// Returns the size that the kernel granted (it counts its own overhead, some 800 bytes a
    /// message, against it).
    pub fn grow_receive_buffer(&self, bytes: u32) -> Result<u64, Error> {
        if self.set_buffer(libc::SO_RCVBUFFORCE, bytes).is_err() {
            self.set_buffer(libc::SO_RCVBUF, bytes)?;
        }
        let mut granted: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        let value = (&raw mut granted).cast::<libc::c_void>();
        let (fd, level) = (self.fd.as_raw_fd(), libc::SOL_SOCKET);
        // SAFETY: `value` has room for the int that SO_RCVBUF returns, and `length` says so.
        let result = unsafe { libc::getsockopt(fd, level, libc::SO_RCVBUF, value, &mut length) };
        check("getsockopt(SO_RCVBUF)", i64::from(result))?;
        Ok(u64::try_from(granted).unwrap_or(0))
    }

    fn set_buffer(&self, option: libc::c_int, bytes: u32) -> Result<(), Error> {
        let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        let pointer = (&raw const value).cast::<libc::c_void>();
        let (fd, level) = (self.fd.as_raw_fd(), libc::SOL_SOCKET);
        // SAFETY: `pointer` is an int that outlives the call, and `length` is its size.
        let result = unsafe { libc::setsockopt(fd, level, option, pointer, length) };
        check("setsockopt(SO_RCVBUF)", i64::from(result)).map(drop)
    }

    /// Sends `payload` to the kernel under a header of type `kind` and `flags`; returns the
    /// sequence number used.
    pub fn send(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<u32, Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let length = u32::try_from(HEADER + payload.len()).unwrap_or(u32::MAX);
        let mut message = Vec::with_capacity(HEADER + payload.len());
        message.extend_from_slice(&length.to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&flags.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0u32.to_ne_bytes());
        message.extend_from_slice(payload);
        let address = kernel_address(0);
        let to = (&raw const address).cast::<libc::sockaddr>();
        let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        let (fd, data) = (self.fd.as_raw_fd(), message.as_ptr().cast());
        // SAFETY: data and length are of `message`, the address is a sockaddr_nl; both outlive the
        // call.
        let sent = unsafe { libc::sendto(fd, data, message.len(), 0, to, size) };
        check("sendto(AF_NETLINK)", sent as i64)?;
        Ok(self.sequence)
    }

    /// Takes what is waiting, at most a batch, without blocking.
    pub fn receive(&self, batch: &mut Batch) -> Result<Taken, Error> {
        batch.lengths.clear();
        let mut senders = [kernel_address(0); BATCH_MESSAGES];
        let mut vectors = [const { io_vector(std::ptr::null_mut(), 0) }; BATCH_MESSAGES];
        let slots = batch.bytes.chunks_exact_mut(SLOT_BYTES);
        for (vector, slot) in vectors.iter_mut().zip(slots) {
            *vector = io_vector(slot.as_mut_ptr(), SLOT_BYTES);
        }
        let mut headers: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .zip(&mut senders)
            .map(|(vector, sender)| message_header(vector, sender))
            .collect();
        let (list, count) = (headers.as_mut_ptr(), headers.len() as libc::c_uint);
        let (fd, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT as _);
        // SAFETY: each header points to one live vector over its own slot of `batch.bytes` and to
        // one sender.
        let got = unsafe { libc::recvmmsg(fd, list, count, flags, std::ptr::null_mut()) };
        if got < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(Taken::Nothing),
                Some(libc::ENOBUFS) => Ok(Taken::Overrun),
                _ => Err(Error::Call {
                    call: "recvmmsg(AF_NETLINK)",
                    source: error,
                }),
            };
        }
        let count = usize::try_from(got).unwrap_or(0);
        for (header, sender) in headers.iter().zip(&senders).take(count) {
            // A datagram from another process than the kernel is none of ours.
            let from_kernel = sender.nl_pid == 0;
            let length = if from_kernel { header.msg_len } else { 0 };
            batch.lengths.push(length as usize);
        }
        Ok(if count == 0 {
            Taken::Nothing
        } else {
            Taken::Messages(count)
        })
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn kernel_address(groups: u32) -> libc::sockaddr_nl {
    // SAFETY: sockaddr_nl is plain integers, for which all zero bits are a value.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    address.nl_groups = groups;
    address
}

const fn io_vector(base: *mut u8, length: usize) -> libc::iovec {
    libc::iovec {
        iov_base: base.cast(),
        iov_len: length,
    }
}

fn message_header(vector: &mut libc::iovec, sender: &mut libc::sockaddr_nl) -> libc::mmsghdr {
    // SAFETY: mmsghdr is integers and pointers, for which all zero bits are a value.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_name = (&raw mut *sender).cast();
    header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
    header
}

/// A 32-bit word of the kernel's at `offset`.
pub(crate) fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let four = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

/// A 64-bit word of the kernel's at `offset`.
pub(crate) fn long(bytes: &[u8], offset: usize) -> Option<u64> {
    let eight = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_ne_bytes(eight.try_into().ok()?))
}

/// A 16-bit word of the kernel's at `offset`.
fn half(bytes: &[u8], offset: usize) -> Option<u16> {
    let two = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_ne_bytes(two.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_socket_says_so_and_grants_a_buffer() {
        let socket = Netlink::open(Protocol::Generic, 0).unwrap();
        assert!(socket.grow_receive_buffer(65_536).unwrap() >= 65_536);
        let mut batch = Batch::default();
        assert_eq!(socket.receive(&mut batch).unwrap(), Taken::Nothing);
        assert_eq!(batch.datagrams().count(), 0);
    }

    #[test]
    fn words_past_the_end_are_absent() {
        assert_eq!(word(&[1, 0, 0, 0, 2], 0), Some(1));
        assert_eq!(word(&[1, 0, 0, 0, 2], 2), None);
        assert_eq!(long(&[0; 8], usize::MAX), None);
        assert_eq!(half(&[7], 0), None);
    }
}
