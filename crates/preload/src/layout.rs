//! The table that the library's processes write and the monitor reads: what lies where.
//!
//! One file in memory (`memfd_create(2)`) holds the library's image, and from [`TABLE_AT`] on the
//! table: a [`Header`], then chunks of [`CHUNK_BYTES`]. A process takes a chunk when it first
//! uses a file, and another when that is full. The first slot of a chunk is its [`Chunk`]; the
//! others hold a [`Row`] each, the rest of a long path, [`Classes`], or several of them [`Names`].
//! Numbers are of this machine's order. Whoever belongs to the task can write all of it: the reader
//! believes nothing.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Where the table begins in the file; the image is shorter.
pub const TABLE_AT: u64 = 1 << 20;
/// Room for the [`Header`].
pub const HEADER_BYTES: usize = 1 << 16;
/// One slot.
pub const SLOT_BYTES: usize = 512;
/// Slots of a chunk.
pub const SLOTS: u32 = 128;
/// One chunk; as large as the largest page of any kernel, so that it can be mapped.
pub const CHUNK_BYTES: usize = SLOT_BYTES * SLOTS as usize;
/// Chunks of a table.
pub const CHUNKS: u32 = 4096;
/// Chunks that one process may take.
pub const CHUNKS_OF_A_PROCESS: u32 = 256;
/// The length of the file.
pub const FILE_BYTES: u64 = TABLE_AT + HEADER_BYTES as u64 + CHUNKS as u64 * CHUNK_BYTES as u64;
/// The first eight bytes of a table: its name and the form of this version.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"plimsol9");

/// Bytes of a path in its row; longer ones go on in the slots from [`Row::more`] on.
pub const PATH_BYTES: usize = 256;
/// Longest path that is kept.
pub const PATH_MAX: usize = 4096;
/// Slots of a block of names; more for one that is longer.
pub const NAMES_SLOTS: u32 = 16;
/// Slots that the names of one process may take.
pub const NAMES_SLOTS_OF_A_PROCESS: u32 = 1 << 13;
/// Bytes of an address of a socket: more than any of the kernel's has but those of unix sockets,
/// which have two fewer.
pub const ADDRESS_BYTES: usize = 112;
/// Addresses of this machine that the header has room for.
pub const OWN_ADDRESSES: usize = 1024;
/// Exact sizes that a row holds.
pub const SIZES: usize = 8;
/// Classes of sizes, by the power of two.
pub const CLASSES: usize = 32;

/// The beginning of a table.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// Which run; the monitor's choice.
    pub run: AtomicU64,
    /// What is asked for: [`TIMES`].
    pub asked: AtomicU32,
    /// The next chunk that nobody has had.
    pub next: AtomicU32,
    /// Chunks taken out of `free` so far.
    pub head: AtomicU32,
    /// Chunks put into `free` so far, by the monitor.
    pub tail: AtomicU32,
    /// Processes whose buffered streams (`stdio.h`) are not counted.
    pub without_stdio: AtomicU32,
    /// Processes that took a chunk.
    pub attached: AtomicU32,
    /// What had no room.
    pub others: Others,
    /// Changes of names that could not be told.
    pub names_lost: AtomicU64,
    /// Executions of programs into which the library is not loaded.
    pub left_out: AtomicU64,
    /// Calls of `io_submit` (libaio).
    pub libaio_calls: AtomicU64,
    /// Requests of POSIX aio whose result was not asked for yet.
    pub aio_requests: AtomicU64,
    /// Rings of io_uring that were made.
    pub rings: AtomicU64,
    /// Calls on files that could not be looked up, behind a filter of system calls.
    pub blind_calls: AtomicU64,
    /// Calls that gave a name to another file.
    pub moves: AtomicU64,
    /// Chunks to be used again, a ring.
    pub free: [AtomicU32; CHUNKS as usize],
    /// The network whose addresses these are, by its cookie (`SO_NETNS_COOKIE`); 0: not known.
    pub network: AtomicU64,
    /// How many of `own` there are.
    pub own_count: AtomicU64,
    /// In order, each as two words of [`halves`].
    pub own: [[AtomicU64; 2]; OWN_ADDRESSES],
}

/// An address of IPv6, or of IPv4 as `::ffff:a.b.c.d`, as two numbers that have its order.
pub const fn halves(address: [u8; 16]) -> (u64, u64) {
    let whole = u128::from_be_bytes(address);
    ((whole >> 64) as u64, whole as u64)
}

/// [`Header::asked`]: the time of calls is taken.
pub const TIMES: u32 = 1;

