//! The proc connector: the exact tree of the task, from kernel 6.6 on for any user, without any
//! change to the task.
//!
//! It tells forks, execs and exits of the whole machine; the ones of the task are picked out here.
//! It gives no final values. Losses (a full receive buffer) are told by the kernel and counted by
//! the gaps in its sequence numbers; after one the tree is put right from `/proc`.
//!
//! Do not read at every wake-up: a pause of some milliseconds between two reads costs nothing (the
//! buffer holds 500 events or more) and saves most of the monitor's time.

use super::taskstats::{self, ExitValues};
use super::{Mechanism, Notify, Unusable};
use crate::error::Error;
use crate::follow::procfs;
use crate::follow::tree::{Counts, ThreadEnd, Tree};
use record::event::Event;
use record::unit::Nanos;
use record::value::Absent;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use sys::clock::{self, Clock, Offsets};
use sys::netlink::process::{Message, Refusal, Subscription, What};
use sys::netlink::{Batch, Taken};

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 2,
    by_default: true,
    probe,
    gives: "the exact process tree: every fork, exec and exit; no final values",
};

const NAME: &str = "connector";
/// Receive buffer asked for: some 20 000 events. Unprivileged users get what `net.core.rmem_max`
/// allows.
const BUFFER_BYTES: u32 = 16 << 20;
/// Messages taken in one read; the rest stays in the socket.
const MESSAGES_MAX: usize = 16_384;
/// CPUs whose sequence numbers are kept; far beyond the kernel's own bound of 8192.
const CPUS_MAX: usize = 65_536;
/// A command line longer than this is cut, unless it is to be whole: then one that is longer than
/// the other.
const COMMAND_BYTES: u64 = 4096;
const WHOLE_BYTES: u64 = 128 << 10;
/// Without any message for so long, the subscription is asked whether it still stands.
const SILENCE: Nanos = Nanos::from_secs(1);
/// After a loss, `/proc` is read again after so long, until a reading coincides with no event.
const RECHECK: Nanos = Nanos::from_millis(50);
/// At most so many readings after a loss.
const RECHECKS_MAX: u32 = 20;

/// Tries a subscription.
pub fn probe() -> Result<(), Unusable> {
    subscribe(BUFFER_BYTES).map(drop).map_err(unusable)
}

fn subscribe(buffer_bytes: u32) -> Result<Subscription, Refusal> {
    Subscription::open(buffer_bytes, std::process::id() ^ 0x504c_494d)
}

fn unusable(refusal: Refusal) -> Unusable {
    let older = "before Linux 6.6 the proc connector needs CAP_NET_ADMIN: run as root, or use a \
                 newer kernel";
    match refusal {
        Refusal::Failed(error) if error.errno() == Some(EPERM) => {
            (Absent::NoPermission, older.to_owned())
        }
        Refusal::Failed(error) => (
            Absent::NoKernelSupport,
            format!(
                "{error}: the kernel needs CONFIG_PROC_EVENTS, and gives process events in the \
                 first network namespace only"
            ),
        ),
        Refusal::Silent => (
            Absent::NotApplicable,
            "the kernel gives process events only in the initial pid and user namespaces: not in \
             a container"
                .to_owned(),
        ),
        Refusal::Denied(_) => (Absent::NoPermission, older.to_owned()),
    }
}

/// The same on every architecture.
const EPERM: i32 = 1;

/// A subscription and the task followed by it.
#[derive(Debug)]
pub struct Connector {
    subscription: Subscription,
    batch: Batch,
    pending: Vec<(Nanos, What)>,
    sequences: Sequences,
    tree: Option<Tree>,
    told: Vec<Event>,
    values: Option<ExitValues>,
    proc: PathBuf,
    command_bytes: u64,
    heard_at: Nanos,
    asked: bool,
    /// The last drain left nothing in the socket.
    caught_up: bool,
    recheck: Option<Recheck>,
    clock: Offsets,
}

/// A reading of `/proc` that is still to be done after a loss.
#[derive(Debug, Clone, Copy)]
struct Recheck {
    due: Nanos,
    left: u32,
}

/// What a read of the socket met.
#[derive(Debug, Default)]
struct Drained {
    overrun: bool,
    missing: u64,
    answered: bool,
}

