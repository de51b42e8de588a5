//! Where the rows of a reading go: through the keeper into the dataset, or no further than this
//! process.

use super::here::Written;
use super::keeper::Kept;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use store::disk::Disk;
use store::segment::Writer;
use sys::memfd;

/// The live segments.
pub(super) type Segments = Writer<Place>;

/// Where they lie.
#[derive(Debug)]
pub(super) enum Place {
    /// In a dataset.
    Kept(Kept),
    /// Nowhere: the bytes wait for who reads them.
    Here(Written),
}

impl Disk for Place {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.make_folder(path),
            Self::Here(_) => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        match self {
            Self::Kept(kept) => kept.create(path),
            // It stays empty.
            Self::Here(_) => memfd::create(c"plimsoll", 0).map_err(io::Error::other),
        }
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.append(file, bytes),
            Self::Here(written) => {
                let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                written.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.cut(file, bytes),
            Self::Here(_) => Ok(()),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.sync(file),
            Self::Here(_) => Ok(()),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.rename(from, to),
            Self::Here(_) => Ok(()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Kept(kept) => kept.remove(path),
            Self::Here(_) => Ok(()),
        }
    }
}
