//! What the agent itself costs, as metrics of the machine: of the process that reads.

use super::Segments;
use super::keeper::Upkeeps;
use record::metric::{Kind, Metric, Scope};
use record::unit::{Nanos, Unit};
use sys::burst;
use sys::clock::{self, Clock};
use sys::process::{self, Whose};

/// What an agent tells of itself.
pub(crate) const METRICS: &[Metric] = &[
    own(
        "agent_cpu_time",
        Kind::Counter,
        Unit::Nanoseconds,
        "clock_gettime CLOCK_PROCESS_CPUTIME_ID",
        "CPU time of the agent's process that reads",
    ),
    own(
        "agent_reading_longest",
        Kind::Gauge,
        Unit::Nanoseconds,
        "clock_gettime CLOCK_PROCESS_CPUTIME_ID",
        "the most CPU time that one reading took so far, but for the first",
    ),
    own(
        "agent_burst_longest",
        Kind::Gauge,
        Unit::Nanoseconds,
        "clock_gettime CLOCK_THREAD_CPUTIME_ID",
        "the most CPU time between two times that the thread that reads slept, but for the first \
         reading",
    ),
    own(
        "agent_memory_peak",
        Kind::Gauge,
        Unit::Bytes,
        "getrusage ru_maxrss",
        "the largest resident set of the agent's process that reads",
    ),
    own(
        "agent_written",
        Kind::Counter,
        Unit::Bytes,
        "write",
        "bytes written to segments",
    ),
    own(
        "agent_rows_lost",
        Kind::Counter,
        Unit::Count,
        "the agent",
        "rows that could not be kept, and events that were missed",
    ),
    own(
        "agent_compactions",
        Kind::Counter,
        Unit::Count,
        "the agent",
        "times that the dataset was compacted and old hours were given up",
    ),
    own(
        "agent_compactions_failed",
        Kind::Counter,
        Unit::Count,
        "the agent",
        "times that this failed: the segments stay as they are until the next time",
    ),
];

const fn own(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    origin: &'static str,
    doc: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        unit,
        scope: Scope::Node,
        origin,
        since: "any",
        method: "exact when read",
        doc,
    }
}

/// The cost of readings so far.
#[derive(Debug, Default)]
pub(super) struct Own {
    begun: Option<Nanos>,
    longest: Nanos,
    burst_longest: Nanos,
    is_later: bool,
}

impl Own {
    /// A reading begins.
    pub(super) fn begin(&mut self) {
        self.begun = Some(Nanos(clock::now(Clock::Process)));
    }

    /// The reading that began last is over.
    pub(super) fn end(&mut self) {
        let now = Nanos(clock::now(Clock::Process));
        let took = self.begun.take().map_or(Nanos(0), |begun| now.since(begun));
        self.pause();
        // The first one meets everyone for the first time.
        if std::mem::replace(&mut self.is_later, true) {
            self.longest = self.longest.max(took);
        }
    }

    /// The thread is about to wait: what it ran in one piece is over.
    pub(super) fn pause(&mut self) {
        let burst = Nanos(burst::end());
        if self.is_later {
            self.burst_longest = self.burst_longest.max(burst);
        }
    }

    /// As rows, with what has been written, what was lost and how the dataset was looked after.
    pub(super) fn rows(&self, writer: &Segments, upkeeps: Upkeeps) -> Vec<(&'static str, i64)> {
        let values = [
            clock::now(Clock::Process),
            self.longest.0,
            self.burst_longest.0,
            process::usage(Whose::Own).rss_peak_bytes,
            writer.bytes_total(),
            writer.lost_total(),
            upkeeps.done,
            upkeeps.failed,
        ];
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let names = METRICS.iter().map(|metric| metric.name);
        names.zip(values.map(whole)).collect()
    }
}
