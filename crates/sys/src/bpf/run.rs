//! One run: its members, its events, its counters.

use super::calls::Calls;
use super::files::{FileOptions, Files};
use super::kept;
use super::layout::{RawEvent, add_run, added_key, decode, is_before, new_process};
use super::load::{fd_bytes, lookup, update};
use super::lock::Lock;
use super::mapping::page_bytes;
use super::programs::Shared;
use super::queue::Queue;
use super::ring::{self, Ring};
use crate::clock::Offsets;
use crate::error::Error;
use crate::{clock, process};
use libbpf_rs::MapCore;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The words of `struct run` behind its id, in its order.
const PROCESSES_TOTAL: usize = 1;
const PROCESSES_ALIVE: usize = 2;
const PROCESSES_PEAK: usize = 3;
const THREADS_ALIVE: usize = 4;
const THREADS_PEAK: usize = 5;
const EVENTS_LOST: usize = 6;
const IO_URING_TASKS: usize = 7;
const ASLEEP: usize = 8;
const AUTO_REAPED: usize = 9;
const THREADS_AT_MOST: usize = 11;
const WATCHFUL: usize = 12;
const MARKS: usize = 13;
const WATCHFUL_OF_KILLS: u64 = 2;

/// About 700 bytes a process that is born, execs and dies.
const RING_BYTES_PER_CPU: usize = 512 << 10;
const RING_BYTES_MIN: usize = 1 << 20;
const RING_BYTES_MAX: usize = 4 << 20;

/// So many events are looked at before the ring is looked at again, so often at a time.
const LOOK_EVERY: usize = 64;
const LOOKS_MAX: usize = 4096;
/// The ring is emptied before the events in it are looked at when one part in this of it is full.
const CROWDED: usize = 8;

/// What the kernel counts for one run. Alive means not yet past its exit: zombies are out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunTotals {
    /// Processes that ever were members, those added by hand included.
    pub processes_total: u64,
    /// Processes alive now.
    pub processes_alive: u64,
    /// Highest number of processes alive at one instant.
    pub processes_peak: u64,
    /// Threads alive now, main threads included.
    pub threads_alive: u64,
    /// Highest number of threads alive at one instant.
    pub threads_peak: u64,
    /// `threads_peak` is no more than that: before Linux 6.16 the end of a thread is told after
    /// whoever joined it was woken, and that of some came a moment after the last one began.
    pub threads_at_most: bool,
    /// Events that did not fit into the ring, and processes that could not be marked.
    pub events_lost: u64,
    /// Threads that had an io_uring when they ended: what went through it is in no counter. One
    /// whose program was replaced by exec afterwards is not noticed.
    pub io_uring_tasks: u64,
    /// Processes whose parent waits for nobody: it did not take over what they used.
    pub auto_reaped: u64,
}

impl Run {
    /// Follows the files of this run's processes from now on. Of its members, those that were
    /// added by hand afterwards are seen after [`Files::refresh`], and those that were born before
    /// are not: nothing in them tells whose they are.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this kernel cannot have these programs, else the kernel's.
    pub fn follow_files(&self, options: FileOptions) -> Result<Files, Error> {
        self.raise(MARKS, 1);
        Files::start(Arc::clone(&self.programs), self.slot, self.id, options)
    }

    /// Counts the system calls of this run's processes from now on.
    ///
    /// # Errors
    /// As [`Run::follow_files`].
    pub fn follow_calls(&self, owner: Option<u32>) -> Result<Calls, Error> {
        self.raise(MARKS, 1);
        Calls::start(Arc::clone(&self.programs), self.id, owner)
    }
}

/// One run of the programs. Ends when dropped; its members are then followed no more.
#[derive(Debug)]
pub struct Run {
    programs: Arc<Shared>,
    slot: u32,
    id: u64,
    ring: Ring,
    queue: Queue,
    map: OwnedFd,
    lost_seen: u64,
    keeps_ring: bool,
    /// By the clock of the kernel: what it says of a time before is of another run.
    begun_ns: u64,
    clock: Offsets,
    page_bytes: u64,
    /// Holds the slot; the kernel frees it when we die. Dropped last.
    _lock: Option<Lock>,
}

