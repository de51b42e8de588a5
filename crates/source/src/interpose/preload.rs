//! Files of a task, counted by a library within its dynamic programs (`LD_PRELOAD`).
//!
//! For any user. It sees the calls of functions of the C library; not static programs, system calls
//! that a program makes by itself, nor setuid programs. The library and the table that it writes
//! are one file in memory, which lives as long as the task.

use crate::notify::{Mechanism, Unusable};
use record::unit::Bytes;
use record::value::Absent;

mod ahead;
mod decode;
mod files;
mod names;
mod socket;
mod table;

pub use files::{Files, Seen};

const NAME: &str = "preload";

/// Most of it that a process maps as long as it uses few files: the library, the head of the table
/// and one chunk.
pub const SHARED: Bytes = Bytes(
    (preload::IMAGE.len() + 2 * 4096 + preload::layout::HEADER_BYTES + preload::layout::CHUNK_BYTES)
        as u64,
);

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 3,
    by_default: true,
    probe,
    gives: "calls, bytes and sizes of transfers by file, for dynamic programs",
};

/// Makes the file that the library is loaded from.
///
/// # Errors
/// What is missing: the library in this build, or a file in memory.
pub fn probe() -> Result<(), Unusable> {
    if preload::IMAGE.is_empty() {
        let why = "the library is not built for this processor".to_owned();
        return Err((Absent::NoKernelSupport, why));
    }
    if no_room().is_some() {
        let why = "the limit on the size of files (ulimit -f) has no room for its table";
        return Err((Absent::NoPermission, why.to_owned()));
    }
    match Files::create(false) {
        Ok(_) => Ok(()),
        Err(error) => Err((Absent::NoKernelSupport, error.to_string())),
    }
}

/// The limit on the size of files, in bytes, where it leaves no room for the file.
pub fn no_room() -> Option<u64> {
    sys::rlimit::file_size_max().filter(|bytes| *bytes < preload::layout::FILE_BYTES)
}
