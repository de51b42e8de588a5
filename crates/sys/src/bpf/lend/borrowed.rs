//! The side of who borrows: a run of an agent's programs.

use super::super::files::FileOptions;
use super::super::followed::{Followed, FollowedCalls, FollowedFiles};
use super::super::layout::{RawEvent, decode};
use super::super::mapping::page_bytes;
use super::super::ring::Ring;
use super::super::run::RunTotals;
use super::borrowed_files::BorrowedFiles;
use super::calls::BorrowedCalls;
use super::wire::{
    self, ADD, BEGIN, DONE, LAYOUT, Message, NOT_STILL, NOT_YOURS, NOTHING_LENT, OTHER_LAYOUT,
    OTHER_NAMESPACE, SLEEP, TOO_MANY, TOTALS,
};
use crate::clock::{self, Offsets};
use crate::error::Error;
use crate::{local, process};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an answer is waited for: the agent may be putting other programs in place.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often, and after which pause, it is looked again whether a process stands still.
const STILL_TRIES: u32 = 200;
const STILL_PAUSE: Duration = Duration::from_micros(500);
/// Rings are powers of two up to this.
const RING_BYTES_MAX: usize = 1 << 26;

const ENDED: &str = "the agent has ended, or does not answer";

/// The way to the agent.
#[derive(Debug, Clone)]
pub(super) struct Channel(Arc<Mutex<OwnedFd>>);

impl Channel {
    /// Asks, and waits for the answer.
    pub(super) fn ask(
        &self,
        words: &[u64],
        file: Option<BorrowedFd<'_>>,
    ) -> Result<Message, Error> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = wire::send(socket.as_fd(), words, file);
        let answer = asked.and_then(|()| wire::receive(socket.as_fd()));
        match answer {
            Ok(Some(answer)) => Ok(answer),
            // What is late would be taken for the next answer.
            Ok(None) | Err(_) => {
                local::shut(socket.as_fd());
                Err(Error::Agent(ENDED))
            }
        }
    }

    /// The same, where it must have been done.
    pub(super) fn demand(&self, words: &[u64]) -> Result<Message, Error> {
        done(self.ask(words, None)?)
    }
}

fn done(answer: Message) -> Result<Message, Error> {
    match answer.word(0) {
        DONE => Ok(answer),
        OTHER_LAYOUT => Err(Error::Agent("the agent is of another version of plimsoll")),
        NOT_YOURS => Err(Error::Agent("the agent: the process is another user's")),
        OTHER_NAMESPACE => Err(Error::Agent("the agent is in another pid namespace")),
        NOT_STILL => Err(Error::Agent("the agent: the process runs already")),
        TOO_MANY => Err(Error::TooManyRuns),
        NOTHING_LENT => Err(Error::Agent("the agent has no programs to lend")),
        _ => Err(Error::Agent("the agent refused")),
    }
}

/// One run of an agent's programs.
#[derive(Debug)]
struct Borrowed {
    channel: Channel,
    ring: Ring,
    map: OwnedFd,
    totals: RunTotals,
    lost_seen: u64,
    clock: Offsets,
}

/// Starts a run of the programs of the agent that listens at `path`.
///
/// # Errors
/// Nobody listens there, or not somebody to be trusted (root or this user), or he refuses.
pub fn borrow(path: &Path) -> Result<Box<dyn Followed>, Error> {
    let call = |call| move |source: io::Error| Error::Call { call, source };
    let socket = local::connect(path, PATIENCE).map_err(call("connect"))?;
    let agent = local::peer(socket.as_fd())?;
    if agent.uid != 0 && agent.uid != process::effective_uid() {
        return Err(Error::Agent(
            "who listens there is neither root nor this user",
        ));
    }
    let channel = Channel(Arc::new(Mutex::new(socket)));
    let answer = channel.demand(&[BEGIN, LAYOUT])?;
    let (ring, map) = ring(answer)?;
    Ok(Box::new(Borrowed {
        channel,
        ring,
        map,
        totals: RunTotals::default(),
        lost_seen: 0,
        clock: Offsets::of_self(),
    }))
}

/// The ring that came with an answer, whose second word says how long it is.
pub(super) fn ring(answer: Message) -> Result<(Ring, OwnedFd), Error> {
    let bytes = usize::try_from(answer.word(1)).unwrap_or(0);
    let is_ring = bytes.is_power_of_two() && (page_bytes()..=RING_BYTES_MAX).contains(&bytes);
    let map = answer.file.filter(|_| is_ring);
    let map = map.ok_or(Error::Agent("the agent gave no ring of events"))?;
    Ok((Ring::new(map.as_fd(), bytes)?, map))
}

impl Followed for Borrowed {
    fn add(&mut self, pid: u32) -> Result<u64, Error> {
        let pidfd = process::pidfd(pid)?;
        for _ in 0..STILL_TRIES {
            let request = [ADD, u64::from(pid)];
            let answer = self.channel.ask(&request, Some(pidfd.as_fd()))?;
            if answer.word(0) != NOT_STILL {
                let start_ns = done(answer)?.word(1);
                self.count()?;
                return Ok(self.clock.boot(start_ns));
            }
            std::thread::sleep(STILL_PAUSE);
        }
        Err(Error::Agent("the agent: the process runs already"))
    }

    fn drain(&mut self, take: &mut dyn FnMut(RawEvent<'_>)) {
        let (page_bytes, clock) = (page_bytes() as u64, self.clock);
        self.ring.drain(&mut |bytes| {
            if let Some(event) = decode(bytes, page_bytes, clock) {
                take(event);
            }
        });
        if self.totals.events_lost > self.lost_seen {
            take(RawEvent::Lost {
                at_ns: clock::boot(),
                count: self.totals.events_lost - self.lost_seen,
            });
            self.lost_seen = self.totals.events_lost;
        }
    }

    fn sleep(&mut self) -> Result<(), Error> {
        self.channel.demand(&[SLEEP]).map(drop)
    }

    fn watch(&self) -> bool {
        false
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    fn totals(&self) -> RunTotals {
        self.totals
    }

    fn count(&mut self) -> Result<(), Error> {
        let answer = self.channel.demand(&[TOTALS])?;
        let words = answer.words.get(1..).unwrap_or_default();
        self.totals =
            RunTotals::from_words(words).ok_or(Error::Agent("the agent told no totals"))?;
        Ok(())
    }

    fn is_far(&self) -> bool {
        true
    }

    fn follow_files(&self, options: FileOptions) -> Result<Box<dyn FollowedFiles>, Error> {
        Ok(Box::new(BorrowedFiles::begin(&self.channel, options)?))
    }

    fn follow_calls(&self) -> Result<Box<dyn FollowedCalls>, Error> {
        Ok(Box::new(BorrowedCalls::begin(&self.channel)?))
    }
}
