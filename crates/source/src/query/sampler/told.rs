//! What the files of a process tell, as a sample has it.

use super::IoWait;
use crate::query::counters::peaks_only;
use crate::query::{proc_pid_stat, proc_pid_statm};
use record::sample::{Counters, Memory, ProcessSample};
use record::unit::{Bytes, Nanos};

/// The part of `stat` that is not in the sample.
pub(super) struct Rest {
    pub(super) has_waited: bool,
    pub(super) ended: bool,
    pub(super) main_ended: bool,
    pub(super) threads: u64,
    pub(super) children: Counters,
    pub(super) ticks: Counters,
}

pub(super) fn as_sample(stat: &proc_pid_stat::Stat<'_>) -> ProcessSample {
    ProcessSample {
        id: stat.id(),
        ppid: stat.ppid,
        pgid: stat.pgid,
        sid: stat.sid,
        state: stat.state,
        comm: stat.comm.into(),
        threads: (!stat.ended()).then(|| stat.threads_live()),
        own: Counters::default(),
        with_children: Counters::default(),
        memory: Memory::default(),
        io_uring: false,
        sigchld_ignored: false,
        is_init: false,
        memory_of: None,
        pss_denied: false,
        revision: None,
    }
}

pub(super) fn as_rest(stat: &proc_pid_stat::Stat<'_>, io_wait: IoWait) -> Rest {
    let children = Counters {
        cpu: Some(stat.user_children.plus(stat.system_children)),
        cpu_user: Some(stat.user_children),
        cpu_system: Some(stat.system_children),
        faults_minor: Some(stat.faults_minor_children),
        faults_major: Some(stat.faults_major_children),
        ..Counters::default()
    };
    let waited = match io_wait {
        IoWait::Counted => stat.io_wait_main,
        IoWait::Off => None,
        IoWait::Unsaid => stat.io_wait_main.filter(|wait| *wait > Nanos(0)),
    };
    let ticks = Counters {
        cpu: Some(stat.user.plus(stat.system)),
        cpu_user: Some(stat.user),
        cpu_system: Some(stat.system),
        cpu_guest: stat.guest,
        // The field is of the main thread alone.
        io_wait: waited.filter(|_| stat.threads == 1),
        faults_minor: Some(stat.faults_minor),
        faults_major: Some(stat.faults_major),
        ..Counters::default()
    };
    Rest {
        has_waited: stat.has_waited(),
        ended: stat.ended(),
        main_ended: stat.main_ended(),
        threads: stat.threads,
        children,
        ticks,
    }
}

/// The memory of the last turn brought up to date with `statm`: the split between file and shared
/// memory and the swap are as old as that turn.
pub(super) fn refreshed(last: Memory, statm: proc_pid_statm::Statm) -> Memory {
    if statm.virtual_size.0 == 0 {
        // A kernel thread, or one that has just given its memory back.
        return peaks_only(last);
    }
    let shmem = last.rss_shmem.map(|shmem| shmem.min(statm.file_and_shmem));
    Memory {
        rss: Some(statm.rss),
        rss_anon: Some(Bytes(statm.rss.0.saturating_sub(statm.file_and_shmem.0))),
        rss_file: shmem.map(|shmem| Bytes(statm.file_and_shmem.0.saturating_sub(shmem.0))),
        rss_shmem: shmem,
        virtual_size: Some(statm.virtual_size),
        data: statm.data,
        // What it reached since that turn is not known.
        rss_peak: None,
        virtual_peak: None,
        ..last
    }
}
