//! The files of a task: uses to one row a path, bounded, with an exact remainder.

use record::file::{
    CLASSES, FileCounts, FileFlags, FileId, FileKind, FileLine, FileRest, FileSystemLine, FileUse,
    Folder, OtherFiles, PROCESSES_MAX, Place, SizeClass, SizeClasses, SizeCount,
};
use record::unit::{Bytes, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Exact sizes kept for a file; beyond it the rarest are known by their class.
const SIZES_MAX: usize = 32;
/// Exact sizes in the report.
const SIZES_SHOWN: usize = 4;
/// Folders that are remembered; what lies in others has a path of its last component only.
const FOLDERS_MAX: usize = 1 << 18;
/// Files that are remembered to have lost their row, so that a new one is known to be a part.
const FORMER_MAX: usize = 1 << 18;

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Path(Place),
    Number(FileKind, (u32, u32), u64),
}

#[derive(Debug, Clone)]
struct Row {
    file: FileId,
    kind: FileKind,
    processes: Vec<u32>,
    more_processes: bool,
    counts: FileCounts,
    first: Nanos,
    last: Nanos,
    size_first: Bytes,
    size_last: Bytes,
    time: Option<Nanos>,
    flags: FileFlags,
    /// The file that was last at this path has no name left.
    unlinked: bool,
    /// In no order: they are few.
    sizes: Vec<SizeCount>,
    /// Of transfers whose size is not in `sizes`, if there are any.
    classes: Option<Box<SizeClasses>>,
    partial: bool,
}

/// The files of one task.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    rows_max: usize,
    folders: BTreeMap<u64, Folder>,
    rows: BTreeMap<Key, Row>,
    /// Of rows that gave way.
    others: OtherFiles,
    former: BTreeSet<Key>,
}

/// The files of a task in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTotals {
    /// Calls that opened a file.
    pub opens: u64,
    /// Regular files that were opened and have a line.
    pub opened: u64,
    /// Files without a line, at most.
    pub without_line: u64,
    /// Whether every call was seen.
    pub complete: bool,
    /// Where it was counted.
    pub source: &'static str,
}

/// All files of a task at its end.
#[derive(Debug, Clone, Default)]
pub struct FileSummary {
    /// A line a path, the busiest first.
    pub lines: Vec<FileLine>,
    /// What has no line.
    pub others: OtherFiles,
    /// Sums by file system, the busiest first.
    pub file_systems: Vec<FileSystemLine>,
    /// Everything.
    pub total: FileCounts,
    /// Regular files that were opened, those with a line.
    pub files_opened: u64,
    /// Whether every call was seen.
    pub complete: bool,
    /// What a reader should know, in plain words.
    pub notes: Vec<String>,
}

impl FileSummary {
    /// In numbers; counted at `source`.
    pub fn totals(&self, source: &'static str) -> FileTotals {
        FileTotals {
            opens: self.total.opens,
            opened: self.files_opened,
            without_line: self.others.files,
            complete: self.complete,
            source,
        }
    }
}

impl FileTable {
    /// An empty table of at most `rows_max` lines.
    pub fn new(rows_max: usize) -> Self {
        Self {
            rows_max: rows_max.max(1),
            ..Self::default()
        }
    }

    /// A folder was told.
    pub fn folder(&mut self, folder: Folder) {
        if self.folders.len() < FOLDERS_MAX {
            self.folders.insert(folder.id, folder);
        }
    }

    /// A process used a file.
    pub fn take(&mut self, used: FileUse) {
        let key = key_of(&used);
        match self.rows.get_mut(&key) {
            Some(row) => row.add(used),
            None => {
                let mut row = Row::new(used);
                row.partial = self.former.contains(&key);
                self.rows.insert(key, row);
                if self.rows.len() > self.rows_max.saturating_mul(2) {
                    self.prune();
                }
            }
        }
    }

    /// Gives up the least busy half.
    fn prune(&mut self) {
        let mut busy: Vec<_> = self.rows.values().map(Row::busyness).collect();
        busy.sort_unstable_by_key(|one| Reverse(*one));
        let Some(least) = busy.get(self.rows_max.saturating_sub(1)).copied() else {
            return;
        };
        let above = busy.partition_point(|one| *one > least);
        let mut equals = self.rows_max.saturating_sub(above);
        let (others, former) = (&mut self.others, &mut self.former);
        self.rows.retain(|key, row| {
            let busyness = row.busyness();
            if busyness > least {
                return true;
            }
            if busyness == least && equals > 0 {
                equals -= 1;
                return true;
            }
            others.counts.add(&row.counts);
            others.files += 1;
            if former.len() < FORMER_MAX {
                former.insert(key.clone());
            }
            false
        });
    }

