//! The sum over the threads of a process, with what its dead threads had when last seen.

use super::kept::{Descriptors, read_at_start};
use crate::query::counters::{add, larger};
use crate::query::field::number;
use crate::query::{proc_pid_io, proc_pid_schedstat, proc_pid_status};
use crate::root::Root;
use record::sample::Counters;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The counters of a process's threads. What a thread used after its last reading is not in them.
#[derive(Debug, Default)]
pub(super) struct Threads {
    live: Vec<(u32, Counters)>,
    dead: Counters,
}

impl Threads {
    /// The sum, of the fields that were read.
    pub(super) fn sum(&self) -> Counters {
        self.live
            .iter()
            .fold(self.dead, |sum, (_, counters)| add(sum, *counters))
    }

    /// Takes a reading of the only live thread.
    pub(super) fn set_only(&mut self, tid: u32, now: Counters) {
        match self.live.as_mut_slice() {
            [(live, last)] if *live == tid && !restarted(last, &now) => *last = larger(*last, now),
            _ => self.replace(vec![(tid, now)]),
        }
    }

    /// Takes a reading of every live thread; those that are not in it are dead.
    pub(super) fn replace(&mut self, now: Vec<(u32, Counters)>) {
        let old = std::mem::replace(&mut self.live, now);
        for (tid, before) in old {
            match self.live.iter_mut().find(|(live, _)| *live == tid) {
                Some((_, after)) if !restarted(&before, after) => *after = larger(before, *after),
                _ => self.dead = add(self.dead, before),
            }
        }
    }

    /// Reads `task/*` of `pid`, at most `threads_max` threads: `schedstat` and `status`, and `io`
    /// if `with_io`. Returns the files read.
    pub(super) fn walk(
        &mut self,
        task: &Path,
        with_io: bool,
        threads_max: u64,
        descriptors: &mut Descriptors,
        buffer: &mut Vec<u8>,
    ) -> u64 {
        // A folder that cannot be listed is that of a process that has just ended.
        let Ok(folder) = std::fs::read_dir(task) else {
            return 0;
        };
        let limit = usize::try_from(threads_max).unwrap_or(usize::MAX);
        let mut now = Vec::with_capacity(self.live.len());
        let mut files = 0;
        for entry in folder.flatten().take(limit) {
            let tid = number(entry.file_name().as_bytes()).and_then(|tid| u32::try_from(tid).ok());
            let Some(tid) = tid else { continue };
            files += if with_io { 3 } else { 2 };
            if let Some(counters) = read_thread(&entry.path(), with_io, descriptors, buffer) {
                now.push((tid, counters));
            }
        }
        self.replace(now);
        files
    }
}

/// Whether a thread id has been given to a new thread: its CPU time went back.
fn restarted(before: &Counters, after: &Counters) -> bool {
    matches!((before.cpu, after.cpu), (Some(before), Some(after)) if after < before)
}

/// One thread; `None` if it has ended.
fn read_thread(
    folder: &Path,
    with_io: bool,
    descriptors: &mut Descriptors,
    buffer: &mut Vec<u8>,
) -> Option<Counters> {
    let mut counters = Counters::default();
    if with_io && let Some(text) = read_by_path(&folder.join("io"), descriptors, buffer) {
        counters = proc_pid_io::parse(text);
    }
    let schedstat = proc_pid_schedstat::parse(read_by_path(
        &folder.join("schedstat"),
        descriptors,
        buffer,
    )?);
    counters.cpu = schedstat.map(|line| line.cpu);
    counters.cpu_wait = schedstat.map(|line| line.wait);
    let text = read_by_path(&folder.join("status"), descriptors, buffer)?;
    (counters.switches_voluntary, counters.switches_involuntary) =
        proc_pid_status::parse_switches(text);
    Some(counters)
}

/// The I/O of one thread alone, if it may be read.
pub(super) fn read_thread_io(
    root: &Root,
    pid: u32,
    descriptors: &mut Descriptors,
    buffer: &mut Vec<u8>,
) -> Option<Counters> {
    let path = root.process(pid, &format!("task/{pid}/io"));
    read_by_path(&path, descriptors, buffer).map(proc_pid_io::parse)
}

/// A file of a thread; nothing if that has ended, or is another user's.
pub(super) fn read_by_path<'b>(
    path: &Path,
    descriptors: &mut Descriptors,
    buffer: &'b mut Vec<u8>,
) -> Option<&'b [u8]> {
    let file = descriptors.open(path).ok()?;
    let length = read_at_start(&file, buffer).ok()?;
    buffer.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Nanos;

    fn cpu(ns: u64) -> Counters {
        Counters {
            cpu: Some(Nanos(ns)),
            ..Counters::default()
        }
    }

    #[test]
    fn dead_threads_stay_in_the_sum() {
        let mut threads = Threads::default();
        threads.replace(vec![(1, cpu(10)), (2, cpu(5))]);
        threads.replace(vec![(1, cpu(12))]);
        assert_eq!(threads.sum().cpu, Some(Nanos(17)));
    }

    #[test]
    fn a_thread_id_given_again_is_a_new_thread() {
        let mut threads = Threads::default();
        threads.replace(vec![(1, cpu(10)), (2, cpu(5))]);
        threads.replace(vec![(1, cpu(10)), (2, cpu(1))]);
        assert_eq!(threads.sum().cpu, Some(Nanos(16)));
    }

    #[test]
    fn a_field_not_read_this_time_keeps_its_last_value() {
        let mut threads = Threads::default();
        let mut first = cpu(10);
        first.switches_voluntary = Some(3);
        threads.replace(vec![(1, first)]);
        threads.replace(vec![(1, cpu(11))]);
        assert_eq!(threads.sum().switches_voluntary, Some(3));
    }
}
