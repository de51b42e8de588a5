//! What the tracing thread counts at the stops of calls.
//!
//! A call whose result is needed stops twice, at its begin and at its end; the others at their
//! begin alone.

use super::ahead::Batches;
use super::look::Look;
use super::messages;
use super::names::{Changing, Names};
use super::opens::Opening;
use super::process::{Process, Rest, Slot, look_by_path};
use super::row::Row;
use super::single::Single;
use record::file::FileRest;
use record::unit::Nanos;
use std::collections::HashMap;
use std::path::Path;
use sys::kcmp::share_descriptors;
use sys::ptrace::{self, Entered};
use sys::seccomp::{FileCall, file_call};

/// Rows of ended processes that wait to be taken; what is beyond is counted without a name.
const ENDED_MAX: usize = 1 << 18;
/// A `close_range` that only marks descriptors.
const MARKS_ONLY: u64 = 4;
/// One that first gets a table of its own.
const UNSHARES: u64 = 2;
/// Error numbers end here.
const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;

/// A call that is under way.
#[derive(Debug)]
struct Pending {
    what: What,
    begun: Nanos,
}

#[derive(Debug)]
pub(super) enum What {
    Transfer {
        from: Option<Slot>,
        to: Option<Slot>,
        /// Of the result no more than this was moved.
        most: i64,
    },
    Single(Single),
    Messages {
        slot: Slot,
        vector: u64,
        is_read: bool,
    },
    Open(Opening),
    Map(Slot),
    Seek(Slot),
    Cut {
        slot: Slot,
        fd: i32,
    },
    Name(Changing),
    Ring,
}

/// What the processes of a task did with files so far.
#[derive(Debug)]
pub struct Watch {
    pub(super) look: Look,
    pub(super) times: bool,
    /// The command's program runs: what its process did before is ours.
    counting: bool,
    pub(super) processes: HashMap<u32, Process>,
    /// What is counted after one stop.
    pub(super) batches: Batches,
    /// Transfers that may not have been whole.
    pub(super) unproven: u64,
    pending: HashMap<u32, Pending>,
    ended: Vec<(u32, Row)>,
    pub(super) names: Names,
    pub(super) rest: Rest,
    compat_calls: u64,
    libaio_calls: u64,
    rings: u64,
    /// Children that nobody traces, at most: they asked for it and could not be kept from it.
    pub(super) children_untraced: u64,
}

impl Watch {
    pub(super) fn new(proc: &Path, times: bool) -> Self {
        Self {
            look: Look::new(proc),
            times,
            counting: false,
            processes: HashMap::new(),
            batches: Batches::default(),
            unproven: 0,
            pending: HashMap::new(),
            ended: Vec::new(),
            names: Names::default(),
            rest: Rest::default(),
            compat_calls: 0,
            libaio_calls: 0,
            rings: 0,
            children_untraced: 0,
        }
    }

    /// A thread of `pid` begins a call; whether it is to stop at the end of it as well.
    pub(crate) fn entered(&mut self, pid: u32, tid: u32, call: &Entered, at: Nanos) -> bool {
        if !self.counting {
            return false;
        }
        let Some(what) = file_call(call) else {
            return false;
        };
        let process = self.processes.entry(pid).or_default();
        process.calls_are_over(tid);
        let Some(what) = self.begin(pid, tid, what, &call.arguments, at) else {
            return false;
        };
        let begun = if self.times {
            Nanos(sys::clock::boot())
        } else {
            at
        };
        self.pending.insert(tid, Pending { what, begun });
        true
    }

    /// What is to be done at the end of a call; counts one whose result is not needed.
    fn begin(
        &mut self,
        pid: u32,
        tid: u32,
        call: FileCall,
        arguments: &[u64; 6],
        at: Nanos,
    ) -> Option<What> {
        use FileCall as Do;
        let [first, second, third, _, fifth, _] = *arguments;
        match call {
            Do::Read | Do::ReadAt | Do::Write | Do::WriteAt => {
                return self.single((pid, tid), call, arguments, at);
            }
            Do::Seek => return self.seek((pid, tid), arguments, at),
            Do::Clone => {
                self.children_untraced += u64::from(ptrace::trace_clone(tid).is_err());
                return None;
            }
            Do::Clone3 => {
                self.children_untraced += u64::from(ptrace::trace_clone3(tid, first).is_err());
                return None;
            }
            Do::Name(call) => return Some(self.name((pid, tid), call, arguments, at)),
            Do::Close | Do::Map | Do::Share | Do::Duplicate => {}
            Do::Open | Do::Create | Do::OpenAt | Do::OpenHow => {}
            // What it moves is told by its result alone.
            _ => {
                self.settle_thread(pid, tid);
                let process = self.processes.entry(pid).or_default();
                match call {
                    Do::SendMessage | Do::SendMessages => process.share_all(),
                    Do::ReadVector | Do::WriteVector => process.stands(first as i32, None),
                    Do::SendFile | Do::Copy => {
                        let other = if call == Do::Copy { third } else { second };
                        process.stands(first as i32, None);
                        process.stands(other as i32, None);
                    }
                    _ => {}
                }
            }
        }
        let mut slot = |fd: u64| self.slot(pid, tid, fd, at);
        match call {
            Do::ReadVector => What::read(slot(first)),
            Do::WriteVector | Do::SendMessage => What::write(slot(first)),
            Do::Receive | Do::ReceiveMessage | Do::ReceiveMessages | Do::SendMessages => {
                messages::begin(call, arguments, slot)
            }
            Do::SendFile => What::both(slot(second), slot(first)),
            Do::Copy => What::both(slot(first), slot(third)),
            Do::Tee => What::both(slot(first), slot(second)),
            Do::Map => slot(fifth).map(What::Map),
            Do::Cut => slot(first).map(|slot| What::Cut {
                slot,
                fd: first as i32,
            }),
            Do::Open | Do::Create | Do::OpenAt | Do::OpenHow => self.open(tid, call, arguments),
            Do::Ring => {
                self.stop_remembering(pid);
                Some(What::Ring)
            }
            _ => {
                self.change(pid, tid, call, arguments, at);
                None
            }
        }
    }

