//! One process under watch: its kept-open files, its identity and the last of its details.

use super::kept::{Descriptors, Kept, read_at_start};
use super::rest::Resting;
use super::space::Space;
use super::threads::{Threads, read_by_path, read_thread_io};
use super::told::{Rest, as_rest, as_sample, refreshed};
use super::{IoWait, SampleCost};
use crate::query::counters::{add, larger, peaks_only, without_io};
use crate::query::{
    main_thread, proc_pid_fd, proc_pid_io, proc_pid_schedstat, proc_pid_stat, proc_pid_statm,
    proc_pid_status,
};
use crate::root::{Root, process_absent};
use record::identity::ProcessId;
use record::sample::{Counters, Memory, ProcessSample};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::fs::File;
use sys::clock;

/// What one pass allows and knows.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) pass: u64,
    /// Passes between two turns of a process, 0 and 1 being every pass.
    pub(super) stride: u64,
    /// Files that may still be read for details in this pass.
    pub(super) files_left: i64,
    pub(super) threads_max: u64,
    /// See [`super::Settings::still_passes`].
    pub(super) still_passes: u64,
    /// How often that is doubled for one that has just begun to rest.
    pub(super) doublings: u32,
    /// Revisions of samples given so far.
    pub(super) revisions: u64,
    pub(super) page_bytes: Option<u64>,
    pub(super) io_wait: IoWait,
    /// Whether a process may have an `io_uring` on this kernel.
    pub(super) io_uring: bool,
    /// Whether pids are those of our own pid namespace, so that clocks can be asked by them.
    pub(super) has_clocks: bool,
}

/// The CPU time of a process by its clock, if that can be asked: see [`Turn::has_clocks`].
fn cpu_time(pid: u32, has_clocks: bool) -> Option<u64> {
    clock::cpu_time(pid).filter(|_| has_clocks)
}

/// By so much clock ticks may tell less of a process than its threads tell a moment later.
const TICKS_LATE: Nanos = Nanos::from_millis(50);

/// Passes of a process's youth, in each of which its descriptors are looked at.
const RINGS_YOUNG: u32 = 48;
/// Afterwards they are looked at in one pass of so many.
const RINGS_STRIDE: u32 = 16;

/// What is another user's is not asked for again in so many turns.
const REFUSED_TURNS: u8 = 15;

/// What is known of a process's rings of `io_uring`.
#[derive(Debug, Default)]
struct Rings {
    passes: u32,
    /// Descriptors open when they were last looked at, where the kernel tells.
    open: Option<u64>,
    found: bool,
}

/// One process under watch.
#[derive(Debug, Default)]
pub(super) struct Watch {
    id: Option<ProcessId>,
    stat: Kept,
    statm: Kept,
    schedstat: Kept,
    status: Kept<true>,
    io: Kept<true>,
    pass_seen: u64,
    /// The pass of its last turn; 0 is never.
    pass_detail: u64,
    /// As the kernel counts them: see [`proc_pid_stat::Stat::threads`].
    threads_live: u64,
    has_waited: bool,
    threads: Threads,
    /// Context switches of the main thread, voluntary and not, as this reading told.
    switches: (Option<u64>, Option<u64>),
    memory: Memory,
    sigchld_ignored: bool,
    is_init: bool,
    /// A thread that lives, while the main one does not: the memory is read of it.
    speaker: Option<u32>,
    pub(super) space: Space,
    rings: Rings,
    /// In so many turns what only its user may read is taken for refused, as it was.
    refused: u8,
    /// The user whose that is.
    uid: Option<u32>,
    own: Counters,
    with_children: Counters,
    rest: Resting,
}

/// The means of one reading, bundled.
struct Means<'a> {
    root: &'a Root,
    pid: u32,
    turn: &'a mut Turn,
    descriptors: &'a mut Descriptors,
    buffer: &'a mut Vec<u8>,
    cost: &'a mut SampleCost,
}

impl Means<'_> {
    /// The content of one of the process's files.
    fn read<const SELDOM: bool>(
        &mut self,
        kept: &mut Kept<SELDOM>,
        name: &str,
    ) -> Result<&[u8], Absent> {
        let (root, pid) = (self.root, self.pid);
        self.cost.files_read += 1;
        let length = kept.read(|| root.process(pid, name), self.descriptors, self.buffer)?;
        self.buffer.get(..length).ok_or(Absent::NoKernelSupport)
    }
}

