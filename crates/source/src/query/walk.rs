//! Samples all processes below one by a walk in the kernel (`sys::bpf::Walk`), where BPF may be
//! used: the same records as [`super::sampler`] makes from `/proc`, at an eighth of its cost a
//! process, every detail in every pass.
//!
//! To load the walk costs as much as reading some 2700 processes through `/proc`, so it pays only
//! for a task of many processes that lasts: [`Gain`] tells when.

use super::counters::add;
use crate::error::Error;
use crate::query::{proc_loadavg, proc_self_auxv};
use crate::root::Root;
use record::sample::{Counters, ProcessSample};
use roster::Roster;
use rustc_hash::FxHashMap;
use sys::bpf::{Met, Walk, Walked};

mod roster;
mod values;

/// What loading the walk takes of a CPU (Linux 6.18), nanoseconds.
const LOAD_COST: u64 = 19_000_000;
/// What a pass takes, and for each thread of the node, nanoseconds.
const PASS_COST: u64 = 28_000;
const THREAD_COST: u64 = 900;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` of `linux/sched.h`.
const ENDED: u32 = 0x30;
/// How many threads the walk would meet is looked at after passes that cost this much together: a
/// look each would be dear for a task of few processes.
const SETTLE_COST: u64 = LOAD_COST / 16;

/// When the walk pays: as soon as what passes through `/proc` cost more than the walk's would have
/// is what loading it takes. At worst that is twice what the better of the two would have cost.
#[derive(Debug, Default)]
pub struct Gain {
    gained: u64,
    /// Passes that no look at the threads followed yet, and what they cost.
    passes: u64,
    cost: u64,
}

impl Gain {
    /// A pass through `/proc` took `cost` nanoseconds of a CPU; whether the walk pays now.
    pub fn pays_after(&mut self, cost: u64, root: &Root) -> bool {
        // The walk is no cheaper, however few threads there are.
        if cost <= PASS_COST {
            return false;
        }
        self.passes += 1;
        self.cost = self.cost.saturating_add(cost);
        if self.cost < SETTLE_COST {
            return false;
        }
        let threads = proc_loadavg::read(root).map_or(u64::MAX, |load| load.threads);
        self.settle(threads)
    }

    /// The walk would have met so many threads in each of the passes.
    fn settle(&mut self, threads: u64) -> bool {
        let pass = PASS_COST.saturating_add(threads.saturating_mul(THREAD_COST));
        let walks = pass.saturating_mul(std::mem::take(&mut self.passes));
        let saved = std::mem::take(&mut self.cost).saturating_sub(walks);
        self.gained = self.gained.saturating_add(saved);
        self.gained > LOAD_COST
    }
}

/// Samples everything below a process by walks.
#[derive(Debug)]
pub struct Walker {
    walk: Walk,
    kept: Kept,
    roster: Roster,
    /// Processes of several threads in the present pass.
    several: FxHashMap<u32, Process>,
}

/// What this kernel counts.
#[derive(Debug, Clone, Copy)]
struct Kept {
    io: bool,
    cpu_wait: bool,
    io_wait: bool,
}

/// The threads of one process in one pass.
#[derive(Debug, Default)]
struct Process {
    leader: Option<Walked>,
    /// One of them that told of their address space.
    space: Option<Walked>,
    /// The leader in.
    sum: Counters,
    alive: bool,
    io_uring: bool,
}

impl Walker {
    /// Loads the walk over everyone below `ancestor`, that one left out.
    ///
    /// # Errors
    /// Where this user or this kernel cannot have it, in words that say what is missing.
    pub fn open(root: &Root, ancestor: u32) -> Result<Self, Error> {
        let walk = Walk::open(ancestor).map_err(|source| Error::Kernel {
            mechanism: "walk",
            source,
        })?;
        let page_bytes = proc_self_auxv::read(root).map_err(|_| Error::Mechanism {
            mechanism: "walk",
            why: "the size of a page is not known".to_owned(),
        })?;
        let readable = |name: &str| root.read_process(None, name).is_ok();
        let delays = root.read_machine(&root.proc("sys/kernel/task_delayacct"));
        let kept = Kept {
            io: readable("io"),
            cpu_wait: readable("schedstat"),
            io_wait: delays.is_ok_and(|text| text.trim_ascii() == b"1"),
        };
        Ok(Self {
            walk,
            kept,
            roster: Roster::new(kept, page_bytes),
            several: FxHashMap::default(),
        })
    }

    /// Reads every living process below the ancestor, in the order of their ids. One with the
    /// revision that it had in another pass is what it was then.
    ///
    /// # Errors
    /// The kernel has no memory for the pass, or some process has so many ancestors that whose it
    /// is cannot be told.
    pub fn sample(&mut self) -> Result<&mut [ProcessSample], Error> {
        if !self.pass()? {
            // A pass before this one was not taken to its end.
            self.walk.forget();
            self.pass()?;
        }
        for (pid, process) in &self.several {
            self.roster.several(*pid, process);
        }
        Ok(self.roster.end())
    }

    /// One pass; whether all were known of whom it says that they rested.
    fn pass(&mut self) -> Result<bool, Error> {
        let Self {
            walk,
            kept,
            roster,
            several,
        } = self;
        several.clear();
        roster.begin();
        let (mut too_deep, mut all_known) = (false, true);
        let taken = walk.pass_since(&mut |met| {
            let one = match met {
                Met::Same(pid) => return all_known &= roster.same(pid),
                Met::Read(one) => one,
            };
            too_deep |= one.flags & Walked::TOO_DEEP != 0;
            let is_alone = one.threads == 1 && one.pid == one.tgid && one.state & ENDED == 0;
            if is_alone || one.flags & Walked::WHOLE != 0 {
                roster.whole(one);
            } else {
                several.entry(one.tgid).or_default().take(one, *kept);
            }
        });
        taken.map_err(|source| Error::Kernel {
            mechanism: "walk",
            source,
        })?;
        if too_deep {
            return Err(Error::Mechanism {
                mechanism: "walk",
                why: "a process has too many ancestors".to_owned(),
            });
        }
        Ok(all_known)
    }
}

impl Process {
    fn take(&mut self, one: &Walked, kept: Kept) {
        self.sum = add(self.sum, values::of_thread(one, kept));
        self.alive |= one.state & ENDED == 0;
        self.io_uring |= one.flags & Walked::IO_URING != 0;
        if one.pid == one.tgid {
            self.leader = Some(*one);
        }
        if one.flags & Walked::MEMORY != 0 {
            self.space = Some(*one);
        }
    }
}

#[cfg(test)]
mod tests;
