//! Pages of the page cache that were told by inode: to the lines of its paths.
//!
//! A number is given to one file after another. Where the kernel tells which of them had the pages
//! (`i_generation`) they go to that one. Else time tells: they go to a file that their process used
//! and that was there when they were put down; of several to the one that came last, as many as it
//! has room for, and the rest to those before.

use crate::names::ByPath;
use crate::span::Span;
use crate::span::TICK;
use record::file::{FileId, FileKind, PageCache, PageUse};
use record::unit::Bytes;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// File systems without a device of their own have this major number; among them are those that
/// lie over others and have the inode numbers of these.
const NO_DEVICE: u32 = 0;
/// The smallest page that there is: a file takes whole ones.
const PAGE_BYTES: u64 = 4096;
/// Devices that are told apart.
const DEVICES_MAX: usize = 4096;

/// The number of a device, major and minor.
type Device = (u32, u32);

/// Pages by file system.
pub(crate) type ByDevice = BTreeMap<Device, PageCache>;

/// The pages of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pages {
    max: usize,
    told: Vec<PageUse>,
    /// Of files beyond `max`.
    beyond: ByDevice,
}

/// A file that had the number of an inode.
#[derive(Debug, Clone, Copy)]
struct Owner<'a> {
    path: &'a [u8],
    span: &'a Span,
    /// Of the file that has the pages: the span's, or the one below.
    generation: Option<u32>,
}

/// The files by the inode numbers of which pages were told.
#[derive(Debug, Default)]
struct Owners<'a> {
    by_inode: BTreeMap<(Device, u64), Vec<Owner<'a>>>,
    /// Mapped ones of file systems without a device.
    above: BTreeMap<u64, Vec<Owner<'a>>>,
}

impl Pages {
    /// So many are kept apart at most.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// Pages of an inode were told.
    pub(crate) fn take(&mut self, used: &PageUse) {
        self.told.push(*used);
        if self.told.len() > self.max.saturating_mul(2) {
            self.join();
        }
    }

    /// Joins what one process did with one inode, and gives up what is beyond the bound.
    fn join(&mut self) {
        let whose = |it: &PageUse| (it.device, it.inode, it.generation, it.pid);
        self.told.sort_unstable_by_key(|it| (whose(it), it.first));
        self.told.dedup_by(|later, earlier| {
            let same = whose(later) == whose(earlier);
            if same {
                earlier.last = earlier.last.max(later.last);
                earlier.page_cache.add(&later.page_cache);
            }
            same
        });
        if self.told.len() > self.max {
            for used in self.told.drain(self.max..) {
                put(&mut self.beyond, used.device, &used.page_cache);
            }
        }
    }

    /// Adds them to the rows of their files; what found none, by device.
    pub(crate) fn merge(self, rows: &mut ByPath) -> ByDevice {
        let mut without = self.beyond;
        if self.told.is_empty() {
            return without;
        }
        let owners = Owners::of(&self.told, rows);
        let mut found: Vec<(Vec<u8>, PageCache)> = Vec::new();
        for used in &self.told {
            let those = owners.find(used);
            if those.is_empty() {
                put(&mut without, used.device, &used.page_cache);
            }
            for (path, pages) in share(used.page_cache, &those) {
                found.push((path.to_vec(), pages));
            }
        }
        for (path, pages) in found {
            if let Some((row, _)) = rows.get_mut(&path) {
                row.page_cache.get_or_insert_default().add(&pages);
            }
        }
        without
    }
}

/// Adds pages to those of their device; those of devices beyond the bound have none.
fn put(devices: &mut ByDevice, device: Device, pages: &PageCache) {
    let known = devices.len() < DEVICES_MAX || devices.contains_key(&device);
    let device = if known { device } else { (NO_DEVICE, 0) };
    devices.entry(device).or_default().add(pages);
}