impl Watch {
    /// Whether nothing was read of it before.
    pub(super) fn is_fresh(&self) -> bool {
        self.id.is_none()
    }

    pub(super) fn seen_in(&self, pass: u64) -> bool {
        self.pass_seen == pass
    }

    /// Its memory as last read, and a thread that has it.
    pub(super) fn memory(&self, pid: u32) -> Option<(&Memory, u32)> {
        self.memory.rss?;
        Some((&self.memory, self.speaker.unwrap_or(pid)))
    }

    /// One that told this memory.
    #[cfg(test)]
    pub(super) fn of(memory: Memory) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    pub(super) fn last_rss(&self) -> Option<Bytes> {
        self.memory.rss
    }

    /// Files that its next turn will read.
    pub(super) fn detail_files(&self) -> u64 {
        let each = 2 + u64::from(self.has_waited);
        match self.threads_live {
            0 | 1 => each,
            threads => 2 + each * threads,
        }
    }

    pub(super) fn close(&mut self, descriptors: &mut Descriptors) {
        self.schedstat.close(descriptors);
        self.close_but_one(descriptors);
    }

    /// Closes all but the file that tells whether it rests.
    fn close_but_one(&mut self, descriptors: &mut Descriptors) {
        self.stat.close(descriptors);
        self.statm.close(descriptors);
        self.status.close(descriptors);
        self.io.close(descriptors);
    }

    /// Reads the process. `Gone` also where the pid belongs to another process than before: the
    /// caller then starts a fresh watch.
    ///
    /// The order makes one process of many files: `stat` is opened first and read after `io` and
    /// again after any file that was opened by path; a read that succeeds proves that the pid was
    /// not given away in between.
    pub(super) fn sample(
        &mut self,
        root: &Root,
        pid: u32,
        turn: &mut Turn,
        descriptors: &mut Descriptors,
        buffer: &mut Vec<u8>,
        cost: &mut SampleCost,
    ) -> Result<ProcessSample, Absent> {
        let mut means = Means {
            root,
            pid,
            turn,
            descriptors,
            buffer,
            cost,
        };
        // Before any file: it may run while it is read.
        let cpu_time = cpu_time(pid, means.turn.has_clocks);
        let held = self.hold_stat(&mut means)?;
        let opened = means.descriptors.opened();
        let due = self.is_due(&mut means);
        let io = if due { self.read_io(&mut means)? } else { None };
        let (mut sample, rest) = self.read_stat(held.as_ref(), &mut means)?;
        if self.id.is_some_and(|id| id != sample.id) {
            return Err(Absent::Gone);
        }
        self.threads_live = rest.threads;
        self.has_waited = rest.has_waited;
        self.rest.begin(cpu_time);
        if !rest.ended {
            match rest.main_ended {
                true => self.read_memory_of_thread(&mut means),
                false => self.read_memory(due, &mut means)?,
            }
            self.read_threads(due, &rest, &mut means)?;
            self.rest.state(sample.state);
        } else {
            self.memory = peaks_only(self.memory);
        }
        let looked = !rest.ended && self.look_for_rings(&mut means);
        if looked || means.descriptors.opened() != opened {
            self.read_stat(held.as_ref(), &mut means)?;
        }
        if let Some(file) = held {
            self.stat.adopt(file, means.descriptors);
        }
        if due {
            self.pass_detail = means.turn.pass;
        }
        self.id = Some(sample.id);
        self.pass_seen = means.turn.pass;
        self.take_counters(io, &rest, cpu_time);
        self.tell(&mut sample);
        if means.turn.still_passes > 1 {
            let (turn, rest) = (&mut means.turn, &mut self.rest);
            rest.keep(&mut sample, &mut turn.revisions, turn.doublings);
            if rest.is_confirmed() && means.descriptors.is_scarce() {
                match rest.has_clock() {
                    true => self.close(means.descriptors),
                    false => self.close_but_one(means.descriptors),
                }
            }
        }
        Ok(sample)
    }

    /// Puts what was read of other files than `stat` into the sample.
    fn tell(&self, sample: &mut ProcessSample) {
        sample.memory = self.memory;
        sample.io_uring = self.rings.found;
        sample.sigchld_ignored = self.sigchld_ignored;
        sample.is_init = self.is_init;
        sample.own = self.own;
        sample.with_children = self.with_children;
    }

