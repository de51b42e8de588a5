//! Terminals: what one does with keys, and whose it is now (`termios(3)`, `tcgetpgrp(3)`).

use crate::error::{Error, check};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// What a terminal does with keys, as the program in its foreground set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// Input is handed over by lines (`ICANON`); where it is not, a program reads single keys.
    pub lines: bool,
    /// Keys are shown (`ECHO`); where they are not, a program may read a password.
    pub echo: bool,
    /// Ctrl-C and Ctrl-Z are signals (`ISIG`).
    pub signals: bool,
}

/// The modes of the terminal `fd` (`tcgetattr(3)`).
///
/// # Errors
/// If it is no terminal, or is gone.
pub fn modes(fd: BorrowedFd<'_>) -> Result<Modes, Error> {
    let mut settings = std::mem::MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: `settings` is a valid place for the result.
    let result = unsafe { libc::tcgetattr(fd.as_raw_fd(), settings.as_mut_ptr()) };
    check("tcgetattr", i64::from(result))?;
    // SAFETY: the structure is plain integers, and was filled.
    let flags = unsafe { settings.assume_init() }.c_lflag;
    Ok(Modes {
        lines: flags & libc::ICANON != 0,
        echo: flags & libc::ECHO != 0,
        signals: flags & libc::ISIG != 0,
    })
}

/// Whether `fd` is this process's controlling terminal and our process group has its foreground.
pub fn in_foreground(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: integers only.
    let foreground = unsafe { libc::tcgetpgrp(fd.as_raw_fd()) };
    // SAFETY: no arguments, never fails.
    foreground == unsafe { libc::getpgrp() }
}

/// Our controlling terminal, opened anew (`/dev/tty`). Writes fail with `EAGAIN` instead of waiting
/// while it is full, held up by Ctrl-S or written to by another process; those through other
/// descriptors still wait.
///
/// # Errors
/// If we have none.
pub fn open_without_waiting() -> Result<File, Error> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open("/dev/tty")
        .map_err(|source| Error::Call {
            call: "open /dev/tty",
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_is_no_terminal() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(modes(file.as_fd()).unwrap_err().errno(), Some(libc::ENOTTY));
        assert!(!in_foreground(file.as_fd()));
    }
}
