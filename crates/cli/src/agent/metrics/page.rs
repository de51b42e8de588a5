//! The page: what the board and the machine tell, family by family (docs/metrics-endpoint.md).

use super::accounts::{Line, Now};
use super::intake::Intake;
use super::sums::COUNTED;
use record::unit::{Nanos, Unit};
use record::value::Number;
use store::openmetrics::{self, Dialect, Page, Type, labels};
use store::segment::Met;

/// What the page says of who makes it.
#[derive(Debug, Clone)]
pub(super) struct Maker {
    pub(super) host: String,
    pub(super) boot_id: String,
}

/// What else is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) met: Met,
    /// What this process used.
    pub(super) cpu: Nanos,
    /// Connections that were ended for others, or for being late.
    pub(super) cut_off: u64,
}

/// A gauge of a line.
type Get = fn(&Now) -> Option<u64>;

const GAUGES: [(&str, Unit, &str, Get); 5] = [
    ("processes", Unit::Count, "processes there now", |now| {
        Some(now.processes)
    }),
    ("threads", Unit::Count, "their threads", |now| now.threads),
    (
        "resident",
        Unit::Bytes,
        "sum of their resident sets, pages of several counted in each: an upper bound",
        |now| now.rss,
    ),
    (
        "gpu_memory",
        Unit::Bytes,
        "device memory of its processes, as the driver told last",
        |now| now.gpu_memory,
    ),
    (
        "gpu_busy",
        Unit::Millionths,
        "parts of devices that its processes kept busy, as the driver told last: 2 for two devices",
        |now| now.gpu_busy,
    ),
];

/// The whole page.
pub(super) fn make(intake: &Intake, maker: &Maker, facts: &Facts, dialect: Dialect) -> Vec<u8> {
    let mut page = Page::new(dialect);
    page.family(
        "plimsoll_agent",
        Type::Info,
        Unit::Count,
        "the agent and its machine",
    );
    let who = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("host", maker.host.as_str()),
        ("boot_id", maker.boot_id.as_str()),
    ];
    page.sample(&labels(who), Number::Whole(1));
    if let Some((at, offset)) = intake.last {
        let time = at.0.checked_add_signed(offset).unwrap_or(at.0);
        one(
            &mut page,
            "agent_last_reading_timestamp",
            (Type::Gauge, Unit::Nanoseconds),
            "when the last reading of everyone began, since 1970",
            time,
        );
    }
    own(&mut page, intake, facts);
    jobs(&mut page, intake);
    intake.machine.put(&mut page);
    page.finish()
}

fn one(page: &mut Page, name: &str, (kind, unit): (Type, Unit), doc: &str, value: u64) {
    let name = openmetrics::name("plimsoll_", name, unit);
    page.family(&name, kind, unit, doc);
    page.sample("", Number::Whole(value));
}

/// What this page itself costs, and what it could not have.
fn own(page: &mut Page, intake: &Intake, facts: &Facts) {
    let time = (Type::Counter, Unit::Nanoseconds);
    let doc = "CPU time of the process that makes this page";
    one(page, "metrics_cpu", time, doc, facts.cpu.0);
    let counts = facts.met.counts;
    let bad = facts.met.damaged + counts.bad + counts.unlinked + counts.unknown;
    let all: [(&str, &str, u64); 4] = [
        (
            "metrics_frames_unread",
            "frames of the dataset that could not be read",
            bad,
        ),
        (
            "metrics_rows_lost",
            "rows that the agent could not write, as its frames say",
            counts.lost,
        ),
        (
            "metrics_left_out",
            "processes and values beyond what is kept",
            intake.board.left_out + intake.machine.left_out,
        ),
        (
            "metrics_connections_cut",
            "connections that were too slow, or too many",
            facts.cut_off,
        ),
    ];
    for (name, doc, value) in all {
        one(page, name, (Type::Counter, Unit::Count), doc, value);
    }
}

fn jobs(page: &mut Page, intake: &Intake) {
    let accounts = &intake.board.accounts;
    if intake.last.is_none() {
        return;
    }
    let (there, shown) = accounts.jobs();
    let number = (Type::Gauge, Unit::Count);
    one(page, "jobs", number, "jobs that have processes", there);
    let doc = "of these, those with series of their own";
    one(page, "jobs_shown", number, doc, shown);
    let held = Nanos(intake.board.held_cpu()).0;
    let time = (Type::Gauge, Unit::Nanoseconds);
    let doc = "CPU time of processes whose job is not known yet, in no other number";
    one(page, "jobs_cpu_held", time, doc, held);
    let lines = accounts.lines();
    for (what, counted) in COUNTED.iter().enumerate() {
        let value = |line: &Line<'_>| line.sums.get(what);
        family(
            page,
            &lines,
            (counted.name, Type::Counter, counted.unit, counted.doc),
            value,
        );
    }
    for (name, unit, doc, get) in GAUGES {
        let value = |line: &Line<'_>| line.now.as_ref().and_then(get);
        family(page, &lines, (name, Type::Gauge, unit, doc), value);
    }
    let doc = "CPU time of the job before it had series of its own, which is in other series";
    let what = ("cpu_before", Type::Gauge, Unit::Nanoseconds, doc);
    family(page, &lines, what, |line| line.before);
    let at = intake.last.map(|(at, _)| at);
    let doc = "since the start of the first of its processes that was seen";
    let what = ("age", Type::Gauge, Unit::Nanoseconds, doc);
    family(page, &lines, what, |line| {
        Some(at?.since(line.told?.first_start?).0)
    });
    let told = lines.iter().filter(|line| line.told.is_some());
    let mut told = told.peekable();
    if told.peek().is_some() {
        let doc = "what is known of the job, its environment's claims included";
        page.family("plimsoll_job", Type::Info, Unit::Count, doc);
    }
    for line in told {
        let known = line.told.into_iter().flat_map(|told| &told.labels);
        let known = known.map(|(name, value)| (*name, value.as_str()));
        let id = ("job_id", line.name.unwrap_or_default());
        page.sample(&labels([id].into_iter().chain(known)), Number::Whole(1));
    }
}

/// A family with a value for some of the lines, if there is one at all.
fn family(
    page: &mut Page,
    lines: &[Line<'_>],
    (name, kind, unit, doc): (&str, Type, Unit, &str),
    value: impl Fn(&Line<'_>) -> Option<u64>,
) {
    let known = lines.iter().filter_map(|line| Some((line, value(line)?)));
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return;
    }
    let name = openmetrics::name("plimsoll_job_", name, unit);
    page.family(&name, kind, unit, doc);
    for (line, value) in known {
        let name = line.name.map(|name| ("job_id", name));
        let labels = labels([("kind", line.kind)].into_iter().chain(name));
        page.sample(&labels, Number::Whole(value));
    }
}
