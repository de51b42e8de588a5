//! The files of one task, what the tracing thread counted turned into records.

use super::row::Row;
use super::watch::Watch;
use crate::interpose::FileEvent;
use crate::interpose::paths::Paths;
use record::file::{FileId, FileRest, FileUse};
use record::unit::Bytes;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of one task.
#[derive(Debug)]
pub struct Files {
    watch: Arc<Mutex<Watch>>,
    paths: Paths,
    times: bool,
}

impl Files {
    /// Of a task that has not begun; `times`: the time of calls is taken, the stops in them
    /// included.
    pub fn new(times: bool) -> Self {
        Self {
            watch: Arc::new(Mutex::new(Watch::new(Path::new("/proc"), times))),
            paths: Paths::new(),
            times,
        }
    }

    /// What the tracing thread counts with ([`crate::notify::ptrace::Options`]).
    pub fn watch(&self) -> Arc<Mutex<Watch>> {
        Arc::clone(&self.watch)
    }

    /// Gives what ended processes had to `take`.
    pub fn read(&mut self, take: &mut dyn FnMut(FileEvent)) {
        let ended = lock(&self.watch).take_ended();
        for (pid, row) in ended {
            self.tell(pid, row, take);
        }
    }

    /// Gives all that was counted to `take`, that of living processes included: the last reading.
    pub fn finish(&mut self, take: &mut dyn FnMut(FileEvent)) {
        self.read(take);
        let living = lock(&self.watch).take_living();
        for (pid, row) in living {
            self.tell(pid, row, take);
        }
    }

    /// What was not kept by file.
    pub fn rest(&self) -> FileRest {
        FileRest {
            folders_lost: self.paths.folders_lost,
            ..lock(&self.watch).rest()
        }
    }

    /// Files of which nothing may be known but that they were used, at most: those of programs that
    /// this user may execute and not read.
    pub fn hidden(&self) -> u64 {
        lock(&self.watch).hidden()
    }

    /// Transfers that were taken for whole, of which some were not: their bytes are known, not how
    /// many each moved and whether it failed.
    pub fn unsized_transfers(&self) -> u64 {
        lock(&self.watch).unproven
    }

    fn tell(&mut self, pid: u32, row: Row, take: &mut dyn FnMut(FileEvent)) {
        let kind = self
            .paths
            .kind(row.mode, row.device, row.special, &row.path);
        let place = self.paths.place(&row.path, row.cut, kind, take);
        take(FileEvent::Use(Box::new(FileUse {
            file: FileId {
                device: row.device,
                inode: row.inode,
                name: 0,
            },
            kind,
            place,
            pid,
            first: row.first,
            last: row.last,
            counts: row.counts,
            time: self.times.then_some(row.time),
            size_first: Bytes(row.size_first),
            size_last: Bytes(row.size_last),
            flags: row.flags,
            unlinked: row.unlinked,
            // Sockets are not asked for their ends.
            ends: None,
            sizes: row.sizes,
            classes: row.classes,
            page_cache: None,
        })));
    }
}

/// A watch is whole after every stop, so one left by a panic can be used.
pub(crate) fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}
