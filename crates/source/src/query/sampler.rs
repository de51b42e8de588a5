//! Samples processes through procfs with kept-open files and reused buffers, for any user.
//!
//! Cost, measured with 300 `sleep` on Linux 6.18 (`cargo run -p plimsoll-source --release --example
//! sampler_cost`), CPU us per process and pass: 6.8-7.9 by default, 4.5-6.0 between turns, 10-19
//! with all details in every pass, 15-28 without kept-open files, where reading `stat` alone, kept
//! open and not parsed, took 1.3-2.0. With a load of 7 on the 2 CPUs: 13.6-16.6, 10-13, 19-23 and
//! 24-31, `stat` alone 2.3-3.3.
//!
//! Two tiers. **Every pass**: `stat` (identity, ticks, faults, threads), `statm` (memory) and,
//! while the process has one thread, `schedstat` (its nanoseconds). **When it is its turn**:
//! `status` (peaks, swap, switches), `io`, and each thread's `schedstat` and switches. A turn comes
//! every pass while the processes are few; when their files are more than `detail_files` a pass,
//! every k-th pass with k = files / `detail_files`. Between two turns the last reading is repeated:
//! every counter only grows, so it stays true as "at least". With `still_passes` a process of one
//! thread that has not run since the last pass costs one short file (`rest`).
//!
//! `own.cpu` is the largest of three lower bounds of the same time: the process's CPU clock as its
//! reading began, the threads' nanoseconds (those of dead threads as last seen) and `utime + stime`
//! (dead threads included, each cut to 10 ms). With the clock, or for a process of one thread, it
//! is exact up to the running tick.
//!
//! Descriptors are looked at for an `io_uring` in every 16th pass of a process, and in the first 48
//! whenever their number changed (Linux 6.2 tells it): what goes through one is in no count of
//! calls.
//!
//! `own` I/O: `/proc/PID/io` while no child was waited for (then it is the process alone, dead
//! threads included), else the sum of `task/*/io`, dead threads as last seen.

mod kept;
mod rest;
mod space;
mod threads;
mod told;
mod watch;

use crate::query::{proc_pid_fd, proc_pid_limits, proc_self_auxv};
use crate::roll::Roll;
use crate::root::{Root, errno};
use kept::Descriptors;
use record::sample::ProcessSample;
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::time::Instant;
use sys::{burst, kcmp};
use watch::{Turn, Watch};

/// Descriptors kept where the limit cannot be read: a quarter of the usual 1024.
const KEPT_DEFAULT: u64 = 256;

/// So many processes are read in one piece by a thread that is held.
const PROCESSES_BETWEEN_RESTS: usize = 8;

/// More than this are never kept, whatever the limit allows.
const KEPT_MAX: u64 = 65_536;

/// Those that rest are read as a whole so often at most that there is one for so many files of
/// details.
const STILL_PART: u32 = 32;

/// A look at more processes than this, for whether they rest, is not worth its cost.
const RESTING_MAX: usize = 32;

/// How much work a pass may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Files read for details in one pass; a process of one thread takes two, one of n threads 2 +
    /// 2n or 2 + 3n.
    pub detail_files: u32,
    /// A process with more live threads is read as a whole only.
    pub threads_max: u32,
    /// Files kept open; `None` is a quarter of `RLIMIT_NOFILE`, 0 keeps none.
    pub files_kept: Option<u32>,
    /// Whether processes that share an address space are told apart: of many children of one parent
    /// it takes the square of their number.
    pub tells_shared: bool,
    /// One that has not run since the last pass is read as a whole in one pass of so many, later,
    /// as long as that finds the same, or where many rest, of up to 8 times so many, and repeated
    /// in the others; with 0 and 1 it is read in each.
    pub still_passes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            detail_files: 192,
            threads_max: 256,
            files_kept: None,
            tells_shared: true,
            still_passes: 0,
        }
    }
}

/// What a pass cost and what it could not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleCost {
    /// Elapsed time of the pass.
    pub elapsed: Nanos,
    /// Files read.
    pub files_read: u64,
    /// Files open now.
    pub files_kept: u64,
    /// Processes that were gone.
    pub gone: u64,
    /// Processes whose `io` this user may not read: their I/O is absent, `no_permission`.
    pub denied_io: u64,
    /// Processes that could not be read at all for another reason (hidden, out of descriptors).
    pub unreadable: u64,
    /// Processes whose details were left for a later pass.
    pub deferred: u64,
    /// Processes that had not run, whose last reading was repeated.
    pub repeated: u64,
    /// Processes with more than `threads_max` threads: read as a whole only.
    pub threads_unread: u64,
}

