//! The process that tells live records, at work: who is there, and what each is told when.
//!
//! Bounds: so many readers, so many of one user, so much that waits for all of them and so much
//! that is remembered of what they had. Nobody waits for a reader.

use super::guest::{Guest, Public, refuse};
use super::picture::{Picture, pid_owner};
use super::sight::{Hidden, Sight};
use crate::agent::child;
use crate::live::wire::TOO_MANY;
use record::unit::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use store::segment::{Follow, Origin};
use sys::{clock, heap, local};

/// Readers at once, at most, and those of one user who is not root.
const GUESTS_MAX: usize = 64;
const GUESTS_OF_USER_MAX: usize = 16;
/// So long what is known stays when the last of them has gone: who comes and goes again and again
/// does not make all of a segment be read each time.
const KNOWN_STAYS: Nanos = Nanos::from_secs(60);
/// What may wait for all of them: who is owed more loses a reading.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// And for those of one user.
const WAITING_BYTES_OF_USER_MAX: usize = 16 << 20;
/// What may be remembered of what they had: beyond it they are told all values each time.
const REMEMBERED_BYTES_MAX: usize = 128 << 20;

/// All of it.
#[derive(Debug)]
pub(super) struct Server {
    follow: Follow,
    origin: Origin,
    public: Public,
    hidden: Hidden,
    /// Nothing while nobody is there, but for a while.
    picture: Option<Picture>,
    /// When the last reader went.
    left_at: Option<Nanos>,
    guests: Vec<Guest>,
}

/// What is there.
struct Ready {
    agent: bool,
    door: bool,
    guests: Vec<PollFlags>,
}

impl Server {
    /// Of what the writer of `origin` writes, which has not begun yet.
    pub(super) fn new(dataset: &Path, origin: Origin, hidden: Hidden) -> Self {
        Self {
            follow: Follow::new(dataset, origin.clone()),
            origin,
            public: Public::new(),
            hidden,
            picture: None,
            left_at: None,
            guests: Vec::new(),
        }
    }

    /// Until the agent is gone.
    pub(super) fn serve(&mut self, channel: &OwnedFd, door: OwnedFd) {
        let mut door = Some(door);
        loop {
            let Some(ready) = self.wait(channel, door.as_ref()) else {
                continue;
            };
            if ready.agent {
                match child::nudged(channel) {
                    None => return,
                    Some(true) => self.read(None),
                    Some(false) => {}
                }
            }
            self.attend(&ready.guests);
            if ready.door && !door.as_ref().is_some_and(|door| self.welcome(door)) {
                // Who listens has ended.
                door = None;
            }
            self.give_owed();
            self.leave_nothing();
        }
    }