    /// A call that changes what descriptors are, or that leads past us.
    fn change(&mut self, pid: u32, tid: u32, call: FileCall, arguments: &[u64; 6], at: Nanos) {
        use FileCall as Do;
        let [first, second, third, ..] = *arguments;
        match call {
            Do::Close => {
                let fd = first as i32;
                if let Some(slot) = self.slot(pid, tid, first, at) {
                    self.used(pid, slot, at, Nanos(0), |counts| counts.closes += 1);
                    let status = self.look.status(tid, fd);
                    let process = self.processes.entry(pid).or_default();
                    if let (Some(row), Some(status)) = (process.row(slot), status) {
                        row.looked_at(&status);
                    }
                    process.close(&mut self.look, tid, fd..=fd);
                }
            }
            Do::CloseRange if third & MARKS_ONLY != 0 => {}
            Do::CloseRange => {
                let last = i32::try_from(second as u32).unwrap_or(i32::MAX);
                let first = i32::try_from(first as u32).unwrap_or(i32::MAX);
                let process = self.processes.entry(pid).or_default();
                process.close(&mut self.look, tid, first..=last);
                if third & UNSHARES != 0 {
                    process.stop_remembering();
                }
            }
            Do::Duplicate => {
                let fd = second as i32;
                let process = self.processes.entry(pid).or_default();
                process.share(first as i32);
                process.close(&mut self.look, tid, fd..=fd);
            }
            Do::Share => self.processes.entry(pid).or_default().share(first as i32),
            Do::Submit => self.libaio_calls += 1,
            Do::Compat => {
                self.compat_calls += 1;
                self.stop_remembering(pid);
            }
            Do::Unshare => self.stop_remembering(pid),
            _ => {}
        }
    }

    fn stop_remembering(&mut self, pid: u32) {
        self.processes.entry(pid).or_default().stop_remembering();
    }

    /// Where the file behind a descriptor is counted.
    pub(super) fn slot(&mut self, pid: u32, tid: u32, fd: u64, at: Nanos) -> Option<Slot> {
        let process = self.processes.entry(pid).or_default();
        let fd = (tid, fd as i32);
        process.slot(&mut self.look, &mut self.rest, fd, at)
    }

    pub(super) fn used(
        &mut self,
        pid: u32,
        slot: Slot,
        at: Nanos,
        time: Nanos,
        count: impl FnOnce(&mut record::file::FileCounts),
    ) {
        let process = self.processes.entry(pid).or_default();
        count(process.used(&mut self.rest, slot, at, time));
    }

    /// The call of a thread of `pid` that was to stop at its end is over.
    pub(crate) fn returned(&mut self, pid: u32, tid: u32, result: i64, at: Nanos) {
        let Some(Pending { what, begun }) = self.pending.remove(&tid) else {
            return;
        };
        let time = if self.times {
            at.since(begun)
        } else {
            Nanos(0)
        };
        match what {
            What::Transfer { from, to, most } => {
                let result = result.min(most);
                for (slot, is_read) in [(from, true), (to, false)] {
                    if let Some(slot) = slot {
                        self.transfer(pid, slot, is_read, result, (at, time));
                    }
                }
            }
            What::Single(single) => self.single_returned(pid, &single, result, (at, time)),
            What::Messages {
                slot,
                vector,
                is_read,
            } => self.messages(pid, tid, (slot, vector, is_read), result, (at, time)),
            What::Open(opening) => {
                if let Ok(fd) = i32::try_from(result)
                    && fd >= 0
                {
                    self.opened(pid, (tid, fd), opening, (at, time));
                }
            }
            What::Map(slot) => {
                if !ERRORS.contains(&result) {
                    self.used(pid, slot, at, time, |_| ());
                    let process = self.processes.entry(pid).or_default();
                    if let Some(row) = process.row(slot) {
                        row.flags.mapped = true;
                    }
                }
            }
            What::Seek(slot) => self.used(pid, slot, at, time, |counts| counts.seeks += 1),
            What::Cut { slot, fd } if result == 0 => {
                self.used(pid, slot, at, time, |_| ());
                let status = self.look.status(tid, fd);
                let process = self.processes.entry(pid).or_default();
                if let Some(row) = process.row(slot) {
                    row.resized(status.as_ref());
                }
            }
            What::Name(changing) if result == 0 => self.names.changed(changing),
            What::Ring if result >= 0 => self.rings += 1,
            What::Cut { .. } | What::Name(_) | What::Ring => {}
        }
    }

