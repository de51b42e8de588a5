//! The tracing thread: what it does at every stop of a traced thread.

use super::values::{Files, NotAlone};
use super::{Found, Shared, values};
use crate::follow::tree::{ThreadEnd, Tree};
use crate::interpose::ptrace::{Watch, lock};
use crate::query::{proc_pid_fd, sys_kernel};
use crate::root::Root;
use record::event::Event;
use record::identity::Ending;
use record::sample::{Counters, MemoryPeaks};
use record::unit::Nanos;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use sys::kcmp;
use sys::process::Usage;
use sys::ptrace::{self, Stop};

/// A command line longer than this is cut.
const COMMAND_BYTES: usize = 4096;
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
    /// It had another thread or a child: what the kernel sums up by process is not all its own.
    shared: bool,
    peaks: Option<MemoryPeaks>,
    /// How often its threads stopped for us.
    stops: u64,
}

/// A thread that stopped before its end.
struct AtEnd {
    counters: Counters,
    /// The process never had another thread or a child.
    alone: bool,
}

/// The state of the tracing thread.
pub(super) struct Trace {
    tree: Tree,
    /// Each traced thread's process.
    threads: HashMap<u32, u32>,
    processes: HashMap<u32, Process>,
    /// What threads had used when they stopped before their end.
    ending: HashMap<u32, AtEnd>,
    /// How many of these must be read again between their end and the wait for them.
    unfinished: usize,
    /// Tracees that were let go before their parent's stop told of them.
    early: HashSet<u32>,
    /// Tracees in their first stop, of which their parent's stop, which comes at once, has not told
    /// yet.
    held: Vec<u32>,
    events: Vec<Event>,
    files: Files,
    root: Root,
    found: Found,
    /// Whether there can be an `io_uring`.
    io_uring: bool,
    /// Whether this kernel compares processes that execute a program without waiting for that.
    compares_freely: bool,
    /// What counts calls on files.
    watch: Option<Arc<Mutex<Watch>>>,
    shared: Arc<Shared>,
}

impl Trace {
    /// The trace of a task that so far is `root`, one thread.
    pub(super) fn new(proc: &Path, root: u32, adopter: u32, shared: Arc<Shared>) -> Self {
        let mut files = Files::new(proc);
        let known = values::start(&mut files, root);
        let at = known.unwrap_or(Nanos(sys::clock::boot()));
        let mut trace = Self {
            // Forks are told with the process that forked, so nothing is known by its adopter.
            tree: Tree::new(root, 0, at),
            threads: HashMap::from([(root, root)]),
            processes: HashMap::from([(root, Process::one_thread())]),
            ending: HashMap::new(),
            unfinished: 0,
            early: HashSet::new(),
            held: Vec::new(),
            events: Vec::new(),
            files,
            root: Root::default(),
            found: Found::default(),
            io_uring: proc_pid_fd::io_uring_is_possible(&Root::default()),
            compares_freely: compares_freely(&Root::default()),
            watch: None,
            shared,
        };
        trace.events.push(Event::Fork {
            at,
            parent: Some(adopter),
            pid: root,
            start: known,
            memory_of: None,
        });
        trace
    }

    /// With calls on files counted by `watch`.
    pub(super) fn with(mut self, watch: Option<Arc<Mutex<Watch>>>) -> Self {
        self.watch = watch;
        self
    }

