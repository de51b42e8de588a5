//! One task followed in the kernel, its raw events turned into records.

use super::{NAME, unusable};
use crate::error::Error;
use crate::follow::tree::Counts;
use crate::interpose::bpf::{Calls, Files, ROWS_MAX};
use crate::query::{proc_self_auxv, sys_cpu};
use crate::root::Root;
use record::event::{Event, Former};
use record::identity::Ending;
use record::sample::{Counters, MemoryPeaks};
use record::unit::{Bytes, Nanos};
use std::os::fd::{AsFd, BorrowedFd};
use sys::bpf::{
    ExitCounters, FileOptions, Followed, RawEvent, RssPeak, RunTotals, Sender, TaskPrograms,
};
use sys::edge::Edge;

/// How often to read while events come, where we are woken once half of the ring is full: a waking
/// finds code and data cold.
const PERIOD: Nanos = Nanos::from_millis(100);
/// The same where nobody wakes us: the ring, a MiB for two processors, holds what some fifteen
/// hundred processes tell from birth to end, more than these can bring forth meanwhile.
const PERIOD_UNWATCHED: Nanos = Nanos::from_millis(50);
/// After so many readings in a row that found nothing the reader sleeps.
const QUIET_MAX: u32 = 3;
/// Where to count is far, it is done so often while events come, and while none do.
const COUNTED_EVERY: Nanos = Nanos::from_millis(50);
const COUNTED_EVERY_QUIET: Nanos = Nanos::from_millis(250);

/// One task, followed by the in-kernel programs.
#[derive(Debug)]
pub struct Bpf {
    run: Box<dyn Followed>,
    /// We were woken, as half of the ring is full.
    edge: Option<Edge>,
    name: &'static str,
    root: Option<Event>,
    root_pid: u32,
    /// How long the root had waited for a CPU when it became the command, once that is known.
    waited_before: Option<Nanos>,
    threads: (u64, Nanos),
    processes: (u64, Nanos),
    /// Who sent the root the signal that it ended by.
    sender: Option<Sender>,
    /// Readings in a row that found no event.
    quiet: u32,
    /// What may be missing in a resident set that the kernel noted, bytes.
    held_back: Option<u64>,
    /// When the totals were last asked for, where they are far.
    counted_at: Nanos,
    /// Who lends the programs is gone.
    gone: Option<Error>,
    ended: bool,
}

impl Bpf {
    /// Finds or loads the programs.
    ///
    /// # Errors
    /// Where this user or this kernel cannot have them, in words that say what is missing.
    pub fn open() -> Result<Self, Error> {
        let run = TaskPrograms::open().and_then(|programs| programs.start_run());
        Ok(Self::of(Box::new(run.map_err(cannot)?), NAME))
    }

    pub(in crate::notify) fn of(run: Box<dyn Followed>, name: &'static str) -> Self {
        let watched = run.watch();
        Self {
            edge: watched.then(|| Edge::of(run.fd()).ok()).flatten(),
            run,
            name,
            root: None,
            root_pid: 0,
            waited_before: None,
            threads: (0, Nanos(0)),
            processes: (0, Nanos(0)),
            sender: None,
            quiet: 0,
            held_back: held_back(&Root::default()),
            counted_at: Nanos(0),
            gone: None,
            ended: false,
        }
    }

    /// The name of the mechanism.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Follows the process `root`, which must have one thread and wait for its exec, and everything
    /// it becomes. `parent` is who its fork is told to be by.
    ///
    /// # Errors
    /// The process is gone, or in eight runs already.
    pub fn follow(&mut self, root: u32, parent: u32) -> Result<(), Error> {
        let start = Nanos(self.run.add(root).map_err(broken)?);
        (self.root_pid, self.waited_before) = (root, None);
        self.root = Some(Event::Fork {
            at: start,
            parent: Some(parent),
            pid: root,
            start: Some(start),
            memory_of: None,
        });
        Ok(())
    }

