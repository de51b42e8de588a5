//! A file that will take the place of another: written beside it under a name of its own
//! (`.NAME.running`), then renamed.
//!
//! Runs that write to one path at the same time do each other no harm: a lock on the file beside,
//! which ends with its monitor, says whose it is, and the next run takes a name with its pid. The
//! last to end has the path.

use crate::Error;
use crate::file::identity;
use crate::target::folder_of;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Others may make and remove a file of the same name meanwhile, so often at most.
const TRIES: usize = 8;

/// The open file, its name now and the one that it is to have.
#[derive(Debug)]
pub(crate) struct Beside {
    file: File,
    running: PathBuf,
    path: PathBuf,
}

impl Beside {
    /// Makes the file that will be renamed to `path`, and makes sure that it can be.
    ///
    /// # Errors
    /// If it cannot be made, or what is there under `path` cannot be replaced.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let (file, running) = create(path).map_err(failed)?;
        let created = Self {
            file,
            running,
            path: path.to_owned(),
        };
        match replaceable(path, &created.file) {
            Ok(()) => Ok(created),
            Err(source) => {
                created.remove();
                Err(failed(source))
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn running_path(&self) -> &Path {
        &self.running
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file, which holds `text`, the name that it is to have.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub(crate) fn publish(&mut self, text: &[u8]) -> Result<(), Error> {
        if !is_named(&self.running, &self.file) {
            self.write_anew(text)?;
        }
        fs::rename(&self.running, &self.path).map_err(|source| Error::Rename {
            from: self.running.clone(),
            to: self.path.clone(),
            source,
        })
    }

    /// Where files have no locks another run may have taken the name for left behind.
    fn write_anew(&mut self, text: &[u8]) -> Result<(), Error> {
        let failed = |source| Error::Open {
            path: self.path.clone(),
            source,
        };
        let (mut file, running) = create(&self.path).map_err(failed)?;
        let written = file.write_all(text);
        (self.file, self.running) = (file, running);
        written.map_err(|source| Error::Write {
            path: self.running.clone(),
            source,
        })
    }

    /// Removes it: nothing, or half of a text, was written. If it cannot be, it is only that.
    pub(crate) fn remove(&self) {
        if is_named(&self.running, &self.file) {
            let _ = fs::remove_file(&self.running);
        }
    }
}

/// In the place of a monitor of this pid, which died: removes what was to take the place of `path`
/// if there is nothing in it, and it is not another's. The one that holds something stays.
pub(crate) fn remove_empty(path: &Path, pid: u32) -> Option<PathBuf> {
    let mut left = None;
    for name in [own_name(path, pid), running_name(path)] {
        let Ok(data) = fs::symlink_metadata(&name) else {
            continue;
        };
        if !data.is_file() || is_held(&name) {
            continue;
        }
        if data.len() > 0 {
            left = left.or(Some(name));
        } else {
            // Nobody is told less by an empty file that could not be removed.
            drop(fs::remove_file(&name));
        }
    }
    left
}

/// A new file beside `path`, locked, and its name.
fn create(path: &Path) -> io::Result<(File, PathBuf)> {
    for name in [running_name(path), own_name(path, std::process::id())] {
        for _ in 0..TRIES {
            match OpenOptions::new().write(true).create_new(true).open(&name) {
                Ok(file) => match file.try_lock() {
                    // Taken for left behind before we had the lock.
                    Err(TryLockError::WouldBlock) => {}
                    // Where there are no locks it is ours without one.
                    _ => return Ok((file, name)),
                },
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Err(_) if is_held(&name) => break,
                // A monitor that died left it, or it is a link, which is never followed.
                Err(_) => match fs::remove_file(&name) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                },
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Whether the file of this name belongs to a run.
fn is_held(name: &Path) -> bool {
    if !fs::symlink_metadata(name).is_ok_and(|data| data.is_file()) {
        return false;
    }
    // One that may not be read is another's; what may be done with it the folder decides.
    File::open(name).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn is_named(name: &Path, file: &File) -> bool {
    let named = fs::symlink_metadata(name).map(|data| (data.dev(), data.ino()));
    matches!((named, identity(file)), (Ok(named), Ok(own)) if named == own)
}

/// In a folder with the sticky bit a file is replaced by its owner and the folder's alone, and by
/// who has the right to (`CAP_FOWNER`): that is tried only where `ours` says no.
fn replaceable(path: &Path, ours: &File) -> io::Result<()> {
    const S_ISVTX: u32 = 0o1000;
    let target = match fs::symlink_metadata(path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let folder = fs::metadata(folder_of(path))?;
    let own = ours.metadata()?.uid();
    if folder.mode() & S_ISVTX == 0 || [target.uid(), folder.uid()].contains(&own) {
        return Ok(());
    }
    // No file takes the place of a folder: the kernel first asks whether it may go from where it
    // is (rename(2), EPERM), then says so (EISDIR).
    let mut name = running_name(path).into_os_string();
    name.push(".trial");
    fs::create_dir(&name)?;
    let tried = fs::rename(path, &name);
    fs::remove_dir(&name)?;
    match tried {
        Err(error) if error.kind() != ErrorKind::IsADirectory => Err(error),
        _ => Ok(()),
    }
}

fn running_name(path: &Path) -> PathBuf {
    named(path, ".running")
}

/// Where that one is another run's.
fn own_name(path: &Path, pid: u32) -> PathBuf {
    named(path, &format!(".{pid}.running"))
}

fn named(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(end);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The old text stands until the first ends, then its own, then that of the last.
    #[test]
    fn two_that_write_to_one_path_at_once_do_each_other_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut first = Beside::create(&path).unwrap();
        let mut second = Beside::create(&path).unwrap();
        assert_eq!(names(dir.path()).len(), 3);
        // There is no third name: the pid is one here.
        assert!(Beside::create(&path).is_err());
        remove_empty(&path, std::process::id());
        assert_eq!(names(dir.path()).len(), 3, "they are in use");
        for (beside, text) in [(&mut first, "first"), (&mut second, "second")] {
            beside.file.write_all(text.as_bytes()).unwrap();
            beside.publish(text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["a"]);
    }

    /// As where files have no locks.
    #[test]
    fn one_whose_name_was_taken_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut beside = Beside::create(&path).unwrap();
        fs::remove_file(&beside.running).unwrap();
        fs::write(&beside.running, "").unwrap();
        beside.remove();
        assert_eq!(names(dir.path()), [".a.running"], "another's is left");
        beside.publish(b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }

    #[test]
    fn what_was_left_behind_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(running_name(&path), "").unwrap();
        assert_eq!(remove_empty(&path, 1), None);
        assert!(names(dir.path()).is_empty());
        fs::write(running_name(&path), "half").unwrap();
        assert_eq!(remove_empty(&path, 1), Some(running_name(&path)));
        let beside = Beside::create(&path).unwrap();
        assert_eq!(beside.running, running_name(&path));
        assert_eq!(beside.file.metadata().unwrap().len(), 0);
    }
}
