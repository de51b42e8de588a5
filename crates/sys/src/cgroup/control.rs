//! One folder of a control group file system: its small files read and written whole, its
//! processes, its children.

use super::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Links of a directory that holds no other: its name and its own `.`.
const LINKS_ALONE: u64 = 2;

/// Deepest nesting of groups that is followed below one group.
const DEPTH_MAX: usize = 16;
/// Most groups that are followed below one group.
const GROUPS_MAX: usize = 4096;
/// Most bytes that are read from one control file.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A folder of a control group file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlDir(PathBuf);

impl ControlDir {
    /// The group at `path`; nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The group `name` below this one; nothing is read or made.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self(self.0.join(name))
    }

    /// Whether it has a file called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// The content of the file `name` (at most 4 MiB).
    ///
    /// # Errors
    /// As the kernel says; a missing file is `NoKernelSupport`, a removed group `Gone`.
    pub fn read(&self, name: &str) -> Result<String, Error> {
        let path = self.0.join(name);
        let mut text = String::new();
        fs::File::open(&path)
            .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text))
            .map_err(|source| Error::new(&path, source))?;
        Ok(text)
    }

    /// Writes `value` to the existing file `name` in one call.
    pub(crate) fn write(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = self.0.join(name);
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(|source| Error::new(&path, source))
    }

    /// Makes the folder.
    pub(crate) fn create(&self) -> Result<(), Error> {
        fs::create_dir(&self.0).map_err(|source| Error::new(&self.0, source))
    }

    /// Removes the group; one that is no longer there is a success.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        match fs::remove_dir(&self.0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| Error::new(&self.0, source)),
        }
    }

    /// The processes in this group, those in groups below left out. A process of another pid
    /// namespace reads as 0.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn pids(&self) -> Result<Vec<u32>, Error> {
        Ok(self
            .read("cgroup.procs")?
            .lines()
            .filter_map(|line| line.trim().parse().ok())
            .collect())
    }

    /// Moves the process `pid`, all its threads, into this group.
    pub(crate) fn add(&self, pid: u32) -> Result<(), Error> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// The groups directly below this one.
    pub(crate) fn children(&self) -> Vec<ControlDir> {
        if fs::metadata(&self.0).is_ok_and(|own| own.nlink() == LINKS_ALONE) {
            return Vec::new(); // told by one call in the place of a listing
        }
        let Ok(entries) = fs::read_dir(&self.0) else {
            return Vec::new(); // removed meanwhile: nothing is below it
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .take(GROUPS_MAX)
            .map(|entry| ControlDir(entry.path()))
            .collect()
    }

    /// This group and all below it, each after the groups that it holds.
    pub(crate) fn subtree(&self) -> Vec<ControlDir> {
        let mut found = vec![(self.clone(), 0)];
        let mut next = 0;
        while let Some((dir, depth)) = found.get(next).cloned() {
            next += 1;
            if depth < DEPTH_MAX && found.len() < GROUPS_MAX {
                found.extend(dir.children().into_iter().map(|child| (child, depth + 1)));
            }
        }
        found.into_iter().rev().map(|(dir, _)| dir).collect()
    }

    /// The number after the word `key` in the file `name` (`memory.events`, `memory.oom_control`,
    /// `cpu.stat`).
    pub(crate) fn keyed(&self, name: &str, key: &str) -> Result<Option<u64>, Error> {
        Ok(value_of(&self.read(name)?, key))
    }
}

/// The number on the line that starts with the word `key`.
fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (word, number) = line.split_once(' ')?;
        (word == key).then(|| number.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_whole_word() {
        let text = "oom_kill_disable 0\noom 3\noom_kill 2\nbad\noom_group_kill x\n";
        assert_eq!(value_of(text, "oom"), Some(3));
        assert_eq!(value_of(text, "oom_kill"), Some(2));
        assert_eq!(value_of(text, "oom_group_kill"), None);
        assert_eq!(value_of(text, "missing"), None);
    }

    #[test]
    fn a_subtree_lists_the_inner_groups_first() {
        let top = std::env::temp_dir().join(format!("plimsoll-control-{}", std::process::id()));
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        let names: Vec<_> = ControlDir::new(&top)
            .subtree()
            .iter()
            .map(|dir| dir.path().strip_prefix(&top).unwrap().to_owned())
            .collect();
        fs::remove_dir_all(&top).unwrap();
        assert_eq!(names, ["a/b", "a", ""].map(PathBuf::from));
    }
}
