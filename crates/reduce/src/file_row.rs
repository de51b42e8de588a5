//! One file of a task, or what has the same path.

use crate::at_path::{Number, number};
use crate::span::{Spans, TICK};
use record::file::{
    CLASSES, FileCounts, FileFlags, FileId, FileKind, FileLine, FileUse, Mounted, PROCESSES_MAX,
    PageCache, SizeClass, SizeClasses, SizeCount, path_hex,
};
use record::unit::{Bytes, Nanos};
use std::cmp::Reverse;

/// Exact sizes kept for a file; beyond it the rarest are known by their class.
const SIZES_MAX: usize = 32;
/// Exact sizes in the report.
const SIZES_SHOWN: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) file: FileId,
    pub(crate) kind: FileKind,
    pub(crate) processes: Vec<u32>,
    pub(crate) more_processes: bool,
    pub(crate) counts: FileCounts,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    /// When its size was last looked at.
    looked: Nanos,
    pub(crate) size_first: Option<Bytes>,
    pub(crate) size_last: Bytes,
    /// It was written after that.
    pub(crate) size_is_old: bool,
    pub(crate) time: Option<Nanos>,
    pub(crate) flags: FileFlags,
    /// The task created the file that was first at this path.
    pub(crate) created_first: bool,
    /// The file that was last at this path has no name left.
    pub(crate) unlinked: bool,
    /// In no order: they are few.
    pub(crate) sizes: Vec<SizeCount>,
    /// Of transfers whose size is not in `sizes`, if there are any.
    pub(crate) classes: Option<Box<SizeClasses>>,
    pub(crate) partial: bool,
    pub(crate) page_cache: Option<PageCache>,
    /// Nothing if not all changes of names are known.
    pub(crate) removed: Option<bool>,
    pub(crate) renamed_from: Option<Vec<u8>>,
    pub(crate) renamed_to: Option<Vec<u8>>,
    /// Nobody looked at its size: it has a name that changed, and no use.
    pub(crate) only_name: bool,
    /// The files that were at this path.
    pub(crate) spans: Spans,
    /// When it was last opened, or no later.
    pub(crate) opened_last: Nanos,
    /// The task took its name, or that of a folder in which it lies, and did not open it since.
    pub(crate) gone: bool,
    pub(crate) mounted: Mounted,
    /// It is of several files that had its path one after another.
    pub(crate) mixed: bool,
}

/// Bytes first, those that went through mappings too, then calls.
pub(crate) fn busyness(counts: &FileCounts, pages: Option<PageCache>) -> (u64, u64) {
    let mapped = pages.map_or(0, |it| {
        it.mapped_filled.0.saturating_add(it.mapped_dirtied.0)
    });
    let called = counts.bytes_read.0.saturating_add(counts.bytes_written.0);
    let bytes = called.saturating_add(mapped);
    let moved = counts.reads + counts.writes;
    let calls = moved + counts.opens + counts.closes + counts.seeks + counts.executions;
    (bytes, calls)
}

impl Row {
    pub(crate) fn new(used: FileUse) -> Self {
        let mut row = Self {
            file: used.file,
            kind: used.kind,
            processes: Vec::new(),
            more_processes: false,
            counts: FileCounts::default(),
            first: used.first,
            last: Nanos(0),
            looked: Nanos(0),
            size_first: used.size_first,
            size_last: used.size_last,
            size_is_old: used.size_is_old,
            time: None,
            flags: FileFlags::default(),
            created_first: used.flags.created,
            unlinked: used.unlinked,
            mounted: used.mounted,
            sizes: Vec::new(),
            classes: None,
            partial: false,
            page_cache: None,
            removed: Some(false),
            renamed_from: None,
            renamed_to: None,
            only_name: false,
            spans: Spans::default(),
            opened_last: Nanos(0),
            gone: false,
            mixed: false,
        };
        row.add(used);
        row
    }

    /// The row of a name that was never opened, once that of `before`.
    pub(crate) fn of_a_name(before: Option<&Row>, first: Nanos) -> Self {
        let nothing = FileId {
            device: (0, 0),
            inode: 0,
            name: 0,
            generation: None,
        };
        Self {
            file: before.map_or(nothing, |row| row.file),
            kind: before.map_or(FileKind::Unknown, |row| row.kind),
            processes: Vec::new(),
            more_processes: false,
            counts: FileCounts::default(),
            first,
            last: first,
            looked: first,
            size_first: Some(Bytes(0)),
            size_last: Bytes(0),
            size_is_old: false,
            time: None,
            flags: FileFlags::default(),
            created_first: false,
            unlinked: false,
            sizes: Vec::new(),
            classes: None,
            partial: false,
            page_cache: before
                .and_then(|row| row.page_cache)
                .map(|_| PageCache::default()),
            removed: Some(false),
            renamed_from: None,
            renamed_to: None,
            only_name: true,
            spans: Spans::default(),
            opened_last: Nanos(0),
            gone: false,
            mounted: before.map_or(Mounted::Unknown, |row| row.mounted),
            mixed: false,
        }
    }

