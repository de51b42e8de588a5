//! The reading end of a BPF ring buffer (`BPF_MAP_TYPE_RINGBUF`): two positions and the data.
//!
//! Its pages: the consumer's position (ours to write), the producer's position, then the data twice
//! in a row, so that a record that wraps round is whole in memory.

use super::mapping::{Mapping, page_bytes};
use crate::error::Error;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const HEADER_BYTES: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

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

    /// Gives every record written before this call to `take`, in order; stops at one that is still
    /// being written.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        let Some(consumer) = self.consumer.word(0) else {
            return;
        };
        let written = self
            .producer
            .word(0)
            .map_or(0, |at| at.load(Ordering::Acquire));
        while consumer.load(Ordering::Relaxed) < written {
            if self.next(consumer, take).is_none() {
                return;
            }
        }
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
