//! The processes of one task: who is alive, what the ended ones used, what the passes saw.

use crate::buried::Buried;
use crate::ceiling::Ceiling;
use crate::counters;
use crate::course::later;
use crate::era::Dead;
use crate::files::FileTotals;
use crate::fold::Table;
use crate::gpu::Gpus;
use crate::growth::{self, Growth};
use crate::life::{Life, nothing, resident_peak};
use crate::machine_shared::MachineShared;
use crate::pass::{Biggest, Pass, Peak, Peaks};
use crate::resident::Resident;
use crate::series::{PROCESS_COLUMNS, Series, TASK_COLUMNS};
use crate::settings::{End, KernelCounts, Mechanism, SeriesKind, Settings};
use crate::space::Spaces;
use crate::spent::Spent;
use crate::told::Footprint;
use crate::top::Top;
use crate::unwaited::Claim;
use crate::window::Window;
use record::identity::ProcessId;
use record::sample::{Counters, GroupSample, ProcessSample, WaitTotals};
use record::unit::Nanos;
use record::value::Absent;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Passes that may miss a process, when events were lost, before it counts as gone.
const MISSED_MAX: u32 = 3;

/// By process id. The kernel gives the ids, one after another: a plain hash spreads them well.
pub(crate) type Pids<V> = HashMap<u32, V, FxBuildHasher>;

/// What is said of a task that holds an io_uring.
pub(crate) const IO_URING: &str = "io_uring";

