//! `/proc/PID/status`: memory by kind with its peaks, threads, context switches of one thread,
//! permitted CPUs.
//!
//! `VmHWM` is brought up to date lazily: the peak is the larger of `VmHWM` and `VmRSS`. The
//! switches are of the thread that the file belongs to, the main one for `/proc/PID/status`. Kernel
//! threads and zombies have no Vm lines.

use super::field::{first_number, kib, pairs};
use super::source::{Source, of_process};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::sample::Memory;
use record::unit::{Bytes, Unit};
use record::value::Absent;

/// The number of SIGCHLD, which is 17 but on alpha, mips, parisc and sparc.
pub(super) const SIGCHLD: i32 = 17;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    gauge(
        "rss_anon",
        "/proc/PID/status RssAnon",
        "resident anonymous pages",
    ),
    gauge(
        "rss_file",
        "/proc/PID/status RssFile",
        "resident file pages",
    ),
    gauge(
        "rss_shmem",
        "/proc/PID/status RssShmem",
        "resident shared memory",
    ),
    gauge(
        "swap",
        "/proc/PID/status VmSwap",
        "swapped-out anonymous pages",
    ),
    gauge(
        "hugetlb",
        "/proc/PID/status HugetlbPages",
        "pages of the reserved pool of huge pages",
    ),
    gauge(
        "rss_peak_process",
        "/proc/PID/status VmHWM, VmRSS",
        "highest resident set since the last exec",
    ),
    gauge(
        "virtual_peak",
        "/proc/PID/status VmPeak",
        "largest address space since the last exec",
    ),
    of_process(
        "switches_voluntary",
        Kind::Counter,
        Unit::Count,
        "/proc/PID/task/TID/status voluntary_ctxt_switches",
        "context switches by waiting, of the threads seen",
    ),
    of_process(
        "switches_involuntary",
        Kind::Counter,
        Unit::Count,
        "/proc/PID/task/TID/status nonvoluntary_ctxt_switches",
        "context switches by preemption, of the threads seen",
    ),
];

