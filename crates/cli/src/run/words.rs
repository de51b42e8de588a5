//! What the front and the monitor say to each other: fixed messages over a `SOCK_SEQPACKET` pair.

use std::os::fd::{AsFd, OwnedFd};
use sys::descriptor;
use sys::signal::Arrived;

/// Front to monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToMonitor {
    /// This signal came to the front.
    Signal(Arrived),
}

/// Monitor to front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToFront {
    /// The command is about to start, below the launcher of this pid: from now on signals are for
    /// it.
    Started(u32),
    /// The command was stopped by this signal: stop too.
    Stopped(i32),
    /// Whether the bottom row of the terminal is taken.
    Row(bool),
    /// Everything is done: exit with this status.
    Done(u8),
    /// A limit ended the task, the one at this place in the table of limits: run it again.
    Short(u32),
    /// The task cannot be watched: become the command.
    Bare,
}

/// Bytes of every message.
pub(crate) const MESSAGE_BYTES: usize = 16;

impl ToMonitor {
    /// As it travels.
    pub(crate) fn encode(self) -> [u8; MESSAGE_BYTES] {
        let ToMonitor::Signal(arrived) = self;
        let mut bytes = [0; MESSAGE_BYTES];
        let words = [
            arrived.signal,
            arrived.code,
            arrived.pid as i32,
            arrived.uid as i32,
        ];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// As it was said; `None` if this is no message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(ToMonitor::Signal(Arrived {
            signal: word(0)?,
            code: word(4)?,
            pid: word(8)? as u32,
            uid: word(12)? as u32,
        }))
    }
}

impl ToFront {
    /// Says it. One that died has nobody to tell: an error.
    pub(crate) fn say(self, front: &OwnedFd) -> Result<(), sys::Error> {
        descriptor::send(front.as_fd(), &self.encode())
    }

    /// As it travels.
    fn encode(self) -> [u8; 5] {
        let (word, number) = match self {
            ToFront::Started(launcher) => (b'G', launcher),
            ToFront::Stopped(signal) => (b'S', signal as u32),
            ToFront::Row(taken) => (b'R', u32::from(taken)),
            ToFront::Done(status) => (b'D', u32::from(status)),
            ToFront::Short(place) => (b'L', place),
            ToFront::Bare => (b'B', 0),
        };
        let [a, b, c, d] = number.to_ne_bytes();
        [word, a, b, c, d]
    }

    /// As it was said; `None` if this is no message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (word, number) = bytes.split_first()?;
        let number = u32::from_ne_bytes(number.try_into().ok()?);
        match word {
            b'G' => Some(ToFront::Started(number)),
            b'S' => Some(ToFront::Stopped(number as i32)),
            b'R' => Some(ToFront::Row(number != 0)),
            b'D' => Some(ToFront::Done(u8::try_from(number).ok()?)),
            b'L' => Some(ToFront::Short(number)),
            b'B' => Some(ToFront::Bare),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let signal = Arrived {
            signal: 15,
            code: -6,
            pid: 77,
            uid: u32::MAX,
        };
        let said = ToMonitor::Signal(signal);
        assert_eq!(ToMonitor::decode(&said.encode()), Some(said));
        let words = [
            ToFront::Started(70_000),
            ToFront::Stopped(20),
            ToFront::Row(true),
            ToFront::Row(false),
            ToFront::Done(137),
            ToFront::Short(3),
            ToFront::Bare,
        ];
        for said in words {
            assert_eq!(ToFront::decode(&said.encode()), Some(said));
        }
        assert_eq!(ToFront::decode(b"?"), None);
        assert_eq!(ToMonitor::decode(b"short"), None);
    }
}