/// Samples processes through procfs.
#[derive(Debug)]
pub struct Sampler {
    root: Root,
    settings: Settings,
    page_bytes: Option<u64>,
    io_wait: IoWait,
    io_uring: bool,
    has_clocks: bool,
    descriptors: Descriptors,
    watches: Roll<u32, Watch>,
    buffer: Vec<u8>,
    pass: u64,
    /// Files that all details together took when last read: decides how often a turn comes.
    detail_files: u64,
    /// The last pass met the processes that the one before it met, all of them.
    same: bool,
    /// See [`Sampler::denied_io`].
    denied_io: Vec<u32>,
    gone: Vec<u32>,
    /// Revisions given so far.
    revisions: u64,
}

/// Whether `delayacct_blkio_ticks` means anything on this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IoWait {
    /// `kernel.task_delayacct` is 1.
    Counted,
    /// It is 0: the field is always 0.
    Off,
    /// A kernel before 5.14 does not say: only a number above 0 is a reading.
    Unsaid,
}

impl Sampler {
    /// A sampler that reads below `root`; reads this process's limits and page size once.
    pub fn new(root: Root, settings: Settings) -> Self {
        let quarter = proc_pid_limits::read(&root, None)
            .ok()
            .and_then(|limits| limits.open_files)
            .map_or(KEPT_DEFAULT, |files| files / 4);
        let kept_max = settings.files_kept.map_or(quarter, u64::from).min(KEPT_MAX);
        Self {
            page_bytes: proc_self_auxv::read(&root).ok(),
            io_wait: io_wait(&root),
            io_uring: proc_pid_fd::io_uring_is_possible(&root),
            has_clocks: root.has_our_pids(),
            root,
            settings,
            descriptors: Descriptors::new(kept_max),
            watches: Roll::default(),
            buffer: vec![0; 4096],
            pass: 0,
            detail_files: 0,
            same: false,
            denied_io: Vec::new(),
            gone: Vec::new(),
            revisions: 0,
        }
    }

    /// Reads every process of `pids` into `out`, in that order, replacing what was there. One that
    /// has ended is left out and counted; a pid that has become another process appears with its
    /// new start. Files of processes that are no longer in `pids` are closed.
    pub fn sample(&mut self, pids: &[u32], out: &mut Vec<ProcessSample>) -> SampleCost {
        let begin = Instant::now();
        self.pass += 1;
        let stride = self
            .detail_files
            .div_ceil(u64::from(self.settings.detail_files.max(1)));
        let still_passes = u64::from(self.settings.still_passes);
        let before = self.watches.len();
        self.watches.begin();
        let mut cost = self.read(pids, (stride, still_passes), out);
        let (met, known) = (out.len(), self.watches.len());
        // Nobody is left where each that is known was met.
        if met < known {
            self.close_left();
        }
        self.same = before == known && met == pids.len() && met == known && met > 0;
        cost.files_kept = self.descriptors.kept();
        cost.elapsed = Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        cost
    }

    /// Reads some of the processes between two passes, all details of each.
    pub fn glance(&mut self, pids: &[u32], out: &mut Vec<ProcessSample>) {
        self.read(pids, (0, 0), out);
        // What the last pass found holds no longer.
        self.same = false;
    }

