//! ptrace: the exact tree and exact final values for any user, but only when asked for by name.
//!
//! It changes the task: without privilege, setuid programs and file capabilities lose their effect;
//! debuggers, strace, rr and LeakSanitizer cannot attach; `SIGSTOP` on the monitor holds every new
//! process up.
//!
//! **While it runs, no other thread may wait for any child** (`wait4(-1)` without `__WNOTHREAD`):
//! the kernel would hand it the stops of the tracing thread. Wait for a pid, or with `__WNOTHREAD`.
//!
//! One thread of ours traces: every thread of the task stops there at fork, exec and exit, is read,
//! and runs on. If that thread dies, the kernel lets the task run on untraced (or kills it, if
//! asked).

use super::{Mechanism, Notify, Unusable};
use crate::error::Error;
use crate::follow::tree::Counts;
use crate::interpose::ptrace::Watch;
use record::event::Event;
use record::unit::Nanos;
use record::value::Absent;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use sys::wake::Wake;

mod thread;
mod values;

pub(super) use values::add;

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 2,
    by_default: false,
    probe,
    gives: "the exact tree and final values; breaks setuid programs, debuggers and LeakSanitizer",
};

const NAME: &str = "ptrace";
/// Events kept for a reader that is slow; what does not fit is counted as lost.
const QUEUE_MAX: usize = 65_536;
/// Events handed over in one read.
const READ_MAX: usize = 16_384;
const STACK_BYTES: usize = 256 * 1024;

/// Tries to trace a child made for it.
pub fn probe() -> Result<(), Unusable> {
    sys::ptrace::probe().map_err(|error| {
        let why = format!(
            "{error}: tracing is forbidden here; kernel.yama.ptrace_scope above 1, a container's \
             seccomp profile or another tracer can be the reason"
        );
        (Absent::NoPermission, why)
    })
}

/// What the tracing thread and the reader share.
#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Wake,
    detach: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    lost: u64,
    counts: Counts,
    found: Found,
    finished: bool,
    failure: Option<sys::Error>,
}

/// What was found of processes, most of it at their end.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// How many held an `io_uring`.
    io_uring_tasks: u64,
    /// Some had waited for a child that was not traced.
    untraced: bool,
    /// How often a thread stopped for us, each a voluntary switch.
    stops: u64,
    /// Those of processes that have not ended.
    stops_living: u64,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A queue is whole after every statement, so one left by a panic can be used.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands `events` to the reader.
    fn push(&self, events: &mut Vec<Event>, counts: Counts, found: Found) {
        let mut queue = self.queue();
        queue.counts = counts;
        queue.found = found;
        let was_empty = queue.events.is_empty();
        for event in events.drain(..) {
            if queue.events.len() < QUEUE_MAX {
                queue.events.push_back(event);
            } else {
                queue.lost += 1;
            }
        }
        if was_empty && !queue.events.is_empty() {
            self.wake.raise();
        }
    }

    fn finish(&self, failure: Option<sys::Error>) {
        let mut queue = self.queue();
        queue.finished = true;
        queue.failure = failure;
        self.wake.raise();
    }
}

/// How the tracing is done.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The kernel kills the task if the monitor dies. So it does in any case with `watch`.
    pub kill_with_us: bool,
    /// What counts the calls on files, at which the task stops by its filter (`sys::seccomp`).
    pub watch: Option<Arc<Mutex<Watch>>>,
}

/// A task traced by a thread of this process.
#[derive(Debug)]
pub struct Tracer {
    shared: Arc<Shared>,
}

