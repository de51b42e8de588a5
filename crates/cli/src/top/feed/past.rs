//! What a dataset has of one host, reading by reading.

use super::{Feed, Got};
use crate::live::people::{COUNTERS, GAUGES, OF_EXIT, OF_PROCESS, People};
use crate::live::tasks::OF_JOB;
use crate::live::wire::Mark;
use crate::query::answer::open;
use crate::query::progress::Line;
use crate::top::head;
use anyhow::{Result, anyhow, bail};
use query::past::{self, Measured, Reading, Sampled, Told, Value, Window};
use query::{Engine, Heed, Progress};
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::series::Row;
use record::table::{Table, exit, job, node, process, sample};
use record::timestamp::rfc3339;
use record::unit::Nanos;
use rustc_hash::FxHashSet;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// Readings on both sides of the one asked for that can be reached.
const AROUND: Nanos = Nanos::from_secs(43_200);

/// Rows of processes that are read in one go, about; and readings, at first and at most.
const ROWS: usize = 60_000;
const READINGS_FIRST: usize = 16;
const READINGS_MAX: usize = 512;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) dataset: PathBuf,
    /// Of which host; the only one by default.
    pub(crate) host: Option<String>,
    /// When; the last reading by default.
    pub(crate) at: Option<Nanos>,
    pub(crate) engine: query::Options,
}

/// A dataset, and where in it we are.
pub(crate) struct PastFeed {
    engine: Engine,
    dataset: PathBuf,
    host: String,
    readings: Vec<Reading>,
    /// What is shown next where nothing was shown yet.
    start: usize,
    shown: Option<usize>,
    chunk: Chunk,
    readings_at_once: usize,
    /// Until the first reading is shown.
    line: Line,
}

/// Readings that are in memory.
#[derive(Default)]
struct Chunk {
    from: usize,
    to: usize,
    samples: Vec<Sampled>,
    machine: Vec<Measured>,
    processes: Vec<Told>,
    jobs: Vec<Told>,
    ends: Vec<Told>,
}

/// Reads on, and shows how far it is on a terminal that has no screen yet.
fn going(line: &Line) -> impl FnMut(Progress) -> Heed {
    |so_far| {
        line.show(so_far);
        Heed::Go
    }
}

impl PastFeed {
    /// Finds the readings.
    ///
    /// # Errors
    /// There is no dataset, no such host, or nothing of that time.
    pub(crate) fn open(past: Past) -> Result<Self> {
        let Past {
            dataset,
            host,
            at,
            engine,
        } = past;
        let engine = open(&dataset, engine)?;
        let line = Line::new(false);
        let mut go = going(&line);
        let of = host
            .as_ref()
            .map_or(String::new(), |host| format!(" of `{host}`"));
        let nothing = || anyhow!("{} has no readings{of}", dataset.display());
        let at = match at {
            Some(at) => at,
            None => past::last(&engine, host.as_deref(), &mut go)?.ok_or_else(nothing)?,
        };
        let time = (Nanos(at.0.saturating_sub(AROUND.0)), at.plus(AROUND));
        let hosts = past::hosts(&engine, time, &mut go)?;
        let when = rfc3339(at.0);
        let host = match (host, hosts.as_slice()) {
            (Some(host), hosts) if hosts.contains(&host) => host,
            (Some(host), _) => bail!(
                "{} has no readings of `{host}` within 12 h of {when}",
                dataset.display()
            ),
            (None, [host]) => host.clone(),
            (None, []) => bail!(
                "{} has no readings within 12 h of {when}",
                dataset.display()
            ),
            (None, hosts) => bail!(
                "there are several hosts, --host names one of them: {}",
                some_of(hosts)
            ),
        };
        let readings = past::readings(&engine, &host, time, &mut go)?;
        let time = |reading: &Reading| u64::try_from(reading.time_ns).unwrap_or(0);
        let after = readings.partition_point(|one| time(one) <= at.0);
        Ok(Self {
            engine,
            dataset,
            host,
            readings,
            // The one that was the last then.
            start: after.saturating_sub(1),
            shown: None,
            chunk: Chunk::default(),
            readings_at_once: READINGS_FIRST,
            line: line.clone(),
        })
    }

    /// Whether two readings are of one boot.
    fn is_one_boot(&self, a: usize, b: usize) -> bool {
        let boot = |place: usize| self.readings.get(place).map(|one| &one.boot_id);
        boot(a) == boot(b)
    }

