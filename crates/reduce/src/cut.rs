//! Paths with components missing in front. Files whose paths look alike may be one or many: each
//! folder or inode has a row of its own, and what is sure is that there are as many files as
//! different paths.

use crate::file_row::Row;
use crate::former::is_opened;
use std::collections::BTreeSet;

/// Behind a cut path, before what tells it from those that look alike: in no path.
const MARK: u8 = 0;

/// A cut path, and what tells it from others like it.
pub(crate) fn marked(mut path: Vec<u8>, whose: &[u64]) -> Vec<u8> {
    path.push(MARK);
    for number in whose {
        path.extend_from_slice(format!("{number} ").as_bytes());
    }
    path
}

/// The path without its mark.
pub(crate) fn shown(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == MARK).next().unwrap_or_default()
}

/// Opened regular files by cut paths.
#[derive(Debug, Default)]
pub(crate) struct Alike<'a> {
    seen: BTreeSet<&'a [u8]>,
    /// Files that may be one of those counted.
    pub(crate) more: u64,
}

impl<'a> Alike<'a> {
    /// Whether a row is of an opened regular file that is none of those before.
    pub(crate) fn is_another(&mut self, path: &'a [u8], row: &Row) -> bool {
        let opened = is_opened(row);
        let another = opened && self.seen.insert(shown(path));
        self.more += u64::from(opened && !another);
        another
    }
}
