//! The peaks of memory: what is proven from below and from above, and what may be said of it.

use crate::growth::{self, whole::All};
use crate::life::Life;
use crate::pass::Peak;
use crate::resident::Known;
use crate::settings::End;
use crate::tree::Tree;
use record::sample::Counters;
use record::unit::{Nanos, Unit};
use record::value::{Absent, Field, Method, Number, Value};

mod needed;

/// Bounds closer than this to each other are one value, for sums of resident sets.
const RSS_SLACK: u64 = 2 << 20;

/// This part of what may have been written into memory is much of it.
const MUCH: u64 = 16;

/// A value proven from below and perhaps from above.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<u64>,
    pub(crate) upper: Option<u64>,
    pub(crate) at: Option<Nanos>,
    /// Whether the lower one is the highest of samples.
    pub(crate) sampled: bool,
    /// Whether the lower one rests on a process that was not seen near its peak.
    pub(crate) inferred: bool,
    /// Whether the upper one is what page faults brought, which holds no file pages but those that
    /// came since the last reading.
    pub(crate) by_faults: bool,
    /// The upper one, but for resident sets where they leave out what children had before their
    /// first programs.
    pub(crate) firm: Option<u64>,
    /// The highest that was counted page by page at one instant.
    pub(crate) counted: Peak,
}

impl Bounds {
    /// Takes another lower bound, reached at `peak.at`. No process is without memory: 0 is a
    /// reading that came too early or too late.
    fn raise(&mut self, peak: Peak, sampled: bool) {
        if peak.value > self.lower.or(Some(0)) {
            (self.lower, self.at, self.sampled) = (peak.value, peak.at, sampled);
            self.inferred = false;
        }
    }

    /// Takes a lower bound that is likely but not proven: it never makes an exact value.
    fn infer(&mut self, value: Option<u64>) {
        if value > self.lower {
            self.raise(timeless(value), false);
            self.inferred = true;
        }
    }

    fn cap(&mut self, upper: Option<u64>) {
        if let Some(upper) = upper {
            self.upper = Some(self.upper.map_or(upper, |old| old.min(upper)));
        }
    }
}

/// The peaks of memory of one task.
pub(crate) struct MemoryPeak<'a> {
    tree: &'a Tree,
    /// The largest process by the wait chain.
    chain: Option<u64>,
    /// What those used whom it tells of.
    waited: Option<&'a Counters>,
    rss_upper: Option<u64>,
    virtual_upper: Option<u64>,
    /// By page faults.
    own_upper: Option<u64>,
    /// At most so much can have come by page faults ever.
    most: Option<u64>,
    /// The same without huge pages.
    small: Option<u64>,
    /// All that can have come ever: by page faults, or written into files in memory.
    ever_upper: Option<u64>,
    /// At most so much memory of the task came without page faults.
    faultless: Option<u64>,
    /// At most so much is in files in memory that nobody maps.
    unmapped: u64,
    /// At most so much page cache can have been charged to a group of the task's own.
    files: Option<u64>,
    /// What was written and did not go to storage, where a group of the task's own counts.
    unstored: Option<u64>,
    /// Whether each process that ended told its own peak.
    finals: bool,
    living_read: bool,
    end: Nanos,
}

impl<'a> MemoryPeak<'a> {
    /// Gathers the bounds as of `end`.
    pub(crate) fn new(tree: &'a Tree, end: &'a End) -> Self {
        let waited = end.waited.as_ref();
        let chain = waited.and_then(|w| w.rss_peak_process).map(|b| b.0);
        let read = |life: &Life| life.last.as_ref().is_some_and(|last| last.at >= end.at);
        let survivors = tree.outliving(end);
        let living_read = survivors.values().all(|life| read(life));
        let all_told = survivors.len() == tree.living.len();
        let unsettled = |life: &Life| !read(life) || !survivors.contains_key(&life.pid);
        let mut size = tree.virtual_size.clone();
        for life in tree.living.values().filter(|life| unsettled(life)) {
            size.settle(life.settled_virtual, None);
        }
        // The chain bounds who was waited for, not who lives and was not read.
        let bound = chain.filter(|_| living_read && !tree.auto_reaped);
        let proven = |upper: Option<u64>| {
            let upper = upper.filter(|upper| *upper > 0);
            upper.filter(|_| tree.knows_tree())
        };
        let ended = tree.ended_so_far();
        let whole = living_read && tree.knows_tree();
        let faults_of_root = end.main.and_then(|main| main.faults);
        let over = end.main.is_some();
        let faults = all(tree, end, growth::faults).filter(|_| living_read);
        let own = faults.filter(|_| whole).and_then(|faults| {
            let living = tree.living.values();
            let living = living.map(|life| (&life.held, tree.inherited(life)));
            let known = All {
                faults,
                faults_of_root,
                largest: bound,
                over,
            };
            tree.growth.bound(living, &known)
        });
        let held = tree.living.values().map(|life| &life.held);
        let known = Known {
            largest: bound,
            faults_of_root,
            unread: faults.map(|faults| tree.growth.unread_of_all(held, faults)),
            over,
        };
        let living = tree.living.values().filter(|life| unsettled(life));
        let seen = living.map(|life| &life.resident);
        let rss = tree.resident.bound(seen, known, &tree.growth);
        let written = all(tree, end, |used| used.bytes_written.map(|bytes| bytes.0));
        // What was written may be shared memory, which came without a fault.
        let faultless = match tree.growth.unseen(chain) {
            0 => Some(0),
            unseen => written.map(|written| written.min(unseen)),
        };
        let most = faults.and_then(|faults| tree.growth.most(faults));
        Self {
            tree,
            chain,
            waited: waited.map(|waited| &waited.counters),
            rss_upper: proven(rss),
            virtual_upper: proven(size.bound(None)),
            own_upper: own.filter(|own| *own > 0),
            most,
            ever_upper: sum(most.filter(|_| whole), written),
            small: faults.and_then(|faults| tree.growth.pages(faults)),
            faultless: faultless.filter(|_| living_read),
            unmapped: unmapped(tree, end),
            files: files(tree, end).filter(|_| living_read),
            unstored: unstored(tree, end).filter(|_| counts_shared(tree)),
            finals: tree.knows_tree() && all_told && ended.rss.finals == ended.count,
            living_read,
            end: end.at,
        }
    }

