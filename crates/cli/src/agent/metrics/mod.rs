//! Who answers `/metrics`: a process of the agent that reads what the agent writes, as it comes,
//! and tells programs of this machine what it adds up to.
//!
//! The process that reads knows nothing of it but a channel, into which it puts a byte after each
//! reading if there is room. It holds no privilege, sees nothing but the dataset, and its socket is
//! open before it gives all else up.

mod accounts;
mod address;
mod board;
mod http;
mod intake;
mod machine;
mod page;
mod server;
mod sums;
#[cfg(test)]
mod tests;

use super::child::{self, Child};
use super::{Options, keeper, say};
use address::Listener;
pub(crate) use address::{Address, parse};
use anyhow::{Context, Result};
use board::Board;
use intake::Intake;
use page::{Facts, Maker};
use record::unit::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use server::Server;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use store::openmetrics::Dialect;
use store::segment::{Follow, Origin};
use sys::clock::{self, Clock};

/// Who asks again within this time gets the same page.
const PAGE_STAYS: Nanos = Nanos::from_millis(200);

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) address: Address,
    /// So many jobs have series of their own.
    pub(crate) jobs: usize,
}

/// The process that answers, if one was asked for.
#[derive(Debug, Default)]
pub(super) struct Metrics(Child);

impl Metrics {
    /// Starts it, before the writer of `origin` begins. It ends when what this returns is dropped.
    ///
    /// # Errors
    /// Nobody can listen there.
    pub(super) fn start(options: &Options, dataset: &Path, origin: &Origin) -> Result<Self> {
        let Some(wish) = &options.metrics else {
            return Ok(Self::default());
        };
        let user = keeper::owner(dataset)?;
        let outside = options.outside.as_ref().map(|it| it.identifier.as_str());
        let open = || {
            let (listener, at) = Listener::open(&wish.address, user)?;
            let held = child::hold_to(dataset, user);
            Ok((listener, format!("metrics: {at}{held}")))
        };
        let work = |channel: &OwnedFd, listener| {
            let mut answerer = Answerer {
                follow: Follow::new(dataset, origin.clone()),
                intake: Intake::new(Board::new(wish.jobs, outside)),
                maker: Maker {
                    host: origin.host.clone(),
                    boot_id: origin.boot_id.clone(),
                },
                pages: HashMap::new(),
            };
            answerer.answer(channel, Server::new(listener));
        };
        let started = Child::start(&[], open, work);
        let (child, words) = started.with_context(|| format!("--metrics: {}", wish.address))?;
        say(&words);
        Ok(Self(child))
    }

    /// It, to tell it that there is something to read.
    pub(super) const fn child(&self) -> &Child {
        &self.0
    }

    /// Says so, once, if it has ended.
    pub(super) fn look(&mut self) {
        self.0
            .look("who answers --metrics has ended: the agent goes on without");
    }
}

/// The process at work.
struct Answerer {
    follow: Follow,
    intake: Intake,
    maker: Maker,
    pages: HashMap<Dialect, (Nanos, Vec<u8>)>,
}

impl Answerer {
    fn answer(&mut self, channel: &OwnedFd, mut server: Server) {
        loop {
            let now = Nanos(clock::boot());
            let pause = server.due().map(|due| due.since(now));
            let Some(ready) = wait(channel, &server, pause) else {
                continue;
            };
            if ready.first() == Some(&true) && !self.told(channel) {
                return;
            }
            let now = Nanos(clock::boot());
            let cut_off = server.cut_off;
            let mut page = |dialect| self.page(dialect, now, cut_off);
            server.serve(now, ready.get(1..).unwrap_or_default(), &mut page);
        }
    }

    /// Takes the bytes that say that a reading is over, and reads it; whether the agent is there.
    fn told(&mut self, channel: &OwnedFd) -> bool {
        let nudged = child::nudged(channel);
        if nudged == Some(true) {
            self.catch_up();
            self.intake.settle();
        }
        nudged.is_some()
    }

    fn catch_up(&mut self) {
        // What cannot be read now is passed over, and its numbers are missing.
        drop(self.follow.read(&mut self.intake));
    }

    fn page(&mut self, dialect: Dialect, now: Nanos, cut_off: u64) -> Vec<u8> {
        if let Some((made, page)) = self.pages.get(&dialect)
            && now.since(*made) < PAGE_STAYS
        {
            return page.clone();
        }
        self.catch_up();
        let facts = Facts {
            met: self.follow.met(),
            cpu: Nanos(clock::now(Clock::Process)),
            cut_off,
        };
        let page = page::make(&self.intake, &self.maker, &facts, dialect);
        self.pages.insert(dialect, (now, page.clone()));
        page
    }
}

/// Waits for the agent, for who connects and for who is connected: which of them are there. Nothing
/// if something came between.
fn wait(channel: &OwnedFd, server: &Server, pause: Option<Nanos>) -> Option<Vec<bool>> {
    let agent = PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN);
    let mut all: Vec<PollFd<'_>> = [agent].into_iter().chain(server.waits()).collect();
    let pause = pause.map(|pause| Timespec {
        tv_sec: i64::try_from(pause.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(pause.0 % 1_000_000_000).unwrap_or(0),
    });
    rustix::event::poll(&mut all, pause.as_ref()).ok()?;
    Some(all.iter().map(|one| !one.revents().is_empty()).collect())
}
