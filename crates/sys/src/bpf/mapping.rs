//! Memory that is shared with the kernel (`mmap(2)` of a BPF map).

use crate::error::{Error, check};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping; unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and what it holds is read and written by atomics
// or not at all (`slice` says when).
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` gives atomics and bytes that the kernel no longer writes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of the map `fd` from `offset` (a multiple of the page size).
    pub(super) fn new(
        fd: BorrowedFd<'_>,
        offset: usize,
        bytes: usize,
        writable: bool,
    ) -> Result<Self, Error> {
        let access = if writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        let offset = libc::off_t::try_from(offset).unwrap_or(libc::off_t::MAX);
        // SAFETY: no address is asked for, so no other mapping is touched; the descriptor is open.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            check("mmap of a BPF map", -1)?;
        }
        match NonNull::new(start.cast::<u8>()) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(Error::BadMessage(0)),
        }
    }

    /// The bytes at `at`, if they lie inside. The caller must know that nobody writes them now: the
    /// kernel does not between a record's commit and its release.
    pub(super) fn slice(&self, at: usize, count: usize) -> Option<&[u8]> {
        if at.checked_add(count)? > self.bytes {
            return None;
        }
        // SAFETY: `at` lies within the mapping (checked above).
        let start = unsafe { self.start.add(at) };
        // SAFETY: the range lies within the mapping, which lives as long as `self`; bytes need no
        // alignment and have no invalid values; not written now, says the caller.
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), count) })
    }

    /// The 64-bit word at `at`, if it lies inside and is aligned.
    pub(super) fn word(&self, at: usize) -> Option<&AtomicU64> {
        if at.checked_add(8)? > self.bytes || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: `at` lies within the mapping (checked above).
        let start = unsafe { self.start.add(at) };
        // SAFETY: inside, aligned (mappings start at a page), lives as long as `self`; the kernel
        // too writes it only by single stores and atomics.
        Some(unsafe { AtomicU64::from_ptr(start.as_ptr().cast()) })
    }

    /// The 32-bit word at `at`, if it lies inside and is aligned.
    pub(super) fn half_word(&self, at: usize) -> Option<&AtomicU32> {
        if at.checked_add(4)? > self.bytes || !at.is_multiple_of(4) {
            return None;
        }
        // SAFETY: `at` lies within the mapping (checked above).
        let start = unsafe { self.start.add(at) };
        // SAFETY: as for `word`.
        Some(unsafe { AtomicU32::from_ptr(start.as_ptr().cast()) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this length; no reference outlives `self`. It cannot fail
        // then.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The size of a page, bytes (`sysconf(3)`).
pub(super) fn page_bytes() -> usize {
    // SAFETY: no pointers.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}
