//! `plimsoll agent`: every process of this node, read again and again, into the live segments of a
//! dataset.

mod budget;
mod cells;
mod confined;
#[cfg(feature = "bpf")]
mod events;
mod identity;
mod keeper;
mod listener;
mod node;
pub(crate) mod own;
mod reader;
pub(crate) mod select;
mod tick;
#[cfg(feature = "dataset")]
mod upkeep;
#[cfg(not(feature = "dataset"))]
#[path = "upkeep_never.rs"]
mod upkeep;
mod who;

use crate::view::stderr;
use anyhow::{Context, Result, anyhow, bail};
use budget::Budget;
use identity::Identities;
use keeper::{Kept, Life};
use listener::Listener;
use node::Node;
use own::Own;
use reader::Reader;
use record::codec::series::Row;
use record::quantity::{show_bytes, show_time};
use record::sample::ProcessSample;
use record::table;
use record::unit::Nanos;
use source::follow::select::{Selection, Wanted};
use source::query::{proc_pid_status, sys_kernel};
use source::root::Root;
use std::os::fd::AsFd;
use std::path::PathBuf;
use store::segment::{self, Instant, Origin, Sheet, Writer};
use sys::clock::{self, Clock};
use sys::descriptor::{self, Waiting};
use sys::heap;
use sys::signal::{self, Signals};
use tick::Ticks;
pub(crate) use upkeep::Upkeep;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Warnings told, at most.
const WARNINGS_MAX: usize = 32;

/// Processes of one reading that are kept, at most; those of the highest ids are lost.
const PROCESSES_MAX: usize = 1 << 16;

/// What a row takes in Parquet, at rest and where more than half of the processes are busy, bytes
/// (docs/segment.md).
const ROW_BYTES: (u64, u64) = (4, 31);

const DAY: Nanos = Nanos::from_secs(86_400);

/// How the processes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mechanism {
    /// A walk in the kernel
    Bpf,
    /// /proc
    Procfs,
}

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where the dataset is.
    pub(crate) dataset: PathBuf,
    /// The time between two readings.
    pub(crate) interval: Nanos,
    /// By so much the readings come behind whole intervals of the time of day.
    pub(crate) offset: Nanos,
    /// What the agent may cost, millionths of one CPU; nothing for as much as it takes.
    pub(crate) budget: Option<u64>,
    /// When to end by itself.
    pub(crate) duration: Option<Nanos>,
    /// How to read; the better of what works here by default.
    pub(crate) mechanism: Option<Mechanism>,
    /// Which processes: whoever is of one of these kinds.
    pub(crate) wanted: Vec<Wanted>,
    /// What is done with the dataset now and then.
    pub(crate) upkeep: Upkeep,
}

/// The live segments, by way of the keeper.
type Segments = Writer<Kept>;

/// The agent at work.
struct Agent {
    root: Root,
    interval: Nanos,
    reader: Reader,
    identities: Identities,
    listener: Listener,
    /// A segment was begun since the last reading.
    is_new: bool,
    writer: Segments,
    keeper: Life,
    samples: Sheet,
    node: Node,
    own: Own,
    rows: u64,
    passes: u64,
    /// Instants at which nothing was read, as the reading before them took too long.
    late: u64,
    /// What people were warned of, so that each is told once.
    warned: Vec<String>,
}

/// Samples until the time is over or a signal asks to end.
pub(crate) fn run(options: &Options) -> Result<()> {
    let signals = end_signals()?;
    let mut agent = Agent::new(options)?;
    say(&format!(
        "reading processes by {} every {} into {}",
        agent.reader.name(),
        show_time(options.interval.0),
        options.dataset.display()
    ));
    let begun = Nanos(clock::boot());
    let end = options.duration.map(|duration| begun.plus(duration));
    let mut ticks = Ticks::new(options.interval, options.offset);
    let mut budget = Budget::new(options.budget, options.interval);
    let mut spent = clock::now(Clock::Process);
    let why = loop {
        let now = Nanos(clock::boot());
        if end.is_some_and(|end| now >= end) {
            break "the time is over";
        }
        let due = ticks.next(now, real_offset());
        let listening = agent.listener.due(now);
        let until = [Some(due), end, listening].into_iter().flatten().min();
        match wait(&signals, &agent.keeper, until.unwrap_or(due).since(now))? {
            Woken::Time => {}
            Woken::Signal => break "asked to end",
            Woken::Keeper => bail!("the keeper of the dataset has ended"),
        }
        let now = Nanos(clock::boot());
        if now >= due {
            agent.late += ticks.passed(now);
            agent.own.begin();
            agent.pass();
            agent.own.end();
            let before = std::mem::replace(&mut spent, clock::now(Clock::Process));
            if budget.spent(Nanos(spent.saturating_sub(before))) {
                ticks.set_interval(budget.interval());
                let every = show_time(budget.interval().0);
                say(&format!(
                    "reading every {every} now, to keep within the budget"
                ));
            }
        } else {
            agent.listen(false);
        }
    };
    agent.finish(why, Nanos(clock::boot()).since(begun))
}

