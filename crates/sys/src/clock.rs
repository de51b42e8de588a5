//! The kernel's clocks (`clock_gettime(2)`), in nanoseconds.

/// A clock of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Since boot, suspended time included: the clock of every record.
    Boot,
    /// Since boot, suspended time left out: the clock of some kernel events.
    Monotonic,
    /// Since 1970, as the administrator sets it.
    Real,
    /// CPU time of this process.
    Process,
    /// CPU time of the calling thread.
    Thread,
}

/// The time on `clock`, nanoseconds. These clocks always exist, so there is no error; a refused
/// call reads as 0.
pub fn now(clock: Clock) -> u64 {
    let id = match clock {
        Clock::Boot => libc::CLOCK_BOOTTIME,
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Real => libc::CLOCK_REALTIME,
        Clock::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
        Clock::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
    };
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that outlives the call.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec as u64)
}

/// Nanoseconds since boot (`CLOCK_BOOTTIME`).
pub fn boot() -> u64 {
    now(Clock::Boot)
}

/// The length of a tick of the kernel (of `jiffies`), nanoseconds: the resolution of its coarse
/// clocks.
pub fn tick_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that outlives the call.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_advances_and_includes_the_monotonic_one() {
        let monotonic = now(Clock::Monotonic);
        let first = boot();
        assert!(first >= monotonic);
        assert!(boot() >= first);
        assert!((100_000..=10_000_000).contains(&tick_ns()));
        assert!(now(Clock::Real) > 1_600_000_000_000_000_000);
    }
}
