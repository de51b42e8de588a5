//! The totals of the task and how each is known: wait chain, final values, or samples.

use crate::counters::{self, CounterField, FIELDS};
use crate::settings::{End, Mechanism};
use crate::spent::Spent;
use crate::tree::Tree;
use record::sample::Counters;
use record::unit::{Nanos, Unit};
use record::value::{Absent, Field, Method, Number, Value};

/// Two totals of the same CPU time by different clocks differ by less than this share.
const TIME_SLACK_SHARE: u64 = 100;

/// And by less than this.
const TIME_SLACK: u64 = 2_000_000;

/// What `getrusage` cuts off: user and system time are told in whole microseconds.
const RUSAGE_CUT: u64 = 2_000;

/// The wait chain of a traced task may have more than the sum of its processes by this much CPU
/// time, or by this part of it, whichever is more: an end takes time after it was last read.
const UNTRACED_TIME: u64 = 10_000_000;
const UNTRACED_TIME_PART: u64 = 20;

/// By so many page faults and one for each process.
const UNTRACED_FAULTS: u64 = 16;

/// And by so many bytes written for each process: its record in the system's process accounting.
const ACCOUNTED: u64 = 128;

/// The wait chain has passed some processes by where it has less than what was seen of all by more
/// than this, and by more than this part: two files of one process are not read at one instant.
const MISSED: [(&str, u64); 5] = [
    ("cpu_time", 10_000_000),
    ("faults_minor", 64),
    ("bytes_read", 1 << 18),
    ("bytes_written", 1 << 18),
    ("reads", 64),
];
const MISSED_PART: u64 = 20;

/// What a stop for a tracer counts as.
const SWITCHES: &str = "switches_voluntary";

const LOWER: Method = Method::LowerBound { upper: None };

/// Everything the totals are made of, gathered once.
pub(crate) struct Totals<'a> {
    tree: &'a Tree,
    ended: Spent,
    /// Everyone whose end was not told, by themselves.
    own: Counters,
    /// Survivors, with their waited-for children.
    with_children: Counters,
    /// Whether every survivor was read after the end.
    living_read: bool,
    survivors: usize,
    /// Voluntary switches that were stops for a tracer: the wait chain and what is read of the
    /// living with their children have them.
    stops: u64,
    chain: Option<Counters>,
}

impl<'a> Totals<'a> {
    /// Gathers the parts as of `end`.
    pub(crate) fn new(tree: &'a Tree, end: &End) -> Self {
        let (mut own, mut with_children) = (Counters::default(), Counters::default());
        let mut living_read = true;
        let outliving = tree.outliving(end);
        for life in outliving.values() {
            living_read &= life.last.as_ref().is_some_and(|last| last.at >= end.at);
            let last = life.last.as_ref().map(|last| last.with_children);
            counters::add(&mut with_children, &last.unwrap_or_default());
        }
        for life in tree.living.values() {
            let last = life.last.as_ref().map(|last| last.own);
            counters::add(&mut own, &last.unwrap_or_default());
        }
        let chain = end.waited.map(|w| counters::with_cpu(&w.counters));
        let stops = tree.counts.map_or(0, |counts| counts.stops);
        let stops_living = tree.counts.map_or(0, |counts| counts.stops_living);
        let own_switches = |all: u64| all.saturating_sub(stops_living);
        own.switches_voluntary = own.switches_voluntary.map(own_switches);
        Self {
            tree,
            ended: tree.ended_so_far(),
            own,
            with_children,
            living_read,
            survivors: outliving.len(),
            stops,
            chain,
        }
    }

    /// The field of one counter.
    pub(crate) fn field(&self, field: &CounterField) -> Field {
        match field.metric {
            "cpu_user" | "cpu_system" => self.cpu_part(field),
            _ => self.total(field),
        }
    }

    fn total(&self, field: &CounterField) -> Field {
        let finals = self.finals(field);
        if let Some(chain) = self.chain.as_ref().and_then(|c| (field.get)(c)) {
            return self.by_chain(field, chain, finals);
        }
        if let Some(finals) = finals {
            let source = "sum of the final values of every process";
            return present(field, finals, Method::Exact, source);
        }
        self.by_samples(field)
    }

