//! What a process did with one file, and what files are.

use crate::socket::Ends;
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What tells files of one task apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Device of its file system: major and minor number.
    pub device: (u32, u32),
    /// Inode number.
    pub inode: u64,
    /// Tells links of one inode apart, and the files that had its number one after another.
    pub name: u64,
    /// Tells the files that had its number one after another apart (`i_generation`), if that is
    /// told.
    pub generation: Option<u32>,
}

/// Whether paths lead to a file from where Plimsoll looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mounted {
    /// It was found on a mount that is there too.
    Here,
    /// It was found on a mount of other processes.
    Elsewhere,
    /// The mechanism does not tell.
    #[default]
    Unknown,
}

/// What kind of thing is behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A pipe without a name.
    Pipe,
    /// A pipe with a name.
    Fifo,
    /// A socket.
    Socket,
    /// A terminal.
    Terminal,
    /// Another character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// Memory with a descriptor (`memfd_create`, shared memory of the kernel's own).
    Memory,
    /// A file that the kernel makes up (`/proc`, `/sys`, control groups).
    Kernel,
    /// What has a descriptor and no file: an event, a timer, an epoll set.
    Anonymous,
    /// It was removed or renamed, and never opened: nobody looked.
    Unknown,
}

/// Where a file is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The folder in which it lies, as [`Folder`] names it.
    pub folder: u64,
    /// Its name in there; nothing if the path of `folder` is its own.
    pub leaf: Option<Vec<u8>>,
}

/// The path of a folder, told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name in records.
    pub id: u64,
    /// From the root of the mount namespace.
    pub path: Vec<u8>,
    /// Components are missing in front.
    pub cut: bool,
}

/// Calls and bytes on a file; sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileCounts {
    /// Successful calls that opened it (`open`, `openat`, `openat2`, `creat`).
    pub opens: u64,
    /// Calls of `close`.
    pub closes: u64,
    /// Calls that read, failed ones and those at end of file included.
    pub reads: u64,
    /// Calls that wrote, failed ones included.
    pub writes: u64,
    /// Bytes that reads moved.
    pub bytes_read: Bytes,
    /// Bytes that writes moved.
    pub bytes_written: Bytes,
    /// Calls of `lseek`.
    pub seeks: u64,
    /// Reads and writes that failed.
    pub failed: u64,
    /// Of these the writes for which there was no room: `ENOSPC`, and `EDQUOT` of a quota.
    #[serde(default)]
    pub no_space: u64,
    /// Times that an exec ran it: as a program, a script, their interpreter or dynamic linker.
    #[serde(default)]
    pub executions: u64,
}