impl Run {
    pub(super) fn start(
        programs: Arc<Shared>,
        slot: u32,
        lock: Option<Lock>,
        keeps_ring: bool,
    ) -> Result<Self, Error> {
        let bytes = ring_bytes();
        let kept = match keeps_ring {
            true => kept::ring(&programs.state.maps.rings, slot, bytes)?,
            false => None,
        };
        let keeps_ring = kept.is_some();
        let (map, in_place) = match kept {
            Some(kept) => (kept.ring, kept.in_place),
            None => (ring::create(bytes)?, false),
        };
        let ring = Ring::new(map.as_fd(), bytes)?;
        ring.pass_over();
        let clock = Offsets::of_self();
        let now = clock::boot();
        // Never the id of an earlier run in this slot: the clock has moved on.
        let id = (now << 10) | u64::from(slot);
        programs
            .state
            .begin_run(slot, id, (!in_place).then(|| map.as_fd()))?;
        Ok(Self {
            programs,
            slot,
            id,
            ring,
            queue: Queue::default(),
            map,
            lost_seen: 0,
            keeps_ring,
            begun_ns: clock.kernel_boot(now),
            clock,
            page_bytes: page_bytes() as u64,
            _lock: lock,
        })
    }

    /// What the kernel knows this run by.
    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    /// Makes a process with one thread a member, which must not run meanwhile (a child that waits
    /// for leave to exec). What it forks and execs from now on is seen; its own `Fork` is not.
    /// Returns its start since boot in nanoseconds (cut to a clock tick if read from
    /// `/proc/PID/stat`), which its later events carry.
    ///
    /// # Errors
    /// [`Error::TooManyRuns`] if it is a member of 8 runs, else the kernel's (the process is
    /// gone).
    pub fn add(&self, pid: u32) -> Result<u64, Error> {
        let pidfd = process::pidfd(pid)?;
        Ok(self.clock.boot(self.add_by(pidfd.as_fd(), pid)?))
    }

    /// The same, by a descriptor of the process; the start by the clock of the kernel.
    pub(super) fn add_by(&self, pidfd: BorrowedFd<'_>, pid: u32) -> Result<u64, Error> {
        // Where the file cannot be read, the present stands in.
        let start_ns = start_of(pid).unwrap_or_else(clock::boot);
        let start_ns = self.clock.kernel_boot(start_ns);
        let start_ns = self.mark(fd_bytes(&pidfd), pid, start_ns)?;
        self.count(PROCESSES_TOTAL, None);
        self.count(PROCESSES_ALIVE, Some(PROCESSES_PEAK));
        self.count(THREADS_ALIVE, Some(THREADS_PEAK));
        Ok(start_ns)
    }

    /// How long the ring of events is.
    pub(super) const fn ring_bytes(&self) -> usize {
        self.ring.data_bytes()
    }

    fn mark(&self, pidfd: [u8; 4], pid: u32, start_ns: u64) -> Result<u64, Error> {
        let maps = &self.programs.state.maps;
        // A member of an outer run has a mark and a process already.
        if let Some(key) = lookup(&maps.members, &pidfd)?
            && let Some(mut process) = lookup(&maps.processes, &key)?
        {
            if !add_run(&mut process, self.id, |id| self.programs.state.is_live(id)) {
                return Err(Error::TooManyRuns);
            }
            update(&maps.processes, &key, &process)?;
            return Ok(super::layout::start_ns(&process).unwrap_or(start_ns));
        }
        let key = added_key(clock::boot(), pid, self.slot);
        let mut process = new_process(start_ns);
        add_run(&mut process, self.id, |_| true);
        update(&maps.processes, &key, &process)?;
        update(&maps.members, &pidfd, &key).inspect_err(|_| {
            // The error that counts is the one above; the entry is one of 65536.
            let _ = maps.processes.delete(&key);
        })?;
        Ok(start_ns)
    }

