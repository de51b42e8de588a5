//! One pass over the living processes, and the peaks of all passes.

use crate::counters;
use crate::life::{Life, Mix};
use record::sample::{Counters, Memory, ProcessSample};
use record::unit::{Bytes, Nanos};
use std::sync::Arc;

/// The highest value of something and when it was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Peak {
    pub(crate) value: Option<u64>,
    pub(crate) at: Option<Nanos>,
}

impl Peak {
    /// Takes a value into account; true if it is the highest so far.
    pub(crate) fn raise(&mut self, value: Option<u64>, at: Nanos) -> bool {
        let higher = value.is_some() && value > self.value;
        if higher {
            (self.value, self.at) = (value, Some(at));
        }
        higher
    }
}

/// The process that holds most of something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Biggest {
    pub(crate) value: u64,
    pub(crate) who: Option<(u32, Arc<[u8]>)>,
}

impl Biggest {
    pub(crate) fn raise(&mut self, value: Option<u64>, life: &Life) {
        if let Some(value) = value
            && (self.who.is_none() || value > self.value)
        {
            self.value = value;
            self.who = Some((life.pid, Arc::clone(&life.command)));
        }
    }
}

/// Anonymous memory of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The program that it runs.
    pub(crate) image: u64,
    pub(crate) pid: u32,
    pub(crate) anon: u64,
}

/// The sums of one pass. A sum is absent if no process told its part.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pass {
    pub(crate) at: Nanos,
    pub(crate) processes: u64,
    pub(crate) threads: Option<u64>,
    pub(crate) rss: Option<u64>,
    pub(crate) rss_anon: Option<u64>,
    pub(crate) rss_file: Option<u64>,
    pub(crate) rss_shmem: Option<u64>,
    pub(crate) virtual_size: Option<u64>,
    pub(crate) swap: Option<u64>,
    /// Of the pool of huge pages, in no other sum.
    pub(crate) hugetlb: Option<u64>,
    /// Unreclaimable shares of the processes that told theirs.
    pub(crate) pss: Option<u64>,
    /// Resident sets of the processes that did not tell their share.
    pub(crate) rss_without_pss: u64,
    /// The share of some could not be read.
    pub(crate) pss_denied: bool,
    /// Most anonymous and shared memory of one process.
    pub(crate) unreclaimable_process: Option<u64>,
    /// What the programs have of their own, together.
    pub(crate) of_images: Option<u64>,
    /// Anonymous memory of each process of which the program is known.
    pub(crate) images: Vec<Part>,
    /// By processes alive, their waited-for children included.
    pub(crate) with_children: Counters,
    /// By processes alive, children out.
    pub(crate) own: Counters,
    pub(crate) most_cpu: Biggest,
    pub(crate) most_rss: Biggest,
    pub(crate) most_virtual: Biggest,
    pub(crate) most_swap: Biggest,
    pub(crate) most_threads: Biggest,
    pub(crate) most_read: Biggest,
    pub(crate) most_written: Biggest,
}

impl Pass {
    /// An empty pass that began at `at`.
    pub(crate) fn new(at: Nanos) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }

    /// Adds a process just read, `life` being all that is known of it; the memory of one that
    /// `borrows` it from its parent is left out.
    pub(crate) fn add(&mut self, sample: &ProcessSample, life: &Life, borrows: bool) {
        if let Some(last) = &life.last {
            counters::add(&mut self.own, &last.own);
            counters::add(&mut self.with_children, &last.with_children);
            let whole = &last.with_children;
            self.most_cpu.raise(whole.cpu.map(|n| n.0), life);
            self.most_read.raise(whole.bytes_read.map(|b| b.0), life);
            self.most_written
                .raise(whole.bytes_written.map(|b| b.0), life);
        }
        if life.zombie {
            return;
        }
        self.processes += 1;
        plus(&mut self.threads, sample.threads);
        self.most_threads.raise(sample.threads, life);
        if !borrows {
            self.pss_denied |= sample.pss_denied;
            self.add_memory(&sample.memory, life);
            if let (Some(image), Some(anon)) = (life.image, sample.memory.rss_anon) {
                self.images.push(Part {
                    image,
                    pid: life.pid,
                    anon: anon.0,
                });
            }
        }
    }

    fn add_memory(&mut self, memory: &Memory, life: &Life) {
        plus(&mut self.rss, memory.rss.map(|b| b.0));
        plus(&mut self.rss_anon, memory.rss_anon.map(|b| b.0));
        plus(&mut self.rss_file, memory.rss_file.map(|b| b.0));
        plus(&mut self.rss_shmem, memory.rss_shmem.map(|b| b.0));
        plus(&mut self.virtual_size, memory.virtual_size.map(|b| b.0));
        plus(&mut self.swap, memory.swap.map(|b| b.0));
        plus(&mut self.hugetlb, memory.hugetlb.map(|b| b.0));
        if let (Some(anon), Some(shmem)) = (memory.rss_anon, memory.rss_shmem) {
            let own = anon.0.saturating_add(shmem.0);
            self.unreclaimable_process = self.unreclaimable_process.max(Some(own));
        }
        match memory.pss_unreclaimable {
            Some(share) => plus(&mut self.pss, Some(share.0)),
            None => {
                let rss = memory.rss.map_or(0, |b| b.0);
                self.rss_without_pss = self.rss_without_pss.saturating_add(rss);
            }
        }
        self.most_rss.raise(memory.rss.map(|b| b.0), life);
        self.most_virtual
            .raise(memory.virtual_size.map(|b| b.0), life);
        self.most_swap.raise(memory.swap.map(|b| b.0), life);
    }
}