    /// Waits for the agent, for who comes and for who is there. Nothing if something came between.
    fn wait(&self, channel: &OwnedFd, door: Option<&OwnedFd>) -> Option<Ready> {
        // Where nobody asks, readings are none of our business; the end of the agent always is.
        let agent = match self.guests.is_empty() {
            true => PollFlags::empty(),
            false => PollFlags::IN,
        };
        let mut all = vec![PollFd::new(channel, agent)];
        all.extend(self.guests.iter().map(|guest| {
            let flags = match guest.waits() {
                0 => PollFlags::IN,
                _ => PollFlags::IN | PollFlags::OUT,
            };
            PollFd::from_borrowed_fd(guest.as_fd(), flags)
        }));
        all.extend(door.map(|door| PollFd::new(door, PollFlags::IN)));
        let now = Nanos(clock::boot());
        let stays = self.left_at.map(|at| at.plus(KNOWN_STAYS));
        let pause = self.owed().chain(stays).min().map(|due| due.since(now));
        let pause = pause.map(|pause| Timespec {
            tv_sec: i64::try_from(pause.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(pause.0 % 1_000_000_000).unwrap_or(0),
        });
        rustix::event::poll(&mut all, pause.as_ref()).ok()?;
        let mut told = all.iter().map(PollFd::revents);
        let agent = told.next().is_some_and(|it| !it.is_empty());
        let guests = told.by_ref().take(self.guests.len()).collect();
        let door = told.next().is_some_and(|it| !it.is_empty());
        Some(Ready {
            agent,
            door,
            guests,
        })
    }

    /// Takes what was written, and tells whom it is due; `comes` is the user of one who is not
    /// there yet.
    fn read(&mut self, comes: Option<u32>) {
        let Some(picture) = &mut self.picture else {
            return;
        };
        // What cannot be read now is passed over.
        drop(self.follow.read(picture));
        let users = self.guests.iter().map(|guest| guest.uid);
        let users: Vec<u32> = users.chain(comes).collect();
        if picture.settle(&users) {
            self.offer(|_| true);
        }
    }

    /// Gives the last reading to those of them that want it.
    fn offer(&mut self, is_one: impl Fn(&Guest) -> bool) {
        let Some(picture) = &self.picture else {
            return;
        };
        let mut remembered: usize = self.guests.iter().map(Guest::remembered).sum();
        let mut waiting: HashMap<u32, usize> = HashMap::new();
        for guest in &self.guests {
            *waiting.entry(guest.uid).or_default() += guest.waits();
        }
        for guest in self.guests.iter_mut().filter(|guest| is_one(guest)) {
            let all: usize = waiting.values().sum();
            let his = waiting.entry(guest.uid).or_default();
            let has_room = *his < WAITING_BYTES_OF_USER_MAX && all < WAITING_BYTES_MAX;
            remembered -= guest.remembered();
            *his -= guest.waits();
            guest.offer(picture, &self.public, has_room);
            *his += guest.waits();
            if remembered + guest.remembered() > REMEMBERED_BYTES_MAX {
                guest.forget();
            }
            remembered += guest.remembered();
        }
        self.guests.retain_mut(Guest::send);
    }

    /// Hears what readers ask, and sends what waits for them; those who are gone go.
    fn attend(&mut self, ready: &[PollFlags]) {
        let mut ready = ready.iter();
        let origin = &self.origin;
        self.guests.retain_mut(|guest| {
            let Some(told) = ready.next() else {
                return true;
            };
            let heard = told.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
            (!heard || guest.hear(origin)) && (!told.contains(PollFlags::OUT) || guest.send())
        });
    }

    /// Takes in those who came, unless there are too many; whether more may come.
    fn welcome(&mut self, door: &OwnedFd) -> bool {
        let mut byte = [0];
        let socket = match local::receive(door.as_fd(), &mut byte) {
            Ok((0, _)) | Err(_) => return false,
            Ok((_, socket)) => socket,
        };
        let Some(socket) = socket else {
            return true;
        };
        let Ok(peer) = local::peer(socket.as_fd()) else {
            return true;
        };
        let his = self.guests.iter().filter(|guest| guest.uid == peer.uid);
        let is_few = peer.uid == 0 || his.count() < GUESTS_OF_USER_MAX;
        if !is_few || self.guests.len() >= GUESTS_MAX {
            refuse(socket.as_fd(), TOO_MANY);
            return true;
        }
        if self.picture.is_none() {
            self.follow.begin_with_last();
            self.picture = Some(Picture::new(pid_owner));
        }
        self.read(Some(peer.uid));
        let sight = Sight::of(peer, self.hidden);
        let mut guest = Guest::new(socket, peer.uid, sight);
        if guest.hear(&self.origin) {
            self.guests.push(guest);
        }
        true
    }

    /// Gives who asked what there is, instead of what comes next.
    fn give_owed(&mut self) {
        let now = Nanos(clock::boot());
        if self.owed().any(|due| due <= now) {
            self.offer(|guest| guest.owed_at().is_some_and(|due| due <= now));
        }
    }

    /// When those are due their full picture who wait for one, once there is a reading.
    fn owed(&self) -> impl Iterator<Item = Nanos> {
        let has_reading = self.picture.as_ref().is_some_and(|it| it.last.is_some());
        let guests = self.guests.iter().filter(move |_| has_reading);
        guests.filter_map(Guest::owed_at)
    }

    /// Forgets all a while after the last reader has gone.
    fn leave_nothing(&mut self) {
        if !self.guests.is_empty() || self.picture.is_none() {
            self.left_at = None;
            return;
        }
        let now = Nanos(clock::boot());
        let left = *self.left_at.get_or_insert(now);
        if now >= left.plus(KNOWN_STAYS) {
            (self.picture, self.left_at) = (None, None);
            self.follow.pause();
            heap::trim();
        }
    }
}
