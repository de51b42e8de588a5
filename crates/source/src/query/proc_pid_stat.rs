//! `/proc/PID/stat`: one line with the identity, the state, the CPU ticks and the faults of a
//! process.
//!
//! The kernel splits CPU time into user and system so that their sum is the scheduler's time of all
//! threads, dead ones included, each cut to 10 ms. The resident set in this file is approximate: it
//! is not read here.

use super::field::{number, ticks, words};
use super::source::{Source, of_process};
use crate::root::Root;
use record::identity::ProcessId;
use record::metric::{Kind, Metric};
use record::unit::{Bytes, Nanos, Unit};
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    of_process(
        "cpu_user",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/stat utime",
        "user part of the CPU time, in steps of 10 ms",
    ),
    of_process(
        "cpu_system",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/stat stime",
        "system part of the CPU time, in steps of 10 ms",
    ),
    of_process(
        "faults_minor",
        Kind::Counter,
        Unit::Count,
        "/proc/PID/stat minflt",
        "page faults without disk I/O",
    ),
    of_process(
        "faults_major",
        Kind::Counter,
        Unit::Count,
        "/proc/PID/stat majflt",
        "page faults with disk I/O",
    ),
    of_process(
        "threads",
        Kind::Gauge,
        Unit::Count,
        "/proc/PID/stat num_threads",
        "live threads, the main one counted",
    ),
    of_process(
        "io_wait",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/stat delayacct_blkio_ticks",
        "time the main thread waited for block I/O, where delay accounting is on",
    ),
    of_process(
        "cpu_guest",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/stat guest_time",
        "part of the user time that ran processors of a virtual machine, in steps of 10 ms",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_stat",
    file: "/proc/PID/stat",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// One line of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat<'a> {
    /// Process id.
    pub pid: u32,
    /// Short name, raw: it may hold blanks, parentheses and any byte but NUL.
    pub comm: &'a [u8],
    /// State letter.
    pub state: char,
    /// Parent; 0 where there is none to see.
    pub ppid: u32,
    /// Process group; 0 where there is none to see.
    pub pgid: u32,
    /// Session; 0 where there is none to see.
    pub sid: u32,
    /// Page faults without disk I/O, all threads.
    pub faults_minor: u64,
    /// The same of the children waited for.
    pub faults_minor_children: u64,
    /// Page faults with disk I/O, all threads.
    pub faults_major: u64,
    /// The same of the children waited for.
    pub faults_major_children: u64,
    /// User time, all threads.
    pub user: Nanos,
    /// System time, all threads.
    pub system: Nanos,
    /// User time of the children waited for.
    pub user_children: Nanos,
    /// System time of the children waited for.
    pub system_children: Nanos,
    /// Live threads; a main thread that has ended counts while others live.
    pub threads: u64,
    /// Start since boot.
    pub start: Nanos,
    /// Size of the address space; 0 for kernel threads and zombies.
    pub virtual_size: Bytes,
    /// Block I/O wait of the main thread; 0 also where delay accounting is off.
    pub io_wait_main: Option<Nanos>,
    /// Part of the user time that ran processors of a virtual machine, all threads.
    pub guest: Option<Nanos>,
}

impl Stat<'_> {
    /// The identity of the process.
    pub const fn id(&self) -> ProcessId {
        ProcessId::new(self.pid, self.start)
    }

    /// Whether it has ended and was not waited for yet.
    pub const fn ended(&self) -> bool {
        self.main_ended() && self.threads <= 1
    }

    /// Whether its main thread has ended. Others may live on: then the files of the process itself
    /// tell of no memory.
    pub const fn main_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Threads that have not ended.
    pub fn threads_live(&self) -> u64 {
        self.threads.saturating_sub(u64::from(self.main_ended()))
    }

    /// Whether any child was ever waited for: even the smallest process has faults.
    pub const fn has_waited(&self) -> bool {
        self.faults_minor_children > 0
            || self.faults_major_children > 0
            || self.user_children.0 > 0
            || self.system_children.0 > 0
    }
}

/// Parses the line; `None` if it is not one, or cut before the size of the address space.
pub fn parse(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = text.get(open + 1..close)?;
    let pid = number(text.get(..open)?.trim_ascii())?;
    let mut rest = words(text.get(close + 1..)?);
    let state = char::from(*rest.next()?.first()?);
    let ppid = group(rest.next()?);
    let pgid = group(rest.next()?);
    let sid = group(rest.next()?);
    let mut from_minflt = rest.skip(3);
    let mut next = || number(from_minflt.next()?);
    let (faults_minor, faults_minor_children) = (next()?, next()?);
    let (faults_major, faults_major_children) = (next()?, next()?);
    let (user, system) = (ticks(next()?), ticks(next()?));
    let (user_children, system_children) = (ticks(next()?), ticks(next()?));
    let mut from_threads = from_minflt.skip(2);
    let threads = number(from_threads.next()?)?;
    let mut from_start = from_threads.skip(1);
    let start = ticks(number(from_start.next()?)?);
    let virtual_size = Bytes(number(from_start.next()?)?);
    let io_wait_main = from_start.nth(18).and_then(number).map(ticks);
    let guest = from_start.next().and_then(number).map(ticks);
    Some(Stat {
        pid: u32::try_from(pid).ok()?,
        comm,
        state,
        ppid,
        pgid,
        sid,
        faults_minor,
        faults_minor_children,
        faults_major,
        faults_major_children,
        user,
        system,
        user_children,
        system_children,
        threads,
        start,
        virtual_size,
        io_wait_main,
        guest,
    })
}

/// A pid, group or session: the kernel writes -1 for one that is being torn down.
fn group(word: &[u8]) -> u32 {
    number(word)
        .and_then(|id| u32::try_from(id).ok())
        .unwrap_or(0)
}

/// Reads and parses the file of `pid`, and hands the result to `then`.
pub fn read<T>(
    root: &Root,
    pid: Option<u32>,
    then: impl FnOnce(&Stat<'_>) -> T,
) -> Result<T, Absent> {
    let text = root.read_process(pid, "stat")?;
    parse(&text)
        .map(|stat| then(&stat))
        .ok_or(Absent::NoKernelSupport)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(comm: &[u8]) -> Vec<u8> {
        let mut line = b"42 (".to_vec();
        line.extend_from_slice(comm);
        line.extend_from_slice(
            b") S 1 -1 40 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 11 0 170776 4096 402",
        );
        line
    }

    #[test]
    fn the_name_may_hold_anything() {
        for comm in [
            &b"a b"[..],
            b") R 1 2 3 (",
            b"((",
            b"",
            b"\xff\xfe\n",
            b"x) Z 9",
        ] {
            let line = line(comm);
            let stat = parse(&line).unwrap();
            assert_eq!((stat.comm, stat.state, stat.ppid), (comm, 'S', 1));
            assert_eq!((stat.pgid, stat.sid, stat.threads), (0, 40, 11));
            assert_eq!(stat.start, Nanos(1_707_760_000_000));
            assert_eq!(stat.io_wait_main, None);
        }
    }

    #[test]
    fn a_cut_line_is_none_wherever_it_is_cut() {
        let whole = line(b"cat");
        let last = whole.len() - " 4096 402".len();
        for end in 0..=last {
            assert_eq!(parse(&whole[..end]), None, "{end}");
        }
        assert!(parse(&whole).is_some());
    }

    #[test]
    fn this_process_reads_itself() {
        let me = read(&Root::default(), None, |stat| (stat.pid, stat.state)).unwrap();
        assert_eq!(me.0, std::process::id());
    }
}
