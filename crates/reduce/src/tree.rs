//! The processes of one task: who is alive, what the ended ones used, what the passes saw.

use crate::ceiling::Ceiling;
use crate::counters;
use crate::fold::Table;
use crate::life::{Life, resident_peak};
use crate::pass::{Pass, Peak, Peaks};
use crate::series::{PROCESS_COLUMNS, Series, TASK_COLUMNS};
use crate::settings::{End, GpuTotals, KernelCounts, Mechanism, SeriesKind, Settings};
use crate::spent::Spent;
use crate::told::Footprint;
use crate::top::{Candidate, Top};
use crate::window::Window;
use record::event::Event;
use record::identity::{Ending, ProcessId};
use record::sample::{Counters, GroupSample, MemoryPeaks, ProcessSample, WaitTotals};
use record::unit::Nanos;
use record::value::Absent;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Ended processes that wait for their last CPU time.
const LEAVING_MAX: usize = 4096;

/// Ended processes that a late sample must not bring back.
const DEAD_MAX: usize = 8192;

/// Passes that may miss a process, when events were lost, before it counts as gone.
const MISSED_MAX: u32 = 3;

/// Two starts of one process as different sources tell them differ by less.
const START_SLACK: Nanos = Nanos(30_000_000);

/// One task as it is watched.
#[derive(Debug)]
pub struct Tree {
    pub(crate) settings: Settings,
    pub(crate) start: Nanos,
    pub(crate) living: HashMap<u32, Life>,
    leaving: HashMap<u32, Life>,
    leaving_order: VecDeque<(u32, Nanos)>,
    dead: HashMap<u32, Nanos>,
    dead_order: VecDeque<(u32, Nanos)>,
    pub(crate) ended: Spent,
    pub(crate) table: Table,
    pub(crate) top: Top,
    pub(crate) rss: Ceiling,
    pub(crate) virtual_size: Ceiling,
    pub(crate) peaks: Peaks,
    pub(crate) pass: Option<Pass>,
    pub(crate) passes: u64,
    /// The highest seen so far of every counter, for the state while it runs.
    pub(crate) seen: Counters,
    pub(crate) window: Window,
    pub(crate) series: Series,
    pub(crate) group: Option<GroupSample>,
    pub(crate) counts: Option<KernelCounts>,
    pub(crate) waited: Option<WaitTotals>,
    pub(crate) total: u64,
    pub(crate) alive_peak: Peak,
    pub(crate) lost: u64,
    pub(crate) departed: Vec<String>,
    pub(crate) auto_reaped: bool,
    pub(crate) footprint: Footprint,
    pub(crate) gpu: Result<GpuTotals, Absent>,
    pub(crate) reasons: BTreeMap<&'static str, Absent>,
}

impl Tree {
    /// A task whose root process `root_pid` began at `start`.
    pub fn new(start: Nanos, root_pid: u32, settings: Settings) -> Self {
        let columns = match settings.keep_series {
            SeriesKind::Process => PROCESS_COLUMNS,
            SeriesKind::Off | SeriesKind::Task => TASK_COLUMNS,
        };
        let mut tree = Self {
            settings,
            start,
            living: HashMap::new(),
            leaving: HashMap::new(),
            leaving_order: VecDeque::new(),
            dead: HashMap::new(),
            dead_order: VecDeque::new(),
            ended: Spent::default(),
            table: Table::new(settings.max_processes),
            top: Top::default(),
            rss: Ceiling::new(start),
            virtual_size: Ceiling::new(start),
            peaks: Peaks::default(),
            pass: None,
            passes: 0,
            seen: Counters::default(),
            window: Window::new(start),
            series: Series::new(columns),
            group: None,
            counts: None,
            waited: None,
            total: 0,
            alive_peak: Peak::default(),
            lost: 0,
            departed: Vec::new(),
            auto_reaped: false,
            footprint: Footprint::default(),
            gpu: Err(Absent::Off),
            reasons: BTreeMap::new(),
        };
        tree.born(root_pid, None, start, start, false);
        tree
    }

