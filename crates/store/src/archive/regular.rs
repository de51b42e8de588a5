//! Files of an archive, opened so that none holds up whoever reads it: anybody may add to the
//! folder, a named pipe or a device too, on which `open` or `read` waits for ever.

use super::folder::read_error;
use crate::Error;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or is no regular file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = match with(path, OFlags::NONBLOCK | OFlags::NOCTTY) {
        // A lease that another holds on a regular file (fcntl(2)) ends soon.
        Err(error) if error.kind() == ErrorKind::WouldBlock && fs::metadata(path)?.is_file() => {
            File::open(path)?
        }
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

/// Opens a folder.
#[cfg(feature = "archive")]
pub(super) fn open_folder(path: &Path) -> io::Result<File> {
    with(path, OFlags::DIRECTORY)
}

fn with(path: &Path, flags: OFlags) -> io::Result<File> {
    let mut how = OpenOptions::new();
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    how.read(true).custom_flags(flags).open(path)
}

/// The first so many bytes of a file.
pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open(path)?.take(bytes_max).read_to_end(&mut text)?;
    Ok(text)
}

/// The same; `None` if there is no such file.
pub(super) fn read_if_there(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
    match read(path, bytes_max) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(read_error(path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_regular_file_alone_is_read_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink(path("file"), path("link")).unwrap();
        assert_eq!(read(&path("file"), 99).unwrap(), b"text");
        assert_eq!(read(&path("link"), 3).unwrap(), b"tex");
        mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["pipe", "zero", "folder"] {
            let error = open(&path(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        }
        assert!(open(&path("socket")).is_err());
        assert_eq!(read_if_there(&path("none"), 9).unwrap(), None);
        assert!(read_if_there(&path("pipe"), 9).is_err());
        #[cfg(feature = "archive")]
        {
            assert!(open_folder(&path("folder")).is_ok());
            let error = open_folder(&path("pipe")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory);
        }
    }
}
