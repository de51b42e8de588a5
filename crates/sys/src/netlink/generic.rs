//! Generic netlink: families that are found by name, attributes in type-length-value form
//! (`linux/genetlink.h`).

use super::{Batch, HEADER, Netlink, Protocol, Taken, half, word};
use crate::error::Error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

const CONTROL_FAMILY: u16 = 16;
const GET_FAMILY: u8 = 3;
const ATTRIBUTE_ID: u16 = 1;
const ATTRIBUTE_NAME: u16 = 2;
const REQUEST_ACKNOWLEDGE: u16 = 1 | 4;
const REQUEST: u16 = 1;
const TYPE_ERROR: u16 = 2;
const GENERIC_HEADER: usize = 4;
/// Batches read while waiting for an answer.
const ANSWER_BATCHES: usize = 1024;

/// One attribute: its type (flags cleared) and its bytes.
pub type Attribute<'a> = (u16, &'a [u8]);

/// A socket that speaks with one family.
#[derive(Debug)]
pub struct Family {
    socket: Netlink,
    id: u16,
    batch: Batch,
}

impl Family {
    /// Finds the family called `name` (without its NUL).
    ///
    /// # Errors
    /// `ENOENT` where the kernel has no such family.
    pub fn open(name: &str) -> Result<Self, Error> {
        let socket = Netlink::open(Protocol::Generic, 0)?;
        let mut family = Self {
            socket,
            id: CONTROL_FAMILY,
            batch: Batch::default(),
        };
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let request = attribute(ATTRIBUTE_NAME, &text);
        let answer = family.ask(GET_FAMILY, &request)?;
        let id = attributes(&answer)
            .find(|(kind, _)| *kind == ATTRIBUTE_ID)
            .and_then(|(_, bytes)| half(bytes, 0));
        family.id = id.ok_or_else(|| failed(libc::ENOENT))?;
        Ok(family)
    }

    /// Asks for a larger receive buffer; returns what was granted.
    pub fn grow_receive_buffer(&self, bytes: u32) -> Result<u64, Error> {
        self.socket.grow_receive_buffer(bytes)
    }

    /// Sends `command` with `attributes` and returns the attributes of the answer, empty if it was
    /// a bare acknowledgement.
    pub fn ask(&mut self, command: u8, attributes: &[u8]) -> Result<Vec<u8>, Error> {
        // The kernel answers within the call: with data, or with an error, or with an
        // acknowledgement.
        let control = self.id == CONTROL_FAMILY;
        let flags = if control {
            REQUEST
        } else {
            REQUEST_ACKNOWLEDGE
        };
        let mut payload = vec![command, 1, 0, 0];
        payload.extend_from_slice(attributes);
        let sequence = self.socket.send(self.id, flags, &payload)?;
        let mut found = None;
        for _ in 0..ANSWER_BATCHES {
            match self.socket.receive(&mut self.batch)? {
                Taken::Nothing => break,
                Taken::Overrun => continue,
                Taken::Messages(_) => {}
            }
            for datagram in self.batch.datagrams() {
                for (kind, number, body) in messages(datagram) {
                    if number != sequence {
                        continue;
                    }
                    if kind == TYPE_ERROR {
                        match word(body, 0).map(u32::cast_signed) {
                            Some(0) => {
                                found.get_or_insert_with(Vec::new);
                            }
                            code => return Err(failed(code.map_or(libc::EPROTO, |code| -code))),
                        }
                    } else if let Some(attributes) = body.get(GENERIC_HEADER..) {
                        found = Some(attributes.to_vec());
                    }
                }
            }
        }
        found.ok_or_else(|| failed(libc::ENODATA))
    }

    /// Takes what the kernel sent by itself; calls `each` with the attributes of every message of
    /// the family.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) -> Result<Taken, Error> {
        let taken = self.socket.receive(&mut self.batch)?;
        for datagram in self.batch.datagrams() {
            for (kind, _, body) in messages(datagram) {
                if let (true, Some(attributes)) = (kind == self.id, body.get(GENERIC_HEADER..)) {
                    each(attributes);
                }
            }
        }
        Ok(taken)
    }
}

impl AsFd for Family {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn failed(errno: i32) -> Error {
    Error::Call {
        call: "generic netlink request",
        source: io::Error::from_raw_os_error(errno),
    }
}

/// One attribute as bytes, padded to 4.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = Vec::with_capacity(value.len() + 8);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes in `bytes`; ends at the first that does not fit.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(half(rest, 0)?);
        let kind = half(rest, 2)? & 0x3fff;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The netlink messages in a datagram: type, sequence number, body.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = usize::try_from(word(rest, 0)?).ok()?;
        let kind = half(rest, 4)?;
        let sequence = word(rest, 8)?;
        let body = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, sequence, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_round_trip_and_end_where_they_are_cut() {
        let mut bytes = attribute(7, b"abc");
        bytes.extend(attribute(0x8001, &[1, 2, 3, 4]));
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(7, &b"abc"[..]), (1, &[1, 2, 3, 4][..])]);
        assert_eq!(attributes(&bytes[..10]).count(), 1);
        assert_eq!(attributes(&[0, 0, 1, 0]).count(), 0);
    }

    #[test]
    fn an_unknown_family_is_no_such_entry() {
        let error = Family::open("NO_SUCH_FAMILY").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT));
    }
}
