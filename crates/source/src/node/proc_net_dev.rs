//! `/proc/net/dev`: what the network interfaces of our network namespace did.

use super::fields::{Field, Scale, count, counter, put_columns};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::pairs;
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// The columns behind the name.
const FIELDS: &[Field] = &[
    counter(
        "column 1",
        Scale::One,
        "interface_received",
        Unit::Bytes,
        "bytes received",
    ),
    count("column 2", "interface_received_packets", "packets received"),
    count(
        "column 3",
        "interface_received_errors",
        "packets received that were bad",
    ),
    count(
        "column 4",
        "interface_received_dropped",
        "packets received that were dropped",
    ),
    count(
        "column 5",
        "interface_received_fifo",
        "packets lost because the device's buffer was full",
    ),
    count(
        "column 6",
        "interface_received_frame",
        "packets with bad frames",
    ),
    count(
        "column 7",
        "interface_received_compressed",
        "compressed packets received",
    ),
    count(
        "column 8",
        "interface_received_multicast",
        "multicast packets received",
    ),
    counter(
        "column 9",
        Scale::One,
        "interface_sent",
        Unit::Bytes,
        "bytes sent",
    ),
    count("column 10", "interface_sent_packets", "packets sent"),
    count(
        "column 11",
        "interface_sent_errors",
        "packets that could not be sent",
    ),
    count(
        "column 12",
        "interface_sent_dropped",
        "packets dropped instead of sent",
    ),
    count(
        "column 13",
        "interface_sent_fifo",
        "packets lost because the device's buffer was empty too soon",
    ),
    count("column 14", "interface_collisions", "collisions"),
    count(
        "column 15",
        "interface_sent_carrier",
        "packets lost for want of a carrier",
    ),
    count(
        "column 16",
        "interface_sent_compressed",
        "compressed packets sent",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_net_dev",
    file: "/proc/net/dev",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Interfaces {
    file: KeptFile,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let file = opener.open(opener.root().proc("net/dev"))?;
    let buffer = Vec::new();
    Ok(Box::new(Interfaces { file, buffer }))
}

impl Reading for Interfaces {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        // The two lines of titles have no colon.
        for (name, columns) in pairs(self.file.read(&mut self.buffer)?) {
            put_columns(rows, name, columns, FIELDS);
        }
        Ok(())
    }
}
