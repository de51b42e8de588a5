//! What one process remembers, in a mapping that a forked child finds empty (`MADV_WIPEONFORK`): a
//! child begins anew, whichever way it was forked, and never writes into its parent's rows.

use crate::hot::HOT;
use crate::layout::{CHUNKS_OF_A_PROCESS, PATH_MAX, Row, SLOTS};
use crate::system;
use core::cell::UnsafeCell;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};

/// Descriptors whose file is remembered; of higher ones it is looked up at every call.
const DESCRIPTORS: usize = 1 << 16;
/// Rows that a process can have.
const ROWS: usize = (CHUNKS_OF_A_PROCESS * SLOTS) as usize;
/// Places to look for a row: a power of two, and more than there are rows.
const PLACES: usize = ROWS * 2;
/// Room for paths, to be borrowed.
const SCRATCHES: usize = 8;

/// What one process remembers.
#[repr(C)]
pub(crate) struct State {
    /// Whose this is, in its own pid namespace; 0: a child that nobody told of.
    pub(crate) pid: AtomicU32,
    /// Chunks that it took.
    pub(crate) chunks: AtomicU32,
    /// It has been found that there can be no more of them.
    pub(crate) full: AtomicBool,
    /// Where the one is that has room.
    pub(crate) chunk: AtomicUsize,
    /// The row of all files that find no room; 0: there is none.
    pub(crate) spare: AtomicUsize,
    /// Where the block of names is that has room.
    pub(crate) names: AtomicUsize,
    /// Behind the highest descriptor that was a socket's.
    pub(crate) sockets_end: AtomicU32,
    /// Slots that names took.
    pub(crate) names_slots: AtomicU32,
    /// Rows that were left to a file which another one came after, with its number and path.
    pub(crate) former: AtomicU32,
    /// Some thread has descriptors of its own: none is remembered.
    parted: AtomicBool,
    /// The row of each descriptor's file; 0: not known.
    descriptors: [AtomicUsize; DESCRIPTORS],
    /// Rows by the numbers of their file.
    places: [AtomicUsize; PLACES],
    scratches: [Scratch; SCRATCHES],
}

#[repr(C)]
struct Scratch {
    taken: AtomicBool,
    bytes: UnsafeCell<[u8; PATH_MAX]>,
}

/// Whether calls of our own may end the program (a filter of system calls).
static QUIET: AtomicBool = AtomicBool::new(false);
static FILTERED: AtomicBool = AtomicBool::new(false);

/// The process that can make one, in its own pid namespace; 0: none can.
static MAKER: AtomicU32 = AtomicU32::new(0);

/// From now on the calling process can make one, and a child of `fork` that says so too.
pub(crate) fn begin() {
    MAKER.store(system::pid(), Relaxed);
}

/// Makes it, at the first call that wants to be counted; whether there is one. Who borrows the
/// memory of another (`vfork`) makes none: what he does then has no rows.
#[cold]
#[inline(never)]
fn make() -> bool {
    let maker = MAKER.load(Relaxed);
    if maker == 0 || is_quiet() || system::pid() != maker {
        return false;
    }
    let bytes = size_of::<State>();
    let Some(at) = system::map_private(bytes) else {
        MAKER.store(0, Relaxed);
        return false;
    };
    // A child of a kernel without this would write into its parent's rows.
    if !system::wipe_in_children(at, bytes) {
        system::unmap(at, bytes);
        MAKER.store(0, Relaxed);
        return false;
    }
    match HOT.state.compare_exchange(0, at, AcqRel, Relaxed) {
        Ok(_) => known()
            .inspect(|state| state.pid.store(maker, Relaxed))
            .is_some(),
        Err(_) => {
            system::unmap(at, bytes);
            true
        }
    }
}

/// This process's, to count in.
#[inline(always)]
pub(crate) fn get() -> Option<&'static State> {
    match known() {
        Some(state) => Some(state),
        None if make() => known(),
        None => None,
    }
}

/// This process's, if anything was counted yet.
#[inline(always)]
pub(crate) fn known() -> Option<&'static State> {
    let at = HOT.state.load(Relaxed);
    if at == 0 {
        return None;
    }
    // SAFETY: `make` mapped it, as large and aligned as this; zeros are a valid value, and it is
    // never unmapped. All of it but the scratches is atomic.
    Some(unsafe { &*(at as *const State) })
}

/// From now on no system call is made but the program's own.
pub(crate) fn be_quiet() {
    FILTERED.store(true, Relaxed);
    QUIET.store(true, Relaxed);
}

