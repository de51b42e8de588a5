//! `/proc/self/mountstats`: what NFS clients did, by mount and by operation.

use super::fields::{Field, MILLIS, Scale, count, counter, put_columns};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{lines, words};
use memchr::memmem;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use std::fs::File;
use std::os::fd::AsFd;
use sys::descriptor::{self, Waiting};

/// The line `bytes:`. Instances are mount points, as the kernel writes them (`\\040` for a blank).
const BYTES: &[Field] = &[
    bytes(
        "bytes 1",
        "nfs_read",
        "bytes read by programs, from the cache too",
    ),
    bytes("bytes 2", "nfs_written", "bytes written by programs"),
    bytes("bytes 3", "nfs_read_direct", "bytes read with O_DIRECT"),
    bytes(
        "bytes 4",
        "nfs_written_direct",
        "bytes written with O_DIRECT",
    ),
    bytes("bytes 5", "nfs_server_read", "bytes read from the server"),
    bytes(
        "bytes 6",
        "nfs_server_written",
        "bytes written to the server",
    ),
];

/// A line of the statistics of operations. Instances are mount point, blank, operation.
const OPERATION: &[Field] = &[
    count(
        "OPERATION 1",
        "nfs_calls",
        "calls of an operation that were made",
    ),
    count(
        "OPERATION 2",
        "nfs_sends",
        "times that they were sent: more than calls are retransmissions",
    ),
    count(
        "OPERATION 3",
        "nfs_timeouts",
        "calls that the server did not answer in time",
    ),
    bytes(
        "OPERATION 4",
        "nfs_sent",
        "bytes sent for them, headers included",
    ),
    bytes(
        "OPERATION 5",
        "nfs_received",
        "bytes received for them, headers included",
    ),
    time(
        "OPERATION 6",
        "nfs_queue_time",
        "time that they waited before they were sent",
    ),
    time(
        "OPERATION 7",
        "nfs_response_time",
        "time from sending to the answer",
    ),
    time(
        "OPERATION 8",
        "nfs_execute_time",
        "time from the call to its end",
    ),
    count("OPERATION 9", "nfs_errors", "calls that the server refused").since("5.3"),
];

const fn bytes(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    counter(key, Scale::One, name, Unit::Bytes, doc)
}

const fn time(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    counter(key, MILLIS, name, Unit::Nanoseconds, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_self_mountstats",
    file: "/proc/self/mountstats",
    fields: &[BYTES, OPERATION],
    tried: Tried::FixtureOnly,
    period: Nanos(0),
    listed: false,
    open,
};

struct Mountstats {
    file: KeptFile,
    /// Of the same mounts, which tells when they have changed.
    mounts: Option<File>,
    /// No mount has counters; nothing before the first reading.
    has_none: bool,
    buffer: Vec<u8>,
    instance: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Mountstats {
        file: opener.open(opener.root().proc("self/mountstats"))?,
        mounts: File::open(opener.root().proc("self/mountinfo")).ok(),
        has_none: false,
        buffer: Vec::new(),
        instance: Vec::new(),
    }))
}

impl Reading for Mountstats {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        if self.has_none && !self.has_changed() {
            return Ok(());
        }
        let mut told = Vec::new();
        for (head, body) in sections(self.file.read(&mut self.buffer)?) {
            // Several mounts may share their counters: the first one has them.
            let Some((device, point)) = nfs(head) else {
                continue;
            };
            if !told.contains(&(device, body)) {
                told.push((device, body));
                mount(rows, point, body, &mut self.instance);
            }
        }
        self.has_none = told.is_empty();
        Ok(())
    }
}

impl Mountstats {
    /// Whether something was mounted or unmounted since it was asked last (`POLLPRI`, proc(5)).
    fn has_changed(&self) -> bool {
        let Some(mounts) = &self.mounts else {
            return true;
        };
        let waiting = Waiting {
            fd: Some(mounts.as_fd()),
            exceptional: true,
        };
        descriptor::poll(&[waiting], Some(0)).map_or(true, |ready| ready.contains(&true))
    }
}

const HEAD: &[u8] = b"device ";
const BORDER: &[u8] = b"\ndevice ";

/// The first line of each mount without its first word, and the lines behind it.
fn sections(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let first = || text.get(memmem::find(text, BORDER)? + BORDER.len()..);
    let mut rest = text.strip_prefix(HEAD).or_else(first);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memmem::find(text, BORDER);
        let (section, tail) = text.split_at(end.unwrap_or(text.len()));
        rest = tail.get(BORDER.len()..);
        let line_end = memchr::memchr(b'\n', section).unwrap_or(section.len());
        Some(section.split_at(line_end))
    })
}

/// `srv:/home mounted on /home with fstype nfs4 statvers=1.1`: device and point of a mount that has
/// counters.
fn nfs(head: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = words(head);
    let device = words.next()?;
    let point = words.nth(2)?;
    let has_counters = words.nth(2)?.starts_with(b"nfs") && words.next()?.starts_with(b"statvers=");
    has_counters.then_some((device, point))
}

fn mount(rows: &mut Rows, point: &[u8], body: &[u8], instance: &mut Vec<u8>) {
    let mut in_operations = false;
    for line in lines(body) {
        let line = line.trim_ascii_start();
        let Some(key) = words(line).next() else {
            continue;
        };
        let values = line.get(key.len()..).unwrap_or_default();
        match (in_operations, key.strip_suffix(b":")) {
            (false, Some(b"bytes")) => put_columns(rows, point, values, BYTES),
            (false, None) if key == b"per-op" => in_operations = true,
            // Of some sixty operations a mount uses a few.
            (true, Some(_)) if words(values).all(|word| word == b"0") => {}
            (true, Some(operation)) => {
                instance.clear();
                for part in [point, b" ", operation] {
                    instance.extend_from_slice(part);
                }
                put_columns(rows, instance, values, OPERATION);
            }
            _ => {}
        }
    }
}
