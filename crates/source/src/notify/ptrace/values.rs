//! The final values of a traced thread, from `/proc/TID/{io,schedstat,stat,status}` at its stop
//! before its end.
//!
//! `/proc/TID/task/TID/io` is the thread's own; `/proc/PID/io` would hold dead threads and
//! waited-for children too.

use record::sample::{Counters, MemoryPeaks};
use record::unit::{Bytes, Nanos};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No file read here is longer; `status` has the longest with some 1500 bytes and a list of CPUs.
const FILE_BYTES: u64 = 65_536;

/// Reads the counters of the thread `tid` itself, and the memory peaks of its process if it has
/// memory.
/// CPU time by user and system is left out: `/proc` has it in steps of 10 ms.
pub(super) fn read(proc: &Path, tid: u32, text: &mut String) -> (Counters, Option<MemoryPeaks>) {
    let mut counters = Counters::default();
    let own = proc.join(format!("{tid}/task/{tid}"));
    if fill(&own.join("io"), text) {
        parse_io(text, &mut counters);
    }
    if fill(&own.join("schedstat"), text) {
        parse_schedstat(text, &mut counters);
    }
    if fill(&own.join("stat"), text) {
        parse_stat(text, &mut counters);
    }
    let peaks = fill(&own.join("status"), text)
        .then(|| parse_status(text, &mut counters))
        .flatten();
    (counters, peaks)
}

/// The CPU time of a thread that has ended and was not waited for yet.
pub(super) fn run_time(proc: &Path, tid: u32, text: &mut String) -> Option<Nanos> {
    let mut counters = Counters::default();
    if fill(&proc.join(format!("{tid}/schedstat")), text) {
        parse_schedstat(text, &mut counters);
    }
    counters.cpu
}

/// The process and the parent process of a thread, from its `status`.
pub(super) fn relations(proc: &Path, tid: u32, text: &mut String) -> Option<(u32, u32)> {
    if !fill(&proc.join(format!("{tid}/status")), text) {
        return None;
    }
    let find = |name: &str| value(text, name).and_then(|id| u32::try_from(id).ok());
    Some((find("Tgid:")?, find("PPid:")?))
}

/// Adds the counters of one more thread; a value that one of the two lacks is lacking.
pub(in crate::notify) fn add(sum: &mut Counters, thread: &Counters) {
    let nanos = |a: Option<Nanos>, b: Option<Nanos>| Some(a?.plus(b?));
    let bytes = |a: Option<Bytes>, b: Option<Bytes>| Some(a?.plus(b?));
    let count = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    sum.cpu = nanos(sum.cpu, thread.cpu);
    sum.cpu_wait = nanos(sum.cpu_wait, thread.cpu_wait);
    sum.faults_minor = count(sum.faults_minor, thread.faults_minor);
    sum.faults_major = count(sum.faults_major, thread.faults_major);
    sum.switches_voluntary = count(sum.switches_voluntary, thread.switches_voluntary);
    sum.switches_involuntary = count(sum.switches_involuntary, thread.switches_involuntary);
    sum.bytes_read = bytes(sum.bytes_read, thread.bytes_read);
    sum.bytes_written = bytes(sum.bytes_written, thread.bytes_written);
    sum.reads = count(sum.reads, thread.reads);
    sum.writes = count(sum.writes, thread.writes);
    sum.disk_read = bytes(sum.disk_read, thread.disk_read);
    sum.disk_written = bytes(sum.disk_written, thread.disk_written);
    sum.disk_cancelled = bytes(sum.disk_cancelled, thread.disk_cancelled);
}

/// Reads `path` into `text`; false if it is gone, forbidden or no text.
fn fill(path: &Path, text: &mut String) -> bool {
    text.clear();
    let file = File::open(path).map(|file| file.take(FILE_BYTES));
    file.and_then(|mut file| file.read_to_string(text)).is_ok()
}

/// The first number after the line start `name`.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn parse_io(text: &str, counters: &mut Counters) {
    let bytes = |name| value(text, name).map(Bytes);
    counters.bytes_read = bytes("rchar:");
    counters.bytes_written = bytes("wchar:");
    counters.reads = value(text, "syscr:");
    counters.writes = value(text, "syscw:");
    counters.disk_read = bytes("read_bytes:");
    counters.disk_written = bytes("write_bytes:");
    counters.disk_cancelled = bytes("cancelled_write_bytes:");
}

fn parse_schedstat(text: &str, counters: &mut Counters) {
    let mut words = text.split_ascii_whitespace();
    let mut next = || words.next()?.parse().ok().map(Nanos);
    counters.cpu = next();
    counters.cpu_wait = next();
}

fn parse_stat(text: &str, counters: &mut Counters) {
    // The name may hold blanks and parentheses: the last one ends it. Then: state is field 3,
    // minflt 10, majflt 12.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |number: usize| {
        let mut fields = rest.split_ascii_whitespace();
        fields.nth(number - 3)?.parse().ok()
    };
    counters.faults_minor = field(10);
    counters.faults_major = field(12);
}

fn parse_status(text: &str, counters: &mut Counters) -> Option<MemoryPeaks> {
    counters.switches_voluntary = value(text, "voluntary_ctxt_switches:");
    counters.switches_involuntary = value(text, "nonvoluntary_ctxt_switches:");
    let kib = |name| value(text, name).map(Bytes::from_kib);
    let rss = kib("VmHWM:")?;
    Some(MemoryPeaks {
        rss: Some(rss),
        virtual_size: kib("VmPeak:"),
        anon_at_end: kib("RssAnon:"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        let mut counters = Counters::default();
        let io = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
                  cancelled_write_bytes: 7\n";
        parse_io(io, &mut counters);
        parse_schedstat("123 45 6\n", &mut counters);
        parse_stat("9 (a) b) S 1 2 3 4 5 6 77 8 99 10 11\n", &mut counters);
        let status = "Name:\tx\nVmPeak:\t 8 kB\nVmHWM:\t 4 kB\nRssAnon:\t 2 kB\n\
                      voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        let peaks = parse_status(status, &mut counters).unwrap();
        assert_eq!(counters.bytes_read, Some(Bytes(10)));
        assert_eq!(counters.disk_cancelled, Some(Bytes(7)));
        assert_eq!(counters.cpu, Some(Nanos(123)));
        assert_eq!(
            (counters.faults_minor, counters.faults_major),
            (Some(77), Some(99))
        );
        assert_eq!(counters.switches_involuntary, Some(6));
        assert_eq!(peaks.rss, Some(Bytes(4096)));
        assert_eq!(peaks.virtual_size, Some(Bytes(8192)));
    }

    #[test]
    fn a_lacking_value_makes_the_sum_lacking() {
        let one = Counters {
            cpu: Some(Nanos(1)),
            reads: Some(1),
            ..Counters::default()
        };
        let mut sum = one;
        sum.reads = None;
        add(&mut sum, &one);
        assert_eq!((sum.cpu, sum.reads), (Some(Nanos(2)), None));
    }

    #[test]
    fn our_own_thread_can_be_read() {
        let mut text = String::new();
        let me = std::process::id();
        let (counters, peaks) = read(Path::new("/proc"), me, &mut text);
        assert!(counters.faults_minor.is_some() && peaks.is_some());
        assert_eq!(
            relations(Path::new("/proc"), me, &mut text).map(|r| r.0),
            Some(me)
        );
        assert!(!fill(Path::new("/nonexistent"), &mut text));
    }
}