    /// The end: `rest` has what never came here, `start` is that of the task.
    pub fn finish(mut self, rest: &FileRest, start: Nanos) -> FileSummary {
        if self.rows.len() > self.rows_max {
            self.prune();
        }
        let mut by_path: BTreeMap<Vec<u8>, (Row, bool)> = BTreeMap::new();
        for (key, row) in std::mem::take(&mut self.rows) {
            let (path, cut) = self.path(&key, &row);
            match by_path.get_mut(&path) {
                Some((same, _)) => same.merge(row),
                None => {
                    by_path.insert(path, (row, cut));
                }
            }
        }
        let mut summary = FileSummary {
            others: self.others,
            complete: rest.compat_calls == 0,
            notes: notes(rest),
            ..FileSummary::default()
        };
        summary.others.files += rest.rows;
        summary.others.counts.add(&rest.counts);
        summary.total = summary.others.counts;
        let mut rows: Vec<_> = by_path.into_iter().collect();
        rows.sort_unstable_by(|(path_a, (a, _)), (path_b, (b, _))| {
            (Reverse(a.busyness()), path_a).cmp(&(Reverse(b.busyness()), path_b))
        });
        summary.file_systems = file_systems(rows.iter().map(|(_, (row, _))| row));
        for (path, (row, cut)) in rows {
            summary.total.add(&row.counts);
            summary.files_opened += u64::from(row.kind == FileKind::File && row.counts.opens > 0);
            summary.lines.push(row.line(&path, cut, start));
        }
        summary
    }

    /// The path of a row; whether components are missing.
    fn path(&self, key: &Key, row: &Row) -> (Vec<u8>, bool) {
        let Key::Path(place) = key else {
            return (numbered(row, b""), false);
        };
        let leaf = place.leaf.as_deref();
        match row.kind {
            FileKind::Memory | FileKind::Anonymous => {
                return (numbered(row, leaf.unwrap_or_default()), false);
            }
            _ => {}
        }
        let Some(folder) = self.folders.get(&place.folder) else {
            let leaf = leaf.unwrap_or_default();
            return ([b"/".as_slice(), leaf].concat(), true);
        };
        let mut path = folder.path.clone();
        if let Some(leaf) = leaf {
            if path.last() != Some(&b'/') {
                path.push(b'/');
            }
            path.extend_from_slice(leaf);
        }
        (path, folder.cut)
    }
}

fn key_of(used: &FileUse) -> Key {
    match used.kind {
        FileKind::Pipe | FileKind::Socket => {
            Key::Number(used.kind, used.file.device, used.file.inode)
        }
        _ => Key::Path(used.place.clone()),
    }
}

/// What has no path is called as `/proc/PID/fd` shows it.
fn numbered(row: &Row, name: &[u8]) -> Vec<u8> {
    let number = row.file.inode;
    match row.kind {
        FileKind::Pipe => format!("pipe:[{number}]").into_bytes(),
        FileKind::Socket => format!("socket:[{number}]").into_bytes(),
        FileKind::Anonymous => [b"anon_inode:".as_slice(), name].concat(),
        _ => name.to_vec(),
    }
}

fn notes(rest: &FileRest) -> Vec<String> {
    let mut notes = Vec::new();
    if rest.libaio_calls > 0 {
        notes.push(format!(
            "{} calls of io_submit (libaio): what they read and wrote is in no file's counts",
            rest.libaio_calls
        ));
    }
    if rest.compat_calls > 0 {
        notes.push(format!(
            "{} file calls of 32-bit programs are in no file's counts",
            rest.compat_calls
        ));
    }
    if rest.folders_lost > 0 {
        notes.push(format!(
            "the folders of {} uses of files could not be told: their paths are cut",
            rest.folders_lost
        ));
    }
    notes
}

fn file_systems<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<FileSystemLine> {
    let mut sums: BTreeMap<(u32, u32), (u64, FileCounts)> = BTreeMap::new();
    let on_disk = |row: &&Row| {
        use FileKind::{Directory, Fifo, File, Kernel};
        matches!(row.kind, File | Directory | Fifo | Kernel)
    };
    for row in rows.filter(on_disk) {
        let (files, counts) = sums.entry(row.file.device).or_default();
        *files += 1;
        counts.add(&row.counts);
    }
    let mut lines: Vec<_> = sums
        .into_iter()
        .map(|((major, minor), (files, counts))| FileSystemLine {
            device: format!("{major}:{minor}"),
            mount: None,
            kind: None,
            files,
            counts,
        })
        .collect();
    lines.sort_by_key(|line| Reverse(busyness(&line.counts)));
    lines
}

