//! Who uses the shared programs: byte-range locks on one file (`fcntl(2)`, open file description
//! locks).
//!
//! The kernel drops them when their owner dies, however it dies. Bytes of the file: one for each
//! run slot (held for writing by its run), one for "I use the programs" of each set (held for
//! reading by every user), one that is held while the programs are loaded, found or removed, and
//! one for "I have this file open" (held for reading).
//!
//! Each build has a file of its own. One that nobody has open is removed by whoever sweeps; who
//! opens a file makes sure, under the last byte, that it is still the one of that name.

use super::layout::RUN_SLOTS;
use crate::error::{Error, check};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

const TASKS_BYTE: i64 = RUN_SLOTS as i64;
const CHANGE_BYTE: i64 = TASKS_BYTE + 1;
const OPEN_BYTE: i64 = CHANGE_BYTE + 1;
const FILES_BYTE: i64 = OPEN_BYTE + 1;
const TIMES_BYTE: i64 = FILES_BYTE + 1;
/// Most times that a file is opened anew because a sweeper removed it in the same moment.
const OPENINGS_MAX: usize = 100;
/// Longer than a load takes on a busy machine; then the other one hangs or is stopped.
const CHANGE_PATIENCE: Duration = Duration::from_secs(10);

/// Whoever uses a set of programs.
#[derive(Debug, Clone, Copy)]
pub(super) enum User {
    /// Of those that follow processes: every run.
    Tasks,
    /// Of those that follow files.
    Files,
    /// Of those that take the time of calls.
    Times,
}

impl User {
    fn byte(self) -> i64 {
        match self {
            Self::Tasks => TASKS_BYTE,
            Self::Files => FILES_BYTE,
            Self::Times => TIMES_BYTE,
        }
    }
}

/// The lock file, opened for one owner. Its locks go with it.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// The right to load, find or remove the programs; ends when dropped.
pub(super) struct Change<'a>(&'a Lock);

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // Unlocking what one holds fails only on a closed descriptor.
        let _ = self.0.set(libc::F_UNLCK, CHANGE_BYTE);
    }
}

