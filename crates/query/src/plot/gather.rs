//! From the rows of the dataset to processes with their readings.

use super::course::{ABSENT, COUNTERS, End, Member, Reading};
use crate::column::{numbers, texts};
use crate::error::Error;
use crate::output::Writing;
use datafusion::arrow::array::{Array, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

/// More processes are not drawn.
const MEMBERS_MAX: usize = 1 << 20;

/// A row of `members.sql`.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    host: String,
    boot_id: String,
    pid: i64,
    start_ns: i64,
    program: Option<String>,
    offset_ns: i64,
    end_ns: Option<i64>,
    cpu_time: Option<i64>,
    bytes_read: Option<i64>,
    bytes_written: Option<i64>,
    disk_read: Option<i64>,
    disk_written: Option<i64>,
}

/// A host, from one boot to the next.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Origin {
    pub(super) host: String,
    pub(super) boot_id: String,
    /// From the time since boot to that since 1970.
    pub(super) offset: i64,
}

/// The processes of a job.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) origins: Vec<Origin>,
    pub(super) programs: Vec<String>,
    pub(super) members: Vec<Member>,
    /// The place of each, by host and boot, pid and start.
    places: FxHashMap<(usize, i64, i64), usize>,
}

impl Members {
    /// # Errors
    /// There are too many.
    pub(super) fn of(rows: Vec<Row>) -> Result<Self, Error> {
        if rows.len() > MEMBERS_MAX {
            let count = rows.len();
            let words = format!(
                "{count} processes are too many for one picture: take a part of its time (--from, \
                 --to) or a host"
            );
            return Err(Error::Failed(words));
        }
        let mut all = Self::default();
        let mut programs = FxHashMap::default();
        for row in rows {
            let place = all.origin(&row.host, &row.boot_id);
            if let Some(origin) = all.origins.get_mut(place) {
                origin.offset = origin.offset.max(row.offset_ns);
            }
            let name = row.program.unwrap_or_default();
            let program = *programs.entry(name).or_insert_with_key(|name| {
                all.programs.push(name.clone());
                all.programs.len() - 1
            });
            let values = [
                row.cpu_time,
                row.bytes_read,
                row.bytes_written,
                row.disk_read,
                row.disk_written,
            ];
            let counters = values.map(|value| value.unwrap_or(ABSENT));
            let key = (place, row.pid, row.start_ns);
            let next = all.members.len();
            if *all.places.entry(key).or_insert(next) != next {
                continue;
            }
            all.members.push(Member {
                origin: place,
                pid: row.pid,
                start: row.start_ns,
                program,
                end: row.end_ns.map(|at| End { at, counters }),
                readings: Vec::new(),
            });
        }
        Ok(all)
    }

    /// The place of a host and boot; a new one has the earliest offset.
    fn origin(&mut self, host: &str, boot_id: &str) -> usize {
        // They come sorted.
        let known = self
            .origins
            .iter()
            .rposition(|one| one.host == host && one.boot_id == boot_id);
        known.unwrap_or_else(|| {
            self.origins.push(Origin {
                host: host.to_owned(),
                boot_id: boot_id.to_owned(),
                offset: i64::MIN,
            });
            self.origins.len() - 1
        })
    }
}

/// Takes the rows of `samples.sql`.
pub(super) struct Taking<'a> {
    members: &'a mut Members,
    /// The only readings that are wanted, if not all are.
    only: Option<&'a FxHashSet<(usize, i64)>>,
    /// The host of the last row.
    last: Option<usize>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(members: &'a mut Members, only: Option<&'a FxHashSet<(usize, i64)>>) -> Self {
        Self {
            members,
            only,
            last: None,
        }
    }

    /// The place of the host of a row; hosts without a process of the job have none.
    fn origin(&mut self, host: &str, boot_id: &str) -> Option<usize> {
        let is_it = |one: &Origin| one.host == host && one.boot_id == boot_id;
        let origins = &self.members.origins;
        if self
            .last
            .is_none_or(|last| !origins.get(last).is_some_and(is_it))
        {
            self.last = origins.iter().position(is_it);
        }
        self.last
    }
}

impl Writing for Taking<'_> {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let [host, boot_id] = [text(batch, "host")?, text(batch, "boot_id")?];
        let [pid, start, at] = ["pid", "start_ns", "at_ns"].map(|name| number(batch, name));
        let (pid, start, at) = (pid?, start?, at?);
        let (rss, held) = (number(batch, "rss")?, number(batch, "held")?);
        let names = [
            "cpu_time",
            "bytes_read",
            "bytes_written",
            "disk_read",
            "disk_written",
        ];
        let [cpu, read, written, disk_read, disk_written] = names.map(|name| number(batch, name));
        let counters: [_; COUNTERS] = [cpu?, read?, written?, disk_read?, disk_written?];
        for row in 0..batch.num_rows() {
            let Some(origin) = self.origin(host.value(row), boot_id.value(row)) else {
                continue;
            };
            let at = at.value(row);
            if self.only.is_some_and(|only| !only.contains(&(origin, at))) {
                continue;
            }
            let key = (origin, pid.value(row), start.value(row));
            let place = self.members.places.get(&key);
            let Some(member) = place.and_then(|place| self.members.members.get_mut(*place)) else {
                continue;
            };
            member.readings.push(Reading {
                at,
                rss: value(rss, row),
                held: value(held, row),
                counters: counters.map(|column| value(column, row)),
            });
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        for member in &mut self.members.members {
            let readings = &mut member.readings;
            if !readings.is_sorted_by_key(|one| one.at) {
                readings.sort_unstable_by_key(|one| one.at);
            }
            readings.dedup_by_key(|one| one.at);
        }
        Ok(())
    }
}

fn value(column: &Int64Array, row: usize) -> i64 {
    match column.is_null(row) {
        true => ABSENT,
        false => column.value(row),
    }
}

fn number<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Int64Array, Error> {
    numbers(batch, name).map_err(Error::Failed)
}

fn text(batch: &RecordBatch, name: &str) -> Result<StringViewArray, Error> {
    texts(batch, name).map_err(Error::Failed)
}

/// The readings that `instants.sql` tells.
pub(super) struct Instants<'a> {
    pub(super) members: &'a Members,
    pub(super) chosen: FxHashSet<(usize, i64)>,
}

impl Writing for Instants<'_> {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let [host, boot_id] = [text(batch, "host")?, text(batch, "boot_id")?];
        let at = number(batch, "at_ns")?;
        for row in 0..batch.num_rows() {
            let is_it =
                |one: &Origin| one.host == host.value(row) && one.boot_id == boot_id.value(row);
            let place = self.members.origins.iter().position(is_it);
            self.chosen
                .extend(place.map(|place| (place, at.value(row))));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