    /// Reads them, with details and of those that rest once in so many passes.
    fn read(
        &mut self,
        pids: &[u32],
        (stride, still_passes): (u64, u64),
        out: &mut Vec<ProcessSample>,
    ) -> SampleCost {
        let mut cost = SampleCost::default();
        out.clear();
        self.denied_io.clear();
        self.gone.clear();
        let mut turn = Turn {
            pass: self.pass,
            stride,
            files_left: i64::from(self.settings.detail_files),
            threads_max: u64::from(self.settings.threads_max),
            still_passes,
            doublings: rest::doublings(
                self.watches.len() as u64,
                still_passes,
                u64::from(self.settings.detail_files / STILL_PART),
            ),
            revisions: self.revisions,
            page_bytes: self.page_bytes,
            io_wait: self.io_wait,
            io_uring: self.io_uring,
            has_clocks: self.has_clocks,
        };
        for (place, &pid) in pids.iter().enumerate() {
            if place % PROCESSES_BETWEEN_RESTS == 0 {
                burst::rest();
            }
            let known = self.watches.find(pid);
            let repeated = known.and_then(|watch| watch.repeated(pid, &turn, &mut self.buffer));
            if let Some(sample) = repeated {
                out.push(sample.clone());
                cost.files_read += 1;
                cost.repeated += 1;
                continue;
            }
            let denied_before = cost.denied_io;
            let sampled = self.sample_one(pid, &mut turn, &mut cost);
            if cost.denied_io > denied_before {
                self.denied_io.push(pid);
            }
            match sampled {
                Ok(sample) => out.push(sample),
                Err(Absent::Gone) => self.gone.push(pid),
                Err(_) => cost.unreadable += 1,
            }
        }
        self.revisions = turn.revisions;
        cost.gone = self.gone.len() as u64;
        // Of one that is gone: no longer, as of one that has executed a program.
        let share = |one, other| match kcmp::share_memory(one, other) {
            Err(error) => (error.errno() == Some(errno::ESRCH)).then_some(false),
            Ok(answer) => Some(answer),
        };
        // Of one that has given it back the file is there, until it is waited for, and all 0.
        let statm = |pid| std::fs::read(self.root.process(pid, "statm"));
        let has_memory = |pid| statm(pid).is_ok_and(|text| !text.starts_with(b"0 "));
        if self.settings.tells_shared {
            space::tell_apart(&mut self.watches, out, share, has_memory);
        }
        cost
    }

    /// Whether none of the processes has run since the last pass, so that a pass would find what
    /// that one found: every counter and, but for pages that the kernel takes away, all memory.
    /// Told by the CPU clock of each, or one short file, so it costs a tenth of a pass at most.
    /// `false` where that does not tell: processes of several threads, many processes, or two last
    /// passes that differed.
    pub fn is_still(&mut self) -> bool {
        let buffer = &mut self.buffer;
        self.same
            && self.watches.len() <= RESTING_MAX
            && self
                .watches
                .iter()
                .all(|(pid, watch)| watch.is_still(pid, buffer))
    }

    /// Of the last reading those whose `io` this user may not read.
    pub fn denied_io(&self) -> &[u32] {
        &self.denied_io
    }

    /// Of the last reading those who were gone.
    pub fn gone(&self) -> &[u32] {
        &self.gone
    }

    /// The last resident set seen of `pid`, if it was in the last pass.
    pub fn last_rss(&self, pid: u32) -> Option<Bytes> {
        self.watches.get(pid)?.last_rss()
    }

    fn sample_one(
        &mut self,
        pid: u32,
        turn: &mut Turn,
        cost: &mut SampleCost,
    ) -> Result<ProcessSample, Absent> {
        let mut second_try = false;
        loop {
            let watch = self.watches.meet(pid, Watch::default).0;
            let files_before = match watch.is_fresh() {
                true => 0,
                false => watch.detail_files(),
            };
            let read = watch.sample(
                &self.root,
                pid,
                turn,
                &mut self.descriptors,
                &mut self.buffer,
                cost,
            );
            let fresh = watch.is_fresh();
            self.detail_files -= files_before;
            let Err(absent) = read else {
                self.detail_files += watch.detail_files();
                return read;
            };
            if let Some(mut watch) = self.watches.remove(pid) {
                watch.close(&mut self.descriptors);
            }
            if self.descriptors.ran_out() {
                self.keep_fewer();
            } else if fresh {
                return Err(absent);
            }
            // Either the pid belongs to another process now, or there is room for a descriptor
            // again.
            if second_try {
                return Err(absent);
            }
            second_try = true;
        }
    }

    /// Closes the files of processes that were not in this pass.
    fn close_left(&mut self) {
        let (pass, descriptors) = (self.pass, &mut self.descriptors);
        self.watches.keep(|_, watch| {
            let stays = watch.seen_in(pass);
            if !stays {
                watch.close(descriptors);
            }
            stays
        });
        self.detail_files = self
            .watches
            .iter()
            .map(|(_, watch)| watch.detail_files())
            .sum();
    }

    /// The process is out of descriptors: gives all back and keeps half as many from now on.
    fn keep_fewer(&mut self) {
        for watch in self.watches.values_mut() {
            watch.close(&mut self.descriptors);
        }
        self.descriptors.halve();
    }
}

fn io_wait(root: &Root) -> IoWait {
    match root.read_machine(&root.proc("sys/kernel/task_delayacct")) {
        Ok(text) if text.trim_ascii() == b"1" => IoWait::Counted,
        Ok(_) => IoWait::Off,
        Err(_) => IoWait::Unsaid,
    }
}

#[cfg(test)]
mod tests;