    /// The bound by page faults.
    pub(crate) fn own_upper(&self) -> Option<u64> {
        self.own_upper
    }

    /// The sum of resident sets at one instant.
    pub(crate) fn rss(&self) -> Field {
        let bounds = self.rss_bounds();
        let source = if bounds.sampled {
            "sum of resident sets in samples"
        } else if self.tree.peaks.rss_process.value >= self.chain {
            "largest high-water mark"
        } else {
            "ru_maxrss of the wait chain"
        };
        self.field("rss_peak", bounds, RSS_SLACK, source)
    }

    fn rss_bounds(&self) -> Bounds {
        let peaks = &self.tree.peaks;
        let mut bounds = Bounds::default();
        bounds.raise(peaks.rss, true);
        bounds.raise(peaks.rss_process, false);
        bounds.raise(timeless(self.chain), false);
        bounds.upper = self
            .rss_upper
            .max(bounds.lower)
            .filter(|_| self.rss_upper.is_some());
        bounds
    }

    /// A part of the sum of resident sets at the instant of its highest sample.
    pub(crate) fn rss_part(&self, metric: &str) -> Field {
        let peaks = &self.tree.peaks;
        let part = match metric {
            "rss_peak_anon" => peaks.rss_anon,
            "rss_peak_file" => peaks.rss_file,
            _ => peaks.rss_shmem,
        };
        let at = peaks.rss.at;
        self.sampled(
            metric,
            Peak { value: part, at },
            "highest sample of the sum",
        )
    }

    /// The largest resident set of one process.
    pub(crate) fn rss_process(&self) -> Field {
        let peaks = &self.tree.peaks;
        let mut bounds = Bounds::default();
        bounds.raise(peaks.rss_process, false);
        bounds.raise(timeless(self.chain), false);
        let Some(value) = bounds.lower else {
            return Field::absent(self.why("rss_peak_process"));
        };
        let chain = self.chain.is_some() && !self.tree.auto_reaped;
        let (exact, source) = match (chain, self.finals) {
            (true, _) => (self.living_read, "ru_maxrss of the wait chain"),
            (false, true) => (self.living_read, "mm->hiwater_rss at each exit"),
            (false, false) => (false, "/proc/PID/status VmHWM in samples"),
        };
        let method = if exact { Method::Exact } else { LOWER };
        self.value("rss_peak_process", value, method, source, bounds.at)
    }

    /// The sum of address spaces.
    pub(crate) fn virtual_size(&self) -> Field {
        let peaks = &self.tree.peaks;
        let mut bounds = Bounds::default();
        bounds.raise(peaks.virtual_size, true);
        bounds.raise(peaks.virtual_process, false);
        // What is resident is mapped: samples may have come before most of it.
        let resident = self.rss_bounds().lower.filter(|rss| *rss > 0);
        let missed = resident > bounds.lower;
        bounds.raise(timeless(resident), false);
        bounds.upper = self
            .virtual_upper
            .max(bounds.lower)
            .filter(|_| self.virtual_upper.is_some());
        let source = match (missed, self.finals) {
            (true, _) => "at least what was resident",
            (false, true) => "mm->total_vm and hiwater_vm",
            (false, false) => "/proc/PID/status VmPeak in samples",
        };
        self.field("virtual_peak", bounds, RSS_SLACK, source)
    }

    /// A peak of samples alone.
    pub(crate) fn sampled(&self, metric: &str, peak: Peak, source: &str) -> Field {
        match peak.value {
            Some(value) => self.value(metric, value, self.period(), source, peak.at),
            None => Field::absent(self.why(metric)),
        }
    }

