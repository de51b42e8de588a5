//! The files of one task, what the tracing thread counted turned into records.

use super::look::Written;
use super::row::Row;
use super::watch::Watch;
use crate::interpose::FileEvent;
use crate::interpose::kind::is_regular;
use crate::interpose::paths::Paths;
use record::file::{FileId, FileRest, FileUse};
use record::name::{Name, NamePath};
use record::unit::Bytes;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of one task.
#[derive(Debug)]
pub struct Files {
    watch: Arc<Mutex<Watch>>,
    paths: Paths,
    /// Changes of names whose folder could not be told.
    names_lost: u64,
    times: bool,
}

impl Files {
    /// Of a task that has not begun; `times`: the time of calls is taken, the stops in them
    /// included.
    pub fn new(times: bool) -> Self {
        Self {
            watch: Arc::new(Mutex::new(Watch::new(Path::new("/proc"), times))),
            paths: Paths::new(),
            names_lost: 0,
            times,
        }
    }

    /// What the tracing thread counts with ([`crate::notify::ptrace::Options`]).
    pub fn watch(&self) -> Arc<Mutex<Watch>> {
        Arc::clone(&self.watch)
    }

    /// Gives what ended processes had to `take`, and which names were changed.
    pub fn read(&mut self, take: &mut dyn FnMut(FileEvent)) {
        let mut watch = lock(&self.watch);
        let (names, ended) = (watch.names.take(), watch.take_ended());
        drop(watch);
        self.tell_all(names, ended, take);
    }

    /// Gives all that was counted to `take`, that of living processes included: the last reading.
    pub fn finish(&mut self, take: &mut dyn FnMut(FileEvent)) {
        let mut watch = lock(&self.watch);
        let (names, mut rows) = (watch.names.take(), watch.take_ended());
        rows.append(&mut watch.take_living());
        drop(watch);
        self.tell_all(names, rows, take);
    }

    /// Processes and threads that nobody traces, at most: their calls on files fail.
    pub fn children_untraced(&self) -> u64 {
        lock(&self.watch).children_untraced
    }

    fn tell_all(
        &mut self,
        names: Vec<Name<Written>>,
        rows: Vec<(u32, Row)>,
        take: &mut dyn FnMut(FileEvent),
    ) {
        if !rows.is_empty() {
            self.paths.look_at_mounts();
        }
        for name in names {
            self.tell_name(name, take);
        }
        for (pid, row) in rows {
            self.tell(pid, row, take);
        }
    }

    /// What was not kept by file.
    pub fn rest(&self) -> FileRest {
        let rest = lock(&self.watch).rest();
        FileRest {
            names_lost: rest.names_lost + self.names_lost,
            ..rest
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

    fn tell_name(&mut self, name: Name<Written>, take: &mut dyn FnMut(FileEvent)) {
        let told = |written: Written| {
            let folder = self.paths.folder(&written.folder, take)?;
            Some(NamePath {
                folder,
                text: written.text,
            })
        };
        match name.with_paths(told) {
            Some(name) => take(FileEvent::Name(name)),
            None => self.names_lost += 1,
        }
    }

    fn tell(&mut self, pid: u32, row: Row, take: &mut dyn FnMut(FileEvent)) {
        let device = self.paths.device(row.mount, row.device);
        let kind = self.paths.kind(row.mode, device, row.special, &row.path);
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
            first: row.first,
            last: row.last,
            counts: row.counts,
            time: self.times.then_some(row.time),
            size_first: Some(Bytes(row.size_first)),
            size_last: Bytes(row.size_last),
            size_is_old: row.size_is_old && is_regular(row.mode),
            flags: row.flags,
            unlinked: row.unlinked,
            mounted: self.paths.mounted(row.mount),
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