const fn gauge(name: &'static str, origin: &'static str, doc: &'static str) -> Metric {
    of_process(name, Kind::Gauge, Unit::Bytes, origin, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_status",
    file: "/proc/PID/status",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The lines of `/proc/PID/status` that are used; `None` for each that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Memory, with `rss_peak` = the larger of `VmHWM` and `VmRSS`. PSS is not in this file.
    pub memory: Memory,
    /// The process that the thread belongs to.
    pub tgid: Option<u32>,
    /// Whether it is the first process of a pid namespace below ours: it waits for orphans that it
    /// did not make.
    pub is_init: bool,
    /// Parent.
    pub ppid: Option<u32>,
    /// Real user.
    pub uid: Option<u32>,
    /// Effective user.
    pub uid_effective: Option<u32>,
    /// Real group.
    pub gid: Option<u32>,
    /// Effective group.
    pub gid_effective: Option<u32>,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Live threads.
    pub threads: Option<u64>,
    /// Who traces it; 0 is nobody.
    pub tracer: Option<u32>,
    /// The signals that it ignores: bit N-1 for signal N. Of one that ignores SIGCHLD the children
    /// vanish at their end and are never waited for; a handler with `SA_NOCLDWAIT` does the same
    /// and is not told here.
    pub signals_ignored: Option<u64>,
    /// The signals that wait for any of its threads to take them: bit N-1 for signal N.
    pub signals_pending: Option<u64>,
    /// The same of those that wait for the thread alone.
    pub signals_pending_thread: Option<u64>,
    /// The signals that the thread holds back.
    pub signals_blocked: Option<u64>,
    /// The signals that it has handlers for.
    pub signals_caught: Option<u64>,
    /// CPUs that the thread may use, as the kernel lists them (`0-3,8`).
    pub cpus_allowed: Option<Vec<u8>>,
    /// Size of the program's own code.
    pub text_size: Option<Bytes>,
    /// Voluntary context switches of the thread.
    pub switches_voluntary: Option<u64>,
    /// Involuntary context switches of the thread.
    pub switches_involuntary: Option<u64>,
}

impl Status {
    /// Whether it ignores `signal`.
    pub fn ignores(&self, signal: i32) -> Option<bool> {
        is_in(self.signals_ignored?, signal)
    }

    /// Whether `signal`, sent to the process, waits to be taken.
    pub fn has_pending(&self, signal: i32) -> Option<bool> {
        is_in(self.signals_pending?, signal)
    }
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Status {
    let mut status = Status::default();
    let (mut hwm, mut data, mut stack) = (None, None, None);
    for (key, value) in pairs(text) {
        match key {
            b"VmHWM" => hwm = kib(value),
            b"VmData" => data = kib(value),
            b"VmStk" => stack = kib(value),
            b"Tgid" => status.tgid = id(value),
            b"NSpid" => status.is_init = is_init(value),
            b"PPid" => status.ppid = id(value),
            b"TracerPid" => status.tracer = id(value),
            b"Uid" => (status.uid, status.uid_effective) = two_ids(value),
            b"Gid" => (status.gid, status.gid_effective) = two_ids(value),
            b"Groups" => status.groups = ids(value).collect(),
            b"VmExe" => status.text_size = kib(value),
            b"SigPnd" => status.signals_pending_thread = mask(value),
            b"ShdPnd" => status.signals_pending = mask(value),
            b"SigBlk" => status.signals_blocked = mask(value),
            b"SigCgt" => status.signals_caught = mask(value),
            b"SigIgn" => status.signals_ignored = mask(value),
            b"Threads" => status.threads = first_number(value),
            b"Cpus_allowed_list" => status.cpus_allowed = Some(value.to_vec()),
            b"voluntary_ctxt_switches" => status.switches_voluntary = first_number(value),
            b"nonvoluntary_ctxt_switches" => status.switches_involuntary = first_number(value),
            _ => memory_line(&mut status.memory, key, value),
        }
    }
    status.memory.rss_peak = hwm.max(status.memory.rss);
    let parts: Option<(Bytes, Bytes)> = data.zip(stack);
    status.memory.data = parts.map(|(data, stack)| data.plus(stack));
    status
}

fn memory_line(memory: &mut Memory, key: &[u8], value: &[u8]) {
    let field = match key {
        b"VmRSS" => &mut memory.rss,
        b"RssAnon" => &mut memory.rss_anon,
        b"RssFile" => &mut memory.rss_file,
        b"RssShmem" => &mut memory.rss_shmem,
        b"VmSwap" => &mut memory.swap,
        b"HugetlbPages" => &mut memory.hugetlb,
        b"VmSize" => &mut memory.virtual_size,
        b"VmPeak" => &mut memory.virtual_peak,
        _ => return,
    };
    *field = kib(value);
}

/// Only the two counts of switches, without the rest: (voluntary, involuntary).
pub fn parse_switches(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let (mut voluntary, mut involuntary) = (None, None);
    for (key, value) in pairs(text) {
        match key {
            b"voluntary_ctxt_switches" => voluntary = first_number(value),
            b"nonvoluntary_ctxt_switches" => involuntary = first_number(value),
            _ => {}
        }
    }
    (voluntary, involuntary)
}

fn is_in(mask: u64, signal: i32) -> Option<bool> {
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(mask.checked_shr(bit)? & 1 == 1)
}

/// A mask in hexadecimal, signal 1 being its lowest bit.
fn mask(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    u64::from_str_radix(text, 16).ok()
}

/// `NSpid` has the id in each pid namespace, ours first.
fn is_init(value: &[u8]) -> bool {
    let mut ids = value
        .split(u8::is_ascii_whitespace)
        .filter(|id| !id.is_empty());
    ids.next().is_some() && ids.next_back() == Some(b"1")
}

/// Real and effective, of four.
fn two_ids(value: &[u8]) -> (Option<u32>, Option<u32>) {
    let mut ids = ids(value);
    (ids.next(), ids.next())
}

fn ids(value: &[u8]) -> impl Iterator<Item = u32> {
    value.split(u8::is_ascii_whitespace).filter_map(id)
}

fn id(value: &[u8]) -> Option<u32> {
    u32::try_from(first_number(value)?).ok()
}

/// Reads and parses the file of `pid`, or of this process.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Status, Absent> {
    Ok(parse(&root.read_process(pid, "status")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_never_below_the_present() {
        let lazy = parse(b"VmHWM:\t 100 kB\nVmRSS:\t 300 kB\n");
        assert_eq!(lazy.memory.rss_peak, Some(Bytes(300 << 10)));
        let past = parse(b"VmHWM:\t 500 kB\nVmRSS:\t 300 kB\n");
        assert_eq!(past.memory.rss_peak, Some(Bytes(500 << 10)));
    }

    #[test]
    fn a_kernel_thread_has_no_memory() {
        let status = parse(b"Name:\tkthreadd\nPPid:\t0\nThreads:\t1\n");
        assert_eq!(status.memory, Memory::default());
        assert_eq!((status.ppid, status.threads), (Some(0), Some(1)));
    }

    #[test]
    fn users_and_groups_are_told_apart() {
        let status = parse(b"Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n");
        assert_eq!((status.uid, status.uid_effective), (Some(1), Some(2)));
        assert_eq!((status.gid, status.gid_effective), (Some(5), Some(6)));
        assert_eq!(status.groups, [9, 10]);
    }

    #[test]
    fn who_ignores_sigchld_is_told() {
        let ignored = |mask: &str| {
            let text = format!("SigIgn:\t{mask}\nSigCgt:\tffffffffffffffff\n");
            parse(text.as_bytes()).ignores(SIGCHLD)
        };
        assert_eq!(ignored("0000000000010000"), Some(true));
        assert_eq!(ignored("fffffffffffeffff"), Some(false));
        assert_eq!(ignored("nonsense"), None);
    }

    #[test]
    fn what_waits_for_a_stopped_process_is_told() {
        let status = parse(b"SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n");
        assert_eq!(status.has_pending(15), Some(true));
        assert_eq!(status.has_pending(14), Some(false));
        assert_eq!(parse(b"").has_pending(15), None);
    }

    #[test]
    fn what_a_process_does_with_signals_is_told() {
        let status = parse(
            b"SigPnd:\t0000000000000001\nShdPnd:\t0000000000000200\nSigBlk:\t8000000000000000\n\
              SigIgn:\t0000000000001000\nSigCgt:\tfffffffe7ffbfeff\n",
        );
        assert_eq!(status.signals_pending_thread, Some(1));
        assert_eq!(status.signals_pending, Some(1 << 9));
        assert_eq!(status.signals_blocked, Some(1 << 63));
        assert_eq!(status.signals_ignored, Some(1 << 12));
        assert_eq!(status.signals_caught, Some(0xffff_fffe_7ffb_feff));
    }

    #[test]
    fn any_number_of_cpus_is_told() {
        let status = parse(b"Cpus_allowed:\tff,00000000,0000000f\nCpus_allowed_list:\t0-3,64-71\n");
        assert_eq!(status.cpus_allowed.as_deref(), Some(&b"0-3,64-71"[..]));
        let each: Vec<_> = (0..8192).step_by(2).map(|cpu| cpu.to_string()).collect();
        let text = format!("Cpus_allowed_list:\t{}\n", each.join(","));
        let list = parse(text.as_bytes()).cpus_allowed.unwrap();
        assert_eq!(list, each.join(",").as_bytes());
    }

    #[test]
    fn the_switches_alone_are_the_same() {
        let text = b"voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(parse_switches(text), (Some(7), Some(9)));
        assert_eq!(parse(text).switches_involuntary, Some(9));
    }

    #[test]
    fn this_process_has_a_resident_set() {
        let status = read(&Root::default(), None).unwrap();
        assert!(status.memory.rss > Some(Bytes(100 << 10)));
    }
}
