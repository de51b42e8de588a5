//! What `io.h` lays out in memory: rows and folders as bytes, decoded with every bound checked.

use crate::bpf::layout::{RUNS_PER_PROCESS, Reader};

/// `sizeof(struct row_key)`.
pub(super) const KEY_BYTES: usize = 56;
/// `sizeof(struct row)`.
pub(super) const ROW_BYTES: usize = 376;
/// Of a file that its first open truncated.
const SIZE_UNKNOWN: u64 = u64::MAX;
/// `sizeof(struct dumped)`.
pub(super) const DUMPED_BYTES: usize = RUNS_PER_PROCESS * 8 + 40;
/// Exact sizes that a row keeps.
const EXACT_SIZES: usize = 8;
/// Powers of two that a transfer's size can have: 0, 1, 2..3, 4..7, ... 1 GiB and more.
const SIZE_CLASSES: usize = 32;
const LEAF_BYTES: usize = 64;
/// Where a row has its flags.
const FLAGS: usize = 56;

const CREATED: u32 = 1;
const TRUNCATED: u32 = 2;
const MAPPED: u32 = 4;
const DIRECT: u32 = 8;
const APPENDED: u32 = 16;
const OPENED_TO_READ: u32 = 32;
const OPENED_TO_WRITE: u32 = 64;
const SIZES_LEFT: u32 = 128;
const WHOLE_NAME: u32 = 256;
const UNLINKED: u32 = 512;
const INET: u32 = 1024;
const LOOPBACK: u32 = 2048;
const ENDS_UNKNOWN: u32 = 4096;

/// What tells files apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Inode number.
    pub inode: u64,
    /// A hash of its last component and folder: tells links and reused inodes apart. Or
    /// [`FileId::ANY_NAME`].
    pub name: u64,
    /// Device of its file system, as the kernel numbers it (major << 20 | minor).
    pub device: u32,
    /// Tells the files apart that had this number one after another (`i_generation`); 0 where the
    /// file system does not.
    pub generation: u32,
}

impl FileId {
    /// In a row that has only pages: those of the inode, by whatever name.
    pub const ANY_NAME: u64 = u64::MAX;
}

/// Transfers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExactSize {
    /// What one transfer moved, bytes.
    pub bytes: u32,
    /// Reads of that size.
    pub reads: u32,
    /// Writes of that size.
    pub writes: u32,
}

/// Transfers by the power of two of their size, beside those of [`FileRow::sizes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeClasses {
    /// Reads; class 0 moved nothing, class n at least `2^(n-1)` bytes.
    pub reads: [u32; SIZE_CLASSES],
    /// Writes, likewise.
    pub writes: [u32; SIZE_CLASSES],
}

impl SizeClasses {
    /// Adds another sum.
    pub(super) fn add(&mut self, other: &Self) {
        let reads = self.reads.iter_mut().zip(other.reads);
        let writes = self.writes.iter_mut().zip(other.writes);
        for (sum, more) in reads.chain(writes) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A file as one thread used it, from one reading to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Which file.
    pub file: FileId,
    /// Whose: the process.
    pub pid: u32,
    /// Its start, as its events have it.
    pub start_ns: u64,
    /// When it was first used, `CLOCK_BOOTTIME` nanoseconds.
    pub first_ns: u64,
    /// When it was last used, to a tick of the kernel.
    pub last_ns: u64,
    /// Successful calls of the open family.
    pub opens: u64,
    /// Calls of `close`.
    pub closes: u64,
    /// Calls of `lseek`.
    pub seeks: u64,
    /// Read-like calls, failed ones included.
    pub reads: u64,
    /// Write-like calls, failed ones included.
    pub writes: u64,
    /// Bytes that reads moved.
    pub bytes_read: u64,
    /// Bytes that writes moved.
    pub bytes_written: u64,
    /// Reads and writes that failed.
    pub failed: u64,
    /// Of these the writes for which there was no room.
    pub no_space: u64,
    /// Time spent in calls but `close`, nanoseconds; nothing if it was not taken.
    pub time_ns: u64,
    /// Times that an exec ran it.
    pub executions: u64,
    /// Size of the file when it was first used, bytes.
    pub size_first_bytes: Option<u64>,
    /// Size after the last write or before the last close, bytes.
    pub size_last_bytes: u64,
    /// The folder in which it lies, or the file itself; see [`FileRow::whole_name`].
    pub folder: u64,
    /// Whether the path is that of `folder`, with nothing behind it.
    pub whole_name: bool,
    /// Last component of its path.
    pub leaf: Vec<u8>,
    /// `i_mode`.
    pub mode: u32,
    /// Device number of a device file.
    pub special_device: u32,
    /// Magic number of its file system (`statfs(2)`).
    pub magic: u32,
    /// Of a file of overlayfs: the file below, which has its pages, by no name (0).
    pub below: Option<FileId>,
    /// What happened to its pages, by default to none.
    pub pages: PageCounts,
    /// An open created it.
    pub created: bool,
    /// An open asked to truncate it.
    pub truncated: bool,
    /// It was mapped.
    pub mapped: bool,
    /// An open asked for `O_DIRECT`.
    pub direct: bool,
    /// An open asked for `O_APPEND`.
    pub appended: bool,
    /// It had no name left when it was last written or closed.
    pub unlinked: bool,
    /// It is a socket of IPv4 or IPv6.
    pub inet: bool,
    /// Of that: its packets stay on the machine.
    pub loopback: bool,
    /// It was connected to nobody when it was met.
    pub ends_unknown: bool,
    /// Of a socket: what is known of single datagrams.
    pub datagrams: Datagrams,
    /// A descriptor of it may read.
    pub opened_to_read: bool,
    /// A descriptor of it may write.
    pub opened_to_write: bool,
    /// Transfers by exact size, for the most frequent sizes; a size that gave way and came back
    /// has its former transfers in `classes`.
    pub sizes: Vec<ExactSize>,
    /// The other transfers, if there were so many sizes.
    pub classes: Option<Box<SizeClasses>>,
}

/// Bytes of datagrams, as far as it is known where each went or came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Datagrams {
    /// Sent within the machine.
    pub local_sent: u64,
    /// Received from within.
    pub local_received: u64,
    /// Sent elsewhere.
    pub remote_sent: u64,
    /// Received from elsewhere.
    pub remote_received: u64,
}

