//! The programs in use by this process: the node's shared copy, or a private one.

use super::layout::{self, RUN_SLOTS};
use super::load::{Loaded, bpf_error, load, update};
use super::lock::Lock;
use super::pinned::attach;
use super::run::Run;
use super::share::Share;
use super::state::State;
use super::unavailable::check_beforehand;
use crate::error::Error;
use crate::process::effective_uid;
use libbpf_rs::MapHandle;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The in-kernel programs, attached as long as this or one of its runs lives.
#[derive(Debug, Clone)]
pub struct TaskPrograms(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: State,
    holder: Holder,
}

/// What keeps the programs attached.
#[derive(Debug)]
enum Holder {
    /// Pins, counted by locks.
    Node(Share),
    /// Our own links.
    Private {
        _links: Vec<OwnedFd>,
        slots_taken: AtomicU32,
    },
}

impl TaskPrograms {
    /// Uses the node's copy of the programs, loading it if there is none; where nothing can be
    /// pinned (no bpffs, `/run` not writable, not root), loads a copy of our own. Pins and locks
    /// that belong to somebody without privilege would be a way to hold up or to fool root's runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason if this user or kernel cannot have them.
    pub fn open() -> Result<Self, Error> {
        check_beforehand()?;
        if effective_uid() != 0 {
            return Self::open_private();
        }
        match Share::enter() {
            Ok((share, state)) => Ok(Self::new(state, Holder::Node(share))),
            Err(Error::Unavailable(reason)) => Err(Error::Unavailable(reason)),
            Err(_) => Self::open_private(),
        }
    }

    /// Loads a copy of the programs for this process alone.
    ///
    /// # Errors
    /// As [`TaskPrograms::open`].
    pub fn open_private() -> Result<Self, Error> {
        Self::private(load(false)?)
    }

    fn private(loaded: Loaded) -> Result<Self, Error> {
        let links = loaded.programs.iter().map(|it| attach(it.fd.as_fd()));
        let holder = Holder::Private {
            _links: links.collect::<Result<_, _>>()?,
            slots_taken: AtomicU32::new(0),
        };
        Ok(Self::new(State::new(loaded.maps)?, holder))
    }

    /// Loads a copy of the programs for this process alone, and a run of every process that is born
    /// from now on. Nothing of it stays behind, however this process ends.
    ///
    /// # Errors
    /// As [`TaskPrograms::open`].
    pub fn follow_everyone() -> Result<Run, Error> {
        let loaded = load(true)?;
        let origin = MapHandle::try_from(&loaded.origin);
        let origin = origin.map_err(|error| bpf_error("copy of a map's descriptor", &error))?;
        let run = Self::private(loaded)?.start_run()?;
        update(&origin, &0u32.to_ne_bytes(), &layout::origin(run.id()))?;
        Ok(run)
    }

    fn new(state: State, holder: Holder) -> Self {
        Self(Arc::new(Shared { state, holder }))
    }

    /// Whether other runs of this node can use the same copy.
    pub fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> &State {
        &self.0.state
    }

    /// Starts a run: from now on it can take processes in. A child forked while it lives must
    /// close the descriptors it inherits (they are close-on-exec), or the run's slot outlives the
    /// run.
    ///
    /// # Errors
    /// All 1024 slots are taken, or the kernel has no memory for the ring buffer.
    pub fn start_run(&self) -> Result<Run, Error> {
        let (slot, lock) = self.0.take_slot()?;
        Run::start(Arc::clone(&self.0), slot, lock)
    }
}

impl Shared {
    /// Whether the programs are the node's shared copy.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.holder, Holder::Node(_))
    }

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

impl Drop for Shared {
    fn drop(&mut self) {
        if let Holder::Node(share) = &self.holder {
            share.leave(&self.state);
        }
    }
}
