//! What time it is, without a system call where the kernel's own library tells it.

use crate::arch;
use crate::hot::HOT;
use crate::link;
use crate::system;
use core::sync::atomic::Ordering::Relaxed;

const CLOCK_MONOTONIC: usize = 1;
/// The last tick of the kernel's.
const CLOCK_MONOTONIC_COARSE: usize = 6;

/// Looks for it where the dynamic linker put the kernel's own library: within some programs that
/// run others (valgrind) there is none.
pub(crate) fn find() {
    HOT.clock.store(link::variable(arch::VDSO_CLOCK), Relaxed);
}

#[inline(always)]
fn read(which: usize) -> u64 {
    let found = HOT.clock.load(Relaxed);
    // SAFETY: the address of that function, or 0, which is `None`.
    let function: Option<extern "C" fn(i32, *mut [u64; 2]) -> i32> =
        unsafe { core::mem::transmute(found) };
    let mut time = [0u64; 2];
    match function {
        Some(function) if function(which as i32, &raw mut time) == 0 => {
            let [seconds, nanos] = time;
            seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
        }
        _ => system::clock(which),
    }
}

/// To a tick of the kernel, which costs next to nothing.
#[inline(always)]
pub(crate) fn tick() -> u64 {
    read(CLOCK_MONOTONIC_COARSE)
}

/// To the nanosecond.
#[inline(never)]
pub(crate) fn precise() -> u64 {
    read(CLOCK_MONOTONIC)
}
