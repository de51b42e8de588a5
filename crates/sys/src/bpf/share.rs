//! One copy of the programs a node: pinned in bpffs, attached while somebody uses it.
//!
//! `/sys/fs/bpf/plimsoll/HASH/` holds the maps, the programs (`program_NAME`) and, while there are
//! users, the links that attach them (`link_NAME`). `/run/plimsoll/bpf-HASH.lock` counts the
//! users. Every change happens under the lock's change byte.
//!
//! The last user to leave forgets the state of its runs and removes the links: nothing is attached
//! then and nobody pays. Maps and programs stay, about 1.2 MB of kernel memory, and a ring or a few
//! (`kept.rs`), so that the next run attaches them in well under a millisecond; to verify them
//! takes ten and more. They go with [`unload`], with the first load by another build (and the lock
//! with them), or with the machine. What a killed run leaves behind is cleared by the next user or
//! the next to leave.

use super::load::{Loaded, MAP_NAMES, Maps, OBJECT_HASH, bpf_error, load};
use super::lock::{Lock, User, make_folder};
use super::pinned;
use super::pins::{self, FILES, LOCKS, PINS, TASKS, TIMES, folder_of, lock_path};
use super::state::State;
use crate::error::{Error, check};
use crate::statfs;
use libbpf_rs::MapHandle;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const BPFFS: &CStr = c"/sys/fs/bpf";
const BPFFS_MAGIC: u64 = 0xcafe_4a11;
/// Most builds that one sweep looks at; the next takes the others.
const SWEPT_MAX: usize = 1024;
const NOT_OURS: &str = "look at the folder of pins, which is not root's";
const IN_USE: &str = "open of the pinned programs, which others use";

/// A use of the shared programs; [`Share::leave`] ends it.
#[derive(Debug)]
pub(super) struct Share {
    lock: Lock,
}

impl Share {
    /// Finds the shared programs or loads and pins them, attaches them if nobody has, and counts
    /// as their user from now on.
    pub(super) fn enter() -> Result<(Self, State), Error> {
        mount_bpffs()?;
        if fs::metadata(PINS).is_ok_and(|folder| folder.uid() != 0) {
            return Err(io_error(NOT_OURS)(io::ErrorKind::PermissionDenied.into()));
        }
        let path = lock_path(OBJECT_HASH);
        make_folder(&path).map_err(io_error("mkdir of the lock's folder"))?;
        let lock = Lock::open(&path)?;
        let change = lock.begin_change()?;
        detach_unused(&lock)?;
        let state = match attach_pinned(&lock) {
            Some(state) => state,
            // Not ours to replace: their pins are what keeps them attached.
            None if lock.others(User::Tasks)? => {
                return Err(io_error(IN_USE)(io::ErrorKind::ResourceBusy.into()));
            }
            None => {
                sweep();
                load_and_pin()?
            }
        };
        lock.enter(User::Tasks)?;
        drop(change);
        Ok((Self { lock }, state))
    }

    /// A lock for one run: its slot is held as long as it lives.
    pub(super) fn run_lock(&self) -> Result<Lock, Error> {
        Lock::open(&lock_path(OBJECT_HASH))
    }

    /// Ends this use; the last one detaches the programs.
    pub(super) fn leave(&self, state: &State) {
        // If the change lock cannot be had, our use ends with the descriptor all the same, and the
        // next user or leaver finds and removes what is left.
        let Ok(_change) = self.lock.begin_change() else {
            return;
        };
        if self.lock.leave(User::Tasks).is_ok()
            && matches!(self.lock.others(User::Tasks), Ok(false))
        {
            // In this order: links without users tell that the state is not cleared.
            state.clear();
            pins::detach_all(&folder_of(OBJECT_HASH));
        }
    }
}

/// Detaches what a killed run left attached: every system call of the node would pay for it.
fn detach_unused(lock: &Lock) -> Result<(), Error> {
    let folder = folder_of(OBJECT_HASH);
    for (set, user) in [(FILES, User::Files), (TIMES, User::Times)] {
        if pins::is_attached(&folder, set) && !lock.others(user)? {
            pins::detach(&folder, set);
        }
    }
    Ok(())
}

