//! What is said of sets: a file each in the folder of an archive.

use super::folder::{FILE_BYTES_MAX, Folder, SETS, encode_error, names, publish};
use super::regular::read_if_there;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The longest name of a set's file.
const SET_BYTES_MAX: usize = 200;

/// A file of [`SETS`]: its name, its inode and when it changed, in s and ns.
#[cfg(feature = "archive")]
pub(super) type SetFile = (String, u64, i64, i64);

/// What is said of a set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub description: Option<String>,
    /// Labels.
    pub labels: std::collections::BTreeMap<String, String>,
}

impl Folder {
    /// Says something of a set; what was said before is gone.
    ///
    /// # Errors
    /// If it cannot be written, or what is there cannot be understood, which is left as it is.
    pub fn describe(&self, set: &Set) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(set).map_err(encode_error)?;
        let name = set_file(&set.name)?;
        let folder = self.path().join(SETS);
        read_set(&folder.join(&name))?;
        publish(&folder, &name, format!("{text}\n").as_bytes())
    }

    /// The files of what is said of sets, by name. One that is written anew is another file.
    #[cfg(feature = "archive")]
    pub(super) fn set_files(&self) -> Result<Vec<SetFile>, Error> {
        use super::folder::read_error;
        use std::os::unix::fs::MetadataExt;

        let folder = self.path().join(SETS);
        let mut files = Vec::new();
        for name in names(&folder)?.into_iter().filter(|name| is_set_file(name)) {
            let path = folder.join(&name);
            let file = std::fs::metadata(&path).map_err(|source| read_error(&path, source))?;
            files.push((name, file.ino(), file.mtime(), file.mtime_nsec()));
        }
        files.sort_unstable();
        Ok(files)
    }

    /// What is said of sets, by name; nothing of files that cannot be understood.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn sets(&self) -> Result<Vec<Set>, Error> {
        let files = self.read_sets()?.into_iter();
        let mut sets: Vec<Set> = files.filter_map(|(_, set)| set.ok().flatten()).collect();
        sets.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(sets)
    }

    /// The files of sets that cannot be understood, and why.
    #[cfg(feature = "archive")]
    pub(super) fn damaged_sets(&self) -> Result<Vec<(PathBuf, Error)>, Error> {
        let files = self.read_sets()?.into_iter();
        Ok(files
            .filter_map(|(path, set)| Some((path, set.err()?)))
            .collect())
    }

    fn read_sets(&self) -> Result<Vec<(PathBuf, Said)>, Error> {
        let folder = self.path().join(SETS);
        let names = names(&folder)?.into_iter();
        let paths = names
            .filter(|name| is_set_file(name))
            .map(|name| folder.join(name));
        Ok(paths
            .map(|path| {
                let set = read_set(&path);
                (path, set)
            })
            .collect())
    }
}

/// What a file says of a set; none if it is not there (any more).
type Said = Result<Option<Set>, Error>;

fn read_set(path: &Path) -> Said {
    let Some(text) = read_if_there(path, FILE_BYTES_MAX)? else {
        return Ok(None);
    };
    let set = serde_json::from_slice(&text);
    set.map(Some).map_err(|source| Error::Attempt {
        path: path.to_owned(),
        source,
    })
}

fn is_set_file(name: &str) -> bool {
    name.ends_with(".json") && !name.starts_with('.')
}

/// The file of a set: letters that mean something to a file system as `%XX`.
fn set_file(name: &str) -> Result<String, Error> {
    let mut file = String::new();
    for (place, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => file.push(char::from(byte)),
            b'.' if place > 0 => file.push('.'),
            _ => file.push_str(&format!("%{byte:02X}")),
        }
    }
    if file.is_empty() || file.len() > SET_BYTES_MAX {
        return Err(Error::SetName {
            name: name.to_owned(),
        });
    }
    Ok(format!("{file}.json"))
}
