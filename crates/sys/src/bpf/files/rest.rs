//! What has no row: sums, and what was not seen.

use super::FLAGS;
use super::layout::PageCounts;

/// Words of `struct io_run`.
const FOLDERS_LOST: usize = 5;
const COMPAT_CALLS: usize = 6;
const LIBAIO_CALLS: usize = 7;
const REST: usize = 8;
const NAMES_LOST: usize = 20;
const EXECUTIONS: usize = 21;

/// Of its flags (`IO_RUN_FOREIGN`).
const FOREIGN: u64 = 4;

/// What files were used that found no place in the table of rows, and what was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileRest {
    /// Successful calls of the open family.
    pub opens: u64,
    /// Calls of `close`.
    pub closes: u64,
    /// Calls of `lseek`.
    pub seeks: u64,
    /// Read-like calls.
    pub reads: u64,
    /// Write-like calls.
    pub writes: u64,
    /// Bytes that reads moved.
    pub bytes_read: u64,
    /// Bytes that writes moved.
    pub bytes_written: u64,
    /// Times that an exec ran a file.
    pub executions: u64,
    /// Rows that there would have been, at most.
    pub rows: u64,
    /// Pages.
    pub pages: PageCounts,
    /// Changes of names that found the ring full, or whose paths could not be read.
    pub names_lost: u64,
    /// Folders whose path found no place, counted at each file in them.
    pub folders_lost: u64,
    /// Calls by the 32-bit interface, which are not seen.
    pub compat_calls: u64,
    /// Calls of `io_submit`: what they read and wrote is not seen.
    pub libaio_calls: u64,
    /// Programs of another user than the owner were left out.
    pub foreign: bool,
}

impl FileRest {
    /// From the words of `struct io_run`.
    pub(in crate::bpf) fn from_words(words: &[u64]) -> Self {
        let read = |word: usize| words.get(word).copied().unwrap_or(0);
        Self {
            opens: read(REST),
            closes: read(REST + 1),
            seeks: read(REST + 2),
            reads: read(REST + 3),
            writes: read(REST + 4),
            bytes_read: read(REST + 5),
            bytes_written: read(REST + 6),
            executions: read(EXECUTIONS),
            rows: read(REST + 7),
            pages: PageCounts {
                filled: read(REST + 8),
                dirtied: read(REST + 9),
                mapped_filled: read(REST + 10),
                mapped_dirtied: read(REST + 11),
            },
            names_lost: read(NAMES_LOST),
            folders_lost: read(FOLDERS_LOST),
            compat_calls: read(COMPAT_CALLS),
            libaio_calls: read(LIBAIO_CALLS),
            foreign: read(FLAGS) & FOREIGN != 0,
        }
    }
}