impl Lock {
    /// Opens the lock file, making it if need be. As long as it is open it is not removed.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        for _ in 0..OPENINGS_MAX {
            let lock = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(path)
                .map(|file| Self { file })
                .map_err(open_error)?;
            if lock.set(libc::F_RDLCK, OPEN_BYTE).is_ok() && lock.is_at(path) {
                return Ok(lock);
            }
            std::thread::yield_now();
        }
        Err(open_error(io::ErrorKind::ResourceBusy.into()))
    }

    /// Removes the lock file if nobody has it open; whether it is gone.
    pub(super) fn remove_unused(path: &Path) -> bool {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let Ok(lock) = opened.map(|file| Self { file }) else {
            return !path.exists();
        };
        let mut whole = range(libc::F_WRLCK, 0);
        whole.l_len = 0; // to the end of whatever the file may become: every byte
        lock.call(libc::F_OFD_SETLK, &mut whole).is_ok()
            && lock.is_at(path)
            && std::fs::remove_file(path).is_ok()
    }

    /// Whether `path` still names this file.
    fn is_at(&self, path: &Path) -> bool {
        let (Ok(ours), Ok(there)) = (self.file.metadata(), std::fs::symlink_metadata(path)) else {
            return false;
        };
        (ours.dev(), ours.ino()) == (there.dev(), there.ino())
    }

    /// Waits, not for ever, until nobody else loads or removes the programs.
    pub(super) fn begin_change(&self) -> Result<Change<'_>, Error> {
        let since = Instant::now();
        loop {
            match self.set(libc::F_WRLCK, CHANGE_BYTE) {
                Ok(()) => return Ok(Change(self)),
                Err(error) if since.elapsed() > CHANGE_PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Becomes a user of the programs.
    pub(super) fn enter(&self, user: User) -> Result<(), Error> {
        self.set(libc::F_RDLCK, user.byte())
    }

    /// Stops being a user of the programs.
    pub(super) fn leave(&self, user: User) -> Result<(), Error> {
        self.set(libc::F_UNLCK, user.byte())
    }

    /// Whether anybody else uses the programs.
    pub(super) fn others(&self, user: User) -> Result<bool, Error> {
        let mut range = range(libc::F_WRLCK, user.byte());
        self.call(libc::F_OFD_GETLK, &mut range)?;
        Ok(i32::from(range.l_type) != libc::F_UNLCK)
    }

    /// Takes the first run slot that no living run holds.
    pub(super) fn take_slot(&self) -> Result<u32, Error> {
        let mut last = None;
        for slot in 0..RUN_SLOTS {
            match self.set(libc::F_WRLCK, i64::from(slot)) {
                Ok(()) => return Ok(slot),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(Error::BadMessage(0)))
    }

    fn set(&self, kind: i32, byte: i64) -> Result<(), Error> {
        self.call(libc::F_OFD_SETLK, &mut range(kind, byte))
    }

    fn call(&self, command: i32, range: &mut libc::flock) -> Result<(), Error> {
        // SAFETY: the descriptor is open, and the kernel reads and writes one `flock` for these
        // commands.
        let result = unsafe { libc::fcntl(self.file.as_raw_fd(), command, range) };
        check("lock of the in-kernel programs", result.into())?;
        Ok(())
    }
}

fn open_error(source: io::Error) -> Error {
    Error::Call {
        call: "open of the lock of the in-kernel programs",
        source,
    }
}

fn range(kind: i32, byte: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    }
}

/// Makes the folder of the lock file.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => std::fs::create_dir_all(folder),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Does so when it is dropped.
    struct OnDrop<F: Fn()>(F);

    impl<F: Fn()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    #[test]
    fn slots_and_users_are_counted_by_the_kernel() {
        let path = std::env::temp_dir().join(format!("plimsoll-lock-{}", std::process::id()));
        let (one, two) = (Lock::open(&path).unwrap(), Lock::open(&path).unwrap());
        one.enter(User::Tasks).unwrap();
        assert!(!one.others(User::Tasks).unwrap());
        two.enter(User::Tasks).unwrap();
        assert!(one.others(User::Tasks).unwrap());
        assert_eq!(one.take_slot().unwrap(), 0);
        assert_eq!(two.take_slot().unwrap(), 1);
        drop(one);
        assert!(!two.others(User::Tasks).unwrap());
        let three = Lock::open(&path).unwrap();
        assert_eq!(three.take_slot().unwrap(), 0);
        let change = two.begin_change().unwrap();
        assert!(three.set(libc::F_WRLCK, CHANGE_BYTE).is_err());
        drop(change);
        assert!(three.set(libc::F_WRLCK, CHANGE_BYTE).is_ok());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_somebody_has_open_is_not_removed() {
        let path = std::env::temp_dir().join(format!("plimsoll-open-{}", std::process::id()));
        let lock = Lock::open(&path).unwrap();
        assert!(!Lock::remove_unused(&path) && path.exists());
        drop(lock);
        assert!(Lock::remove_unused(&path) && !path.exists());
        assert!(Lock::remove_unused(&path), "gone is gone");
        // Builds that know no such byte hold others while they use the file.
        let older = Lock::open(&path).unwrap();
        older.set(libc::F_UNLCK, OPEN_BYTE).unwrap();
        older.enter(User::Tasks).unwrap();
        assert!(!Lock::remove_unused(&path) && path.exists());
        drop(older);
        assert!(Lock::remove_unused(&path));
    }

    #[test]
    fn who_opens_while_it_is_removed_gets_the_file_of_that_name() {
        let path = std::env::temp_dir().join(format!("plimsoll-swept-{}", std::process::id()));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    Lock::remove_unused(&path);
                    // Without a pause it may take away a hundred files in a row before they are
                    // locked.
                    std::thread::sleep(Duration::from_micros(20));
                }
            });
            // However the other one ends.
            let _end = OnDrop(|| is_over.store(true, Ordering::Relaxed));
            for _ in 0..500 {
                let lock = Lock::open(&path).unwrap();
                assert!(lock.is_at(&path));
                std::thread::yield_now();
                assert!(lock.is_at(&path), "removed while it was open");
            }
        });
        // Nobody may be left to have removed it.
        Lock::remove_unused(&path);
    }
}
