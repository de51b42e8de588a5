//! The files of a task: uses to one row a path, bounded, with an exact remainder.

use crate::file_row::{Row, busyness};
use crate::names::{ByPath, Names};
use crate::pages::Pages;
use crate::sockets::{NetworkTotals, SocketSummary, Sockets};
use record::file::{
    FileCounts, FileKind, FileLine, FileRest, FileSystemLine, FileUse, Folder, OtherFiles,
    PageCache, PageUse, Place,
};
use record::name::{Name, NamePath};
use record::socket::SocketInfo;
use record::unit::Nanos;
use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;

/// Folders that are remembered; what lies in others has a path of its last component only.
const FOLDERS_MAX: usize = 1 << 18;
/// Files that are remembered to have lost their row, so that a new one is known to be a part.
const FORMER_MAX: usize = 1 << 18;

/// Of many keys that are no numbers a search by order would touch too much memory. The same input
/// has the same order: nothing here is random.
pub(crate) type Unordered<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Path(Place),
    Number(FileKind, (u32, u32), u64),
}

/// The files of one task.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    rows_max: usize,
    folders: BTreeMap<u64, Folder>,
    /// Boxed: a map of many moves its entries.
    rows: Unordered<Key, Box<Row>>,
    /// Of rows that gave way.
    others: OtherFiles,
    former: HashSet<Key, BuildHasherDefault<DefaultHasher>>,
    sockets: Sockets,
    names: Names,
    names_lost: u64,
    pages: Pages,
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
    /// What went over networks, if that is told.
    pub network: Option<NetworkTotals>,
    /// Something was counted of which it is not known what it was.
    pub without_row: bool,
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
    /// Its sockets, which have a line among the others too.
    pub sockets: SocketSummary,
    /// Something was counted of which it is not known what it was.
    pub without_row: bool,
    /// Some of it went by libaio: its bytes are in no count.
    pub libaio: bool,
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
            names: Names::new(rows_max.max(1).saturating_mul(2)),
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
    pub fn take(&mut self, used: FileUse) {
        if used.kind == FileKind::Socket {
            self.sockets.take(&used);
        }
        let key = key_of(&used);
        match self.rows.get_mut(&key) {
            Some(row) => row.add(used),
            None => {
                let mut row = Box::new(Row::new(used));
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
        let mut busy: Vec<_> = self.rows.values().map(|row| row.busyness()).collect();
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
            if let Some(pages) = row.page_cache {
                others.page_cache.get_or_insert_default().add(&pages);
            }
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
        let mut by_path = self.by_path();
        let without_line = std::mem::take(&mut self.names).merge(&mut by_path, self.rows_max);
        let (pages, beyond) = std::mem::take(&mut self.pages).merge(&mut by_path);
        let mut summary = FileSummary {
            others: self.others,
            complete: rest.compat_calls == 0,
            without_row: rest.rows > 0,
            libaio: rest.libaio_calls > 0,
            notes: notes(&FileRest {
                names_lost: rest.names_lost + self.names_lost,
                ..*rest
            }),
            sockets: self.sockets.clone().finish(start),
            ..FileSummary::default()
        };
        summary.others.files += rest.rows + without_line;
        summary.others.counts.add(&rest.counts);
        for pages in pages.values().chain([&beyond]).chain(&rest.page_cache) {
            if !pages.is_empty() {
                summary.others.page_cache.get_or_insert_default().add(pages);
            }
        }
        summary.total = summary.others.counts;
        let mut rows: Vec<_> = by_path.into_iter().collect();
        rows.sort_unstable_by(|(path_a, (a, _)), (path_b, (b, _))| {
            (Reverse(a.busyness()), path_a).cmp(&(Reverse(b.busyness()), path_b))
        });
        summary.file_systems = file_systems(rows.iter().map(|(_, (row, _))| &**row), &pages);
        for (path, (row, cut)) in rows {
            summary.total.add(&row.counts);
            summary.files_opened += u64::from(row.kind == FileKind::File && row.counts.opens > 0);
            summary.lines.push(row.line(&path, cut, start));
        }
        summary
    }

    fn by_path(&mut self) -> ByPath {
        let mut by_path = ByPath::default();
        for (key, row) in std::mem::take(&mut self.rows) {
            let (path, cut) = self.path(&key, &row);
            match by_path.get_mut(&path) {
                Some((same, _)) => same.merge(*row),
                None => {
                    by_path.insert(path, (row, cut));
                }
            }
        }
        by_path
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
    if rest.blind_calls > 0 {
        notes.push(format!(
            "{} calls came behind a filter of system calls (seccomp), where the library asks for \
             no file: those are at least one of the others",
            rest.blind_calls
        ));
    }
    if rest.names_lost > 0 {
        notes.push(format!(
            "{} removed, renamed or truncated names could not be told",
            rest.names_lost
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

fn file_systems<'a>(
    rows: impl Iterator<Item = &'a Row>,
    pages: &BTreeMap<(u32, u32), PageCache>,
) -> Vec<FileSystemLine> {
    let mut sums: BTreeMap<(u32, u32), (u64, FileCounts, Option<PageCache>)> = BTreeMap::new();
    let on_disk = |row: &&Row| {
        use FileKind::{Directory, Fifo, File, Kernel};
        matches!(row.kind, File | Directory | Fifo | Kernel) && !row.only_name
    };
    for row in rows.filter(on_disk) {
        let (files, counts, sum) = sums.entry(row.file.device).or_default();
        *files += 1;
        counts.add(&row.counts);
        if let Some(pages) = &row.page_cache {
            sum.get_or_insert_default().add(pages);
        }
    }
    for (device, pages) in pages {
        let (_, _, sum) = sums.entry(*device).or_default();
        sum.get_or_insert_default().add(pages);
    }
    let mut lines: Vec<_> = sums
        .into_iter()
        .map(
            |((major, minor), (files, counts, page_cache))| FileSystemLine {
                device: format!("{major}:{minor}"),
                mount: None,
                kind: None,
                files,
                counts,
                page_cache,
            },
        )
        .collect();
    lines.sort_by_key(|line| Reverse(busyness(&line.counts, line.page_cache)));
    lines
}
