//! Files that have no row any more: their sums, and as many hashes as tell them apart.

use crate::file_row::Row;
use crate::files::Unordered;
use record::file::{FileCounts, FileKind, OtherFiles, PageCache};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Files that are told apart, in some 18 MiB.
pub(crate) const FORMER_MAX: usize = (1 << 20) / 8 * 7;

/// The hash of a path. That two of a million have the same one is less than one in ten million.
pub(crate) fn hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// What was done on one file system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    pub(crate) files: u64,
    pub(crate) counts: FileCounts,
    pub(crate) page_cache: Option<PageCache>,
    /// Some of its files have cut paths: there may be more.
    pub(crate) has_cut: bool,
}

/// Sums by device.
pub(crate) type Sums = BTreeMap<(u32, u32), Sum>;

impl Sum {
    pub(crate) fn add(&mut self, counts: &FileCounts, page_cache: Option<&PageCache>) {
        self.counts.add(counts);
        if let Some(pages) = page_cache {
            self.page_cache.get_or_insert_default().add(pages);
        }
    }
}

/// Whether a row is of a file that lies on a file system.
pub(crate) fn on_disk(row: &Row) -> bool {
    use FileKind::{Directory, Fifo, File, Kernel};
    matches!(row.kind, File | Directory | Fifo | Kernel) && !row.only_name
}

/// Whether a row is of a regular file that was opened.
pub(crate) fn is_opened(row: &Row) -> bool {
    row.kind == FileKind::File && row.counts.opens > 0
}

/// The files of one task whose rows gave way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Former {
    max: usize,
    /// Whether each was a regular file that was opened.
    opened: Unordered<u64, bool>,
    /// Rows of files that are not told apart.
    beyond: u64,
    /// Of these the regular files that were opened.
    opened_beyond: u64,
    /// Those whose paths are cut, each time that their rows gave way.
    pub(crate) cut: u64,
    pub(crate) sum: OtherFiles,
    pub(crate) by_device: Sums,
}

impl Former {
    /// Tells so many files apart.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// A row gives way whose path has this hash. A `cut` path is of a file that may be counted
    /// already.
    pub(crate) fn take(&mut self, hash: u64, row: &Row, cut: bool) {
        let has_room = self.opened.len() < self.max;
        let surely_opened = is_opened(row) && !cut;
        if cut {
            self.cut += 1;
            self.opened_beyond += u64::from(is_opened(row));
        }
        let is_new = match self.opened.get_mut(&hash) {
            Some(opened) => {
                *opened |= surely_opened;
                false
            }
            None if has_room => {
                self.opened.insert(hash, surely_opened);
                true
            }
            None => {
                self.beyond += 1;
                self.opened_beyond += u64::from(surely_opened);
                true
            }
        };
        self.sum.counts.add(&row.counts);
        if let Some(pages) = &row.page_cache {
            self.sum.page_cache.get_or_insert_default().add(pages);
        }
        if on_disk(row) {
            let sum = self.by_device.entry(row.file.device).or_default();
            sum.files += u64::from(is_new && !cut);
            sum.has_cut |= cut;
            sum.add(&row.counts, row.page_cache.as_ref());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.opened.is_empty()
    }

    /// Whether a file of this hash had a row once.
    pub(crate) fn has(&self, hash: u64) -> bool {
        self.opened.contains_key(&hash)
    }

    /// Whether it was a regular file that was opened then.
    pub(crate) fn was_opened(&self, hash: u64) -> bool {
        self.opened.get(&hash).copied().unwrap_or(false)
    }

    /// Files that had a row, and how many of these are regular ones that were opened.
    pub(crate) fn files(&self) -> (u64, u64) {
        let opened = self.opened.values().filter(|opened| **opened).count();
        (self.opened.len() as u64, opened as u64)
    }

    /// The same of those that may be files already known.
    pub(crate) const fn files_beyond(&self) -> (u64, u64) {
        (self.beyond, self.opened_beyond)
    }
}