/// Pages of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounts {
    /// Filled by calls that read.
    pub filled: u64,
    /// Made dirty by calls that write.
    pub dirtied: u64,
    /// Filled by page faults on a mapping.
    pub mapped_filled: u64,
    /// Made dirty by page faults.
    pub mapped_dirtied: u64,
}

/// The kernel's tick in nanoseconds, and one instant by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bpf) struct Ticks {
    pub(in crate::bpf) jiffies: u64,
    pub(in crate::bpf) boot_ns: u64,
    pub(in crate::bpf) tick_ns: u64,
}

impl Ticks {
    /// `CLOCK_BOOTTIME` at `jiffies`.
    pub(super) fn boot_at(self, jiffies: u64) -> u64 {
        let apart = jiffies.abs_diff(self.jiffies).saturating_mul(self.tick_ns);
        if jiffies < self.jiffies {
            self.boot_ns.saturating_sub(apart)
        } else {
            self.boot_ns.saturating_add(apart)
        }
    }
}

/// `struct row_key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) run: u64,
    pub(super) file: FileId,
    pub(super) tgid: u32,
    pub(super) epoch: u32,
}

fn decode_file(reader: &mut Reader<'_>) -> Option<FileId> {
    Some(FileId {
        inode: reader.u64()?,
        name: reader.u64()?,
        device: reader.u32()?,
        generation: reader.u32()?,
    })
}

pub(super) fn decode_key(bytes: &[u8]) -> Option<Key> {
    let mut reader = Reader(bytes);
    let run = reader.u64()?;
    reader.u64()?;
    let file = decode_file(&mut reader)?;
    let tgid = reader.u32()?;
    reader.u32()?;
    Some(Key {
        run,
        file,
        tgid,
        epoch: reader.u32()?,
    })
}

/// The run of a `struct folder_key`.
pub(super) fn decode_folder_run(bytes: &[u8]) -> Option<u64> {
    Reader(bytes).u64()
}

/// The runs, the file and the process of a `struct dumped`.
pub(super) fn decode_dumped(bytes: &[u8]) -> Option<([u64; RUNS_PER_PROCESS], FileId, u32)> {
    let mut reader = Reader(bytes);
    let mut runs = [0; RUNS_PER_PROCESS];
    for run in &mut runs {
        *run = reader.u64()?;
    }
    reader.u64()?;
    let file = decode_file(&mut reader)?;
    Some((runs, file, reader.u32()?))
}

