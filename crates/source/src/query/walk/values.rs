//! What the records of a walk mean: the arithmetic that makes them what `/proc` shows. Pure.

use super::{Kept, Process};
use crate::query::counters::{add, larger};
use record::sample::{Counters, Memory};
use record::unit::{Bytes, Nanos};
use sys::bpf::{Walked, WalkedIo};

/// State letters as `/proc/PID/stat` shows them: running, then by the highest of these bits.
const LETTERS: [char; 8] = ['R', 'S', 'D', 'T', 't', 'X', 'Z', 'P'];
/// `TASK_REPORT`.
const REPORTED: u32 = 0x7f;
/// `TASK_IDLE`: `TASK_UNINTERRUPTIBLE` and `TASK_NOLOAD`.
const IDLE: u32 = 0x402;

/// What a thread used, and the ended ones of its process if it is the leader.
pub(super) fn of_thread(one: &Walked, kept: Kept) -> Counters {
    let io = of_io(&one.io, kept);
    Counters {
        cpu: Some(Nanos(one.cpu_ns)),
        cpu_user: Some(Nanos(one.cpu_user_ns)),
        cpu_system: Some(Nanos(one.cpu_system_ns)),
        cpu_guest: Some(Nanos(one.cpu_guest_ns)),
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
pub(super) fn counters(leader: &Walked, process: &Process, kept: Kept) -> (Counters, Counters) {
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
pub(super) fn split(cpu: Nanos, user: Nanos, system: Nanos) -> (Nanos, Nanos) {
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

pub(super) fn memory(speaker: &Walked, page_bytes: u64) -> Memory {
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
        data: pages(speaker.data_pages),
        rss_peak: pages(speaker.hiwater_rss_pages),
        virtual_peak: pages(speaker.hiwater_vm_pages),
    }
}

pub(super) fn letter(state: u32) -> char {
    if state & IDLE == IDLE {
        return 'I';
    }
    let highest = (state & REPORTED).checked_ilog2();
    let place = highest.map_or(0, |bit| bit as usize + 1);
    LETTERS.get(place).copied().unwrap_or('R')
}

pub(super) fn name(comm: &[u8]) -> &[u8] {
    comm.split(|byte| *byte == 0).next().unwrap_or_default()
}
