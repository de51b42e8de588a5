//! One process from its fork to its end, as far as it was seen.

use crate::ceiling::Ceiling;
use crate::counters::{self, FIELDS};
use crate::growth::Growth;
use crate::held::Held;
use crate::resident::{Resident, Seen};
use crate::spent::{Highest, Spent};
use record::event::Former;
use record::identity::Ending;
use record::report::Process;
use record::sample::{Counters, Memory, MemoryPeaks, ProcessSample};
use record::unit::Nanos;
use record::value::Method;
use std::sync::{Arc, LazyLock};

/// A program maps this much of files in its first moment.
const LIBRARIES: u64 = 4 << 20;

/// The resident set of a process, bytes: what is no file's, and all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mix {
    own: u64,
    all: u64,
}

impl Mix {
    /// Whether the growth to `peak` is likely memory of its own: it is more than the libraries that
    /// a program maps at its start, and most of what was seen was no file.
    pub(crate) const fn grew_by_itself(self, peak: u64) -> bool {
        peak.saturating_sub(self.all) > LIBRARIES && self.own >= self.all / 2
    }
}

/// Earlier command lines kept a process.
const EARLIER_MAX: usize = 16;

/// A child that has not executed a program this long after its fork lives by itself.
const BORROWS_FOR: Nanos = Nanos::from_millis(50);

/// The last time a process was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// When the pass began.
    pub(crate) at: Nanos,
    /// Used by itself.
    pub(crate) own: Counters,
    /// Used by itself and its waited-for children.
    pub(crate) with_children: Counters,
    /// Its memory; empty for a zombie.
    pub(crate) memory: Memory,
}

/// One process.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) pid: u32,
    pub(crate) parent: Option<u32>,
    pub(crate) start: Nanos,
    /// Whether a fork event told of it, or only a sample.
    pub(crate) announced: bool,
    /// Arguments separated by NUL; of the parent until the first exec.
    pub(crate) command: Arc<[u8]>,
    /// Its short name as last read.
    pub(crate) comm: Arc<[u8]>,
    pub(crate) earlier: Vec<Arc<[u8]>>,
    pub(crate) execs: u32,
    pub(crate) last: Option<Box<Reading>>,
    /// A `Final` that came before the exit.
    pub(crate) cpu_final: Option<Nanos>,
    pub(crate) rss_seen: Option<u64>,
    pub(crate) virtual_seen: Option<u64>,
    /// What none of its programs but the last had more of; nothing if nobody knows.
    former_rss: Option<u64>,
    /// The largest address space seen since the last exec.
    size_seen: Option<u64>,
    pub(crate) threads_seen: Option<u64>,
    /// Most file pages seen since the last exec.
    pub(crate) file_seen: Option<u64>,
    /// Its memory when it was last read alive.
    pub(crate) mix_seen: Option<Mix>,
    /// Its resident set, as far as it was seen.
    pub(crate) resident: Seen,
    /// Up to when the ceiling knows its address space.
    pub(crate) settled_virtual: Nanos,
    /// What it held of its own when it was last read.
    pub(crate) held: Held,
    /// Passes in a row that did not see it.
    pub(crate) missed: u32,
    pub(crate) zombie: bool,
    pub(crate) end: Option<Nanos>,
    /// Whether the end is the instant itself; else it ended at some time before.
    pub(crate) end_told: bool,
    /// Forks of its own that were told.
    pub(crate) children: u64,
    /// Of these those of whom it is not told yet what they have, at least.
    pub(crate) heirs: u64,
    /// Whether it counts as one of them.
    pub(crate) is_heir: bool,
    /// Whom it was forked from, if that one was known, and what had gone of it by then (see
    /// [`Held`]).
    pub(crate) of: Option<(u32, u64)>,
    /// The program that it runs, one number for each exec: a child without an exec has its parent's
    /// as it was then. Nothing if that is not known.
    pub(crate) image: Option<u64>,
    pub(crate) sigchld_ignored: bool,
    pub(crate) is_init: bool,
    /// When the last of its children was found to be gone.
    pub(crate) child_gone: Nanos,
    /// Page faults that it must have taken over from children by now, at least.
    pub(crate) owed: u64,
    /// Whose address space it had when it was last read, if that was not its own for certain.
    pub(crate) memory_of: Option<u32>,
    /// In whose address space it runs for certain, until an exec or an end.
    pub(crate) space_of: Option<u32>,
    /// Processes that run in its own.
    pub(crate) sharers: u64,
    pub(crate) ending: Option<Ending>,
    pub(crate) finals: Option<Box<Counters>>,
    pub(crate) peaks: MemoryPeaks,
    /// At least what it had waited for a CPU before it became the command: of the root alone.
    pub(crate) waited_before: Option<Nanos>,
    /// Whether the mechanism leaves that out of the final values itself, to the nanosecond.
    pub(crate) finals_without: bool,
}

