//! The few things that the dataset does to a file system, so that a test can let it die between any
//! two of them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Of folders and files that are made: the owner writes, the group reads.
const FOLDER_MODE: u32 = 0o750;
const FILE_MODE: u32 = 0o640;

/// Where a dataset lies.
pub trait Disk: Sync {
    /// Makes a folder and those above it that are missing.
    ///
    /// # Errors
    /// The kernel's.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes a file that must not be there yet.
    ///
    /// # Errors
    /// The kernel's.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Appends all bytes.
    ///
    /// # Errors
    /// The kernel's; some of the bytes may be there then.
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file.
    ///
    /// # Errors
    /// The kernel's.
    fn cut(&self, file: &File, bytes: u64) -> io::Result<()>;
    /// Returns when what was written is on the device.
    ///
    /// # Errors
    /// The kernel's.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Gives a file another name, in whose place there may be one.
    ///
    /// # Errors
    /// The kernel's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// The kernel's.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(FOLDER_MODE).create(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(path)
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        // The name itself: of the folder, which may be on a file system that cannot.
        if let Some(folder) = to.parent() {
            drop(File::open(folder).and_then(|folder| folder.sync_all()));
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Locks a file as long as it is open; `false` if somebody else has.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    lock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
}

/// Locks a file as long as it is open, together with others who do the same; `false` if somebody
/// has it alone.
#[cfg(feature = "archive")]
pub(crate) fn try_share(file: &File) -> io::Result<bool> {
    lock(file, rustix::fs::FlockOperation::NonBlockingLockShared)
}

fn lock(file: &File, how: rustix::fs::FlockOperation) -> io::Result<bool> {
    match rustix::fs::flock(file, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
