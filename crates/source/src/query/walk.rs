//! Samples all processes below one by a walk in the kernel (`sys::bpf::Walk`), where BPF may be
//! used: the same records as [`super::sampler`] makes from `/proc`, at an eighth of its cost a
//! process, every detail in every pass.
//!
//! To load the walk costs as much as reading some 2700 processes through `/proc`, so it pays only
//! for a task of many processes that lasts: [`Gain`] tells when.

use super::counters::{add, larger, peaks_only, without_io};
use super::field::tick_of;
use crate::error::Error;
use crate::query::{proc_loadavg, proc_self_auxv};
use crate::root::Root;
use record::identity::ProcessId;
use record::sample::{Counters, Memory, ProcessSample, Shared};
use record::unit::{Bytes, Nanos};
use rustc_hash::FxHashMap;
use sys::bpf::{Walk, Walked, WalkedIo};

/// What loading the walk takes of a CPU (Linux 6.18), nanoseconds.
const LOAD_COST: u64 = 19_000_000;
/// What a pass takes, and for each thread of the node, nanoseconds.
const PASS_COST: u64 = 28_000;
const THREAD_COST: u64 = 900;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` of `linux/sched.h`.
const ENDED: u32 = 0x30;
/// State letters as `/proc/PID/stat` shows them: running, then by the highest of these bits.
const LETTERS: [char; 8] = ['R', 'S', 'D', 'T', 't', 'X', 'Z', 'P'];
/// `TASK_REPORT`.
const REPORTED: u32 = 0x7f;
/// `TASK_IDLE`: `TASK_UNINTERRUPTIBLE` and `TASK_NOLOAD`.
const IDLE: u32 = 0x402;

/// When the walk pays: as soon as what passes through `/proc` cost more than the walk's would have
/// is what loading it takes. At worst that is twice what the better of the two would have cost.
#[derive(Debug, Default)]
pub struct Gain(u64);

impl Gain {
    /// A pass through `/proc` took `cost` nanoseconds of a CPU; whether the walk pays now.
    pub fn pays_after(&mut self, cost: u64, root: &Root) -> bool {
        // Not worth a look at how many threads the walk would meet.
        if cost <= PASS_COST {
            return false;
        }
        let threads = proc_loadavg::read(root).map_or(u64::MAX, |load| load.threads);
        self.add(cost, threads)
    }

    fn add(&mut self, cost: u64, threads: u64) -> bool {
        let walk = PASS_COST.saturating_add(threads.saturating_mul(THREAD_COST));
        self.0 = self.0.saturating_add(cost.saturating_sub(walk));
        self.0 > LOAD_COST
    }
}

/// Samples everything below a process by walks.
#[derive(Debug)]
pub struct Walker {
    walk: Walk,
    page_bytes: u64,
    kept: Kept,
    pass: u64,
    processes: FxHashMap<u32, Process>,
    seen: FxHashMap<u32, Seen>,
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
    space: Option<Space>,
    /// The leader in.
    sum: Counters,
    alive: bool,
    io_uring: bool,
}

/// An address space as one of its threads told it.
#[derive(Debug, Clone, Copy)]
struct Space {
    /// Where the kernel has it.
    at: u64,
    memory: Memory,
}

/// The last of a process: counters only grow, but those of ended threads are not all kept.
#[derive(Debug)]
struct Seen {
    id: ProcessId,
    pass: u64,
    own: Counters,
    with_children: Counters,
    memory: Memory,
    io_uring: bool,
    sigchld_ignored: bool,
}

impl Seen {
    fn new(id: ProcessId) -> Self {
        Self {
            id,
            pass: 0,
            own: Counters::default(),
            with_children: Counters::default(),
            memory: Memory::default(),
            io_uring: false,
            sigchld_ignored: false,
        }
    }
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
        Ok(Self {
            walk,
            page_bytes,
            kept: Kept {
                io: readable("io"),
                cpu_wait: readable("schedstat"),
                io_wait: delays.is_ok_and(|text| text.trim_ascii() == b"1"),
            },
            pass: 0,
            processes: FxHashMap::default(),
            seen: FxHashMap::default(),
        })
    }

    /// Reads every living process below the ancestor into `out`, in the order of their ids,
    /// replacing what was there.
    ///
    /// # Errors
    /// The kernel has no memory for the pass, or some process has so many ancestors that whose it
    /// is cannot be told.
    pub fn sample(&mut self, out: &mut Vec<ProcessSample>) -> Result<(), Error> {
        out.clear();
        self.pass += 1;
        let (kept, page_bytes) = (self.kept, self.page_bytes);
        let processes = &mut self.processes;
        processes.clear();
        let mut too_deep = false;
        let taken = self.walk.pass(&mut |one| {
            too_deep |= one.flags & Walked::TOO_DEEP != 0;
            let process = processes.entry(one.tgid).or_default();
            process.take(one, kept, page_bytes);
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
        let processes = std::mem::take(&mut self.processes);
        let mut pids: Vec<u32> = processes.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            if let Some(process) = processes.get(&pid)
                && let Some(leader) = process.leader.filter(|_| process.alive)
            {
                out.push(self.sample_of(pid, &leader, process));
            }
        }
        tell_apart(out, |pid| Some(processes.get(&pid)?.space?.at));
        // Its room is needed again in the next pass.
        self.processes = processes;
        let pass = self.pass;
        self.seen.retain(|_, seen| seen.pass == pass);
        Ok(())
    }

    fn sample_of(&mut self, pid: u32, leader: &Walked, process: &Process) -> ProcessSample {
        let id = ProcessId::new(pid, tick_of(Nanos(leader.start_ns)));
        let seen = self.seen.entry(pid).or_insert_with(|| Seen::new(id));
        if seen.id != id {
            *seen = Seen::new(id);
        }
        let (own, with_children) = counters(leader, process, self.kept);
        seen.pass = self.pass;
        seen.own = larger(seen.own, own);
        seen.with_children = larger(seen.with_children, add(without_io(seen.own), with_children));
        seen.memory = match process.space {
            Some(space) => space.memory,
            None => peaks_only(seen.memory),
        };
        seen.io_uring |= process.io_uring;
        seen.sigchld_ignored |= leader.flags & Walked::SIGCHLD_IGNORED != 0;
        // Others live, or it would not be here.
        let ended = u64::from(leader.state & ENDED != 0);
        ProcessSample {
            id,
            ppid: leader.parent_tgid,
            pgid: leader.group,
            sid: leader.session,
            state: letter(leader.state),
            comm: name(&leader.comm).to_vec(),
            threads: Some(u64::from(leader.threads).saturating_sub(ended)),
            own: seen.own,
            with_children: seen.with_children,
            memory: seen.memory,
            io_uring: seen.io_uring,
            sigchld_ignored: seen.sigchld_ignored,
            memory_of: None,
            pss_denied: false,
        }
    }
}

impl Process {
    fn take(&mut self, one: &Walked, kept: Kept, page_bytes: u64) {
        self.sum = add(self.sum, of_thread(one, kept));
        self.alive |= one.state & ENDED == 0;
        self.io_uring |= one.flags & Walked::IO_URING != 0;
        if one.pid == one.tgid {
            self.leader = Some(*one);
        }
        if one.flags & Walked::MEMORY != 0 {
            self.space = Some(Space {
                at: one.mm,
                memory: memory(one, page_bytes),
            });
        }
    }
}

/// What a thread used, and the ended ones of its process if it is the leader.
fn of_thread(one: &Walked, kept: Kept) -> Counters {
    let io = of_io(&one.io, kept);
    Counters {
        cpu: Some(Nanos(one.cpu_ns)),
        cpu_user: Some(Nanos(one.cpu_user_ns)),
        cpu_system: Some(Nanos(one.cpu_system_ns)),
        cpu_wait: kept.cpu_wait.then_some(Nanos(one.run_delay_ns)),
        io_wait: kept.io_wait.then_some(Nanos(one.blkio_delay_ns)),
        faults_minor: Some(one.minflt),
        faults_major: Some(one.majflt),
        switches_voluntary: Some(one.nvcsw),
        switches_involuntary: Some(one.nivcsw),
        ..io
    }
}

fn of_io(io: &WalkedIo, kept: Kept) -> Counters {
    if !kept.io {
        return Counters::default();
    }
    Counters {
        bytes_read: Some(Bytes(io.rchar_bytes)),
        bytes_written: Some(Bytes(io.wchar_bytes)),
        reads: Some(io.syscr),
        writes: Some(io.syscw),
        disk_read: Some(Bytes(io.read_bytes)),
        disk_written: Some(Bytes(io.write_bytes)),
        disk_cancelled: Some(Bytes(io.cancelled_write_bytes)),
        ..Counters::default()
    }
}

/// What the process used itself, and what goes on top of that to have its waited-for children in:
/// of I/O the whole, as the kernel has the ended threads and the children in one sum.
fn counters(leader: &Walked, process: &Process, kept: Kept) -> (Counters, Counters) {
    let mut own = process.sum;
    if let (Some(cpu), Some(user), Some(system)) = (own.cpu, own.cpu_user, own.cpu_system) {
        let (user, system) = split(cpu, user, system);
        (own.cpu_user, own.cpu_system) = (Some(user), Some(system));
    }
    let whole_io = add(only_io(own), of_io(&leader.io_with_children, kept));
    if !has_waited(leader) {
        own = larger(own, whole_io);
    }
    let children = Counters {
        cpu: Some(Nanos(leader.children_user_ns + leader.children_system_ns)),
        cpu_user: Some(Nanos(leader.children_user_ns)),
        cpu_system: Some(Nanos(leader.children_system_ns)),
        faults_minor: Some(leader.children_minflt),
        faults_major: Some(leader.children_majflt),
        ..whole_io
    };
    (own, children)
}

/// Whether any child was ever waited for: even the smallest process has faults.
const fn has_waited(leader: &Walked) -> bool {
    leader.children_minflt > 0 || leader.children_majflt > 0 || leader.children_user_ns > 0
}

/// User and system time as the kernel shows them: what the ticks caught, scaled to the CPU time.
fn split(cpu: Nanos, user: Nanos, system: Nanos) -> (Nanos, Nanos) {
    let ticks = u128::from(user.0) + u128::from(system.0);
    let system = match (user.0, system.0) {
        (_, 0) => 0,
        (0, _) => cpu.0,
        _ => u64::try_from(u128::from(cpu.0) * u128::from(system.0) / ticks).unwrap_or(cpu.0),
    };
    (Nanos(cpu.0.saturating_sub(system)), Nanos(system))
}

fn only_io(counters: Counters) -> Counters {
    Counters {
        bytes_read: counters.bytes_read,
        bytes_written: counters.bytes_written,
        reads: counters.reads,
        writes: counters.writes,
        disk_read: counters.disk_read,
        disk_written: counters.disk_written,
        disk_cancelled: counters.disk_cancelled,
        ..Counters::default()
    }
}

/// Notes in each sample whose memory it is, if an older process has the same address space.
fn tell_apart(samples: &mut [ProcessSample], space: impl Fn(u32) -> Option<u64>) {
    let mut order: Vec<_> = (samples.iter().enumerate())
        .map(|(place, sample)| (sample.id.start_ns, sample.id.pid, place))
        .collect();
    order.sort_unstable();
    let mut first = FxHashMap::default();
    for (_, pid, place) in order {
        let Some((space, sample)) = space(pid).zip(samples.get_mut(place)) else {
            continue;
        };
        let owner = *first.entry(space).or_insert(pid);
        let shared = Shared {
            pid: owner,
            proven: true,
        };
        sample.memory_of = Some(shared).filter(|_| owner != pid);
    }
}

fn memory(speaker: &Walked, page_bytes: u64) -> Memory {
    let pages = |pages: u64| Some(Bytes(pages.saturating_mul(page_bytes)));
    let rss = speaker.rss_file_pages + speaker.rss_anon_pages + speaker.rss_shmem_pages;
    Memory {
        rss: pages(rss),
        rss_anon: pages(speaker.rss_anon_pages),
        rss_file: pages(speaker.rss_file_pages),
        rss_shmem: pages(speaker.rss_shmem_pages),
        pss: None,
        pss_unreclaimable: None,
        swap: pages(speaker.swap_pages),
        swap_pss: None,
        hugetlb: pages(speaker.hugetlb_pages),
        virtual_size: pages(speaker.total_vm_pages),
        rss_peak: pages(speaker.hiwater_rss_pages),
        virtual_peak: pages(speaker.hiwater_vm_pages),
    }
}

fn letter(state: u32) -> char {
    if state & IDLE == IDLE {
        return 'I';
    }
    let highest = (state & REPORTED).checked_ilog2();
    let place = highest.map_or(0, |bit| bit as usize + 1);
    LETTERS.get(place).copied().unwrap_or('R')
}

fn name(comm: &[u8]) -> &[u8] {
    comm.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
