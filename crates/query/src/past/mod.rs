//! What was read of one host at one time, as the rows that an agent told then.

mod batches;

use crate::engine::{Engine, Heed, Progress};
use crate::error::Error;
use batches::Batches;
pub use batches::Value;
use record::table::{Shape, Table, exit, job, process, sample};
use record::unit::Nanos;

/// Told of at each reading.
const EACH_READING: &str = "node_cpu_user";

/// What of the machine is read seldom is read this often.
pub const MACHINE_BEFORE_NS: i64 = 60_000_000_000;

/// A day, in nanoseconds.
const DAY_NS: u64 = 86_400_000_000_000;

/// One reading of everyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Where.
    pub host: String,
    /// Since which boot.
    pub boot_id: String,
    /// When, since that boot.
    pub at_ns: i64,
    /// And since 1970.
    pub time_ns: i64,
}

/// Some readings of one host and boot, the first and the last of them included.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The first.
    pub first: &'a Reading,
    /// The last, of the same host and boot.
    pub last: &'a Reading,
    /// When the one behind it was, since boot; nothing if there is none.
    pub until_ns: Option<i64>,
}

/// A row of `sample`: the values in the order of the columns that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// Of which reading.
    pub at_ns: i64,
    /// The process.
    pub pid: i64,
    /// When it began, since boot.
    pub start_ns: i64,
    /// What was read.
    pub values: Box<[Option<i64>]>,
}

/// A row of `node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// When.
    pub at_ns: i64,
    /// What.
    pub metric: String,
    /// Of which part.
    pub instance: String,
    /// How much.
    pub value: i64,
}

/// A row of a table of cells: the places of its columns, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Since when it is so, since boot.
    pub since_ns: i64,
    /// What is told, by the places of the columns in key and table.
    pub cells: Vec<(u8, Value)>,
}

/// Hears of the progress.
pub type Heeding<'a> = &'a mut dyn FnMut(Progress) -> Heed;

/// The hosts of which there are readings in a time.
///
/// # Errors
/// The dataset cannot be read, or nobody waits any more.
pub fn hosts(
    engine: &Engine,
    time: (Nanos, Nanos),
    heed: Heeding<'_>,
) -> Result<Vec<String>, Error> {
    let question = format!(
        "SELECT host FROM node WHERE metric = '{EACH_READING}' AND instance = '' AND {} \
         GROUP BY host ORDER BY host",
        between(time)
    );
    let rows = Batches::of(engine, &question, heed)?;
    rows.map(|row| row.text(0))
}

/// When the last reading was, since 1970.
///
/// # Errors
/// As [`hosts`].
pub fn last(
    engine: &Engine,
    host: Option<&str>,
    heed: Heeding<'_>,
) -> Result<Option<Nanos>, Error> {
    let question = format!(
        "SELECT CAST(max(time) AS BIGINT) AS micros FROM node WHERE metric = '{EACH_READING}' \
         AND instance = '' AND {}",
        of_host(host)
    );
    let rows = Batches::of(engine, &question, heed)?.map(|row| row.int(0))?;
    let micros = rows.into_iter().flatten().next();
    Ok(micros
        .and_then(|it| u64::try_from(it).ok())
        .map(|it| Nanos(it.saturating_mul(1000))))
}

/// The readings of a host in a time, in their order.
///
/// # Errors
/// As [`hosts`].
pub fn readings(
    engine: &Engine,
    host: &str,
    time: (Nanos, Nanos),
    heed: Heeding<'_>,
) -> Result<Vec<Reading>, Error> {
    let question = format!(
        "SELECT host, boot_id, at_ns, CAST(time AS BIGINT) AS micros FROM node \
         WHERE metric = '{EACH_READING}' AND instance = '' AND {} AND {} \
         GROUP BY host, boot_id, at_ns, time ORDER BY time, at_ns",
        of_host(Some(host)),
        between(time)
    );
    let rows = Batches::of(engine, &question, heed)?;
    rows.map(|row| {
        Ok(Reading {
            host: row.text(0)?,
            boot_id: row.text(1)?,
            at_ns: row.number(2)?,
            time_ns: row.number(3)?.saturating_mul(1000),
        })
    })
}

