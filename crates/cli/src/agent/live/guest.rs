//! One reader: what he wants, what he has had, what is on its way to him.
//!
//! He never keeps anybody waiting: as long as he has not taken one reading he gets no other, and is
//! told how many he missed.

use super::frames::{Cells, Frames, Series};
use super::log::Of;
use super::picture::{Picture, pid};
use super::sight::{self, Sight, View};
use crate::live::wire::{MESSAGE_BYTES_MAX, Mark, REQUEST_BYTES_MAX, Who, Wish};
use record::codec::cells::{put_row, take_row};
use record::codec::series::Row;
use record::table::{Table, exit, gpu, job, node, process, sample};
use record::unit::Nanos;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use store::segment::Origin;
use sys::{clock, local};

/// A reading that comes this much too early, or this part of the period, is the one that is due.
const EARLY_MAX: Nanos = Nanos::from_secs(1);
const EARLY_PART: u64 = 8;
/// A full picture is given this often, at most: who asks again before waits.
const FULL_PAUSE: Nanos = Nanos::from_secs(1);
/// Room that is kept for the next reading.
const ROOM_BYTES: usize = 1 << 20;

/// From where rows are taken, for which wish, and those of whom: who is shown so.
type Part<'a> = (&'a Picture, &'a Wish, View);

/// What of the tables is for everybody.
#[derive(Debug)]
pub(super) struct Public {
    sample: u128,
    process: Vec<bool>,
    exit: Vec<bool>,
}

impl Public {
    pub(super) fn new() -> Self {
        Self {
            sample: sight::public_values(&sample::TABLE),
            process: sight::public_cells(&process::TABLE),
            exit: sight::public_cells(&exit::TABLE),
        }
    }
}

/// The reader.
#[derive(Debug)]
pub(super) struct Guest {
    socket: OwnedFd,
    pub(super) uid: u32,
    sight: Sight,
    wish: Option<Wish>,
    /// Requests so far.
    requests: u64,
    /// The next reading is a full picture.
    is_new: bool,
    /// When the one before was given.
    full_at: Option<Nanos>,
    /// The last reading that was due for him.
    last_at: Option<u64>,
    /// How many there were by then.
    readings: u64,
    /// What of the log he has had, of the machine and of devices.
    cursor: u64,
    machine_at: u64,
    devices_at: u64,
    samples: Series,
    machine: Series,
    devices: Series,
    cells: Cells,
    frames: Frames,
    sent: usize,
    readings_lost: u64,
}

impl Guest {
    pub(super) fn new(socket: OwnedFd, uid: u32, sight: Sight) -> Self {
        Self {
            socket,
            uid,
            sight,
            wish: None,
            requests: 0,
            is_new: false,
            full_at: None,
            last_at: None,
            readings: 0,
            cursor: 0,
            machine_at: 0,
            devices_at: 0,
            samples: Series::new(&sample::TABLE),
            machine: Series::new(&node::TABLE),
            devices: Series::new(&gpu::TABLE),
            cells: Cells::new(),
            frames: Frames::default(),
            sent: 0,
            readings_lost: 0,
        }
    }

    /// What waits to be sent, bytes.
    pub(super) fn waits(&self) -> usize {
        self.frames.bytes.len()
    }

    /// That.
    #[cfg(test)]
    pub(super) fn unsent(&self) -> &[u8] {
        &self.frames.bytes
    }

    /// What is remembered of what he had, bytes.
    pub(super) fn remembered(&self) -> usize {
        self.samples.bytes() + self.machine.bytes() + self.devices.bytes()
    }

    /// Forgets that: his next reading tells all values.
    pub(super) fn forget(&mut self) {
        self.samples.forget();
        self.machine.forget();
        self.devices.forget();
    }

    /// When he is to be given a full picture, if he asked for one and has taken what came before.
    pub(super) fn owed_at(&self) -> Option<Nanos> {
        let is_begun = self.last_at.is_some();
        let is_owed = self.is_new && !(is_begun && self.waits() > 0);
        is_owed.then(|| self.full_at.map_or(Nanos(0), |at| at.plus(FULL_PAUSE)))
    }