/// Bytes first, then calls.
fn busyness(counts: &FileCounts) -> (u64, u64) {
    let bytes = counts.bytes_read.0.saturating_add(counts.bytes_written.0);
    let calls = counts.reads + counts.writes + counts.opens + counts.closes + counts.seeks;
    (bytes, calls)
}

impl Row {
    fn new(used: FileUse) -> Self {
        let mut row = Self {
            file: used.file,
            kind: used.kind,
            processes: Vec::new(),
            more_processes: false,
            counts: FileCounts::default(),
            first: used.first,
            last: Nanos(0),
            size_first: used.size_first,
            size_last: used.size_last,
            time: None,
            flags: FileFlags::default(),
            unlinked: used.unlinked,
            sizes: Vec::new(),
            classes: None,
            partial: false,
        };
        row.add(used);
        row
    }

    fn busyness(&self) -> (u64, u64) {
        busyness(&self.counts)
    }

    fn add(&mut self, used: FileUse) {
        self.used_by(used.pid);
        self.counts.add(&used.counts);
        self.flags.add(used.flags);
        self.spent(used.time);
        let opened_first = used.first == self.first && used.counts.opens > 0;
        self.begun(used.first, used.size_first);
        self.ended(used.last, used.unlinked, used.size_last);
        if opened_first {
            self.size_first = self.size_first.min(used.size_first);
        }
        self.file = used.file;
        for size in &used.sizes {
            self.count_size(*size);
        }
        if let Some(classes) = &used.classes {
            self.add_classes(classes);
        }
    }

    fn merge(&mut self, other: Row) {
        other.processes.iter().for_each(|pid| self.used_by(*pid));
        self.more_processes |= other.more_processes;
        self.counts.add(&other.counts);
        self.flags.add(other.flags);
        self.spent(other.time);
        self.begun(other.first, other.size_first);
        self.ended(other.last, other.unlinked, other.size_last);
        for size in other.sizes {
            self.count_size(size);
        }
        if let Some(classes) = &other.classes {
            self.add_classes(classes);
        }
        self.partial |= other.partial;
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

    fn begun(&mut self, first: Nanos, size: Bytes) {
        if first < self.first {
            (self.first, self.size_first) = (first, size);
        }
    }

    /// Of two ends within one tick of the kernel that of a file with a name comes later, else that
    /// of the larger file: files grow more often than they shrink.
    fn ended(&mut self, last: Nanos, unlinked: bool, size: Bytes) {
        if (last, !unlinked, size.0) >= (self.last, !self.unlinked, self.size_last.0) {
            (self.last, self.unlinked, self.size_last) = (last, unlinked, size);
        }
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

    fn line(self, path: &[u8], path_cut: bool, start: Nanos) -> FileLine {
        let sized = self.kind == FileKind::File;
        let sizes_exact = self.classes.is_none();
        let mut classes = self.classes.map_or_else(SizeClasses::default, |it| *it);
        for size in &self.sizes {
            count_class(&mut classes, *size);
        }
        let text = String::from_utf8_lossy(path);
        FileLine {
            path_hex: matches!(text, std::borrow::Cow::Owned(_)).then(|| hex(path)),
            path: text.into_owned(),
            path_cut,
            kind: self.kind,
            device: format!("{}:{}", self.file.device.0, self.file.device.1),
            inode: self.file.inode,
            processes: self.processes,
            processes_more: self.more_processes,
            counts: self.counts,
            first_ns: self.first.since(start),
            last_ns: self.last.since(start),
            size_before_bytes: sized.then_some(if self.flags.created {
                Bytes(0)
            } else {
                self.size_first
            }),
            size_after_bytes: sized.then_some(self.size_last),
            time_ns: self.time,
            flags: self.flags,
            deleted: self.unlinked.then_some(true),
            sizes: most_frequent(self.sizes),
            sizes_exact,
            size_classes: shown(&classes),
            partial: self.partial,
        }
    }
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
    sizes.sort_by_key(|size| (Reverse(size.reads + size.writes), size.bytes));
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