    /// Counts what the task does with files, too, from now on; call it before
    /// [`Bpf::follow`]. `times`: the time that calls take as well.
    ///
    /// # Errors
    /// This kernel cannot have these programs.
    pub fn follow_files(&self, times: bool) -> Result<Files, Error> {
        let files = self.run.follow_files(FileOptions {
            rows_max: ROWS_MAX,
            times,
            from_exec: true,
            owner: None,
        });
        Ok(Files::new(files.map_err(cannot)?, times))
    }

    /// Counts the task's system calls, too, from now on.
    ///
    /// # Errors
    /// This kernel cannot have these programs.
    pub fn follow_calls(&self) -> Result<Calls, Error> {
        Ok(Calls::new(self.run.follow_calls().map_err(cannot)?))
    }

    /// Appends what happened since the last call, 16 MiB of it at most.
    ///
    /// # Errors
    /// Who lends the programs is gone; what he saw to the end is appended, and that more was lost.
    pub fn read(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        let before_all = sink.len();
        sink.extend(self.root.take());
        // Before the events: those who are counted are told then.
        self.count_if_due();
        if let Some(edge) = &self.edge {
            edge.take();
        }
        self.drain(sink);
        if self.edge.is_some() {
            self.run.watch();
        }
        self.quiet = if sink.len() > before_all {
            0
        } else {
            self.quiet.saturating_add(1)
        };
        if self.is_asleep()
            && let Err(error) = self.run.sleep()
        {
            self.lose(error);
        }
        match self.gone.take() {
            None => Ok(()),
            Some(error) => {
                // What came between the last look and the end.
                self.drain(sink);
                let at = Nanos(sys::clock::boot());
                sink.push(Event::Lost { at, count: 1 });
                Err(error)
            }
        }
    }

    fn drain(&mut self, sink: &mut Vec<Event>) {
        let (root, before) = (self.root_pid, &mut self.waited_before);
        let (held_back, sender_of_root) = (self.held_back, &mut self.sender);
        self.run.drain(&mut |event| {
            match event {
                RawEvent::Exec {
                    pid, run_delay_ns, ..
                } if pid == root => _ = before.get_or_insert(Nanos(run_delay_ns)),
                RawEvent::Exit {
                    pid,
                    sent,
                    wait_status,
                    ..
                } if pid == root => *sender_of_root = sent.ended(pid, wait_status),
                _ => {}
            }
            if let Some(mut event) = record_of(event, held_back) {
                leave_out(&mut event, root, before.unwrap_or_default());
                sink.push(event);
            }
        });
    }

    /// Who lends the programs is gone.
    fn lose(&mut self, source: sys::Error) {
        self.ended = true;
        self.gone = Some(Error::Kernel {
            mechanism: self.name,
            source,
        });
    }

    /// Asks for the totals where they are far, now and then.
    fn count_if_due(&mut self) {
        let now = Nanos(sys::clock::boot());
        let every = if self.quiet == 0 {
            COUNTED_EVERY
        } else {
            COUNTED_EVERY_QUIET
        };
        if self.run.is_far() && now.since(self.counted_at) >= every {
            self.count();
        }
    }

    /// Brings the totals up to date: once more when the task is over.
    pub fn count(&mut self) {
        self.counted_at = Nanos(sys::clock::boot());
        if !self.ended
            && let Err(error) = self.run.count()
        {
            self.lose(error);
        }
    }

    /// When to read next; nothing while an event wakes us.
    pub fn period(&self) -> Option<Nanos> {
        let period = match self.edge {
            Some(_) => PERIOD,
            None => PERIOD_UNWATCHED,
        };
        (!self.is_asleep()).then_some(period)
    }

