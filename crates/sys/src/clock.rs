//! The kernel's clocks (`clock_gettime(2)`), in nanoseconds.

use std::path::Path;

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
    time_on(id).unwrap_or(0)
}

/// CPU time of all threads of a process, the dead ones included, nanoseconds, as the scheduler
/// counts it (`clock_getcpuclockid(3)`); of any user's, with no file. Nothing where there is no
/// such process. The pid is that of our own pid namespace.
pub fn cpu_time(pid: u32) -> Option<u64> {
    /// The clock counts what the scheduler does, all threads.
    const SCHEDULED: i32 = 2;
    // Of 29 bits; pids have 22.
    let id = i32::try_from(pid).ok()?.checked_mul(8)?;
    time_on(!id & !7 | SCHEDULED)
}

fn time_on(id: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that outlives the call.
    let status = unsafe { libc::clock_gettime(id, &mut time) };
    let seconds = (time.tv_sec as u64).saturating_mul(1_000_000_000);
    (status == 0).then(|| seconds.saturating_add(time.tv_nsec as u64))
}

/// Nanoseconds since boot (`CLOCK_BOOTTIME`).
pub fn boot() -> u64 {
    now(Clock::Boot)
}

/// How far our clocks are ahead of those of the kernel itself, nanoseconds: nothing outside of a
/// time namespace (`time_namespaces(7)`). What `/proc` and system calls tell is by our clocks; the
/// times in events of the kernel are by its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offsets {
    boot: i64,
    monotonic: i64,
}

impl Offsets {
    /// Those of this process.
    pub fn of_self() -> Self {
        let namespace = |name| std::fs::read_link(Path::new("/proc/self/ns").join(name)).ok();
        // The file is of the namespace of our children.
        if namespace("time").is_none() || namespace("time") != namespace("time_for_children") {
            return Self::default();
        }
        let text = std::fs::read_to_string("/proc/self/timens_offsets");
        text.map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let mut offsets = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [clock, seconds, nanoseconds] = words[..] else {
                continue;
            };
            let (Ok(seconds), Ok(nanoseconds)) = (seconds.parse::<i64>(), nanoseconds.parse())
            else {
                continue;
            };
            let offset = seconds
                .saturating_mul(1_000_000_000)
                .saturating_add(nanoseconds);
            match clock {
                "boottime" => offsets.boot = offset,
                "monotonic" => offsets.monotonic = offset,
                _ => {}
            }
        }
        offsets
    }

    /// Our `CLOCK_BOOTTIME` when that of the kernel is `kernel_ns`.
    pub fn boot(self, kernel_ns: u64) -> u64 {
        kernel_ns.saturating_add_signed(self.boot)
    }

    /// `CLOCK_BOOTTIME` of the kernel when ours is `ns`.
    pub fn kernel_boot(self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.boot.saturating_neg())
    }

    /// `CLOCK_MONOTONIC` of the kernel when ours is `ns`.
    pub fn kernel_monotonic(self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.monotonic.saturating_neg())
    }
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
    fn a_time_namespace_is_ahead_or_behind() {
        let ahead = Offsets::parse("monotonic      200000         0\nboottime  1000000  500\n");
        assert_eq!(ahead.boot(7), 1_000_000_000_000_507);
        assert_eq!(ahead.kernel_monotonic(200_000_000_000_007), 7);
        assert_eq!(ahead.kernel_boot(ahead.boot(7)), 7);
        let behind = Offsets::parse("boottime -20000 250000000\nmonotonic -1 0");
        assert_eq!(behind.boot(30_000_000_000_000), 10_000_250_000_000);
        assert_eq!(behind.boot(1), 0);
        for odd in ["", "boottime", "boottime x 0", "boottime 1", "alarm 1 1"] {
            assert_eq!(Offsets::parse(odd), Offsets::default(), "{odd}");
        }
        let most = Offsets::parse("boottime 9223372036854775807 9223372036854775807");
        assert_eq!(most.boot(1), i64::MAX as u64 + 1);
    }

    #[test]
    fn cpu_time_of_any_process_is_told() {
        let (before, own) = (now(Clock::Process), cpu_time(std::process::id()).unwrap());
        assert!((before..=now(Clock::Process)).contains(&own));
        assert!(cpu_time(1).is_some_and(|time| time > 0));
        // Larger than any.
        assert_eq!(cpu_time(1 << 22 | 1), None);
        assert_eq!(cpu_time(u32::MAX), None);
    }

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
