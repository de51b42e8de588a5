//! The files of a task: uses to one row a path, bounded, with an exact remainder.

use crate::at_path::AtPath;
use crate::cut::{self, Alike};
use crate::file_row::{Row, busyness};
use crate::former::{self, FORMER_MAX, Former, Sum};
use crate::moves::{Found, Moves};
use crate::names::{ByPath, Names};
use crate::pages::{ByDevice, Pages};
use crate::sockets::{NetworkTotals, SocketSummary, Sockets};
use record::file::{
    FileCounts, FileKind, FileLine, FileRest, FileSystemLine, FileUse, Folder, Mounted, OtherFiles,
    PageUse, Place,
};
use record::name::{Name, NamePath};
use record::socket::SocketInfo;
use record::unit::Nanos;
use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

/// Folders that are remembered; what lies in others has a path of its last component only.
const FOLDERS_MAX: usize = 1 << 18;

/// Of many keys that are no numbers a search by order would touch too much memory. The same input
/// has the same order: nothing here is random.
pub(crate) type Unordered<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A path, its row, and whether components are missing in front of it.
type PathRow = (Vec<u8>, (Box<Row>, bool));

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Path(Place),
    /// Of a file whose folder is not known: by its number.
    Lost(Place, (u32, u32), u64),
    Number(FileKind, (u32, u32), u64),
}

/// The files of one task.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    rows_max: usize,
    folders: BTreeMap<u64, Folder>,
    rows: Unordered<Key, AtPath>,
    /// Rows beyond the first ones of their paths.
    rows_more: usize,
    former: Former,
    sockets: Sockets,
    names: Names,
    moves: Moves,
    names_lost: u64,
    pages: Pages,
}

/// The files of a task in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTotals {
    /// Calls that opened a file.
    pub opens: u64,
    /// Regular files that were opened, those at least.
    pub opened: u64,
    /// Uses of files of which it is not known whether they are of others.
    pub opened_more: u64,
    /// What went over networks, if that is told.
    pub network: Option<NetworkTotals>,
    /// Something was counted of which it is not known what it was.
    pub without_row: bool,
    /// Whether every call was seen.
    pub complete: bool,
    /// Where it was counted.
    pub source: &'static str,
}

/// What tells whether the file of a line is still there, beside a look at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its path, byte for byte.
    pub path: Vec<u8>,
    /// Whether the path can be looked up.
    pub mounted: Mounted,
    /// The inode numbers that the path had.
    pub inodes: Vec<u64>,
    /// Nobody looked at its size since it was last written.
    pub size_is_old: bool,
}

/// All files of a task at its end.
#[derive(Debug, Clone, Default)]
pub struct FileSummary {
    /// A line a path, the busiest first.
    pub lines: Vec<FileLine>,
    /// What is known of each of them beside its line.
    pub traces: Vec<Trace>,
    /// What has no line.
    pub others: OtherFiles,
    /// Sums by file system, the busiest first.
    pub file_systems: Vec<FileSystemLine>,
    /// Its sockets, which have a line among the others too.
    pub sockets: SocketSummary,
    /// Something was counted of which it is not known what it was.
    pub without_row: bool,
    /// Some of it went by libaio: its bytes are in no count.
    pub libaio: bool,
    /// Some of it may have gone through an io_uring that is not seen: likewise.
    pub io_uring: bool,
    /// Everything.
    pub total: FileCounts,
    /// Regular files that were opened, those at least.
    pub files_opened: u64,
    /// How many more of them there may be.
    pub files_opened_more: u64,
    /// Whether every call was seen.
    pub complete: bool,
    /// What a reader should know, in plain words.
    pub notes: Vec<String>,
}

impl FileSummary {
    /// What is left without the `busiest` lines, if that is anything.
    pub fn without_busiest(&self, busiest: usize) -> Option<OtherFiles> {
        let mut rest = self.others;
        let lines = self.lines.get(busiest..).unwrap_or_default();
        rest.files += lines.len() as u64;
        for line in lines {
            rest.counts.add(&line.counts);
            if let Some(pages) = &line.page_cache {
                rest.page_cache.get_or_insert_default().add(pages);
            }
        }
        (rest.files > 0 || !rest.counts.is_empty()).then_some(rest)
    }