/// Detaches the programs that a run of this node left attached when it was killed; those in use
/// stay. For who survives a run that died.
pub fn clear_after_death() {
    let folder = folder_of(OBJECT_HASH);
    let attached = [TASKS, FILES, TIMES].map(|set| pins::is_attached(&folder, set));
    if attached.contains(&true) {
        // Who comes clears, and the last to leave detaches; what fails is left to the next run.
        drop(Share::enter().map(|(share, state)| share.leave(&state)));
    }
}

/// Removes the node's copy of the programs, and those of other builds, from the kernel. Returns
/// whether ours is gone: it stays while a run uses it.
///
/// # Errors
/// The lock cannot be had.
pub fn unload() -> Result<bool, Error> {
    let folder = folder_of(OBJECT_HASH);
    sweep();
    if !folder.exists() {
        return Ok(true);
    }
    let lock = Lock::open(&lock_path(OBJECT_HASH))?;
    let _change = lock.begin_change()?;
    if lock.others(User::Tasks)? {
        return Ok(false);
    }
    pins::unpin(&folder);
    Ok(!folder.exists())
}

/// The pinned programs, attached; nothing if the set is not whole, or if this kernel does not
/// attach a program twice.
fn attach_pinned(lock: &Lock) -> Option<State> {
    let folder = folder_of(OBJECT_HASH);
    if !pins::is_pinned(&folder, TASKS) {
        return None;
    }
    let maps = Maps::find(|name| {
        MapHandle::from_pinned_path(folder.join(name))
            .map_err(|error| bpf_error("open of a pinned map", &error))
    });
    let state = State::new(maps.ok()?).ok()?;
    if !pins::is_attached(&folder, TASKS) {
        pins::detach_all(&folder);
        pins::attach(&folder, TASKS).ok()?;
    } else if !lock.others(User::Tasks).ok()? {
        state.clear();
    }
    Some(state)
}

fn load_and_pin() -> Result<State, Error> {
    let folder = folder_of(OBJECT_HASH);
    pins::unpin(&folder);
    let loaded = load(None)?;
    fs::create_dir_all(&folder).map_err(io_error("mkdir in bpffs"))?;
    if let Err(error) = pin_and_attach(&loaded, &folder) {
        pins::unpin(&folder);
        return Err(error);
    }
    State::new(loaded.maps)
}

fn pin_and_attach(loaded: &Loaded, folder: &Path) -> Result<(), Error> {
    let maps = &loaded.maps;
    let maps = [&maps.members, &maps.processes, &maps.runs, &maps.rings];
    for (map, name) in maps.into_iter().zip(MAP_NAMES) {
        pinned::pin(map.as_fd(), &folder.join(name))?;
    }
    pins::pin_programs(folder, &loaded.programs)?;
    pins::attach(folder, TASKS)
}

/// Removes the pins and the locks of other builds that nobody uses.
fn sweep() {
    for hash in names_in(PINS, |name| Some(name)) {
        let Ok(lock) = Lock::open(&lock_path(&hash)) else {
            continue;
        };
        let Ok(_change) = lock.begin_change() else {
            continue;
        };
        if matches!(lock.others(User::Tasks), Ok(false)) {
            pins::unpin(&folder_of(&hash));
        }
    }
    for hash in names_in(LOCKS, hash_of_lock) {
        // Where pins stayed their users are still to be counted.
        if !folder_of(&hash).exists() {
            Lock::remove_unused(&lock_path(&hash));
        }
    }
}

/// The hashes of other builds that `folder` names.
fn names_in(folder: &str, hash: fn(&str) -> Option<&str>) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new(); // there is nothing to sweep
    };
    let names = entries.flatten().take(SWEPT_MAX).filter_map(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(hash).map(str::to_owned)
    });
    names.filter(|hash| *hash != OBJECT_HASH).collect()
}

fn hash_of_lock(name: &str) -> Option<&str> {
    name.strip_prefix("bpf-")?.strip_suffix(".lock")
}

fn mount_bpffs() -> Result<(), Error> {
    if is_bpffs() {
        return Ok(());
    }
    // SAFETY: the strings end in NUL, and bpffs takes no data.
    let result = unsafe {
        libc::mount(
            c"bpf".as_ptr(),
            BPFFS.as_ptr(),
            c"bpf".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            std::ptr::null(),
        )
    };
    check("mount of bpffs", result.into())?;
    Ok(())
}

fn is_bpffs() -> bool {
    statfs::read(BPFFS).is_ok_and(|space| space.magic == BPFFS_MAGIC)
}

fn io_error(call: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Call { call, source }
}
