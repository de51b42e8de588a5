//! `/proc/diskstats`: what the block devices did. Partitions are left out, and devices that nobody
//! has used yet.

use super::fields::{Field, MILLIS, SECTOR, Scale, count, counter, gauge, put_columns};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{lines, words};
use crate::root::Root;
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// Devices that are remembered as disks or partitions; the file may have more.
const KNOWN_MAX: usize = 4096;

/// The columns behind major number, minor number and name.
const FIELDS: &[Field] = &[
    count("column 4", "disk_reads", "reads done"),
    count(
        "column 5",
        "disk_reads_merged",
        "reads that were put together with others",
    ),
    counter("column 6", SECTOR, "disk_read", Unit::Bytes, "bytes read"),
    counter(
        "column 7",
        MILLIS,
        "disk_read_time",
        Unit::Nanoseconds,
        "time of all reads, waiting included",
    ),
    count("column 8", "disk_writes", "writes done"),
    count(
        "column 9",
        "disk_writes_merged",
        "writes that were put together with others",
    ),
    counter(
        "column 10",
        SECTOR,
        "disk_written",
        Unit::Bytes,
        "bytes written",
    ),
    counter(
        "column 11",
        MILLIS,
        "disk_write_time",
        Unit::Nanoseconds,
        "time of all writes, waiting included",
    ),
    gauge(
        "column 12",
        Scale::One,
        "disk_in_flight",
        Unit::Count,
        "requests that the device has now",
    ),
    counter(
        "column 13",
        MILLIS,
        "disk_busy",
        Unit::Nanoseconds,
        "time in which the device had a request",
    ),
    counter(
        "column 14",
        MILLIS,
        "disk_queue_time",
        Unit::Nanoseconds,
        "time of all requests: over a time, the mean length of the queue",
    ),
    count("column 15", "disk_discards", "discards done").since("4.18"),
    count(
        "column 16",
        "disk_discards_merged",
        "discards that were put together with others",
    )
    .since("4.18"),
    counter(
        "column 17",
        SECTOR,
        "disk_discarded",
        Unit::Bytes,
        "bytes discarded",
    )
    .since("4.18"),
    counter(
        "column 18",
        MILLIS,
        "disk_discard_time",
        Unit::Nanoseconds,
        "time of all discards",
    )
    .since("4.18"),
    count("column 19", "disk_flushes", "flushes done").since("5.5"),
    counter(
        "column 20",
        MILLIS,
        "disk_flush_time",
        Unit::Nanoseconds,
        "time of all flushes",
    )
    .since("5.5"),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_diskstats",
    file: "/proc/diskstats",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Diskstats {
    root: Root,
    file: KeptFile,
    buffer: Vec<u8>,
    known: Vec<Known>,
}

/// What was found out about the device of a line.
struct Known {
    /// Its numbers and its name.
    identity: Vec<u8>,
    is_partition: bool,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Diskstats {
        file: opener.open(opener.root().proc("diskstats"))?,
        root: opener.root().clone(),
        buffer: Vec::new(),
        known: Vec::new(),
    }))
}

impl Reading for Diskstats {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        let text = self.file.read(&mut self.buffer)?;
        for (place, line) in lines(text).enumerate() {
            let Some((identity, name, columns)) = split(line) else {
                continue;
            };
            // A device that was never asked for anything: loop devices, disks in memory.
            if words(columns).all(|word| word == b"0") {
                continue;
            }
            if !is_partition(&self.root, &mut self.known, place, identity, name) {
                put_columns(rows, name, columns, FIELDS);
            }
        }
        Ok(())
    }
}

/// Major number, minor number and name as one; the name; the columns behind it.
fn split(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let name = words(line).nth(2)?;
    let end = name.as_ptr_range().end.addr() - line.as_ptr().addr();
    let (identity, columns) = line.split_at_checked(end)?;
    Some((identity, name, columns))
}

/// Whether the device of a line is a part of another one. The lines keep their places mostly.
fn is_partition(
    root: &Root,
    known: &mut Vec<Known>,
    place: usize,
    identity: &[u8],
    name: &[u8],
) -> bool {
    if let Some(known) = known.get(place).filter(|known| known.identity == identity) {
        return known.is_partition;
    }
    let folder = String::from_utf8_lossy(name).replace('/', "!");
    let is_partition = root
        .sys("class/block")
        .join(folder)
        .join("partition")
        .exists();
    if place < KNOWN_MAX {
        known.truncate(place);
        // Lines before this one that are none leave their places to nobody.
        known.resize_with(place, || Known {
            identity: Vec::new(),
            is_partition: false,
        });
        let identity = identity.to_vec();
        known.push(Known {
            identity,
            is_partition,
        });
    }
    is_partition
}