    /// Something happened. Events come in the order of the kernel's clock.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Fork {
                at,
                parent,
                pid,
                start,
            } => self.fork(*at, *parent, *pid, *start),
            Event::Exec {
                at,
                pid,
                command,
                path,
                ..
            } => self.exec(*at, *pid, command, path.as_deref()),
            Event::Exit {
                at,
                pid,
                ending,
                own,
                peaks,
            } => self.exit(*at, *pid, *ending, own.as_deref(), *peaks),
            Event::Final { pid, start, cpu_ns } => self.last_cpu(*pid, *start, *cpu_ns),
            Event::Lost { count, .. } => self.lost = self.lost.saturating_add(*count),
        }
    }

    fn fork(&mut self, at: Nanos, parent: Option<u32>, pid: u32, start: Option<Nanos>) {
        let start = start.unwrap_or(at);
        if let Some(known) = self.living.get_mut(&pid) {
            if !known.announced {
                // A sample was quicker than the event.
                known.announced = true;
                known.parent = parent.or(known.parent);
                known.start = known.start.min(start);
                return;
            }
            // The pid is used again: the end of the process before was lost.
            self.end(at, pid, None, None, None);
        }
        self.born(pid, parent, start, at, true);
    }

    fn born(&mut self, pid: u32, parent: Option<u32>, start: Nanos, at: Nanos, announced: bool) {
        let command = parent
            .and_then(|p| self.living.get(&p))
            .map_or_else(|| Arc::from([].as_slice()), |p| Arc::clone(&p.command));
        let start = start.max(self.start);
        let mut life = Life::new(pid, parent, start, command);
        life.announced = announced;
        self.rss.open(start);
        self.virtual_size.open(start);
        self.living.insert(pid, life);
        self.total += 1;
        self.alive_peak.raise(Some(self.living.len() as u64), at);
    }

    fn exec(&mut self, at: Nanos, pid: u32, command: &[u8], path: Option<&[u8]>) {
        if !self.living.contains_key(&pid) {
            self.born(pid, None, at, at, false);
        }
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        let at = at.max(self.start);
        if life.execs == 0 {
            // Until its first exec a child borrows the pages of its parent.
            self.rss.forget(life.settled_rss);
            self.virtual_size.forget(life.settled_virtual);
        } else {
            self.rss.settle(life.settled_rss, None);
            self.virtual_size.settle(life.settled_virtual, None);
        }
        self.rss.open(at);
        self.virtual_size.open(at);
        (life.settled_rss, life.settled_virtual) = (at, at);
        life.exec(command, path);
    }

    fn exit(
        &mut self,
        at: Nanos,
        pid: u32,
        ending: Option<Ending>,
        own: Option<&Counters>,
        peaks: Option<MemoryPeaks>,
    ) {
        if !self.living.contains_key(&pid) {
            if self.dead.contains_key(&pid) || self.leaving.contains_key(&pid) {
                return;
            }
            self.born(pid, None, at, at, true);
        }
        self.end(at, pid, ending, own, peaks);
    }

    fn end(
        &mut self,
        at: Nanos,
        pid: u32,
        ending: Option<Ending>,
        own: Option<&Counters>,
        peaks: Option<MemoryPeaks>,
    ) {
        let Some(mut life) = self.living.remove(&pid) else {
            return;
        };
        life.end = Some(at.max(life.start));
        life.ending = ending;
        life.finals = own.map(|own| Box::new(*own));
        life.peaks = peaks.unwrap_or_default();
        let rss = life.peaks.rss.map(|b| b.0);
        self.rss.settle(life.settled_rss, rss);
        let size = life.peaks.virtual_size.map(|b| b.0);
        self.virtual_size.settle(life.settled_virtual, size);
        self.peaks.process(&life, at);
        if self.awaits_cpu(&life) {
            self.leave(life);
        } else {
            self.retire(life);
        }
    }

    /// Whether the CPU time of an exit is not final without a `Final`.
    pub(crate) fn late_cpu(&self) -> bool {
        self.settings.mechanism == Mechanism::Bpf
    }

    fn awaits_cpu(&self, life: &Life) -> bool {
        self.late_cpu() && life.cpu_final.is_none() && life.finals.is_some()
    }

    fn leave(&mut self, life: Life) {
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
        if self.leaving.get(&pid).is_some_and(same)
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
    fn retire(&mut self, life: Life) {
        let late_cpu = self.late_cpu();
        self.ended.add(&life.spent(late_cpu));
        self.top.offer(candidate(&life));
        self.bury(life.pid, life.start);
        if self.settings.keep_processes {
            let parent = life.parent.and_then(|p| self.living.get(&p));
            let command = parent.map_or_else(|| Arc::from([].as_slice()), |p| p.command.clone());
            self.table.push(life, command, late_cpu);
        }
    }

    fn bury(&mut self, pid: u32, start: Nanos) {
        self.dead.insert(pid, start);
        self.dead_order.push_back((pid, start));
        while self.dead_order.len() > DEAD_MAX {
            let Some((pid, start)) = self.dead_order.pop_front() else {
                return;
            };
            if self.dead.get(&pid) == Some(&start) {
                self.dead.remove(&pid);
            }
        }
    }

    fn is_dead(&self, id: ProcessId) -> bool {
        let of = |start: Nanos| apart(start, id.start_ns) <= START_SLACK;
        self.dead.get(&id.pid).is_some_and(|s| of(*s))
            || self.leaving.get(&id.pid).is_some_and(|l| of(l.start))
    }

    /// One pass over all living processes that began at `at`.
    pub fn sample(&mut self, at: Nanos, processes: &[ProcessSample]) {
        let mut pass = Pass::new(at);
        for sample in processes {
            self.take(at, sample, &mut pass);
        }
        self.miss(at);
        self.passes += 1;
        self.peaks.pass(&pass);
        self.pass = Some(pass);
        self.advance(at);
        self.record(at);
    }

    fn take(&mut self, at: Nanos, sample: &ProcessSample, pass: &mut Pass) {
        let ProcessId { pid, start_ns } = sample.id;
        let another = |life: &Life| apart(life.start, start_ns) > START_SLACK && life.announced;
        if self.living.get(&pid).is_some_and(another) {
            self.end(at, pid, None, None, None);
        }
        if !self.living.contains_key(&pid) {
            if self.is_dead(sample.id) {
                return;
            }
            self.born(pid, Some(sample.ppid), start_ns, at, false);
        }
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        life.read(at, sample);
        if !life.zombie {
            let size = sample.memory.virtual_peak.max(sample.memory.virtual_size);
            let rss = resident_peak(&sample.memory).filter(|_| sample.memory.rss_peak.is_some());
            settle(&mut self.rss, &mut life.settled_rss, rss, at);
            let size = size.filter(|_| sample.memory.virtual_peak.is_some());
            let size = size.map(|b| b.0);
            settle(&mut self.virtual_size, &mut life.settled_virtual, size, at);
        }
        self.peaks.process(life, at);
        pass.add(sample, life);
    }

    /// Processes that the pass did not see: gone, where no event would have told.
    fn miss(&mut self, at: Nanos) {
        let patience = if !self.settings.mechanism.tells_tree() {
            1
        } else if self.lost > 0 {
            MISSED_MAX
        } else {
            return;
        };
        let mut gone = Vec::new();
        for life in self.living.values_mut() {
            if life.last.is_none_or(|last| last.at < at) && life.start < at {
                life.missed += 1;
                if life.missed >= patience && life.last.is_some() {
                    gone.push(life.pid);
                }
            }
        }
        for pid in gone {
            self.end(at, pid, None, None, None);
        }
    }

    /// Brings the running totals up to the last pass.
    pub(crate) fn advance(&mut self, at: Nanos) {
        let Some(pass) = &self.pass else {
            return;
        };
        let mut chain = pass.with_children;
        if let Some(waited) = &self.waited {
            counters::add(&mut chain, &counters::with_cpu(&waited.counters));
        }
        let mut finals = self.ended_so_far().own;
        counters::add(&mut finals, &pass.own);
        counters::raise(&mut self.seen, &chain);
        counters::raise(&mut self.seen, &finals);
        if let Some(cpu) = self.seen.cpu {
            self.window.push(at, cpu);
        }
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

    /// The processes to sample.
    pub fn alive(&self) -> Vec<u32> {
        let mut pids: Vec<_> = self.living.keys().copied().collect();
        pids.sort_unstable();
        pids
    }

    /// The command line of a living process, for people.
    pub fn command(&self, pid: u32) -> Option<String> {
        Some(crate::life::line(&self.living.get(&pid)?.command))
    }

    /// Who lives on at `end`: those named, or everyone alive while the main process still runs.
    pub(crate) fn outliving(&self, end: &End) -> HashMap<u32, &Life> {
        if end.main.is_none() {
            return self.living.iter().map(|(pid, life)| (*pid, life)).collect();
        }
        let named = end.survivors.iter();
        named
            .filter_map(|pid| Some((*pid, self.living.get(pid)?)))
            .collect()
    }

    /// Events lost so far, at least.
    pub fn events_lost(&self) -> u64 {
        self.lost.max(self.counts.map_or(0, |c| c.events_lost))
    }

    /// Whether no process can have been missed.
    pub(crate) fn knows_tree(&self) -> bool {
        let told = self.settings.mechanism.tells_tree() && self.events_lost() == 0;
        told && self.counts.is_none_or(|c| c.exact)
    }
}

fn settle(ceiling: &mut Ceiling, settled: &mut Nanos, peak: Option<u64>, at: Nanos) {
    if let Some(peak) = peak
        && at > *settled
    {
        ceiling.settle_until(*settled, at, peak);
        *settled = at;
    }
}

pub(crate) fn candidate(life: &Life) -> Candidate {
    Candidate {
        pid: life.pid,
        command: Arc::clone(&life.command),
        cpu: life.cpu(),
        rss: life.rss_peak(),
    }
}

fn apart(a: Nanos, b: Nanos) -> Nanos {
    Nanos(a.0.abs_diff(b.0))
}
