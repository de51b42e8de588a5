//! Kernel files that stay open between two readings: the kernel writes them anew for whoever reads
//! at offset 0.

use crate::query::proc_self_auxv;
use crate::root::{Root, machine_absent};
use record::value::Absent;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// More than any of these files has.
const FILE_BYTES_MAX: usize = 8 << 20;

/// A first guess at the size of a file, which is kept for each source.
const BUFFER_BYTES: usize = 4 << 10;

/// Files of a folder that are looked at, at most.
const ENTRIES_MAX: usize = 4096;

/// A number in a file of its own, with its line end.
const NUMBER_BYTES_MAX: usize = 64;

/// Opens files, and keeps so many open.
#[derive(Debug)]
pub struct Opener {
    root: Root,
    left: usize,
}

impl Opener {
    /// Files below `root`, of which `kept` are kept open; more are opened for each reading.
    pub fn new(root: Root, kept: usize) -> Self {
        Self { root, left: kept }
    }

    /// Where /proc and /sys are.
    pub(crate) const fn root(&self) -> &Root {
        &self.root
    }

    /// The size of a page of this machine, if that is told.
    pub(crate) fn page_bytes(&self) -> Option<u64> {
        proc_self_auxv::read(&self.root).ok()
    }

    /// A file that is there.
    pub(crate) fn open(&mut self, path: PathBuf) -> Result<KeptFile, Absent> {
        let file = File::open(&path).map_err(|error| machine_absent(&error))?;
        let keep = self.left > 0;
        self.left -= usize::from(keep);
        let file = keep.then_some(file);
        Ok(KeptFile { path, file })
    }

    /// A file that may be there.
    pub(crate) fn open_any(&mut self, path: PathBuf) -> Option<KeptFile> {
        self.open(path).ok()
    }
}

/// The names in a folder, sorted (`cpu2` before `cpu10`), and how many more there are; none if it
/// cannot be listed.
pub(crate) fn list(folder: &Path) -> (Vec<String>, u64) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return (Vec::new(), 0);
    };
    let mut entries = entries.flatten();
    // Names that are no text are none of the kernel's.
    let names = entries.by_ref().take(ENTRIES_MAX);
    let mut names: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by(|a, b| natural(a).cmp(&natural(b)).then_with(|| a.cmp(b)));
    (names, entries.count() as u64)
}

/// A name without the digits at its end, and their number.
fn natural(name: &str) -> (&str, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (
        stem,
        name.get(stem.len()..)
            .and_then(|digits| digits.parse().ok()),
    )
}

/// `cpu12` without `cpu`, if digits follow.
pub(crate) fn numbered(name: &str, stem: &str) -> Option<u64> {
    let digits = name.strip_prefix(stem)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all)
}

/// A file that is read again and again.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: PathBuf,
    /// `None` where too many are open: then it is opened for each reading.
    file: Option<File>,
}

impl KeptFile {
    /// The whole file, into `buffer`.
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
        let length = self.with(|file| fill(file, buffer))?;
        Ok(buffer.get(..length).unwrap_or_default())
    }

    /// A file of one number.
    pub(crate) fn number(&self) -> Option<u64> {
        let text = &mut [0; NUMBER_BYTES_MAX];
        let length = self.short(text)?;
        crate::query::field::first_number(text.get(..length)?)
    }

    /// A file of one number that may be below 0.
    pub(crate) fn signed(&self) -> Option<i64> {
        let text = &mut [0; NUMBER_BYTES_MAX];
        let length = self.short(text)?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        text.trim().parse().ok()
    }

    fn short(&self, text: &mut [u8]) -> Option<usize> {
        self.with(|file| file.read_at(text, 0)).ok()
    }

    fn with<T>(&self, read: impl FnOnce(&File) -> std::io::Result<T>) -> Result<T, Absent> {
        let read = match &self.file {
            Some(file) => read(file),
            None => File::open(&self.path).and_then(|file| read(&file)),
        };
        read.map_err(|error| machine_absent(&error))
    }
}

/// Reads to the end, which the kernel tells by nothing more: it gives a page at a time.
fn fill(file: &File, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= FILE_BYTES_MAX {
                return Ok(length);
            }
            buffer.resize((length * 2).max(BUFFER_BYTES), 0);
        }
        let free = buffer.get_mut(length..).unwrap_or_default();
        match file.read_at(free, length as u64) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_kept_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "7\n").unwrap();
        let mut opener = Opener::new(Root::at(folder.path()), 1);
        let kept = opener.open(path.clone()).unwrap();
        let opened = opener.open(path.clone()).unwrap();
        assert!(kept.file.is_some() && opened.file.is_none());
        let large = vec![b'x'; 3 * BUFFER_BYTES + 5];
        let mut buffer = Vec::new();
        for file in [&kept, &opened] {
            std::fs::write(&path, "-7\n").unwrap();
            assert_eq!((file.number(), file.signed()), (None, Some(-7)));
            std::fs::write(&path, &large).unwrap();
            assert_eq!(file.read(&mut buffer).unwrap(), large);
            std::fs::write(&path, "12\n").unwrap();
            assert_eq!(file.number(), Some(12));
            assert_eq!(file.read(&mut buffer).unwrap(), b"12\n");
        }
        let absent = opener.open(folder.path().join("none")).err();
        assert_eq!(absent, Some(Absent::NoKernelSupport));
    }

    #[test]
    fn names_are_sorted_by_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "cpu", "online", "cpu1"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = ["cpu", "cpu1", "cpu2", "cpu10", "online"].map(String::from);
        assert_eq!(list(folder.path()), (names.to_vec(), 0));
        assert_eq!(list(Path::new("/nowhere")), (Vec::new(), 0));
        assert_eq!(numbered("cpu10", "cpu"), Some(10));
        for other in ["cpu", "cpufreq", "cpu+1", "node1"] {
            assert_eq!(numbered(other, "cpu"), None, "{other}");
        }
    }
}
