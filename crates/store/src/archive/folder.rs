//! The folder of an archive: one file an attempt, which anybody may add at any time.
//!
//! ```text
//! DIR/archive.json          what this folder is
//! DIR/tasks/abc/ID.json     one attempt each; abc are the first digits of its id
//! DIR/packed/DIGEST.parquet many attempts
//! DIR/sets/NAME.json        what is said of a set
//! ```
//! A file is written under a name of its own and renamed: it is there whole or not at all, also on
//! a network file system, and nobody needs a lock. Two that write the same attempt write the same
//! file. Copying one archive into another merges them.

use super::shared::make_folder;
use super::{Texts, regular};
use crate::Error;
use crate::whole_file::{aside, fill};
use record::attempt::{Attempt, SCHEMA};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// The name and version of the layout.
pub const LAYOUT: &str = "plimsoll.archive/1";

const MARK: &str = "archive.json";
const TASKS: &str = "tasks";
const PACKED: &str = "packed";
pub(super) const SETS: &str = "sets";

/// Digits of an id that name the folder of its file: 4096 folders.
const SHARD_DIGITS: usize = 3;

/// Digits of an id.
const ID_DIGITS: usize = 32;

/// Files of many are listed so often at most, until two lists agree.
const LISTS: usize = 8;

/// The largest file of one attempt that is read; larger ones are no report of a task.
pub(super) const FILE_BYTES_MAX: u64 = 256 << 20;

/// An attempt with the report that it was made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stored {
    schema: String,
    /// The attempt.
    pub attempt: Attempt,
    /// The text of its report, as it was added: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// What it used over time, as [`crate::export::series`] writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

impl Stored {
    /// An attempt and what it brings with it.
    pub fn new(attempt: Attempt, texts: Texts) -> Self {
        let Texts { report, series } = texts;
        Self {
            schema: SCHEMA.to_owned(),
            attempt,
            report,
            series,
        }
    }

    /// The attempt, and what it brings with it.
    pub fn parts(self) -> (Attempt, Texts) {
        let (report, series) = (self.report, self.series);
        (self.attempt, Texts { report, series })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    schema: String,
}

/// The folder of an archive.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// One of the folders that hold the files of attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Its name: the first digits of the ids.
    pub name: String,
    /// When a file was last added or removed.
    pub changed: SystemTime,
}

