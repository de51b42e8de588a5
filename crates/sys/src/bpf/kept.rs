//! Rings that stay in the kernel for the next run in their slot.
//!
//! To put a ring into the map of rings, or to take it out, the kernel waits until no program is
//! under way any more (an RCU grace period, 10 to 20 ms each): many times what a short command
//! takes. So the first slots of the shared programs keep theirs, pinned beside the programs
//! (`ring_SLOT`). Of what a run before left in one nothing is given: what was written is passed
//! over, and what a program was still about to write then is known by its time.
//!
//! A ring that somebody else has seen is never kept: who borrows a run of an agent's may look into
//! it for ever.

use super::layout::RUN_SLOTS;
use super::load::{OBJECT_HASH, lookup};
use super::pins::folder_of;
use super::{pinned, ring};
use crate::error::Error;
use libbpf_rs::{MapCore, MapHandle};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// The slots that keep a ring: few have more runs at once most of the time, and each ring is a MiB
/// or more.
const SLOTS: u32 = 4;
const _: () = assert!(SLOTS <= RUN_SLOTS);

/// A ring for a run.
pub(super) struct Kept {
    pub(super) ring: OwnedFd,
    /// Whether the map of rings has it already.
    pub(super) in_place: bool,
}

fn path(slot: u32) -> PathBuf {
    folder_of(OBJECT_HASH).join(format!("ring_{slot}"))
}

/// The ring that is kept for `slot`, or a new one that will be; `None` where none is kept. Only for
/// who holds the slot.
///
/// # Errors
/// The kernel has no memory for a new one.
pub(super) fn ring(rings: &MapHandle, slot: u32, bytes: usize) -> Result<Option<Kept>, Error> {
    if slot >= SLOTS {
        return Ok(None);
    }
    if let Some(kept) = pinned_ring(slot, bytes) {
        let in_place = is_in_place(rings, slot, &kept);
        let ring = kept.as_fd().try_clone_to_owned();
        return Ok(ring.ok().map(|ring| Kept { ring, in_place }));
    }
    let path = path(slot);
    // One for another number of processors; most often there is none.
    let _ = fs::remove_file(&path);
    let ring = ring::create(bytes)?;
    // Where nothing can be pinned the ring goes with its run.
    let is_kept = pinned::pin(ring.as_fd(), &path).is_ok();
    Ok(is_kept.then_some(Kept {
        ring,
        in_place: false,
    }))
}

/// Whether what the map has for `slot` is the ring that is kept for it.
pub(super) fn has(rings: &MapHandle, slot: u32) -> bool {
    slot < SLOTS
        && MapHandle::from_pinned_path(path(slot)).is_ok_and(|kept| is_in_place(rings, slot, &kept))
}

fn pinned_ring(slot: u32, bytes: usize) -> Option<MapHandle> {
    let kept = MapHandle::from_pinned_path(path(slot)).ok()?;
    let is_as_long = usize::try_from(kept.max_entries()).is_ok_and(|there| there == bytes);
    is_as_long.then_some(kept)
}

/// A map of maps tells the id of each.
fn is_in_place(rings: &MapHandle, slot: u32, kept: &MapHandle) -> bool {
    let there = lookup(rings, &slot.to_ne_bytes()).ok().flatten();
    let id = kept.info().ok().map(|it| it.info.id.to_ne_bytes().to_vec());
    there.is_some() && there == id
}