    /// In numbers; counted at `source`.
    pub fn totals(&self, source: &'static str) -> FileTotals {
        FileTotals {
            opens: self.total.opens,
            opened: self.files_opened,
            opened_more: self.files_opened_more,
            network: self.sockets.network,
            without_row: self.without_row,
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
            sockets: Sockets::new(rows_max),
            former: Former::new(FORMER_MAX),
            names: Names::new(rows_max.max(1).saturating_mul(2)),
            moves: Moves::new(rows_max.max(1).saturating_mul(2)),
            pages: Pages::new(rows_max.max(1).saturating_mul(2)),
            ..Self::default()
        }
    }

    /// A folder was told.
    pub fn folder(&mut self, folder: Folder) {
        if self.folders.len() < FOLDERS_MAX {
            self.folders.insert(folder.id, folder);
        }
    }

    /// What is known of a socket that was used.
    pub fn socket(&mut self, info: SocketInfo) {
        self.sockets.told(info);
    }

    /// Pages of an inode were told.
    pub fn pages(&mut self, used: &PageUse) {
        self.pages.take(used);
    }

    /// A call changed a name; the paths lead from the root.
    pub fn name(&mut self, name: &Name<Vec<u8>>) {
        self.names.take(name);
        self.moves.take(name);
    }

    /// A changed name whose folder was not told.
    pub fn name_lost(&mut self) {
        self.names_lost += 1;
    }

    /// The whole of a path that a call named, as it is written; nothing if its folder was not told.
    pub fn path_of(&self, path: &NamePath) -> Option<Vec<u8>> {
        let folder = self.folders.get(&path.folder).filter(|it| !it.cut)?;
        Some([&folder.path[..], b"/", &path.text[..]].concat())
    }

    /// A process used a file.
    pub fn take(&mut self, mut used: FileUse) {
        if used.kind == FileKind::Socket {
            self.sockets.take(&used);
        }
        let key = key_of(&mut used);
        match self.rows.get_mut(&key) {
            Some(files) => {
                let may_grow = self.rows_more < self.rows_max;
                self.rows_more += usize::from(files.add(used, may_grow));
            }
            None => {
                let mut row = Row::new(used);
                row.partial = !self.former.is_empty() && self.former.has(self.hash(&key, &row));
                self.rows.insert(key, AtPath::new(row));
                if self.rows.len() > self.rows_max.saturating_mul(2) {
                    self.prune();
                }
            }
        }
    }

    fn hash(&self, key: &Key, row: &Row) -> u64 {
        former::hash(&path(&self.folders, key, row).0)
    }

    /// Gives up the least busy half.
    fn prune(&mut self) {
        let mut busy: Vec<_> = self.rows.values().map(AtPath::busyness).collect();
        busy.sort_unstable_by_key(|one| Reverse(*one));
        let Some(least) = busy.get(self.rows_max.saturating_sub(1)).copied() else {
            return;
        };
        let above = busy.partition_point(|one| *one > least);
        let mut equals = self.rows_max.saturating_sub(above);
        let (former, folders) = (&mut self.former, &self.folders);
        let mut more = 0;
        self.rows.retain(|key, files| {
            let busyness = files.busyness();
            more += files.rows().len() - 1;
            if busyness > least {
                return true;
            }
            if busyness == least && equals > 0 {
                equals -= 1;
                return true;
            }
            for row in files.rows() {
                let (path, cut) = path(folders, key, row);
                former.take(former::hash(&path), row, cut);
            }
            more -= files.rows().len() - 1;
            false
        });
        self.rows_more = more;
    }

