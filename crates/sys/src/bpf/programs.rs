//! The programs in use by this process: the node's shared copy, or a private one.

use super::layout::RUN_SLOTS;
use super::load::{Maps, load};
use super::lock::Lock;
use super::mapping::Mapping;
use super::run::{RUN_BYTES, Run};
use super::share::Share;
use super::unavailable::check_beforehand;
use crate::error::Error;
use libbpf_rs::Link;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// The in-kernel programs, attached as long as this or one of its runs lives.
#[derive(Debug, Clone)]
pub struct TaskPrograms(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) maps: Maps,
    /// The map `runs`, as memory.
    pub(super) table: Mapping,
    holder: Holder,
}

/// What keeps the programs in the kernel.
#[derive(Debug)]
enum Holder {
    /// Pins, counted by locks.
    Node(Share),
    /// Our own links. (A mutex because links are not `Sync`.)
    Private {
        _links: Mutex<Vec<(String, Link)>>,
        slots_taken: AtomicU32,
    },
}

impl TaskPrograms {
    /// Uses the node's copy of the programs, loading it if there is none; where nothing can be
    /// pinned
    /// (no bpffs, `/run` not writable), loads a copy of our own.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason if this user or kernel cannot have them.
    pub fn open() -> Result<Self, Error> {
        check_beforehand()?;
        match Share::enter() {
            Ok((share, maps)) => Self::new(maps, Holder::Node(share)),
            Err(Error::Unavailable(reason)) => Err(Error::Unavailable(reason)),
            Err(_) => Self::open_private(),
        }
    }

    /// Loads a copy of the programs for this process alone.
    ///
    /// # Errors
    /// As [`TaskPrograms::open`].
    pub fn open_private() -> Result<Self, Error> {
        let loaded = load()?;
        let holder = Holder::Private {
            _links: Mutex::new(loaded.links),
            slots_taken: AtomicU32::new(0),
        };
        Self::new(loaded.maps, holder)
    }

    fn new(maps: Maps, holder: Holder) -> Result<Self, Error> {
        let bytes = usize::try_from(RUN_SLOTS).unwrap_or(0) * RUN_BYTES;
        let table = Mapping::new(maps.runs.as_fd(), 0, bytes, true)?;
        Ok(Self(Arc::new(Shared {
            maps,
            table,
            holder,
        })))
    }

    /// Whether other runs of this node can use the same copy.
    pub fn is_shared(&self) -> bool {
        matches!(self.0.holder, Holder::Node(_))
    }

    /// Starts a run: from now on it can take processes in. A child forked while it lives must
    /// close the
    /// descriptors it inherits (they are close-on-exec), or the run's slot outlives the run.
    ///
    /// # Errors
    /// All 1024 slots are taken, or the kernel has no memory for the ring buffer.
    pub fn start_run(&self) -> Result<Run, Error> {
        let (slot, lock) = self.0.take_slot()?;
        Run::start(Arc::clone(&self.0), slot, lock)
    }
}

impl Shared {
    fn take_slot(&self) -> Result<(u32, Option<Lock>), Error> {
        match &self.holder {
            Holder::Node(share) => {
                let lock = share.run_lock()?;
                Ok((lock.take_slot()?, Some(lock)))
            }
            Holder::Private { slots_taken, .. } => {
                let slot = slots_taken.fetch_add(1, Ordering::Relaxed);
                if slot < RUN_SLOTS {
                    return Ok((slot, None));
                }
                Err(Error::TooManyRuns)
            }
        }
    }
}
