//! taskstats: final values of every process that ends, for `CAP_NET_ADMIN`, beside the proc
//! connector.
//!
//! It tells the end of every thread of the machine before the connector does; the threads of one
//! process are summed until the connector tells the end of the process. This is the way to exact
//! values where BPF is missing. Before Linux 5.19 a thread's record does not name its process, so
//! there processes of several threads have no values.

use super::{Mechanism, Unusable};
use crate::error::Error;
use record::event::Event;
use record::sample::{Counters, MemoryPeaks};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::collections::{HashMap, HashSet};
use sys::netlink::Taken;
use sys::taskstats::{Taskstats, ThreadUse};

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 2,
    by_default: true,
    probe,
    gives: "the exact tree by the connector, and what each process had used when it ended",
};

const NAME: &str = "taskstats";
/// Receive buffer asked for: some 10 000 ends of threads.
const BUFFER_BYTES: u32 = 16 << 20;
/// Records taken in one read.
const RECORDS_MAX: usize = 65_536;
const CPUS_POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// Tries the subscription, and the connector's beside it.
pub fn probe() -> Result<(), Unusable> {
    super::connector::probe()?;
    subscribe().map(drop).map_err(|error| {
        let why = format!(
            "{error}: taskstats needs CAP_NET_ADMIN in the initial namespaces and \
             CONFIG_TASKSTATS: run as root"
        );
        (Absent::NoPermission, why)
    })
}

fn subscribe() -> Result<Taskstats, sys::Error> {
    let call = "read /sys/devices/system/cpu/possible";
    let cpus = std::fs::read_to_string(CPUS_POSSIBLE);
    let cpus = cpus.map_err(|source| sys::Error::Call { call, source })?;
    let mut taskstats = Taskstats::open()?;
    taskstats.listen(&cpus, BUFFER_BYTES)?;
    Ok(taskstats)
}

/// What ended threads had used, by process, until the end of the process is told.
#[derive(Debug)]
pub struct ExitValues {
    taskstats: Taskstats,
    sums: Sums,
}

impl ExitValues {
    /// Subscribes to the ends of all threads.
    ///
    /// # Errors
    /// Without the right to it, or on a kernel without taskstats.
    pub fn open() -> Result<Self, Error> {
        let taskstats = subscribe().map_err(failed)?;
        let sums = Sums::default();
        Ok(Self { taskstats, sums })
    }

    /// How often records were lost because the receive buffer was full.
    pub(crate) const fn lost(&self) -> u64 {
        self.sums.lost
    }

    /// Takes the records that wait. To be called after the messages of the connector were taken, so
    /// that each end told there has its records here.
    pub(crate) fn drain(&mut self) -> Result<(), Error> {
        for _ in 0..RECORDS_MAX {
            let sums = &mut self.sums;
            let taken = self.taskstats.receive(|thread| sums.add(&thread));
            match taken.map_err(failed)? {
                Taken::Nothing => return Ok(()),
                Taken::Overrun => self.sums.lose(),
                Taken::Messages(_) if self.sums.by_process.len() >= RECORDS_MAX => return Ok(()),
                Taken::Messages(_) => {}
            }
        }
        Ok(())
    }

    /// Gives the ends among `events` their values, and a name to programs whose process was gone
    /// before its command line could be read.
    pub(super) fn complete(&mut self, events: &mut [Event]) {
        self.sums.name(events);
        for event in events {
            if let Event::Exit {
                pid, own, peaks, ..
            } = event
                && let Some((counters, memory)) = self.sums.take(*pid)
            {
                *own = Some(Box::new(counters));
                *peaks = Some(memory);
            }
        }
    }

    /// What a process that is told to have ended had last; it is forgotten here.
    pub(crate) fn end(&mut self, pid: u32) -> Option<Last> {
        self.sums.end(pid)
    }

    /// The name of a process whose main thread has ended.
    pub(crate) fn name_of(&self, pid: u32) -> Option<&[u8]> {
        let sum = self.sums.by_process.get(&pid)?;
        sum.name.as_deref()
    }

    /// Forgets what is not of the task, whose living processes are `alive`.
    pub(crate) fn keep(&mut self, alive: impl Iterator<Item = u32>) {
        self.sums.keep(alive.collect());
    }
}