    /// Opens `stat` unless it is kept open.
    fn hold_stat(&self, means: &mut Means<'_>) -> Result<Option<File>, Absent> {
        if self.stat.is_open() {
            return Ok(None);
        }
        let path = means.root.process(means.pid, "stat");
        match means.descriptors.open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) => Err(process_absent(&error)),
        }
    }

    fn is_due(&self, means: &mut Means<'_>) -> bool {
        let age = means.turn.pass.saturating_sub(self.pass_detail);
        let wanted = self.pass_detail == 0 || age >= means.turn.stride;
        let due = wanted && means.turn.files_left > 0;
        if due {
            let files = i64::try_from(self.detail_files()).unwrap_or(i64::MAX);
            means.turn.files_left = means.turn.files_left.saturating_sub(files);
        } else {
            means.cost.deferred += 1;
        }
        due
    }

    fn read_io(&mut self, means: &mut Means<'_>) -> Result<Option<Counters>, Absent> {
        if self.refused > 0 {
            self.refused -= 1;
            means.cost.denied_io += 1;
            return Ok(None);
        }
        match means.read(&mut self.io, "io") {
            Ok(text) => Ok(Some(proc_pid_io::parse(text))),
            Err(Absent::Gone) => Err(Absent::Gone),
            Err(absent) => {
                self.note_refusal(absent, means);
                means.cost.denied_io += u64::from(absent == Absent::NoPermission);
                self.io.close(means.descriptors);
                Ok(None)
            }
        }
    }

    /// Who may not read this may read nothing that only its user may: a node has thousands of those
    /// of others, and few of them become ours.
    fn note_refusal(&mut self, absent: Absent, means: &Means<'_>) {
        if absent == Absent::NoPermission && means.turn.still_passes > 1 {
            self.refused = REFUSED_TURNS;
        }
    }

    fn read_stat(
        &self,
        held: Option<&File>,
        means: &mut Means<'_>,
    ) -> Result<(ProcessSample, Rest), Absent> {
        let file = held.or(self.stat.file()).ok_or(Absent::Gone)?;
        means.cost.files_read += 1;
        let length = read_at_start(file, means.buffer).map_err(|error| process_absent(&error))?;
        let text = means.buffer.get(..length).unwrap_or_default();
        let stat = proc_pid_stat::parse(text).ok_or(Absent::NoKernelSupport)?;
        Ok((as_sample(&stat), as_rest(&stat, means.turn.io_wait)))
    }

    fn read_memory(&mut self, due: bool, means: &mut Means<'_>) -> Result<(), Absent> {
        let Some(page_bytes) = means.turn.page_bytes.filter(|_| !due) else {
            let text = means.read(&mut self.status, "status")?;
            let status = proc_pid_status::parse(text);
            if self
                .uid
                .is_some_and(|uid| Some(uid) != status.uid_effective)
            {
                self.refused = 0;
            }
            self.uid = status.uid_effective;
            self.sigchld_ignored |= status.ignores(proc_pid_status::SIGCHLD) == Some(true);
            self.is_init = status.is_init;
            self.memory = match status.memory.rss {
                Some(_) => status.memory,
                // A kernel thread, or one that has just given its memory back.
                None => peaks_only(self.memory),
            };
            self.switches = (status.switches_voluntary, status.switches_involuntary);
            return Ok(());
        };
        let text = means.read(&mut self.statm, "statm")?;
        if let Some(statm) = proc_pid_statm::parse(text, page_bytes) {
            self.memory = refreshed(self.memory, statm);
        }
        Ok(())
    }

    /// Reads the memory where the main thread, whose file is that of the process, has ended: it has
    /// given its address space back, and the others have it still.
    fn read_memory_of_thread(&mut self, means: &mut Means<'_>) {
        let known = self.speaker.take();
        let others = main_thread::others(means.root, means.pid);
        for tid in known.into_iter().chain(others) {
            let path = means.root.process(means.pid, &format!("task/{tid}/status"));
            means.cost.files_read += 1;
            let text = read_by_path(&path, means.descriptors, means.buffer);
            let memory = text.map(proc_pid_status::parse).map(|read| read.memory);
            if let Some(memory) = memory.filter(|memory| memory.rss.is_some()) {
                (self.memory, self.speaker) = (memory, Some(tid));
                return;
            }
        }
        self.memory = peaks_only(self.memory);
    }

    /// See [`Resting::is_still`].
    pub(super) fn is_still(&self, pid: u32, buffer: &mut Vec<u8>) -> bool {
        self.rest.is_still(pid, &self.schedstat, buffer)
    }

    /// What it told last, if that may be repeated: it has not run since, and a whole reading is not
    /// due by then.
    pub(super) fn repeated(
        &mut self,
        pid: u32,
        turn: &Turn,
        buffer: &mut Vec<u8>,
    ) -> Option<&ProcessSample> {
        if self.rest.is_due(pid, turn.pass, turn.still_passes) {
            return None;
        }
        let sample = self.rest.repeated(pid, &self.schedstat, buffer)?;
        self.pass_seen = turn.pass;
        Some(sample)
    }

    fn read_threads(
        &mut self,
        due: bool,
        rest: &Rest,
        means: &mut Means<'_>,
    ) -> Result<(), Absent> {
        if self.threads_live != 1 {
            self.rest.forget();
        }
        let switches = std::mem::take(&mut self.switches);
        let (pid, has_clocks) = (means.pid, means.turn.has_clocks);
        let whole = || {
            let by_clock = cpu_time(pid, has_clocks).map(Nanos);
            by_clock.or(rest.ticks.cpu.map(|cpu| cpu.plus(TICKS_LATE)))
        };
        if self.threads_live == 1 {
            let line = match means.read(&mut self.schedstat, "schedstat") {
                Ok(text) => proc_pid_schedstat::parse(text),
                Err(Absent::Gone) => return Err(Absent::Gone),
                Err(_) => None,
            };
            self.rest.take(line);
            let mut main = Counters {
                cpu: line.map(|line| line.cpu),
                cpu_wait: line.map(|line| line.wait),
                switches_voluntary: switches.0,
                switches_involuntary: switches.1,
                ..Counters::default()
            };
            if due && self.has_waited {
                means.cost.files_read += 1;
                let io = read_thread_io(means.root, means.pid, means.descriptors, means.buffer);
                main = add(main, io.unwrap_or_default());
            }
            self.threads.set_only(means.pid, main, whole);
        } else if self.threads_live > means.turn.threads_max {
            means.cost.threads_unread += 1;
        } else if due {
            means.cost.files_read += self.threads.walk(
                (means.root, means.pid),
                (self.has_waited, means.turn.threads_max),
                whole,
                means.descriptors,
                means.buffer,
            );
        }
        Ok(())
    }

    /// A ring is made early or not at all: often while the process is young and opens files, then
    /// now and then. True if files were looked at by path.
    fn look_for_rings(&mut self, means: &mut Means<'_>) -> bool {
        let passes = self.rings.passes;
        self.rings.passes = passes.saturating_add(1);
        let turn = passes.is_multiple_of(RINGS_STRIDE);
        if !means.turn.io_uring || self.rings.found || !(turn || passes < RINGS_YOUNG) {
            return false;
        }
        // One that we may not look at is not known to have a ring.
        if self.refused > 0 {
            return false;
        }
        if !turn && means.turn.still_passes > 1 && self.rest.is_confirmed() {
            return false;
        }
        let open = proc_pid_fd::count(means.root, means.pid);
        if !turn && open.is_some() && open == self.rings.open {
            return false;
        }
        self.rings.open = open;
        means.cost.files_read += 1;
        match proc_pid_fd::read(means.root, means.pid) {
            Ok(seen) => self.rings.found = seen.io_urings > 0,
            Err(absent) => self.note_refusal(absent, means),
        }
        true
    }

    fn take_counters(&mut self, io: Option<Counters>, rest: &Rest, cpu_time: Option<u64>) {
        let threads = self.threads.sum();
        let by_clock = Counters {
            cpu: cpu_time.map(Nanos),
            ..Counters::default()
        };
        let mut now = larger(larger(threads, rest.ticks), by_clock);
        if let (Some(io), false) = (io, rest.has_waited) {
            now = larger(now, io);
        }
        self.own = larger(self.own, now);
        let mut all = add(without_io(self.own), rest.children);
        all = larger(all, io.unwrap_or_default());
        self.with_children = larger(self.with_children, all);
    }
}
