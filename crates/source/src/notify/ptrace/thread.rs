//! The tracing thread: what it does at every stop of a traced thread.

use super::{Shared, values};
use crate::follow::procfs;
use crate::follow::tree::{ThreadEnd, Tree};
use crate::query::proc_pid_fd;
use crate::root::Root;
use record::event::Event;
use record::identity::Ending;
use record::sample::{Counters, MemoryPeaks};
use record::unit::Nanos;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sys::ptrace::{self, Stop};

/// A command line longer than this is cut.
const COMMAND_BYTES: u64 = 4096;
/// Processes met before their parent told of them; more than that are not remembered.
const EARLY_MAX: usize = 4096;

/// A process being traced.
#[derive(Debug, Default)]
struct Process {
    /// Threads that have not stopped before their end yet.
    running: u64,
    /// The sum of the threads that have ended.
    ended: Option<Counters>,
    /// Some thread ended without a stop, so the sum lacks it.
    incomplete: bool,
    peaks: Option<MemoryPeaks>,
}

/// The state of the tracing thread.
pub(super) struct Trace {
    proc: PathBuf,
    tree: Tree,
    /// Each traced thread's process.
    threads: HashMap<u32, u32>,
    processes: HashMap<u32, Process>,
    /// What threads had used when they stopped before their end.
    ending: HashMap<u32, Counters>,
    /// Tracees that stopped before their parent's stop told of them.
    early: HashSet<u32>,
    events: Vec<Event>,
    text: String,
    /// Processes that held an `io_uring` at their end; `None` where there can be none.
    io_uring_tasks: Option<u64>,
    shared: Arc<Shared>,
}

impl Trace {
    /// The trace of a task that so far is `root`, one thread.
    pub(super) fn new(proc: PathBuf, root: u32, adopter: u32, shared: Arc<Shared>) -> Self {
        let known = procfs::read_process(&proc, root).map(|process| process.start);
        let at = known.unwrap_or(Nanos(sys::clock::boot()));
        let mut trace = Self {
            proc,
            // Forks are told with the process that forked, so nothing is known by its adopter.
            tree: Tree::new(root, 0, at),
            threads: HashMap::from([(root, root)]),
            processes: HashMap::from([(root, Process::one_thread())]),
            ending: HashMap::new(),
            early: HashSet::new(),
            events: Vec::new(),
            text: String::new(),
            io_uring_tasks: proc_pid_fd::io_uring_is_possible(&Root::default()).then_some(0),
            shared,
        };
        trace.events.push(Event::Fork {
            at,
            parent: Some(adopter),
            pid: root,
            start: known,
        });
        trace
    }

