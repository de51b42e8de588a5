//! `/proc/PID/stat`: one line with the identity, the state, the CPU ticks and the faults of a
//! process.
//!
//! The kernel splits CPU time into user and system so that their sum is the scheduler's time of all
//! threads, dead ones included, each cut to 10 ms. The resident set in this file is approximate: it
//! is not read here.

use super::field::{number, signed, ticks, words};
use super::source::{Source, of_process};
use crate::root::Root;
use record::identity::ProcessId;
use record::metric::{Kind, Metric};
use record::unit::{Bytes, Nanos, Unit};
use record::value::Absent;
use std::borrow::Cow;

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
    digest: |text| format!("{:#?}\n{:#?}", parse(text), parse_setup(text)),
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

/// The names of scheduling policies (`sched(7)`), by their numbers; 4 is kept for one that no
/// kernel has.
const POLICIES: [&str; 8] = [
    "other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext",
];

/// How a process is set up, and how its main thread is scheduled; `None` for what the line does not
/// have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// Its controlling terminal, as the kernel numbers devices here: bits 8-15 are the major
    /// number, the others the minor one. `None` also where it has none.
    pub tty: Option<i64>,
    /// The process group in the foreground of that terminal; `None` also where there is none.
    pub tpgid: Option<i64>,
    /// As the kernel schedules it: 20 and the nice value, or -1 less the real-time priority.
    pub priority: Option<i64>,
    /// Nice value, -20 to 19.
    pub nice: Option<i64>,
    /// Soft limit of the resident set; `None` also where that is unlimited.
    pub rss_limit: Option<Bytes>,
    /// Real-time priority, 1 to 99; 0 where it has none.
    pub rt_priority: Option<i64>,
    /// Scheduling policy: its name, or a number that has none here.
    pub policy: Option<Cow<'static, str>>,
}

/// Parses the line for how the process is set up; `None` if it is not one.
pub fn parse_setup(text: &[u8]) -> Option<Setup> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&[u8]> = words(text.get(close + 1..)?).collect();
    // As `proc(5)` counts them: the first one behind the name is 3.
    let field = |place: usize| fields.get(place - 3).copied();
    let whole = |place| field(place).and_then(signed);
    let limit = field(25).and_then(number);
    Some(Setup {
        tty: whole(7).filter(|tty| *tty != 0),
        tpgid: whole(8).filter(|group| *group > 0),
        priority: whole(18),
        nice: whole(19),
        rss_limit: limit.filter(|limit| *limit != u64::MAX).map(Bytes),
        rt_priority: whole(40),
        policy: field(41).and_then(number).map(policy),
    })
}

fn policy(policy: u64) -> Cow<'static, str> {
    let place = usize::try_from(policy).unwrap_or(usize::MAX);
    match POLICIES.get(place) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(policy.to_string()),
    }
}

/// Reads how `pid` is set up, and who that is.
pub fn read_setup(root: &Root, pid: u32) -> Result<(ProcessId, Setup), Absent> {
    let text = root.read_process(Some(pid), "stat")?;
    let id = parse(&text).map(|stat| stat.id());
    id.zip(parse_setup(&text)).ok_or(Absent::NoKernelSupport)
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

    /// A line of Linux 6.18 with these as tty, tpgid, priority, nice, rsslim, rt_priority, policy.
    fn set_up(of: [&str; 7]) -> Option<Setup> {
        let [tty, tpgid, priority, nice, limit, real_time, policy] = of;
        let line = format!(
            "42 (a) b) S 1 42 40 {tty} {tpgid} 4194304 9 8 7 6 5 4 3 2 {priority} {nice} 1 0 \
             170776 4096 402 {limit} 1 1 0 0 0 0 512 4096 0 0 0 0 17 3 {real_time} {policy} 0 0 0"
        );
        parse_setup(line.as_bytes())
    }

    #[test]
    fn how_a_process_is_set_up_is_told() {
        let setup = set_up(["34819", "42", "27", "7", "67108864", "0", "3"]).unwrap();
        // 136:3 is /dev/pts/3.
        assert_eq!((setup.tty, setup.tpgid), (Some(136 << 8 | 3), Some(42)));
        assert_eq!((setup.priority, setup.nice), (Some(27), Some(7)));
        assert_eq!(setup.rss_limit, Some(Bytes(64 << 20)));
        assert_eq!(setup.rt_priority, Some(0));
        assert_eq!(setup.policy.as_deref(), Some("batch"));
        let setup = set_up(["0", "-1", "-100", "-20", "18446744073709551615", "99", "1"]).unwrap();
        assert_eq!(
            (setup.tty, setup.tpgid, setup.rss_limit),
            (None, None, None)
        );
        assert_eq!((setup.priority, setup.nice), (Some(-100), Some(-20)));
        assert_eq!(setup.rt_priority, Some(99));
        assert_eq!(setup.policy.as_deref(), Some("fifo"));
    }

    #[test]
    fn a_policy_without_a_name_is_its_number() {
        let policy = |number| {
            set_up(["0", "-1", "20", "0", "0", "0", number])
                .unwrap()
                .policy
        };
        let all = ["0", "1", "2", "3", "5", "6", "7", "8"].map(|number| policy(number).unwrap());
        let names = [
            "other", "fifo", "rr", "batch", "idle", "deadline", "ext", "8",
        ];
        assert_eq!(all, names);
        assert_eq!(policy("x"), None);
    }

    #[test]
    fn of_a_cut_line_only_what_is_cut_off_is_absent() {
        let setup = parse_setup(&line(b"cat")).unwrap();
        assert_eq!((setup.nice, setup.policy), (Some(0), None));
        assert_eq!(parse_setup(b"42 (cat"), None);
        assert_eq!(parse_setup(b")"), Some(Setup::default()));
    }

    #[test]
    fn this_process_reads_itself() {
        let me = read(&Root::default(), None, |stat| (stat.pid, stat.state)).unwrap();
        assert_eq!(me.0, std::process::id());
    }
}
