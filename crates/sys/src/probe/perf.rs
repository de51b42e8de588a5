//! Trials of `perf_event_open(2)`.

use super::call::own;
use std::ffi::CStr;
use std::io;

/// What to try to count.
#[derive(Debug, Clone, Copy)]
pub enum PerfEvent<'a> {
    /// Processor cycles in user space (`PERF_COUNT_HW_CPU_CYCLES`).
    Cycles,
    /// The task clock (`PERF_COUNT_SW_TASK_CLOCK`).
    TaskClock,
    /// A tracepoint, by the number in its `id` file.
    Tracepoint(u64),
    /// A kernel function's entry, by the number of the `kprobe` unit and its name.
    Kprobe(u32, &'a CStr),
    /// The instruction at an offset in a file, by the number of the `uprobe` unit.
    Uprobe(u32, &'a CStr, u64),
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const SOFTWARE_TASK_CLOCK: u64 = 1;
/// Bits of the flag word of `perf_event_attr`.
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
/// `perf_event_open`: close on exec.
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` up to `config2` (`PERF_ATTR_SIZE_VER1`, 72 bytes).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
}

const _: () = assert!(size_of::<Attributes>() == 72);

/// Opens a counter of `event` on this thread and closes it again.
pub fn perf_event(event: PerfEvent<'_>) -> io::Result<()> {
    let (kind, config, config1, config2, flags) = match event {
        PerfEvent::Cycles => (TYPE_HARDWARE, 0, 0, 0, EXCLUDE_KERNEL | EXCLUDE_HV),
        PerfEvent::TaskClock => (
            TYPE_SOFTWARE,
            SOFTWARE_TASK_CLOCK,
            0,
            0,
            EXCLUDE_KERNEL | EXCLUDE_HV,
        ),
        PerfEvent::Tracepoint(id) => (TYPE_TRACEPOINT, id, 0, 0, 0),
        PerfEvent::Kprobe(unit, name) => (unit, 0, address(name), 0, 0),
        PerfEvent::Uprobe(unit, path, offset) => (unit, 0, address(path), offset, 0),
    };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        config1,
        config2,
        flags: flags | DISABLED,
        ..Attributes::default()
    };
    // SAFETY: `attributes` and the string it may point to live through the call; the kernel reads
    // as many bytes as `size` says.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            0,
            -1,
            -1,
            FLAG_CLOEXEC,
        )
    };
    own(fd).map(drop)
}

fn address(text: &CStr) -> u64 {
    text.as_ptr().expose_provenance() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_nobody_has_is_refused() {
        assert!(perf_event(PerfEvent::Tracepoint(u64::MAX)).is_err());
        assert!(perf_event(PerfEvent::Kprobe(u32::MAX, c"no_such_function")).is_err());
    }
}