    /// Traces until nothing is left to trace, or until told to let go: the end of this thread
    /// detaches all.
    pub(super) fn run(mut self) {
        let failure = loop {
            let counts = self.tree.counts();
            let rings = self.io_uring_tasks.unwrap_or(0);
            self.shared.push(&mut self.events, counts, rings);
            if self.shared.detach.load(Ordering::Relaxed) {
                break None;
            }
            let (proc, text) = (&self.proc, &mut self.text);
            let mut run_time = None;
            match ptrace::next(|tid| run_time = values::run_time(proc, tid, text)) {
                Ok(Some((tid, stop))) => self.handle(tid, stop, run_time),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        self.shared.finish(failure);
    }

    fn handle(&mut self, tid: u32, stop: Stop, run_time: Option<Nanos>) {
        let at = Nanos(sys::clock::boot());
        let mut signal = 0;
        match stop {
            Stop::Fork(child) => self.fork(at, tid, child),
            Stop::Event => self.adopt(at, tid),
            Stop::Exec(former) => self.exec(at, tid, former),
            Stop::Exit(_) => self.before_end(tid),
            Stop::Signal(number) => signal = number,
            Stop::Gone(status) => return self.gone(at, tid, status, run_time),
            Stop::Group => {
                // It fails only for a tracee that was killed meanwhile; its end comes next.
                let _ = ptrace::listen(tid);
                return;
            }
        }
        // As above.
        let _ = ptrace::resume(tid, signal);
    }

    fn fork(&mut self, at: Nanos, tid: u32, child: u32) {
        if self.early.remove(&child) {
            return;
        }
        if let Some(&parent) = self.threads.get(&tid) {
            let process = if ptrace::is_thread_of(parent, child) {
                parent
            } else {
                child
            };
            self.admit(at, parent, process, child);
        }
    }

    /// A tracee nobody told of yet: its parent's stop comes later, or never if its parent was
    /// killed.
    fn adopt(&mut self, at: Nanos, tid: u32) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let Some((process, parent)) = values::relations(&self.proc, tid, &mut self.text) else {
            return;
        };
        if self.early.len() < EARLY_MAX {
            self.early.insert(tid);
        }
        self.admit(at, parent, process, tid);
    }

    fn admit(&mut self, at: Nanos, parent: u32, process: u32, tid: u32) {
        self.threads.insert(tid, process);
        if process != tid {
            self.tree.thread(at, process);
            self.processes.entry(process).or_default().running += 1;
            return;
        }
        self.processes.insert(process, Process::one_thread());
        let start = procfs::read_process(&self.proc, process).map(|found| found.start);
        if self.tree.join(at, parent, process) {
            self.events.push(Event::Fork {
                at,
                parent: Some(parent),
                pid: process,
                start,
            });
        }
    }

    /// All other threads are gone and told, but a main thread that did not call exec itself
    /// vanishes silently, and
    /// the caller goes on under its id.
    fn exec(&mut self, at: Nanos, pid: u32, former: u32) {
        if former != pid {
            self.threads.remove(&former);
            if let Some(counters) = self.ending.remove(&pid) {
                self.bank(pid, Some(counters));
            }
        }
        self.tree.alone(pid);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.running = 1;
        }
        let folder = self.proc.join(pid.to_string());
        let mut command = Vec::with_capacity(256);
        let file = File::open(folder.join("cmdline"));
        if file
            .and_then(|file| file.take(COMMAND_BYTES).read_to_end(&mut command))
            .is_err()
        {
            command.clear();
        }
        let truncated = command.len() as u64 == COMMAND_BYTES;
        if command.last() == Some(&0) {
            command.pop();
        }
        let path = std::fs::read_link(folder.join("exe")).ok();
        self.events.push(Event::Exec {
            at,
            pid,
            command,
            truncated,
            path: path.map(|path| path.into_os_string().into_encoded_bytes()),
        });
    }

    /// The memory of a process is read at the stop of its last thread.
    fn before_end(&mut self, tid: u32) {
        let Some(process) = self
            .threads
            .get(&tid)
            .and_then(|pid| self.processes.get_mut(pid))
        else {
            return;
        };
        let (counters, peaks) = values::read(&self.proc, tid, &mut self.text);
        process.running = process.running.saturating_sub(1);
        if process.running == 0 {
            process.peaks = peaks;
            // Its files are still open at this stop.
            if let Some(tasks) = &mut self.io_uring_tasks
                && proc_pid_fd::read(&Root::default(), tid).is_ok_and(|seen| seen.io_urings > 0)
            {
                *tasks += 1;
            }
        }
        self.ending.insert(tid, counters);
    }

    /// Adds what a thread of `pid` had used.
    fn bank(&mut self, pid: u32, counters: Option<Counters>) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        match (&mut process.ended, counters) {
            (_, None) => process.incomplete = true,
            (Some(sum), Some(counters)) => values::add(sum, &counters),
            (ended, counters) => *ended = counters,
        }
    }

    fn gone(&mut self, at: Nanos, tid: u32, status: u32, run_time: Option<Nanos>) {
        let counters = self.ending.remove(&tid).map(|mut counters| {
            // Its end itself takes CPU time too.
            counters.cpu = counters
                .cpu
                .map(|cpu| run_time.map_or(cpu, |all| all.max(cpu)));
            counters
        });
        let Some(pid) = self.threads.remove(&tid) else {
            return;
        };
        if counters.is_none()
            && let Some(process) = self.processes.get_mut(&pid)
        {
            process.running = process.running.saturating_sub(1);
        }
        self.bank(pid, counters);
        let end = ThreadEnd {
            at,
            process: pid,
            thread: tid,
            status,
            reaped: false,
        };
        if self.tree.thread_exit(end).is_none() {
            return;
        }
        let process = self.processes.remove(&pid).unwrap_or_default();
        let own = process.ended.filter(|_| !process.incomplete);
        self.events.push(Event::Exit {
            at,
            pid,
            // The main thread's end comes last and carries the status of the process.
            ending: Some(Ending::from_wait_status(status)),
            own: own.map(Box::new),
            peaks: process.peaks,
        });
    }
}

impl Process {
    fn one_thread() -> Self {
        Self {
            running: 1,
            ..Self::default()
        }
    }
}
