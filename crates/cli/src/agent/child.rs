//! A process of the agent's own, forked at the start: it opens what it needs, says that it is
//! ready, and ends with the agent, which goes on if it ends before.

use super::say;
use anyhow::{Result, anyhow};
use rustix::net::SendFlags;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use sys::confine::{self, Files, Forbidden, Held, Rules, User};
use sys::descriptor::{self, Received};
use sys::process::{self, Fork};

/// In front of what is said once all is open.
const READY: &str = "ready ";

/// The process, if there is one.
#[derive(Debug, Default)]
pub(super) struct Child(Option<(OwnedFd, u32)>);

impl Child {
    /// Forks: the child keeps the descriptors `keeps` and no other of ours, opens what it works
    /// with and works until the agent is gone. What it said when all was open.
    ///
    /// # Errors
    /// It could not open that.
    pub(super) fn start<T>(
        keeps: &[RawFd],
        open: impl FnOnce() -> Result<(T, String)>,
        work: impl FnOnce(&OwnedFd, T),
    ) -> Result<(Self, String)> {
        let (ours, theirs) = descriptor::channel()?;
        match process::fork()? {
            Fork::Child => {
                drop(ours);
                be(&theirs, keeps, open, work)
            }
            Fork::Parent(pid) => {
                drop(theirs);
                let mut words = [0; 2048];
                let told = descriptor::receive(ours.as_fd(), &mut words, true)?;
                let Received::Bytes(bytes) = told else {
                    return Err(anyhow!("the process for it ended at once"));
                };
                let words = String::from_utf8_lossy(words.get(..bytes).unwrap_or_default());
                let ready = words.strip_prefix(READY).map(str::to_owned);
                let ready = ready.ok_or_else(|| anyhow!("{words}"))?;
                Ok((Self(Some((ours, pid))), ready))
            }
        }
    }

    /// Tells it that there is something to read, if it has taken what it was told before.
    pub(super) fn nudge(&self) {
        if let Some((channel, _)) = &self.0 {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            // A full channel tells it already.
            let _ = rustix::net::send(channel, b"r", flags);
        }
    }

    /// Says these words, once, if it has ended.
    pub(super) fn look(&mut self, words: &str) {
        if let Some((_, pid)) = &self.0
            && !matches!(process::wait_end(*pid, false), Ok(None))
        {
            say(&format!("warning: {words}"));
            self.0 = None;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some((channel, pid)) = self.0.take() {
            drop(channel);
            // It may have ended long ago.
            let _ = process::wait_end(pid, true);
        }
    }
}

fn be<T>(
    channel: &OwnedFd,
    keeps: &[RawFd],
    open: impl FnOnce() -> Result<(T, String)>,
    work: impl FnOnce(&OwnedFd, T),
) -> ! {
    // What the agent has open is not for it.
    let own = channel.as_raw_fd();
    let others: Vec<i32> = descriptor::open_now()
        .into_iter()
        .filter(|fd| *fd > 2 && *fd != own && !keeps.contains(fd))
        .collect();
    descriptor::close_inherited(&others);
    match open() {
        Ok((opened, words)) => {
            let words = format!("{READY}{words}");
            if descriptor::send(channel.as_fd(), words.as_bytes()).is_ok() {
                work(channel, opened);
            }
        }
        Err(error) => {
            // Nobody waits for it if this fails.
            let _ = descriptor::send(channel.as_fd(), crate::run::chain(&error).as_bytes());
        }
    }
    process::exit_now(0)
}

/// Takes the bytes of [`Child::nudge`]: whether there were any. Nothing: the agent is gone.
pub(super) fn nudged(channel: &OwnedFd) -> Option<bool> {
    let mut byte = [0; 8];
    let mut is_nudged = false;
    loop {
        match descriptor::receive(channel.as_fd(), &mut byte, false) {
            Ok(Received::Bytes(_)) => is_nudged = true,
            Ok(Received::Nothing) => return Some(is_nudged),
            Ok(Received::End) | Err(_) => return None,
        }
    }
}

/// Gives up all but to read the dataset; what could not be given up, in words.
pub(super) fn hold_to(dataset: &Path, user: Option<User>) -> String {
    let rules = Rules {
        user,
        keep: &[],
        files: Some(Files {
            written: &[],
            read: &[dataset],
        }),
        forbidden: &[
            Forbidden::Processes,
            Forbidden::Sockets,
            Forbidden::Writing,
            Forbidden::Machine,
            Forbidden::Programs,
        ],
    };
    match confine::confine(&rules) {
        Ok(Held::Wholly | Held::InPart) => String::new(),
        Ok(Held::NotAtAll | Held::NotAsked) => {
            "; this kernel has no Landlock: who answers is held by its user alone".to_owned()
        }
        Err(error) => format!("; warning: who answers keeps privileges: {error}"),
    }
}
