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

use super::{Options, keeper, say};
use address::Listener;
pub(crate) use address::{Address, parse};
use anyhow::{Context, Result, anyhow};
use board::Board;
use intake::Intake;
use page::{Facts, Maker};
use record::unit::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::SendFlags;
use server::Server;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use store::openmetrics::Dialect;
use store::segment::{Follow, Origin};
use sys::clock::{self, Clock};
use sys::confine::{self, Files, Forbidden, Held, Rules, User};
use sys::descriptor::{self, Received};
use sys::process::{self, Fork};

/// Who asks again within this time gets the same page.
const PAGE_STAYS: Nanos = Nanos::from_millis(200);
/// In front of what is said once it listens.
const READY: &str = "ready ";

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) address: Address,
    /// So many jobs have series of their own.
    pub(crate) jobs: usize,
}

/// The process that answers, if one was asked for.
#[derive(Debug, Default)]
pub(super) struct Metrics(Option<(OwnedFd, u32)>);

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
        let (ours, theirs) = descriptor::channel()?;
        match process::fork()? {
            Fork::Child => {
                drop(ours);
                let outside = options.outside.as_ref().map(|it| it.identifier.as_str());
                let intake = Intake::new(Board::new(wish.jobs, outside));
                serve(&theirs, wish, (dataset, user), (intake, origin))
            }
            Fork::Parent(pid) => {
                drop(theirs);
                let mut words = [0; 2048];
                let told = descriptor::receive(ours.as_fd(), &mut words, true)?;
                let Received::Bytes(bytes) = told else {
                    return Err(anyhow!("--metrics: who answers ended at once"));
                };
                let words = String::from_utf8_lossy(words.get(..bytes).unwrap_or_default());
                let words = words.strip_prefix(READY).ok_or_else(|| anyhow!("{words}"));
                say(words.with_context(|| format!("--metrics: {}", wish.address))?);
                Ok(Self(Some((ours, pid))))
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

    /// Says so, once, if it has ended.
    pub(super) fn look(&mut self) {
        if let Some((_, pid)) = &self.0
            && !matches!(process::wait_end(*pid, false), Ok(None))
        {
            say("warning: who answers --metrics has ended: the agent goes on without");
            self.0 = None;
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        if let Some((channel, pid)) = self.0.take() {
            drop(channel);
            // It may have ended long ago.
            let _ = process::wait_end(pid, true);
        }
    }
}

/// Answers until the agent is gone.
fn serve(
    channel: &OwnedFd,
    wish: &Wish,
    (dataset, user): (&Path, Option<User>),
    (intake, origin): (Intake, &Origin),
) -> ! {
    // What the agent has open is not for it.
    let own = channel.as_raw_fd();
    let others: Vec<i32> = descriptor::open_now()
        .into_iter()
        .filter(|fd| *fd > 2 && *fd != own)
        .collect();
    descriptor::close_inherited(&others);
    match Listener::open(&wish.address, user) {
        Ok((listener, at)) => {
            let held = held(dataset, user);
            let words = format!("{READY}metrics: {at}{held}");
            if descriptor::send(channel.as_fd(), words.as_bytes()).is_ok() {
                let mut answerer = Answerer {
                    follow: Follow::new(dataset, origin.clone()),
                    intake,
                    maker: Maker {
                        host: origin.host.clone(),
                        boot_id: origin.boot_id.clone(),
                    },
                    pages: HashMap::new(),
                };
                answerer.answer(channel, Server::new(listener));
            }
        }
        Err(error) => {
            // Nobody waits for it if this fails.
            let _ = descriptor::send(channel.as_fd(), crate::run::chain(&error).as_bytes());
        }
    }
    process::exit_now(0)
}

/// Gives up what is not needed; what could not be given up, in words.
fn held(dataset: &Path, user: Option<User>) -> String {
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
        let mut byte = [0; 8];
        let mut is_told = false;
        loop {
            match descriptor::receive(channel.as_fd(), &mut byte, false) {
                Ok(Received::Bytes(_)) => is_told = true,
                Ok(Received::Nothing) => break,
                Ok(Received::End) | Err(_) => return false,
            }
        }
        if is_told {
            self.catch_up();
            self.intake.settle();
        }
        true
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
