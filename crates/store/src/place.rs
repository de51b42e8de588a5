//! Where one format of a report goes: a file that is replaced, one that is added to, or an open
//! descriptor. Each is opened before the task starts, and written once after its end.

use crate::Error;
use crate::beside::{self, Beside};
use crate::file::{Append, identity};
use crate::target::resolve;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A place for one text.
#[derive(Debug)]
pub struct Place {
    /// What messages call it.
    path: PathBuf,
    /// Taken when it is written.
    kind: Option<Kind>,
}

#[derive(Debug)]
enum Kind {
    /// Written beside the file under this name, then renamed.
    Beside(Beside),
    /// Added at the end by one `write(2)`.
    Append(Append),
    /// Written as it stands: a descriptor, a pipe, a terminal, a device.
    Direct(File),
}

impl Place {
    /// A file that will replace what is there: never half written, as long as it is a regular one.
    ///
    /// # Errors
    /// If it cannot be made beside `path`, or `path` names no file.
    pub fn replacing(path: &Path) -> Result<Self, Error> {
        let path = resolve(path)?;
        let failed = |source| Error::Open {
            path: path.clone(),
            source,
        };
        if let Some(file) = open_special(&path).map_err(failed)? {
            return Ok(Self::new(path, Kind::Direct(file)));
        }
        let beside = Beside::create(&path)?;
        Ok(Self::new(path, Kind::Beside(beside)))
    }

    /// A file to which one text is added.
    ///
    /// # Errors
    /// If it cannot be opened or made, or `path` names no file.
    pub fn appending(path: &Path) -> Result<Self, Error> {
        let path = resolve(path)?;
        let special = open_special(&path).map_err(|source| Error::Open {
            path: path.clone(),
            source,
        })?;
        let kind = match special {
            Some(file) => Kind::Direct(file),
            None => Kind::Append(Append::check(&path)?),
        };
        Ok(Self::new(path, kind))
    }

    fn new(path: PathBuf, kind: Kind) -> Self {
        let kind = Some(kind);
        Self { path, kind }
    }

    /// An open file, called `name` in messages.
    pub fn open(file: File, name: &str) -> Self {
        Self::new(PathBuf::from(name), Kind::Direct(file))
    }

    /// The path, links followed where there is such a file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file that is open.
    ///
    /// # Errors
    /// If the file system does not tell.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        match &self.kind {
            Some(Kind::Beside(beside)) => identity(beside.file()),
            Some(Kind::Direct(file)) => identity(file),
            Some(Kind::Append(append)) => append.identity(),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Writes the text where it belongs.
    ///
    /// # Errors
    /// If not all of it was taken, or the file cannot be renamed. What was there before stays then.
    pub fn write(mut self, text: &[u8]) -> Result<(), Error> {
        let failed = |source| Error::Write {
            path: self.path.clone(),
            source,
        };
        match self.kind.take() {
            None => Ok(()),
            Some(Kind::Append(append)) => append.write(text),
            Some(Kind::Direct(mut file)) => file.write_all(text).map_err(failed),
            Some(Kind::Beside(mut beside)) => {
                let written = beside.file().write_all(text).map_err(failed);
                let done = written.and_then(|()| beside.publish(text));
                if done.is_err() {
                    beside.remove();
                }
                done
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(Kind::Beside(beside)) = &self.kind {
            beside.remove();
        }
    }
}

/// In the place of a monitor that died, of this pid: removes the empty file that was to replace
/// `path`.
pub fn remove_empty(path: &Path, pid: u32) {
    if let Ok(path) = resolve(path) {
        beside::remove_empty(&path, pid);
    }
}

/// A device, pipe or terminal that is there already; renaming would put a file in its place. A
/// named pipe whose reader is not there yet is as good; one that has none when it is written is an
/// error then.
pub(crate) fn open_special(path: &Path) -> io::Result<Option<File>> {
    let data = match fs::metadata(path) {
        Ok(data) if data.is_file() => return Ok(None),
        Ok(data) => data,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Opened for both ends a named pipe does not wait for a reader. Only until it is open for
    // writing alone: what nobody but ourselves could read would be lost without an error.
    let pipe = data.file_type().is_fifo();
    let both = pipe.then(|| OpenOptions::new().read(true).write(true).open(path));
    let both = both.transpose()?;
    let file = OpenOptions::new().write(true).open(path)?;
    drop(both);
    Ok(Some(file))
}

/// Whether `path` is the file that `other` is, by device and inode.
pub fn is_same_file(path: &Path, other: &File) -> bool {
    match (fs::metadata(path), other.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.prom");
        fs::write(&path, "old").unwrap();
        let place = Place::replacing(&path).unwrap();
        assert_eq!(names(dir.path()), [".a.prom.running", "a.prom"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(place);
        assert_eq!(names(dir.path()), ["a.prom"]);
        Place::replacing(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["a.prom"]);
    }

    #[test]
    fn what_is_added_comes_after_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all.yml");
        for text in ["- a\n", "- b\n"] {
            let place = Place::appending(&path).unwrap();
            place.write(text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"- a\n- b\n");
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Place::replacing(&link).unwrap().write(b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        // One that leads to nothing yet too, as where a line is added.
        for open in [Place::replacing, Place::appending] {
            fs::remove_file(&file).unwrap();
            open(&link).unwrap().write(b"new").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&file).unwrap(), b"new");
        }
    }

    #[test]
    fn a_device_is_written_and_not_replaced() {
        let full = Place::replacing(Path::new("/dev/full")).unwrap();
        assert!(matches!(full.write(b"x"), Err(Error::Write { .. })));
        Place::replacing(Path::new("/dev/null"))
            .unwrap()
            .write(b"x")
            .unwrap();
        let kept = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kept.is_char_device());
    }

    /// It never waits for a reader, and what no reader had is not written.
    #[test]
    fn a_named_pipe_is_written_to_its_reader_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        for open in [Place::replacing, Place::appending] {
            let lost = open(&path).unwrap().write(b"x");
            assert!(matches!(lost, Err(Error::Write { .. })), "{lost:?}");
            let place = open(&path).unwrap();
            let mut reader = File::open(&path).unwrap();
            place.write(b"text").unwrap();
            assert_eq!(io::read_to_string(&mut reader).unwrap(), "text");
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Place::replacing(path).unwrap_err();
        assert!(matches!(refused(dir.path()), Error::IsDirectory { .. }));
        let missing = dir.path().join("no/such");
        assert!(matches!(refused(&missing), Error::Open { .. }));
        assert!(matches!(refused(Path::new("/")), Error::NoName { .. }));
        assert!(matches!(refused(Path::new("a/")), Error::NoName { .. }));
        assert!(Place::appending(&missing).is_err());
    }
}