    /// A part of the CPU time: by the wait chain where that has the whole, and always such that
    /// both parts add up to it.
    fn cpu_part(&self, field: &CounterField) -> Field {
        let (Some(cpu), Some((ticks, from))) = (self.cpu(), self.ticks()) else {
            return self.total(field);
        };
        let (Number::Whole(total), Some(user), Some(system)) =
            (cpu.value, ticks.cpu_user, ticks.cpu_system)
        else {
            return Field::absent(self.why(field.metric));
        };
        let (user_part, system_part) = counters::split(Nanos(total), user, system);
        let part = match field.metric {
            "cpu_user" => user_part,
            _ => system_part,
        };
        if (user_part, system_part) == (user, system) {
            return present(field, part.0, cpu.method, &cpu.source);
        }
        let source = format!("cpu_time, split as {from}");
        present(field, part.0, cpu.method, &source)
    }

    /// User and system time as the kernel splits them by ticks, and who told.
    fn ticks(&self) -> Option<(Counters, &'static str)> {
        let parts = |c: &Counters| c.cpu_user.is_some() && c.cpu_system.is_some();
        if let Some(mut chain) = self.chain.filter(parts) {
            counters::add(&mut chain, &self.with_children);
            return Some((chain, "the wait chain splits it"));
        }
        let sampled = self.sampled();
        parts(&sampled).then_some((sampled, "clock ticks of each process tell"))
    }

    /// The CPU time and how it is known.
    pub(crate) fn cpu(&self) -> Option<Value> {
        let cpu = FIELDS.first().map(|field| self.field(field));
        cpu.and_then(|field| field.value().cloned())
    }

    /// The sum over every process of its own final value, if nothing is missing.
    fn finals(&self, field: &CounterField) -> Option<u64> {
        let living = (field.get)(&self.own);
        // One that is neither ended nor a survivor ended unseen.
        let all_told = self.tree.living.len() == self.survivors;
        let known = self.tree.knows_tree()
            && self.ended.complete(field.metric)
            && all_told
            && (self.survivors == 0 || self.living_read && living.is_some());
        let ended = (field.get)(&self.ended.own);
        let sum = ended.unwrap_or(0).saturating_add(living.unwrap_or(0));
        (known && (ended.is_some() || living.is_some())).then_some(sum)
    }

    fn by_chain(&self, field: &CounterField, chain: u64, finals: Option<u64>) -> Field {
        let living = (field.get)(&self.with_children);
        let mut total = chain.saturating_add(living.unwrap_or(0));
        if field.metric == SWITCHES {
            total = total.saturating_sub(self.stops);
        }
        let mut slack = 0;
        if field.unit == Unit::Nanoseconds {
            let whole = total..=total.saturating_add(RUSAGE_CUT);
            total = finals.filter(|f| whole.contains(f)).unwrap_or(total);
            slack = TIME_SLACK.max(total / TIME_SLACK_SHARE);
        }
        if let Some(finals) = finals.filter(|f| *f > total.saturating_add(slack)) {
            // A parent that waits for nobody let its children pass the chain by.
            let source = "sum of the final values of every process; the wait chain missed some";
            return present(field, finals, Method::Exact, source);
        }
        let survivors = self.survivors > 0;
        let whole = !survivors || self.living_read && living.is_some();
        let bypassed = self.tree.auto_reaped && finals.is_none();
        let source = match (survivors, finals.is_some()) {
            (false, true) => "wait chain, checked against final values",
            (false, false) => "wait chain",
            (true, _) => "wait chain + /proc of the living",
        };
        if whole && !bypassed {
            return present(field, total, Method::Exact, source);
        }
        // What passed the chain by was seen now and then.
        match (field.get)(&self.sampled()) {
            Some(seen) if seen > total => {
                present(field, seen, LOWER, "last sample of each process")
            }
            _ => present(field, total, LOWER, source),
        }
    }

    /// Whether the wait chain has less than what was seen of the processes, each by itself.
    pub(crate) fn chain_misses_some(&self) -> bool {
        let Some(chain) = &self.chain else {
            return false;
        };
        let mut seen = self.ended.own;
        counters::add(&mut seen, &self.own);
        let missed = |(metric, least): &(&str, u64)| {
            let field = counters::field(metric)?;
            let all = (field.get)(chain)?;
            let living = (field.get)(&self.with_children).unwrap_or(0);
            let all = all.saturating_add(living);
            let slack = all / MISSED_PART;
            Some((field.get)(&seen)? > all.saturating_add(slack.max(*least)))
        };
        MISSED.iter().any(|one| missed(one) == Some(true))
    }

    /// Whether more was used than by all processes that were traced.
    pub(crate) fn has_untraced(&self) -> bool {
        let told = self.tree.settings.mechanism == Mechanism::Ptrace;
        told && FIELDS.iter().any(|field| self.exceeds_finals(field))
    }

