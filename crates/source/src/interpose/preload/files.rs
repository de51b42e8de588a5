//! The files of one task, the library's rows turned into records.

use super::NAME;
use super::ahead::Ahead;
use super::decode::{self, Raw};
use super::names;
use super::socket;
use super::table::{Heading, Table};
use crate::error::Error;
use crate::interpose::FileEvent;
use crate::interpose::paths::{Paths, split};
use preload::layout::SLOT_BYTES;
use record::file::{FileCounts, FileId, FileKind, FileRest, FileUse};
use record::name::{Name, NamePath};
use record::unit::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::ffi::OsStrExt;
use sys::clock::{self, Clock};

/// Chunks in use at which those of ended processes are looked for.
const CHUNKS_MANY: u32 = 256;
/// How often, at most.
const LOOK_PERIOD: Nanos = Nanos::from_millis(50);
/// Sockets of which it is remembered when they were last looked at.
const SOCKETS_MAX: usize = 1 << 16;

/// The files of one task.
#[derive(Debug)]
pub struct Files {
    table: Table,
    /// Whether the time of calls is taken.
    times: bool,
    paths: Paths,
    /// Changes of names that were not put down to the end.
    names_lost: u64,
    /// When a socket was last looked at, of what is told so far.
    looked: BTreeMap<u64, u64>,
    looked_at: Nanos,
    seen: Seen,
    ahead: Ahead,
    /// Of processes whose files found no room.
    others: FileCounts,
}

/// How much went by the library's eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Bytes read, without those that came by `recv` and its like: what the kernel calls rchar.
    pub bytes_read: Bytes,
    /// Bytes written, likewise (wchar).
    pub bytes_written: Bytes,
    /// Processes that used a file, an exec beginning another one.
    pub processes: u64,
    /// Of those, how many with buffered streams that are not seen.
    pub without_stdio: u64,
    /// Programs that were executed and into which the library was not loaded, as far as it saw
    /// their execution.
    pub left_out: u64,
}

impl Files {
    /// The library in a file, with an empty table; `times`: the time of calls is taken.
    ///
    /// # Errors
    /// The kernel's, where it gives no file in memory.
    pub fn create(times: bool) -> Result<Self, Error> {
        if preload::IMAGE.is_empty() {
            let why = "the library is not built for this processor".to_owned();
            return Err(Error::Mechanism {
                mechanism: NAME,
                why,
            });
        }
        let run = clock::now(Clock::Real) ^ u64::from(std::process::id()) << 40;
        Ok(Self {
            table: Table::create(run, times).map_err(broken)?,
            times,
            paths: Paths::new(),
            names_lost: 0,
            looked: BTreeMap::new(),
            looked_at: Nanos(0),
            seen: Seen::default(),
            ahead: Ahead::default(),
            others: FileCounts::default(),
        })
    }