    /// Adds one, as the kernel does, and raises the peak.
    fn count(&self, word: usize, peak: Option<usize>) {
        let Some(word) = self.programs.state.word(self.slot, word) else {
            return;
        };
        let now = word.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(peak) = peak.and_then(|peak| self.programs.state.word(self.slot, peak)) {
            peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Gives every event written so far to `take`, in the order of the ring: a process's own events
    /// are in order, and its `Fork` comes before its children's. Ends with a [`RawEvent::Lost`] if
    /// events were lost since the last call. The ring is not signalled: call this at least every 50
    /// ms while the task lives, or after [`Run::sleep`] when [`Run::fd`] is readable, or after
    /// [`Run::watch`] at an edge of that, and once more at its end.
    pub fn drain(&mut self, take: &mut dyn FnMut(RawEvent<'_>)) {
        let (page_bytes, clock, begun_ns) = (self.page_bytes, self.clock, self.begun_ns);
        let Self { ring, queue, .. } = self;
        let mut give = |bytes: &[u8]| {
            if !is_before(bytes, begun_ns)
                && let Some(event) = decode(bytes, page_bytes, clock)
            {
                take(event);
            }
        };
        for _ in 0..LOOKS_MAX {
            let crowded = ring.waiting() > (ring.data_bytes() / CROWDED) as u64;
            if (crowded || !queue.is_empty()) && !queue.is_full() {
                ring.drain(&mut |bytes| queue.push(bytes));
            }
            let given = match queue.is_empty() {
                true => ring.drain_some(LOOK_EVERY, &mut give),
                false => queue.drain_some(LOOK_EVERY, &mut give),
            };
            if given == 0 {
                break;
            }
        }
        // What is left then is given at the next call.
        if queue.is_empty() {
            queue.clear();
        }
        let lost = self.totals().events_lost;
        if lost > self.lost_seen {
            take(RawEvent::Lost {
                at_ns: clock::boot(),
                count: lost - self.lost_seen,
            });
            self.lost_seen = lost;
        }
    }

    /// The next event makes [`Run::fd`] readable to whoever waits on it.
    pub fn sleep(&self) {
        self.raise(ASLEEP, 1);
    }

    /// Whoever waits for an edge of [`Run::fd`] ([`crate::edge::Edge`]) is woken once half of the
    /// ring is full.
    pub fn watch(&self) {
        self.raise(WATCHFUL, 1);
    }

    /// The same, and by the next end by SIGKILL: what its control group was charged may be gone
    /// with it soon.
    pub fn watch_kills(&self) {
        self.raise(WATCHFUL, WATCHFUL_OF_KILLS);
    }

    fn raise(&self, flag: usize, to: u64) {
        if let Some(flag) = self.programs.state.word(self.slot, flag) {
            flag.store(to, Ordering::SeqCst);
        }
    }

    /// Readable while there are events; without [`Run::sleep`] nobody is woken for it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// What the kernel has counted for this run; read from shared memory, no system call.
    pub fn totals(&self) -> RunTotals {
        let read = |word| {
            self.programs
                .state
                .word(self.slot, word)
                .map_or(0, |word| word.load(Ordering::Relaxed))
        };
        RunTotals {
            processes_total: read(PROCESSES_TOTAL),
            processes_alive: read(PROCESSES_ALIVE),
            processes_peak: read(PROCESSES_PEAK),
            threads_alive: read(THREADS_ALIVE),
            threads_peak: read(THREADS_PEAK),
            // Of two at once one started the other.
            threads_at_most: read(THREADS_PEAK) > 2 && read(THREADS_AT_MOST) == read(THREADS_PEAK),
            events_lost: read(EVENTS_LOST),
            io_uring_tasks: read(IO_URING_TASKS),
            auto_reaped: read(AUTO_REAPED),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let state = &self.programs.state;
        state.end_run(self.slot, self.keeps_ring);
        self.programs.give_back(self.slot);
    }
}

/// A power of two, larger where more processors write.
fn ring_bytes() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    (cpus * RING_BYTES_PER_CPU)
        .next_power_of_two()
        .clamp(RING_BYTES_MIN, RING_BYTES_MAX)
}

/// The start of a process since boot, cut to a clock tick (`/proc/PID/stat`, field 22).
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_start(&stat, ticks_per_second()?)
}

fn parse_start(stat: &str, ticks_per_second: u64) -> Option<u64> {
    // The name may hold blanks and parentheses: fields count from behind the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    ticks.checked_mul(1_000_000_000 / ticks_per_second)
}

fn ticks_per_second() -> Option<u64> {
    // SAFETY: no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_a_hostile_name() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1234 19 20";
        assert_eq!(parse_start(stat, 100), Some(12_340_000_000));
        assert_eq!(parse_start("7 (a) S 1", 100), None);
    }
}