/// What was read of the processes, reading by reading.
///
/// # Errors
/// As [`hosts`].
pub fn samples(
    engine: &Engine,
    window: Window<'_>,
    columns: &[&str],
    heed: Heeding<'_>,
) -> Result<Vec<Sampled>, Error> {
    let names: Vec<String> = columns.iter().map(|name| spelled(name)).collect();
    let question = format!(
        "SELECT at_ns, pid, start_ns, {} FROM sample WHERE {} ORDER BY at_ns, pid",
        names.join(", "),
        within(window)
    );
    let rows = Batches::of(engine, &question, heed)?;
    rows.map(|row| {
        let values: Result<_, Error> = (0..columns.len()).map(|place| row.int(3 + place)).collect();
        Ok(Sampled {
            at_ns: row.number(0)?,
            pid: row.number(1)?,
            start_ns: row.number(2)?,
            values: values?,
        })
    })
}

/// What was read of the machine, from a minute before the first reading on: not all of it is read
/// each time.
///
/// # Errors
/// As [`hosts`].
pub fn machine(
    engine: &Engine,
    window: Window<'_>,
    metrics: &[&str],
    heed: Heeding<'_>,
) -> Result<Vec<Measured>, Error> {
    let names: Vec<String> = metrics.iter().map(|name| literal(name)).collect();
    let question = format!(
        "SELECT at_ns, metric, instance, value FROM node WHERE {} AND metric IN ({}) \
         ORDER BY at_ns",
        from_before(window, MACHINE_BEFORE_NS),
        names.join(", ")
    );
    let rows = Batches::of(engine, &question, heed)?;
    rows.map(|row| {
        Ok(Measured {
            at_ns: row.number(0)?,
            metric: row.text(1)?,
            instance: row.text(2)?,
            value: row.number(3)?,
        })
    })
}

/// Who the processes of these readings were: as it was told of them before, and what came since.
///
/// # Errors
/// As [`hosts`].
pub fn processes(
    engine: &Engine,
    window: Window<'_>,
    columns: &[&str],
    heed: Heeding<'_>,
) -> Result<Vec<Told>, Error> {
    let there = format!(
        "SELECT DISTINCT pid AS there_pid, start_ns AS there_start FROM sample WHERE {}",
        within(window)
    );
    let of = format!(
        "(SELECT p.* FROM process AS p JOIN ({there}) AS t \
         ON p.pid = t.there_pid AND p.start_ns = t.there_start WHERE {})",
        before(window)
    );
    let since = "coalesce(exec_ns, at_ns)";
    told(engine, window, &process::TABLE, (&of, since, columns), heed)
}

/// Who ended after the first of these readings and up to the last, each once, by when.
///
/// # Errors
/// As [`hosts`].
pub fn ends(
    engine: &Engine,
    window: Window<'_>,
    columns: &[&str],
    heed: Heeding<'_>,
) -> Result<Vec<Told>, Error> {
    let (first, last) = (window.first.at_ns, window.last.at_ns);
    let of = format!(
        "(SELECT * FROM exit WHERE {} AND end_ns > {first} AND end_ns <= {last})",
        before(window)
    );
    told(engine, window, &exit::TABLE, (&of, "end_ns", columns), heed)
}

/// What was known of the jobs then.
///
/// # Errors
/// As [`hosts`].
pub fn jobs(
    engine: &Engine,
    window: Window<'_>,
    columns: &[&str],
    heed: Heeding<'_>,
) -> Result<Vec<Told>, Error> {
    let of = format!("(SELECT * FROM job WHERE {})", before(window));
    told(engine, window, &job::TABLE, (&of, "at_ns", columns), heed)
}

