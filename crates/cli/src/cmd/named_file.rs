//! Files that an option names, to be read before anything else happens: of settings, of limits, of
//! a scheduler's accounting.

use anyhow::{Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};
use sys::descriptor::{self, Waiting};

/// A longer file of keys is refused: there are a few dozen.
const FILE_BYTES_MAX: u64 = 1 << 20;

const NOT_REGULAR: &str = "not a regular file";

/// How long a pipe is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is waited for at a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// 10 s for all that comes, to its end.
    ForAll,
    /// 10 s for somebody who opens it to write; who has may take any time.
    ForWriter,
}

/// Opens a regular file, without ever waiting for anybody.
fn open(path: &Path) -> Result<File> {
    let file = open_any(path)?;
    if !file.metadata()?.is_file() {
        bail!(NOT_REGULAR);
    }
    Ok(file)
}

/// Opens whatever is there. What it is must be asked of the file: the name may lead elsewhere by
/// now.
fn open_any(path: &Path) -> Result<File> {
    // Nobody may ever write to a FIFO, and who waits for that is not ended by a signal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        // Sockets and devices without a driver cannot be opened.
        Err(Errno::NXIO | Errno::NODEV) => bail!(NOT_REGULAR),
        opened => Ok(File::from(opened?)),
    }
}

/// The text of a regular file of at most 1 MiB.
///
/// # Errors
/// If it cannot be read, is anything else, or is longer.
pub(super) fn text_of(path: &Path) -> Result<String> {
    Ok(String::from_utf8(bytes_in(open(path)?, FILE_BYTES_MAX)?)?)
}

/// The same, or what comes through a pipe in time: `<(...)` of a shell, `/dev/stdin`.
///
/// # Errors
/// As [`text_of`], and if nobody has written to the pipe and closed it by then.
pub(super) fn text_of_pipe_or_file(path: &Path) -> Result<String> {
    let bytes = bytes_of_pipe_or_file(path, FILE_BYTES_MAX, Wait::ForAll)?;
    Ok(String::from_utf8(bytes)?)
}

/// What a regular file has or what comes through a pipe, at most so many bytes.
///
/// # Errors
/// If it cannot be read, is anything else, or is longer; if what is waited for does not come.
pub(super) fn bytes_of_pipe_or_file(path: &Path, bytes_max: u64, wait: Wait) -> Result<Vec<u8>> {
    bytes_in(open_pipe_or_file(path, wait)?, bytes_max)
}

/// The same to be read piece by piece.
///
/// # Errors
/// If it cannot be opened, or is anything else.
pub(super) fn open_pipe_or_file(path: &Path, wait: Wait) -> Result<Box<dyn Read>> {
    let file = open_any(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() {
        return Ok(Box::new(Pipe::new(file, wait, PATIENCE)));
    }
    if !kind.is_file() {
        bail!("{NOT_REGULAR}, and no pipe");
    }
    Ok(Box::new(file))
}

/// All that comes, at most so many bytes.
///
/// # Errors
/// If it cannot be read, or is longer.
pub(super) fn bytes_in(input: impl Read, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        bail!("larger than {} MiB", bytes_max >> 20);
    }
    Ok(bytes)
}

/// A pipe that does not block, and until when it is waited for.
struct Pipe {
    file: File,
    wait: Wait,
    patience: Duration,
    until: Instant,
}

impl Pipe {
    fn new(file: File, wait: Wait, patience: Duration) -> Self {
        Self {
            file,
            wait,
            patience,
            until: Instant::now() + patience,
        }
    }

    /// Whether it has something to read, or was closed by all who had it open to write.
    fn is_ready(&self, wait: Duration) -> std::io::Result<bool> {
        let fds = [Waiting {
            fd: Some(self.file.as_fd()),
            exceptional: false,
        }];
        let ready = descriptor::poll(&fds, Some(wait.as_nanos() as u64));
        Ok(ready.map_err(std::io::Error::other)?.contains(&true))
    }

    fn late(&self) -> std::io::Error {
        let why = match self.wait {
            Wait::ForAll => "nobody wrote to the pipe and closed it within 10 s",
            Wait::ForWriter => "nobody opened the pipe to write within 10 s",
        };
        std::io::Error::new(ErrorKind::TimedOut, why)
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            // A pipe that nobody opened yet is at its end for a read: only a wait tells.
            let left = self.until.saturating_duration_since(Instant::now());
            let is_late = !self.is_ready(left)?;
            if is_late && self.wait == Wait::ForAll {
                return Err(self.late());
            }
            match self.file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Somebody has it open.
                    if is_late {
                        self.until = Instant::now() + self.patience;
                    }
                }
                // Whoever had it open may have closed it since the wait: then this is its end.
                Ok(0) if is_late && !self.is_ready(Duration::ZERO)? => return Err(self.late()),
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(path("fifo"))
            .status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("fifo", path("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let null = "/dev/null".into();
        let names = ["fifo", "link", "socket", "."].map(path);
        for path in names.into_iter().chain([null]) {
            let error = text_of(&path).unwrap_err();
            assert_eq!(error.to_string(), NOT_REGULAR, "{}", path.display());
        }
        std::fs::write(path("file"), "x = 1\n").unwrap();
        std::os::unix::fs::symlink("file", path("to file")).unwrap();
        assert_eq!(text_of(&path("file")).unwrap(), "x = 1\n");
        assert_eq!(text_of(&path("to file")).unwrap(), "x = 1\n");
        assert!(text_of(&path("none")).is_err());
    }

    #[test]
    fn what_comes_through_a_pipe_is_read_to_its_end() {
        let text = "memory = 1\n".repeat(10_000);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let sent = text.clone();
        let thread = std::thread::spawn(move || {
            use std::io::Write;
            writer.write_all(sent.as_bytes())
        });
        let got = text_of_pipe_or_file(Path::new(&path));
        thread.join().unwrap().unwrap();
        assert_eq!(got.unwrap(), text);
        let error = text_of_pipe_or_file(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.to_string(), "not a regular file, and no pipe");
    }

    #[test]
    fn a_pipe_is_waited_for_in_two_ways() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let at_once = |wait| Pipe::new(open_any(&fifo).unwrap(), wait, Duration::ZERO);
        let why = |wait| {
            let error = bytes_in(at_once(wait), 1).unwrap_err();
            error.to_string()
        };
        assert!(why(Wait::ForAll).starts_with("nobody wrote to the pipe"));
        assert!(why(Wait::ForWriter).starts_with("nobody opened the pipe"));
        let mut pipe = at_once(Wait::ForWriter);
        let mut writer = File::options().write(true).open(&fifo).unwrap();
        assert!(why(Wait::ForAll).starts_with("nobody wrote to the pipe"));
        let thread = std::thread::spawn(move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).map(|_| text)
        });
        // Whoever reads finds it open and empty for a while.
        for _ in 0..100 {
            std::thread::yield_now();
        }
        std::io::Write::write_all(&mut writer, b"late").unwrap();
        drop(writer);
        assert_eq!(thread.join().unwrap().unwrap(), "late");
    }

    #[test]
    fn a_file_has_a_mebibyte_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut text = "#".repeat(1 << 20);
        std::fs::write(&path, &text).unwrap();
        assert_eq!(text_of(&path).unwrap().len(), 1 << 20);
        text.push('#');
        std::fs::write(&path, &text).unwrap();
        let error = text_of(&path).unwrap_err();
        assert_eq!(error.to_string(), "larger than 1 MiB");
    }
}
