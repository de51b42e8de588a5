//! The task's processes, kept from forks and exits as the kernel tells them.
//!
//! A process is a member if its parent is one. The *adopter* is the process outside the task that
//! waits for its orphans (the launcher): a fork that names it as parent, once the task has its
//! root, was made by a member with `CLONE_PARENT`, so the child is a member too. Dead processes
//! leave the set, so a reused pid is no member.

use super::peak::Peak;
use super::procfs::Found;
use record::event::Event;
use record::identity::{Ending, ProcessId};
use record::unit::Nanos;
use std::collections::HashMap;

/// Processes followed at once; the kernel's own bound on pids.
const MEMBERS_MAX: usize = 1 << 22;

/// How many processes and threads there are and were. Zombies do not count; main threads count as
/// threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Processes (thread groups) that ever were, the root included.
    pub processes_total: u64,
    /// Processes alive now.
    pub processes_alive: u64,
    /// The most processes alive at one instant.
    pub processes_peak: u64,
    /// When that was first reached.
    pub processes_peak_at: Nanos,
    /// What `processes_peak` is at least: less where ends were told after births that may have come
    /// after them.
    pub processes_peak_least: u64,
    /// Threads alive now.
    pub threads_alive: u64,
    /// The most threads alive at one instant.
    pub threads_peak: u64,
    /// When that was first reached.
    pub threads_peak_at: Nanos,
    /// Whether `threads_peak` is no more than that: the ends of some of these threads were told a
    /// moment after the last of them began, and may have come before.
    pub threads_at_most: bool,
    /// Nothing was missed. Otherwise the totals and peaks are lower bounds.
    pub exact: bool,
}

/// What the tree knows of one process.
#[derive(Debug, Clone, Copy)]
struct Member {
    parent: u32,
    threads: u64,
    /// How many of these were told to be about to end.
    ending: u64,
    /// Exact start, or the instant of its fork event.
    start: Nanos,
    /// Status of the main thread, if that ended before the others.
    leader_status: Option<u32>,
}

/// A thread's end as the kernel told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadEnd {
    /// When, `CLOCK_BOOTTIME`.
    pub at: Nanos,
    /// Its process.
    pub process: u32,
    /// Its own id.
    pub thread: u32,
    /// Its wait status.
    pub status: u32,
    /// Its parent had waited for it before the kernel told its end.
    pub reaped: bool,
}

/// The set of the task's processes.
#[derive(Debug)]
pub struct Tree {
    adopter: u32,
    members: HashMap<u32, Member>,
    processes: Peak,
    threads: Peak,
    total: u64,
    exact: bool,
}

impl Tree {
    /// A task whose root is `root`, one thread; `adopter` is 0 if there is none.
    pub fn new(root: u32, adopter: u32, start: Nanos) -> Self {
        let mut tree = Self {
            adopter,
            members: HashMap::new(),
            processes: Peak::default(),
            threads: Peak::default(),
            total: 0,
            exact: true,
        };
        tree.insert(start, adopter, root, 1);
        tree
    }

    /// Whether the process `pid` is a living member.
    pub fn contains(&self, pid: u32) -> bool {
        self.members.contains_key(&pid)
    }