fn failed(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

/// What an ended process had last.
#[derive(Debug, Default)]
pub(crate) struct Last {
    /// The name of its main thread, if that was told.
    pub(crate) name: Option<Vec<u8>>,
    /// Its real user id.
    pub(crate) uid: u32,
    /// Its parent process.
    pub(crate) parent: u32,
    /// What it had used; nothing if a record of its threads may be lost.
    pub(crate) counters: Counters,
    /// Its memory peaks, likewise.
    pub(crate) peaks: MemoryPeaks,
}

/// The ended threads of one process.
#[derive(Debug)]
struct Sum {
    uid: u32,
    parent: u32,
    counters: Counters,
    peaks: MemoryPeaks,
    /// The name of the main thread, once that has ended.
    name: Option<Vec<u8>>,
    /// The round in which it began.
    round: u64,
}

/// The records of the processes that have ended in part.
#[derive(Debug, Default)]
struct Sums {
    by_process: HashMap<u32, Sum>,
    /// Counts the calls of [`Sums::keep`].
    round: u64,
    /// Records were lost since the last [`Sums::keep`].
    overrun: bool,
    /// How often records were lost.
    lost: u64,
    /// Living processes of which a thread's record may be lost.
    doubtful: HashSet<u32>,
}

impl Sums {
    fn add(&mut self, thread: &ThreadUse) {
        // A thread that does not name its process leaves that process without values, see `take`.
        let process = thread.process.unwrap_or(thread.tid);
        let (counters, peaks) = values(thread);
        if thread.process.is_none() {
            self.doubtful.insert(process);
        }
        let round = self.round;
        let name = thread.name.iter().copied().take_while(|byte| *byte != 0);
        let name = (thread.tid == process).then(|| name.collect());
        if let Some(sum) = self.by_process.get_mut(&process) {
            // The last one: a main thread ends too where another thread executes a program.
            sum.name = name.or_else(|| sum.name.take());
            super::ptrace::add(&mut sum.counters, &counters);
            sum.peaks.rss = sum.peaks.rss.max(peaks.rss);
            sum.peaks.virtual_size = sum.peaks.virtual_size.max(peaks.virtual_size);
            (sum.uid, sum.parent) = (thread.uid, thread.parent);
        } else {
            let sum = Sum {
                uid: thread.uid,
                parent: thread.parent,
                counters,
                peaks,
                name,
                round,
            };
            self.by_process.insert(process, sum);
        }
    }

    /// The last program of a process goes by the process's name where nothing else is known of it.
    fn name(&self, events: &mut [Event]) {
        let mut seen = HashSet::new();
        for event in events.iter_mut().rev() {
            if let Event::Exec {
                pid, command, path, ..
            } = event
                && seen.insert(*pid)
                && command.is_empty()
                && path.is_none()
                && let Some(sum) = self.by_process.get(pid)
            {
                *path = sum.name.clone().filter(|name| !name.is_empty());
            }
        }
    }

    fn lose(&mut self) {
        self.overrun = true;
        self.lost = self.lost.saturating_add(1);
    }

    fn take(&mut self, process: u32) -> Option<(Counters, MemoryPeaks)> {
        let (sum, whole) = self.remove(process)?;
        whole.then_some((sum.counters, sum.peaks))
    }

    fn end(&mut self, process: u32) -> Option<Last> {
        let (sum, whole) = self.remove(process)?;
        let values = whole.then_some((sum.counters, sum.peaks));
        let (counters, peaks) = values.unwrap_or_default();
        Some(Last {
            name: sum.name,
            uid: sum.uid,
            parent: sum.parent,
            counters,
            peaks,
        })
    }

    /// The sum, and whether no record of it may be lost.
    fn remove(&mut self, process: u32) -> Option<(Sum, bool)> {
        let sum = self.by_process.remove(&process);
        let doubtful = self.doubtful.remove(&process);
        Some((sum?, !doubtful && !self.overrun))
    }

    /// A process that began and ended since the connector was read is known there in the next round
    /// only.
    fn keep(&mut self, alive: HashSet<u32>) {
        let round = self.round;
        self.round += 1;
        self.by_process
            .retain(|process, sum| sum.round == round || alive.contains(process));
        if std::mem::take(&mut self.overrun) {
            self.doubtful = alive;
        } else {
            self.doubtful.retain(|process| alive.contains(process));
        }
    }
}

/// A record in our units. Without delay accounting `io_wait` would be a zero that means nothing, so
/// it is left out, as are the user and system parts of the CPU time, which come in steps of a tick,
/// and what is read and written by calls, which the kernel tells in whole 1024s.
fn values(thread: &ThreadUse) -> (Counters, MemoryPeaks) {
    let counters = Counters {
        cpu: Some(Nanos(thread.cpu_ns)),
        cpu_wait: Some(Nanos(thread.cpu_wait_ns)),
        faults_minor: Some(thread.faults_minor),
        faults_major: Some(thread.faults_major),
        switches_voluntary: Some(thread.switches_voluntary),
        switches_involuntary: Some(thread.switches_involuntary),
        disk_read: Some(Bytes(thread.disk_read_bytes)),
        disk_written: Some(Bytes(thread.disk_written_bytes)),
        disk_cancelled: Some(Bytes(thread.disk_cancelled_bytes)),
        ..Counters::default()
    };
    let memory = |bytes| Some(Bytes(bytes)).filter(|bytes| bytes.0 > 0);
    let peaks = MemoryPeaks {
        rss: memory(thread.rss_peak_bytes),
        virtual_size: memory(thread.virtual_peak_bytes),
        anon_at_end: None,
    };
    (counters, peaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: u32, process: Option<u32>, cpu_ns: u64) -> ThreadUse {
        ThreadUse {
            tid,
            process,
            cpu_ns,
            rss_peak_bytes: cpu_ns,
            ..ThreadUse::default()
        }
    }

    #[test]
    fn threads_are_summed_and_the_highest_memory_is_kept() {
        let mut sums = Sums::default();
        sums.add(&thread(8, Some(7), 20));
        sums.add(&thread(7, Some(7), 3));
        let (counters, peaks) = sums.take(7).unwrap();
        assert_eq!(
            (counters.cpu, peaks.rss),
            (Some(Nanos(23)), Some(Bytes(20)))
        );
        assert!(sums.take(7).is_none());
    }

    #[test]
    fn a_process_that_the_connector_tells_of_later_is_kept_one_round() {
        let mut sums = Sums::default();
        for process in [7, 8] {
            sums.add(&thread(process, Some(process), 3));
        }
        sums.keep(HashSet::new());
        assert!(sums.take(7).is_some());
        sums.keep(HashSet::new());
        assert!(sums.take(8).is_none());
    }

    #[test]
    fn the_last_program_without_a_command_line_goes_by_the_name_of_its_process() {
        let mut sums = Sums::default();
        let mut main = thread(7, Some(7), 3);
        main.name[..4].copy_from_slice(b"true");
        let mut worker = thread(8, Some(7), 3);
        worker.name[..4].copy_from_slice(b"pool");
        sums.add(&worker);
        sums.add(&main);
        let exec = |pid, command: &[u8]| Event::Exec {
            at: Nanos(1),
            pid,
            command: command.to_vec(),
            truncated: false,
            path: None,
            former: None,
        };
        let mut events = [exec(7, b""), exec(7, b""), exec(7, b"sh"), exec(9, b"")];
        sums.name(&mut events[..2]);
        sums.name(&mut events[2..]);
        let paths = events.map(|event| match event {
            Event::Exec { path, .. } => path,
            _ => None,
        });
        assert_eq!(paths, [None, Some(b"true".to_vec()), None, None]);
    }

    #[test]
    fn after_a_loss_nobody_alive_has_values() {
        let mut sums = Sums::default();
        sums.add(&thread(7, Some(7), 3));
        sums.lose();
        assert!(sums.take(7).is_none() && sums.lost == 1);
        sums.keep(HashSet::from([9]));
        sums.add(&thread(9, Some(9), 3));
        sums.add(&thread(10, Some(10), 3));
        assert!(sums.take(9).is_none() && sums.take(10).is_some());
    }

    #[test]
    fn who_has_no_values_has_a_name_and_a_user() {
        let mut sums = Sums::default();
        let mut main = thread(7, Some(7), 3);
        main.name[..3].copy_from_slice(b"cc1");
        (main.uid, main.parent) = (5, 4);
        sums.add(&main);
        sums.lose();
        let last = sums.end(7).unwrap();
        assert_eq!(
            (last.name.as_deref(), last.uid, last.parent),
            (Some(&b"cc1"[..]), 5, 4)
        );
        assert_eq!((last.counters, last.peaks), Default::default());
        assert!(sums.end(7).is_none());
    }

    #[test]
    fn a_record_without_its_process_gives_no_values() {
        let mut sums = Sums::default();
        sums.add(&thread(7, None, 3));
        assert!(sums.take(7).is_none());
    }
}
