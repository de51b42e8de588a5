//! What is read of a traced thread: `/proc/TID/{io,schedstat,stat,status}` at its stop before its
//! end, and what `wait4(2)` tells after it.
//!
//! Every file costs some microseconds of the task's time. Of a process that never had another
//! thread or a child, as most have, what the kernel sums up by process is its own, and `wait4(2)`
//! tells it to the very end. Otherwise `/proc/TID/task/TID/io` is the thread's own, and
//! `/proc/PID/io` would hold dead threads and waited-for children too.

use crate::query::proc_pid_status::{self, Status};
use crate::query::{proc_pid_io, proc_pid_schedstat, proc_pid_stat};
use record::sample::{Counters, MemoryPeaks};
use record::unit::{Bytes, Nanos};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use sys::process::Usage;

/// The first size of the buffer: more than any of these files has but for long lists of groups or
/// CPUs.
const FILE_BYTES: usize = 8192;
/// No file read here is longer.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Reads files of `/proc/TID` into one buffer, with as few calls as can be.
pub(super) struct Files {
    proc: OsString,
    path: OsString,
    number: String,
    buffer: Vec<u8>,
}

impl Files {
    /// Below `proc`.
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.as_os_str().to_owned(),
            path: OsString::new(),
            number: String::new(),
            buffer: vec![0; FILE_BYTES],
        }
    }

    /// The text of `PROC/TID/NAME`; `None` if it is gone or forbidden.
    pub(super) fn read(&mut self, tid: u32, name: &str) -> Option<&[u8]> {
        self.number.clear();
        write!(self.number, "/{tid}/{name}").ok()?;
        self.fill()
    }

    /// The text of `PROC/TID/task/TID/NAME`: of the thread itself.
    fn read_own(&mut self, tid: u32, name: &str) -> Option<&[u8]> {
        self.number.clear();
        write!(self.number, "/{tid}/task/{tid}/{name}").ok()?;
        self.fill()
    }

    /// One read has the whole of a kernel file that fits.
    fn fill(&mut self) -> Option<&[u8]> {
        self.path.clear();
        self.path.push(&self.proc);
        self.path.push(&self.number);
        let mut file = File::open(&self.path).ok()?;
        let mut used = 0;
        loop {
            let got = file.read(self.buffer.get_mut(used..)?).ok()?;
            used += got;
            if used < self.buffer.len() || used >= FILE_BYTES_MAX {
                return self.buffer.get(..used);
            }
            self.buffer.resize(used * 2, 0);
        }
    }
}

/// Counters, and the memory peaks of the process if it has memory.
pub(super) type Values = (Counters, Option<MemoryPeaks>);

/// Why the numbers of a process that is not known to have had children may hold those of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotAlone {
    /// It has waited for a child all the same: one that was made not to be traced.
    Untraced,
    /// It is the first process of a pid namespace, which may have waited for orphans that it did
    /// not make.
    Init,
}

/// Reads the only thread that its process ever had, without children: what [`alone_at_end`] adds
/// is left out.
///
/// # Errors
/// When what the kernel sums up by process may not be its own.
pub(super) fn read_alone(files: &mut Files, pid: u32) -> Result<Values, NotAlone> {
    let status = files.read(pid, "status").map(proc_pid_status::parse);
    if status.as_ref().is_some_and(|status| status.is_init) {
        return Err(NotAlone::Init);
    }
    let stat = files.read(pid, "stat").and_then(proc_pid_stat::parse);
    if stat.is_some_and(|stat| stat.has_waited()) {
        return Err(NotAlone::Untraced);
    }
    let mut counters = files
        .read(pid, "io")
        .map(proc_pid_io::parse)
        .unwrap_or_default();
    let schedstat = files.read(pid, "schedstat");
    add_schedstat(schedstat, &mut counters);
    let peaks = status.and_then(|status| add_status(&status, &mut counters));
    Ok((counters, peaks))
}

/// Reads the counters of the thread `tid` itself. CPU time by user and system is left out: `/proc`
/// has it in steps of 10 ms.
pub(super) fn read(files: &mut Files, tid: u32) -> Values {
    let mut counters = files
        .read_own(tid, "io")
        .map(proc_pid_io::parse)
        .unwrap_or_default();
    let schedstat = files.read_own(tid, "schedstat");
    add_schedstat(schedstat, &mut counters);
    if let Some(stat) = files.read_own(tid, "stat").and_then(proc_pid_stat::parse) {
        counters.faults_minor = Some(stat.faults_minor);
        counters.faults_major = Some(stat.faults_major);
    }
    let status = files.read_own(tid, "status").map(proc_pid_status::parse);
    let peaks = status.and_then(|status| add_status(&status, &mut counters));
    (counters, peaks)
}

