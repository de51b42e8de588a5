//! `plimsoll agent`: every process of this node, read again and again, into the live segments of a
//! dataset.

mod balance;
mod budget;
mod cells;
mod charge;
mod child;
mod confined;
pub(crate) mod cpus;
mod descriptors;
pub(crate) mod detail;
mod events;
mod farewell;
pub(crate) mod gpu;
pub(crate) mod here;
mod identity;
mod jobs;
mod keeper;
mod lender;
mod lender_share;
#[cfg(feature = "bpf")]
mod lent;
#[cfg(not(feature = "bpf"))]
#[path = "lent_never.rs"]
mod lent;
mod listener;
pub(crate) mod live;
pub(crate) mod metrics;
pub(crate) mod names;
mod node;
mod opened;
pub(crate) mod own;
pub(crate) mod pace;
mod pause;
mod reader;
pub(crate) mod reload;
mod rows;
mod segments;
pub(crate) mod select;
mod service;
mod setup;
mod tick;
#[cfg(feature = "dataset")]
mod upkeep;
#[cfg(not(feature = "dataset"))]
#[path = "upkeep_never.rs"]
mod upkeep;
mod weights;
mod who;
mod young;

use crate::view::stderr;
use anyhow::{Context, Result, anyhow, bail};
use child::Child;
use detail::{Detail, Wishes};
use gpu::Gpus;
use identity::Identities;
use keeper::Life;
#[cfg(feature = "dataset")]
pub(crate) use keeper::owner;
use lender::Lender;
use listener::Listener;
use live::Live;
use metrics::Metrics;
use names::Outside;
use node::Node;
use own::Own;
use pace::{Pace, Young};
use pause::{SIGHUP, Woken};
use reader::Reader;
use record::quantity::show_time;
use record::table;
use record::unit::Nanos;
use reload::{File, Running, Settings, Taken};
use segments::{Place, Segments};
use service::Service;
use source::follow::select::{Selection, Wanted};
use source::query::sys_kernel;
use source::root::Root;
use std::path::PathBuf;
use store::segment::{self, Instant, Origin, Sheet, Writer};
use sys::affinity::Cpus;
use sys::burst;
use sys::clock::{self, Clock};
use sys::heap;
pub(crate) use upkeep::Upkeep;

/// Warnings told, at most.
const WARNINGS_MAX: usize = 32;

/// Processes of one reading that are kept, at most; those of the highest ids are lost.
const PROCESSES_MAX: usize = 1 << 16;

/// What a row takes in Parquet, at rest and where more than half of the processes are busy, bytes
/// (docs/segment.md).
const ROW_BYTES: (u64, u64) = (4, 31);

/// What was needed once is given back: when everyone was asked twice and again, and now and then.
const PASSES_BEGINNING: [u64; 3] = [4, 16, 72];
const PASSES_BETWEEN_TRIMS: u64 = 256;

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
    /// How the processes of jobs are read that have just begun; as everyone if that is not said.
    pub(crate) young: Option<Young>,
    /// What the agent may cost, millionths of one CPU; nothing for as much as it takes.
    pub(crate) budget: Option<u64>,
    /// When to end by itself.
    pub(crate) duration: Option<Nanos>,
    /// Where to lend the in-kernel programs to users, and to tell them live records.
    pub(crate) socket: Option<PathBuf>,
    /// Where programs of this machine are told what it adds up to.
    pub(crate) metrics: Option<metrics::Wish>,
    /// Whether graphics processors are read.
    pub(crate) gpu: gpu::Wish,
    /// How to read; the better of what works here by default.
    pub(crate) mechanism: Option<Mechanism>,
    /// Which processes: whoever is of one of these kinds.
    pub(crate) wanted: Vec<Wanted>,
    /// What those outside of any job are filed under.
    pub(crate) outside: Option<Outside>,
    /// What else is read of them.
    pub(crate) wishes: Wishes,
    /// What is done with the dataset now and then.
    pub(crate) upkeep: Upkeep,
    /// On which CPUs; all that are allowed if that is not said.
    pub(crate) cpus: Option<Cpus>,
}

/// The agent at work.
struct Agent {
    root: Root,
    interval: Nanos,
    reader: Reader,
    identities: Identities,
    detail: Detail,
    listener: Listener,
    /// A segment was begun since the last reading.
    is_new: bool,
    writer: Segments,
    keeper: Life,
    lender: Lender,
    live: Live,
    metrics: Metrics,
    gpus: Gpus,
    service: Service,
    cpus_allowed: Cpus,
    samples: Sheet,
    node: Node,
    own: Own,
    rows: u64,
    passes: u64,
    /// It was said what may not be read.
    is_hidden_said: bool,
    /// Instants at which nothing was read, as the reading before them took too long.
    late: u64,
    /// What people were warned of, so that each is told once.
    warned: Vec<String>,
}

