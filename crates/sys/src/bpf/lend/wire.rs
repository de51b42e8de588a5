//! What the two sides say to one another.

use crate::local;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Starts the run: `[layout]`, answered by `[bytes of the ring]` and the ring.
pub(super) const BEGIN: u64 = 1;
/// Takes a process in: `[its id]` and its pidfd, answered by `[its start by the kernel's clock]`.
pub(super) const ADD: u64 = 2;
/// The totals: answered by the words of [`super::super::run::RunTotals`].
pub(super) const TOTALS: u64 = 3;
/// The next event wakes who waits on the ring.
pub(super) const SLEEP: u64 = 4;
/// Follows files: `[rows at most, whether calls are timed]`, answered by `[bytes of the ring,
/// jiffies, nanoseconds since boot then, whether there are pages]` and the ring of folders.
pub(super) const FILES: u64 = 5;
/// A process was added: its threads look for their runs anew.
pub(super) const REFRESH: u64 = 6;
/// Answered by `[rows in the table]`.
pub(super) const ROWS: u64 = 7;
/// Empties the table: `[whether threads live]`; answered by `[jiffies, nanoseconds since boot then,
/// whether own addresses are known]` and the rows.
pub(super) const TAKE: u64 = 8;
/// What living threads hold yet, likewise.
pub(super) const PENDING: u64 = 9;
/// Folders that found the ring full; answered by them, each behind its length.
pub(super) const KEPT: u64 = 10;
/// Sockets that the rows so far name, each behind its length.
pub(super) const SOCKETS: u64 = 11;
/// What found no place: answered by the words of `struct io_run`.
pub(super) const REST: u64 = 12;
/// Counts system calls from now on.
pub(super) const CALLS: u64 = 13;
/// Answered by `[whether that is all]` and what was counted, six words a row.
pub(super) const CALL_ROWS: u64 = 14;

/// Done.
pub(super) const DONE: u64 = 0;
/// The two sides are of different builds.
pub(super) const OTHER_LAYOUT: u64 = 1;
/// The process is another user's.
pub(super) const NOT_YOURS: u64 = 2;
/// The process has another number where the agent is.
pub(super) const OTHER_NAMESPACE: u64 = 3;
/// There are as many runs as there can be.
pub(super) const TOO_MANY: u64 = 4;
/// The process does not stand still; the next moment it may.
pub(super) const NOT_STILL: u64 = 5;
/// Not what can be asked, or not now.
pub(super) const UNKNOWN: u64 = 6;
/// The kernel refused.
pub(super) const REFUSED: u64 = 7;
/// The agent has no programs: it tells live records alone.
pub(super) const NOTHING_LENT: u64 = 8;

/// Words of a message, at most.
pub(super) const WORDS_MAX: usize = 32;
const MESSAGE_BYTES: usize = WORDS_MAX * 8;

/// Both sides must have this number: it changes with the layouts.
pub(super) const LAYOUT: u64 = {
    let events = digest(include_bytes!("../task.h"), 0xcbf2_9ce4_8422_2325);
    digest(
        include_bytes!("../io_row.h"),
        digest(include_bytes!("../io.h"), events),
    )
};

/// FNV-1a, of a text that goes on.
const fn digest(text: &[u8], from: u64) -> u64 {
    let (mut hash, mut left) = (from, text);
    while let [byte, rest @ ..] = left {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        left = rest;
    }
    hash
}

/// One message, with what came with it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) words: Vec<u64>,
    pub(super) file: Option<OwnedFd>,
}

impl Message {
    /// A word of it, 0 if it has not so many.
    pub(super) fn word(&self, place: usize) -> u64 {
        self.words.get(place).copied().unwrap_or(0)
    }
}

pub(super) fn send(
    socket: BorrowedFd<'_>,
    words: &[u64],
    file: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    local::send(socket, &bytes, file)
}

/// The next message; nothing if nobody is there any more.
pub(super) fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let mut bytes = [0; MESSAGE_BYTES];
    let (count, file) = local::receive(socket, &mut bytes)?;
    if count == 0 {
        return Ok(None);
    }
    let (words, _) = bytes.get(..count).unwrap_or_default().as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    Ok(Some(Message { words, file }))
}

/// Adds `record` behind its length.
pub(super) fn put(bytes: &mut Vec<u8>, record: &[u8]) {
    bytes.extend((record.len() as u64).to_ne_bytes());
    bytes.extend_from_slice(record);
}

/// The records of `bytes`, each of which is behind its length; what is cut off is left out.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let (length, rest) = left.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_ne_bytes(*length)).ok()?;
        let (record, rest) = rest.split_at_checked(length)?;
        left = rest;
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_as_they_were_put() {
        let mut bytes = Vec::new();
        for record in [&b"one"[..], b"", b"three"] {
            put(&mut bytes, record);
        }
        let all: Vec<&[u8]> = records(&bytes).collect();
        assert_eq!(all, [&b"one"[..], b"", b"three"]);
        let cut = &bytes[..bytes.len() - 1];
        assert_eq!(records(cut).count(), 2);
        assert_eq!(records(&u64::MAX.to_ne_bytes()).count(), 0);
    }
}