    /// Whether it is known which file it is.
    const fn is_known(&self) -> bool {
        self.file.inode != 0
    }

    /// Whether this file is one of its.
    pub(crate) fn is_of(&self, of: Number) -> bool {
        number(&self.file) == of || (self.mixed && self.spans.have(of))
    }

    /// Whether this file is the only one.
    pub(crate) fn is_only(&self, of: Number) -> bool {
        !self.mixed && number(&self.file) == of
    }

    /// Processes changed its name.
    pub(crate) fn named(&mut self, pids: &[u32], first: Nanos, last: Nanos) {
        pids.iter().for_each(|pid| self.used_by(*pid));
        self.first = self.first.min(first);
        self.last = self.last.max(last);
    }

    pub(crate) fn busyness(&self) -> (u64, u64) {
        busyness(&self.counts, self.page_cache)
    }

    pub(crate) fn add(&mut self, used: FileUse) {
        self.used_by(used.pid);
        self.counts.add(&used.counts);
        self.flags.add(used.flags);
        self.spent(used.time);
        self.created_first |= used.flags.created && number(&used.file) == number(&self.file);
        let opened_first = used.first == self.first && used.counts.opens > 0;
        self.begun(used.first, used.size_first);
        self.last = self.last.max(used.last);
        let end = (looked(&used), !used.unlinked, used.size_last.0);
        if self.ended(end) {
            (self.file, self.mounted) = (used.file, used.mounted);
            self.size_is_old = used.size_is_old;
        }
        match used.counts.opens {
            0 => {}
            1 => self.opened_last = self.opened_last.max(used.first),
            _ => self.opened_last = self.opened_last.max(used.last),
        }
        self.spans.used(&used);
        if opened_first {
            self.size_first = self.size_first.min(used.size_first);
        }
        if self.sizes.is_empty() && used.sizes.len() <= SIZES_MAX {
            self.sizes = used.sizes;
        } else {
            used.sizes.iter().for_each(|size| self.count_size(*size));
        }
        if let Some(classes) = &used.classes {
            self.add_classes(classes);
        }
        self.paged(used.page_cache);
    }

    /// Adds a row of the same file, or of one that had its path at about the same time.
    pub(crate) fn merge(&mut self, other: Row) {
        self.created_first |= other.created_first && number(&other.file) == number(&self.file);
        self.begun(other.first, other.size_first);
        self.last = self.last.max(other.last);
        if self.ended((other.looked, !other.unlinked, other.size_last.0)) {
            (self.file, self.mounted) = (other.file, other.mounted);
            self.size_is_old = other.size_is_old;
        }
        self.join(other);
    }

    /// Adds the row of a file that had its path before.
    pub(crate) fn after(&mut self, other: Row) {
        if other.first <= self.first {
            (self.first, self.size_first) = (other.first, other.size_first);
            self.created_first = other.created_first;
        }
        self.last = self.last.max(other.last);
        self.mixed = true;
        self.join(other);
    }

    fn join(&mut self, other: Row) {
        other.processes.iter().for_each(|pid| self.used_by(*pid));
        self.more_processes |= other.more_processes;
        self.counts.add(&other.counts);
        self.flags.add(other.flags);
        self.spent(other.time);
        self.opened_last = self.opened_last.max(other.opened_last);
        self.spans.merge(other.spans);
        for size in other.sizes {
            self.count_size(size);
        }
        if let Some(classes) = &other.classes {
            self.add_classes(classes);
        }
        self.partial |= other.partial;
        self.mixed |= other.mixed;
        self.paged(other.page_cache);
    }

    fn paged(&mut self, pages: Option<PageCache>) {
        if let Some(pages) = pages {
            self.page_cache.get_or_insert_default().add(&pages);
        }
    }

    fn used_by(&mut self, pid: u32) {
        match self.processes.binary_search(&pid) {
            Ok(_) => {}
            Err(_) if self.processes.len() >= PROCESSES_MAX => self.more_processes = true,
            Err(place) => self.processes.insert(place, pid),
        }
    }

    fn spent(&mut self, time: Option<Nanos>) {
        if let Some(time) = time {
            self.time = Some(self.time.unwrap_or_default().plus(time));
        }
    }

    fn begun(&mut self, first: Nanos, size: Option<Bytes>) {
        if first < self.first {
            (self.first, self.size_first) = (first, size);
        }
    }