/// One task as it is watched.
#[derive(Debug)]
pub struct Tree {
    pub(crate) settings: Settings,
    pub(crate) start: Nanos,
    pub(crate) root: u32,
    /// Boxed: a process is moved from room to room.
    pub(crate) living: Pids<Box<Life>>,
    pub(crate) leaving: Pids<Box<Life>>,
    pub(crate) leaving_order: VecDeque<(u32, Nanos)>,
    pub(crate) dead: Buried,
    pub(crate) ended: Spent,
    pub(crate) table: Table,
    pub(crate) top: Top,
    pub(crate) resident: Resident,
    pub(crate) virtual_size: Ceiling,
    pub(crate) growth: Growth,
    pub(crate) dead_unwaited: Dead,
    pub(crate) machine_shared: MachineShared,
    /// Children lived without a program of their own before they executed one.
    pub(crate) began_as_heirs: bool,
    /// Programs executed so far.
    pub(crate) images: u64,
    /// The command line of the last one.
    pub(crate) program: Arc<[u8]>,
    pub(crate) peaks: Peaks,
    pub(crate) pass: Option<Pass>,
    pub(crate) passes: u64,
    /// The highest seen so far of every counter, for the state while it runs.
    pub(crate) seen: Counters,
    pub(crate) window: Window,
    /// When somebody was seen alive last.
    pub(crate) lived_until: Nanos,
    pub(crate) series: Series,
    pub(crate) group: Option<GroupSample>,
    /// Some processes of the task are in other groups.
    pub(crate) group_left: bool,
    pub(crate) counts: Option<KernelCounts>,
    pub(crate) waited: Option<WaitTotals>,
    pub(crate) total: u64,
    pub(crate) alive_peak: Peak,
    /// When SIGKILL ended a process last, and the largest of those a moment apart.
    pub(crate) killed: (Nanos, Biggest),
    pub(crate) lost: u64,
    pub(crate) departed: Vec<String>,
    /// Some processes were waited for by nobody.
    pub(crate) auto_reaped: bool,
    pub(crate) claims: Vec<Claim>,
    /// Some processes are seen in samples and by the wait chain alone.
    pub(crate) untraced: bool,
    /// By what means the task reads and writes past `rchar` and `wchar`.
    pub(crate) io_unseen: Option<String>,
    /// Whether any process was ever read while it lived.
    pub(crate) read_any: bool,
    pub(crate) footprint: Footprint,
    pub(crate) spaces: Spaces,
    pub(crate) files: Option<FileTotals>,
    pub(crate) gpus: Gpus,
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
            root: root_pid,
            living: Pids::default(),
            leaving: Pids::default(),
            leaving_order: VecDeque::new(),
            dead: Buried::default(),
            ended: Spent::default(),
            table: Table::new(settings.max_processes, root_pid),
            top: Top::default(),
            resident: Resident::new(start),
            virtual_size: Ceiling::new(start),
            growth: Growth::new(start, settings.own_shared.0),
            dead_unwaited: Dead::default(),
            machine_shared: MachineShared::default(),
            began_as_heirs: false,
            images: 0,
            program: nothing(),
            peaks: Peaks::default(),
            pass: None,
            passes: 0,
            seen: Counters::default(),
            window: Window::new(start, settings.cpus),
            lived_until: start,
            series: Series::new(columns),
            group: None,
            group_left: false,
            counts: None,
            waited: None,
            total: 0,
            alive_peak: Peak::default(),
            killed: (start, Biggest::default()),
            lost: 0,
            departed: Vec::new(),
            auto_reaped: false,
            claims: Vec::new(),
            untraced: false,
            io_unseen: None,
            read_any: false,
            footprint: Footprint::default(),
            spaces: Spaces::default(),
            files: None,
            gpus: Gpus::default(),
            reasons: BTreeMap::new(),
        };
        tree.born(root_pid, None, start, start, false);
        tree
    }

    /// One pass over all living processes that began at `at`.
    pub fn sample(&mut self, at: Nanos, processes: &[ProcessSample]) {
        let mut pass = Pass::new(at);
        for sample in processes {
            self.take(at, sample, &mut pass);
        }
        self.miss(at);
        self.settle_claims(at);
        self.passes += 1;
        pass.of_images = self.of_images(&pass.images);
        self.peaks.pass(&pass);
        self.pass = Some(pass);
        self.advance(at);
        self.record(at);
    }

    /// A look at some of the living processes between two passes, which began at `at`. What has the
    /// id of one that has ended since the pass is none of them.
    pub fn glance(&mut self, at: Nanos, processes: &[ProcessSample]) {
        let mut some = Pass::new(at);
        for sample in processes {
            let known = self.living.get(&sample.id.pid);
            if known.is_some_and(|life| !later(sample.id.start_ns, life.start)) {
                self.take(at, sample, &mut some);
            }
        }
        self.peaks.images.raise(self.of_images(&some.images), at);
        self.peaks.hugetlb.raise(some.hugetlb, at);
    }

    fn take(&mut self, at: Nanos, sample: &ProcessSample, pass: &mut Pass) {
        let ProcessId { pid, start_ns } = sample.id;
        let told = self.settings.mechanism.tells_tree();
        let another = |life: &Life| later(start_ns, life.start) && (life.announced || !told);
        if self.living.get(&pid).is_some_and(|life| another(life)) {
            self.end_unseen(at, pid);
        }
        if !self.living.contains_key(&pid) {
            if self.is_dead(sample.id) {
                self.is_not_gone(pid);
                return;
            }
            // Where events tell who is of the task, it was read by the id of one whose end they
            // lost, which anybody on the machine may have by now.
            if told && !self.untraced && !self.living.contains_key(&sample.ppid) {
                return;
            }
            self.born(pid, Some(sample.ppid), start_ns, at, false);
        }
        let parent = self.living.get(&sample.ppid);
        let as_parent = parent.is_some_and(|parent| parent.comm == sample.comm);
        let inherited = self.inherits(pid);
        self.was_found_to_share(sample);
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        let shares = sample.memory_of.is_some() || life.space_of.is_some();
        let borrows = shares || life.borrows(at, as_parent);
        let renewed = !borrows && life.is_renewed(&sample.memory);
        if renewed {
            self.leave_heirs(at, pid);
        }
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        if renewed {
            let (size, resident) = (&mut self.virtual_size, &mut self.resident);
            life.renew(at, None, size, resident, &mut self.growth);
        }
        life.read(at, sample);
        self.read_any = true;
        self.auto_reaped |= life.sigchld_ignored && life.children > 0;
        if sample.io_uring {
            self.io_unseen.get_or_insert_with(|| IO_URING.to_owned());
        }
        if !life.zombie {
            self.lived_until = self.lived_until.max(at);
        }
        if !life.zombie && !borrows {
            let size = sample.memory.virtual_peak.max(sample.memory.virtual_size);
            // Of one that is ending its last mark is told still: it may have had more since.
            let told = sample.memory.virtual_size.and(sample.memory.virtual_peak);
            let size = size.filter(|_| told.is_some());
            let size = size.map(|b| b.0);
            settle(&mut self.virtual_size, &mut life.settled_virtual, size, at);
        }
        if !borrows {
            self.passes_on(at, pid);
            self.weigh(at, sample, inherited);
        }
        if let Some(life) = self.living.get(&pid) {
            self.peaks.process(life, at, self.settings.own_shared);
            pass.add(sample, life, borrows);
        }
    }

    fn weigh(&mut self, at: Nanos, sample: &ProcessSample, inherited: Option<u64>) {
        let Some(life) = self.living.get_mut(&sample.id.pid) else {
            return;
        };
        let faults = growth::faults(&sample.own);
        // As above.
        let told = sample.memory.rss.and(sample.memory.rss_peak);
        let mark = told.and(resident_peak(&sample.memory));
        let mark = mark.filter(|_| !life.zombie);
        self.resident
            .read(at, &mut life.resident, mark, faults, &self.growth);
        life.held.shared |= life.heirs > 0;
        self.growth
            .read(at, &mut life.held, faults, &sample.memory, inherited);
        if life.is_known() {
            self.lives_by_itself(sample.id.pid);
        }
    }

    /// Processes that the pass did not see: gone, where no event would have told.
    fn miss(&mut self, at: Nanos) {
        let told = self.settings.mechanism.tells_tree();
        if told && !self.untraced && self.lost == 0 {
            return;
        }
        let (lost, untraced) = (self.lost > 0, self.untraced);
        let mut gone = Vec::new();
        for life in self.living.values_mut() {
            let patience = match (told, lost) {
                (false, _) => 1,
                _ if untraced && !life.announced => 1,
                (true, true) => MISSED_MAX,
                (true, false) => continue,
            };
            if life.last.as_ref().is_none_or(|last| last.at < at) && life.start < at {
                life.missed += 1;
                if life.missed >= patience && life.last.is_some() {
                    gone.push(life.pid);
                }
            }
        }
        for pid in gone {
            self.end_unseen(at, pid);
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

    /// What tells of its processes.
    pub const fn mechanism(&self) -> Mechanism {
        self.settings.mechanism
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
    pub(crate) fn outliving(&self, end: &End) -> Pids<&Life> {
        if end.main.is_none() {
            return self
                .living
                .iter()
                .map(|(pid, life)| (*pid, &**life))
                .collect();
        }
        let named = end.survivors.iter();
        named
            .filter_map(|pid| Some((*pid, &**self.living.get(pid)?)))
            .collect()
    }

    /// Events and records of final values lost so far, at least.
    pub fn events_lost(&self) -> u64 {
        let values = self.counts.map_or(0, |c| c.values_lost);
        self.forks_and_ends_lost().saturating_add(values)
    }

    fn forks_and_ends_lost(&self) -> u64 {
        self.lost.max(self.counts.map_or(0, |c| c.events_lost))
    }

    /// Whether no process can have been missed.
    pub(crate) fn knows_tree(&self) -> bool {
        let told = self.settings.mechanism.tells_tree() && self.forks_and_ends_lost() == 0;
        told && !self.untraced && self.counts.is_none_or(|c| c.exact)
    }

    /// Whether the last word of processes that ended is still to come, and the wait chain has not
    /// what they used.
    pub fn lacks_finals(&self) -> bool {
        self.auto_reaped && !self.leaving.is_empty()
    }

    /// Whether each process that ended told what it used.
    pub(crate) fn knows_finals(&self) -> bool {
        self.knows_tree() && self.ended.complete("cpu_time")
    }

    /// What the mechanism counted itself, if it missed nobody.
    pub(crate) fn exact_counts(&self) -> Option<KernelCounts> {
        self.counts.filter(|c| c.exact && !self.untraced)
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