    /// What to wait on, for no longer than the period.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self.is_asleep() {
            true => Some(self.run.fd()),
            false => self.edge.as_ref().map(AsFd::as_fd),
        }
    }

    fn is_asleep(&self) -> bool {
        self.quiet >= QUIET_MAX
    }

    /// The counts that the kernel keeps. The instants of the peaks are those of the first call
    /// that saw them.
    pub fn counts(&mut self) -> Counts {
        let totals = self.run.totals();
        let now = Nanos(sys::clock::boot());
        for (seen, peak) in [
            (&mut self.processes, totals.processes_peak),
            (&mut self.threads, totals.threads_peak),
        ] {
            if peak > seen.0 {
                *seen = (peak, now);
            }
        }
        Counts {
            processes_total: totals.processes_total,
            processes_alive: totals.processes_alive,
            processes_peak: totals.processes_peak,
            processes_peak_at: self.processes.1,
            processes_peak_least: totals.processes_peak,
            threads_alive: totals.threads_alive,
            threads_peak: totals.threads_peak,
            threads_peak_at: self.threads.1,
            threads_at_most: totals.threads_at_most,
            exact: totals.events_lost == 0 && !self.ended,
        }
    }

    /// Threads of the task that had an io_uring when they ended: what they read and wrote through
    /// it is in no counter (`task->io_uring`). Known of ended threads only.
    pub fn io_uring_tasks(&self) -> u64 {
        self.run.totals().io_uring_tasks
    }

    /// Who sent the root the signal that it ended by, if a process did.
    pub const fn sender(&self) -> Option<Sender> {
        self.sender
    }

    /// What the kernel counted, lost events included.
    pub fn totals(&self) -> RunTotals {
        self.run.totals()
    }
}

/// The root waited for a CPU before it became the command too: that is no use of the task.
fn leave_out(event: &mut Event, root: u32, before: Nanos) {
    if let Event::Exit {
        pid,
        own: Some(own),
        ..
    } = event
        && *pid == root
    {
        own.cpu_wait = own.cpu_wait.map(|wait| wait.since(before));
    }
}

/// The programs cannot be had, or not on this kernel.
pub(super) fn cannot(error: sys::Error) -> Error {
    match error {
        sys::Error::Unavailable(why) => Error::Mechanism {
            mechanism: NAME,
            why: unusable(why).1,
        },
        source => broken(source),
    }
}

