//! What a task is told beside its events and samples: the group, the wait chain, folders.

use crate::files::FileTotals;
use crate::pass::Peak;
use crate::settings::{KernelCounts, Mechanism};
use crate::tree::{IO_URING, Tree};
use record::sample::{GroupSample, PageSizes, WaitTotals};
use record::unit::{Bytes, Nanos};
use record::value::Absent;

/// Programs to which work left the tree that are named.
const DEPARTED_MAX: usize = 16;

/// What walks of the measured directories found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Footprint {
    pub(crate) bytes: Peak,
    pub(crate) files: Peak,
    pub(crate) now: Option<(Bytes, u64)>,
    pub(crate) incomplete: bool,
    pub(crate) walks: u64,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
}

impl Tree {
    /// The control group of the task at `at`.
    pub fn group(&mut self, at: Nanos, group: &GroupSample) {
        self.group_memory(at, group);
        self.peaks
            .charge
            .raise(group.peak.max(group.current).map(|b| b.0), at);
        let pair = group.current.zip(group.unreclaimable);
        let rest = pair.map(|(all, some)| all.0.saturating_sub(some.0));
        self.peaks.group_rest = self.peaks.group_rest.max(rest);
        self.peaks.group_swap.raise(group.swap.map(|b| b.0), at);
        self.group = Some(*group);
    }

    /// The memory of the control group alone, reclaimable page cache left out.
    pub fn group_memory(&mut self, at: Nanos, group: &GroupSample) {
        self.peaks.group.raise(group.unreclaimable.map(|b| b.0), at);
        let shared = group.shared.map_or(0, |b| b.0);
        self.peaks.group_shared = self.peaks.group_shared.max(shared);
    }

    /// Processes of the task went to other control groups: what the task's own one holds is a part.
    pub fn group_left(&mut self) {
        self.group_left = true;
    }

    /// The charge of the task's own group, if nothing of the task can be charged elsewhere.
    pub(crate) fn whole_charge(&self) -> Option<u64> {
        self.peaks.charge.value.filter(|_| !self.group_left)
    }

    /// What the kernel program or the follower counted itself.
    pub fn counts(&mut self, counts: &KernelCounts) {
        self.counts = Some(*counts);
        if counts.io_uring_tasks.is_some_and(|tasks| tasks > 0) {
            self.unseen_io(IO_URING);
        }
        self.untraced |= counts.untraced;
        self.auto_reaped |= counts.auto_reaped.is_some_and(|some| some > 0);
    }

    /// Some process of the task was made so that the mechanism, ptrace, does not see it: what is
    /// counted and summed by events is a part.
    pub fn untraced(&mut self) {
        self.untraced = true;
    }

    /// What the wait chain holds so far, or at last.
    pub fn waited(&mut self, waited: &WaitTotals) {
        self.waited = Some(*waited);
    }

    /// A walk of the measured directories ended at `at`; `complete` if it saw every file.
    pub fn footprint(&mut self, at: Nanos, bytes: Bytes, files: u64, complete: bool) {
        let walk = &mut self.footprint;
        walk.bytes.raise(Some(bytes.0), at);
        walk.files.raise(Some(files), at);
        walk.now = Some((bytes, files));
        walk.incomplete |= !complete;
        if walk.walks == 0 {
            walk.first = at;
        }
        walk.last = at;
        walk.walks += 1;
    }

    /// A walk of the measured directories was given up: what is known is a lower bound.
    pub fn footprint_unfinished(&mut self) {
        self.footprint.incomplete = true;
    }

    /// Work left the tree through the program `what`: every total becomes a lower bound.
    pub fn departed(&mut self, what: &str) {
        let known = self.departed.iter().any(|one| one == what);
        if !known && self.departed.len() < DEPARTED_MAX {
            self.departed.push(what.to_owned());
        }
    }

    /// The root had waited up to `wait` for a CPU when it became the command: that is left out of
    /// its samples, and of its final values where the mechanism has not done so itself. What is
    /// left is a lower bound.
    pub fn waited_before_exec(&mut self, wait: Nanos) {
        let by_kernel = self.settings.mechanism == Mechanism::Bpf;
        if let Some(root) = self.living.get_mut(&self.root) {
            root.waited_before = Some(wait);
            root.finals_without = by_kernel;
        }
    }

    /// Nobody waits for some processes: what they use may pass the wait chain by.
    pub fn auto_reaped(&mut self) {
        self.auto_reaped = true;
    }

    /// The task reads and writes by `what` (such as `io_uring`), past the kernel's `rchar`,
    /// `wchar`, `syscr` and `syscw`: those four become lower bounds. The bytes of storage hold it
    /// all.
    pub fn unseen_io(&mut self, what: &str) {
        // Of two the one that may do more is told.
        if self.io_unseen.is_none() || what == IO_URING {
            self.io_unseen = Some(what.to_owned());
        }
    }

    /// What was opened, at last.
    pub fn files(&mut self, totals: FileTotals) {
        self.files = Some(totals);
    }

    /// What pages are on this machine, and how many huge ones it has made by the start. With this,
    /// page faults bound the memory of a task that has no control group.
    pub fn paging(&mut self, sizes: PageSizes, huge_made: u64) {
        self.growth.begin(sizes, huge_made);
    }

    /// The machine has made so many huge pages by now: to be told as each pass and each look at
    /// the dead begins, before anybody is read, and at last.
    pub fn huge_pages(&mut self, made: u64) {
        self.growth.huge_pages(made);
    }

    /// The machine has so much shared memory by now, files in tmpfs included: first as the task
    /// begins. What it grows by may be the task's, mapped by nobody.
    pub fn machine_shared(&mut self, bytes: Bytes) {
        self.machine_shared.now(bytes.0);
    }

    /// Why `metric` is absent, should it be.
    pub fn reason(&mut self, metric: &'static str, reason: Absent) {
        self.reasons.insert(metric, reason);
    }
}
