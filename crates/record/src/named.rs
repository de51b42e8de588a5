//! Files that a task was said to read or to write, as they were before and after it.

use crate::file::FileKind;
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};

/// One file of `--inputs` or `--outputs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// As it was given; or what a workflow system calls it.
    pub name: String,
    /// Where it is, absolute, invalid UTF-8 replaced.
    pub path: String,
    /// The bytes of the path in hexadecimal digits, if it is not valid UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// What stat(2) told before the task began.
    pub before: Look,
    /// What it told after the end of the task; of outputs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Look>,
    /// What became of it, where both looks tell; of outputs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// What became of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Made,
    /// It is another inode, or has another size or time of modification.
    Changed,
    /// It is what it was.
    Unchanged,
    /// It was there before and is not any more.
    Removed,
    /// It was not there before, and is not now.
    Missing,
}

/// One look at a file, symbolic links followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Whether it was there; null if that could not be told.
    pub exists: Option<bool>,
    /// The number of the error, if the kernel told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Why there is nothing to tell of it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it was like, if it was there.
    #[serde(flatten)]
    pub state: Option<FileState>,
}

impl Look {
    /// Its size, if it is a regular file: other sizes are not those of contents.
    pub fn content(&self) -> Option<Bytes> {
        let state = self.state.as_ref()?;
        (state.kind == FileKind::File).then_some(state.size_bytes)
    }
}

/// What a file was like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Its size.
    pub size_bytes: Bytes,
    /// The space that it takes.
    pub allocated_bytes: Bytes,
    /// The size of transfers that its file system likes.
    pub block_bytes: Bytes,
    /// Its permissions in octal digits, `0644`.
    pub mode: String,
    /// The user that owns it.
    pub uid: u32,
    /// That user's name, if `/etc/passwd` has one.
    pub user: Option<String>,
    /// The group that owns it.
    pub gid: u32,
    /// That group's name, if `/etc/group` has one.
    pub group: Option<String>,
    /// Its inode number.
    pub inode: u64,
    /// Device of its file system, `MAJOR:MINOR`.
    pub device: String,
    /// Names that it has.
    pub links: u64,
    /// When it was modified last, RFC 3339 with microseconds; null before 1970.
    pub mtime: Option<String>,
    /// When its inode changed last, likewise.
    pub ctime: Option<String>,
    /// When it was read last, as far as its file system keeps that, likewise.
    pub atime: Option<String>,
}
