//! The file that keeps a catalogue from one command to the next, which many processes share.
//!
//! It is a cache, but it is not thrown away under others: SQLite names what is beside it by its
//! path, so that those who have the old file open would share that with whoever makes a new one.
//! Whoever uses it holds a lock together with the others, and it is replaced by one who has that
//! alone.

use super::folder::{read_error, remove};
use crate::Error;
use crate::disk::{try_lock, try_share};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Changes with the tables: a catalogue of another version is made anew.
const VERSION: i64 = 3;

/// For so long another process that uses the same catalogue is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// For so long whoever replaces it waits for others, who may be about to end.
const MOMENT: Duration = Duration::from_millis(500);

/// The pause between two looks at whether it is free.
const PAUSE: Duration = Duration::from_millis(5);

const TABLES: &str = include_str!("catalogue.sql");

/// What is beside the file: what SQLite has not yet written into it, and where that is.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Opens the catalogue in a file, with what says that it is used; a spoiled one is made anew.
pub(super) fn open(path: &Path) -> Result<(Connection, Option<File>), Error> {
    let users = share(path)?;
    let connection = match open_patiently(path) {
        Err(error) if is_spoiled(&error) => replace(path, users.as_ref())?,
        opened => opened?,
    };
    Ok((connection, users))
}

/// Makes a spoiled catalogue anew, unless others use it.
pub(super) fn renew(path: &Path) -> Result<(), Error> {
    let users = share(path)?;
    alone(path, users.as_ref(), || remove_all(path))
}

/// A catalogue that no file keeps.
pub(super) fn in_memory() -> Result<Connection, Error> {
    prepared(Connection::open_in_memory()?)
}

/// Whether a catalogue holds something else than it should: it is of no use to anybody. One that is
/// in use, or on a full disk, is not spoiled.
pub(super) fn is_spoiled(error: &Error) -> bool {
    let Error::Catalogue { source } = error else {
        return false;
    };
    let rusqlite::Error::SqliteFailure(failure, _) = source else {
        return true;
    };
    // The file ends early.
    failure.extended_code == ffi::SQLITE_IOERR_SHORT_READ
        || !matches!(
            failure.code,
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::OperationInterrupted
        )
}

/// The lock of those who use a catalogue, held with the others; none on a file system that has no
/// such locks.
fn share(path: &Path) -> Result<Option<File>, Error> {
    let path = beside(path, ".users");
    let opened = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o644)
        .open(&path);
    let users = opened.map_err(|source| Error::Open {
        path: path.clone(),
        source,
    })?;
    let until = Instant::now() + PATIENCE;
    loop {
        match try_share(&users) {
            Ok(true) => return Ok(Some(users)),
            Ok(false) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(false) => return Err(read_error(&path, io::Error::from(ErrorKind::WouldBlock))),
            Err(_) => return Ok(None),
        }
    }
}

/// A new one in the place of a spoiled one, if nobody else uses it.
fn replace(path: &Path, users: Option<&File>) -> Result<Connection, Error> {
    alone(path, users, || {
        match open_patiently(path) {
            Err(error) if is_spoiled(&error) => {}
            // Another replaced it.
            opened => return opened,
        }
        remove_all(path)?;
        open_patiently(path)
    })
}

/// Does something while nobody else uses the catalogue; fails if somebody does for longer than a
/// moment.
fn alone<T>(
    path: &Path,
    users: Option<&File>,
    done: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let in_use = |source| read_error(path, source);
    let users = users.ok_or_else(|| in_use(io::Error::from(ErrorKind::Unsupported)))?;
    let until = Instant::now() + MOMENT;
    while !try_lock(users).map_err(in_use)? {
        if Instant::now() >= until {
            return Err(in_use(io::Error::from(ErrorKind::WouldBlock)));
        }
        thread::sleep(PAUSE);
    }
    let made = done();
    // The kernel gives the one lock back before it takes the other.
    if !try_share(users).map_err(in_use)? {
        return Err(in_use(io::Error::from(ErrorKind::WouldBlock)));
    }
    made
}

fn remove_all(path: &Path) -> Result<(), Error> {
    remove(path)?;
    BESIDE.iter().try_for_each(|end| remove(&beside(path, end)))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// SQLite itself does not wait while others make or recover the same file.
fn open_patiently(path: &Path) -> Result<Connection, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        match open_file(path) {
            Err(error) if is_in_use(&error) && Instant::now() < until => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

fn is_in_use(error: &Error) -> bool {
    matches!(
        error,
        Error::Catalogue {
            source: rusqlite::Error::SqliteFailure(failure, _),
        } if matches!(
            failure.code,
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

fn open_file(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // What a crash takes is made again from the files.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    prepared(connection)
}

fn prepared(connection: Connection) -> Result<Connection, Error> {
    if version(&connection)? != VERSION {
        // Of two who find none one makes it, and the other waits.
        let begin = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&connection, begin)?;
        match version(&transaction)? {
            0 => {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            VERSION => {}
            _ => {
                return Err(Error::Catalogue {
                    source: rusqlite::Error::InvalidQuery,
                });
            }
        }
        transaction.commit()?;
    }
    Ok(connection)
}

fn version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tables(connection: &Connection) -> i64 {
        let ask = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        connection.query_row(ask, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn one_that_is_spoiled_is_made_anew_and_nobody_else_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.sqlite");
        let (first, users) = open(&path).unwrap();
        let all = tables(&first);
        assert!(all > 5);
        first.pragma_update(None, "user_version", 99).unwrap();
        // Another has it: it stays.
        assert!(matches!(open(&path), Err(Error::Read { .. })));
        assert!(matches!(renew(&path), Err(Error::Read { .. })));
        assert_eq!(tables(&first), all);
        drop((first, users));
        let (anew, users) = open(&path).unwrap();
        assert_eq!(version(&anew).unwrap(), VERSION);
        drop((anew, users));
        fs::write(
            &path,
            "no database, and longer than the head of one".repeat(9),
        )
        .unwrap();
        let (anew, _) = open(&path).unwrap();
        assert_eq!(tables(&anew), all);
    }

    #[test]
    fn one_that_is_in_use_is_not_spoiled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.sqlite");
        let (_, users) = open(&path).unwrap();
        assert!(users.is_some());
        let before = fs::read(&path).unwrap();
        let holder = Connection::open(&path).unwrap();
        let begin = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&holder, begin).unwrap();
        // Whoever finds what he looks for waits for nobody.
        let begun = Instant::now();
        let (other, _) = open(&path).unwrap();
        assert!(begun.elapsed() < PATIENCE);
        other.busy_timeout(Duration::ZERO).unwrap();
        let busy = Transaction::new_unchecked(&other, begin).unwrap_err();
        let busy = Error::from(busy);
        assert!(is_in_use(&busy) && !is_spoiled(&busy), "{busy:?}");
        drop(transaction);
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn many_at_once_make_one() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..8 {
            let path = folder.path().join(format!("{round}.sqlite"));
            let names = thread::scope(|scope| {
                let one = || {
                    let (connection, _users) = open(&path).unwrap();
                    let ask = "SELECT name FROM revision";
                    let name: String = connection.query_row(ask, [], |row| row.get(0)).unwrap();
                    name
                };
                let all: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
                all.into_iter()
                    .map(|one| one.join().unwrap())
                    .collect::<Vec<_>>()
            });
            assert!(names.windows(2).all(|pair| pair[0] == pair[1]), "{names:?}");
        }
    }
}