/// Signals that end the agent, blocked and readable.
fn end_signals() -> Result<Signals> {
    let mask = [SIGTERM, SIGINT, SIGHUP]
        .iter()
        .fold(0u64, |mask, number| mask | 1 << (number - 1));
    signal::set_mask(mask);
    Signals::open(mask).context("signals")
}

fn origin(root: &Root) -> Result<Origin> {
    let read = |name| {
        let read = sys_kernel::read(root, name);
        read.map_err(|absent| anyhow!("/proc/sys/kernel/{name}: {}", absent.words()))
    };
    let (host, boot_id) = (read("hostname")?, read("random/boot_id")?);
    let version = env!("CARGO_PKG_VERSION");
    let stream = std::process::id();
    Ok(Origin::of_writer(&host, &boot_id, stream, version))
}

/// What ended a pause.
enum Woken {
    Time,
    Signal,
    Keeper,
}

/// Sleeps so long, but for a signal to end or the end of the keeper.
fn wait(signals: &Signals, keeper: &Life, pause: Nanos) -> Result<Woken> {
    let waiting = [signals.as_fd(), keeper.as_fd()].map(|fd| Waiting {
        fd: Some(fd),
        exceptional: false,
    });
    let ready = descriptor::poll(&waiting, Some(pause.0)).context("waiting")?;
    Ok(if signals.next().is_some() {
        Woken::Signal
    } else if ready.get(1) == Some(&true) {
        Woken::Keeper
    } else {
        Woken::Time
    })
}

/// The present, by both clocks.
fn now() -> Instant {
    Instant {
        at: Nanos(clock::boot()),
        real_offset_ns: real_offset(),
        span: Nanos(0),
    }
}

/// So many rows are not kept.
fn lose(writer: &mut Segments, rows: usize) {
    writer.lose(u32::try_from(rows).unwrap_or(u32::MAX));
}

/// What to add to `CLOCK_BOOTTIME` for the time of day, nanoseconds.
fn real_offset() -> i64 {
    let real = i64::try_from(clock::now(Clock::Real)).unwrap_or(i64::MAX);
    real.saturating_sub(i64::try_from(clock::boot()).unwrap_or(i64::MAX))
}

impl Agent {
    fn new(options: &Options) -> Result<Self> {
        let root = Root::default();
        let (origin, dataset) = (origin(&root)?, &options.dataset);
        // Before anything is open that the keeper should not have.
        let (kept, keeper, held) = keeper::start(dataset, options.upkeep)?;
        let reader = Reader::open(&root, options.mechanism, options.interval)?;
        // As the keeper knows it.
        let whole = std::fs::canonicalize(dataset)?;
        let usual = segment::Options::default();
        let settings = segment::Options {
            segment_age_max: options.upkeep.segment_age(usual.segment_age_max),
            ..usual
        };
        let writer = Writer::new(kept, &whole, origin, settings);
        let mut writer = writer.with_context(|| format!("dataset {}", dataset.display()))?;
        // What happens before the first reading has a segment to go to.
        let is_new = writer.begin(Nanos(clock::boot()));
        let is_new = is_new.with_context(|| format!("dataset {}", dataset.display()))?;
        let (listener, heard) = Listener::open(options);
        // To load programs into the kernel takes some ten MiB, for a moment.
        heap::trim();
        if let Err(why) = heard {
            say(&format!(
                "processes that live shorter than the interval are not seen: {why}"
            ));
        }
        confined::reader(&reader, &listener);
        confined::tell_keeper(held);
        let selection = Selection::new(options.wanted.clone());
        Ok(Self {
            interval: options.interval,
            reader,
            identities: Identities::new(root.clone(), selection),
            listener,
            is_new,
            writer,
            keeper,
            samples: Sheet::new(&table::sample::TABLE),
            node: Node::open(&root),
            own: Own::default(),
            root,
            rows: 0,
            passes: 0,
            late: 0,
            warned: Vec::new(),
        })
    }

    /// Takes what happened since the last time; `writes`: into the segment, too.
    fn listen(&mut self, writes: bool) {
        let (when, writer) = (now(), &mut self.writer);
        let mut done = self.listener.read(when, writer);
        if writes {
            done = done.and(self.listener.flush(when, writer));
        }
        if let Err(error) = done {
            warn(&mut self.warned, &error.into());
        }
    }

