//! The sum over the threads of a process, with what its dead threads had when last seen.

use super::kept::{Descriptors, read_at_start};
use crate::query::counters::{add, larger};
use crate::query::field::number;
use crate::query::{proc_pid_io, proc_pid_schedstat, proc_pid_status};
use crate::root::Root;
use record::sample::Counters;
use record::unit::Nanos;
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

    /// Takes a reading of the only live thread; `whole` as for [`Threads::replace`].
    pub(super) fn set_only(
        &mut self,
        tid: u32,
        now: Counters,
        whole: impl FnOnce() -> Option<Nanos>,
    ) {
        match self.live.as_mut_slice() {
            [(live, last)] if *live == tid && !restarted(last, &now) => *last = larger(*last, now),
            _ => self.replace(tid, vec![(tid, now)], whole),
        }
    }

    /// Takes a reading of every live thread of the process `pid`; those that are not in it are
    /// dead, but for one that took the place of the main thread (see [`Threads::takes_over`]).
    /// `whole` is asked for the CPU time of the process by now, its dead threads included, where
    /// some have gone.
    fn replace(
        &mut self,
        pid: u32,
        now: Vec<(u32, Counters)>,
        whole: impl FnOnce() -> Option<Nanos>,
    ) {
        let mut old = std::mem::replace(&mut self.live, now);
        let gone = |(tid, _): &(u32, Counters)| self.live.iter().all(|(live, _)| live != tid);
        if old.iter().any(gone) && self.live.iter().any(|(live, _)| *live == pid) {
            self.takes_over(pid, &mut old, whole());
        }
        for (tid, before) in old {
            match self.live.iter_mut().find(|(live, _)| *live == tid) {
                Some((_, after)) if !restarted(&before, after) => *after = larger(before, *after),
                _ => self.dead = add(self.dead, before),
            }
        }
    }

    /// A thread that executes a program gets the id of the main one, which ends. Then its counters
    /// must not be those of a dead thread too: together with the others they would be more than
    /// `whole`, what the process has used. It is that one of `old` that had most, but no more than
    /// the main thread has now.
    fn takes_over(&mut self, pid: u32, old: &mut Vec<(u32, Counters)>, whole: Option<Nanos>) {
        let main = self.live.iter_mut().find(|(live, _)| *live == pid);
        let (Some((_, main)), Some(whole)) = (main, whole) else {
            return;
        };
        let main_now = *main;
        let before = old.iter().find(|(tid, _)| *tid == pid).map(|(_, one)| *one);
        let others = old.iter().filter(|(tid, _)| *tid != pid);
        let dead = others.fold(self.dead, |sum, (_, one)| add(sum, *one));
        let main_then = match before {
            Some(before) if restarted(&before, &main_now) => add(before, main_now),
            Some(before) => larger(before, main_now),
            None => main_now,
        };
        if add(dead, main_then).cpu <= Some(whole) {
            return;
        }
        let could = |one: &Counters| one.cpu.is_some() && one.cpu <= main_now.cpu;
        let candidates = old.iter().filter(|(tid, one)| *tid != pid && could(one));
        let Some(&(heir, had)) = candidates.max_by_key(|(_, one)| one.cpu) else {
            return;
        };
        *main = larger(had, main_now);
        old.retain(|(tid, _)| *tid != heir && *tid != pid);
        self.dead = add(self.dead, before.unwrap_or_default());
    }

    /// Reads `task/*` of `pid`, at most `threads_max` threads: `schedstat` and `status`, and `io`
    /// if `with_io`; `whole` as for [`Threads::replace`]. Returns the files read.
    pub(super) fn walk(
        &mut self,
        (root, pid): (&Root, u32),
        (with_io, threads_max): (bool, u64),
        whole: impl FnOnce() -> Option<Nanos>,
        descriptors: &mut Descriptors,
        buffer: &mut Vec<u8>,
    ) -> u64 {
        // A folder that cannot be listed is that of a process that has just ended.
        let Ok(folder) = std::fs::read_dir(root.process(pid, "task")) else {
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
        self.replace(pid, now, whole);
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

    fn cpu(ns: u64) -> Counters {
        Counters {
            cpu: Some(Nanos(ns)),
            ..Counters::default()
        }
    }

    #[test]
    fn dead_threads_stay_in_the_sum() {
        let mut threads = Threads::default();
        threads.replace(1, vec![(1, cpu(10)), (2, cpu(5))], || None);
        threads.replace(1, vec![(1, cpu(12))], || None);
        assert_eq!(threads.sum().cpu, Some(Nanos(17)));
    }

    #[test]
    fn a_thread_id_given_again_is_a_new_thread() {
        let mut threads = Threads::default();
        threads.replace(1, vec![(1, cpu(10)), (2, cpu(5))], || None);
        threads.replace(1, vec![(1, cpu(10)), (2, cpu(1))], || None);
        assert_eq!(threads.sum().cpu, Some(Nanos(16)));
    }

    #[test]
    fn a_thread_that_executes_a_program_counts_once() {
        // Thread 3 executed: the main one, asleep until then, is over, and 3 has its id.
        for (main, now) in [(cpu(2), cpu(71)), (cpu(2), cpu(70)), (cpu(72), cpu(71))] {
            let mut threads = Threads::default();
            threads.replace(1, vec![(1, main), (2, cpu(5)), (3, cpu(70))], || None);
            let all = main.cpu.unwrap().plus(Nanos(5)).plus(now.cpu.unwrap());
            threads.set_only(1, now, || Some(all));
            assert_eq!(threads.sum().cpu, Some(all), "{main:?}");
            threads.set_only(1, cpu(75), || None);
            let grown = Nanos(75).since(now.cpu.unwrap());
            assert_eq!(threads.sum().cpu, Some(all.plus(grown)));
        }
    }

    #[test]
    fn threads_that_ended_are_no_heirs_of_the_main_one() {
        let mut threads = Threads::default();
        threads.replace(1, vec![(1, cpu(60)), (2, cpu(5)), (3, cpu(50))], || None);
        threads.set_only(1, cpu(61), || Some(Nanos(116)));
        assert_eq!(threads.sum().cpu, Some(Nanos(116)));
    }

    #[test]
    fn a_field_not_read_this_time_keeps_its_last_value() {
        let mut threads = Threads::default();
        let mut first = cpu(10);
        first.switches_voluntary = Some(3);
        threads.replace(1, vec![(1, first)], || None);
        threads.replace(1, vec![(1, cpu(11))], || None);
        assert_eq!(threads.sum().switches_voluntary, Some(3));
    }
}
