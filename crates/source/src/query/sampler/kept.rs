//! A file of procfs that stays open between readings: its content is made anew at each read from
//! offset 0, and after the end of its process reading fails with `ESRCH`, so it can never tell of a
//! later process of that pid.

use crate::root::{errno, process_absent};
use record::value::Absent;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A kernel file longer than this is cut; `status` and `stat` are below 4 KiB.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// The bound on files kept open, and how many there are.
#[derive(Debug)]
pub(super) struct Descriptors {
    kept: u64,
    kept_max: u64,
    ran_out: bool,
    opened: u64,
}

impl Descriptors {
    pub(super) fn new(kept_max: u64) -> Self {
        Self {
            kept: 0,
            kept_max,
            ran_out: false,
            opened: 0,
        }
    }

    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// Files opened by path so far.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// Whether an open failed since the last call because no descriptor was free.
    pub(super) fn ran_out(&mut self) -> bool {
        std::mem::take(&mut self.ran_out)
    }

    /// Whether there is room for one that is not read in each pass: half of it is for those.
    fn has_room(&self, seldom: bool) -> bool {
        self.kept
            < if seldom {
                self.kept_max / 2
            } else {
                self.kept_max
            }
    }

    /// Whether so many are kept that those that are seldom read should be given back.
    pub(super) fn is_scarce(&self) -> bool {
        !self.has_room(true)
    }

    pub(super) fn halve(&mut self) {
        self.kept_max /= 2;
    }

    /// Opens `path`, noting when that fails for want of a descriptor.
    pub(super) fn open(&mut self, path: &Path) -> io::Result<File> {
        self.opened += 1;
        File::open(path).inspect_err(|error| {
            let full = matches!(error.raw_os_error(), Some(errno::EMFILE | errno::ENFILE));
            self.ran_out |= full;
        })
    }
}

/// A place for one kept-open file; `SELDOM` if it is not read in each pass.
#[derive(Debug, Default)]
pub(super) struct Kept<const SELDOM: bool = false>(Option<File>);

impl<const SELDOM: bool> Kept<SELDOM> {
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Reads the file, opening `path` if it is not open, and keeps it open while there is room.
    /// The content is `buffer[..n]`.
    pub(super) fn read(
        &mut self,
        path: impl FnOnce() -> std::path::PathBuf,
        descriptors: &mut Descriptors,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, Absent> {
        if let Some(file) = &self.0 {
            return read_at_start(file, buffer).map_err(|error| process_absent(&error));
        }
        let file = descriptors
            .open(&path())
            .map_err(|error| process_absent(&error))?;
        let read = read_at_start(&file, buffer).map_err(|error| process_absent(&error))?;
        self.adopt(file, descriptors);
        Ok(read)
    }

    /// Takes over a file that is open already, if there is room; else it is closed.
    pub(super) fn adopt(&mut self, file: File, descriptors: &mut Descriptors) {
        if self.0.is_none() && descriptors.has_room(SELDOM) {
            descriptors.kept += 1;
            self.0 = Some(file);
        }
    }

    /// The open file.
    pub(super) fn file(&self) -> Option<&File> {
        self.0.as_ref()
    }

    pub(super) fn close(&mut self, descriptors: &mut Descriptors) {
        if self.0.take().is_some() {
            descriptors.kept = descriptors.kept.saturating_sub(1);
        }
    }
}

/// `pread` from offset 0 in one call, with a buffer that grows until the file fits: a second call
/// would read a content made anew.
pub(super) fn read_at_start(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        let read = file.read_at(buffer, 0)?;
        if read < buffer.len() || buffer.len() >= BUFFER_BYTES_MAX {
            return Ok(read);
        }
        buffer.resize(buffer.len() * 2, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn no_more_than_the_bound_is_kept() {
        let mut descriptors = Descriptors::new(1);
        let mut buffer = vec![0; 64];
        let path = || PathBuf::from("/proc/self/status");
        let (mut first, mut second) = (Kept::<false>::default(), Kept::<false>::default());
        let length = first.read(path, &mut descriptors, &mut buffer).unwrap();
        assert!(length > 64, "the buffer grew");
        second.read(path, &mut descriptors, &mut buffer).unwrap();
        assert!(first.is_open() && !second.is_open());
        first.close(&mut descriptors);
        first.close(&mut descriptors);
        assert_eq!(descriptors.kept(), 0);
        // Half of one is no place for those that are read seldom.
        let mut seldom = Kept::<true>::default();
        seldom.read(path, &mut descriptors, &mut buffer).unwrap();
        assert!(!seldom.is_open());
    }
}
