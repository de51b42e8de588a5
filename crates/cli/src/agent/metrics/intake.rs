//! From the rows of a segment to the board and to what the machine tells.

use super::accounts::{Told, label};
use super::board::{Board, Id, Sample};
use super::machine::Machine;
use super::sums::{COUNT, CPU, Places, cell};
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts};
use record::codec::series::Row;
use record::table::{Table, exit, gpu, job, node, process, sample};
use record::unit::Nanos;
use store::segment::Take;

/// Columns of `job` that become labels.
const JOB_LABELS: [&str; 5] = ["scheduler", "user", "account", "partition", "name"];

/// Takes all rows.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) board: Board,
    pub(super) machine: Machine,
    places: Places,
    process_identifier: Option<usize>,
    process_exec: Option<usize>,
    job_labels: [(&'static str, Option<usize>); JOB_LABELS.len()],
    job_identifier: Option<usize>,
    job_start: Option<usize>,
    /// Memory and how busy, among the columns of `gpu`.
    gpu: [Option<usize>; 2],
    /// The reading of everyone that is not settled: when, and what to add for the time of day.
    open: Option<(Nanos, i64)>,
    /// The last one that is.
    pub(super) last: Option<(Nanos, i64)>,
}

impl Intake {
    pub(super) fn new(board: Board) -> Self {
        Self {
            board,
            machine: Machine::default(),
            places: Places::new(),
            process_identifier: cell(&process::TABLE, "identifier"),
            process_exec: cell(&process::TABLE, "exec_ns"),
            job_labels: JOB_LABELS.map(|name| (name, cell(&job::TABLE, name))),
            job_identifier: cell(&job::TABLE, "identifier"),
            gpu: ["memory", "busy"]
                .map(|name| gpu::TABLE.columns.iter().position(|it| it.name == name)),
            job_start: cell(&job::TABLE, "first_start_ns"),
            open: None,
            last: None,
        }
    }

    /// All of a reading is there.
    pub(super) fn settle(&mut self) {
        if let Some((at, offset)) = self.open.take() {
            self.board.settle(at);
            self.machine.settle(at);
            self.last = Some((at, offset));
        }
    }

    /// What came behind a reading is of the next one.
    fn at(&mut self, header: &Header) {
        if self.open.is_some_and(|(at, _)| header.at_ns > at.0) {
            self.settle();
        }
        // The rows of the machine are those of a reading of everyone, behind its samples.
        // Those of devices come later, some of them when that is settled.
        let is_settled = self.last.is_some_and(|(at, _)| header.at_ns <= at.0);
        if header.table == node::TABLE.id && !is_settled {
            self.open = Some((Nanos(header.at_ns), header.real_offset_ns));
        }
    }
}

impl Take for Intake {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        self.at(header);
        let Ok(key) = parts(table.key, row.key) else {
            return;
        };
        if table.id == node::TABLE.id {
            if let ([Part::Text(metric), Part::Text(instance)], Some(value)) =
                (key.as_slice(), value(&row, Some(0)))
            {
                let at = Nanos(header.at_ns);
                self.machine.row(metric, instance, value, at);
            }
        } else if table.id == sample::TABLE.id
            && let [Part::Int(pid), Part::Int(start)] = key.as_slice()
        {
            let sample = Sample {
                values: self.places.sample.map(|place| value(&row, place)),
                threads: value(&row, self.places.threads),
                rss: value(&row, self.places.rss),
            };
            self.board.sample((*pid, *start), &sample);
        } else if table.id == gpu::TABLE.id
            && let [Part::Int(pid), Part::Int(start), _] = key.as_slice()
        {
            let [memory, busy] = self.gpu.map(|place| value(&row, place));
            let at = Nanos(header.at_ns);
            self.board.device((*pid, *start), at, (memory, busy));
        }
    }

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        self.at(header);
        if table.id == job::TABLE.id {
            return self.job(row);
        }
        let Some(id) = id(row) else {
            return;
        };
        if table.id == process::TABLE.id {
            let identifier = text(row, self.process_identifier);
            // An exec is told before anybody has looked at the environment.
            match identifier.is_none() && int(row, self.process_exec).is_some() {
                true => self.board.meet(id),
                false => self.board.identify(id, identifier),
            }
        } else if table.id == exit::TABLE.id {
            let mut values: [Option<i64>; COUNT] = self.places.exit.map(|place| int(row, place));
            if let Some(cpu @ None) = values.get_mut(CPU) {
                *cpu = int(row, self.places.cpu_least);
            }
            let identifier = text(row, self.places.exit_identifier);
            self.board.exit(id, &values, identifier);
        }
    }
}

impl Intake {
    fn job(&mut self, row: &[(u8, Cell<'_>)]) {
        let Some(identifier) = text(row, self.job_identifier) else {
            return;
        };
        let known = self.job_labels.iter().filter_map(|(name, place)| {
            let text = text(row, *place)?;
            Some((*name, label(text)))
        });
        let first_start = int(row, self.job_start).and_then(|ns| u64::try_from(ns).ok());
        let told = Told {
            labels: known.collect(),
            first_start: first_start.map(Nanos),
        };
        self.board.job(identifier, told);
    }
}

fn value(row: &Row<'_>, place: Option<usize>) -> Option<i64> {
    let place = place?;
    let is_there = row.present.checked_shr(u32::try_from(place).ok()?)? & 1 == 1;
    row.values.get(place).copied().filter(|_| is_there)
}

fn found<'a, 'b>(row: &'a [(u8, Cell<'b>)], place: Option<usize>) -> Option<&'a Cell<'b>> {
    let place = u8::try_from(place?).ok()?;
    let found = row.iter().find(|(column, _)| *column == place);
    found.map(|(_, cell)| cell)
}

fn int(row: &[(u8, Cell<'_>)], place: Option<usize>) -> Option<i64> {
    match found(row, place)? {
        Cell::Int(value) => Some(*value),
        _ => None,
    }
}

fn text<'a>(row: &'a [(u8, Cell<'_>)], place: Option<usize>) -> Option<&'a [u8]> {
    match found(row, place)? {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

/// The first two columns of the tables of processes.
fn id(row: &[(u8, Cell<'_>)]) -> Option<Id> {
    Some((int(row, Some(0))?, int(row, Some(1))?))
}
