//! Files that an option names, to be read before anything else happens: of settings, of limits.

use anyhow::{Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A longer file is refused: there are a few dozen keys.
const FILE_BYTES_MAX: u64 = 1 << 20;

const NOT_REGULAR: &str = "not a regular file";

/// Opens a regular file, without ever waiting for anybody.
///
/// # Errors
/// If it cannot be opened, or is anything else.
pub(super) fn open(path: &Path) -> Result<File> {
    // Nobody may ever write to a FIFO, and who waits for that is not ended by a signal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        // Sockets and devices without a driver cannot be opened.
        Err(Errno::NXIO | Errno::NODEV) => bail!(NOT_REGULAR),
        opened => File::from(opened?),
    };
    // Of what was opened: the name may lead elsewhere by now.
    if !file.metadata()?.is_file() {
        bail!(NOT_REGULAR);
    }
    Ok(file)
}

/// The text of a regular file of at most 1 MiB.
///
/// # Errors
/// If it cannot be read, is anything else, or is longer.
pub(super) fn text_of(path: &Path) -> Result<String> {
    let mut text = String::new();
    let file = open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        bail!("larger than 1 MiB");
    }
    Ok(text)
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