    fn exceeds_finals(&self, field: &CounterField) -> bool {
        let chain = self.chain.as_ref().and_then(|c| (field.get)(c));
        let (Some(chain), Some(finals)) = (chain, self.finals(field)) else {
            return false;
        };
        let all = chain.saturating_add((field.get)(&self.with_children).unwrap_or(0));
        let count = self.ended.count.saturating_add(self.survivors as u64);
        let slack = match field.metric {
            "cpu_time" => UNTRACED_TIME.max(all / UNTRACED_TIME_PART),
            "faults_minor" => UNTRACED_FAULTS.saturating_add(count),
            "bytes_written" => count.saturating_mul(ACCOUNTED),
            "bytes_read" | "reads" => 0,
            _ => return false,
        };
        all > finals.saturating_add(slack)
    }

    /// The most that is known of every process itself.
    fn sampled(&self) -> Counters {
        let mut sum = self.ended.own;
        counters::add(&mut sum, &self.own);
        let switches = sum.switches_voluntary;
        counters::raise(&mut sum, &self.tree.seen);
        if self.stops > 0 {
            // What was seen has the stops of processes that ended since.
            sum.switches_voluntary = switches;
        }
        sum
    }

    fn by_samples(&self, field: &CounterField) -> Field {
        match (field.get)(&self.sampled()) {
            Some(value) => present(field, value, LOWER, "last sample of each process"),
            None => Field::absent(self.why(field.metric)),
        }
    }

    fn why(&self, metric: &str) -> Absent {
        if let Some(reason) = self.tree.reasons.get(metric) {
            return *reason;
        }
        let anything = self.tree.read_any || self.ended.unread < self.ended.count;
        if anything {
            Absent::NoKernelSupport
        } else {
            Absent::Gone
        }
    }

    /// How long the task's CPU time was counted: to its end, or to that of descendants which
    /// outlived it.
    fn counted(&self, end: &End) -> Nanos {
        let seen = self.tree.lived_until;
        let told = self.tree.settings.mechanism.tells_tree();
        let last = if seen > end.at && (self.survivors > 0 || !told) {
            seen.max(end.until)
        } else {
            seen.max(end.at)
        };
        last.since(self.tree.start)
    }

    /// Cores kept busy, mean of the time that `cpu_time` was counted.
    pub(crate) fn cores_mean(&self, end: &End) -> Field {
        let span = self.counted(end);
        let source = if span == end.at.since(self.tree.start) {
            "cpu_time / wall_time"
        } else {
            "cpu_time / time to the end of the last descendant"
        };
        match self.cpu() {
            Some(cpu) if span.0 > 0 => {
                cores(cpu.value.as_f64() / span.0 as f64, cpu.method, source)
            }
            Some(_) => Field::absent(Absent::NotApplicable),
            None => Field::absent(self.why("cpu_time")),
        }
    }

    /// Cores kept busy in the best second.
    pub(crate) fn cores_peak(&self, end: &End) -> Field {
        let Some(cpu) = self.cpu() else {
            return Field::absent(self.why("cpu_time"));
        };
        let second = Nanos::from_secs(1);
        let span = self.counted(end);
        if span < second {
            return self.cores_mean(end);
        }
        let mean = cpu.value.as_f64() / span.0 as f64;
        let mut window = self.tree.window.clone();
        if let Number::Whole(total) = cpu.value {
            window.push(
                Nanos(self.tree.start.0.saturating_add(span.0)),
                Nanos(total),
            );
        }
        match window.best() {
            Some((best, at)) if best >= mean && self.tree.passes > 0 => {
                let period_ns = self.tree.settings.interval;
                let sampled = Method::Sampled { period_ns };
                // A reading takes its time, and the task goes on meanwhile.
                let counts = self.tree.exact_counts();
                let threads = counts.and_then(|counts| counts.threads_peak);
                let best = threads.map_or(best, |threads| best.min(threads as f64));
                let field = cores(best, sampled, "CPU time at each sample, a second apart");
                at_instant(field, at.since(self.tree.start))
            }
            _ => cores(mean, LOWER, "mean of the whole time"),
        }
    }
}

fn cores(value: f64, method: Method, source: &str) -> Field {
    Field::Present(Value::new(Number::Real(value), Unit::Cores, method, source))
}

fn at_instant(field: Field, at: Nanos) -> Field {
    match field {
        Field::Present(value) => Field::Present(value.at(Some(at))),
        missing => missing,
    }
}

fn present(field: &CounterField, value: u64, method: Method, source: &str) -> Field {
    Field::Present(Value::new(Number::Whole(value), field.unit, method, source))
}