/// Calls without a row.
#[derive(Debug)]
#[repr(C)]
pub struct Others {
    /// Files that would have had a row, at most.
    pub rows: AtomicU64,
    /// Calls that opened a file.
    pub opens: AtomicU64,
    /// Calls that closed one.
    pub closes: AtomicU64,
    /// Calls that read.
    pub reads: AtomicU64,
    /// Calls that wrote.
    pub writes: AtomicU64,
    /// Bytes read.
    pub bytes_read: AtomicU64,
    /// Bytes written.
    pub bytes_written: AtomicU64,
    /// Seeks.
    pub seeks: AtomicU64,
    /// Reads and writes that failed.
    pub failed: AtomicU64,
    /// Files that an exec ran.
    pub executions: AtomicU64,
    /// Of `failed` the writes for which there was no room.
    pub no_space: AtomicU64,
}

/// The first slot of a chunk.
#[derive(Debug)]
#[repr(C)]
pub struct Chunk {
    /// The process that has it, as `/proc` knows it; 0: nobody, or not yet.
    pub pid: AtomicU32,
    /// Its own number.
    pub number: AtomicU32,
    /// Slots taken, this one included; more than there are once it was found full.
    pub used: AtomicU32,
}

/// What a slot holds.
pub mod slot {
    /// Nothing, or not all of it yet.
    pub const NOTHING: u32 = 0;
    /// A row.
    pub const ROW: u32 = 1;
    /// The head of a block of names.
    pub const NAMES: u32 = 2;
}

/// What one process did with one file.
#[derive(Debug)]
#[repr(C)]
pub struct Row {
    /// Last use, ns of `CLOCK_MONOTONIC`, to a tick of the kernel.
    pub last: AtomicU64,
    /// Transfers by exact size: 31 bits of size and one that says a write above a count of 32 bits.
    /// One word, so that a size and its count change together.
    pub sizes: [AtomicU64; SIZES],
    /// First use, to the nanosecond.
    pub first: AtomicU64,
    /// Time spent in calls, ns.
    pub time: AtomicU64,
    /// The path by which it was last opened, and from where, as a hash; the process's own.
    pub asked: AtomicU64,
    /// Calls that opened it.
    pub opens: AtomicU64,
    /// Calls that closed it.
    pub closes: AtomicU64,
    /// Seeks.
    pub seeks: AtomicU64,
    /// Reads and writes that failed.
    pub failed: AtomicU64,
    /// Calls that read and are not in `sizes`.
    pub reads: AtomicU64,
    /// Calls that wrote and are not in `sizes`.
    pub writes: AtomicU64,
    /// What those moved.
    pub bytes_read: AtomicU64,
    /// What those moved.
    pub bytes_written: AtomicU64,
    /// Bytes that came by `recv` and its like, which the kernel's totals leave out.
    pub received: AtomicU64,
    /// Bytes that went by `send` and its like.
    pub sent: AtomicU64,
    /// `st_dev`.
    pub device: AtomicU64,
    /// `st_ino`.
    pub inode: AtomicU64,
    /// `st_rdev`, which has no more bits.
    pub special: AtomicU32,
    /// The mount that it lies on, as `mountinfo` calls it; 0: not known.
    pub mount: AtomicU32,
    /// `st_size` at the first use.
    pub size_first: AtomicU64,
    /// `st_size` when it was last looked at.
    pub size_last: AtomicU64,
    /// Writes that there had been then.
    pub size_writes: AtomicU64,
    /// Where its [`Classes`] are in this process; 0: nowhere.
    pub classes_here: AtomicU64,
    /// Their slot: number of the chunk times [`SLOTS`] and number of the slot; 0: none.
    pub classes: AtomicU32,
    /// [`slot`].
    pub state: AtomicU32,
    /// `st_mode`, which has no more bits.
    pub mode: AtomicU16,
    /// Length of its path.
    pub path_bytes: AtomicU16,
    /// [`flag`].
    pub flags: AtomicU32,
    /// Of `failed` the writes for which there was no room; so many or more if it is full.
    pub no_space: AtomicU32,
    /// The slot where the path goes on; 0: none.
    pub more: AtomicU32,
    /// As `/proc/self/fd` showed it; of a socket its [`Socket`].
    pub path: [AtomicU8; PATH_BYTES],
}

/// What is known of a socket, in the place of its path.
#[derive(Debug)]
#[repr(C)]
pub struct Socket {
    /// Of [`socket::CONNECTION`]: when that was last looked at, ns of `CLOCK_MONOTONIC`; and
    /// `tcpi_total_retrans` above the 32 bits of `tcpi_rtt`. Of [`socket::DATAGRAMS`]: bytes that
    /// were sent within the machine; and received.
    pub told: [AtomicU64; 2],
    /// [`socket`]; what is told by a bit is written before it.
    pub state: AtomicU32,
    /// `SO_PROTOCOL`.
    pub protocol: AtomicU32,
    /// `SO_DOMAIN`.
    pub family: AtomicU16,
    /// `SO_TYPE`.
    pub kind: AtomicU16,
    /// Length of its own address.
    pub local_bytes: AtomicU16,
    /// Length of that of the other end; 0: it is connected to nobody.
    pub peer_bytes: AtomicU16,
    /// `struct sockaddr`, its own.
    pub local: [AtomicU8; ADDRESS_BYTES],
    /// That of the other end.
    pub peer: [AtomicU8; ADDRESS_BYTES],
}