impl Life {
    /// A process that began at `start`.
    pub(crate) fn new(pid: u32, parent: Option<u32>, start: Nanos, command: Arc<[u8]>) -> Self {
        Self {
            pid,
            parent,
            start,
            announced: false,
            command,
            comm: nothing(),
            earlier: Vec::new(),
            execs: 0,
            last: None,
            cpu_final: None,
            rss_seen: None,
            virtual_seen: None,
            former_rss: Some(0),
            size_seen: None,
            threads_seen: None,
            file_seen: None,
            mix_seen: None,
            resident: Seen::default(),
            settled_virtual: start,
            held: Held::default(),
            missed: 0,
            zombie: false,
            end: None,
            end_told: false,
            children: 0,
            heirs: 0,
            is_heir: false,
            of: None,
            image: None,
            sigchld_ignored: false,
            is_init: false,
            child_gone: Nanos(0),
            owed: 0,
            memory_of: None,
            space_of: None,
            sharers: 0,
            ending: None,
            finals: None,
            peaks: MemoryPeaks::default(),
            waited_before: None,
            finals_without: false,
        }
    }

    /// Leaves out what it waited for before it became the command.
    fn leave_out(&self, counters: &mut Counters) {
        if let Some(before) = self.waited_before {
            counters.cpu_wait = counters.cpu_wait.map(|wait| wait.since(before));
        }
    }

    /// It became another program.
    pub(crate) fn exec(&mut self, command: Arc<[u8]>) {
        if self.execs > 0 && !self.command.is_empty() && self.earlier.len() < EARLIER_MAX {
            self.earlier.push(Arc::clone(&self.command));
        }
        self.execs = self.execs.saturating_add(1);
        self.command = command;
        self.file_seen = None;
        self.mix_seen = None;
        self.size_seen = None;
    }

    /// Whether `memory` is that of another program than what was seen before: the kernel's mark of
    /// an address space never falls. While an exec gives a large memory back, which takes
    /// milliseconds, the new one is there and not told yet.
    pub(crate) fn is_renewed(&mut self, memory: &Memory) -> bool {
        let size = memory.virtual_peak.map(|size| size.0);
        let renewed = size.is_some() && size < self.size_seen;
        self.size_seen = size.or(self.size_seen);
        renewed
    }

    /// It has another memory from `at` on; nobody saw the most that it had of the one before.
    /// But for what `former` says.
    pub(crate) fn renew(
        &mut self,
        at: Nanos,
        former: Option<Former>,
        size: &mut Ceiling,
        resident: &mut Resident,
        growth: &mut Growth,
    ) {
        size.settle(self.settled_virtual, None);
        size.open(at);
        self.settled_virtual = at;
        resident.renew(at, &mut self.resident, former, growth);
        growth.exec(at, &mut self.held);
    }

    /// It was another program before, of which `former` tells.
    pub(crate) fn was(&mut self, former: Option<Former>) {
        let most = former.map(|former| former.rss_most.0);
        self.former_rss = self.former_rss.zip(most).map(|(all, one)| all.max(one));
    }

    /// It was read.
    pub(crate) fn read(&mut self, at: Nanos, sample: &ProcessSample) {
        self.missed = 0;
        self.zombie = sample.has_ended();
        let proven = sample.memory_of.filter(|shared| shared.proven);
        self.memory_of = proven.map(|shared| shared.pid);
        self.comm = Arc::clone(&sample.comm);
        self.sigchld_ignored |= sample.sigchld_ignored;
        self.is_init |= sample.is_init;
        self.parent = self.parent.or(Some(sample.ppid).filter(|ppid| *ppid > 0));
        if self.command.is_empty() {
            self.command = Arc::clone(&sample.comm);
        }
        let memory = &sample.memory;
        let mut own = counters::with_cpu(&sample.own);
        self.leave_out(&mut own);
        let mut with_children = counters::with_cpu(&sample.with_children);
        self.leave_out(&mut with_children);
        with_children = counters::or(&with_children, &own);
        if let Some(last) = &self.last {
            counters::raise(&mut own, &last.own);
            counters::raise(&mut with_children, &last.with_children);
        }
        self.rss_seen = self.rss_seen.max(resident_peak(memory));
        let size = memory.virtual_peak.max(memory.virtual_size);
        self.virtual_seen = self.virtual_seen.max(size.map(|b| b.0));
        self.threads_seen = self.threads_seen.max(sample.threads);
        self.file_seen = self.file_seen.max(memory.rss_file.map(|b| b.0));
        if let (Some(anon), Some(all)) = (memory.rss_anon, memory.rss) {
            let shmem = memory.rss_shmem.map_or(0, |b| b.0);
            self.mix_seen = Some(Mix {
                own: anon.0.saturating_add(shmem),
                all: all.0,
            });
        }
        let reading = Reading {
            at,
            own,
            with_children,
            memory: if self.zombie {
                Memory::default()
            } else {
                *memory
            },
        };
        match &mut self.last {
            Some(last) => **last = reading,
            None => self.last = Some(Box::new(reading)),
        }
    }

    /// Whether what it holds at `at`, read for the first time, is likely its parent's: it was just
    /// forked, and its first exec may be next. With `vfork` it is even the same memory.
    /// Where no event tells of an exec, the name that it shares with its parent (`as_parent`) does.
    pub(crate) fn borrows(&self, at: Nanos, as_parent: bool) -> bool {
        let young = at.since(self.start) < BORROWS_FOR;
        let child = self.announced && self.parent.is_some() || as_parent;
        child && self.execs == 0 && young && self.last.is_none()
    }