impl Folder {
    /// An archive that is there.
    ///
    /// # Errors
    /// If it is not, is something else, or is of a later version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mark = path.join(MARK);
        let Some(text) = regular::read_if_there(&mark, FILE_BYTES_MAX)? else {
            return match fs::metadata(path) {
                Ok(_) => Err(Error::NoArchive {
                    path: path.to_owned(),
                }),
                Err(source) => Err(read_error(path, source)),
            };
        };
        match serde_json::from_slice::<Mark>(&text) {
            Ok(mark) if mark.schema == LAYOUT => Ok(Self {
                path: path.to_owned(),
            }),
            Ok(_) => Err(Error::Later { path: mark }),
            Err(_) => Err(Error::NoArchive {
                path: path.to_owned(),
            }),
        }
    }

    /// An archive that is there, or a new one where there is nothing or an empty folder.
    ///
    /// # Errors
    /// If it cannot be made, or there is something else.
    pub fn create(path: &Path) -> Result<Self, Error> {
        match Self::open(path) {
            Err(Error::NoArchive { .. }) if is_new(path)? => {}
            // Another may have made it right then.
            Err(Error::NoArchive { .. }) => return Self::open(path),
            Err(Error::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path).map_err(|source| open_error(path, source))?;
            }
            opened => return opened,
        }
        let mark = Mark {
            schema: LAYOUT.to_owned(),
        };
        let text = serde_json::to_string(&mark).map_err(encode_error)?;
        publish(path, MARK, format!("{text}\n").as_bytes())?;
        Self::open(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the files with many attempts.
    pub fn packed(&self) -> PathBuf {
        self.path.join(PACKED)
    }

    /// The file of an attempt.
    pub fn path_of(&self, id: &str) -> PathBuf {
        let shard = id.get(..SHARD_DIGITS).unwrap_or(id);
        self.path.join(TASKS).join(shard).join(format!("{id}.json"))
    }

    /// Brings the names of the files of these attempts to the device, and of those of many, whoever
    /// wrote them; that is the folders.
    #[cfg(feature = "archive")]
    pub(super) fn settle(&self, ids: impl Iterator<Item = u128>) -> Result<(), Error> {
        use std::collections::BTreeSet;

        let mut folders = BTreeSet::from([self.path.clone(), self.packed(), self.path.join(TASKS)]);
        // The first digits alone: there may be a million of them.
        let shards: BTreeSet<u128> = ids
            .map(|id| id >> (4 * (ID_DIGITS - SHARD_DIGITS)))
            .collect();
        let shards = shards
            .iter()
            .map(|shard| format!("{shard:0SHARD_DIGITS$x}"));
        folders.extend(shards.map(|shard| self.path.join(TASKS).join(shard)));
        for folder in folders {
            match regular::open_folder(&folder).and_then(|open| open.sync_all()) {
                Ok(()) => {}
                // Nothing is there, or it is on a file system that cannot.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {}
                Err(source) => {
                    return Err(Error::Write {
                        path: folder,
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// Adds an attempt; its file is on the device then.
    ///
    /// # Errors
    /// If its id is none, or the file cannot be written.
    pub fn add(&self, stored: &Stored) -> Result<PathBuf, Error> {
        let id = &stored.attempt.id;
        if !is_id(id) {
            return Err(Error::Id { id: id.clone() });
        }
        let path = self.path_of(id);
        let (folder, name) = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => (folder, name.to_string_lossy()),
            _ => return Err(Error::Id { id: id.clone() }),
        };
        let mut text = serde_json::to_vec(stored).map_err(encode_error)?;
        text.push(b'\n');
        publish(folder, &name, &text)?;
        Ok(path)
    }

    /// The folders that hold files of attempts, by name.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn shards(&self) -> Result<Vec<Shard>, Error> {
        let tasks = self.path.join(TASKS);
        let mut shards = Vec::new();
        for name in names(&tasks)? {
            if name.len() != SHARD_DIGITS || !is_hexadecimal(&name) {
                continue;
            }
            let path = tasks.join(&name);
            let changed = |data: fs::Metadata| Ok(data.is_dir().then_some(data.modified()?));
            match fs::metadata(&path).and_then(changed) {
                Ok(Some(changed)) => shards.push(Shard { name, changed }),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(read_error(&path, source)),
            }
        }
        shards.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(shards)
    }

    /// The ids of the attempts that have a file in a folder of those.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn ids(&self, shard: &str) -> Result<Vec<String>, Error> {
        let mut ids: Vec<String> = names(&self.path.join(TASKS).join(shard))?
            .into_iter()
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .filter(|id| is_id(id))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// An attempt that has a file; `None` if that is not there (any more).
    ///
    /// # Errors
    /// If it cannot be read, or holds no attempt.
    pub fn read(&self, id: &str) -> Result<Option<Stored>, Error> {
        let path = self.path_of(id);
        let Some(text) = regular::read_if_there(&path, FILE_BYTES_MAX)? else {
            return Ok(None);
        };
        let stored: Stored = serde_json::from_slice(&text).map_err(|source| Error::Attempt {
            path: path.clone(),
            source,
        })?;
        // A file of another name would be counted anew wherever it is copied to.
        if stored.attempt.id != id {
            return Err(Error::Id {
                id: stored.attempt.id,
            });
        }
        Ok(Some(stored))
    }

    /// Removes the file of an attempt, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), Error> {
        remove(&self.path_of(id))
    }

    /// Removes what processes left half written that died a day ago or more.
    ///
    /// # Errors
    /// If it cannot be listed or removed.
    pub fn sweep(&self, now: SystemTime) -> Result<(), Error> {
        let tasks = self.path.join(TASKS);
        let shards = self
            .shards()?
            .into_iter()
            .map(|shard| tasks.join(shard.name));
        for folder in shards.chain([self.packed(), self.path.join(SETS)]) {
            for name in names(&folder)?.iter().filter(|name| name.ends_with(NEW)) {
                let path = folder.join(name);
                let changed = fs::metadata(&path).and_then(|data| data.modified());
                let age = changed.ok().and_then(|at| now.duration_since(at).ok());
                if age.is_some_and(|age| age >= LEFT_AFTER) {
                    remove(&path)?;
                }
            }
        }
        Ok(())
    }

    /// The names of the files with many attempts. One list may miss a file that came and the ones
    /// that went for it, so that two have to agree.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn packs(&self) -> Result<Vec<String>, Error> {
        let list = || -> Result<_, Error> {
            let mut packs = names(&self.packed())?;
            packs.retain(|name| name.ends_with(".parquet") && !name.starts_with('.'));
            packs.sort_unstable();
            Ok(packs)
        };
        let mut packs = list()?;
        for _ in 0..LISTS {
            let again = list()?;
            if again == packs {
                break;
            }
            packs = again;
        }
        Ok(packs)
    }
}

/// Whether a text is the id of an attempt: 32 hexadecimal digits.
pub fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && is_hexadecimal(text)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether nothing is in a folder, or what another that makes the archive has in it.
fn is_new(path: &Path) -> Result<bool, Error> {
    let names = names(path)?;
    Ok(names.iter().all(|name| name.ends_with(NEW)))
}

/// The names in a folder; none if it is not there.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(read_error(folder, source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| read_error(folder, source))?;
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}

/// Writes a file under a name of its own, and renames it when it is on the device.
pub(super) fn publish(folder: &Path, name: &str, text: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    let mut file = beside(folder).map_err(|source| open_error(&path, source))?;
    fill(&mut file, text).map_err(|source| Error::Write {
        path: path.clone(),
        source,
    })?;
    keep(file, &path)
}

/// A new file in a folder, which is made if need be; it is gone unless it is kept.
pub(super) fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    match aside(folder, NEW) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_folder(folder)?;
            aside(folder, NEW)
        }
        made => made,
    }
}

/// Gives a finished file its name.
pub(super) fn keep(file: NamedTempFile, path: &Path) -> Result<(), Error> {
    let from = file.path().to_owned();
    let kept = file.persist(path);
    kept.map(drop).map_err(|error| Error::Rename {
        from,
        to: path.to_owned(),
        source: error.error,
    })
}

/// Nobody writes one file for so long.
const LEFT_AFTER: Duration = Duration::from_secs(86_400);

/// How the name of a file that is being written ends.
const NEW: &str = ".new";

pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::Remove {
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}

pub(super) fn read_error(path: &Path, source: io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

fn open_error(path: &Path, source: io::Error) -> Error {
    Error::Open {
        path: path.to_owned(),
        source,
    }
}

pub(super) fn encode_error(source: serde_json::Error) -> Error {
    Error::Encode {
        format: "json",
        source,
    }
}
