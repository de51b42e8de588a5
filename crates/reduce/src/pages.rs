//! Pages of the page cache that were told by inode: to the lines of its paths.

use crate::names::ByPath;
use record::file::{FileKind, PageCache, PageUse};
use std::collections::BTreeMap;

/// File systems without a device of their own have this major number; among them are those that
/// lie over others and have the inode numbers of these.
const NO_DEVICE: u32 = 0;

/// An inode: device and number.
type Inode = ((u32, u32), u64);

/// The pages of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pages {
    max: usize,
    by_inode: BTreeMap<Inode, PageCache>,
    /// Of inodes beyond `max`.
    beyond: PageCache,
    any: bool,
}

impl Pages {
    /// So many inodes are kept at most.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// Pages of an inode were told.
    pub(crate) fn take(&mut self, used: &PageUse) {
        self.any = true;
        let inode = (used.device, used.inode);
        if let Some(sum) = self.by_inode.get_mut(&inode) {
            sum.add(&used.page_cache);
        } else if self.by_inode.len() < self.max {
            self.by_inode.insert(inode, used.page_cache);
        } else {
            self.beyond.add(&used.page_cache);
        }
    }

    /// Adds them to the rows of their inodes; what found none, by device, and without one.
    pub(crate) fn merge(self, rows: &mut ByPath) -> (BTreeMap<(u32, u32), PageCache>, PageCache) {
        let mut without: BTreeMap<_, PageCache> = BTreeMap::new();
        if !self.any {
            return (without, self.beyond);
        }
        // Of several links the mapped one is meant, else the first.
        let mut paths: BTreeMap<Inode, (bool, &[u8])> = BTreeMap::new();
        let mut above: BTreeMap<u64, Option<&[u8]>> = BTreeMap::new();
        for (path, (row, _)) in rows.iter() {
            if row.kind != FileKind::File {
                continue;
            }
            let one = (!row.is_mapped(), &path[..]);
            let place = paths
                .entry((row.file.device, row.file.inode))
                .or_insert(one);
            *place = one.min(*place);
            if row.is_mapped() && row.file.device.0 == NO_DEVICE {
                let one = above.entry(row.file.inode).or_insert(Some(path));
                *one = one.filter(|one| *one == path);
            }
        }
        let mut found = Vec::new();
        for (inode, pages) in self.by_inode {
            let above = || above.get(&inode.1).copied().flatten();
            match paths.get(&inode).map(|(_, path)| *path).or_else(above) {
                Some(path) => found.push((path.to_vec(), pages)),
                None => without.entry(inode.0).or_default().add(&pages),
            }
        }
        for (path, pages) in found {
            if let Some((row, _)) = rows.get_mut(&path) {
                row.page_cache.get_or_insert_default().add(&pages);
            }
        }
        (without, self.beyond)
    }
}