impl Connector {
    /// Subscribes; `proc` is where procfs is mounted.
    ///
    /// # Errors
    /// Where this user on this kernel gets no events, in words that say what is missing.
    pub fn open(proc: &Path) -> Result<Self, Error> {
        Self::open_with_buffer(proc, BUFFER_BYTES)
    }

    fn open_with_buffer(proc: &Path, buffer_bytes: u32) -> Result<Self, Error> {
        let subscription = subscribe(buffer_bytes).map_err(|refusal| Error::Mechanism {
            mechanism: NAME,
            why: unusable(refusal).1,
        })?;
        Ok(Self {
            subscription,
            batch: Batch::default(),
            pending: Vec::new(),
            sequences: Sequences::default(),
            tree: None,
            told: Vec::new(),
            values: None,
            proc: proc.to_owned(),
            command_bytes: COMMAND_BYTES,
            heard_at: Nanos(clock::boot()),
            asked: false,
            caught_up: false,
            recheck: None,
            clock: Offsets::of_self(),
        })
    }

    /// From now on the ends of processes are told with what they had used.
    pub fn add_values(&mut self, values: ExitValues) {
        self.values = Some(values);
    }

    /// Follows the process `root`, which must have one thread and wait for its start, and
    /// everything it becomes. `adopter` is the process outside the task that its orphans go to:
    /// children that `adopter` gets from now on are of the task, so it must make none itself.
    pub fn follow(&mut self, root: u32, adopter: u32) {
        let known = procfs::read_process(&self.proc, root).map(|process| process.start);
        let start = known.unwrap_or(Nanos(clock::boot()));
        self.tree = Some(Tree::new(root, adopter, start));
        self.told.push(Event::Fork {
            at: start,
            parent: Some(adopter),
            pid: root,
            start: known,
            memory_of: None,
        });
    }

    /// Command lines are told whole, up to 128 KiB, from now on.
    pub(crate) fn tell_whole_commands(&mut self) {
        self.command_bytes = WHOLE_BYTES;
    }

    /// Whether the ends of processes are told with what they had used.
    pub fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// How often records of what processes had used were lost, each time at least one. Those that
    /// lived then have no values at their end.
    pub fn values_lost(&self) -> u64 {
        self.values.as_ref().map_or(0, ExitValues::lost)
    }

    /// How many processes and threads the task has and had; all 0 before [`Connector::follow`].
    pub fn counts(&self) -> Counts {
        self.tree.as_ref().map(Tree::counts).unwrap_or_default()
    }

    /// The task's living processes, once followed.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Whether the last reading took all that had happened before it.
    pub fn caught_up(&self) -> bool {
        self.caught_up
    }

    /// Takes the messages that wait, at most [`MESSAGES_MAX`], to `pending`.
    fn drain(&mut self) -> Result<Drained, Error> {
        let mut drained = Drained::default();
        let boot = clock::boot();
        let monotonic = self.clock.kernel_monotonic(clock::now(Clock::Monotonic));
        let asleep = self.clock.kernel_boot(boot).saturating_sub(monotonic);
        self.caught_up = false;
        while self.pending.len() < MESSAGES_MAX {
            match self.subscription.receive(&mut self.batch).map_err(broken)? {
                Taken::Nothing => {
                    self.caught_up = true;
                    break;
                }
                Taken::Overrun => drained.overrun = true,
                Taken::Messages(_) => {
                    self.heard_at = Nanos(boot);
                    for message in self.batch.datagrams().filter_map(Message::decode) {
                        drained.answered |= self.subscription.is_answer(&message);
                        match self.sequences.step(message.cpu, message.sequence) {
                            Step::Double => continue,
                            Step::Next { missing } => drained.missing += missing,
                        }
                        if !matches!(message.what, What::Acknowledged(_) | What::Other) {
                            let at = message.at_monotonic_ns.saturating_add(asleep);
                            let at = Nanos(self.clock.boot(at));
                            self.pending.push((at, message.what));
                        }
                    }
                }
            }
        }
        Ok(drained)
    }

