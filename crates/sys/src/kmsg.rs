//! The kernel's log: `/dev/kmsg`, a record at a time.

use crate::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The log, from the oldest record that is kept.
#[derive(Debug)]
pub struct Log(File);

/// What a reading gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A record of so many bytes.
    Record(usize),
    /// Records were overwritten before they were read: the next one is the oldest that is kept.
    Lost,
    /// There is none now.
    Nothing,
}

/// Opens the log at `path`.
///
/// # Errors
/// `EPERM` where only root may read it (`kernel.dmesg_restrict`).
pub fn open(path: &Path) -> io::Result<Log> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    Ok(Log(options.open(path)?))
}

impl Log {
    /// The next record; `buffer` must hold any (8 KiB).
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn next(&mut self, buffer: &mut [u8]) -> Result<Next, Error> {
        loop {
            return match self.0.read(buffer) {
                Ok(0) => Ok(Next::Nothing),
                Ok(length) => Ok(Next::Record(length)),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => Ok(Next::Nothing),
                    Some(libc::EPIPE) => Ok(Next::Lost),
                    _ => Err(Error::Call {
                        call: "read /dev/kmsg",
                        source: error,
                    }),
                },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_the_log_is_read_record_by_record() {
        let mut log = match open(Path::new("/dev/kmsg")) {
            Ok(log) => log,
            Err(error) => return println!("skipped: {error}"),
        };
        let mut buffer = [0; 8192];
        let Next::Record(length) = log.next(&mut buffer).unwrap() else {
            return println!("skipped: the log is empty");
        };
        let record = std::str::from_utf8(&buffer[..length]).unwrap();
        let (head, _) = record.split_once(';').unwrap();
        assert!(
            head.split(',')
                .take(3)
                .all(|word| word.parse::<u64>().is_ok())
        );
        assert!(record.ends_with('\n'));
        // To its end without waiting.
        while log.next(&mut buffer).unwrap() != Next::Nothing {}
    }
}