    /// Shows one reading, and the one before it where it has to be known for the rates.
    fn show(&mut self, people: &mut People, place: usize) -> Result<Got> {
        if place >= self.readings.len() {
            return Ok(Got::End("that was the last reading".to_owned()));
        }
        let before = place
            .checked_sub(1)
            .filter(|it| self.is_one_boot(*it, place));
        self.load(before.unwrap_or(place), place)?;
        self.line.end();
        if self.shown != before || before.is_none() {
            *people = People::new();
            if let Some(before) = before {
                self.give(people, before, true);
            }
        }
        let is_full = before.is_none();
        self.give(people, place, is_full);
        self.shown = Some(place);
        let at_ns = self.readings.get(place).map_or(0, |one| one.at_ns);
        Ok(Got::Reading(u64::try_from(at_ns).unwrap_or(0)))
    }

    /// Reads these from the dataset, and some around them.
    fn load(&mut self, from: usize, to: usize) -> Result<()> {
        let chunk = &self.chunk;
        if chunk.to > to && chunk.from <= from {
            return Ok(());
        }
        let is_back = self.shown.is_some_and(|shown| to < shown);
        let count = self.readings_at_once;
        let mut begin = match is_back {
            true => (to + 1).saturating_sub(count).min(from),
            false => from,
        };
        while !self.is_one_boot(begin, to) {
            begin += 1;
        }
        let mut end = (begin + count).max(to + 1).min(self.readings.len());
        while end > to + 1 && !self.is_one_boot(end - 1, to) {
            end -= 1;
        }
        let next = self.readings.get(end).filter(|_| self.is_one_boot(end, to));
        let (Some(first), Some(last)) = (self.readings.get(begin), self.readings.get(end - 1))
        else {
            return Ok(());
        };
        let window = Window {
            first,
            last,
            until_ns: next.map(|next| next.at_ns),
        };
        let engine = &self.engine;
        let columns: Vec<&str> = GAUGES.iter().chain(&COUNTERS).copied().collect();
        let mut go = going(&self.line);
        let samples = past::samples(engine, window, &columns, &mut go)?;
        self.chunk = Chunk {
            from: begin,
            to: end,
            machine: past::machine(engine, window, head::METRICS, &mut go)?,
            processes: from_birth(past::processes(engine, window, &OF_PROCESS, &mut go)?),
            jobs: past::jobs(engine, window, &OF_JOB, &mut go)?,
            ends: past::ends(engine, window, &OF_EXIT, &mut go)?,
            samples,
        };
        let each = (self.chunk.samples.len() / (end - begin).max(1)).max(1);
        self.readings_at_once = (ROWS / each).clamp(2, READINGS_MAX);
        Ok(())
    }

    /// Gives the rows of one reading; `is_full`: with all that was told before it.
    fn give(&self, people: &mut People, place: usize, is_full: bool) {
        let Some(reading) = self.readings.get(place) else {
            return;
        };
        let header = Header {
            at_ns: u64::try_from(reading.at_ns).unwrap_or(0),
            real_offset_ns: reading.time_ns.saturating_sub(reading.at_ns),
            ..Header::default()
        };
        let next = self
            .readings
            .get(place + 1)
            .filter(|_| self.is_one_boot(place, place + 1));
        let before = place.checked_sub(1).and_then(|it| self.readings.get(it));
        let before_ns = before.map_or(i64::MIN, |it| it.at_ns);
        // What was told of a reading came behind it, and before the next one.
        let until = next.map_or(i64::MAX, |next| next.at_ns);
        // Who was told of before it, and was not in the reading before, is forgotten.
        let since = if is_full { i64::MIN } else { before_ns };
        let is_of_it = |told: &&Told| (since..until).contains(&told.since_ns);
        for told in self.chunk.processes.iter().filter(is_of_it) {
            cells(people, &process::TABLE, &header, told);
        }
        for told in self.chunk.jobs.iter().filter(is_of_it) {
            cells(people, &job::TABLE, &header, told);
        }
        samples(
            people,
            &header,
            of_instant(&self.chunk.samples, reading.at_ns, |it| it.at_ns),
        );
        for told in &self.chunk.ends {
            if !is_full && told.since_ns > before_ns && told.since_ns <= reading.at_ns {
                cells(people, &exit::TABLE, &header, told);
            }
        }
        let before = if is_full { past::MACHINE_BEFORE_NS } else { 0 };
        machine(people, &header, &self.chunk.machine, reading.at_ns - before);
        let mark = Mark {
            is_full: place == 0 || !self.is_one_boot(place - 1, place),
            ..Mark::default()
        };
        people.end(mark, &header);
    }
}

