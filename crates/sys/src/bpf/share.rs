//! One copy of the programs a node: pinned in bpffs while somebody uses it.
//!
//! `/sys/fs/bpf/plimsoll/HASH/` holds the maps and links, `/run/plimsoll/bpf-HASH.lock` counts
//! the users.
//! Every change happens under the lock's change byte; the last user to leave removes the pins, and
//! with them the programs. What a killed run leaves behind is used or removed by the next one.

use super::load::{Loaded, MAP_NAMES, Maps, OBJECT_HASH, bpf_error, load};
use super::lock::{Lock, make_folder};
use crate::error::{Error, check};
use libbpf_rs::MapHandle;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

const BPFFS: &CStr = c"/sys/fs/bpf";
const BPFFS_MAGIC: u64 = 0xcafe_4a11;
const PINS: &str = "/sys/fs/bpf/plimsoll";
const LOCKS: &str = "/run/plimsoll";

/// A use of the shared programs; ends when dropped.
#[derive(Debug)]
pub(super) struct Share {
    lock: Lock,
}

impl Share {
    /// Finds the shared programs or loads and pins them, and counts as their user from now on.
    pub(super) fn enter() -> Result<(Self, Maps), Error> {
        mount_bpffs()?;
        let path = lock_path(OBJECT_HASH);
        make_folder(&path).map_err(io_error("mkdir of the lock's folder"))?;
        let lock = Lock::open(&path)?;
        let change = lock.begin_change()?;
        let maps = match find_pinned() {
            Some(maps) => maps,
            None => {
                sweep();
                load_and_pin()?
            }
        };
        lock.enter()?;
        drop(change);
        Ok((Self { lock }, maps))
    }

    /// A lock for one run: its slot is held as long as it lives.
    pub(super) fn run_lock(&self) -> Result<Lock, Error> {
        Lock::open(&lock_path(OBJECT_HASH))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // If the change lock cannot be had, our use ends with the descriptor all the same, and the
        // next user or leaver finds and removes what is left.
        let Ok(_change) = self.lock.begin_change() else {
            return;
        };
        if self.lock.leave().is_ok() && matches!(self.lock.others(), Ok(false)) {
            unpin(&pin_folder(OBJECT_HASH));
        }
    }
}

fn pin_folder(hash: &str) -> PathBuf {
    Path::new(PINS).join(hash)
}

fn lock_path(hash: &str) -> PathBuf {
    Path::new(LOCKS).join(format!("bpf-{hash}.lock"))
}

/// The pinned programs, if the set is whole.
fn find_pinned() -> Option<Maps> {
    let folder = pin_folder(OBJECT_HASH);
    if !folder.join(LAST_PIN).exists() {
        return None;
    }
    Maps::find(|name| {
        MapHandle::from_pinned_path(folder.join(name))
            .map_err(|error| bpf_error("open of a pinned map", &error))
    })
    .ok()
}

/// The link that is pinned after everything else.
const LAST_PIN: &str = "on_switch";

fn load_and_pin() -> Result<Maps, Error> {
    let folder = pin_folder(OBJECT_HASH);
    unpin(&folder);
    let mut loaded = load()?;
    fs::create_dir_all(&folder).map_err(io_error("mkdir in bpffs"))?;
    match pin(&mut loaded, &folder) {
        Ok(()) => Ok(loaded.maps),
        Err(error) => {
            unpin(&folder);
            Err(error)
        }
    }
}

fn pin(loaded: &mut Loaded, folder: &Path) -> Result<(), Error> {
    let maps = &mut loaded.maps;
    let maps = [
        &mut maps.members,
        &mut maps.processes,
        &mut maps.runs,
        &mut maps.rings,
    ];
    for (map, name) in maps.into_iter().zip(MAP_NAMES) {
        map.pin(folder.join(name))
            .map_err(|error| bpf_error("pin of a map", &error))?;
    }
    loaded.links.sort_by_key(|(name, _)| name == LAST_PIN);
    for (name, link) in &mut loaded.links {
        link.pin(folder.join(name))
            .map_err(|error| bpf_error("pin of a link", &error))?;
    }
    Ok(())
}

/// Removes the pins of one build; the kernel detaches and frees what nobody else holds.
fn unpin(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        // What cannot be removed now is found by the next user.
        let _ = fs::remove_file(entry.path());
    }
    // As above.
    let _ = fs::remove_dir(folder);
}

/// Removes what killed runs of other builds left behind.
fn sweep() {
    let Ok(entries) = fs::read_dir(PINS) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(hash) = name.to_str().filter(|hash| *hash != OBJECT_HASH) else {
            continue;
        };
        let Ok(lock) = Lock::open(&lock_path(hash)) else {
            continue;
        };
        let Ok(_change) = lock.begin_change() else {
            continue;
        };
        if matches!(lock.others(), Ok(false)) {
            unpin(&entry.path());
        }
    }
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
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends in NUL and the kernel fills one `statfs`.
    if unsafe { libc::statfs(BPFFS.as_ptr(), found.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call succeeded, so the structure is filled.
    let found = unsafe { found.assume_init() };
    u64::try_from(found.f_type).is_ok_and(|kind| kind == BPFFS_MAGIC)
}

fn io_error(call: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Call { call, source }
}
