//! A file that is there when it is whole, and not before.

use crate::Error;
use crate::file::write_file;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes a file that is not there before it is whole. What is no file, such as a device or a pipe,
/// is written to; a link stays, and what it leads to is replaced.
///
/// # Errors
/// If it cannot be written, or is there and may not be replaced: nothing is changed then.
pub fn write(path: &Path, text: &[u8], may_replace: bool) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let there = fs::metadata(path).ok();
    if there
        .as_ref()
        .is_some_and(|data| !data.is_file() && !data.is_dir())
    {
        return write_file(path, |out| out.write_all(text));
    }
    let whole = match there {
        Some(_) => fs::canonicalize(path).map_err(failed)?,
        None => path.to_owned(),
    };
    let folder = whole
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = aside(folder.unwrap_or(Path::new(".")), ".running").map_err(failed)?;
    fill(&mut file, text).map_err(failed)?;
    let kept = match may_replace {
        true => file.persist(&whole),
        false => file.persist_noclobber(&whole),
    };
    kept.map(drop).map_err(|error| failed(error.error))
}

/// A hidden file in a folder, whose name ends so; it is gone unless it is kept.
pub(crate) fn aside(folder: &Path, end: &str) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".")
        .suffix(end)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// Brings its text to the device.
pub(crate) fn fill(file: &mut NamedTempFile, text: &[u8]) -> io::Result<()> {
    file.write_all(text)?;
    file.as_file().sync_data()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test that meets what it did not expect fails by panicking"
    )]
    use super::*;

    #[test]
    fn a_file_is_replaced_where_that_is_allowed_and_a_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("b"));
        write(&path, b"1", false).unwrap();
        assert!(write(&path, b"2", false).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"3", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
        assert!(link.is_symlink());
        assert!(write(folder.path(), b"4", true).is_err());
        assert!(write(&folder.path().join("no/such"), b"4", true).is_err());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "nothing is left"
        );
    }

    #[test]
    fn a_device_is_written_to_and_stays() {
        assert!(write(Path::new("/dev/full"), b"x", true).is_err());
        write(Path::new("/dev/null"), b"x", false).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
