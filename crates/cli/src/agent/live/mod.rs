//! Who tells live records (docs/live.md): a process of the agent that reads what the agent writes,
//! as it comes, and tells each reader at the socket what he may see of it.
//!
//! The process that reads knows nothing of it but a channel, into which it puts a byte after each
//! reading if there is room. As long as nobody asks nothing is read here, and nothing is
//! remembered. It holds no privilege, sees nothing but the dataset, and gets its readers from who
//! listens (`lender`), with their connections.

mod devices;
mod frames;
mod guest;
mod log;
mod machine;
mod picture;
mod server;
mod sight;
#[cfg(test)]
mod tests;

use super::child::{self, Child};
use super::{keeper, say};
use crate::live::wire::{NOT_SERVED, VERB};
use anyhow::{Context, Result};
pub(in crate::agent) use guest::refuse;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use server::Server;
use sight::Hidden;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use store::segment::Origin;
use sys::local;

/// The process that tells, where there is a socket.
#[derive(Debug, Default)]
pub(super) struct Live(Child);

impl Live {
    /// Starts it, before the writer of `origin` begins; its readers come out of `door`. It ends
    /// when what this returns is dropped.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn start(door: Option<OwnedFd>, dataset: &Path, origin: &Origin) -> Result<Self> {
        let Some(door) = door else {
            return Ok(Self::default());
        };
        let user = keeper::owner(dataset)?;
        let open = || {
            let hidden = Hidden::of_proc();
            Ok((hidden, child::hold_to(dataset, user)))
        };
        let keeps = [door.as_raw_fd()];
        let work = |channel: &OwnedFd, hidden| {
            Server::new(dataset, origin.clone(), hidden).serve(channel, door);
        };
        let started = Child::start(&keeps, open, work);
        let (child, words) = started.context("--socket: who tells live records")?;
        if !words.is_empty() {
            say(&format!("live records{words}"));
        }
        Ok(Self(child))
    }

    /// It, to tell it that there is something to read.
    pub(super) const fn child(&self) -> &Child {
        &self.0
    }

    /// Says so, once, if it has ended.
    pub(super) fn look(&mut self) {
        self.0
            .look("who tells live records has ended: the agent goes on without");
    }
}

/// Whether the next message of who connected asks for live records.
pub(super) fn is_asked_for(socket: BorrowedFd<'_>) -> bool {
    let mut word = [0; size_of::<u64>()];
    let count = local::peek(socket, &mut word);
    count.is_ok_and(|count| count == word.len()) && u64::from_ne_bytes(word) == VERB
}

/// Hands a connection to who tells live records, or says that nobody does; never waits.
pub(super) fn hand_over(door: &OwnedFd, socket: BorrowedFd<'_>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let files = [socket];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let is_told = beside.push(SendAncillaryMessage::ScmRights(&files))
        && rustix::net::sendmsg(door.as_fd(), &[IoSlice::new(b"g")], &mut beside, flags).is_ok();
    if !is_told {
        refuse(socket, NOT_SERVED);
    }
}