impl Tracer {
    /// Starts to trace `root`, which must have one thread and wait for its start, and everything it
    /// makes. `adopter` is told as its parent. `proc` is where procfs is mounted. A task's process
    /// that is a child of this process too is waited for by the tracing thread: its end then is
    /// only told by [`Event::Exit`].
    ///
    /// # Errors
    /// If tracing is forbidden, or `root` is traced by somebody else.
    pub fn start(proc: &Path, root: u32, adopter: u32, options: Options) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Wake::new().map_err(failed)?,
            detach: AtomicBool::new(false),
        });
        let (tell, told) = mpsc::sync_channel(1);
        let (theirs, proc) = (Arc::clone(&shared), proc.to_owned());
        std::thread::Builder::new()
            .name("plimsoll-trace".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let calls = options.watch.is_some();
                let seizing = sys::ptrace::Options {
                    kill_with_us: options.kill_with_us || calls,
                    calls,
                };
                let seized = sys::ptrace::seize(root, seizing);
                let goes_on = seized.is_ok();
                // The receiver waits for exactly this; if it is gone there is nobody to tell.
                let _ = tell.send(seized);
                if goes_on {
                    thread::Trace::new(&proc, root, adopter, theirs)
                        .with(options.watch)
                        .run();
                }
            })
            .map_err(|source| {
                failed(sys::Error::Call {
                    call: "start the tracing thread",
                    source,
                })
            })?;
        match told.recv() {
            Ok(Ok(())) => Ok(Self { shared }),
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => Err(Error::Mechanism {
                mechanism: NAME,
                why: "the tracing thread ended at once".to_owned(),
            }),
        }
    }

    /// How many processes and threads the task has and had.
    pub fn counts(&self) -> Counts {
        self.shared.queue().counts
    }

    /// Processes that held an `io_uring` when they ended: what went through it is in no count of
    /// calls.
    pub fn io_uring_tasks(&self) -> u64 {
        self.shared.queue().found.io_uring_tasks
    }

    /// Whether a process was found to have waited for a child that was made not to be traced. Of a
    /// process that has other children that is not found.
    pub fn has_untraced(&self) -> bool {
        self.shared.queue().found.untraced
    }

    /// How often a thread of the task stopped for us: as many of its voluntary switches are not its
    /// own. The second number is those of processes that have not ended; the final values of those
    /// that have are without theirs.
    pub fn stops(&self) -> (u64, u64) {
        let found = self.shared.queue().found;
        (found.stops, found.stops_living)
    }

    /// Whether every traced process has ended, all events being read or waiting to be.
    pub fn finished(&self) -> bool {
        self.shared.queue().finished
    }
}

impl Notify for Tracer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }

    fn read(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        let mut queue = self.shared.queue();
        self.shared.wake.clear();
        let count = queue.events.len().min(READ_MAX);
        sink.extend(queue.events.drain(..count));
        if queue.lost > 0 {
            let count = std::mem::take(&mut queue.lost);
            let at = Nanos(sys::clock::boot());
            sink.push(Event::Lost { at, count });
        }
        if !queue.events.is_empty() {
            self.shared.wake.raise();
        }
        queue
            .failure
            .take()
            .map_or(Ok(()), |error| Err(failed(error)))
    }
}

impl Drop for Tracer {
    /// The thread lets go of the task when the next process of it stops for us; a task that ends
    /// frees it as well.
    fn drop(&mut self) {
        self.shared.detach.store(true, Ordering::Relaxed);
    }
}

fn failed(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_the_queue_is_told_as_lost() {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Wake::new().unwrap(),
            detach: AtomicBool::new(false),
        });
        let lost = Event::Lost {
            at: Nanos(0),
            count: 0,
        };
        let mut events = vec![lost; QUEUE_MAX + 5];
        shared.push(&mut events, Counts::default(), Found::default());
        shared.queue().events.truncate(10);
        let mut tracer = Tracer { shared };
        let mut sink = Vec::new();
        tracer.read(&mut sink).unwrap();
        assert_eq!(sink.len(), 11);
        assert!(matches!(sink.last(), Some(Event::Lost { count: 5, .. })));
        assert!(!tracer.finished());
    }

    #[test]
    fn a_process_that_is_none_of_ours_is_an_error() {
        let gone = Tracer::start(Path::new("/proc"), u32::MAX >> 1, 0, Options::default());
        assert!(matches!(gone, Err(Error::Kernel { .. })));
    }
}
