//! What ended processes used, and for how many of them each number is final.

use crate::counters::{self, FIELD_COUNT, FIELDS};
use crate::metric::metric;
use record::report::Usage;
use record::sample::Counters;
use record::unit::{Nanos, Unit};
use record::value::{Absent, Field, Method, Number, Value};

/// A peak over some processes, and how many of them it is final for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Highest {
    /// The largest.
    pub(crate) value: Option<u64>,
    /// Processes whose own peak is final.
    pub(crate) finals: u64,
}

impl Highest {
    /// Raises it to `value`.
    pub(crate) fn raise(&mut self, value: Option<u64>) {
        self.value = self.value.max(value);
    }

    fn add(&mut self, other: &Highest) {
        self.raise(other.value);
        self.finals += other.finals;
    }
}

/// What `count` processes used themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// How many processes.
    pub(crate) count: u64,
    /// Sums of what is known.
    pub(crate) own: Counters,
    /// By field of [`FIELDS`]: processes whose number is final.
    pub(crate) finals: [u64; FIELD_COUNT],
    /// Largest resident set.
    pub(crate) rss: Highest,
    /// Largest address space.
    pub(crate) virtual_size: Highest,
    /// Most threads seen in one.
    pub(crate) threads: Highest,
    /// Processes of which nothing at all was read.
    pub(crate) unread: u64,
}

impl Spent {
    /// Adds what other processes used.
    pub(crate) fn add(&mut self, other: &Spent) {
        self.count += other.count;
        self.unread += other.unread;
        counters::add(&mut self.own, &other.own);
        for (mine, theirs) in self.finals.iter_mut().zip(other.finals) {
            *mine += theirs;
        }
        self.rss.add(&other.rss);
        self.virtual_size.add(&other.virtual_size);
        self.threads.add(&other.threads);
    }

    /// Whether the counter that feeds `metric` is final for every process.
    pub(crate) fn complete(&self, metric: &str) -> bool {
        let index = FIELDS.iter().position(|field| field.metric == metric);
        index.and_then(|i| self.finals.get(i)) == Some(&self.count)
    }

    /// The usage of one line of the process table.
    pub(crate) fn usage(&self, lived: Nanos, lived_method: Method) -> Usage {
        let mut usage = Usage::default();
        if self.count == 1 {
            let lived = Number::Whole(lived.0);
            let value = Value::new(lived, Unit::Nanoseconds, lived_method, "CLOCK_BOOTTIME");
            usage.set("wall_time", Field::Present(value));
        }
        let own = self.with_parts_of_cpu();
        for (field, finals) in FIELDS.iter().zip(self.finals) {
            let value = (field.get)(&own);
            let mut known = self.known(value, finals, field.unit);
            if let Some(Field::Present(value)) = &mut known
                && field.metric.starts_with("switches_")
                && value.method == Method::Exact
            {
                // The last one of all is that from which it does not come back.
                value.method = Method::LowerBound { upper: None };
                value.source = "as its end was told, before its last switches".to_owned();
            }
            usage.set(field.metric, known.unwrap_or_else(|| self.untold()));
        }
        // No mechanism tells of each process how many threads it had: samples alone do.
        for (name, peak, unknown) in [
            ("rss_peak_process", &self.rss, self.untold()),
            ("virtual_peak", &self.virtual_size, self.untold()),
            ("threads_peak", &self.threads, Field::absent(Absent::Gone)),
        ] {
            let unit = metric(name).map_or(Unit::Count, |m| m.unit);
            let name = name.trim_end_matches("_process");
            let known = self.known(peak.value, peak.finals, unit);
            usage.set(name, known.unwrap_or(unknown));
        }
        usage
    }

    /// The sums, user and system time scaled so that they add up to the CPU time.
    fn with_parts_of_cpu(&self) -> Counters {
        let mut own = self.own;
        if let (Some(cpu), Some(user), Some(system)) = (own.cpu, own.cpu_user, own.cpu_system) {
            let (user, system) = counters::split(cpu, user, system);
            (own.cpu_user, own.cpu_system) = (Some(user), Some(system));
        }
        own
    }

    /// Of what no sample and no end had.
    fn untold(&self) -> Field {
        Field::absent(if self.unread == self.count {
            Absent::Gone
        } else {
            Absent::NoKernelSupport
        })
    }

    fn known(&self, value: Option<u64>, finals: u64, unit: Unit) -> Option<Field> {
        let (method, source) = if finals == self.count {
            (Method::Exact, "final value at its end")
        } else {
            (
                Method::LowerBound { upper: None },
                "as last told or sampled",
            )
        };
        let value = Value::new(Number::Whole(value?), unit, method, source);
        Some(Field::Present(value))
    }
}