fn plus(sum: &mut Option<u64>, part: Option<u64>) {
    if let Some(part) = part {
        *sum = Some(sum.unwrap_or(0).saturating_add(part));
    }
}

/// The peaks over all passes and readings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peaks {
    /// Sum of resident sets, and its split at that instant.
    pub(crate) rss: Peak,
    pub(crate) rss_anon: Option<u64>,
    pub(crate) rss_file: Option<u64>,
    pub(crate) rss_shmem: Option<u64>,
    pub(crate) virtual_size: Peak,
    /// Sum of what is told of each process.
    pub(crate) swap: Peak,
    /// Sum of what each process has of the pool of huge pages.
    pub(crate) hugetlb: Peak,
    /// Swap of the group.
    pub(crate) group_swap: Peak,
    pub(crate) threads: Peak,
    pub(crate) processes: Peak,
    pub(crate) pss: Peak,
    /// Sum of what the programs have of their own.
    pub(crate) images: Peak,
    /// Unreclaimable memory of the group.
    pub(crate) group: Peak,
    /// Most shared memory of the group, whether anybody mapped it or not.
    pub(crate) group_shared: u64,
    /// Highest charge of the group.
    pub(crate) charge: Peak,
    /// Most that was charged to the group beside its unreclaimable memory: page cache, and what the
    /// kernel keeps for it.
    pub(crate) group_rest: Option<u64>,
    /// Anonymous + shared memory of one process.
    pub(crate) unreclaimable_process: Peak,
    /// Largest resident set of one process, and when it was known.
    pub(crate) rss_process: Peak,
    /// The same less the file pages seen in that process, where what it grew by since it was seen
    /// is likely its own.
    pub(crate) rss_process_less_file: Peak,
    /// How the largest process was last seen.
    pub(crate) mix_process: Option<Mix>,
    /// Most file pages seen in one process.
    pub(crate) file_process: Option<u64>,
    pub(crate) virtual_process: Peak,
}

impl Peaks {
    /// Takes the sums of a pass into account.
    pub(crate) fn pass(&mut self, pass: &Pass) {
        if self.rss.raise(pass.rss, pass.at) {
            self.rss_anon = pass.rss_anon;
            self.rss_file = pass.rss_file;
            self.rss_shmem = pass.rss_shmem;
        }
        self.virtual_size.raise(pass.virtual_size, pass.at);
        self.swap.raise(pass.swap, pass.at);
        self.hugetlb.raise(pass.hugetlb, pass.at);
        self.threads.raise(pass.threads, pass.at);
        self.processes.raise(Some(pass.processes), pass.at);
        self.pss.raise(pass.pss, pass.at);
        self.images.raise(pass.of_images, pass.at);
    }

    /// Takes what is known of one process at `at` into account; so much of its shared memory may be
    /// the monitor's (`own_shared`).
    pub(crate) fn process(&mut self, life: &Life, at: Nanos, own_shared: Bytes) {
        let peak = life.rss_peak();
        if self.rss_process.raise(peak, at) {
            self.mix_process = life.mix_seen;
        }
        let size = life.peaks.virtual_size.map(|b| b.0);
        self.virtual_process.raise(life.virtual_seen.max(size), at);
        if let (Some(peak), Some(file)) = (peak, life.file_seen) {
            if life.grew_by_itself(peak) {
                self.rss_process_less_file
                    .raise(Some(peak.saturating_sub(file)), at);
            }
            self.file_process = self.file_process.max(Some(file));
        }
        let ended = life.peaks.anon_at_end.map(|b| b.0);
        let seen = life.last.as_ref().and_then(|last| {
            let anon = last.memory.rss_anon?.0;
            let shared = last.memory.rss_shmem.unwrap_or_default();
            Some(anon.saturating_add(shared.0.saturating_sub(own_shared.0)))
        });
        self.unreclaimable_process.raise(ended.max(seen), at);
    }
}