    /// The living members, in no order.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.members.keys().copied()
    }

    /// The process outside the task that its orphans go to.
    pub fn adopter(&self) -> u32 {
        self.adopter
    }

    /// The numbers so far.
    pub fn counts(&self) -> Counts {
        let (processes_peak, processes_peak_at) = self.processes.highest();
        let (threads_peak, threads_peak_at) = self.threads.highest();
        Counts {
            processes_total: self.total,
            processes_alive: self.processes.alive(),
            processes_peak,
            processes_peak_at,
            processes_peak_least: self.processes.at_least(),
            threads_alive: self.threads.alive(),
            threads_peak,
            threads_peak_at,
            threads_at_most: self.threads.at_least() < threads_peak,
            exact: self.exact,
        }
    }

    /// From now on the numbers are lower bounds.
    pub fn missed_something(&mut self) {
        self.exact = false;
    }

    /// A new process; `Some` if it is of the task.
    pub fn fork(&mut self, at: Nanos, parent: u32, pid: u32) -> Option<Event> {
        let ours = self.contains(parent) || (parent == self.adopter && self.adopter != 0);
        (ours && self.join(at, parent, pid)).then_some(Event::Fork {
            at,
            parent: Some(parent),
            pid,
            start: None,
            memory_of: None,
        })
    }

    /// A new process that is known to be of the task, whoever its parent is; false if it was known.
    pub fn join(&mut self, at: Nanos, parent: u32, pid: u32) -> bool {
        if self.contains(pid) {
            return false;
        }
        if self.members.len() >= MEMBERS_MAX {
            self.exact = false;
            return false;
        }
        self.insert(at, parent, pid, 1);
        true
    }

    fn insert(&mut self, at: Nanos, parent: u32, pid: u32, threads: u64) {
        let member = Member {
            parent,
            threads,
            ending: 0,
            start: at,
            leader_status: None,
        };
        self.members.insert(pid, member);
        self.total += 1;
        self.processes.birth(at, parent);
        for _ in 0..threads {
            self.threads.birth(at, parent);
        }
    }

    /// A new thread of `process`.
    pub fn thread(&mut self, at: Nanos, process: u32) {
        if let Some(member) = self.members.get_mut(&process) {
            member.threads += 1;
            self.threads.birth(at, process);
        }
    }

    /// The process has no other thread left (an exec ended them without telling).
    pub fn alone(&mut self, process: u32) {
        if let Some(member) = self.members.get_mut(&process) {
            let told = member.ending + 1;
            self.threads.deaths(member.threads.saturating_sub(told));
            member.threads = 1;
            member.ending = 0;
            member.leader_status = None;
        }
    }

    /// A thread of `process`, not its last one, stopped before its end: nobody could join it yet.
    pub fn thread_ending(&mut self, process: u32) {
        if let Some(member) = self.members.get_mut(&process)
            && member.ending + 1 < member.threads
        {
            member.ending += 1;
            self.threads.deaths(1);
        }
    }

    /// A thread ended; `Some` if it was the last of a process of the task.
    pub fn thread_exit(&mut self, end: ThreadEnd) -> Option<Event> {
        let member = self.members.get_mut(&end.process)?;
        member.threads = member.threads.saturating_sub(1);
        if member.threads > 0 {
            match member.ending.checked_sub(1) {
                Some(ending) => member.ending = ending,
                None => self.threads.thread_death(end.at),
            }
            if end.thread == end.process {
                member.leader_status = Some(end.status);
            }
            return None;
        }
        let (parent, start) = (member.parent, member.start);
        let status = match (end.status, member.leader_status) {
            (0, Some(leader)) => leader,
            (status, _) => status,
        };
        self.members.remove(&end.process);
        for peak in [&mut self.processes, &mut self.threads] {
            if end.reaped && end.thread == end.process {
                peak.late_death(end.at, parent, start);
            } else {
                peak.death(end.at);
            }
        }
        let ending = Some(Ending::from_wait_status(status));
        Some(exit(end.at, end.process, ending))
    }

    /// The members that `read` finds to be the processes that they were: what has the id of one
    /// whose end was not told may be a stranger by now.
    pub fn remaining(&self, read: impl Fn(u32) -> Option<Found>) -> Vec<Found> {
        let members = self.members.iter();
        members
            .filter_map(|(pid, member)| {
                read(*pid).filter(|found| same_start(member.start, found.start))
            })
            .collect()
    }

    /// Makes the set agree with `found`: the members still there and all descendants of members and
    /// adopter. Returns what must have happened meanwhile. The numbers are lower bounds from then
    /// on.
    pub fn resync(&mut self, now: Nanos, found: &[Found]) -> Vec<Event> {
        self.exact = false;
        let alive: HashMap<u32, &Found> = found
            .iter()
            .filter(|process| process.live_threads() > 0)
            .map(|process| (process.pid, process))
            .collect();
        let mut events = Vec::new();
        let still = |pid: &u32, member: &Member| {
            alive
                .get(pid)
                .is_some_and(|process| same_start(member.start, process.start))
        };
        for (&pid, _) in self.members.iter().filter(|(pid, m)| !still(pid, m)) {
            events.push(exit(now, pid, None));
        }
        self.members.retain(|pid, member| still(pid, member));
        for process in alive.values() {
            if let Some(member) = self.members.get_mut(&process.pid) {
                member.threads = process.live_threads();
                member.ending = 0;
            } else if self.members.len() < MEMBERS_MAX {
                let (ppid, threads) = (process.ppid, process.live_threads());
                self.insert(process.start, ppid, process.pid, threads);
                events.push(Event::Fork {
                    at: process.start,
                    parent: Some(ppid),
                    pid: process.pid,
                    start: Some(process.start),
                    memory_of: None,
                });
            }
        }
        self.processes.set(now, self.members.len() as u64);
        let threads = self.members.values().map(|member| member.threads).sum();
        self.threads.set(now, threads);
        events
    }
}

