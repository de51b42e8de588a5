//! The files of a borrowed run.

use super::super::files::{
    FileOptions, FileRest, FileRow, RawRow, Reading, SocketInfo, Ticks, Told, decode_socket,
    decode_told,
};
use super::super::followed::FollowedFiles;
use super::super::ring::Ring;
use super::borrowed::{Channel, ring};
use super::wire::{self, FILES, KEPT, Message, PENDING, REFRESH, REST, ROWS, SOCKETS, TAKE};
use crate::clock::{self, Offsets};
use crate::error::Error;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many rows there are is asked for this often, at least.
const ROWS_EVERY_NS: u64 = 250_000_000;

/// The files of one run.
#[derive(Debug)]
pub(super) struct BorrowedFiles {
    channel: Channel,
    ring: Ring,
    map: OwnedFd,
    tells_pages: bool,
    reading: Reading,
    clock: Offsets,
    /// The ring said that the table of rows has filled.
    woken: bool,
    rows_asked_at: u64,
}

impl BorrowedFiles {
    pub(super) fn begin(channel: &Channel, options: FileOptions) -> Result<Self, Error> {
        let request = [FILES, options.rows_max, u64::from(options.times)];
        let answer = channel.demand(&request)?;
        let clock = Offsets::of_self();
        let ticks = Ticks {
            jiffies: answer.word(2),
            boot_ns: clock.boot(answer.word(3)),
            tick_ns: clock::tick_ns(),
        };
        let tells_pages = answer.word(4) != 0;
        let (ring, map) = ring(answer)?;
        Ok(Self {
            channel: channel.clone(),
            ring,
            map,
            tells_pages,
            reading: Reading {
                ticks,
                knows_network: true,
            },
            clock,
            woken: false,
            rows_asked_at: clock::boot(),
        })
    }

    /// What rows that came with `answer` are read with.
    fn reading(&self, answer: &Message) -> Reading {
        Reading {
            ticks: Ticks {
                jiffies: answer.word(1),
                boot_ns: self.clock.boot(answer.word(2)),
                ..self.reading.ticks
            },
            knows_network: answer.word(3) != 0,
        }
    }

    fn kept(&self, take: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let bytes = lent(self.channel.demand(&[KEPT])?)?;
        wire::records(&bytes).for_each(take);
        Ok(())
    }

    fn all_told(&mut self, kept: bool, take: &mut dyn FnMut(Told)) -> Result<(), Error> {
        let mut woken = false;
        let mut decoded = |bytes: &[u8]| match decode_told(bytes) {
            Some(told) => take(told),
            None => woken = true,
        };
        let kept = match kept {
            true => self.kept(&mut decoded),
            false => Ok(()),
        };
        self.ring.drain(&mut decoded);
        self.woken |= woken;
        kept
    }
}

/// The rows that came with an answer.
fn rows(answer: Message, reading: Reading, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
    let bytes = lent(answer)?;
    for record in wire::records(&bytes) {
        if let Some(row) = RawRow::from_bytes(record).and_then(|raw| raw.decode(reading)) {
            take(row);
        }
    }
    Ok(())
}

/// What came with an answer as a file.
pub(super) fn lent(answer: Message) -> Result<Vec<u8>, Error> {
    let file = answer.file.ok_or(Error::Agent("the agent gave no rows"))?;
    let (mut file, mut bytes) = (File::from(file), Vec::new());
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_err(|source| Error::Call {
        call: "read of rows that an agent gave",
        source,
    })?;
    Ok(bytes)
}

impl FollowedFiles for BorrowedFiles {
    fn refresh(&self) {
        // An agent that is gone is noticed by the next question that matters.
        let _ = self.channel.demand(&[REFRESH]);
    }

    fn rows(&mut self) -> u64 {
        let now = clock::boot();
        if !self.woken && now.saturating_sub(self.rows_asked_at) < ROWS_EVERY_NS {
            return 0;
        }
        (self.woken, self.rows_asked_at) = (false, now);
        self.channel
            .demand(&[ROWS])
            .map_or(0, |answer| answer.word(1))
    }

    fn told(&mut self, take: &mut dyn FnMut(Told)) -> Result<(), Error> {
        // Half full: it may have been full.
        let kept = self.woken || self.ring.waiting() > self.ring.data_bytes() as u64 / 2;
        self.all_told(kept, take)
    }

    fn tells_pages(&self) -> bool {
        self.tells_pages
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    fn take_rows(&mut self, alive: bool, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        let answer = self.channel.demand(&[TAKE, u64::from(alive)])?;
        self.reading = self.reading(&answer);
        // What is told next belongs to these rows.
        self.woken = true;
        rows(answer, self.reading, take)
    }

    fn pending(&self, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        let answer = self.channel.demand(&[PENDING])?;
        let reading = self.reading(&answer);
        rows(answer, reading, take)
    }

    fn sockets(&self, take: &mut dyn FnMut(SocketInfo)) -> Result<(), Error> {
        let bytes = lent(self.channel.demand(&[SOCKETS])?)?;
        wire::records(&bytes)
            .filter_map(decode_socket)
            .for_each(take);
        Ok(())
    }

    fn rest(&self) -> FileRest {
        // An agent that is gone told what it could: what is missing was said then.
        let answer = self.channel.demand(&[REST]);
        answer.map_or_else(
            |_| FileRest::default(),
            |answer| FileRest::from_words(answer.words.get(1..).unwrap_or_default()),
        )
    }
}