    /// Whether this end is the last one so far: when, whether it had a name, its size. Of two ends
    /// within one tick of the kernel that of a file with a name comes later, else that of the
    /// larger file: files grow more often than they shrink.
    fn ended(&mut self, end: (Nanos, bool, u64)) -> bool {
        let is_last = end >= (self.looked, !self.unlinked, self.size_last.0);
        if is_last {
            let (looked, has_name, size) = end;
            (self.looked, self.unlinked, self.size_last) = (looked, !has_name, Bytes(size));
        }
        is_last
    }

    fn count_size(&mut self, size: SizeCount) {
        if let Some(same) = self.sizes.iter_mut().find(|it| it.bytes == size.bytes) {
            same.reads += size.reads;
            same.writes += size.writes;
            return;
        }
        self.sizes.push(size);
        if self.sizes.len() <= SIZES_MAX {
            return;
        }
        let places = self.sizes.iter().enumerate();
        let rarest = places.min_by_key(|(_, it)| (it.reads + it.writes, it.bytes));
        if let Some(place) = rarest.map(|(place, _)| place) {
            let size = self.sizes.swap_remove(place);
            count_class(self.classes.get_or_insert_default(), size);
        }
    }

    fn add_classes(&mut self, classes: &SizeClasses) {
        let own = self.classes.get_or_insert_default();
        for (sum, more) in own.reads.iter_mut().zip(classes.reads) {
            *sum += more;
        }
        for (sum, more) in own.writes.iter_mut().zip(classes.writes) {
            *sum += more;
        }
    }

    pub(crate) fn line(self, path: &[u8], path_cut: bool, start: Nanos) -> FileLine {
        let sized = self.kind == FileKind::File && !self.only_name;
        let ((major, minor), known) = (self.file.device, self.is_known());
        let text_of = |path: Vec<u8>| String::from_utf8_lossy(&path).into_owned();
        let sizes_exact = self.classes.is_none();
        let mut classes = self.classes.map_or_else(SizeClasses::default, |it| *it);
        for size in &self.sizes {
            count_class(&mut classes, *size);
        }
        FileLine {
            path_hex: path_hex(path),
            path: String::from_utf8_lossy(path).into_owned(),
            path_cut,
            kind: self.kind,
            device: known.then(|| format!("{major}:{minor}")),
            inode: known.then_some(self.file.inode),
            processes: self.processes,
            processes_more: self.more_processes,
            counts: self.counts,
            first_ns: self.first.since(start),
            // To a tick, which may have begun before the first.
            last_ns: self.last.max(self.first).since(start),
            size_before_bytes: if self.created_first {
                Some(Bytes(0))
            } else {
                self.size_first
            }
            .filter(|_| sized),
            size_after_bytes: (sized && !self.size_is_old).then_some(self.size_last),
            time_ns: self.time,
            flags: self.flags,
            page_cache: self.page_cache,
            removed: self.removed,
            renamed_from: self.renamed_from.map(text_of),
            renamed_to: self.renamed_to.map(text_of),
            deleted: (self.unlinked || self.gone).then_some(true),
            sizes: most_frequent(self.sizes),
            sizes_exact,
            size_classes: shown(&classes),
            partial: self.partial,
        }
    }
}

/// When a process looked at the size of a file last: as it opened it, if it neither wrote to it nor
/// closed it, and before what another one saw within the same tick of the kernel.
fn looked(used: &FileUse) -> Nanos {
    let counts = &used.counts;
    let only_opened = counts.opens <= 1 && counts.closes == 0 && counts.writes == 0;
    if only_opened && !used.flags.truncated && !used.size_is_old {
        return Nanos(used.first.0.saturating_sub(TICK.0)).min(used.last);
    }
    used.last
}

fn count_class(classes: &mut SizeClasses, size: SizeCount) {
    let class = (u64::BITS - size.bytes.0.leading_zeros()) as usize;
    let class = class.min(CLASSES - 1);
    if let Some(sum) = classes.reads.get_mut(class) {
        *sum += size.reads;
    }
    if let Some(sum) = classes.writes.get_mut(class) {
        *sum += size.writes;
    }
}

fn most_frequent(mut sizes: Vec<SizeCount>) -> Vec<SizeCount> {
    // One call that read a whole file and one at its end are a tie: the former tells more.
    sizes.sort_by_key(|size| (Reverse(size.reads + size.writes), Reverse(size.bytes)));
    sizes.truncate(SIZES_SHOWN);
    sizes
}

fn shown(classes: &SizeClasses) -> Vec<SizeClass> {
    let pairs = classes.reads.iter().zip(classes.writes).enumerate();
    pairs
        .filter(|(_, (reads, writes))| **reads + writes > 0)
        .map(|(class, (reads, writes))| SizeClass {
            from_bytes: Bytes(if class == 0 { 0 } else { 1 << (class - 1) }),
            reads: *reads,
            writes,
        })
        .collect()
}
