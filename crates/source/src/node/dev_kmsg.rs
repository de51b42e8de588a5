//! `/dev/kmsg`: events that the kernel wrote into its log, by kind, since the oldest record that it
//! kept when we began.
//!
//! What programs write into the log is not counted: the kernel says of each record whose it is.

use super::fields::{Field, Scale, count, gauge};
use super::kept::Opener;
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::number;
use crate::root::machine_absent;
use memchr::memmem::find;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use sys::kmsg::{self, Log, Next};

/// More than any record has.
const RECORD_BYTES_MAX: usize = 16 << 10;

/// Records of one reading, at most: the others come with the next one.
const RECORDS_MAX: usize = 4096;

const EVENTS: Field = count(
    "kind of message",
    "kernel_log_events",
    "messages of the kernel of a kind: oom, hung_task, machine_check, xid, ...",
);
const RECORDS: Field = count(
    "level",
    "kernel_log_records",
    "messages of the kernel, by level",
);
const LOST: Field = count(
    "gap of numbers",
    "kernel_log_lost",
    "messages that were overwritten before they were read",
);
const POSITION: Field = gauge(
    "number",
    Scale::One,
    "kernel_log_position",
    Unit::Count,
    "number of the last message that was read",
);

const LEVELS: [&str; 8] = [
    "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
];

/// A kind of events, and how its messages are told from others.
type Kind = (&'static str, fn(&[u8]) -> bool);

const KINDS: &[Kind] = &[
    ("oom", |text| {
        text.starts_with(b"Out of memory: Kill")
            || text.starts_with(b"Memory cgroup out of memory: Kill")
    }),
    ("hung_task", |text| {
        text.starts_with(b"INFO: task ") && has(text, b" blocked for more than ")
    }),
    ("machine_check", |text| {
        has(text, b"[Hardware Error]")
            && (has(text, b"Machine Check") || has(text, b"Machine check events logged"))
    }),
    ("pcie_error", |text| {
        has(text, b"AER: ") && has(text, b"rror")
    }),
    ("xid", |text| has(text, b"NVRM: Xid (")),
    ("soft_lockup", |text| has(text, b"BUG: soft lockup")),
    ("hard_lockup", |text| {
        has(text, b"Watchdog detected hard LOCKUP")
    }),
    ("rcu_stall", |text| {
        text.starts_with(b"rcu: INFO: ") && has(text, b" stall")
    }),
    ("oops", |text| {
        text.starts_with(b"BUG: ") || text.starts_with(b"Oops: ") || has(text, b"kernel BUG at ")
    }),
    ("segfault", |text| has(text, b" segfault at ")),
    ("io_error", |text| has(text, b"I/O error, dev ")),
    ("file_system", |text| {
        let btrfs = has(text, b"BTRFS error") || has(text, b"BTRFS critical");
        has(text, b"EXT4-fs error")
            || btrfs
            || (text.starts_with(b"XFS (") && has(text, b"orruption"))
    }),
    ("nfs_silent", |text| {
        text.starts_with(b"nfs: server ") && has(text, b" not responding")
    }),
    ("lustre_error", |text| text.starts_with(b"LustreError: ")),
    ("link_down", |text| {
        has(text, b"Link is Down") || has(text, b"Link down")
    }),
];

fn has(text: &[u8], part: &[u8]) -> bool {
    find(text, part).is_some()
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "dev_kmsg",
    file: "/dev/kmsg",
    fields: &[&[EVENTS, RECORDS, LOST, POSITION]],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Events {
    log: Log,
    buffer: Vec<u8>,
    counted: Counted,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let path = opener.root().dev("kmsg");
    let log = kmsg::open(&path).map_err(|error| machine_absent(&error))?;
    Ok(Box::new(Events {
        log,
        buffer: vec![0; RECORD_BYTES_MAX],
        counted: Counted::default(),
    }))
}

impl Reading for Events {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        for _ in 0..RECORDS_MAX {
            match self.log.next(&mut self.buffer) {
                Ok(Next::Record(length)) => {
                    let text = self.buffer.get(..length).unwrap_or_default();
                    text.split(|byte| *byte == b'\n')
                        .for_each(|line| self.counted.line(line));
                }
                // The numbers tell how many.
                Ok(Next::Lost) => {}
                Ok(Next::Nothing) => break,
                Err(_) => return Err(Absent::NoKernelSupport),
            }
        }
        self.counted.put(rows);
        Ok(())
    }
}

#[derive(Default)]
struct Counted {
    events: [u64; KINDS.len()],
    levels: [u64; LEVELS.len()],
    lost: u64,
    position: Option<u64>,
}

impl Counted {
    /// `6,339,5140900,-;NET: Registered ...`: level and who wrote it, number, time, flags. Lines
    /// behind that begin with a blank tell more of the same message.
    fn line(&mut self, line: &[u8]) {
        let Some(end) = memchr::memchr(b';', line).filter(|_| !line.starts_with(b" ")) else {
            return;
        };
        let (head, text) = line.split_at(end);
        let mut words = head.split(|byte| *byte == b',').map(number);
        let (Some(Some(whose)), Some(Some(position))) = (words.next(), words.next()) else {
            return;
        };
        if let Some(last) = self.position {
            self.lost = self
                .lost
                .saturating_add(position.saturating_sub(last.saturating_add(1)));
        }
        self.position = Some(position);
        // 0 is the kernel, 1 a program.
        if whose >> 3 != 0 {
            return;
        }
        let level = self
            .levels
            .iter_mut()
            .zip(0..)
            .find(|(_, level)| *level == whose & 7);
        if let Some((count, _)) = level {
            *count += 1;
        }
        let text = text.get(1..).unwrap_or_default();
        for (count, (_, is)) in self.events.iter_mut().zip(KINDS) {
            *count += u64::from(is(text));
        }
    }

    fn put(&self, rows: &mut Rows) {
        for (count, (kind, _)) in self.events.iter().zip(KINDS) {
            EVENTS.put(rows, kind.as_bytes(), *count);
        }
        for (count, level) in self.levels.iter().zip(LEVELS) {
            RECORDS.put(rows, level.as_bytes(), *count);
        }
        LOST.put(rows, b"", self.lost);
        if let Some(position) = self.position {
            POSITION.put(rows, b"", position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_and_programs_are_not() {
        let mut counted = Counted::default();
        for line in [
            &b"3,10,1,-;Out of memory: Killed process 7 (x) total-vm:1kB"[..],
            b" SUBSYSTEM=x;y",
            b"11,11,1,-;Out of memory: Killed process 7 (a lie)",
            b"4,15,1,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=a, GPU has fallen off the bus.",
            b"6,15",
        ] {
            counted.line(line);
        }
        let mut rows = Rows::default();
        counted.put(&mut rows);
        let of = |name: &[u8]| {
            let found = rows
                .iter()
                .find(|row| row.instance == name && row.value > 0);
            found.map(|row| row.value)
        };
        assert_eq!(
            (of(b"oom"), of(b"xid"), of(b"hung_task")),
            (Some(1), Some(1), None)
        );
        assert_eq!((of(b"err"), of(b"warning")), (Some(1), Some(1)));
        assert_eq!((counted.lost, counted.position), (3, Some(15)));
    }
}