/// The last row of each key before the first reading, and all behind it.
fn told(
    engine: &Engine,
    window: Window<'_>,
    table: &Table,
    (of, since, columns): (&str, &str, &[&str]),
    heed: Heeding<'_>,
) -> Result<Vec<Told>, Error> {
    let keys: Vec<&str> = table.key.iter().map(|column| column.name).collect();
    let names: Vec<&str> = keys.iter().chain(columns).copied().collect();
    let spelled: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let question = format!(
        "SELECT since_ns, {names} FROM (\
           SELECT {since} AS since_ns, {names}, row_number() OVER (\
             PARTITION BY {keys}, {since} > {first} \
             ORDER BY {since} DESC, at_ns DESC) AS place, at_ns \
           FROM {of}) \
         WHERE place = 1 OR since_ns > {first} ORDER BY since_ns, at_ns",
        names = spelled.join(", "),
        keys = keys.join(", "),
        first = window.first.at_ns
    );
    let places: Vec<(u8, Shape)> = names.iter().filter_map(|name| place(table, name)).collect();
    let rows = Batches::of(engine, &question, heed)?;
    rows.map(|row| {
        let mut cells = Vec::with_capacity(places.len());
        for (index, (place, shape)) in places.iter().enumerate() {
            let value = row.value(1 + index, *shape)?;
            cells.extend(value.map(|value| (*place, value)));
        }
        Ok(Told {
            since_ns: row.number(0)?,
            cells,
        })
    })
}

/// Where a column is among the cells of a row, and what it holds.
fn place(table: &Table, name: &str) -> Option<(u8, Shape)> {
    let mut all = table.key.iter().chain(table.columns).enumerate();
    let (place, column) = all.find(|(_, column)| column.name == name)?;
    Some((u8::try_from(place).ok()?, column.shape))
}

/// A column of `sample` as a number.
fn spelled(name: &str) -> String {
    let column = sample::TABLE.columns.iter().find(|it| it.name == name);
    match column.map(|column| column.shape) {
        Some(Shape::Letter) => format!("CAST(ascii({name}) AS BIGINT) AS {name}"),
        _ => name.to_owned(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn of_host(host: Option<&str>) -> String {
    host.map_or_else(
        || "1 = 1".to_owned(),
        |host| format!("host = {}", literal(host)),
    )
}

/// An instant since 1970.
fn instant(ns: u64) -> String {
    format!("to_timestamp_micros({})", ns / 1000)
}

fn between((from, to): (Nanos, Nanos)) -> String {
    format!("time >= {} AND time <= {}", instant(from.0), instant(to.0))
}

/// The rows of these readings.
fn within(window: Window<'_>) -> String {
    from_before(window, 0)
}

/// The same, and those of so long before.
fn from_before(window: Window<'_>, before_ns: i64) -> String {
    let Window { first, last, .. } = window;
    let time = |ns: i64| u64::try_from(ns).unwrap_or(0);
    // The clock may have been set in between: what counts is the time since boot.
    let (from, to) = (
        first.time_ns.min(last.time_ns) - before_ns,
        first.time_ns.max(last.time_ns),
    );
    let margin = 1_000_000;
    format!(
        "{} AND boot_id = {} AND at_ns >= {} AND at_ns <= {} AND {}",
        of_host(Some(&first.host)),
        literal(&first.boot_id),
        first.at_ns - before_ns,
        last.at_ns,
        between((
            Nanos(time(from).saturating_sub(margin)),
            Nanos(time(to) + margin)
        ))
    )
}

/// The rows that were told up to the next reading, and not long before these: a process is told
/// with each segment.
fn before(window: Window<'_>) -> String {
    let Window {
        first,
        last,
        until_ns,
    } = window;
    let time = |ns: i64| u64::try_from(ns).unwrap_or(0);
    let until = until_ns.unwrap_or(i64::MAX);
    format!(
        "{} AND boot_id = {} AND at_ns < {until} AND {}",
        of_host(Some(&first.host)),
        literal(&first.boot_id),
        between((
            Nanos(time(first.time_ns).saturating_sub(DAY_NS)),
            Nanos(time(last.time_ns) + DAY_NS)
        ))
    )
}