    /// The end: `rest` has what never came here, `start` is that of the task.
    pub fn finish(mut self, rest: &FileRest, start: Nanos) -> FileSummary {
        if self.rows.len() > self.rows_max {
            self.prune();
        }
        let rest = &FileRest {
            names_lost: rest.names_lost + self.names_lost,
            ..*rest
        };
        let mut by_path = self.by_path();
        let cut = by_path.values().filter(|(_, cut)| *cut).count() as u64;
        let names = std::mem::take(&mut self.names);
        let all_told = rest.names_lost == 0 && rest.compat_calls == 0;
        let beside = names.merge(&mut by_path, self.rows_max, &self.former, all_told);
        let pages = std::mem::take(&mut self.pages).merge(&mut by_path);
        let mut summary = FileSummary {
            others: self.former.sum,
            complete: rest.compat_calls == 0,
            without_row: rest.rows > 0,
            libaio: rest.libaio_calls > 0,
            io_uring: rest.rings > 0,
            notes: notes(rest, beside.changes, cut + self.former.cut),
            sockets: self.sockets.clone().finish(start),
            ..FileSummary::default()
        };
        summary.others.counts.add(&rest.counts);
        for pages in pages.values().chain(&rest.page_cache) {
            if !pages.is_empty() {
                summary.others.page_cache.get_or_insert_default().add(pages);
            }
        }
        summary.total = summary.others.counts;
        let mut rows: Vec<_> = by_path.into_iter().collect();
        rows.sort_unstable_by(|(path_a, (a, _)), (path_b, (b, _))| {
            (Reverse(a.busyness()), path_a).cmp(&(Reverse(b.busyness()), path_b))
        });
        summary.file_systems = self.file_systems(&rows, &pages, rest);
        self.count_files(&rows, rest, &mut summary);
        summary.others.files += beside.names;
        summary.lines.reserve_exact(rows.len());
        summary.traces.reserve_exact(rows.len());
        for (path, (row, cut)) in rows {
            summary.total.add(&row.counts);
            let path = cut::shown(&path);
            let numbers = row.spans.iter().map(|span| span.file.inode);
            summary.traces.push(Trace {
                mounted: row.mounted,
                size_is_old: row.size_is_old,
                inodes: numbers.chain([row.file.inode]).collect(),
                path: path.to_vec(),
            });
            summary.lines.push(row.line(path, cut, start));
        }
        summary
    }

    /// Each file once, whether it has a line or had one.
    fn count_files(&self, rows: &[PathRow], rest: &FileRest, to: &mut FileSummary) {
        let (mut without_line, mut opened) = self.former.files();
        let (beyond, opened_beyond) = self.former.files_beyond();
        let mut alike = Alike::default();
        for (path, (row, cut)) in rows {
            let hash = former::hash(path);
            without_line -= u64::from(self.former.has(hash));
            let is_another = if *cut {
                alike.is_another(path, row)
            } else {
                former::is_opened(row) && !self.former.was_opened(hash)
            };
            opened += u64::from(is_another);
        }
        to.others.files = without_line + beyond + rest.rows;
        to.files_opened = opened;
        to.files_opened_more = opened_beyond + alike.more + rest.rows;
    }

    fn file_systems(
        &self,
        rows: &[PathRow],
        pages: &ByDevice,
        rest: &FileRest,
    ) -> Vec<FileSystemLine> {
        let mut sums = self.former.by_device.clone();
        let mut alike = BTreeSet::new();
        for (path, (row, cut)) in rows.iter().filter(|(_, (row, _))| former::on_disk(row)) {
            let device = row.file.device;
            let is_another = !cut || alike.insert((device, cut::shown(path)));
            let sum = sums.entry(device).or_default();
            sum.files += u64::from(is_another && !self.former.has(former::hash(path)));
            sum.has_cut |= cut;
            sum.add(&row.counts, row.page_cache.as_ref());
        }
        for (device, pages) in pages {
            sums.entry(*device)
                .or_default()
                .add(&FileCounts::default(), Some(pages));
        }
        let paged = rest.page_cache.is_some_and(|pages| !pages.is_empty());
        let elsewhere = rest.rows > 0 || !rest.counts.is_empty() || paged;
        let line = |((major, minor), sum): (_, Sum)| FileSystemLine {
            device: format!("{major}:{minor}"),
            mount: None,
            kind: None,
            files: sum.files,
            counts: sum.counts,
            page_cache: sum.page_cache,
            lower_bound: elsewhere || sum.has_cut,
        };
        let mut lines: Vec<_> = sums.into_iter().map(line).collect();
        lines.sort_by_key(|line| Reverse(busyness(&line.counts, line.page_cache)));
        lines
    }

