//! Arithmetic on whole sets of counters, field by field.

use record::sample::{Counters, Memory};
use record::unit::{Bytes, Nanos};

/// The counters of a process that a sum with its children's may be made of: the kernel keeps those
/// of ended threads and of children apart for CPU time and faults alone.
pub(crate) fn without_io(own: Counters) -> Counters {
    Counters {
        cpu: own.cpu,
        cpu_user: own.cpu_user,
        cpu_system: own.cpu_system,
        faults_minor: own.faults_minor,
        faults_major: own.faults_major,
        ..Counters::default()
    }
}

/// What stays of the memory of a process that has given it back.
pub(crate) fn peaks_only(last: Memory) -> Memory {
    Memory {
        rss_peak: last.rss_peak,
        virtual_peak: last.virtual_peak,
        ..Memory::default()
    }
}

/// The sum; a field that only one side has is that side's: at least so much.
pub(crate) fn add(a: Counters, b: Counters) -> Counters {
    combine(a, b, |a, b| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    })
}

/// The larger of two readings of the same growing counters, field by field.
pub(crate) fn larger(a: Counters, b: Counters) -> Counters {
    combine(a, b, Option::max)
}

fn combine(
    a: Counters,
    b: Counters,
    f: impl Fn(Option<u64>, Option<u64>) -> Option<u64>,
) -> Counters {
    let time = |a: Option<Nanos>, b: Option<Nanos>| f(a.map(|n| n.0), b.map(|n| n.0)).map(Nanos);
    let size = |a: Option<Bytes>, b: Option<Bytes>| f(a.map(|n| n.0), b.map(|n| n.0)).map(Bytes);
    Counters {
        cpu: time(a.cpu, b.cpu),
        cpu_user: time(a.cpu_user, b.cpu_user),
        cpu_system: time(a.cpu_system, b.cpu_system),
        cpu_guest: time(a.cpu_guest, b.cpu_guest),
        cpu_wait: time(a.cpu_wait, b.cpu_wait),
        io_wait: time(a.io_wait, b.io_wait),
        faults_minor: f(a.faults_minor, b.faults_minor),
        faults_major: f(a.faults_major, b.faults_major),
        switches_voluntary: f(a.switches_voluntary, b.switches_voluntary),
        switches_involuntary: f(a.switches_involuntary, b.switches_involuntary),
        bytes_read: size(a.bytes_read, b.bytes_read),
        bytes_written: size(a.bytes_written, b.bytes_written),
        reads: f(a.reads, b.reads),
        writes: f(a.writes, b.writes),
        disk_read: size(a.disk_read, b.disk_read),
        disk_written: size(a.disk_written, b.disk_written),
        disk_cancelled: size(a.disk_cancelled, b.disk_cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_one_side_lacks_is_the_other_side() {
        let a = Counters {
            cpu: Some(Nanos(3)),
            reads: Some(1),
            ..Counters::default()
        };
        let b = Counters {
            cpu: Some(Nanos(5)),
            bytes_read: Some(Bytes(7)),
            ..Counters::default()
        };
        let sum = add(a, b);
        assert_eq!(sum.cpu, Some(Nanos(8)));
        assert_eq!((sum.reads, sum.bytes_read), (Some(1), Some(Bytes(7))));
        assert_eq!(sum.writes, None);
        assert_eq!(larger(a, b).cpu, Some(Nanos(5)));
    }
}