    /// The file that the task is to load.
    pub fn library(&self) -> BorrowedFd<'_> {
        self.table.file.as_fd()
    }

    /// Gives to `take` what processes counted that have ended, if the table fills, so that others
    /// find room.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&mut self, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        let heading = self.table.heading().map_err(unread)?;
        let now = Nanos(clock::boot());
        let due = now.since(self.looked_at) >= LOOK_PERIOD;
        if !due || self.table.in_use(&heading) < CHUNKS_MANY {
            return Ok(());
        }
        self.looked_at = now;
        self.paths.look_at_mounts();
        for chunk in 0..heading.chunks {
            let Some((pid, used)) = self.table.owner(chunk).map_err(unread)? else {
                continue;
            };
            if !sys::process::exists(pid) {
                self.take(chunk, pid, used, take)?;
                self.table.free(chunk).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// Gives all that was counted to `take`, that of living processes included: the last reading.
    ///
    /// # Errors
    /// The kernel's.
    pub fn finish(&mut self, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        let heading = self.table.heading().map_err(unread)?;
        self.paths.look_at_mounts();
        for chunk in 0..heading.chunks {
            if let Some((pid, used)) = self.table.owner(chunk).map_err(unread)? {
                self.take(chunk, pid, used, take)?;
            }
        }
        let Heading {
            attached,
            without_stdio,
            left_out,
            ..
        } = self.table.heading().map_err(unread)?;
        self.seen.processes = attached.into();
        self.seen.without_stdio = without_stdio.into();
        self.seen.left_out = left_out;
        Ok(())
    }

    /// How much was seen, after [`Files::finish`].
    pub fn seen(&self) -> Seen {
        let mut seen = self.seen;
        // Of processes without any room.
        let [_, _, _, _, _, read, written, ..] = self.table.others().unwrap_or_default();
        add(&mut seen.bytes_read, read);
        add(&mut seen.bytes_written, written);
        seen
    }

    /// What was not kept by file.
    pub fn rest(&self) -> FileRest {
        // A table that cannot be read is told by `finish`.
        let others = self.table.others().unwrap_or_default();
        let heading = self.table.heading().unwrap_or_default();
        let [
            rows,
            opens,
            closes,
            reads,
            writes,
            read,
            written,
            seeks,
            failed,
            executions,
            no_space,
        ] = others;
        let mut counts = FileCounts {
            opens,
            closes,
            reads,
            writes,
            bytes_read: Bytes(read),
            bytes_written: Bytes(written),
            seeks,
            failed,
            no_space,
            executions,
        };
        counts.add(&self.others);
        FileRest {
            counts,
            rows,
            compat_calls: 0,
            libaio_calls: heading.libaio_calls,
            aio_requests: heading.aio_requests,
            rings: heading.rings,
            blind_calls: heading.blind_calls,
            page_cache: None,
            names_lost: self.names_lost.saturating_add(heading.names_lost),
        }
    }

    fn take(
        &mut self,
        chunk: u32,
        pid: u32,
        used: u32,
        take: &mut dyn FnMut(FileEvent),
    ) -> Result<(), Error> {
        let slots = self.table.slots(chunk, used).map_err(unread)?;
        let mut rest = slots.get(SLOT_BYTES..).unwrap_or_default();
        while let Some(slot) = rest.get(..SLOT_BYTES) {
            let mut taken = 1;
            if let Some(block) = names::block(rest) {
                taken = block.slots;
                self.names_lost = self.names_lost.saturating_add(block.lost);
                for name in block.names {
                    self.tell_name(name, pid, take);
                }
            } else if let Some(row) = decode::row(&self.table, slot) {
                let counts = row.counts;
                if row.others {
                    self.see(counts, row.received, row.sent);
                    self.others.add(&counts);
                } else {
                    self.tell(row, pid, take);
                }
            }
            rest = rest.get(taken * SLOT_BYTES..).unwrap_or_default();
        }
        Ok(())
    }

    fn tell_name(&mut self, name: names::Raw, pid: u32, take: &mut dyn FnMut(FileEvent)) {
        let Some(folder) = self.paths.folder(b"/", take) else {
            self.names_lost = self.names_lost.saturating_add(1);
            return;
        };
        let path = |text: Vec<u8>| NamePath { folder, text };
        take(FileEvent::Name(Name {
            change: name.change,
            pid,
            at: Nanos(name.at_ns.saturating_add_signed(self.ahead.now())),
            path: path(name.path),
            to: name.to.map(path),
        }));
    }

    /// Adds what a row moved, but what went through sockets by calls of their own.
    fn see(&mut self, counts: FileCounts, received: u64, sent: u64) {
        let read = counts.bytes_read.0.saturating_sub(received);
        add(&mut self.seen.bytes_read, read);
        let written = counts.bytes_written.0.saturating_sub(sent);
        add(&mut self.seen.bytes_written, written);
    }

    fn tell(&mut self, row: Raw, pid: u32, take: &mut dyn FnMut(FileEvent)) {
        let device = self.paths.device(row.mount.into(), split(row.device));
        let special = split(row.special);
        let kind = self.paths.kind(row.mode, device, special, &row.path);
        let socket = kind == FileKind::Socket;
        let received = if socket { row.received } else { 0 };
        let sent = if socket { row.sent } else { 0 };
        let counts = row.counts;
        self.see(counts, received, sent);
        let offset = self.ahead.now();
        let size_now = size_now(&row, kind);
        let size_last = size_now.unwrap_or(row.size_last);
        let size_is_old = row.size_is_old && kind == FileKind::File && size_now.is_none();
        let place = self.paths.place(&row.path, row.cut, kind, take);
        take(FileEvent::Use(Box::new(FileUse {
            file: FileId {
                device,
                inode: row.inode,
                name: 0,
                generation: None,
            },
            below: None,
            kind,
            place,
            pid,
            first: Nanos(row.first_ns.saturating_add_signed(offset)),
            last: Nanos(row.last_ns.saturating_add_signed(offset)),
            counts,
            time: self.times.then_some(Nanos(row.time_ns)),
            size_first: Some(Bytes(row.size_first)),
            size_last: Bytes(size_last),
            size_is_old,
            flags: row.flags,
            unlinked: row.unlinked,
            mounted: self.paths.mounted(row.mount.into()),
            ends: row.socket.as_ref().and_then(socket::ends),
            sizes: row.sizes,
            classes: row.classes,
            page_cache: None,
        })));
        if let Some(socket) = row.socket {
            self.tell_socket(socket, take);
        }
    }

    /// Of several processes that have it the one that looked last is told last.
    fn tell_socket(&mut self, socket: socket::Raw, take: &mut dyn FnMut(FileEvent)) {
        let socket::Raw {
            info, looked_ns, ..
        } = socket;
        if self
            .looked
            .get(&info.inode)
            .is_some_and(|at| *at > looked_ns)
        {
            return;
        }
        if self.looked.len() < SOCKETS_MAX {
            self.looked.insert(info.inode, looked_ns);
        }
        take(FileEvent::Socket(info));
    }
}

/// The size of a file that was written and never closed, by its path, if it is still that file.
fn size_now(row: &Raw, kind: FileKind) -> Option<u64> {
    if kind != FileKind::File || !row.size_is_old || row.unlinked || row.cut {
        return None;
    }
    let found = std::fs::metadata(OsStr::from_bytes(&row.path)).ok()?;
    let same = found.st_ino() == row.inode && found.st_dev() == row.device;
    same.then_some(found.len())
}

fn add(sum: &mut Bytes, more: u64) {
    sum.0 = sum.0.saturating_add(more);
}

fn unread(source: io::Error) -> Error {
    broken(sys::Error::Call {
        call: "read of the table",
        source,
    })
}

fn broken(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preload::layout::{CHUNK_BYTES, CHUNKS, Chunk, HEADER_BYTES, Header, Row, TABLE_AT, slot};
    use std::mem::offset_of;
    use std::os::unix::fs::FileExt;

    fn put(files: &Files, at: u64, bytes: &[u8]) {
        files.table.file.write_all_at(bytes, at).unwrap();
    }

    fn chunk_at(chunk: u32) -> u64 {
        TABLE_AT + HEADER_BYTES as u64 + u64::from(chunk) * CHUNK_BYTES as u64
    }

    fn begin_chunk(files: &Files, chunk: u32, pid: u32, used: u32) {
        put(
            files,
            chunk_at(chunk) + offset_of!(Chunk, pid) as u64,
            &pid.to_ne_bytes(),
        );
        put(
            files,
            chunk_at(chunk) + offset_of!(Chunk, used) as u64,
            &used.to_ne_bytes(),
        );
        let next = TABLE_AT + offset_of!(Header, next) as u64;
        put(files, next, &(chunk + 1).to_ne_bytes());
    }

    fn uses(files: &mut Files) -> Vec<FileUse> {
        let mut uses = Vec::new();
        let mut take = |event| {
            if let FileEvent::Use(used) = event {
                uses.push(*used);
            }
        };
        files.finish(&mut take).unwrap();
        uses
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let mut files = Files::create(false).unwrap();
        begin_chunk(&files, 0, 7, 2);
        let row = chunk_at(0) + SLOT_BYTES as u64;
        let path = b"/a/folder/leaf";
        put(&files, row + offset_of!(Row, path) as u64, path);
        let small = |at: usize, value: u32| put(&files, row + at as u64, &value.to_ne_bytes());
        let tiny = |at: usize, value: u16| put(&files, row + at as u64, &value.to_ne_bytes());
        tiny(offset_of!(Row, path_bytes), path.len() as u16);
        tiny(offset_of!(Row, mode), 0o100_644);
        small(offset_of!(Row, failed), 7);
        small(offset_of!(Row, no_space), 5);
        small(offset_of!(Row, state), slot::ROW);
        let sizes = row + offset_of!(Row, sizes) as u64;
        put(&files, sizes, &(4096u64 << 32 | 3).to_ne_bytes());
        put(
            &files,
            sizes + 8,
            &(1u64 << 63 | 10 << 32 | 2).to_ne_bytes(),
        );
        let uses = uses(&mut files);
        let [used] = &uses[..] else {
            panic!("{uses:?}")
        };
        assert_eq!((used.kind, used.pid), (FileKind::File, 7));
        assert_eq!(used.place.leaf.as_deref(), Some(b"leaf".as_slice()));
        assert_eq!((used.counts.reads, used.counts.bytes_read.0), (3, 3 * 4096));
        assert_eq!((used.counts.writes, used.counts.bytes_written.0), (2, 20));
        assert_eq!((used.counts.failed, used.counts.no_space), (7, 5));
        assert_eq!(files.seen().bytes_read.0, 3 * 4096);
    }

    /// overlayfs and btrfs show other numbers than those of their mounts.
    #[test]
    fn the_device_of_a_file_is_that_of_its_mount() {
        let Some((id, device)) = crate::interpose::paths::mounts().into_iter().next() else {
            println!("skipped: no mounts here");
            return;
        };
        let id = u32::try_from(id).unwrap();
        let mut files = Files::create(false).unwrap();
        begin_chunk(&files, 0, 7, 4);
        for (place, mount) in [(1, id), (2, u32::MAX), (3, 0)] {
            let row = chunk_at(0) + place * SLOT_BYTES as u64;
            let small = |at: usize, value: u32| put(&files, row + at as u64, &value.to_ne_bytes());
            small(offset_of!(Row, device), 0xfe09);
            small(offset_of!(Row, mount), mount);
            small(offset_of!(Row, mode), 0o100_644);
            small(offset_of!(Row, state), slot::ROW);
        }
        let devices: Vec<_> = uses(&mut files).iter().map(|it| it.file.device).collect();
        assert_eq!(devices, [device, (254, 9), (254, 9)]);
    }

    /// The task may write anything there: the monitor reads on.
    #[test]
    fn nonsense_in_the_table_is_read_without_harm() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for round in 0..40 {
            let mut files = Files::create(round % 2 == 0).unwrap();
            let mut bytes = vec![0; HEADER_BYTES + 4 * CHUNK_BYTES];
            for eight in bytes.chunks_exact_mut(8) {
                // Small numbers lead further in than large ones.
                let number = next() >> (next() % 64);
                eight.copy_from_slice(&number.to_ne_bytes());
            }
            put(&files, TABLE_AT, &bytes);
            let chunks = if round < 4 { u32::MAX } else { 4 };
            let at = TABLE_AT + offset_of!(Header, next) as u64;
            put(&files, at, &chunks.to_ne_bytes());
            for chunk in 0..4 {
                let row = chunk_at(chunk) + SLOT_BYTES as u64 + offset_of!(Row, state) as u64;
                put(&files, row, &slot::ROW.to_ne_bytes());
                put(&files, row + SLOT_BYTES as u64, &slot::NAMES.to_ne_bytes());
            }
            files.read(&mut |_| ()).unwrap();
            let found = uses(&mut files).len();
            assert!((1..=4 * 128).contains(&found), "{found}");
            files.rest();
        }
    }

    /// What an ended process had is taken once, and its room is used again.
    #[test]
    fn the_room_of_the_ended_is_used_again() {
        let mut files = Files::create(false).unwrap();
        let gone = u32::MAX >> 1;
        assert!(!sys::process::exists(gone));
        for chunk in 0..CHUNKS_MANY {
            let pid = if chunk == 9 { std::process::id() } else { gone };
            begin_chunk(&files, chunk, pid, 1);
        }
        let before = files.table.heading().unwrap();
        assert_eq!(files.table.in_use(&before), CHUNKS_MANY);
        files.read(&mut |_| ()).unwrap();
        let after = files.table.heading().unwrap();
        assert_eq!(files.table.in_use(&after), 1);
        assert_eq!(files.table.owner(9).unwrap(), Some((std::process::id(), 1)));
        assert_eq!(files.table.owner(8).unwrap(), None);
        let mut first = [0; 4];
        let ring = TABLE_AT + offset_of!(Header, free) as u64;
        files
            .table
            .file
            .read_exact_at(&mut first, ring + 9 * 4)
            .unwrap();
        assert_eq!(u32::from_ne_bytes(first), 10);
        const { assert!(CHUNKS_MANY < CHUNKS) };
    }
}