/// The end itself takes CPU time, faults and switches too: `usage` is what the process used with
/// it, in whole microseconds.
pub(super) fn alone_at_end(counters: &mut Counters, usage: &Usage) {
    let all = Nanos(usage.user_ns.saturating_add(usage.system_ns));
    counters.cpu = Some(counters.cpu.map_or(all, |cpu| cpu.max(all)));
    counters.faults_minor = Some(usage.faults_minor_total);
    counters.faults_major = Some(usage.faults_major_total);
    counters.switches_voluntary = Some(usage.switches_voluntary_total);
    counters.switches_involuntary = Some(usage.switches_involuntary_total);
}

/// The CPU time of a thread that has ended and was not waited for yet.
pub(super) fn run_time(files: &mut Files, tid: u32) -> Option<Nanos> {
    let schedstat = proc_pid_schedstat::parse(files.read(tid, "schedstat")?)?;
    Some(schedstat.cpu)
}

/// When a process began.
pub(super) fn start(files: &mut Files, pid: u32) -> Option<Nanos> {
    proc_pid_stat::parse(files.read(pid, "stat")?).map(|stat| stat.start)
}

/// The process and the parent process of a thread, from its `status`.
pub(super) fn relations(files: &mut Files, tid: u32) -> Option<(u32, u32)> {
    let status = proc_pid_status::parse(files.read(tid, "status")?);
    Some((status.tgid?, status.ppid?))
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

fn add_schedstat(text: Option<&[u8]>, counters: &mut Counters) {
    let line = text.and_then(proc_pid_schedstat::parse);
    counters.cpu = line.map(|line| line.cpu);
    counters.cpu_wait = line.map(|line| line.wait);
}

fn add_status(status: &Status, counters: &mut Counters) -> Option<MemoryPeaks> {
    counters.switches_voluntary = status.switches_voluntary;
    counters.switches_involuntary = status.switches_involuntary;
    let rss: Bytes = status.memory.rss_peak?;
    Some(MemoryPeaks {
        rss: Some(rss),
        virtual_size: status.memory.virtual_peak,
        anon_at_end: status.memory.rss_anon,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut files = Files::new(Path::new("/proc"));
        let me = std::process::id();
        let (counters, peaks) = read(&mut files, me);
        assert!(counters.reads.is_some() && counters.cpu.is_some());
        assert!(counters.switches_voluntary.is_some() && peaks.is_some());
        assert_eq!(relations(&mut files, me).map(|(pid, _)| pid), Some(me));
        assert!(start(&mut files, me).is_some());
        assert!(
            Files::new(Path::new("/nonexistent"))
                .read(me, "stat")
                .is_none()
        );
    }

    #[test]
    fn who_has_waited_for_a_child_that_nobody_told_of_was_not_alone() {
        let folder = tempfile::tempdir().unwrap();
        let of = |pid: u32, namespaces: &str, faults_of_children: u32| {
            let own = folder.path().join(pid.to_string());
            std::fs::create_dir(&own).unwrap();
            let stat = format!(
                "{pid} (a) S 1 1 1 0 -1 0 54 {faults_of_children} 0 0 1 1 0 0 20 0 1 0 7 4096 1"
            );
            std::fs::write(own.join("stat"), stat).unwrap();
            let status = format!("NSpid:\t{pid}{namespaces}\nVmHWM:\t8 kB\n");
            std::fs::write(own.join("status"), status).unwrap();
            std::fs::write(own.join("io"), "rchar: 5\n").unwrap();
            read_alone(&mut Files::new(folder.path()), pid)
        };
        let (counters, peaks) = of(7, "", 0).unwrap();
        assert_eq!(counters.bytes_read, Some(Bytes(5)));
        assert_eq!(peaks.unwrap().rss, Some(Bytes(8192)));
        assert_eq!(of(8, "", 1).unwrap_err(), NotAlone::Untraced);
        assert_eq!(of(9, "\t1", 1).unwrap_err(), NotAlone::Init);
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("7")).unwrap();
        let long = vec![b'x'; FILE_BYTES * 3 + 5];
        std::fs::write(folder.path().join("7/status"), &long).unwrap();
        let mut files = Files::new(folder.path());
        assert_eq!(files.read(7, "status"), Some(&long[..]));
    }

    #[test]
    fn the_usage_of_a_process_adds_what_its_end_took() {
        let mut counters = Counters {
            cpu: Some(Nanos(5_001_500)),
            ..Counters::default()
        };
        let usage = Usage {
            user_ns: 3_000_000,
            system_ns: 2_001_000,
            faults_minor_total: 9,
            ..Usage::default()
        };
        alone_at_end(&mut counters, &usage);
        assert_eq!(counters.cpu, Some(Nanos(5_001_500)), "the finer one");
        assert_eq!(counters.faults_minor, Some(9));
    }
}