/// `/proc` cuts starts to its step, and the fork event comes a little after the start that `/proc`
/// tells.
fn same_start(known: Nanos, read: Nanos) -> bool {
    let read = ProcessId::new(0, read).start_ns;
    let known = ProcessId::new(0, known).start_ns;
    let late = known.since(read);
    read <= known && late <= Nanos::from_millis(100)
}

fn exit(at: Nanos, pid: u32, ending: Option<Ending>) -> Event {
    Event::Exit {
        at,
        pid,
        ending,
        own: None,
        peaks: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(process: u32, thread: u32, status: u32) -> ThreadEnd {
        ThreadEnd {
            at: Nanos(9),
            process,
            thread,
            status,
            reaped: false,
        }
    }

    fn found(pid: u32, ppid: u32, start: u64, threads: u64) -> Found {
        Found {
            pid,
            ppid,
            start: Nanos(start),
            threads,
            zombie: false,
            exiting: false,
        }
    }

    #[test]
    fn children_of_members_and_of_the_adopter_belong_to_the_task() {
        let mut tree = Tree::new(10, 5, Nanos(1));
        assert!(tree.fork(Nanos(2), 10, 11).is_some());
        assert!(tree.fork(Nanos(3), 11, 12).is_some());
        assert!(
            tree.fork(Nanos(4), 5, 13).is_some(),
            "CLONE_PARENT of the root"
        );
        assert!(tree.fork(Nanos(5), 99, 14).is_none());
        assert!(tree.fork(Nanos(6), 10, 11).is_none(), "told twice");
        let counts = tree.counts();
        assert_eq!((counts.processes_total, counts.processes_peak), (4, 4));
        assert!(counts.exact);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let mut tree = Tree::new(10, 5, Nanos(1));
        tree.thread(Nanos(2), 10);
        assert_eq!(tree.thread_exit(end(10, 10, 3 << 8)), None);
        assert!(tree.contains(10));
        let Some(Event::Exit { ending, pid, .. }) = tree.thread_exit(end(10, 11, 0)) else {
            panic!("the last thread's end is the end of the process");
        };
        assert_eq!((ending, pid), (Some(Ending::Code(3)), 10));
        let counts = tree.counts();
        assert_eq!((counts.threads_peak, counts.threads_alive), (2, 0));
        assert_eq!(counts.processes_alive, 0);
    }

    #[test]
    fn a_thread_that_stops_before_its_end_is_over_for_whoever_joins_it() {
        for (told, most) in [(true, 2), (false, 3)] {
            let mut tree = Tree::new(10, 0, Nanos(1));
            tree.thread(Nanos(2), 10);
            if told {
                tree.thread_ending(10);
            }
            tree.thread(Nanos(3), 10);
            assert_eq!(tree.thread_exit(end(10, 11, 0)), None);
            let counts = tree.counts();
            assert_eq!((counts.threads_peak, counts.threads_alive), (most, 2));
            assert_eq!(counts.threads_at_most, !told);
        }
        let mut tree = Tree::new(10, 0, Nanos(1));
        tree.thread(Nanos(2), 10);
        (0..2).for_each(|_| tree.thread_ending(10));
        assert_eq!(
            tree.counts().threads_alive,
            1,
            "the last one ends with its process"
        );
        tree.alone(10);
        assert_eq!(tree.counts().threads_alive, 1);
        assert!(tree.thread_exit(end(10, 10, 0)).is_some());
        assert_eq!(tree.counts().threads_alive, 0);
    }

    #[test]
    fn a_child_waited_for_before_its_end_was_told_does_not_raise_the_peaks() {
        let mut tree = Tree::new(10, 0, Nanos(1));
        tree.fork(Nanos(2), 10, 11);
        tree.fork(Nanos(3), 10, 12);
        let reaped = true;
        tree.thread_exit(ThreadEnd {
            reaped,
            ..end(11, 11, 0)
        });
        let counts = tree.counts();
        assert_eq!((counts.processes_peak, counts.threads_peak), (2, 2));
    }

    #[test]
    fn a_dead_pid_is_no_member_when_it_is_used_again() {
        let mut tree = Tree::new(10, 0, Nanos(1));
        tree.fork(Nanos(2), 10, 11);
        tree.thread_exit(end(11, 11, 9));
        assert!(tree.fork(Nanos(3), 77, 11).is_none());
        assert!(tree.fork(Nanos(4), 11, 12).is_none());
        assert!(tree.fork(Nanos(4), 0, 13).is_none(), "no adopter");
    }

    #[test]
    fn after_a_loss_the_tree_agrees_with_proc() {
        let mut tree = Tree::new(10, 5, Nanos(1_000_000_000));
        tree.fork(Nanos(2_000_000_000), 10, 11);
        tree.fork(Nanos(2_000_000_000), 10, 12);
        let listing = [
            found(10, 5, 1_000_000_000, 3),
            found(12, 1, 2_500_000_000, 1),
            found(13, 10, 2_200_000_000, 1),
        ];
        let events = tree.resync(Nanos(3_000_000_000), &listing);
        assert!(tree.contains(10) && tree.contains(13) && !tree.contains(11));
        let ends = events.iter().filter(|e| matches!(e, Event::Exit { .. }));
        assert_eq!(ends.count(), 2, "11 is gone, and 12 is another process now");
        let counts = tree.counts();
        assert_eq!((counts.processes_alive, counts.threads_alive), (3, 5));
        assert!(!counts.exact);
    }

    #[test]
    fn a_stranger_with_the_id_of_a_member_is_none_of_those_that_remain() {
        let mut tree = Tree::new(10, 5, Nanos(1_000_000_000));
        tree.fork(Nanos(2_000_000_000), 10, 11);
        tree.fork(Nanos(2_000_000_000), 10, 12);
        let there = [
            found(10, 5, 1_000_000_000, 1),
            found(11, 10, 1_990_000_000, 1),
            found(12, 1, 2_500_000_000, 1),
        ];
        let read = |pid| there.iter().find(|one| one.pid == pid).cloned();
        let mut pids: Vec<_> = tree.remaining(read).iter().map(|one| one.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [10, 11]);
    }

    #[test]
    fn an_exec_leaves_one_thread() {
        let mut tree = Tree::new(10, 0, Nanos(1));
        tree.thread(Nanos(2), 10);
        tree.thread(Nanos(2), 10);
        tree.alone(10);
        assert_eq!(tree.counts().threads_alive, 1);
        assert!(tree.thread_exit(end(10, 10, 0)).is_some());
    }
}
