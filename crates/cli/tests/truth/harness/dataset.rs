//! A dataset that an agent made: compacted by the binary under test, its rows read from Parquet.

use super::process::{self, Signal, patience};
use super::run::{Done, Run, Running, plimsoll};
use super::words;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts};
use record::codec::series::Row as SeriesRow;
use record::table::{Table, by_name, sample};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use store::segment::{Found, Reader, Rows, Take};

/// One row: what it has a value for, by column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(BTreeMap<String, Field>);

impl Row {
    /// The whole number in a column, if there is one.
    #[track_caller]
    pub(crate) fn get(&self, column: &str) -> Option<i64> {
        match self.0.get(column) {
            None => None,
            Some(Field::Long(value) | Field::TimestampMicros(value)) => Some(*value),
            other => panic!("{column}: {other:?}"),
        }
    }

    /// The whole number in a column.
    #[track_caller]
    pub(crate) fn number(&self, column: &str) -> i64 {
        self.get(column)
            .unwrap_or_else(|| panic!("no {column} in {self:?}"))
    }

    /// A text or a list, as it is shown.
    pub(crate) fn text(&self, column: &str) -> Option<String> {
        match self.0.get(column)? {
            Field::Str(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// The columns that have a value.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// The command line of an agent that writes to the folder `d` of its run.
pub(crate) fn agent(options: &[&str]) -> Run {
    let run = Run::bare(Vec::new());
    let mut command = words![plimsoll(), "agent", "--dataset", run.path("d")];
    command.extend(options.iter().map(OsString::from));
    run.command(command)
}

/// Compacts and gives what was printed.
#[track_caller]
pub(crate) fn compact(dataset: &Path) -> Done {
    let done = Run::bare(words![plimsoll(), "compact", dataset]).finish();
    done.expect_status(0);
    done
}

/// The rows of a table, file by file in their order.
pub(crate) fn rows(dataset: &Path, table: &str) -> Vec<Row> {
    // A compaction may put another file in the place of one that was just listed.
    const TRIES: usize = 100;
    let found = (0..TRIES).find_map(|_| rows_there(dataset, table));
    found.unwrap_or_else(|| panic!("files go away again and again below {}", dataset.display()))
}

/// Nothing if a file went away meanwhile.
fn rows_there(dataset: &Path, table: &str) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for path in files(&dataset.join(format!("kind={table}"))) {
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            opened => opened.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        };
        let reader = SerializedFileReader::new(file).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let cells = row.unwrap().into_columns().into_iter();
            let present = cells.filter(|(_, value)| *value != Field::Null);
            rows.push(Row(present.collect()));
        }
    }
    Some(rows)
}

/// The rows of one process, in the order of time.
pub(crate) fn rows_of(dataset: &Path, table: &str, pid: u32) -> Vec<Row> {
    let mut rows = rows(dataset, table);
    rows.retain(|row| row.number("pid") == i64::from(pid));
    rows.sort_by_key(|row| row.number("at_ns"));
    rows
}

/// The rows of `sample` in the live segments, as they are on the disk now: process and instant.
pub(crate) fn live(dataset: &Path) -> Vec<(i64, i64)> {
    let mut seen = Seen(Vec::new());
    read_live(dataset, &mut seen);
    seen.0
}

fn read_live(dataset: &Path, seen: &mut impl Take) {
    for path in files(&dataset.join("live")) {
        let Some(mut reader) = Reader::open(&path).unwrap() else {
            continue;
        };
        let mut rows = Rows::default();
        while let Found::Frame { header, payload } = reader.read_next().unwrap() {
            rows.read(&header, payload, seen).unwrap();
        }
    }
}

/// The rows of a table of cells in the live segments: what each has a value for, as text.
pub(crate) fn live_cells(dataset: &Path, table: &str) -> Vec<BTreeMap<&'static str, String>> {
    let mut seen = Whole(by_name(table).unwrap(), Vec::new());
    read_live(dataset, &mut seen);
    seen.1
}

struct Whole(&'static Table, Vec<BTreeMap<&'static str, String>>);

impl Take for Whole {
    fn series(&mut self, _: &'static Table, _: &Header, _: SeriesRow<'_>, _: bool) {}

    fn cells(&mut self, table: &'static Table, _: &Header, cells: &[(u8, Cell<'_>)]) {
        if table.id != self.0.id {
            return;
        }
        let names: Vec<_> = table.key.iter().chain(table.columns).collect();
        let one = |(place, cell): &(u8, Cell<'_>)| {
            let text = match cell {
                Cell::Int(value) => value.to_string(),
                Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Cell::List(list) => format!("{} texts", list.len()),
            };
            (names[usize::from(*place)].name, text)
        };
        self.1.push(cells.iter().map(one).collect());
    }
}

/// The instants at which a table of series has rows in the live segments.
#[cfg(feature = "nvml")]
pub(crate) fn live_series(dataset: &Path, table: &str) -> BTreeSet<i64> {
    let mut instants = Instants(by_name(table).unwrap(), BTreeSet::new());
    read_live(dataset, &mut instants);
    instants.1
}

#[cfg(feature = "nvml")]
struct Instants(&'static Table, BTreeSet<i64>);

#[cfg(feature = "nvml")]
impl Take for Instants {
    fn series(&mut self, table: &'static Table, header: &Header, _: SeriesRow<'_>, _: bool) {
        if table.id == self.0.id {
            self.1.insert(header.at_ns as i64);
        }
    }

    fn cells(&mut self, _: &'static Table, _: &Header, _: &[(u8, Cell<'_>)]) {}
}

struct Seen(Vec<(i64, i64)>);

impl Take for Seen {
    fn series(&mut self, table: &'static Table, header: &Header, row: SeriesRow<'_>, _: bool) {
        if table.id == sample::TABLE.id {
            let parts = parts(table.key, row.key).unwrap();
            let Part::Int(pid) = parts[0] else {
                panic!("{parts:?}");
            };
            self.0.push((pid, header.at_ns as i64));
        }
    }

    fn cells(&mut self, _: &'static Table, _: &Header, _: &[(u8, Cell<'_>)]) {}
}

/// Waits until everything that is now was read, and read once more.
#[track_caller]
pub(crate) fn wait_for_reading(agent: &mut Running, dataset: &Path) {
    let (start, now) = (Instant::now(), sys::clock::boot() as i64);
    loop {
        let rows = live(dataset);
        let instants: BTreeSet<_> = rows.iter().map(|(_, at)| *at).collect();
        if instants.range(now..).count() >= 2 {
            return;
        }
        if start.elapsed() > patience() || !process::is_alive(agent.pid()) {
            panic!(
                "no reading; {} instants\n{}",
                instants.len(),
                agent.printed()
            );
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Lets an agent read what is now, and ends it.
#[track_caller]
pub(crate) fn read_once(options: &[&str]) -> Done {
    let mut agent = agent(options).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    done
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
