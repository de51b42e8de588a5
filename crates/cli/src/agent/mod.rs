//! `plimsoll agent`: every process of this node, read again and again, into the live segments of a
//! dataset.

mod identity;
mod reader;
mod tick;

use crate::view::stderr;
use anyhow::{Context, Result, anyhow};
use identity::Identities;
use reader::Reader;
use record::codec::series::Row;
use record::quantity::{show_bytes, show_time};
use record::sample::ProcessSample;
use record::table;
use record::unit::Nanos;
use source::query::sys_kernel;
use source::root::Root;
use std::path::PathBuf;
use store::disk::RealDisk;
use store::segment::{self, Instant, Origin, Sheet, Writer};
use sys::clock::{self, Clock};
use sys::descriptor::{self, Waiting};
use sys::signal::{self, Signals};
use tick::Ticks;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Warnings told, at most.
const WARNINGS_MAX: usize = 32;

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
    /// When to end by itself.
    pub(crate) duration: Option<Nanos>,
    /// How to read; the better of what works here by default.
    pub(crate) mechanism: Option<Mechanism>,
}

/// The agent at work.
struct Agent {
    reader: Reader,
    identities: Identities,
    writer: Writer<RealDisk>,
    samples: Sheet,
    rows: u64,
    passes: u64,
    /// Passes that came so late that others were left out.
    late: u64,
    /// What people were warned of, so that each is told once.
    warned: Vec<String>,
}

/// Samples until the time is over or a signal asks to end.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = Root::default();
    let signals = end_signals()?;
    let origin = origin(&root)?;
    let reader = Reader::open(&root, options.mechanism)?;
    let mechanism = reader.name();
    let writer = Writer::new(
        RealDisk,
        &options.dataset,
        origin,
        segment::Options::default(),
    )
    .with_context(|| format!("dataset {}", options.dataset.display()))?;
    let mut agent = Agent {
        reader,
        identities: Identities::new(root),
        writer,
        samples: Sheet::new(&table::sample::TABLE),
        rows: 0,
        passes: 0,
        late: 0,
        warned: Vec::new(),
    };
    say(&format!(
        "reading every process by {mechanism} every {} into {}",
        show_time(options.interval.0),
        options.dataset.display()
    ));
    let begun = Nanos(clock::boot());
    let end = options.duration.map(|duration| begun.plus(duration));
    let mut ticks = Ticks::new(options.interval);
    let why = loop {
        let now = Nanos(clock::boot());
        if end.is_some_and(|end| now >= end) {
            break "the time is over";
        }
        let due = ticks.next(now, real_offset());
        let until = end.map_or(due, |end| due.min(end));
        if wait(&signals, until.since(now))? {
            break "asked to end";
        }
        if Nanos(clock::boot()) >= due {
            agent.late += ticks.passed(Nanos(clock::boot()));
            agent.pass();
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
    Ok(Origin::of_writer(
        &host,
        &boot_id,
        std::process::id(),
        version,
    ))
}

/// Sleeps so long; whether a signal asked to end.
fn wait(signals: &Signals, pause: Nanos) -> Result<bool> {
    use std::os::fd::AsFd;
    let waiting = [Waiting {
        fd: Some(signals.as_fd()),
        exceptional: false,
    }];
    descriptor::poll(&waiting, Some(pause.0)).context("waiting")?;
    Ok(signals.next().is_some())
}

/// What to add to `CLOCK_BOOTTIME` for the time of day, nanoseconds.
fn real_offset() -> i64 {
    let real = i64::try_from(clock::now(Clock::Real)).unwrap_or(i64::MAX);
    real.saturating_sub(i64::try_from(clock::boot()).unwrap_or(i64::MAX))
}

impl Agent {
    fn pass(&mut self) {
        self.passes += 1;
        let at = Nanos(clock::boot());
        let when = Instant {
            at,
            real_offset_ns: real_offset(),
            span: Nanos(0),
        };
        let samples = self.reader.read();
        let span = Nanos(clock::boot()).since(at);
        self.rows += samples.len() as u64;
        let is_new = match self.writer.begin(at) {
            Ok(is_new) => is_new,
            Err(error) => {
                self.writer
                    .lose(u32::try_from(samples.len()).unwrap_or(u32::MAX));
                return self.warn(&error.into());
            }
        };
        self.samples.begin(when, is_new);
        write_rows(&mut self.samples, &mut self.writer, samples);
        let written = self.samples.end(&mut self.writer, span);
        let told = self
            .identities
            .tell(samples, is_new, when, &mut self.writer);
        let synced = self.writer.sync_if_due(Nanos(clock::boot()));
        for error in [written, told, synced].into_iter().filter_map(Result::err) {
            self.warn(&error.into());
        }
    }

    /// Tells people, once of each.
    fn warn(&mut self, error: &anyhow::Error) {
        let text = crate::run::chain(error);
        if self.warned.len() < WARNINGS_MAX && !self.warned.contains(&text) {
            say(&format!("warning: {text}"));
            self.warned.push(text);
        }
    }

    fn finish(mut self, why: &str, lasted: Nanos) -> Result<()> {
        self.writer.close()?;
        let cost = clock::now(Clock::Process);
        say(&format!(
            "ended after {} ({why}): {} rows of {} processes in {} readings, {} written, {} rows \
             lost; {} of CPU",
            show_time(lasted.0),
            self.rows,
            self.identities.told(),
            self.passes,
            show_bytes(self.writer.bytes_total()),
            self.writer.lost_total(),
            show_time(cost),
        ));
        if self.late > 0 {
            say(&format!(
                "{} readings were left out: they came too late",
                self.late
            ));
        }
        Ok(())
    }
}

fn say(text: &str) {
    stderr::line(&format!("plimsoll agent: {text}"));
}

fn write_rows(sheet: &mut Sheet, writer: &mut Writer<RealDisk>, samples: &[ProcessSample]) {
    let mut values = [0; table::sample::COLUMN_COUNT];
    let mut key = Vec::new();
    for sample in samples {
        let present = table::sample::values(sample, &mut values);
        table::sample::key(sample.id, &mut key);
        let row = Row {
            key: &key,
            present,
            values: &values,
        };
        sheet.row(writer, row);
    }
}
