//! What events do to the processes of a task: born, executed, ended, and buried with what they
//! used.

use crate::growth;
use crate::life::{Life, nothing};
use crate::pass::Biggest;
use crate::settings::Mechanism;
use crate::spent::Spent;
use crate::top::{Candidate, Top};
use crate::tree::Tree;
use crate::window::SECOND;
use record::event::{Event, Former};
use record::identity::{Ending, ProcessId};
use record::sample::{Counters, MemoryPeaks};
use record::unit::Nanos;
use std::sync::Arc;

/// Ended processes that wait for their last CPU time.
const LEAVING_MAX: usize = 4096;

/// What the kernel ends processes by for want of memory.
const SIGKILL: u8 = 9;

/// What one look finds to be gone is told within less.
const TOGETHER: Nanos = Nanos(10_000_000);

/// Two starts of one process as different sources tell them differ by less.
const START_SLACK: Nanos = Nanos(30_000_000);

impl Tree {
    /// Something happened. Events come in the order of the kernel's clock.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Fork {
                at,
                parent,
                pid,
                start,
                memory_of,
            } => {
                self.fork(at, parent, pid, start);
                if let Some(owner) = memory_of {
                    self.shares_space(pid, owner);
                }
            }
            Event::Exec {
                at,
                pid,
                command,
                path,
                former,
                ..
            } => {
                let named = !command.is_empty();
                let told = Some(command).filter(|_| named).or(path);
                self.exec(at, pid, &told.unwrap_or_default(), former);
            }
            Event::Exit {
                at,
                pid,
                ending,
                own,
                peaks,
            } => self.exit(at, pid, ending, own, peaks),
            Event::Final { pid, start, cpu_ns } => self.last_cpu(pid, start, cpu_ns),
            Event::Lost { count, .. } => self.lost = self.lost.saturating_add(count),
        }
    }

    fn fork(&mut self, at: Nanos, parent: Option<u32>, pid: u32, start: Option<Nanos>) {
        let start = start.unwrap_or(at);
        if let Some(known) = self.living.get(&pid) {
            if !known.announced {
                // A sample was quicker than the event.
                self.announce(pid, parent, start);
                return;
            }
            // The pid is used again: the end of the process before was lost.
            self.end_unseen(at, pid);
        }
        self.born(pid, parent, start, at, true);
    }

    fn announce(&mut self, pid: u32, parent: Option<u32>, start: Nanos) {
        self.lives_by_itself(pid);
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        life.announced = true;
        life.parent = parent.or(life.parent);
        life.start = life.start.min(start);
        if !life.is_known() {
            let parent = life.parent;
            self.is_heir_of(pid, parent);
        }
    }

    pub(crate) fn born(
        &mut self,
        pid: u32,
        parent: Option<u32>,
        start: Nanos,
        at: Nanos,
        announced: bool,
    ) {
        let mut command = nothing();
        let mut image = None;
        if let Some(parent) = parent.and_then(|p| self.living.get_mut(&p)) {
            command = Arc::clone(&parent.command);
            // Without its fork it may be older than the parent's program.
            image = parent.image.filter(|_| announced);
            parent.children += 1;
            self.auto_reaped |= parent.sigchld_ignored;
        }
        let start = start.max(self.start);
        let mut life = Life::new(pid, parent, start, command);
        life.announced = announced;
        life.image = image;
        life.resident = self.resident.open(start);
        self.virtual_size.open(start);
        life.held = self.growth.open(start);
        self.living.insert(pid, Box::new(life));
        self.is_heir_of(pid, parent);
        self.total += 1;
        self.alive_peak.raise(Some(self.living.len() as u64), at);
    }

    fn exec(&mut self, at: Nanos, pid: u32, command: &[u8], former: Option<Former>) {
        if !self.living.contains_key(&pid) {
            self.born(pid, None, at, at, false);
        }
        let at = at.max(self.start);
        let heir_of_space = self.hand_over_space(pid);
        self.leave_heirs(at, pid);
        self.gives_back(at, pid);
        self.leave_space(pid);
        self.lives_by_itself(pid);
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        if life.execs == 0 {
            self.began_as_heirs |= pid != self.root;
            // Until its first exec a child borrows the pages of its parent.
            self.virtual_size.forget(life.settled_virtual);
            self.virtual_size.open(at);
            life.settled_virtual = at;
            let faults = former.map(|former| former.faults);
            let (resident, growth) = (&mut self.resident, &self.growth);
            resident.begin(at, &mut life.resident, faults, growth);
            self.growth.exec(at, &mut life.held);
        } else {
            let (size, resident) = (&mut self.virtual_size, &mut self.resident);
            life.renew(at, former, size, resident, &mut self.growth);
            life.was(former);
        }
        self.images += 1;
        life.image = Some(self.images);
        // Often it is the same again, and needs no memory of its own.
        if *self.program != *command {
            self.program = Arc::from(command);
        }
        life.exec(Arc::clone(&self.program));
        self.take_over_space(at, heir_of_space);
    }

    fn exit(
        &mut self,
        at: Nanos,
        pid: u32,
        ending: Option<Ending>,
        own: Option<Box<Counters>>,
        peaks: Option<MemoryPeaks>,
    ) {
        if !self.living.contains_key(&pid) {
            if self.dead.has(pid) || self.leaving.contains_key(&pid) {
                return;
            }
            self.born(pid, None, at, at, true);
        }
        self.lived_until = self.lived_until.max(at);
        self.end(at, pid, true, ending, own, peaks);
    }

    /// It is known by `at` that the process has ended, and nothing more.
    pub(crate) fn end_unseen(&mut self, at: Nanos, pid: u32) {
        self.end(at, pid, false, None, None, None);
    }

    pub(crate) fn end(
        &mut self,
        at: Nanos,
        pid: u32,
        told: bool,
        ending: Option<Ending>,
        own: Option<Box<Counters>>,
        peaks: Option<MemoryPeaks>,
    ) {
        self.auto_reaped |= self.ends_others(at, pid, told);
        let heirs = self.living.get(&pid).is_some_and(|life| life.heirs > 0);
        let heir_of_space = self.hand_over_space(pid);
        self.leave_heirs(at.max(self.start), pid);
        self.lives_by_itself(pid);
        let in_space_of_another = self.leave_space(pid);
        let Some(mut life) = self.living.remove(&pid) else {
            return;
        };
        life.end = Some(at.max(life.start));
        life.end_told = told;
        life.ending = ending;
        let faults = own.as_deref().and_then(growth::faults);
        life.finals = own;
        life.peaks = peaks.unwrap_or_default();
        if ending == Some(Ending::Signal(SIGKILL)) {
            if at.since(self.killed.0) > SECOND {
                self.killed.1 = Biggest::default();
            }
            self.killed.0 = at;
            let most = life.rss_peak().unwrap_or(0);
            self.killed.1.raise(Some(most), &life);
        }
        let rss = life.peaks.rss.map(|b| b.0);
        if life.held.is_unseen() {
            self.resident.ended_unseen(at);
        }
        let is_root = pid == self.root;
        let size = life.peaks.virtual_size.map(|b| b.0);
        if in_space_of_another {
            self.resident.end_shared(&life.resident, faults);
            self.virtual_size.settle(life.settled_virtual, Some(0));
            self.growth.end_shared(at, &mut life.held, faults);
        } else {
            self.resident
                .end(at, &life.resident, (rss, faults), is_root, &self.growth);
            self.virtual_size.settle(life.settled_virtual, size);
            self.end_growth(at.max(self.start), &mut life, heirs);
        }
        self.take_over_space(at.max(life.start), heir_of_space);
        if !told {
            self.claim_missed(at, &life);
            if let Some(parent) = life.parent.and_then(|pid| self.living.get_mut(&pid)) {
                parent.child_gone = at;
            }
        }
        self.mourn(at, &life);
        self.peaks.process(&life, at, self.settings.own_shared);
        if self.awaits_cpu(&life) {
            self.leave(life);
        } else {
            self.retire(life);
        }
    }

    /// Whether others may have ended with `pid`, the first process of a PID namespace: nobody waits
    /// for these. They are killed, and their ends told before its own.
    pub(crate) fn ends_others(&self, at: Nanos, pid: u32, told: bool) -> bool {
        let Some(life) = self.living.get(&pid).filter(|life| life.is_init) else {
            return false;
        };
        let is_child = |other: &Life| other.parent == Some(pid) && !other.zombie;
        match told {
            true => self.killed.0 > self.start && at.since(self.killed.0) <= SECOND,
            false => {
                at.since(life.child_gone) <= TOGETHER
                    || self.living.values().any(|other| is_child(other))
            }
        }
    }

    /// What a process held of its own when it ended at `at`.
    fn end_growth(&mut self, at: Nanos, life: &mut Life, heirs: bool) {
        let inherited = self.inherited(life);
        if self.is_vague_heir(life) {
            life.held.is_more();
        }
        self.bequeath(at, life);
        let (own, rss) = (life.finals.as_deref(), life.peaks.rss.map(|b| b.0));
        if life.pid == self.root && own.is_none() && rss.is_none() {
            self.growth.end_root(at, &mut life.held, inherited, heirs);
        } else {
            self.growth
                .end(at, &mut life.held, own, rss, inherited, heirs);
        }
    }

    /// Whether the CPU time of an exit is not final without a `Final`.
    pub(crate) fn late_cpu(&self) -> bool {
        matches!(
            self.settings.mechanism,
            Mechanism::Bpf | Mechanism::Taskstats
        )
    }

    fn awaits_cpu(&self, life: &Life) -> bool {
        self.settings.mechanism == Mechanism::Bpf
            && life.cpu_final.is_none()
            && life.finals.is_some()
    }

    fn leave(&mut self, life: Box<Life>) {
        if let Some(before) = self.leaving.remove(&life.pid) {
            self.retire(before);
        }
        self.leaving_order.push_back((life.pid, life.start));
        self.leaving.insert(life.pid, life);
        while self.leaving_order.len() > LEAVING_MAX {
            let Some((pid, start)) = self.leaving_order.pop_front() else {
                return;
            };
            if self.leaving.get(&pid).is_some_and(|l| l.start == start)
                && let Some(oldest) = self.leaving.remove(&pid)
            {
                self.retire(oldest);
            }
        }
    }

    fn last_cpu(&mut self, pid: u32, start: Option<Nanos>, cpu: Nanos) {
        let same = |life: &Life| start.is_none_or(|s| apart(s, life.start) <= START_SLACK);
        if self.leaving.get(&pid).is_some_and(|life| same(life))
            && let Some(mut life) = self.leaving.remove(&pid)
        {
            life.cpu_final = Some(cpu);
            self.retire(life);
        } else if let Some(life) = self.living.get_mut(&pid)
            && same(life)
        {
            life.cpu_final = Some(cpu);
        }
    }

    /// Nothing more will be learnt of it: its numbers go into the sums.
    fn retire(&mut self, life: Box<Life>) {
        let late_cpu = self.late_cpu();
        self.ended.add(&life.spent(late_cpu));
        offer(&mut self.top, &life);
        self.dead.add(life.pid, life.start);
        if self.settings.keep_processes {
            let parent = life.parent.and_then(|p| self.living.get(&p));
            let command = parent.map_or_else(nothing, |p| p.command.clone());
            self.table.push(life, command, late_cpu);
        }
    }

    pub(crate) fn is_dead(&self, id: ProcessId) -> bool {
        let of = |start: Nanos| !later(id.start_ns, start);
        self.dead.start(id.pid).is_some_and(of)
            || self.leaving.get(&id.pid).is_some_and(|l| of(l.start))
    }

    /// Whether the process `pid`, which began at `start` if that is told, is or was of the task, as
    /// far as ended ones are remembered.
    pub fn knows(&self, pid: u32, start: Option<Nanos>) -> bool {
        let ended = self.leaving.get(&pid).map(|life| life.start);
        let starts = [
            self.living.get(&pid).map(|life| life.start),
            ended.or_else(|| self.dead.start(pid)),
        ];
        let mut starts = starts.into_iter().flatten();
        starts.any(|known| start.is_none_or(|start| !later(start, known)))
    }

    /// What ended processes used, those that still wait for their last CPU time included.
    pub(crate) fn ended_so_far(&self) -> Spent {
        let mut ended = self.ended.clone();
        for life in self.leaving.values() {
            ended.add(&life.spent(self.late_cpu()));
        }
        ended
    }

    /// Everyone who has ended goes into the sums and the table.
    pub(crate) fn retire_all(&mut self) {
        let mut rest: Vec<_> = self.leaving.drain().map(|(_, life)| life).collect();
        rest.sort_by_key(|life| (life.start, life.pid));
        for life in rest {
            self.retire(life);
        }
    }
}

pub(crate) fn offer(top: &mut Top, life: &Life) {
    let (cpu, rss) = (life.cpu(), life.rss_peak());
    top.offer(cpu, rss, || Candidate {
        pid: life.pid,
        command: Arc::clone(&life.command),
        cpu,
        rss,
    });
}

/// Whether a process that began at `start` is another than the one of the same id that was told to
/// have begun at `known`: an event may tell late, and an id is given away only after an end.
pub(crate) fn later(start: Nanos, known: Nanos) -> bool {
    start > known.plus(START_SLACK)
}

fn apart(a: Nanos, b: Nanos) -> Nanos {
    Nanos(a.0.abs_diff(b.0))
}