    fn by_path(&mut self) -> ByPath {
        let mut found = Found::default();
        for (key, files) in std::mem::take(&mut self.rows) {
            for row in files.into_rows() {
                let (path, cut) = path(&self.folders, &key, &row);
                let (files, _) = found
                    .entry(path)
                    .or_insert_with(|| (AtPath::default(), cut));
                files.put(row);
            }
        }
        std::mem::take(&mut self.moves).place(&mut found);
        let lines = found.into_iter().filter_map(|(path, (files, cut))| {
            let row = files.into_row()?;
            Some((path, (row, cut)))
        });
        lines.collect()
    }
}

/// The path of a row; whether components are missing: it is marked then (`cut.rs`).
fn path(folders: &BTreeMap<u64, Folder>, key: &Key, row: &Row) -> (Vec<u8>, bool) {
    let (place, number) = match key {
        Key::Path(place) => (place, None),
        Key::Lost(place, device, inode) => (place, Some((device, inode))),
        Key::Number(..) => return (numbered(row, b""), false),
    };
    let leaf = place.leaf.as_deref();
    match row.kind {
        FileKind::Memory | FileKind::Anonymous => {
            return (numbered(row, leaf.unwrap_or_default()), false);
        }
        _ => {}
    }
    let Some(folder) = folders.get(&place.folder) else {
        let path = [b"/".as_slice(), leaf.unwrap_or_default()].concat();
        let marked = match number {
            None => cut::marked(path, &[place.folder]),
            Some(((major, minor), inode)) => {
                cut::marked(path, &[u64::from(*major), u64::from(*minor), *inode])
            }
        };
        return (marked, true);
    };
    let bytes = folder.path.len() + leaf.map_or(0, <[u8]>::len) + 1;
    let mut path = Vec::with_capacity(bytes);
    path.extend_from_slice(&folder.path);
    if let Some(leaf) = leaf {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(leaf);
    }
    if folder.cut {
        path = cut::marked(path, &[place.folder]);
    }
    (path, folder.cut)
}

/// Takes the place out of `used`: a row does not keep it.
fn key_of(used: &mut FileUse) -> Key {
    if let FileKind::Pipe | FileKind::Socket = used.kind {
        return Key::Number(used.kind, used.file.device, used.file.inode);
    }
    let place = std::mem::take(&mut used.place);
    match used.kind {
        FileKind::Memory | FileKind::Anonymous => Key::Path(place),
        _ if place.folder == 0 => Key::Lost(place, used.file.device, used.file.inode),
        _ => Key::Path(place),
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

/// `changes`: those of names that no line tells of; `cut`: files whose paths are cut.
fn notes(rest: &FileRest, changes: u64, cut: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if rest.libaio_calls > 0 {
        notes.push(format!(
            "{} calls of io_submit (libaio): what they read and wrote is in no file's counts",
            rest.libaio_calls
        ));
    }
    if rest.aio_requests > 0 {
        notes.push(format!(
            "{} requests of POSIX aio (aio_read, aio_write, lio_listio) whose result nobody asked \
             for (aio_return): what they read and wrote is in no file's counts",
            rest.aio_requests
        ));
    }
    if rest.compat_calls > 0 {
        notes.push(format!(
            "{} file calls of 32-bit programs are in no file's counts",
            rest.compat_calls
        ));
    }
    if rest.blind_calls > 0 {
        notes.push(format!(
            "{} calls came behind a filter of system calls (seccomp), or where one may have been \
             set, and the library asks for no file: those are at least one of the others",
            rest.blind_calls
        ));
    }
    if rest.names_lost > 0 {
        notes.push(format!(
            "{} removed, renamed or truncated names could not be told",
            rest.names_lost
        ));
    }
    if changes > 0 {
        notes.push(format!(
            "{changes} changes of names beyond those that --max-files keeps are in no file's line"
        ));
    }
    if cut > 0 {
        notes.push(format!(
            "the folders of up to {cut} files could not be told: their paths are cut, and those \
             that look alike may be of one file"
        ));
    }
    notes
}
