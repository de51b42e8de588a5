//! The files of one task, the kernel's rows turned into records.

use super::NAME;
use super::kind::{OVERLAYFS, PIDFS, kind, split};
use crate::error::Error;
use crate::interpose::FileEvent;
use crate::interpose::kind::is_socket;
use record::file::{
    FileCounts, FileFlags, FileId, FileKind, FileRest, FileUse, Folder, Mounted, PageCache,
    PageUse, Place, SizeClasses, SizeCount,
};
use record::name::{Name, NameChange, NamePath};
use record::socket::{Datagrams, Ends, SocketInfo};
use record::unit::{Bytes, Nanos};
use std::os::fd::BorrowedFd;
use sys::bpf::{FileRow, FollowedFiles, PageCounts, Told};

/// Rows in the kernel's table at which it is emptied.
const ROWS_MANY: u64 = 4096;
/// Rows that it holds: a task fills what is left while we come.
pub(crate) const ROWS_MAX: u64 = 1 << 16;

/// The files of one task.
#[derive(Debug)]
pub struct Files {
    files: Box<dyn FollowedFiles>,
    with: With,
}

/// What rows have beside their counts.
#[derive(Debug, Clone, Copy)]
struct With {
    /// The time of calls.
    times: bool,
    /// Pages, of so many bytes.
    pages: Option<u64>,
}

impl Files {
    pub(crate) fn new(files: Box<dyn FollowedFiles>, times: bool) -> Self {
        let pages = files.tells_pages().then(sys::process::page_bytes).flatten();
        let with = With { times, pages };
        Self { files, with }
    }

    /// A process was added to the task by hand.
    pub fn refresh(&self) {
        self.files.refresh();
    }

    /// Readable when [`Files::read`] is due.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.files.fd()
    }

    /// Gives what was told to `take`, and empties the kernel's table if it has filled. Then it
    /// waits some milliseconds, until calls under way have ended.
    ///
    /// # Errors
    /// The kernel's: what it counted stays for the next call.
    pub fn read(&mut self, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        if self.files.rows() < ROWS_MANY {
            return self.folders(take);
        }
        self.take_rows(true, take)
    }

    /// Gives all that was counted to `take`, that of living threads included: the last reading.
    /// `alive`: whether there are any.
    ///
    /// # Errors
    /// The kernel's.
    pub fn finish(&mut self, alive: bool, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        self.take_rows(alive, take)?;
        if alive {
            let with = self.with;
            let pending = self.files.pending(&mut |row| take(event(row, with)));
            pending.map_err(broken)?;
        }
        Ok(())
    }

    /// Whether programs of other users were left out, as setuid ones are where an agent counts
    /// for a user.
    pub fn has_foreign(&self) -> bool {
        self.files.rest().foreign
    }

    /// What was not kept by file.
    pub fn rest(&self) -> FileRest {
        let rest = self.files.rest();
        FileRest {
            counts: FileCounts {
                opens: rest.opens,
                closes: rest.closes,
                reads: rest.reads,
                writes: rest.writes,
                bytes_read: Bytes(rest.bytes_read),
                bytes_written: Bytes(rest.bytes_written),
                seeks: rest.seeks,
                failed: 0,
                no_space: 0,
                executions: rest.executions,
            },
            rows: rest.rows,
            compat_calls: rest.compat_calls,
            libaio_calls: rest.libaio_calls,
            aio_requests: 0,
            rings: 0,
            blind_calls: 0,
            page_cache: self.with.pages.map(|bytes| page_cache(rest.pages, bytes)),
            names_lost: rest.names_lost,
        }
    }

    fn take_rows(&mut self, alive: bool, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        let with = self.with;
        let mut rows = Vec::new();
        let taken = self.files.take_rows(alive, &mut |row| rows.push(row));
        // Told before the rows that name them.
        let told = self.folders(take);
        let any_socket = rows.iter().any(|row| is_socket(row.mode));
        rows.into_iter().for_each(|row| take(event(row, with)));
        taken.map_err(broken).and(told)?;
        if !any_socket {
            return Ok(());
        }
        let told = self
            .files
            .sockets(&mut |it| take(FileEvent::Socket(socket(it))));
        told.map_err(broken)
    }

    fn folders(&mut self, take: &mut dyn FnMut(FileEvent)) -> Result<(), Error> {
        let told = self.files.told(&mut |told| {
            take(match told {
                Told::Folder(folder) => FileEvent::Folder(Folder {
                    id: folder.id,
                    path: folder.path,
                    cut: folder.cut,
                }),
                Told::Name(name) => FileEvent::Name(named(name)),
            });
        });
        told.map_err(broken)
    }
}