    /// Takes a request; whether he stays.
    pub(super) fn hear(&mut self, origin: &Origin) -> bool {
        let mut bytes = [0; REQUEST_BYTES_MAX];
        let count = match local::receive(self.socket.as_fd(), &mut bytes) {
            // What comes along is closed.
            Ok((count, _)) => count,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        match Wish::of_message(bytes.get(..count).unwrap_or_default()) {
            Ok(wish) => {
                if self.requests == 0 {
                    self.frames = Frames::new(origin);
                }
                self.requests += 1;
                (self.wish, self.is_new) = (Some(wish), true);
                true
            }
            // Who has a stream would take a status for a part of it: its end is all he is told.
            Err(status) => {
                if count > 0 && self.requests == 0 {
                    refuse(self.socket.as_fd(), status);
                }
                false
            }
        }
    }

    /// Whether the reading of this time is one for him.
    fn is_due(&self, at_ns: u64) -> bool {
        let Some(wish) = &self.wish else {
            return false;
        };
        if self.is_new {
            let now = Nanos(clock::boot());
            return self.full_at.is_none_or(|at| at.plus(FULL_PAUSE) <= now);
        }
        let Some(last) = self.last_at else {
            return true;
        };
        let early = EARLY_MAX.0.min(wish.period.0 / EARLY_PART);
        at_ns > last && at_ns.saturating_add(early) >= last.saturating_add(wish.period.0)
    }

    /// How many readings that were due he misses with this one, or, if that is told, before it: who
    /// wants every reading is due those, too, that came while nobody had time for them.
    fn missed(&self, readings: u64, at_ns: u64, is_told: bool) -> u64 {
        let is_each = self.wish.as_ref().is_some_and(|wish| wish.period.0 == 0);
        let due = match is_each {
            true => readings.saturating_sub(self.readings),
            false => u64::from(self.last_at != Some(at_ns)),
        };
        due.saturating_sub(is_told.into())
    }

    /// Gives him the last reading, if it is one for him and he has taken the one before;
    /// `has_room`: there is room for what would wait.
    pub(super) fn offer(&mut self, picture: &Picture, public: &Public, has_room: bool) {
        let Some(last) = picture.last.filter(|last| self.is_due(last.at_ns)) else {
            return;
        };
        // Who tells is in front of the first one.
        let is_begun = self.last_at.is_some();
        let is_told = !(is_begun && self.waits() > 0) && has_room;
        self.readings_lost += match is_begun {
            true => self.missed(picture.readings, last.at_ns, is_told),
            false => 0,
        };
        (self.last_at, self.readings) = (Some(last.at_ns), picture.readings);
        if !is_told {
            // A full picture is tried again after the pause.
            self.full_at = self.is_new.then(|| Nanos(clock::boot())).or(self.full_at);
            return;
        }
        let Some(wish) = self.wish.take() else {
            return;
        };
        self.frames.at_ns = last.at_ns;
        self.frames.real_offset_ns = last.real_offset_ns;
        self.frames.span_ns = last.span_ns;
        let is_full = std::mem::take(&mut self.is_new);
        let mut rows_lost = 0;
        if is_full {
            self.forget();
            (self.machine_at, self.devices_at) = (0, 0);
            self.full_at = Some(Nanos(clock::boot()));
        } else {
            rows_lost = picture.log.since(self.cursor).0;
        }
        self.samples.begin();
        for shown in self.sight.views() {
            self.frames.show(*shown == View::Part);
            let from = (picture, &wish, *shown);
            match is_full {
                true => self.who_is_there(from, public, (last.at_ns, last.real_offset_ns)),
                false => self.who_was_told(from, public),
            }
            self.give_samples(from, public);
        }
        self.frames.show(false);
        self.samples.end(&mut self.frames);
        self.cursor = picture.log.end();
        if has(&wish, &node::TABLE) {
            self.give_machine(picture, last.at_ns);
        }
        if has(&wish, &gpu::TABLE) {
            self.give_devices((picture, &wish), is_full, last.at_ns);
        }
        self.frames.mark(Mark {
            request: self.requests,
            readings_lost: std::mem::take(&mut self.readings_lost),
            rows_lost,
            is_full,
            is_restricted: self.sight.is_restricted(),
        });
        self.wish = Some(wish);
    }

    /// What he sees of a process, if he wants it.
    fn view(&self, wish: &Wish, of: &Of) -> View {
        let view = self.sight.view(of.own);
        // Nobody finds out by asking.
        let identifier = of.identifier.as_deref().filter(|_| view == View::Whole);
        let pid = of.key.map(|key| pid(&key));
        match is_wanted(&wish.who, pid, of.uid, identifier) {
            true => view,
            false => View::Nothing,
        }
    }

    fn sees_job(&self, wish: &Wish, of: &Of) -> bool {
        let identifier = of.identifier.as_deref();
        self.sight.of_job(of.uid) && is_wanted(&wish.who, None, of.uid, identifier)
    }

    /// Rows of the living that are shown so, and of jobs.
    fn who_is_there(&mut self, (picture, wish, shown): Part<'_>, public: &Public, at: (u64, i64)) {
        let place = (&process::TABLE, at);
        if has(wish, place.0) {
            for person in picture.living() {
                if self.view(wish, &person.of) != shown {
                    continue;
                }
                for row in [&person.row, &person.exec].into_iter().flatten() {
                    self.give_cells(place, row, (shown, &public.process));
                }
            }
        }
        if has(wish, &job::TABLE) && shown == View::Whole {
            for one in picture.jobs() {
                if self.sees_job(wish, &one.of) {
                    self.give_cells((&job::TABLE, at), &one.row, (View::Whole, &[]));
                }
            }
        }
        self.cells.end(&mut self.frames);
    }

    /// Rows that came since his last reading and are shown so.
    fn who_was_told(&mut self, (picture, wish, shown): Part<'_>, public: &Public) {
        let (_, entries) = picture.log.since(self.cursor);
        for entry in entries.filter(|entry| has(wish, entry.table)) {
            let (view, columns) = match entry.table.id {
                id if id == job::TABLE.id => match self.sees_job(wish, &entry.of) {
                    true => (View::Whole, &[][..]),
                    false => (View::Nothing, &[][..]),
                },
                id if id == exit::TABLE.id => (self.view(wish, &entry.of), &public.exit[..]),
                _ => (self.view(wish, &entry.of), &public.process[..]),
            };
            if view == shown {
                self.give_cells((entry.table, entry.at), &entry.row, (view, columns));
            }
        }
        self.cells.end(&mut self.frames);
    }

    fn give_cells(
        &mut self,
        place: (&Table, (u64, i64)),
        row: &[u8],
        (view, public): (View, &[bool]),
    ) {
        let (cells, frames) = (&mut self.cells, &mut self.frames);
        match view {
            View::Nothing => {}
            View::Whole => cells.row(frames, place, |out| out.extend_from_slice(row)),
            View::Part => {
                let mut from = row;
                // It is our own writing.
                let Ok(all) = take_row(&mut from) else { return };
                let is_public = |place: u8| public.get(usize::from(place)) == Some(&true);
                let shown = all.into_iter().filter(|(place, _)| is_public(*place));
                cells.row(frames, place, |out| put_row(out, shown));
            }
        }
    }

    /// The last reading of the living that are shown so.
    fn give_samples(&mut self, (picture, wish, shown): Part<'_>, public: &Public) {
        if !has(wish, &sample::TABLE) {
            return;
        }
        let columns = match shown {
            View::Whole => u128::MAX,
            _ => public.sample,
        };
        for person in picture.living() {
            if self.view(wish, &person.of) == shown {
                let row = Row {
                    key: &person.key,
                    present: person.present & columns,
                    values: &person.values,
                };
                self.samples.row(&mut self.frames, person.revision, row);
            }
        }
        self.samples.flush(&mut self.frames);
        self.samples.begin();
    }

    /// Each value with the time at which it was read: some are read less often.
    fn give_machine(&mut self, picture: &Picture, at_ns: u64) {
        let is_all = self.sight == Sight::All;
        let since = self.machine_at;
        let fresh = || picture.machine.since(since);
        let mut times: Vec<u64> = fresh().map(|one| one.at_ns).collect();
        times.sort_unstable();
        times.dedup();
        for time in times {
            self.frames.at_ns = time;
            self.machine.begin();
            for one in fresh().filter(|one| one.at_ns == time) {
                if is_all || !one.is_private {
                    let row = Row {
                        key: &one.key,
                        present: 1,
                        values: &[one.value],
                    };
                    self.machine.row(&mut self.frames, None, row);
                }
            }
            self.machine.flush(&mut self.frames);
        }
        self.frames.at_ns = at_ns;
        self.machine_at = at_ns;
    }

    /// Who is on a device, of those that he sees in full, with the time at which that was read.
    fn give_devices(&mut self, (picture, wish): (&Picture, &Wish), is_full: bool, at_ns: u64) {
        for reading in picture.devices.since(self.devices_at, is_full) {
            (self.frames.at_ns, self.devices_at) = (reading.at_ns, reading.at_ns);
            self.devices.begin();
            for one in &reading.rows {
                let person = one.process().and_then(|key| picture.known(&key));
                if person.is_some_and(|it| self.view(wish, &it.of) == View::Whole) {
                    self.devices.row(&mut self.frames, None, one.row());
                }
            }
            self.devices.end(&mut self.frames);
        }
        self.frames.at_ns = at_ns;
    }

    /// Sends what he takes now; whether he is there.
    pub(super) fn send(&mut self) -> bool {
        while let Some(rest) = self
            .frames
            .bytes
            .get(self.sent..)
            .filter(|it| !it.is_empty())
        {
            let message = rest.get(..MESSAGE_BYTES_MAX).unwrap_or(rest);
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::send(&self.socket, message, flags) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(error) => return error == Errno::AGAIN,
            }
        }
        self.sent = 0;
        self.frames.bytes.clear();
        self.frames.bytes.shrink_to(ROOM_BYTES);
        true
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Says why not; whoever does not take it is told nothing.
pub(in crate::agent) fn refuse(socket: BorrowedFd<'_>, status: u64) {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = rustix::net::send(socket, &status.to_ne_bytes(), flags);
}

fn has(wish: &Wish, table: &Table) -> bool {
    wish.tables.iter().any(|wanted| wanted.id == table.id)
}

fn is_wanted(who: &[Who], pid: Option<i64>, uid: Option<i64>, identifier: Option<&[u8]>) -> bool {
    let is_it = |one: &Who| match one {
        Who::Pid(wanted) => pid == Some((*wanted).into()),
        Who::Uid(wanted) => uid == Some((*wanted).into()),
        Who::Job(wanted) => identifier == Some(wanted.as_bytes()),
    };
    who.is_empty() || who.iter().any(is_it)
}