    /// Applies what was drained, in the order of the kernel's clock.
    fn apply(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        if let Some(values) = self.values.as_mut() {
            values.drain()?;
        }
        let first = sink.len();
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|(at, _)| *at);
        if let Some(tree) = self.tree.as_mut() {
            // What has ended in the same breath has no command line left to read.
            let ended: HashSet<u32> = pending
                .iter()
                .filter_map(|(_, what)| match what {
                    What::Exit {
                        process, thread, ..
                    } if process == thread => Some(*process),
                    _ => None,
                })
                .collect();
            for (at, what) in &pending {
                sink.extend(tell(
                    tree,
                    (&self.proc, self.command_bytes),
                    &ended,
                    *at,
                    *what,
                ));
            }
        }
        pending.clear();
        self.pending = pending;
        if let (Some(values), Some(tree)) = (self.values.as_mut(), self.tree.as_ref()) {
            values.complete(sink.get_mut(first..).unwrap_or_default());
            values.keep(tree.pids());
        }
        Ok(())
    }

    /// Puts a fresh subscription in the place of the old one. What both heard is told apart by
    /// sequence numbers.
    fn renew(&mut self) -> Result<u64, Error> {
        let fresh = self
            .subscription
            .renew()
            .map_err(|refusal| Error::Mechanism {
                mechanism: NAME,
                why: unusable(refusal).1,
            })?;
        let mut missing = self.drain()?.missing;
        self.subscription = fresh;
        missing += self.drain()?.missing;
        self.asked = false;
        Ok(missing)
    }

    /// Reads the task's processes from `/proc` and corrects the tree.
    pub(crate) fn resync(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        let Some(tree) = self.tree.as_mut() else {
            return Ok(());
        };
        let members = tree.remaining(|pid| procfs::read_process(&self.proc, pid));
        let mut seeds: Vec<u32> = members.iter().map(|member| member.pid).collect();
        if tree.adopter() != 0 {
            seeds.push(tree.adopter());
        }
        let mut found = procfs::descendants(&self.proc, &seeds)?;
        found.extend(members);
        sink.extend(tree.resync(Nanos(clock::boot()), &found));
        Ok(())
    }

    /// After a loss: a new subscription, the loss told, the tree corrected, another look soon.
    fn recover(&mut self, missing: u64, sink: &mut Vec<Event>) -> Result<(), Error> {
        let missing = missing + self.renew()?;
        self.apply(sink)?;
        let now = Nanos(clock::boot());
        sink.push(Event::Lost {
            at: now,
            count: missing.max(1),
        });
        self.resync(sink)?;
        self.recheck = Some(Recheck {
            due: now.plus(RECHECK),
            left: RECHECKS_MAX,
        });
        Ok(())
    }

    /// Another look at `/proc` after a loss: done when no event of the task fell into the reading.
    fn check_again(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        let now = Nanos(clock::boot());
        let Some(recheck) = self.recheck.filter(|recheck| recheck.due <= now) else {
            return Ok(());
        };
        self.resync(sink)?;
        let before = sink.len();
        let drained = self.drain()?;
        self.apply(sink)?;
        let quiet = sink.len() == before && drained.missing == 0 && !drained.overrun;
        self.recheck = (!quiet && recheck.left > 1).then_some(Recheck {
            due: now.plus(RECHECK),
            left: recheck.left - 1,
        });
        Ok(())
    }

    /// After a silence: asks whether the subscription stands; true if the last question had no
    /// answer.
    fn is_dead(&mut self, answered: bool) -> Result<bool, Error> {
        if self.asked && !answered {
            return Ok(true);
        }
        self.asked = false;
        let now = Nanos(clock::boot());
        if now.since(self.heard_at) > SILENCE {
            self.asked = self.subscription.ask().map_err(broken)?;
            self.heard_at = now;
        }
        Ok(false)
    }
}

impl Notify for Connector {
    fn name(&self) -> &'static str {
        match self.values {
            Some(_) => taskstats::MECHANISM.name,
            None => NAME,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.subscription.as_fd()
    }

    fn read(&mut self, sink: &mut Vec<Event>) -> Result<(), Error> {
        sink.append(&mut self.told);
        let drained = self.drain()?;
        self.apply(sink)?;
        if drained.overrun || drained.missing > 0 || self.is_dead(drained.answered)? {
            self.recover(drained.missing, sink)?;
        }
        self.check_again(sink)
    }
}

fn broken(source: sys::Error) -> Error {
    Error::Kernel {
        mechanism: NAME,
        source,
    }
}

