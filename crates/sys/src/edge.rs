//! Waiting for somebody to be woken, not for something to be there: a ring that is filled without
//! a word has something to read all the time (`epoll(7)`, `EPOLLET`).

use crate::error::{Error, check};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable from when the kernel wakes those who wait for a descriptor until that is [taken]
/// note of.
///
/// [taken]: Edge::take
#[derive(Debug)]
pub struct Edge(OwnedFd);

impl Edge {
    /// Of the descriptor `fd`; what it has to read already counts.
    ///
    /// # Errors
    /// If the kernel has no room, or it is nothing to wait for.
    pub fn of(fd: BorrowedFd<'_>) -> Result<Self, Error> {
        // SAFETY: takes a flag alone.
        let made = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        check("epoll_create1", i64::from(made))?;
        // SAFETY: the kernel just returned this descriptor and nobody else owns it.
        let made = unsafe { OwnedFd::from_raw_fd(made) };
        let mut wanted = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: 0,
        };
        // SAFETY: both are open descriptors; the event outlives the call.
        let added = unsafe {
            libc::epoll_ctl(
                made.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                fd.as_raw_fd(),
                &raw mut wanted,
            )
        };
        check("epoll_ctl", i64::from(added))?;
        Ok(Self(made))
    }

    /// Whether somebody was woken since the last call.
    pub fn take(&self) -> bool {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for the one event; it does not wait.
        let woken = unsafe { libc::epoll_wait(self.0.as_raw_fd(), &raw mut event, 1, 0) };
        woken > 0
    }
}

impl AsFd for Edge {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{Waiting, channel, poll, send};

    #[test]
    fn an_edge_is_seen_once() {
        let (ours, theirs) = channel().unwrap();
        let edge = Edge::of(ours.as_fd()).unwrap();
        let is_readable = || {
            let waiting = [Waiting {
                fd: Some(edge.as_fd()),
                exceptional: false,
            }];
            poll(&waiting, Some(0)).unwrap()[0]
        };
        assert!(!is_readable() && !edge.take());
        for text in [b"a", b"b"] {
            send(theirs.as_fd(), text).unwrap();
            assert!(is_readable() && edge.take());
            // It is still there to be read.
            assert!(!is_readable() && !edge.take());
        }
    }
}