    pub(super) fn transfer(
        &mut self,
        pid: u32,
        slot: Slot,
        is_read: bool,
        result: i64,
        (at, time): (Nanos, Nanos),
    ) {
        self.used(pid, slot, at, time, |_| ());
        let process = self.processes.entry(pid).or_default();
        process.transfer(&mut self.rest, slot, is_read, result);
    }

    /// `parent` made a process or a thread: `child` is its process, `tid` it itself.
    pub(crate) fn forked(&mut self, parent: u32, child: u32, tid: u32) {
        // A kernel that cannot tell: threads have one table as a rule, and processes their own.
        let shared = share_descriptors(parent, tid);
        let is_thread = parent == child;
        if shared.unwrap_or(is_thread) != is_thread {
            self.stop_remembering(parent);
            self.stop_remembering(child);
        } else if !is_thread {
            self.processes.entry(parent).or_default().share_all();
            self.processes.entry(child).or_default();
        }
    }

    /// A process became another program and is stopped; `former` is the thread that did it.
    pub(crate) fn exec(&mut self, pid: u32, former: u32, at: Nanos) {
        self.counting = true;
        self.never_returns(pid);
        self.never_returns(former);
        self.processes.entry(pid).or_default().exec();
        self.executed(pid, at);
    }

    /// A thread stopped before its end, `last` of its process: the files are still open.
    pub(crate) fn ending(&mut self, pid: u32, tid: u32, last: bool) {
        self.settle_thread(pid, tid);
        if last && let Some(process) = self.processes.get_mut(&pid) {
            process.look_at_written(&mut self.look, tid);
        }
    }

    /// Nobody will tell how the call of a thread ended.
    fn never_returns(&mut self, tid: u32) {
        if let Some(Pending { what, .. }) = self.pending.remove(&tid)
            && matches!(what, What::Name(_))
        {
            self.names.lost += 1;
        }
    }

    /// A thread is gone.
    pub(crate) fn thread_gone(&mut self, pid: u32, tid: u32) {
        self.never_returns(tid);
        self.settle_thread(pid, tid);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.calls_are_over(tid);
        }
    }

    /// A process is gone.
    pub(crate) fn process_gone(&mut self, pid: u32) {
        let Some(process) = self.processes.remove(&pid) else {
            return;
        };
        for mut row in process.rows {
            self.rest.kept = self.rest.kept.saturating_sub(1);
            if self.ended.len() < ENDED_MAX {
                look_by_path(&mut row);
                self.ended.push((pid, row));
            } else {
                self.rest.rows += 1;
                self.rest.counts.add(&row.counts);
            }
        }
    }

    /// What processes had that ended since this was last asked.
    pub(super) fn take_ended(&mut self) -> Vec<(u32, Row)> {
        std::mem::take(&mut self.ended)
    }

    /// What living processes had so far; it is taken from them.
    pub(super) fn take_living(&mut self) -> Vec<(u32, Row)> {
        self.counting = false;
        self.settle_all();
        let mut all = Vec::new();
        for (pid, process) in self.processes.drain() {
            for mut row in process.rows {
                look_by_path(&mut row);
                all.push((pid, row));
            }
        }
        all
    }

    /// Files at which this user may not look; each use of a descriptor anew.
    pub(super) fn hidden(&self) -> u64 {
        self.rest.hidden
    }

    /// What was not kept by file.
    pub(super) fn rest(&self) -> FileRest {
        FileRest {
            counts: self.rest.counts,
            rows: self.rest.rows,
            compat_calls: self.compat_calls,
            libaio_calls: self.libaio_calls,
            aio_requests: 0,
            rings: self.rings,
            blind_calls: 0,
            page_cache: None,
            names_lost: self.names.lost,
        }
    }
}

impl What {
    fn read(slot: Option<Slot>) -> Option<Self> {
        Self::both(slot, None)
    }

    fn write(slot: Option<Slot>) -> Option<Self> {
        Self::both(None, slot)
    }

    fn both(from: Option<Slot>, to: Option<Slot>) -> Option<Self> {
        let most = i64::MAX;
        (from.is_some() || to.is_some()).then_some(Self::Transfer { from, to, most })
    }
}