/// Samples until the time is over or a signal asks to end; reads `file` again at `SIGHUP`.
pub(crate) fn run(settings: Settings, file: Option<File>) -> Result<()> {
    let Settings { options, values } = settings;
    let signals = sys::signal::ending(file.is_some()).context("signals")?;
    let mut agent = Agent::new(&options)?;
    let mut running = Running::new(file, values);
    say(&format!(
        "reading processes by {} every {} into {}",
        agent.reader.name(),
        show_time(options.interval.0),
        options.dataset.display()
    ));
    let begun = Nanos(clock::boot());
    let mut end = options.duration.map(|duration| begun.plus(duration));
    let mut pace = Pace::new(&options);
    let mut age = options.young.map(|young| young.age);
    let first = pace.next(begun, false).at;
    agent.service.starting(first.since(begun));
    pause::be_brief();
    let why = loop {
        let now = Nanos(clock::boot());
        if end.is_some_and(|end| now >= end) {
            break "the time is over";
        }
        let due = pace.next(now, age.is_some_and(|age| agent.has_young(now, age)));
        let until = agent
            .next_due(now)
            .into_iter()
            .chain(end)
            .chain([due.at])
            .min();
        let pause = until.unwrap_or(due.at).since(now);
        agent.own.pause();
        let woken = pause::wait(&signals, &agent, pause)?;
        burst::begin();
        match woken {
            Woken::Time => {}
            Woken::Answers => agent.take_answers(),
            Woken::Signal(SIGHUP) if running.has_file() => {
                if let Some(Taken { options, is_paced }) = running.reload(&mut agent) {
                    end = options.duration.map(|duration| begun.plus(duration));
                    if is_paced {
                        pace = Pace::new(&options);
                        age = options.young.map(|young| young.age);
                    }
                }
                continue;
            }
            Woken::Signal(_) => break "asked to end",
            Woken::Keeper => bail!("the keeper of the dataset has ended"),
        }
        let now = Nanos(clock::boot());
        if now >= due.at {
            agent.own.begin();
            match age.filter(|_| due.is_young) {
                Some(age) => agent.read_young(age),
                None => {
                    agent.late += pace.passed(now);
                    agent.pass();
                }
            }
            agent.own.end();
            pace.read(due.is_young);
        } else if woken == Woken::Time {
            agent.listen(false);
            agent.take_answers();
        }
        agent.service.beat(now);
    };
    agent.finish(why, Nanos(clock::boot()).since(begun))
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

/// The present, by both clocks.
fn now() -> Instant {
    Instant {
        at: Nanos(clock::boot()),
        real_offset_ns: real_offset(),
        span: Nanos(0),
    }
}

/// How old a segment becomes.
fn segment_age(options: &Options) -> Nanos {
    let usual = segment::Options::default();
    options.upkeep.segment_age(usual.segment_age_max)
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
        let cpus_allowed = reload::hold_to_cpus(options)?;
        // Before anything is open that the keeper should not have.
        let (kept, keeper, held) = keeper::start(dataset, options.upkeep)?;
        let (lender, door) = Lender::start(options.socket.as_deref())?;
        // As the keeper knows it.
        let whole = std::fs::canonicalize(dataset)?;
        let live = Live::start(door, &whole, &origin)?;
        let metrics = Metrics::start(options, &whole, &origin)?;
        let gpus = Gpus::start(options.gpu)?;
        let service = Service::open();
        let reader = Reader::open(&root, options.mechanism, options.interval)?;
        let settings = segment::Options {
            segment_age_max: segment_age(options),
            ..segment::Options::default()
        };
        let writer = Writer::new(Place::Kept(kept), &whole, origin, settings);
        let mut writer = writer.with_context(|| format!("dataset {}", dataset.display()))?;
        // What happens before the first reading has a segment to go to.
        let is_new = writer.begin(Nanos(clock::boot()));
        let is_new = is_new.with_context(|| format!("dataset {}", dataset.display()))?;
        let (listener, lack) = Listener::open(options);
        // To load programs into the kernel takes some ten MiB, for a moment.
        heap::trim();
        if let Some(lack) = lack {
            say(&lack);
        }
        confined::reader(&reader, &listener);
        confined::tell_keeper(held);
        let selection = Selection::new(options.wanted.clone());
        Ok(Self {
            interval: options.interval,
            reader,
            identities: Identities::new(root.clone(), selection, options.outside.as_ref()),
            detail: Detail::new(&root, &options.wishes, options.budget)?,
            listener,
            is_new,
            writer,
            keeper,
            lender,
            live,
            metrics,
            gpus,
            service,
            cpus_allowed,
            samples: Sheet::new(&table::sample::TABLE),
            node: Node::open(&root),
            own: Own::default(),
            root,
            rows: 0,
            passes: 0,
            is_hidden_said: false,
            late: 0,
            warned: Vec::new(),
        })
    }

    /// When something beside the next reading is to be done.
    fn next_due(&self, now: Nanos) -> Option<Nanos> {
        let all = [
            self.listener.due(now),
            self.detail.due(),
            self.service.due(),
        ];
        all.into_iter().flatten().min()
    }

    /// Takes what happened since the last time; `writes`: into the segment, too.
    fn listen(&mut self, writes: bool) {
        let (when, writer) = (now(), &mut self.writer);
        let names = &mut self.identities.names;
        let mut done = self.listener.read(when, names, writer);
        if writes {
            done = done.and(self.listener.flush(when, writer));
        }
        self.identities.ask_jobs(self.detail.asker());
        if let Some(why) = self.listener.failure() {
            warn(&mut self.warned, &anyhow!(why));
        }
        if let Err(error) = done {
            warn(&mut self.warned, &error.into());
        }
    }

    /// Takes what was answered since the last time.
    fn take_answers(&mut self) {
        let (when, writer) = (now(), &mut self.writer);
        let mut taken = self.detail.take(&mut self.identities, when, writer);
        let jobs = &mut self.identities.names.jobs;
        taken = taken.and(jobs.write((false, when), false, writer));
        self.identities.ask_jobs(self.detail.asker());
        let place = (&mut self.node, &mut self.writer);
        let devices = self.gpus.take(place, &mut self.warned);
        for error in [taken, devices].into_iter().filter_map(Result::err) {
            warn(&mut self.warned, &error.into());
        }
    }

    /// Sees whether those who serve others are still there.
    fn look_after(&mut self) {
        self.lender.look();
        self.live.look();
        self.metrics.look();
    }

    /// Gives memory back, now and then.
    fn trim(&self) {
        let passes = self.passes;
        if PASSES_BEGINNING.contains(&passes) || passes.is_multiple_of(PASSES_BETWEEN_TRIMS) {
            heap::trim();
            heap::drop_program();
        }
    }

    /// One reading, written.
    fn pass(&mut self) {
        self.passes += 1;
        self.look_after();
        self.listen(false);
        self.listener.refresh();
        let when = now();
        self.gpus.ask(when);
        let samples = match self.reader.read() {
            Ok(samples) => samples,
            Err(error) => {
                self.service.read(false, when.at, String::new);
                return warn(&mut self.warned, &error);
            }
        };
        burst::rest();
        self.node.read(when.at);
        let span = Nanos(clock::boot()).since(when.at);
        let (count, writer) = (samples.len(), &mut self.writer);
        let kept = samples.split_at_mut(count.min(PROCESSES_MAX)).0;
        lose(writer, count - kept.len());
        self.detail.weigh(kept);
        let kept = &*kept;
        self.listener.met(when.at, kept, self.node.spent());
        burst::rest();
        match writer.begin(when.at) {
            Ok(is_new) => self.is_new |= is_new,
            Err(error) => {
                lose(writer, kept.len());
                return warn(&mut self.warned, &error.into());
            }
        }
        let is_new = std::mem::take(&mut self.is_new);
        let (place, asker) = ((is_new, when), self.detail.asker());
        let (is_wanted, told) = self.identities.tell(kept, asker, place, writer);
        let wanted = || kept.iter().zip(&is_wanted).filter(|(_, wanted)| **wanted);
        burst::rest();
        self.listener.want(wanted().map(|(one, _)| one.id.pid));
        let ids = wanted().map(|(one, _)| one.id);
        let names = &mut self.identities.names;
        names.reading(ids, when.at, self.listener.hears());
        burst::rest();
        let ids = wanted().map(|(one, _)| one.id);
        self.gpus.met(when, is_new, ids);
        self.detail.met(wanted().map(|(one, _)| one), place);
        burst::rest();
        self.samples.begin(when, is_new);
        let rows = rows::write(&mut self.samples, writer, wanted().map(|(one, _)| one));
        let sampled = self.samples.end(writer, span);
        burst::rest();
        let mut own = self.own.rows(writer, self.keeper.upkeeps());
        own.extend(self.detail.rows().chain(self.gpus.rows()));
        let node = self.node.write((when, is_new), &own, writer, span);
        burst::rest();
        let heard = self.listener.flush(when, writer);
        let answered = self.detail.take(&mut self.identities, now(), writer);
        self.identities.ask_jobs(self.detail.asker());
        let jobs = &mut self.identities.names.jobs;
        let jobs = jobs.write((is_new, when), false, writer);
        let _ = [self.metrics.child(), self.live.child()].map(Child::nudge);
        let synced = writer.sync_if_due(Nanos(clock::boot()));
        let all = [told, sampled, node, heard, answered, jobs, synced];
        self.foretell(rows, &is_wanted);
        self.passed(rows, when.at, all);
    }

    /// A reading was written, and what came of each step of it.
    fn passed(&mut self, rows: u64, at: Nanos, done: [Result<(), store::Error>; 7]) {
        self.rows += rows;
        for error in done.into_iter().filter_map(Result::err) {
            warn(&mut self.warned, &error.into());
        }
        if rows == 0 {
            warn(&mut self.warned, &anyhow!("no process is selected so far"));
        }
        self.trim();
        let (passes, lost) = (self.passes, self.writer.lost_total());
        self.service.read(true, at, || {
            format!("{rows} processes at the last of {passes} readings, {lost} rows lost")
        });
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