    /// A bounded peak, by the rule of the report.
    fn field(&self, metric: &str, bounds: Bounds, slack: u64, source: &str) -> Field {
        let Some(lower) = bounds.lower else {
            return Field::absent(self.why(metric));
        };
        let (value, method) = match bounds.upper {
            None if bounds.sampled => (lower, self.period()),
            None => (lower, LOWER),
            Some(upper)
                if !bounds.inferred && upper.saturating_sub(lower) <= slack.max(upper / 100) =>
            {
                (upper, Method::Exact)
            }
            Some(upper) => return self.bounded(metric, bounds, upper, source),
        };
        self.value(metric, value, method, source, bounds.at)
    }

    /// Bounds that are two values.
    fn bounded(&self, metric: &str, bounds: Bounds, upper: u64, source: &str) -> Field {
        let lower = bounds.lower.unwrap_or(0);
        let near = upper <= lower.saturating_add(lower / 4);
        let method = match bounds.sampled && !near {
            true => self.period(),
            false => Method::LowerBound { upper: Some(upper) },
        };
        self.value(metric, lower, method, source, bounds.at)
    }

    fn period(&self) -> Method {
        Method::Sampled {
            period_ns: self.tree.settings.interval,
        }
    }

    fn value(
        &self,
        metric: &str,
        value: u64,
        method: Method,
        source: &str,
        at: Option<Nanos>,
    ) -> Field {
        let unit = crate::metric::metric(metric).map_or(Unit::Count, |m| m.unit);
        // A look right after the end may still have found it.
        let at = at.map(|at| at.min(self.end).since(self.tree.start));
        Field::Present(Value::new(Number::Whole(value), unit, method, source).at(at))
    }

    /// Why a metric is absent.
    pub(crate) fn why(&self, metric: &str) -> Absent {
        let told = self.tree.reasons.get(metric).copied();
        // A process that is about to end has given its memory back: it tells nothing of it.
        let met = self.tree.peaks.rss.value > Some(0);
        told.unwrap_or(if met {
            Absent::NoKernelSupport
        } else {
            Absent::Gone
        })
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one?.checked_add(other?)
}

/// At most so much page cache can have been charged for the task: it was read from storage, or
/// written.
fn files(tree: &Tree, end: &End) -> Option<u64> {
    let bytes = |used: &Counters| {
        let stored = used.disk_read?.0.saturating_add(used.disk_written?.0);
        Some(stored.saturating_add(used.bytes_written?.0))
    };
    all(tree, end, bytes)
}

/// A total of the task: who was waited for, and who lives on.
fn all(tree: &Tree, end: &End, get: fn(&Counters) -> Option<u64>) -> Option<u64> {
    let waited = end.waited.filter(|_| !tree.auto_reaped)?;
    let outliving = tree.outliving(end);
    let living = outliving
        .values()
        .map(|life| get(&life.last.as_ref()?.with_children));
    living
        .chain([get(&waited.counters)])
        .try_fold(0u64, |sum, part| Some(sum.saturating_add(part?)))
}

/// At most so much did the task put into files in memory that nobody maps: what a group of its own
/// counted in samples, else what the machine's shared memory grew by. Where that is much of what
/// was written and did not go to storage, it may be all of it, some of which came and went between
/// two looks. Where others gave back much, so much of it may not be seen.
fn unmapped(tree: &Tree, end: &End) -> u64 {
    let in_group = counts_shared(tree);
    let of_group = tree.peaks.group_shared;
    let (beside, grown) = match in_group {
        true => (0, of_group),
        false => (of_group, tree.machine_shared.grown()),
    };
    let fell = tree.machine_shared.fell();
    match unstored(tree, end) {
        // What is in the group is the task's, whoever wrote it.
        Some(written) if grown >= written / MUCH && in_group => grown.max(written),
        Some(written) if grown >= written / MUCH => beside.saturating_add(written),
        Some(written) if fell >= written / MUCH && !in_group => {
            beside.saturating_add(written.min(grown.saturating_add(fell)))
        }
        _ => beside.saturating_add(grown),
    }
}

/// Whether a group of the task's own, and the whole of it, counts files in memory.
fn counts_shared(tree: &Tree) -> bool {
    tree.whole_group()
        .is_some_and(|group| group.shared.is_some())
}

/// What was written and did not go to storage; not all of what a ring writes is in the sum.
fn unstored(tree: &Tree, end: &End) -> Option<u64> {
    let written = all(tree, end, |used| {
        let stored = used.disk_written.map_or(0, |bytes| bytes.0);
        Some(used.bytes_written?.0.saturating_sub(stored))
    });
    written.filter(|_| tree.io_unseen.is_none())
}

const LOWER: Method = Method::LowerBound { upper: None };

fn timeless(value: Option<u64>) -> Peak {
    Peak { value, at: None }
}