    /// Traces until nothing is left to trace, or until told to let go: the end of this thread
    /// detaches all.
    pub(super) fn run(mut self) {
        let failure = loop {
            let counts = self.tree.counts();
            self.shared.push(&mut self.events, counts, self.found);
            if self.shared.detach.load(Ordering::Relaxed) {
                break None;
            }
            let files = &mut self.files;
            let mut run_time = None;
            let next = match self.unfinished {
                0 => ptrace::next(),
                _ => ptrace::next_readable(|tid| run_time = values::run_time(files, tid)),
            };
            match next {
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
        let known = self.threads.contains_key(&tid);
        // A task that nobody traces stops with its group too, and is gone without a stop.
        if known && !matches!(stop, Stop::Group | Stop::Gone { .. }) {
            self.stopped(tid);
        }
        match stop {
            Stop::Fork(child) => self.fork(at, tid, child),
            // The kernel reports the youngest first: run on, it would keep its parent waiting.
            Stop::Event if !known => return self.held.push(tid),
            Stop::Event => {}
            Stop::Call => return self.call(at, tid),
            Stop::Return => self.call_returned(at, tid),
            Stop::Exec => self.exec(at, tid),
            Stop::Exit => self.before_end(tid),
            Stop::Signal(number) => signal = number,
            Stop::Gone { status, usage } => {
                self.release(at);
                return self.gone(at, tid, status, run_time, &usage);
            }
            Stop::Group => {
                // It fails only for a tracee that was killed meanwhile; its end comes next.
                let _ = ptrace::listen(tid);
                return;
            }
        }
        // As above.
        let _ = ptrace::resume(tid, signal);
    }

    /// The kernel counts each stop of a thread as a voluntary switch.
    fn stopped(&mut self, tid: u32) {
        self.found.stops += 1;
        let process = self.threads.get(&tid);
        if let Some(process) = process.and_then(|pid| self.processes.get_mut(pid)) {
            process.stops += 1;
            self.found.stops_living += 1;
        }
    }

    /// What counts calls on files, with the process of a thread.
    fn watch(&self, tid: u32) -> Option<(MutexGuard<'_, Watch>, u32)> {
        let pid = self.threads.get(&tid).copied().unwrap_or(tid);
        self.watch.as_deref().map(|watch| (lock(watch), pid))
    }

    fn call(&self, at: Nanos, tid: u32) {
        let wanted = self.watch(tid).is_some_and(|(mut watch, pid)| {
            ptrace::entered(tid).is_some_and(|call| watch.entered(pid, tid, &call, at))
        });
        // It fails only for a tracee that was killed meanwhile; its end comes next.
        let _ = if wanted {
            ptrace::resume_to_return(tid)
        } else {
            ptrace::resume(tid, 0)
        };
    }

    fn call_returned(&self, at: Nanos, tid: u32) {
        if let Some((mut watch, pid)) = self.watch(tid)
            && let Some(result) = ptrace::returned(tid)
        {
            watch.returned(pid, tid, result, at);
        }
    }

    fn fork(&mut self, at: Nanos, tid: u32, child: u32) {
        if self.early.remove(&child) || self.threads.contains_key(&child) {
            return;
        }
        if let Some(&parent) = self.threads.get(&tid) {
            let process = if ptrace::is_thread_of(parent, child) {
                parent
            } else {
                child
            };
            self.admit(at, parent, process, (child, tid));
        }
        if let Some(index) = self.held.iter().position(|held| *held == child) {
            self.held.swap_remove(index);
            self.stopped(child);
            // It fails only for a tracee that was killed meanwhile; its end comes next.
            let _ = ptrace::resume(child, 0);
        }
    }

    /// Someone is gone, or became another program: a parent that was killed at its fork never tells
    /// of the child.
    fn release(&mut self, at: Nanos) {
        for tid in std::mem::take(&mut self.held) {
            self.adopt(at, tid);
            self.stopped(tid);
            // As above.
            let _ = ptrace::resume(tid, 0);
        }
    }

    /// A tracee nobody told of yet: its parent's stop comes later, or never if its parent was
    /// killed.
    fn adopt(&mut self, at: Nanos, tid: u32) {
        let Some((process, parent)) = values::relations(&mut self.files, tid) else {
            return;
        };
        if self.early.len() < EARLY_MAX {
            self.early.insert(tid);
        }
        self.admit(at, parent, process, (tid, parent));
    }

    /// A new thread `tid` of `process`, which a thread `creator` of `parent` has made.
    fn admit(&mut self, at: Nanos, parent: u32, process: u32, (tid, creator): (u32, u32)) {
        if let Some((mut watch, _)) = self.watch(tid) {
            watch.forked(parent, process, tid);
        }
        self.threads.insert(tid, process);
        if process != tid {
            self.tree.thread(at, process);
            let process = self.processes.entry(process).or_default();
            process.running += 1;
            process.shared = true;
            return;
        }
        if let Some(parent) = self.processes.get_mut(&parent) {
            parent.shared = true;
        }
        self.processes.insert(process, Process::one_thread());
        if self.tree.join(at, parent, process) {
            // It is stopped since its start, or a moment behind it.
            let shares =
                self.may_compare(parent) && kcmp::share_memory(creator, tid).unwrap_or(false);
            self.events.push(Event::Fork {
                at,
                parent: Some(parent),
                pid: process,
                start: None,
                memory_of: shares.then_some(parent),
            });
        }
    }

    /// Whether nothing of `process` can hold up a comparison: before Linux 5.11 that waits for one
    /// of its threads that executes a program, which waits for the others, which may wait for us.
    fn may_compare(&self, process: u32) -> bool {
        let alone = |process: &Process| process.running <= 1;
        self.compares_freely || self.processes.get(&process).is_some_and(alone)
    }

    /// All other threads are gone and told, but a main thread that did not call exec itself
    /// vanishes silently, and the caller goes on under its id.
    fn exec(&mut self, at: Nanos, pid: u32) {
        self.release(at);
        let alone = self
            .processes
            .get(&pid)
            .is_some_and(|process| !process.shared);
        // One that was killed meanwhile tells nothing more.
        let former = if alone {
            pid
        } else {
            ptrace::former(pid).unwrap_or(pid)
        };
        if let Some((mut watch, _)) = self.watch(pid) {
            watch.exec(pid, former, at);
        }
        if former != pid {
            self.threads.remove(&former);
            if let Some(counters) = self.take_ending(pid) {
                self.bank(pid, Some(counters.counters));
            }
        }
        self.tree.alone(pid);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.running = 1;
        }
        let text = self.files.read(pid, "cmdline").unwrap_or_default();
        let truncated = text.len() > COMMAND_BYTES;
        let mut command = text.get(..COMMAND_BYTES).unwrap_or(text).to_vec();
        if command.last() == Some(&0) {
            command.pop();
        }
        // Only for a program without a name: every file read here is time of the task.
        let path = command.is_empty().then(|| self.root.process(pid, "exe"));
        let path = path.and_then(|path| std::fs::read_link(path).ok());
        self.events.push(Event::Exec {
            at,
            pid,
            command,
            truncated,
            path: path.map(|path| path.into_os_string().into_encoded_bytes()),
            former: None,
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
        let files = &mut self.files;
        let unshared = (!process.shared).then_some(());
        let of_process = unshared.and_then(|()| {
            let read = values::read_alone(files, tid);
            self.found.untraced |= matches!(read, Err(NotAlone::Untraced));
            read.ok()
        });
        let alone = of_process.is_some();
        let (counters, peaks) = of_process.unwrap_or_else(|| values::read(files, tid));
        process.running = process.running.saturating_sub(1);
        if process.running == 0 {
            process.peaks = peaks;
            // Its files are still open at this stop.
            if self.io_uring && proc_pid_fd::holds_io_uring(&self.root, tid) == Some(true) {
                self.found.io_uring_tasks += 1;
            }
        }
        let last = process.running == 0;
        if let Some(&pid) = self.threads.get(&tid).filter(|_| !last) {
            self.tree.thread_ending(pid);
        }
        if let Some((mut watch, pid)) = self.watch(tid) {
            watch.ending(pid, tid, last);
        }
        self.unfinished += usize::from(!alone);
        self.ending.insert(tid, AtEnd { counters, alone });
    }

    fn take_ending(&mut self, tid: u32) -> Option<AtEnd> {
        let ending = self.ending.remove(&tid)?;
        self.unfinished -= usize::from(!ending.alone);
        Some(ending)
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

    fn gone(&mut self, at: Nanos, tid: u32, status: u32, run_time: Option<Nanos>, usage: &Usage) {
        let counters = self.take_ending(tid).map(|ending| {
            let mut counters = ending.counters;
            if ending.alone {
                values::alone_at_end(&mut counters, usage);
            } else {
                // Its end itself takes CPU time too.
                counters.cpu = counters
                    .cpu
                    .max(run_time.filter(|_| counters.cpu.is_some()));
            }
            counters
        });
        if let Some((mut watch, pid)) = self.watch(tid) {
            watch.thread_gone(pid, tid);
        }
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
        if let Some((mut watch, _)) = self.watch(pid) {
            watch.process_gone(pid);
        }
        let process = self.processes.remove(&pid).unwrap_or_default();
        self.found.stops_living -= process.stops;
        let mut own = process.ended.filter(|_| !process.incomplete);
        if let Some(switches) = own.as_mut().and_then(|own| own.switches_voluntary.as_mut()) {
            *switches = switches.saturating_sub(process.stops);
        }
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

/// Whether `kcmp` does without the lock of an exec: since Linux 5.11.
fn compares_freely(root: &Root) -> bool {
    let release = sys_kernel::read(root, "osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|it| it.parse().ok());
    let version: (Option<u32>, Option<u32>) = (numbers.next(), numbers.next());
    version >= (Some(5), Some(11))
}

impl Process {
    fn one_thread() -> Self {
        Self {
            running: 1,
            ..Self::default()
        }
    }
}