/// A filter of calls may follow that nobody tells: from now on no call is made but the program's
/// own, and those in front of an exec, which a filter lets pass where it allows that.
pub(crate) fn expect_filter() {
    QUIET.store(true, Relaxed);
}

/// Whether there is a filter of calls.
pub(crate) fn is_filtered() -> bool {
    FILTERED.load(Relaxed)
}

/// Whether no system call may be made.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Relaxed)
}

impl State {
    /// Whether the process that calls is the one whose this is, and not one that has borrowed its
    /// memory until it executes another program (`vfork`).
    pub(crate) fn is_ours(&self) -> bool {
        let pid = system::pid();
        let known = self.pid.load(Relaxed);
        known == pid || (known == 0 && self.pid.compare_exchange(0, pid, Relaxed, Relaxed).is_ok())
    }

    /// The row of a descriptor, if it is known.
    #[inline(always)]
    pub(crate) fn known(&self, fd: i32) -> Option<&'static Row> {
        let at = self.descriptors.get(fd as usize)?.load(Acquire);
        if at == 0 {
            return None;
        }
        Some(row_at(at))
    }

    /// Remembers the row of a descriptor.
    pub(crate) fn know(&self, fd: i32, row: &'static Row) {
        if let Some(place) = self.descriptors.get(fd as usize) {
            place.store(core::ptr::from_ref(row) as usize, Release);
            fence(SeqCst);
            if self.parted.load(Relaxed) {
                place.store(0, Relaxed);
            }
        }
    }

    /// From now on a number may mean one file to one thread and another to another.
    pub(crate) fn part(&self) {
        self.parted.store(true, Relaxed);
        fence(SeqCst);
        self.forget_from(0, u32::MAX);
    }

    /// Forgets a descriptor.
    #[inline(always)]
    pub(crate) fn forget(&self, fd: i32) {
        if let Some(place) = self.descriptors.get(fd as usize)
            // A page that was never written is not made to be.
            && place.load(Relaxed) != 0
        {
            place.store(0, Relaxed);
        }
    }

    /// Forgets all descriptors from `first` to `last`.
    pub(crate) fn forget_from(&self, first: u32, last: u32) {
        let end = (last as usize).saturating_add(1).min(DESCRIPTORS);
        let first = (first as usize).min(end);
        for place in self.descriptors.get(first..end).unwrap_or_default() {
            if place.load(Relaxed) != 0 {
                place.store(0, Relaxed);
            }
        }
    }

    /// The first row of this file for which `wanted` holds.
    pub(crate) fn find(
        &self,
        device: u64,
        inode: u64,
        wanted: impl Fn(&Row) -> bool,
    ) -> Option<&'static Row> {
        for place in self.from(device, inode) {
            let at = place.load(Acquire);
            if at == 0 {
                return None;
            }
            let row = row_at(at);
            let same = row.inode.load(Relaxed) == inode && row.device.load(Relaxed) == device;
            if same && wanted(row) {
                return Some(row);
            }
        }
        None
    }

    /// Puts a new row where [`State::find`] looks.
    pub(crate) fn keep(&self, row: &'static Row) {
        let (device, inode) = (row.device.load(Relaxed), row.inode.load(Relaxed));
        let at = core::ptr::from_ref(row) as usize;
        for place in self.from(device, inode) {
            if place.compare_exchange(0, at, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    fn from(&self, device: u64, inode: u64) -> impl Iterator<Item = &AtomicUsize> {
        let start = mix(device ^ inode.rotate_left(20)) as usize & (PLACES - 1);
        let (front, back) = self.places.split_at_checked(start).unwrap_or_default();
        back.iter().chain(front)
    }

    /// Calls with room for a path; `None` if all of it is lent.
    pub(crate) fn with_path<T>(&self, work: impl FnOnce(&mut [u8; PATH_MAX]) -> T) -> Option<T> {
        let free = |scratch: &&Scratch| !scratch.taken.swap(true, AcqRel);
        let scratch = self.scratches.iter().find(free)?;
        // SAFETY: whoever turned `taken` has it alone, until it is turned back.
        let result = work(unsafe { &mut *scratch.bytes.get() });
        scratch.taken.store(false, Release);
        Some(result)
    }
}

/// A row of ours.
#[inline(always)]
fn row_at(at: usize) -> &'static Row {
    // SAFETY: only addresses of rows in chunks of this process are stored; those stay mapped, and
    // all of a row is atomic.
    unsafe { &*(at as *const Row) }
}

/// Spreads the bits of a number over all of it.
pub(crate) const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
