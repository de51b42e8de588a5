//! The programs that follow files: one copy a node beside those that follow processes, attached
//! while somebody asks for files (`share.rs` says how users are counted).

use super::load::{FileMaps, MAP_NAMES, load, pinned_map};
use super::private::Private;
use crate::bpf::load::{Maps, OBJECT_HASH};
use crate::bpf::lock::{Lock, User};
use crate::bpf::pinned;
use crate::bpf::pins::{self, FILES, Set, TIMES, folder_of, lock_path};
use crate::error::Error;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// An iterator: attached to nothing, opened for each pass.
pub(super) const DUMP: &str = "dump_slots";
/// Where it is, rows have their pages; older kernels are without.
const PAGES: &str = "on_page_dirty";

/// The programs in use: their maps, what keeps them attached, and the iterator.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) maps: Arc<FileMaps>,
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
    /// A copy of our own; and whether the time is taken.
    Private(Arc<Private>, bool),
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
            maps: Arc::new(maps),
            holder,
            dump,
            tells_pages,
        })
    }

    /// Attaches the copy of this process alone, if none of its runs has.
    pub(super) fn private(copy: &Arc<Private>, times: bool) -> Result<Self, Error> {
        copy.enter(times)?;
        Ok(Self {
            maps: Arc::clone(&copy.maps),
            dump: duplicate(copy.dump.as_fd())?,
            tells_pages: copy.has(PAGES),
            holder: Holder::Private(Arc::clone(copy), times),
        })
    }
}

fn duplicate(program: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    program.try_clone_to_owned().map_err(|source| Error::Call {
        call: "duplicate of a program's descriptor",
        source,
    })
}

impl Drop for Use {
    fn drop(&mut self) {
        let (lock, times) = match &self.holder {
            Holder::Node(lock, times) => (lock, times),
            Holder::Private(copy, times) => return copy.leave(*times),
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
