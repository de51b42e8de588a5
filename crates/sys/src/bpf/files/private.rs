//! A copy of the programs that follow files for one process: loaded once, attached while one of its
//! runs asks for files. Nothing is pinned, so nothing of it stays behind.

use super::load::{FileMaps, load};
use super::share::DUMP;
use crate::bpf::load::{Maps, Program};
use crate::bpf::pinned;
use crate::bpf::pins::{FILES, Set, TIMES};
use crate::error::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// The copy.
#[derive(Debug)]
pub(in crate::bpf) struct Private {
    pub(super) maps: Arc<FileMaps>,
    /// The program `dump_slots`.
    pub(super) dump: OwnedFd,
    programs: Vec<Program>,
    users: Mutex<Users>,
}

/// Who uses it, and the links as long as somebody does. A link that is closed is gone at once,
/// where one whose pin is removed stays a while.
#[derive(Debug, Default)]
struct Users {
    files: (usize, Vec<OwnedFd>),
    times: (usize, Vec<OwnedFd>),
}

impl Private {
    /// Loads it.
    pub(in crate::bpf) fn load(members: &Maps) -> Result<Self, Error> {
        let (maps, mut programs) = load(members)?;
        let dump = programs.iter().position(|program| program.name == DUMP);
        let dump = dump.ok_or_else(|| Error::Call {
            call: "find a program",
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        Ok(Self {
            maps: Arc::new(maps),
            dump: programs.swap_remove(dump).fd,
            programs,
            users: Mutex::default(),
        })
    }

    /// Whether this kernel has the program.
    pub(super) fn has(&self, name: &str) -> bool {
        self.programs.iter().any(|program| program.name == name)
    }

    /// Attaches what is not attached.
    pub(super) fn enter(&self, times: bool) -> Result<(), Error> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.files.0 == 0 {
            // What runs that are over counted.
            self.maps.clear()?;
            self.maps.begin()?;
            users.files.1 = self.attach(FILES)?;
        }
        if times && users.times.0 == 0 {
            match self.attach(TIMES) {
                Ok(links) => users.times.1 = links,
                Err(error) => {
                    if users.files.0 == 0 {
                        users.files.1.clear();
                    }
                    return Err(error);
                }
            }
        }
        users.files.0 += 1;
        users.times.0 += usize::from(times);
        Ok(())
    }

    /// Detaches what nobody uses any more.
    pub(super) fn leave(&self, times: bool) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.files.0 -= 1;
        users.times.0 -= usize::from(times);
        if users.times.0 == 0 {
            users.times.1.clear();
        }
        if users.files.0 == 0 {
            users.files.1.clear();
        }
    }

    /// Those of the set that this kernel has, in its order.
    fn attach(&self, set: Set) -> Result<Vec<OwnedFd>, Error> {
        set.iter()
            .filter_map(|name| self.programs.iter().find(|it| it.name == *name))
            .map(|program| pinned::attach(program.fd.as_fd()))
            .collect()
    }
}