    /// Whether what it has is told without what it was forked from.
    pub(crate) fn is_known(&self) -> bool {
        self.execs > 0 || self.held.is_known()
    }

    /// The largest resident set known of it.
    pub(crate) fn rss_peak(&self) -> Option<u64> {
        self.rss_seen.max(self.peaks.rss.map(|b| b.0))
    }

    /// Whether what it grew by since it was seen is likely memory of its own.
    pub(crate) fn grew_by_itself(&self, peak: u64) -> bool {
        self.mix_seen.is_some_and(|seen| seen.grew_by_itself(peak))
    }

    /// The CPU time known of it.
    pub(crate) fn cpu(&self) -> Option<Nanos> {
        let last = self.last.as_ref().and_then(|last| last.own.cpu);
        let told = self.finals.as_deref().and_then(|own| own.cpu);
        self.cpu_final.or(told).or(last)
    }

    /// What it used; `late_cpu` says that the CPU time of its exit is not final without a
    /// `Final`, nor its resident peak, which then is a sum of what each CPU counted so far.
    pub(crate) fn spent(&self, late_cpu: bool) -> Spent {
        let mut finals = self.finals.as_deref().map(counters::with_cpu);
        if let Some(finals) = finals.as_mut().filter(|_| !self.finals_without) {
            self.leave_out(finals);
        }
        let mut known = finals.unwrap_or_default();
        if let Some(cpu) = self.cpu_final {
            known.cpu = Some(cpu);
        }
        let mut spent = Spent {
            count: 1,
            own: match &self.last {
                Some(last) => counters::or(&known, &last.own),
                None => known,
            },
            ..Spent::default()
        };
        let late = late_cpu && self.cpu_final.is_none();
        // Left out was at least what was to be left out.
        let less = self.waited_before.is_some() && !self.finals_without;
        for (field, slot) in FIELDS.iter().zip(&mut spent.finals) {
            let rough = late && field.metric == "cpu_time" || less && field.metric == "cpu_wait";
            let last = self.end.is_some() && !rough;
            *slot = u64::from((field.get)(&known).is_some() && last);
        }
        let one_image = self.execs <= 1;
        let rough = late_cpu && self.cpu_final.is_none();
        let told = self.peaks.rss.is_some() && !rough;
        let rss = self.rss_peak();
        spent.rss = highest(
            rss,
            told && self.former_rss.is_some_and(|most| Some(most) <= rss),
        );
        let size = self.peaks.virtual_size.map(|b| b.0);
        spent.virtual_size = highest(self.virtual_seen.max(size), size.is_some() && one_image);
        spent.threads = highest(self.threads_seen, false);
        let read = finals.is_some() || self.last.is_some() || self.peaks.rss.is_some();
        spent.unread = u64::from(!read);
        spent
    }

    /// Its line of the process table, times counted from `zero`.
    pub(crate) fn process(&self, zero: Nanos, now: Nanos, late_cpu: bool) -> Process {
        // The root was there before the task: it waited for its exec.
        let lived = self.end.unwrap_or(now).since(self.start.max(zero));
        let method = match (self.end, self.end_told) {
            (None, _) => Method::LowerBound { upper: None },
            (Some(_), true) => Method::Exact,
            // It was missed at `end`: it had ended by then.
            (Some(_), false) => Method::UpperBound,
        };
        Process {
            pid: self.pid,
            ppid: self.parent,
            start_ns: self.start.since(zero),
            end_ns: self.end.map(|end| end.since(zero)),
            command: words(&self.command),
            exec_history: self.earlier.iter().map(|c| words(c)).collect(),
            code: match self.ending {
                Some(Ending::Code(code)) => Some(code.into()),
                _ => None,
            },
            signal: match self.ending {
                Some(Ending::Signal(signal)) => Some(signal.into()),
                _ => None,
            },
            folded: 1,
            usage: self.spent(late_cpu).usage(lived, method),
        }
    }
}

/// No command line.
pub(crate) fn nothing() -> Arc<[u8]> {
    static NOTHING: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([].as_slice()));
    Arc::clone(&NOTHING)
}

/// The high-water mark that a reading of memory tells.
pub(crate) fn resident_peak(memory: &Memory) -> Option<u64> {
    memory.rss_peak.max(memory.rss).map(|b| b.0)
}

fn highest(value: Option<u64>, last: bool) -> Highest {
    Highest {
        value,
        finals: u64::from(last && value.is_some()),
    }
}

/// The arguments of a NUL-separated command line, invalid UTF-8 replaced.
pub(crate) fn words(command: &[u8]) -> Vec<String> {
    let body = command.strip_suffix(b"\0").unwrap_or(command);
    if body.is_empty() {
        return Vec::new();
    }
    body.split(|b| *b == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// A command line as one string for people.
pub(crate) fn line(command: &[u8]) -> String {
    words(command).join(" ")
}
