//! The reading end of a BPF ring buffer (`BPF_MAP_TYPE_RINGBUF`): two positions and the data.
//!
//! Its pages: the consumer's position (ours to write), the producer's position, then the data twice
//! in a row, so that a record that wraps round is whole in memory.

use super::load::bpf_error;
use super::mapping::{Mapping, page_bytes};
use crate::error::Error;
use libbpf_rs::{MapHandle, MapType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const HEADER_BYTES: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const NAME: &str = "plimsoll_ring";

/// What `BPF_MAP_CREATE` reads of `union bpf_attr`, up to the name.
#[repr(C)]
struct Attribute {
    /// Kind, bytes of a key and of a value, entries, flags, map within, node of memory.
    words: [u32; 7],
    name: [u8; 16],
}

/// A ring buffer of `bytes`, a power of two.
///
/// # Errors
/// The kernel's.
pub(super) fn create(bytes: usize) -> Result<OwnedFd, Error> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    match create_at_once(bytes) {
        Ok(ring) => Ok(ring),
        // It may lack a limit that libbpf raises where that must be: before Linux 5.11.
        Err(_) => create_by_libbpf(bytes),
    }
}

/// libbpf tries out beforehand what the kernel can, by programs loaded for it: half a millisecond
/// of each run.
fn create_at_once(bytes: u32) -> io::Result<OwnedFd> {
    let mut attribute = Attribute {
        words: [libbpf_sys::BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, 0, 0, 0],
        name: [0; 16],
    };
    for (place, byte) in attribute.name.iter_mut().zip(NAME.bytes()) {
        *place = byte;
    }
    // SAFETY: the attribute is live and as long as said, and holds no addresses.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            libbpf_sys::BPF_MAP_CREATE,
            &raw const attribute,
            size_of::<Attribute>(),
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just given it to us.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn create_by_libbpf(bytes: u32) -> Result<OwnedFd, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64,
        ..Default::default()
    };
    let map = MapHandle::create(MapType::RingBuf, Some(NAME), 0, 0, bytes, &options)
        .map_err(|error| bpf_error("creation of a ring buffer", &error))?;
    map.as_fd()
        .try_clone_to_owned()
        .map_err(|source| Error::Call {
            call: "fcntl(F_DUPFD_CLOEXEC)",
            source,
        })
}

/// The reading end of one ring buffer.
#[derive(Debug)]
pub(super) struct Ring {
    consumer: Mapping,
    producer: Mapping,
    page: usize,
    data_bytes: usize,
}

impl Ring {
    /// Maps the ring buffer `fd` of `data_bytes` (a power of two).
    pub(super) fn new(fd: BorrowedFd<'_>, data_bytes: usize) -> Result<Self, Error> {
        let page = page_bytes();
        Ok(Self {
            consumer: Mapping::new(fd, 0, page, true)?,
            producer: Mapping::new(fd, page, page + 2 * data_bytes, false)?,
            page,
            data_bytes,
        })
    }

    /// How long its data is.
    pub(super) const fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// What was written and not yet given, bytes.
    pub(super) fn waiting(&self) -> u64 {
        let at = |mapping: &Mapping| mapping.word(0).map_or(0, |at| at.load(Ordering::Acquire));
        at(&self.producer).saturating_sub(at(&self.consumer))
    }

    /// Passes over all that was written before this call.
    pub(super) fn pass_over(&self) {
        if let (Some(consumer), Some(producer)) = (self.consumer.word(0), self.producer.word(0)) {
            consumer.store(producer.load(Ordering::Acquire), Ordering::Release);
        }
    }

    /// Gives every record written before this call to `take`, in order; stops at one that is still
    /// being written.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        self.drain_some(usize::MAX, take);
    }

    /// The same of so many records at most; how many those were.
    pub(super) fn drain_some(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut given = 0;
        let Some(consumer) = self.consumer.word(0) else {
            return given;
        };
        let written = self
            .producer
            .word(0)
            .map_or(0, |at| at.load(Ordering::Acquire));
        while given < most && consumer.load(Ordering::Relaxed) < written {
            if self.next(consumer, take).is_none() {
                break;
            }
            given += 1;
        }
        given
    }

    fn next(&self, consumer: &AtomicU64, take: &mut dyn FnMut(&[u8])) -> Option<()> {
        let position = consumer.load(Ordering::Relaxed);
        let offset = usize::try_from(position).ok()? & (self.data_bytes - 1);
        let header = self.header(offset)?.load(Ordering::Acquire);
        if header & BUSY != 0 {
            return None;
        }
        let count = usize::try_from(header & !DISCARDED).ok()?;
        if header & DISCARDED == 0 {
            take(
                self.producer
                    .slice(self.page + offset + HEADER_BYTES, count)?,
            );
        }
        let step = (HEADER_BYTES + count).next_multiple_of(8);
        consumer.store(position + u64::try_from(step).ok()?, Ordering::Release);
        Some(())
    }

    fn header(&self, offset: usize) -> Option<&AtomicU32> {
        self.producer.half_word(self.page + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_the_same_by_both_ways() {
        const BYTES: u32 = 1 << 16;
        let direct = match create_at_once(BYTES) {
            Ok(ring) => ring,
            Err(error) => return println!("skipped: {error}"),
        };
        let by_libbpf = create_by_libbpf(BYTES).unwrap();
        for ring in [direct, by_libbpf] {
            let mut ring = Ring::new(ring.as_fd(), BYTES as usize).unwrap();
            ring.drain(&mut |_| panic!("nobody wrote"));
            assert_eq!(ring.waiting(), 0);
        }
        let odd = create_at_once(BYTES + 1).unwrap_err();
        assert_eq!(odd.raw_os_error(), Some(libc::EINVAL));
    }
}
