//! What the programs and the runs share: the maps, and the table of runs as memory.

use super::kept;
use super::layout::RUN_SLOTS;
use super::load::{Maps, fd_bytes, update};
use super::mapping::Mapping;
use crate::error::Error;
use libbpf_rs::MapCore;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// `sizeof(struct run)`.
const RUN_BYTES: usize = 128;
/// The word of `struct run` that holds its id.
const ID: usize = 0;
/// Stands in the place of an id while a ring is there and its run is not: no process has it.
const NO_RUN_YET: u64 = u64::MAX;

/// The maps, and `runs` mapped.
#[derive(Debug)]
pub(super) struct State {
    pub(super) maps: Maps,
    table: Mapping,
}

impl State {
    pub(super) fn new(maps: Maps) -> Result<Self, Error> {
        let bytes = usize::try_from(RUN_SLOTS).unwrap_or(0) * RUN_BYTES;
        let table = Mapping::new(maps.runs.as_fd(), 0, bytes, true)?;
        Ok(Self { maps, table })
    }

    /// A word of the run in `slot`.
    pub(super) fn word(&self, slot: u32, word: usize) -> Option<&AtomicU64> {
        let slot = usize::try_from(slot).ok()?;
        self.table.word(slot * RUN_BYTES + word * 8)
    }

    /// Whether the run with this id lives.
    pub(super) fn is_live(&self, id: u64) -> bool {
        let slot = u32::try_from(id % u64::from(RUN_SLOTS)).unwrap_or(0);
        self.word(slot, ID)
            .is_some_and(|word| word.load(Ordering::Relaxed) == id)
    }

    /// Begins the run `id` in a slot, with its ring where that is not in place; what a dead run
    /// left there ends before.
    pub(super) fn begin_run(
        &self,
        slot: u32,
        id: u64,
        ring: Option<BorrowedFd<'_>>,
    ) -> Result<(), Error> {
        for word in (0..RUN_BYTES / 8).filter_map(|word| self.word(slot, word)) {
            word.store(0, Ordering::SeqCst);
        }
        self.name(slot, NO_RUN_YET);
        if let Some(ring) = ring {
            update(&self.maps.rings, &slot.to_ne_bytes(), &fd_bytes(&ring))?;
        }
        self.name(slot, id);
        Ok(())
    }

    /// Ends the run in a slot: its members are followed no more, its ring goes if it is not kept.
    pub(super) fn end_run(&self, slot: u32, keeps_ring: bool) {
        self.name(slot, NO_RUN_YET);
        if !keeps_ring {
            // Fails only if the ring is gone already.
            let _ = self.maps.rings.delete(&slot.to_ne_bytes());
        }
        self.name(slot, 0);
    }

    fn name(&self, slot: u32, id: u64) {
        if let Some(word) = self.word(slot, ID) {
            word.store(id, Ordering::SeqCst);
        }
    }

    /// Ends killed runs and forgets all processes: for the last user, and for a first one that
    /// finds programs attached which nobody uses.
    pub(super) fn clear(&self) {
        let ids = (0..RUN_SLOTS).map(|slot| (slot, self.word(slot, ID)));
        for (slot, id) in ids {
            if id.is_some_and(|id| id.load(Ordering::SeqCst) != 0) {
                self.end_run(slot, kept::has(&self.maps.rings, slot));
            }
        }
        let processes = &self.maps.processes;
        // Collected first: behind a deleted key the kernel begins anew.
        let keys: Vec<_> = processes.keys().collect();
        for key in keys {
            // Fails only if the process ended meanwhile.
            let _ = processes.delete(&key);
        }
    }
}
