//! The programs in use by this process: the node's shared copy, or a private one.

use super::batch;
use super::files::PrivateFiles;
use super::layout::{self, GROUPS_TOLD, RUN_SLOTS};
use super::load::{Loaded, bpf_error, load, update};
use super::lock::Lock;
use super::pinned::attach;
use super::run::Run;
use super::share::Share;
use super::state::State;
use super::types;
use super::unavailable::check_beforehand;
use crate::error::Error;
use crate::process::effective_uid;
use libbpf_rs::MapHandle;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    Private(Own),
}

/// A copy of our own.
#[derive(Debug)]
struct Own {
    _links: Vec<OwnedFd>,
    slots_taken: Mutex<BTreeSet<u32>>,
    files: Mutex<Option<Arc<PrivateFiles>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        Self::private(load(None)?)
    }

    fn private(loaded: Loaded) -> Result<Self, Error> {
        let links = loaded.programs.iter().map(|it| attach(it.fd.as_fd()));
        let holder = Holder::Private(Own {
            _links: links.collect::<Result<_, _>>()?,
            slots_taken: Mutex::default(),
            files: Mutex::default(),
        });
        Ok(Self::new(State::new(loaded.maps)?, holder))
    }

    /// Loads a copy of the programs for this process alone, and a run of every process that is
    /// there or is born from now on. It tells control groups too: those of version 2, and of
    /// version 1 in the hierarchies of `controllers`, by their names (`memory`). Nothing of it
    /// stays behind, however this process ends.
    ///
    /// # Errors
    /// As [`TaskPrograms::open`].
    pub fn follow_everyone(controllers: [Option<&str>; GROUPS_TOLD - 1]) -> Result<Run, Error> {
        let names = controllers.map(|name| format!("{}_cgrp_id", name.unwrap_or_default()));
        let numbers = types::values_of("cgroup_subsys_id", names.each_ref().map(String::as_str));
        let mut loaded = load(Some(numbers.map(|number| number.map_or(0, |it| it + 1))))?;
        let origin = MapHandle::try_from(&loaded.origin);
        let origin = origin.map_err(|error| bpf_error("copy of a map's descriptor", &error))?;
        let earlier = loaded.earlier.take();
        let run = Self::private(loaded)?.start_run()?;
        update(&origin, &0u32.to_ne_bytes(), &layout::origin(run.id()))?;
        if let Some(earlier) = earlier {
            batch::pass(earlier.as_fd())?;
        }
        Ok(run)
    }

    fn new(state: State, holder: Holder) -> Self {
        Self(Arc::new(Shared { state, holder }))
    }

    /// Loads the programs for files of a private copy before somebody waits for them.
    ///
    /// # Errors
    /// This kernel cannot have them.
    pub fn prepare_files(&self) -> Result<(), Error> {
        self.0.private_files().map(drop)
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
        Run::start(Arc::clone(&self.0), slot, lock, self.is_shared())
    }

    /// The same of a run whose ring others look into.
    ///
    /// # Errors
    /// As [`TaskPrograms::start_run`].
    pub(super) fn start_lent_run(&self) -> Result<Run, Error> {
        let (slot, lock) = self.0.take_slot()?;
        Run::start(Arc::clone(&self.0), slot, lock, false)
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
            Holder::Private(own) => {
                let mut taken = lock(&own.slots_taken);
                let free = (0..RUN_SLOTS).find(|slot| !taken.contains(slot));
                let slot = free.ok_or(Error::TooManyRuns)?;
                taken.insert(slot);
                Ok((slot, None))
            }
        }
    }

    /// The run in a slot is over.
    pub(super) fn give_back(&self, slot: u32) {
        if let Holder::Private(own) = &self.holder {
            lock(&own.slots_taken).remove(&slot);
        }
    }

    /// The programs for files of a private copy, loaded for the first who asks.
    pub(super) fn private_files(&self) -> Result<Arc<PrivateFiles>, Error> {
        let Holder::Private(own) = &self.holder else {
            return Err(Error::TooManyRuns);
        };
        let mut files = lock(&own.files);
        if let Some(loaded) = files.as_ref() {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(PrivateFiles::load(&self.state.maps)?);
        *files = Some(Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Holder::Node(share) = &self.holder {
            share.leave(&self.state);
        }
    }
}