/// Who a process is may be told after its first readings, and after its end: the first that is told
/// of it counts from its start on.
fn from_birth(mut all: Vec<Told>) -> Vec<Told> {
    let mut known = FxHashSet::default();
    for told in &mut all {
        let int = |place: u8| {
            let cell = told.cells.iter().find(|(it, _)| *it == place);
            cell.and_then(|(_, value)| match value {
                Value::Int(value) => Some(*value),
                Value::Text(_) | Value::List(_) => None,
            })
        };
        // Pid and start.
        let (pid, start) = (int(0), int(1));
        if known.insert((pid, start)) {
            told.since_ns = start.map_or(told.since_ns, |start| told.since_ns.min(start));
        }
    }
    all.sort_by_key(|told| told.since_ns);
    all
}

/// Those of one instant, of rows in their order.
fn of_instant<T>(all: &[T], at_ns: i64, at: impl Fn(&T) -> i64) -> &[T] {
    let from = all.partition_point(|one| at(one) < at_ns);
    let to = all.partition_point(|one| at(one) <= at_ns);
    all.get(from..to).unwrap_or_default()
}

fn samples(people: &mut People, header: &Header, all: &[Sampled]) {
    let names = || GAUGES.iter().chain(&COUNTERS);
    let columns = sample::TABLE.columns;
    let places: Vec<Option<usize>> = names()
        .map(|name| columns.iter().position(|column| column.name == *name))
        .collect();
    let mut values = [0; sample::COLUMN_COUNT];
    let mut key = Vec::new();
    for one in all {
        let mut present = 0;
        for (place, value) in places.iter().zip(&one.values) {
            if let (Some(place), Some(value)) = (place, value)
                && let Some(to) = values.get_mut(*place)
            {
                *to = *value;
                present |= 1 << place;
            }
        }
        key.clear();
        record::codec::key::put_int(&mut key, one.pid);
        record::codec::key::put_int(&mut key, one.start_ns);
        let row = Row {
            key: &key,
            present,
            values: &values,
        };
        store::segment::Take::series(people, &sample::TABLE, header, row, true);
    }
}

/// The values of the machine from then on, each of its time.
fn machine(people: &mut People, header: &Header, all: &[Measured], from_ns: i64) {
    let from = all.partition_point(|one| one.at_ns < from_ns);
    let at_ns = i64::try_from(header.at_ns).unwrap_or(i64::MAX);
    let to = all.partition_point(|one| one.at_ns <= at_ns);
    let mut key = Vec::new();
    for one in all.get(from..to).unwrap_or_default() {
        node::key(&one.metric, one.instance.as_bytes(), &mut key);
        let row = Row {
            key: &key,
            present: 1,
            values: &[one.value],
        };
        let header = Header {
            at_ns: u64::try_from(one.at_ns).unwrap_or(0),
            ..*header
        };
        store::segment::Take::series(people, &node::TABLE, &header, row, true);
    }
}

fn cells(people: &mut People, table: &'static Table, header: &Header, told: &Told) {
    let row: Vec<(u8, Cell<'_>)> = told
        .cells
        .iter()
        .map(|(place, value)| {
            let cell = match value {
                Value::Int(value) => Cell::Int(*value),
                Value::Text(text) => Cell::Text(text.as_bytes()),
                Value::List(texts) => Cell::List(texts.iter().map(|it| it.as_bytes()).collect()),
            };
            (*place, cell)
        })
        .collect();
    store::segment::Take::cells(people, table, header, &row);
}

/// The first names of several.
fn some_of(hosts: &[String]) -> String {
    const NAMED: usize = 8;
    let named: Vec<&str> = hosts.iter().take(NAMED).map(String::as_str).collect();
    let more = hosts.len().saturating_sub(NAMED);
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

impl Feed for PastFeed {
    fn host(&self) -> &str {
        &self.host
    }

    fn name(&self) -> String {
        format!("of {}", self.dataset.display())
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn due(&self) -> Option<Nanos> {
        None
    }

    fn next(&mut self, people: &mut People) -> Result<Got> {
        let place = self.shown.map_or(self.start, |shown| shown + 1);
        self.show(people, place)
    }

    fn step(&mut self, people: &mut People, readings: i64) -> Result<Option<Got>> {
        let last = self.readings.len().saturating_sub(1);
        let now = self.shown.unwrap_or(self.start);
        let by = usize::try_from(readings.unsigned_abs()).unwrap_or(usize::MAX);
        let place = match readings < 0 {
            true => now.saturating_sub(by),
            false => now.saturating_add(by).min(last),
        };
        if self.shown == Some(place) {
            return Ok(Some(Got::Nothing));
        }
        self.show(people, place).map(Some)
    }

    fn place(&self) -> Option<(usize, usize)> {
        Some((self.shown.unwrap_or(self.start), self.readings.len()))
    }
}