/// Bits of [`Socket::state`].
pub mod socket {
    /// Family, type, protocol and ends are told.
    pub const ENDS: u32 = 1;
    /// So is how its connection went.
    pub const CONNECTION: u32 = 2;
    /// It is of datagrams of IPv4 or IPv6, and those within the machine are counted.
    pub const DATAGRAMS: u32 = 4;
    /// It belongs to [`super::Header::network`].
    pub const OWN_NETWORK: u32 = 8;
}

/// Transfers whose exact size was not kept.
#[derive(Debug)]
#[repr(C)]
pub struct Classes {
    /// Reads by the power of two of their size.
    pub reads: [AtomicU64; CLASSES],
    /// Writes.
    pub writes: [AtomicU64; CLASSES],
}

/// The head of a block of names: one [`Name`] after another, to the end of its slots.
#[derive(Debug)]
#[repr(C)]
pub struct Names {
    /// Bytes taken, these included.
    pub used: AtomicU32,
    /// Its slots.
    pub slots: AtomicU32,
    unused: [AtomicU32; 57],
    /// [`slot`], where a row has it.
    pub state: AtomicU32,
}

/// What a call did to a name: behind this the bytes of the path and of the new one, both absolute,
/// and as many as lead to the next word of eight.
#[derive(Debug)]
#[repr(C)]
pub struct Name {
    /// When the call began, ns of `CLOCK_MONOTONIC`.
    pub at: AtomicU64,
    /// Length of the path.
    pub bytes: AtomicU32,
    /// Length of the new one; 0: there is none.
    pub to_bytes: AtomicU32,
    /// [`name`]; written last.
    pub change: AtomicU32,
    unused: AtomicU32,
}

/// What a call did, in [`Name::change`].
pub mod name {
    /// Nothing is told yet.
    pub const NOTHING: u32 = 0;
    /// It removed a name of a file of any kind but a folder.
    pub const REMOVED: u32 = 1;
    /// It removed a folder.
    pub const FOLDER_REMOVED: u32 = 2;
    /// It gave another one to its file.
    pub const RENAMED: u32 = 3;
    /// It let two change places.
    pub const EXCHANGED: u32 = 4;
    /// It cut or extended its file.
    pub const TRUNCATED: u32 = 5;
}

/// What a [`Name`] takes with paths of these lengths.
pub const fn name_bytes(bytes: usize, to_bytes: usize) -> usize {
    size_of::<Name>() + (bytes + to_bytes).next_multiple_of(8)
}

/// Bits of [`Row::flags`].
pub mod flag {
    /// A descriptor of it could read.
    pub const READS: u32 = 1;
    /// A descriptor of it could write.
    pub const WRITES: u32 = 2;
    /// It was not there before.
    pub const CREATED: u32 = 4;
    /// An open or `ftruncate` truncated it.
    pub const TRUNCATED: u32 = 8;
    /// An open asked to append.
    pub const APPENDED: u32 = 16;
    /// An open asked for direct I/O.
    pub const DIRECT: u32 = 32;
    /// It was mapped.
    pub const MAPPED: u32 = 64;
    /// It had no name when it was last looked at.
    pub const UNLINKED: u32 = 128;
    /// Its path was too long, or there was no room for the rest.
    pub const CUT: u32 = 256;
    /// The exec by which the process became this program ran it.
    pub const EXECUTED: u32 = 512;
    /// It is all those files of the process that found no room.
    pub const OTHERS: u32 = 1024;
    /// Another file was created after it, which got its number and path.
    pub const FORMER: u32 = 2048;
}

/// The bit of a size that says a write.
pub const SIZE_WRITES: u64 = 1 << 63;

/// The class of a size: 0 moved nothing, n at least `2^(n-1)` bytes.
pub const fn class(bytes: u64) -> usize {
    let class = (u64::BITS - bytes.leading_zeros()) as usize;
    if class < CLASSES { class } else { CLASSES - 1 }
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
const _: () = assert!(size_of::<Row>() <= SLOT_BYTES);
const _: () = assert!(size_of::<Classes>() <= SLOT_BYTES);
const _: () = assert!(size_of::<Socket>() <= PATH_BYTES);
const _: () = assert!(offset_of!(Row, path).is_multiple_of(align_of::<Socket>()));
const _: () = assert!(offset_of!(Names, state) == offset_of!(Row, state));
const _: () = assert!(size_of::<Names>().is_multiple_of(8) && size_of::<Name>().is_multiple_of(8));
const _: () = assert!(size_of::<Names>() + name_bytes(PATH_MAX, PATH_MAX) < CHUNK_BYTES / 2);
const _: () = assert!(TABLE_AT.is_multiple_of(65536) && HEADER_BYTES.is_multiple_of(65536));