/// Applies one message to the tree; an event if it concerns a process of the task.
fn tell(
    tree: &mut Tree,
    (proc, command_bytes): (&Path, u64),
    ended: &HashSet<u32>,
    at: Nanos,
    what: What,
) -> Option<Event> {
    match what {
        What::Fork {
            parent,
            process,
            thread,
        } if process == thread => tree.fork(at, parent, process),
        What::Fork { process, .. } => {
            tree.thread(at, process);
            None
        }
        What::Exec { process } => {
            if !tree.contains(process) {
                return None;
            }
            let gone = ended.contains(&process);
            let command = if gone {
                Vec::new()
            } else {
                command(proc, process, command_bytes)
            };
            Some(Event::Exec {
                at,
                pid: process,
                truncated: command.len() as u64 == command_bytes,
                command,
                path: None,
                former: None,
            })
        }
        What::Exit {
            process,
            thread,
            status,
            reaped,
        } => tree.thread_exit(ThreadEnd {
            at,
            process,
            thread,
            status,
            reaped,
        }),
        What::Acknowledged(_) | What::Other => None,
    }
}

/// The command line of `pid`, a NUL behind each argument; empty if it is gone.
fn command(proc: &Path, pid: u32, most: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    let file = File::open(proc.join(pid.to_string()).join("cmdline"));
    let read = file.and_then(|file| file.take(most).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    bytes
}

/// The last sequence number of each CPU.
#[derive(Debug, Default)]
struct Sequences(Vec<Option<u32>>);

/// What a sequence number says.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Heard before.
    Double,
    /// New, after so many that were not heard.
    Next { missing: u64 },
}

impl Sequences {
    fn step(&mut self, cpu: u32, sequence: u32) -> Step {
        let index = cpu as usize;
        if index >= CPUS_MAX {
            return Step::Next { missing: 0 };
        }
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        let Some(slot) = self.0.get_mut(index) else {
            return Step::Next { missing: 0 };
        };
        let ahead = slot.map_or(1, |last| sequence.wrapping_sub(last).cast_signed());
        if ahead <= 0 {
            return Step::Double;
        }
        *slot = Some(sequence);
        Step::Next {
            missing: u64::from(ahead.unsigned_abs() - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_for_each_cpu_and_doubles_are_known() {
        let mut sequences = Sequences::default();
        let next = |missing| Step::Next { missing };
        assert_eq!(sequences.step(1, u32::MAX - 1), next(0));
        assert_eq!(sequences.step(1, u32::MAX), next(0));
        assert_eq!(sequences.step(1, 2), next(2));
        assert_eq!(sequences.step(1, 1), Step::Double);
        assert_eq!(sequences.step(0, 77), next(0));
        assert_eq!(sequences.step(u32::MAX, 5), next(0));
    }

    #[test]
    fn a_silent_kernel_is_told_as_a_namespace() {
        let (reason, why) = unusable(Refusal::Silent);
        assert_eq!(reason, Absent::NotApplicable);
        assert!(why.contains("container"));
    }

    fn run(command: &str) -> std::process::Child {
        std::process::Command::new("/bin/sh")
            .args(["-c", command])
            .spawn()
            .unwrap()
    }

    fn read_until_quiet(connector: &mut Connector) -> Vec<Event> {
        let mut events = Vec::new();
        while connector.recheck.is_some() || events.is_empty() {
            connector.read(&mut events).unwrap();
        }
        events
    }

    #[test]
    fn a_loss_is_told_and_the_tree_put_right() {
        let mut connector = match Connector::open_with_buffer(Path::new("/proc"), 2048) {
            Ok(connector) => connector,
            Err(error) => return println!("skipped: {error}"),
        };
        let script =
            "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; sleep 60 & sleep 61 & wait";
        let mut root = run(script);
        connector.follow(root.id(), 0);
        let sleeps = || {
            let found = procfs::descendants(Path::new("/proc"), &[root.id()]).unwrap();
            found.iter().filter(|process| !process.zombie).count()
        };
        while sleeps() < 2
            || procfs::descendants(Path::new("/proc"), &[root.id()])
                .unwrap()
                .len()
                > 2
        {
            std::thread::yield_now();
        }
        let events = read_until_quiet(&mut connector);
        let lost = events
            .iter()
            .any(|event| matches!(event, Event::Lost { count, .. } if *count > 0));
        let counts = connector.counts();
        assert!(lost && !counts.exact);
        assert_eq!((counts.processes_alive, counts.threads_alive), (3, 3));
        for pid in connector.tree().unwrap().pids() {
            sys::process::kill(pid, 9).unwrap();
        }
        root.wait().unwrap();
    }
}
