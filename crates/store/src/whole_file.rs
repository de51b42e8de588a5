//! A file that is there when it is whole, and not before.

use crate::Error;
use crate::target::folder_of;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that takes the place of another, or of none, once it is kept. What is no file, such as a
/// device or a pipe, is written to at once; a link stays, and what it leads to is replaced.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    /// It stands aside until it is whole.
    aside: Option<NamedTempFile>,
}

impl WholeFile {
    /// A file to be, and what is to be written to.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> Result<(Self, File), Error> {
        let create = || {
            let there = fs::metadata(path).ok();
            if is_passage(path, there.as_ref()) {
                let whole = Self {
                    path: path.to_owned(),
                    aside: None,
                };
                return Ok((whole, File::create(path)?));
            }
            let path = match there {
                Some(_) => fs::canonicalize(path)?,
                None => path.to_owned(),
            };
            let folder = folder_of(&path);
            fs::metadata(folder)?;
            let aside = aside(folder, ".running")?;
            if let Some(there) = there.filter(Metadata::is_file) {
                aside.as_file().set_permissions(there.permissions())?;
            }
            let file = aside.as_file().try_clone()?;
            let aside = Some(aside);
            Ok((Self { path, aside }, file))
        };
        create().map_err(|source| failed(path, source))
    }

    /// It is whole.
    ///
    /// # Errors
    /// If it is there and may not be replaced, or cannot be: nothing is changed then.
    pub fn keep(self, may_replace: bool) -> Result<(), Error> {
        let Self { path, aside } = self;
        let Some(file) = aside else {
            return Ok(());
        };
        let synced = file.as_file().sync_data();
        synced.map_err(|source| failed(&path, source))?;
        let kept = match may_replace {
            true => file.persist(&path),
            false => file.persist_noclobber(&path),
        };
        kept.map(drop).map_err(|error| failed(&path, error.error))
    }
}

/// Whether what is written there goes on to somewhere else.
fn is_passage(path: &Path, there: Option<&Metadata>) -> bool {
    let is_other = |data: &Metadata| !data.is_file() && !data.is_dir();
    // `/dev/stdout` may be a file, which is not ours to replace.
    let is_own = path.starts_with("/dev") || path.starts_with("/proc");
    there.is_some_and(|data| is_other(data) || is_own)
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

/// Writes a file that is not there before it is whole, as [`WholeFile`] does.
///
/// # Errors
/// If it cannot be written, or is there and may not be replaced: nothing is changed then.
pub fn write(path: &Path, text: &[u8], may_replace: bool) -> Result<(), Error> {
    let (whole, mut file) = WholeFile::create(path)?;
    file.write_all(text)
        .map_err(|source| failed(path, source))?;
    whole.keep(may_replace)
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
    fn what_is_not_kept_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let left = || fs::read_dir(folder.path()).unwrap().count();
        let (whole, mut file) = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(whole);
        assert_eq!(left(), 0);
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let (whole, mut file) = WholeFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        whole.keep(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, left()), (0o600, 1));
    }

    #[test]
    fn a_device_is_written_to_and_stays() {
        assert!(write(Path::new("/dev/full"), b"x", true).is_err());
        write(Path::new("/dev/null"), b"x", false).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