pub(super) fn decode_row(file: FileId, pid: u32, bytes: &[u8], ticks: Ticks) -> Option<FileRow> {
    let mut reader = Reader(bytes);
    let [first_ns, last, size_last, opens, closes, reads, bytes_read] = words(&mut reader)?;
    let (flags, mode) = (reader.u32()?, reader.u32()?);
    let sizes = decode_sizes(&mut reader)?;
    let [writes, bytes_written, seeks, failed] = words(&mut reader)?;
    let [time_ns, executions, no_space] = words(&mut reader)?;
    let pages = decode_pages(&mut reader)?;
    let [size_first, folder, start_ns] = words(&mut reader)?;
    let (special_device, magic) = (reader.u32()?, reader.u32()?);
    let below = FileId {
        inode: reader.u64()?,
        name: 0,
        device: reader.u32()?,
        generation: reader.u32()?,
    };
    let [local_sent, local_received, remote_sent, remote_received] = words(&mut reader)?;
    let has = |flag| flags & flag != 0;
    Some(FileRow {
        file,
        pid,
        start_ns,
        first_ns,
        last_ns: ticks.boot_at(last),
        opens,
        closes,
        seeks,
        reads,
        writes,
        bytes_read,
        bytes_written,
        failed,
        no_space,
        time_ns,
        executions,
        size_first_bytes: (size_first != SIZE_UNKNOWN).then_some(size_first),
        size_last_bytes: size_last,
        folder,
        whole_name: has(WHOLE_NAME),
        leaf: until_nul(reader.take(LEAF_BYTES)?).to_vec(),
        mode,
        special_device,
        magic,
        below: (below.inode != 0).then_some(below),
        pages,
        created: has(CREATED),
        truncated: has(TRUNCATED),
        mapped: has(MAPPED),
        direct: has(DIRECT),
        appended: has(APPENDED),
        unlinked: has(UNLINKED),
        inet: has(INET),
        loopback: has(LOOPBACK),
        ends_unknown: has(ENDS_UNKNOWN),
        datagrams: Datagrams {
            local_sent,
            local_received,
            remote_sent,
            remote_received,
        },
        opened_to_read: has(OPENED_TO_READ),
        opened_to_write: has(OPENED_TO_WRITE),
        sizes,
        classes: None,
    })
}

fn decode_pages(reader: &mut Reader<'_>) -> Option<PageCounts> {
    Some(PageCounts {
        filled: reader.u32()?.into(),
        dirtied: reader.u32()?.into(),
        mapped_filled: reader.u32()?.into(),
        mapped_dirtied: reader.u32()?.into(),
    })
}

/// The next words.
fn words<const N: usize>(reader: &mut Reader<'_>) -> Option<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        *word = reader.u64()?;
    }
    Some(words)
}

fn decode_sizes(reader: &mut Reader<'_>) -> Option<Vec<ExactSize>> {
    let mut sizes = Vec::new();
    for _ in 0..EXACT_SIZES {
        let size = ExactSize {
            bytes: reader.u32()?,
            reads: reader.u32()?,
            writes: reader.u32()?,
        };
        if size.reads != 0 || size.writes != 0 {
            sizes.push(size);
        }
    }
    Some(sizes)
}

/// Whether a row has transfers in the table of classes.
pub(super) fn has_classes(row: &[u8]) -> bool {
    row.get(FLAGS..FLAGS + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .is_some_and(|bytes| u32::from_ne_bytes(bytes) & SIZES_LEFT != 0)
}

/// `struct size_classes`.
pub(super) fn decode_classes(bytes: &[u8]) -> Option<SizeClasses> {
    let mut reader = Reader(bytes);
    let mut classes = SizeClasses {
        reads: [0; SIZE_CLASSES],
        writes: [0; SIZE_CLASSES],
    };
    for count in classes.reads.iter_mut().chain(&mut classes.writes) {
        *count = reader.u32()?;
    }
    Some(classes)
}

pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jiffies_become_the_time_since_boot() {
        let ticks = Ticks {
            jiffies: 1000,
            boot_ns: 50_000_000_000,
            tick_ns: 4_000_000,
        };
        assert_eq!(ticks.boot_at(1001), 50_004_000_000);
        assert_eq!(ticks.boot_at(999), 49_996_000_000);
        assert_eq!(ticks.boot_at(0), 46_000_000_000);
    }

    #[test]
    fn a_cut_row_is_none() {
        let file = FileId {
            inode: 1,
            name: 2,
            device: 3,
            generation: 0,
        };
        let ticks = Ticks {
            jiffies: 0,
            boot_ns: 0,
            tick_ns: 1,
        };
        let row = [0u8; ROW_BYTES];
        assert!(decode_row(file, 4, &row, ticks).is_some());
        for cut in 0..ROW_BYTES {
            assert_eq!(
                decode_row(file, 4, &row[..cut], ticks),
                None,
                "cut to {cut}"
            );
        }
        assert_eq!(decode_key(&[0; KEY_BYTES - 8]), None);
        assert!(decode_key(&[0; KEY_BYTES]).is_some());
    }
}
