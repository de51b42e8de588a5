//! What every call looks at, in one line of the processor's cache.

use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicUsize,
    Ordering::{Acquire, Relaxed},
};

/// Addresses found at the start or when the table was mapped; 0: not yet, or nowhere.
#[repr(C, align(64))]
pub(crate) struct Hot {
    /// The state of this process ([`crate::state`]).
    pub(crate) state: AtomicUsize,
    /// `clock_gettime` of the kernel's own library.
    pub(crate) clock: AtomicUsize,
    /// The C library's word on whether this process has a single thread (glibc 2.32).
    pub(crate) single: AtomicUsize,
    /// The header of the table.
    pub(crate) header: AtomicUsize,
    /// Whether the time of calls is taken.
    pub(crate) times: AtomicBool,
}

pub(crate) static HOT: Hot = Hot {
    state: AtomicUsize::new(0),
    clock: AtomicUsize::new(0),
    single: AtomicUsize::new(0),
    header: AtomicUsize::new(0),
    times: AtomicBool::new(false),
};

/// Whether nobody else can be counting in this process, as far as it is known.
#[inline(always)]
pub(crate) fn is_single() -> bool {
    let at = HOT.single.load(Relaxed);
    if at == 0 {
        return false;
    }
    // SAFETY: the address of the C library's variable, a byte, which stays.
    unsafe { (*(at as *const AtomicU8)).load(Acquire) != 0 }
}