fn broken(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

fn socket(info: sys::bpf::SocketInfo) -> SocketInfo {
    SocketInfo {
        inode: info.inode,
        family: info.family,
        kind: info.kind,
        protocol: info.protocol,
        local: info.local,
        peer: info.peer,
        path: info.path,
        retransmits: info.retransmits,
        round_trip: info.rtt_us.map(|us| Nanos(u64::from(us) * 1000)),
    }
}

fn named(name: sys::bpf::Name) -> Name<NamePath> {
    let path = |path: sys::bpf::NamePath| NamePath {
        folder: path.folder,
        text: path.text,
    };
    Name {
        change: match name.change {
            sys::bpf::NameChange::Removed => NameChange::Removed,
            sys::bpf::NameChange::FolderRemoved => NameChange::FolderRemoved,
            sys::bpf::NameChange::Renamed => NameChange::Renamed,
            sys::bpf::NameChange::Exchanged => NameChange::Exchanged,
            sys::bpf::NameChange::Truncated => NameChange::Truncated,
        },
        pid: name.pid,
        at: Nanos(name.at_ns),
        path: path(name.path),
        to: name.to.map(path),
    }
}

fn page_cache(pages: PageCounts, page_bytes: u64) -> PageCache {
    let bytes = |pages: u64| Bytes(pages.saturating_mul(page_bytes));
    PageCache {
        filled: bytes(pages.filled),
        dirtied: bytes(pages.dirtied),
        mapped_filled: bytes(pages.mapped_filled),
        mapped_dirtied: bytes(pages.mapped_dirtied),
    }
}

fn ends(row: &FileRow) -> Option<Ends> {
    let of = row.datagrams;
    match (row.inet, row.loopback, row.ends_unknown) {
        (false, ..) => None,
        // One that was connected in between has been met in both ways.
        (_, _, true) => Some(Ends::Each(Datagrams {
            local_sent: Bytes(of.local_sent),
            local_received: Bytes(of.local_received),
            remote_sent: Bytes(of.remote_sent),
            remote_received: Bytes(of.remote_received),
        })),
        (_, true, _) => Some(Ends::Loopback),
        _ => Some(Ends::Network),
    }
}

/// An inode of overlayfs has not that of the file below, whose pages are told.
fn generation(row: &FileRow) -> Option<u32> {
    let told = row.file.generation != 0 && row.magic != OVERLAYFS;
    told.then_some(row.file.generation)
}

fn below(file: sys::bpf::FileId) -> FileId {
    FileId {
        device: split(file.device),
        inode: file.inode,
        name: file.name,
        generation: (file.generation != 0).then_some(file.generation),
    }
}

fn event(mut row: FileRow, with: With) -> FileEvent {
    let page_cache = with.pages.map(|bytes| page_cache(row.pages, bytes));
    if row.file.name == sys::bpf::FileId::ANY_NAME {
        return FileEvent::Pages(PageUse {
            device: split(row.file.device),
            inode: row.file.inode,
            generation: generation(&row),
            pid: row.pid,
            first: Nanos(row.first_ns),
            last: Nanos(row.last_ns),
            page_cache: page_cache.unwrap_or_default(),
        });
    }
    if row.magic == PIDFS {
        // As `/proc/PID/fd` has it.
        row.leaf = b"[pidfd]".to_vec();
    }
    let ends = ends(&row);
    let kind = kind(row.mode, row.magic, row.special_device, &row.leaf);
    FileEvent::Use(Box::new(FileUse {
        file: FileId {
            device: split(row.file.device),
            inode: row.file.inode,
            name: row.file.name,
            generation: generation(&row),
        },
        kind,
        below: row.below.map(below),
        place: Place {
            folder: row.folder,
            leaf: (!row.whole_name).then_some(row.leaf),
        },
        pid: row.pid,
        first: Nanos(row.first_ns),
        last: Nanos(row.last_ns),
        counts: FileCounts {
            opens: row.opens,
            closes: row.closes,
            reads: row.reads,
            writes: row.writes,
            bytes_read: Bytes(row.bytes_read),
            bytes_written: Bytes(row.bytes_written),
            seeks: row.seeks,
            failed: row.failed,
            no_space: row.no_space,
            executions: row.executions,
        },
        time: with.times.then_some(Nanos(row.time_ns)),
        size_first: row.size_first_bytes.map(Bytes),
        size_last: Bytes(row.size_last_bytes),
        size_is_old: false,
        flags: FileFlags {
            opened_to_read: row.opened_to_read,
            opened_to_write: row.opened_to_write,
            created: row.created,
            truncated: row.truncated,
            appended: row.appended,
            direct: row.direct,
            mapped: row.mapped,
        },
        unlinked: row.unlinked,
        mounted: Mounted::Unknown,
        ends,
        sizes: row.sizes.iter().map(size_count).collect(),
        classes: row.classes.as_deref().map(size_classes).map(Box::new),
        page_cache: page_cache.filter(|_| kind == FileKind::File),
    }))
}

fn size_count(size: &sys::bpf::ExactSize) -> SizeCount {
    SizeCount {
        bytes: Bytes(size.bytes.into()),
        reads: size.reads.into(),
        writes: size.writes.into(),
    }
}

fn size_classes(classes: &sys::bpf::SizeClasses) -> SizeClasses {
    SizeClasses {
        reads: classes.reads.map(u64::from),
        writes: classes.writes.map(u64::from),
    }
}
