//! Disks that die or are full.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use store::disk::{Disk, RealDisk};

/// A disk that stands still after so many steps; of the last append only the front arrives.
#[derive(Clone)]
pub(crate) struct Dying {
    pub(crate) steps: Arc<AtomicUsize>,
    pub(crate) torn_bytes: usize,
}

impl Dying {
    pub(crate) fn after(steps: usize, torn_bytes: usize) -> Self {
        Self {
            steps: Arc::new(AtomicUsize::new(steps)),
            torn_bytes,
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.steps.load(SeqCst) == 0
    }

    fn step(&self) -> io::Result<()> {
        let left = self.steps.load(SeqCst).checked_sub(1);
        let left = left.ok_or_else(|| io::Error::other("dead"))?;
        self.steps.store(left, SeqCst);
        Ok(())
    }
}

impl Disk for Dying {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.make_folder(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        RealDisk.create(path)
    }
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if self.steps.load(SeqCst) == 1 {
            self.steps.store(0, SeqCst);
            RealDisk.append(file, &bytes[..self.torn_bytes.min(bytes.len())])?;
            return Err(io::Error::other("dead"));
        }
        self.step()?;
        RealDisk.append(file, bytes)
    }
    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.step()?;
        RealDisk.cut(file, bytes)
    }
    fn sync(&self, _: &File) -> io::Result<()> {
        self.step()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove(path)
    }
}

/// A disk that is full for some appends.
pub(crate) struct Full<'a>(pub(crate) &'a AtomicBool);

impl Disk for Full<'_> {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_folder(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if self.0.load(SeqCst) {
            RealDisk.append(file, &bytes[..bytes.len() / 2])?;
            return Err(io::Error::from_raw_os_error(28));
        }
        RealDisk.append(file, bytes)
    }
    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        RealDisk.cut(file, bytes)
    }
    fn sync(&self, file: &File) -> io::Result<()> {
        RealDisk.sync(file)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}