fn broken(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

/// Each CPU holds pages back, up to a batch of each of three kinds, before it adds them to the
/// counters of a memory; they are added up for a reader, but not for `signal->maxrss`
/// (lib/percpu_counter.c).
fn held_back(root: &Root) -> Option<u64> {
    let page_bytes = proc_self_auxv::read(root).ok()?;
    let cpus = sys_cpu::read_online(root).ok()?;
    let batch = cpus.saturating_mul(2).max(32);
    Some(cpus.saturating_mul(batch).saturating_mul(3 * page_bytes))
}

/// The record of one raw event that concerns a process.
fn record_of(event: RawEvent<'_>, held_back: Option<u64>) -> Option<Event> {
    Some(match event {
        RawEvent::Fork {
            at_ns,
            pid,
            start_ns,
            parent,
            memory_of,
        } => Event::Fork {
            at: Nanos(at_ns),
            parent: Some(parent),
            pid,
            start: Some(Nanos(start_ns)),
            memory_of,
        },
        RawEvent::Exec {
            at_ns,
            pid,
            command,
            truncated,
            path,
            maxrss_bytes,
            faults,
            ..
        } => Event::Exec {
            at: Nanos(at_ns),
            pid,
            command: command.to_vec(),
            truncated,
            path: (command.is_empty() && !path.is_empty()).then(|| path.to_vec()),
            former: held_back.map(|more| Former {
                rss_most: Bytes(maxrss_bytes.saturating_add(more)),
                faults,
            }),
        },
        RawEvent::Exit {
            at_ns,
            pid,
            wait_status,
            own,
            rss_peak,
            vm_peak_bytes,
            anon_bytes,
            ..
        } => Event::Exit {
            at: Nanos(at_ns),
            pid,
            ending: Some(Ending::from_wait_status(wait_status)),
            own: Some(Box::new(counters(&own))),
            peaks: Some(peaks(rss_peak, vm_peak_bytes, anon_bytes)),
        },
        RawEvent::Final {
            pid,
            start_ns,
            cpu_ns,
        } => Event::Final {
            pid,
            start: Some(Nanos(start_ns)),
            cpu_ns: Nanos(cpu_ns),
        },
        RawEvent::Lost { at_ns, count } => Event::Lost {
            at: Nanos(at_ns),
            count,
        },
        RawEvent::Group { .. } | RawEvent::Arguments { .. } => return None,
    })
}

/// The memory peaks of a process that ended, in bytes.
pub(super) fn peaks(rss: RssPeak, vm_bytes: Option<u64>, anon_bytes: Option<u64>) -> MemoryPeaks {
    MemoryPeaks {
        rss: known(rss),
        virtual_size: vm_bytes.map(Bytes),
        anon_at_end: anon_bytes.map(Bytes),
    }
}

/// An upper bound that holds the image before the exec says nothing about the program: no peak
/// then.
fn known(peak: RssPeak) -> Option<Bytes> {
    match peak {
        RssPeak::OfProgram(bytes) => Some(Bytes(bytes)),
        RssPeak::UpperBound(_) => None,
    }
}

pub(super) fn counters(own: &ExitCounters) -> Counters {
    Counters {
        cpu: Some(Nanos(own.cpu_ns)),
        cpu_user: Some(Nanos(own.cpu_user_ns)),
        cpu_system: Some(Nanos(own.cpu_system_ns)),
        // What is told at the end has no more than this.
        cpu_guest: None,
        cpu_wait: own.run_delay_ns.map(Nanos),
        io_wait: own.blkio_delay_ns.map(Nanos),
        faults_minor: Some(own.minflt),
        faults_major: Some(own.majflt),
        switches_voluntary: Some(own.nvcsw),
        switches_involuntary: Some(own.nivcsw),
        bytes_read: own.io.map(|io| Bytes(io.rchar_bytes)),
        bytes_written: own.io.map(|io| Bytes(io.wchar_bytes)),
        reads: own.io.map(|io| io.syscr),
        writes: own.io.map(|io| io.syscw),
        disk_read: own.io.map(|io| Bytes(io.read_bytes)),
        disk_written: own.io.map(|io| Bytes(io.write_bytes)),
        disk_cancelled: own.io.map(|io| Bytes(io.cancelled_write_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use sys::bpf::Sent;
    use sys::descriptor::{self, Waiting};

    #[test]
    fn what_the_kernel_does_not_count_is_absent() {
        let event = RawEvent::Exit {
            at_ns: 5,
            pid: 7,
            start_ns: 1,
            wait_status: 9,
            own: ExitCounters {
                cpu_ns: 3,
                ..ExitCounters::default()
            },
            rss_peak: RssPeak::UpperBound(4096),
            vm_peak_bytes: None,
            anon_bytes: None,
            parent: 1,
            uid: 0,
            comm: b"x",
            sent: Sent::default(),
            groups: [0; 3],
        };
        let Some(Event::Exit {
            own, peaks, ending, ..
        }) = record_of(event, None)
        else {
            panic!("no exit");
        };
        let own = own.unwrap();
        assert_eq!(own.cpu, Some(Nanos(3)));
        assert_eq!((own.reads, own.cpu_wait, own.io_wait), (None, None, None));
        assert_eq!(peaks, Some(MemoryPeaks::default()));
        assert_eq!(ending, Some(Ending::Signal(9)));
    }

    fn exec(command: &'static [u8]) -> RawEvent<'static> {
        RawEvent::Exec {
            at_ns: 5,
            pid: 7,
            start_ns: 1,
            command,
            truncated: false,
            full_bytes: 0,
            path: b"/x",
            run_delay_ns: 0,
            maxrss_bytes: 1000,
            faults: 9,
            groups: [0; 3],
        }
    }

    #[test]
    fn the_path_stands_in_for_a_command_line() {
        let path = |command| match record_of(exec(command), None) {
            Some(Event::Exec { path, .. }) => path,
            other => panic!("{other:?}"),
        };
        assert_eq!(path(b""), Some(b"/x".to_vec()));
        assert_eq!(path(b"a\0"), None);
    }

    #[test]
    fn what_cpus_hold_back_is_added_to_the_former_memory() {
        let former = |held_back| match record_of(exec(b"a\0"), held_back) {
            Some(Event::Exec { former, .. }) => former,
            other => panic!("{other:?}"),
        };
        let told = Former {
            rss_most: Bytes(1300),
            faults: 9,
        };
        assert_eq!(former(Some(300)), Some(told));
        assert_eq!(former(None), None, "nobody knows how much it is");
        let here = held_back(&Root::default()).unwrap();
        assert!(here >= 3 * 32 * 4096, "{here}");
    }

    #[test]
    fn what_the_root_waited_before_the_command_is_left_out() {
        let exit = |pid| Event::Exit {
            at: Nanos(5),
            pid,
            ending: None,
            own: Some(Box::new(Counters {
                cpu_wait: Some(Nanos(10)),
                ..Counters::default()
            })),
            peaks: None,
        };
        let wait = |mut event| {
            leave_out(&mut event, 7, Nanos(4));
            let Event::Exit { own, .. } = event else {
                panic!("no exit");
            };
            own.unwrap().cpu_wait
        };
        assert_eq!(wait(exit(7)), Some(Nanos(6)));
        assert_eq!(wait(exit(8)), Some(Nanos(10)));
    }

    #[test]
    fn bpf_root_a_task_is_told_from_its_fork_to_its_final_value() {
        let mut bpf = match Bpf::open() {
            Ok(bpf) => bpf,
            Err(error) => return println!("skipped: {error}"),
        };
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read go; exec /bin/true"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        bpf.follow(pid, std::process::id()).unwrap();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(child.wait().unwrap().success());
        let mut events = Vec::new();
        while !matches!(events.last(), Some(Event::Final { .. })) {
            bpf.read(&mut events).unwrap();
        }
        let [Event::Fork { start, .. }, .., exec, exit, last] = &events[..] else {
            panic!("{events:?}");
        };
        assert!(matches!(exec, Event::Exec { command, path: None, .. }
            if command == b"/bin/true\0"));
        assert!(matches!(
            exit,
            Event::Exit {
                ending: Some(Ending::Code(0)),
                ..
            }
        ));
        assert!(matches!(last, Event::Final { start: s, .. } if s == start));
        let counts = bpf.counts();
        assert_eq!((counts.processes_total, counts.processes_alive), (1, 0));
        assert!(counts.exact && counts.threads_peak == 1);
    }

    #[test]
    fn bpf_root_half_a_full_ring_wakes_us() {
        let mut bpf = match Bpf::open() {
            Ok(bpf) => bpf,
            Err(error) => return println!("skipped: {error}"),
        };
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read go; while :; do (:); done"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        bpf.follow(child.id(), std::process::id()).unwrap();
        let mut events = Vec::new();
        bpf.read(&mut events).unwrap();
        let is_ready = |bpf: &Bpf, timeout_ns| {
            let waiting = Waiting {
                fd: bpf.fd(),
                exceptional: false,
            };
            descriptor::poll(&[waiting], Some(timeout_ns)).unwrap()[0]
        };
        assert!(bpf.period().is_some() && !is_ready(&bpf, 0));
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let woken = is_ready(&bpf, 60_000_000_000);
        child.kill().unwrap();
        child.wait().unwrap();
        bpf.read(&mut events).unwrap();
        assert!(woken && events.len() > 500, "{}", events.len());
        assert!(!is_ready(&bpf, 0), "one waking was taken note of");
        let is_lost = |event: &Event| matches!(event, Event::Lost { .. });
        assert!(!events.iter().any(is_lost));
    }
}