impl<'a> Owners<'a> {
    fn of(told: &[PageUse], rows: &'a ByPath) -> Self {
        let mut owners = Self::default();
        for used in told {
            owners
                .by_inode
                .entry((used.device, used.inode))
                .or_default();
            owners.above.entry(used.inode).or_default();
        }
        for (path, (row, _)) in rows
            .iter()
            .filter(|(_, (row, _))| row.kind == FileKind::File)
        {
            for span in row.spans.iter() {
                let of = |file: FileId| Owner {
                    path,
                    span,
                    generation: file.generation,
                };
                for file in [Some(span.file), span.below].into_iter().flatten() {
                    if let Some(those) = owners.by_inode.get_mut(&(file.device, file.inode)) {
                        those.push(of(file));
                    }
                }
                if span.mapped
                    && span.file.device.0 == NO_DEVICE
                    && let Some(those) = owners.above.get_mut(&span.file.inode)
                {
                    those.push(of(span.file));
                }
            }
        }
        owners
    }

    /// The files that may have these pages.
    fn find(&self, used: &PageUse) -> Vec<Owner<'a>> {
        let those = self.by_inode.get(&(used.device, used.inode));
        let mut those = those.cloned().unwrap_or_default();
        if those.is_empty() {
            those = self.above.get(&used.inode).cloned().unwrap_or_default();
            // Of several paths it is not known on which file system.
            let path = those.first().map(|it| it.path);
            if those.iter().any(|it| Some(it.path) != path) {
                those.clear();
            }
        } else if used.generation.is_some() {
            those.retain(|it| it.generation.is_none() || it.generation == used.generation);
        }
        those.retain(|it| it.span.first <= used.last.plus(TICK));
        // A child may have a mapping of its parent's, and no use of the file.
        if those.iter().any(|it| it.span.is_of(used.pid)) {
            those.retain(|it| it.span.is_of(used.pid));
        }
        those
    }
}

/// Who has how many of these pages.
fn share<'a>(pages: PageCache, owners: &[Owner<'a>]) -> Vec<(&'a [u8], PageCache)> {
    let mut owners = owners.to_vec();
    owners.sort_unstable_by_key(|Owner { path, span, .. }| {
        let latest = Reverse((span.first, span.last, span.size_max));
        (latest, !span.mapped, *path)
    });
    let by_calls = owners.clone();
    // Of several links the mapped one is meant.
    owners.sort_by_key(|it| !it.span.mapped);
    let mut shares = Vec::new();
    let mut give = |owners: &[Owner<'a>], bytes: Bytes, field: fn(&mut PageCache) -> &mut Bytes| {
        for (path, bytes) in fill(owners, bytes) {
            let mut share = PageCache::default();
            *field(&mut share) = bytes;
            shares.push((path, share));
        }
    };
    give(&by_calls, pages.filled, |it| &mut it.filled);
    give(&by_calls, pages.dirtied, |it| &mut it.dirtied);
    give(&owners, pages.mapped_filled, |it| &mut it.mapped_filled);
    give(&owners, pages.mapped_dirtied, |it| &mut it.mapped_dirtied);
    shares
}

/// Gives the first of these as much as it has room for and those that had its number before it
/// the rest, as much as they have room for; what nobody has is the first one's.
fn fill<'a>(owners: &[Owner<'a>], bytes: Bytes) -> Vec<(&'a [u8], Bytes)> {
    let Some((first, others)) = owners.split_first() else {
        return Vec::new();
    };
    // One that was used at the same time is the same file by another name.
    let before = others.iter().filter(|it| {
        let told_apart = it.generation.is_some();
        !told_apart && it.span.last <= first.span.first.plus(TICK)
    });
    let mut left = bytes.0;
    let mut shares = Vec::new();
    for owner in std::iter::once(first).chain(before) {
        let room = owner.span.size_max.0.div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let part = left.min(room);
        left -= part;
        shares.push((owner.path, Bytes(part)));
    }
    if let Some((_, first)) = shares.first_mut() {
        first.0 += left;
    }
    shares.retain(|(_, bytes)| bytes.0 > 0);
    shares
}