impl FileCounts {
    /// Adds another sum.
    pub fn add(&mut self, other: &FileCounts) {
        // A task can write nonsense into a table that it shares with us.
        let more = |sum: &mut u64, by: u64| *sum = sum.saturating_add(by);
        more(&mut self.opens, other.opens);
        more(&mut self.closes, other.closes);
        more(&mut self.reads, other.reads);
        more(&mut self.writes, other.writes);
        more(&mut self.bytes_read.0, other.bytes_read.0);
        more(&mut self.bytes_written.0, other.bytes_written.0);
        more(&mut self.seeks, other.seeks);
        more(&mut self.failed, other.failed);
        more(&mut self.no_space, other.no_space);
        more(&mut self.executions, other.executions);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What happened to the pages of a file in the page cache, whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PageCache {
    /// Brought in by calls that read: what was not there yet, read-ahead included.
    #[serde(rename = "filled_bytes")]
    pub filled: Bytes,
    /// Made dirty by calls that write: what is to be written out.
    #[serde(rename = "dirtied_bytes")]
    pub dirtied: Bytes,
    /// Brought in by page faults on a mapping.
    #[serde(rename = "mapped_filled_bytes")]
    pub mapped_filled: Bytes,
    /// Made dirty by page faults; a page of a large folio counts as the whole folio.
    #[serde(rename = "mapped_dirtied_bytes")]
    pub mapped_dirtied: Bytes,
}

impl PageCache {
    /// Adds another sum.
    pub fn add(&mut self, other: &PageCache) {
        self.filled.0 += other.filled.0;
        self.dirtied.0 += other.dirtied.0;
        self.mapped_filled.0 += other.mapped_filled.0;
        self.mapped_dirtied.0 += other.mapped_dirtied.0;
    }

    /// What had to be brought in, by calls and by page faults.
    pub fn brought_in(&self) -> Bytes {
        Bytes(self.filled.0.saturating_add(self.mapped_filled.0))
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Pages of an inode that are in no [`FileUse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageUse {
    /// Device of its file system: major and minor number.
    pub device: (u32, u32),
    /// Inode number.
    pub inode: u64,
    /// Which of the files that had this number (`i_generation`), if that is told.
    pub generation: Option<u32>,
    /// Which process.
    pub pid: u32,
    /// When the first of them was put down, on `CLOCK_BOOTTIME`: no sooner than it was used.
    pub first: Nanos,
    /// When the last of them was put down.
    pub last: Nanos,
    /// What happened to them.
    pub page_cache: PageCache,
}

/// Transfers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCount {
    /// What each moved.
    pub bytes: Bytes,
    /// Reads of that size.
    pub reads: u64,
    /// Writes of that size.
    pub writes: u64,
}

/// Transfers by the power of two of their size: class 0 moved nothing, class n at least `2^(n-1)`
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeClasses {
    /// Reads of each class.
    pub reads: [u64; CLASSES],
    /// Writes of each class.
    pub writes: [u64; CLASSES],
}

/// Classes of [`SizeClasses`]; a call moves less than 2 GiB.
pub const CLASSES: usize = 32;

impl Default for SizeClasses {
    fn default() -> Self {
        Self {
            reads: [0; CLASSES],
            writes: [0; CLASSES],
        }
    }
}

/// How a file was used, beside the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileFlags {
    /// A descriptor of it could read.
    pub opened_to_read: bool,
    /// A descriptor of it could write.
    pub opened_to_write: bool,
    /// The task created it.
    pub created: bool,
    /// It was truncated: by an open, `truncate` or `ftruncate`.
    pub truncated: bool,
    /// An open asked to append.
    pub appended: bool,
    /// An open asked for direct I/O.
    pub direct: bool,
    /// It was mapped into memory: what went through the mapping is in no count.
    pub mapped: bool,
}

impl FileFlags {
    /// Adds what is known from elsewhere.
    pub fn add(&mut self, other: FileFlags) {
        self.opened_to_read |= other.opened_to_read;
        self.opened_to_write |= other.opened_to_write;
        self.created |= other.created;
        self.truncated |= other.truncated;
        self.appended |= other.appended;
        self.direct |= other.direct;
        self.mapped |= other.mapped;
    }
}

/// What one process did with one file since it was last told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// Which file.
    pub file: FileId,
    /// The one that has its pages, if that is another and known: below a file of overlayfs.
    pub below: Option<FileId>,
    /// What it is.
    pub kind: FileKind,
    /// Where it is.
    pub place: Place,
    /// Which process.
    pub pid: u32,
    /// First use, on `CLOCK_BOOTTIME`.
    pub first: Nanos,
    /// Last use, to a tick of the kernel: it may seem to be before the first.
    pub last: Nanos,
    /// Calls and bytes.
    pub counts: FileCounts,
    /// Time spent in calls, if it was taken.
    pub time: Option<Nanos>,
    /// Size of the file before its first use; nothing where that truncated it and nobody had
    /// looked.
    pub size_first: Option<Bytes>,
    /// Size of the file at its last write or close.
    pub size_last: Bytes,
    /// It was written after that, and its size not looked at since.
    pub size_is_old: bool,
    /// How it was used.
    pub flags: FileFlags,
    /// It had no name left when it was last written or closed.
    pub unlinked: bool,
    /// Whether its path can be looked up.
    pub mounted: Mounted,
    /// Of a socket of IPv4 or IPv6: where its packets go.
    pub ends: Option<Ends>,
    /// Transfers by exact size.
    pub sizes: Vec<SizeCount>,
    /// Transfers whose exact size was not kept.
    pub classes: Option<Box<SizeClasses>>,
    /// What happened to its pages, if that is told.
    pub page_cache: Option<PageCache>,
}

/// What was not kept by file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileRest {
    /// Calls and bytes.
    pub counts: FileCounts,
    /// Files that there would have been, at most, each process's for itself.
    pub rows: u64,
    /// Calls of 32-bit programs: not seen.
    pub compat_calls: u64,
    /// Calls of `io_submit`: not seen what they read and wrote.
    pub libaio_calls: u64,
    /// Requests of POSIX aio of which nobody asked what they moved: not seen either, at most.
    pub aio_requests: u64,
    /// Rings of io_uring that were made, where what goes through them is not seen.
    pub rings: u64,
    /// Calls on files that could not be looked up: how many files those are is not known.
    pub blind_calls: u64,
    /// Pages of files that were not kept.
    pub page_cache: Option<PageCache>,
    /// Changes of names that could not be told.
    pub names_lost: u64,
}

/// One file in the report of a task, as `PREFIX.files.jsonl` carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLine {
    /// Its path, invalid UTF-8 replaced; `pipe:[N]`, `socket:[N]` and the like for what has none.
    pub path: String,
    /// The bytes of the path in hexadecimal digits, if it is not valid UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Components are missing in front of the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub path_cut: bool,
    /// What it is.
    pub kind: FileKind,
    /// Device of its file system, `MAJOR:MINOR`; null if nobody looked.
    pub device: Option<String>,
    /// Its inode number, the last one if the path had several; null if nobody looked.
    pub inode: Option<u64>,
    /// Processes that used it, the first [`PROCESSES_MAX`].
    pub processes: Vec<u32>,
    /// There were more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub processes_more: bool,
    /// Calls and bytes.
    #[serde(flatten)]
    pub counts: FileCounts,
    /// First use, since the start of the task, to a tick of the kernel.
    pub first_ns: Nanos,
    /// Last use, likewise.
    pub last_ns: Nanos,
    /// Size at the first use; of a file that was truncated by then, what was left.
    pub size_before_bytes: Option<Bytes>,
    /// Size after the last write or before the last close; null if nobody could look then.
    pub size_after_bytes: Option<Bytes>,
    /// Time spent in calls but `close`; null if it was not asked for.
    pub time_ns: Option<Nanos>,
    /// How it was used.
    #[serde(flatten)]
    pub flags: FileFlags,
    /// Whether the task removed a file or folder of this name; null where not all changes of names
    /// could be told, and none of this one was.
    #[serde(default)]
    pub removed: Option<bool>,
    /// What happened to its pages; null where that is not told.
    #[serde(default)]
    pub page_cache: Option<PageCache>,
    /// The name that its file had before the task gave it this one, the last of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// The name that the task gave to its file, the last of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// Whether no file of this path was left at the end of the task; null where nobody looked (a
    /// file system of other machines, or one that is not mounted here) and where what was found
    /// there may be due to another mount namespace or root.
    pub deleted: Option<bool>,
    /// The most frequent sizes of transfers, most frequent first.
    pub sizes: Vec<SizeCount>,
    /// Whether the counts in `sizes` are all there were of those sizes; else they are lower bounds.
    pub sizes_exact: bool,
    /// All transfers by the power of two of their size, empty classes left out.
    pub size_classes: Vec<SizeClass>,
    /// The file had more use, which is counted among the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// The bytes of a path in hexadecimal digits, if it is not valid UTF-8.
pub fn path_hex(path: &[u8]) -> Option<String> {
    let digits = || path.iter().map(|byte| format!("{byte:02x}")).collect();
    std::str::from_utf8(path).is_err().then(digits)
}

/// Most processes that a [`FileLine`] names.
pub const PROCESSES_MAX: usize = 100;

/// Transfers of at least `from_bytes` and less than twice that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The smallest size in the class; 0 is a class of its own.
    pub from_bytes: Bytes,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// The files without a line, the last line of `PREFIX.files.jsonl` if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OtherFiles {
    /// How many, at most.
    #[serde(rename = "others")]
    pub files: u64,
    /// Calls and bytes.
    #[serde(flatten)]
    pub counts: FileCounts,
    /// What happened to their pages, and to those that no call asked for; null where that is not
    /// told.
    #[serde(default)]
    pub page_cache: Option<PageCache>,
}

/// What was done on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemLine {
    /// Its device, `MAJOR:MINOR`.
    pub device: String,
    /// Where it is mounted, if that is known.
    pub mount: Option<String>,
    /// Its type, if that is known.
    pub kind: Option<String>,
    /// Distinct files.
    pub files: u64,
    /// Calls and bytes.
    #[serde(flatten)]
    pub counts: FileCounts,
    /// What happened to their pages; null where that is not told.
    #[serde(default)]
    pub page_cache: Option<PageCache>,
    /// There may be more: files were used of which it is not known where they lie.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower_bound: bool,
}
