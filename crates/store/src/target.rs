//! Which file a path means: links are followed, one to a file that is not there yet too.

use crate::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// As many links as the kernel follows in one path (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// A name in a folder: the same of every path to a file, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Device and inode.
    folder: (u64, u64),
    name: OsString,
}

impl Target {
    /// That of `path`.
    ///
    /// # Errors
    /// If it names no file, or its folder or a link of it cannot be read.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let path = resolve(path)?;
        let no_name = || Error::NoName {
            prefix: path.clone(),
        };
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let data = fs::metadata(folder_of(&path));
        let data = data.map_err(|source| Error::Open {
            path: path.clone(),
            source,
        })?;
        let folder = (data.dev(), data.ino());
        Ok(Self { folder, name })
    }
}

/// The folder that a file of this path is in: of a name alone the working one.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => Path::new("/"),
    }
}

/// Whether `path` ends in the name of a file: not in a slash, `.` or `..`.
pub fn names_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let name = bytes.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| !matches!(name, b"" | b"." | b".."))
}

/// The file that `path` means: a link stays one, and what it leads to is written.
///
/// # Errors
/// If it names no file, is a folder, or leads through links that may not be followed.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, Error> {
    if !names_file(path) {
        return Err(Error::NoName {
            prefix: path.to_owned(),
        });
    }
    let failed = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let is_link = fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    // The kernel follows: it may forbid a link of another in a folder with the sticky bit.
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => Err(Error::IsDirectory {
            path: path.to_owned(),
        }),
        // What has no name (a pipe behind /dev/fd) is opened as it is.
        Ok(data) if is_link && data.is_file() => {
            Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
        }
        Err(error) if is_link && error.kind() == ErrorKind::NotFound => {
            end_of_links(path).map_err(failed)
        }
        Err(error) if is_link => Err(failed(error)),
        _ => Ok(path.to_owned()),
    }
}

/// The file that is not there yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_symlink() => {
                let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
                path = folder.join(fs::read_link(&path)?);
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ if names_file(&path) => return Ok(path),
            _ => return Err(ErrorKind::NotFound.into()),
        }
    }
    // The links changed meanwhile.
    Err(ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_name_alone_is_in_the_working_folder() {
        for (path, folder) in [("a", "."), ("./a", "."), ("b/a", "b"), ("/a", "/")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder));
        }
    }

    #[test]
    fn every_path_to_a_file_is_one_target() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub", at("lnk")).unwrap();
        symlink("../sub/there", at("sub/again")).unwrap();
        fs::write(at("sub/there"), "").unwrap();
        symlink("lnk/later", at("link")).unwrap();
        let target = |name: &str| Target::of(&at(name)).unwrap();
        for (a, b) in [
            ("sub/z", "lnk/z"),
            ("y", "sub/../y"),
            ("sub/there", "lnk/again"),
            ("sub/later", "link"),
        ] {
            assert_eq!(target(a), target(b), "{a} {b}");
        }
        assert_ne!(target("z"), target("sub/z"));
        assert_ne!(target("sub/z"), target("sub/y"));
        assert!(Target::of(&at("no/z")).is_err());
    }

    #[test]
    fn what_names_no_file_is_refused() {
        for path in ["", ".", "..", "/", "a/", "a/.", "a/.."] {
            assert!(!names_file(Path::new(path)), "{path}");
            let refused = resolve(Path::new(path));
            assert!(matches!(refused, Err(Error::NoName { .. })), "{path}");
        }
        assert!(names_file(Path::new("a/..b")));
    }

    #[test]
    fn links_that_lead_nowhere_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        symlink("loop", at("loop")).unwrap();
        symlink("missing/file", at("far")).unwrap();
        symlink("gone/", at("folder")).unwrap();
        assert!(matches!(resolve(&at("loop")), Err(Error::Open { .. })));
        assert!(matches!(resolve(&at("folder")), Err(Error::Open { .. })));
        assert_eq!(resolve(&at("far")).unwrap(), at("missing/file"));
    }
}
