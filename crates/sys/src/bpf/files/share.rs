//! The programs that follow files: one copy a node beside those that follow processes, attached
//! while somebody asks for files (`share.rs` says how users are counted).

use super::load::{FileMaps, MAP_NAMES, load, pinned_map};
use crate::bpf::load::{Maps, OBJECT_HASH, Program};
use crate::bpf::lock::{Lock, User};
use crate::bpf::pinned;
use crate::bpf::pins::{self, FILES, Set, TIMES, folder_of, lock_path};
use crate::error::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An iterator: attached to nothing, opened for each pass.
const DUMP: &str = "dump_slots";
/// Where it is, rows have their pages; older kernels are without.
const PAGES: &str = "on_page_dirty";

/// The programs in use: their maps, what keeps them attached, and the iterator.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) maps: FileMaps,
    holder: Holder,
    /// The program `dump_slots`.
    pub(super) dump: OwnedFd,
    /// Whether the kernel tells of pages.
    pub(super) tells_pages: bool,
}

#[derive(Debug)]
enum Holder {
    /// Pins, counted by locks; and whether the time is taken.
    Node(Lock, bool),
    /// Our own links.
    Private { _links: Vec<OwnedFd> },
}

impl Use {
    /// Finds the shared programs or loads and pins them, attaches them if nobody has.
    pub(super) fn shared(members: &Maps, times: bool) -> Result<Self, Error> {
        let lock = Lock::open(&lock_path(OBJECT_HASH))?;
        let change = lock.begin_change()?;
        let folder = folder_of(OBJECT_HASH);
        if !pins::is_pinned(&folder, &[DUMP]) {
            load_and_pin(members, &folder)?;
        }
        let maps = FileMaps::find(|name| pinned_map(&folder.join(name)))?;
        let dump = pinned::open(&pins::program(&folder, DUMP))?;
        if !pins::is_attached(&folder, FILES) {
            // What a killed run counted.
            maps.clear()?;
            maps.begin()?;
        }
        begin(&lock, &folder, FILES, User::Files)?;
        if times && let Err(error) = begin(&lock, &folder, TIMES, User::Times) {
            end(&lock, FILES, User::Files);
            return Err(error);
        }
        let tells_pages = pins::program(&folder, PAGES).exists();
        drop(change);
        let holder = Holder::Node(lock, times);
        Ok(Self {
            maps,
            holder,
            dump,
            tells_pages,
        })
    }

    /// Loads a copy for this process alone.
    pub(super) fn private(members: &Maps, times: bool) -> Result<Self, Error> {
        let (maps, programs) = load(members)?;
        let wanted = FILES.iter().chain(TIMES.iter().filter(|_| times));
        // Those that this kernel does without are not there.
        let links = wanted
            .filter_map(|name| programs.iter().find(|program| program.name == *name))
            .map(|program| pinned::attach(program.fd.as_fd()))
            .collect::<Result<_, _>>()?;
        let dump = find(&programs, DUMP)?.fd.as_fd().try_clone_to_owned();
        let dump = dump.map_err(|source| Error::Call {
            call: "duplicate of a program's descriptor",
            source,
        })?;
        let tells_pages = programs.iter().any(|program| program.name == PAGES);
        let holder = Holder::Private { _links: links };
        Ok(Self {
            maps,
            holder,
            dump,
            tells_pages,
        })
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let Holder::Node(lock, times) = &self.holder else {
            return;
        };
        // If it cannot be had, the use ends with the descriptor; the next leaver detaches.
        let Ok(_change) = lock.begin_change() else {
            return;
        };
        if *times {
            end(lock, TIMES, User::Times);
        }
        if end(lock, FILES, User::Files) {
            // What killed runs left: nobody writes there now, and nobody may begin to.
            // If they cannot be cleared now, the next user does before it begins.
            let _ = self.maps.clear();
        }
    }
}

fn begin(lock: &Lock, folder: &Path, set: Set, user: User) -> Result<(), Error> {
    if !pins::is_attached(folder, set) {
        pins::attach(folder, set).inspect_err(|_| pins::detach(folder, set))?;
    }
    lock.enter(user)
}

/// Whether this was the last use.
fn end(lock: &Lock, set: Set, user: User) -> bool {
    let last = lock.leave(user).is_ok() && matches!(lock.others(user), Ok(false));
    if last {
        pins::detach(&folder_of(OBJECT_HASH), set);
    }
    last
}

fn load_and_pin(members: &Maps, folder: &Path) -> Result<(), Error> {
    let (maps, programs) = load(members)?;
    for (map, name) in maps.all().into_iter().zip(MAP_NAMES) {
        // Left by a load that was cut off; nobody attaches what is not whole.
        let _ = std::fs::remove_file(folder.join(name));
        pinned::pin(map.as_fd(), &folder.join(name))?;
    }
    // The iterator last: where its pin is, all are.
    let (dump, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(|it| it.name == DUMP);
    for programs in [others, dump] {
        for program in &programs {
            let _ = std::fs::remove_file(pins::program(folder, &program.name));
        }
        pins::pin_programs(folder, &programs)?;
    }
    Ok(())
}

fn find<'a>(programs: &'a [Program], name: &str) -> Result<&'a Program, Error> {
    let found = programs.iter().find(|program| program.name == name);
    found.ok_or_else(|| Error::Call {
        call: "find a program",
        source: std::io::ErrorKind::NotFound.into(),
    })
}