    /// One reading, written.
    fn pass(&mut self) {
        self.passes += 1;
        self.listen(false);
        let when = now();
        let samples = match self.reader.read() {
            Ok(samples) => samples,
            Err(error) => return warn(&mut self.warned, &error),
        };
        self.node.read(when.at);
        let span = Nanos(clock::boot()).since(when.at);
        let kept = samples.get(..PROCESSES_MAX).unwrap_or(samples);
        let writer = &mut self.writer;
        lose(writer, samples.len() - kept.len());
        match writer.begin(when.at) {
            Ok(is_new) => self.is_new |= is_new,
            Err(error) => {
                lose(writer, kept.len());
                return warn(&mut self.warned, &error.into());
            }
        }
        let is_new = std::mem::take(&mut self.is_new);
        let (wanted, told) = self.identities.tell(kept, is_new, when, writer);
        let wanted = || kept.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
        self.listener.want(wanted().map(|(one, _)| one.id.pid));
        self.samples.begin(when, is_new);
        let rows = write_rows(&mut self.samples, writer, wanted().map(|(one, _)| one));
        let sampled = self.samples.end(writer, span);
        let own = self.own.rows(writer.bytes_total(), writer.lost_total());
        let node = self.node.write((when, is_new), &own, writer, span);
        let heard = self.listener.flush(when, writer);
        let synced = writer.sync_if_due(Nanos(clock::boot()));
        self.rows += rows;
        let all = [told, sampled, node, heard, synced].into_iter();
        for error in all.filter_map(Result::err) {
            warn(&mut self.warned, &error.into());
        }
        if self.passes == 1 {
            self.foretell(rows);
        }
    }

    /// Says after the first reading what the settings will make, and what may not be read.
    fn foretell(&self, rows: u64) {
        let rows_a_day = u128::from(rows) * u128::from(DAY.0 / self.interval.0.max(1));
        let bytes = |each: u64| {
            let bytes = u64::try_from(rows_a_day * u128::from(each));
            show_bytes(bytes.unwrap_or(u64::MAX))
        };
        say(&format!(
            "{rows} processes now: {} to {} a day once compacted",
            bytes(ROW_BYTES.0),
            bytes(ROW_BYTES.1)
        ));
        if let Some(absent) = self.node.absent() {
            say(&format!("this machine does not tell: {absent}"));
        }
        let hidden = self.reader.hidden();
        if hidden.io + hidden.all > 0 {
            say(&format!(
                "this user may not read the I/O of {} processes, and nothing of {}",
                hidden.io, hidden.all
            ));
        }
    }

    fn finish(mut self, why: &str, lasted: Nanos) -> Result<()> {
        self.listen(true);
        self.writer.close()?;
        let (ends, missed) = self.listener.counts();
        let status = proc_pid_status::read(&self.root, None).unwrap_or_default();
        let peak = status.memory.rss_peak;
        say(&format!(
            "ended after {} ({why}): {} rows of {} processes in {} readings, {ends} ends, {} \
             written, {} rows lost; {} of CPU, {} of memory",
            show_time(lasted.0),
            self.rows,
            self.identities.told(),
            self.passes,
            show_bytes(self.writer.bytes_total()),
            self.writer.lost_total(),
            show_time(clock::now(Clock::Process)),
            peak.map_or_else(|| "?".to_owned(), |peak| show_bytes(peak.0)),
        ));
        if missed > 0 {
            say(&format!("{missed} events were missed: they came too fast"));
        }
        if self.late > 0 {
            say(&format!(
                "{} readings were left out: the ones before them took too long",
                self.late
            ));
        }
        // Whoever comes next has the dataset for itself.
        drop(self.writer);
        self.keeper.wait();
        Ok(())
    }
}

/// Tells people, once of each.
fn warn(warned: &mut Vec<String>, error: &anyhow::Error) {
    let text = crate::run::chain(error);
    if warned.len() < WARNINGS_MAX && !warned.contains(&text) {
        say(&format!("warning: {text}"));
        warned.push(text);
    }
}

fn say(text: &str) {
    stderr::line(&format!("plimsoll agent: {text}"));
}

/// Writes a row of each; how many that were.
fn write_rows<'a>(
    sheet: &mut Sheet,
    writer: &mut Segments,
    samples: impl Iterator<Item = &'a ProcessSample>,
) -> u64 {
    let mut values = [0; table::sample::COLUMN_COUNT];
    let (mut key, mut rows) = (Vec::new(), 0);
    for sample in samples {
        let present = table::sample::values(sample, &mut values);
        table::sample::key(sample.id, &mut key);
        let row = Row {
            key: &key,
            present,
            values: &values,
        };
        sheet.row(writer, row);
        rows += 1;
    }
    rows
}
