//! What `task.h` lays out in memory: events as bytes, decoded with every bound checked.

use crate::clock::Offsets;

/// Hierarchies of control groups in which a process is told (`GROUPS_TOLD`).
pub const GROUPS_TOLD: usize = 3;

/// The numbers of the control groups of a process, which are those of their folders' inodes: in the
/// hierarchy of version 2, then in those of the controllers that were asked for. 0: not told, as is
/// all of it where not everyone is followed.
pub type GroupNumbers = [u64; GROUPS_TOLD];

/// An event of one run, as the kernel wrote it. Times are `CLOCK_BOOTTIME` nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawEvent<'a> {
    /// A new process.
    Fork {
        /// When.
        at_ns: u64,
        /// Who.
        pid: u32,
        /// Its start since boot.
        start_ns: u64,
        /// Its parent (`real_parent`).
        parent: u32,
        /// Whose address space it has, if not its own (`CLONE_VM`).
        memory_of: Option<u32>,
    },
    /// A new program in a process.
    Exec {
        /// When.
        at_ns: u64,
        /// Who.
        pid: u32,
        /// Its start since boot.
        start_ns: u64,
        /// Arguments, each with its NUL, up to 4096 bytes; empty if it could not be read.
        command: &'a [u8],
        /// Whether `command` was cut.
        truncated: bool,
        /// How long it was before.
        full_bytes: u32,
        /// The path given to `execve`, up to 255 bytes.
        path: &'a [u8],
        /// How long the thread had waited for a CPU up to here; 0 where that is not counted.
        run_delay_ns: u64,
        /// `signal->maxrss`: the most that any program before had resident, its parent's memory at
        /// the fork included, as far as the counters of all CPUs were added up.
        maxrss_bytes: u64,
        /// `min_flt` and `maj_flt` of the process up to here.
        faults: u64,
        /// Its control groups.
        groups: GroupNumbers,
    },
    /// More of the command line of an `Exec`, which comes behind all of these; where everyone is
    /// followed, and the ring has room.
    Arguments {
        /// Who.
        pid: u32,
        /// Its start since boot.
        start_ns: u64,
        /// Behind so many bytes of it.
        at: u32,
        /// At most 4096 bytes.
        text: &'a [u8],
    },
    /// The last thread of a process ended.
    Exit {
        /// When.
        at_ns: u64,
        /// Who.
        pid: u32,
        /// Its start since boot.
        start_ns: u64,
        /// As `wait(2)` gives it.
        wait_status: u32,
        /// Sums over its threads.
        own: ExitCounters,
        /// Highest resident set.
        rss_peak: RssPeak,
        /// Largest address space of its last program, bytes, if known.
        vm_peak_bytes: Option<u64>,
        /// Resident anonymous memory at its end, bytes, if known.
        anon_bytes: Option<u64>,
        /// Who its parent is then (`real_parent`).
        parent: u32,
        /// Its real user, as the initial user namespace has it.
        uid: u32,
        /// Its short name.
        comm: &'a [u8],
        /// Who sent it a signal last.
        sent: Sent<'a>,
        /// Its control groups.
        groups: GroupNumbers,
    },
    /// A control group was made; told where everyone is followed.
    Group {
        /// Its number within its hierarchy.
        number: u64,
        /// The number of the hierarchy, as in `/proc/PID/cgroup`.
        hierarchy: u32,
        /// Its path below the root of the hierarchy.
        path: &'a [u8],
    },
    /// All threads of a process were switched out for the last time.
    Final {
        /// Who.
        pid: u32,
        /// Its start since boot.
        start_ns: u64,
        /// Scheduler nanoseconds of all its threads.
        cpu_ns: u64,
    },
    /// Events that found the ring full, or processes that could not be marked, since the last
    /// drain.
    Lost {
        /// When noticed.
        at_ns: u64,
        /// How many.
        count: u64,
    },
}

/// Who sent a process a signal last (`struct sender`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent<'a>(&'a [u8]);

impl Sent<'_> {
    /// The process that sent the signal by which `pid` ended so, if one did.
    pub fn ended(self, pid: u32, wait_status: u32) -> Option<Sender> {
        let mut reader = Reader(self.0);
        let sender = Sender {
            pid: reader.u32()?,
            uid: reader.u32()?,
            signal: reader.u32()?,
            fault: Some(reader.u32()?).filter(|code| *code != 0),
            is_itself: false,
            comm: reader.0.get(..COMM_BYTES)?.try_into().ok()?,
        };
        let is_it = sender.signal != 0 && sender.signal == wait_status & SIGNAL_MASK;
        is_it.then_some(Sender {
            is_itself: sender.pid == pid && sender.fault.is_none(),
            ..sender
        })
    }
}

/// Who sent a signal (`signal_generate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Its pid, of the initial pid namespace.
    pub pid: u32,
    /// Its real user, of the initial user namespace.
    pub uid: u32,
    /// The number of the signal.
    pub signal: u32,
    /// The kernel sent it for something that the process did: its `si_code`.
    pub fault: Option<u32>,
    /// The process sent it to itself.
    pub is_itself: bool,
    comm: [u8; COMM_BYTES],
}

impl Sender {
    /// Its short name.
    pub fn comm(&self) -> &[u8] {
        until_nul(&self.comm)
    }
}

/// The highest resident set of a process, in bytes, and what it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RssPeak {
    /// Of its last program (`mm->hiwater_rss`, or `signal->maxrss` raised since its last exec).
    OfProgram(u64),
    /// Of its last program or one before, the image that called `exec` included: an upper bound.
    UpperBound(u64),
}

/// What the threads of a process used together when each ended; children are out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitCounters {
    /// `se.sum_exec_runtime`, nanoseconds; [`RawEvent::Final`] is later and higher.
    pub cpu_ns: u64,
    /// `utime`, nanoseconds as the kernel attributes them (by tick, unless it accounts precisely).
    pub cpu_user_ns: u64,
    /// `stime`, nanoseconds likewise.
    pub cpu_system_ns: u64,
    /// `sched_info.run_delay`, nanoseconds, if this kernel counts it.
    pub run_delay_ns: Option<u64>,
    /// `delays->blkio_delay`, nanoseconds; nothing if delay accounting is off.
    pub blkio_delay_ns: Option<u64>,
    /// `min_flt`.
    pub minflt: u64,
    /// `maj_flt`.
    pub majflt: u64,
    /// `nvcsw`.
    pub nvcsw: u64,
    /// `nivcsw`.
    pub nivcsw: u64,
    /// `ioac`, if this kernel counts it.
    pub io: Option<ExitIo>,
}

/// What the threads of a process read and wrote (`task->ioac`); children are out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitIo {
    /// `ioac.rchar`, bytes.
    pub rchar_bytes: u64,
    /// `ioac.wchar`, bytes.
    pub wchar_bytes: u64,
    /// `ioac.syscr`.
    pub syscr: u64,
    /// `ioac.syscw`.
    pub syscw: u64,
    /// `ioac.read_bytes`.
    pub read_bytes: u64,
    /// `ioac.write_bytes`.
    pub write_bytes: u64,
    /// `ioac.cancelled_write_bytes`.
    pub cancelled_write_bytes: u64,
}

const KIND_FORK: u32 = 1;
const KIND_EXEC: u32 = 2;
const KIND_EXIT: u32 = 3;
const KIND_FINAL: u32 = 4;
const KIND_GROUP: u32 = 5;
const KIND_ARGUMENTS: u32 = 6;

/// `sizeof(struct sender)`.
const SENDER_BYTES: usize = 32;

/// Of a wait status: the signal that it ended by.
const SIGNAL_MASK: u32 = 0x7f;

const EXIT_PEAKS_OF_MM: u32 = 1;
const EXIT_MAXRSS_OF_EARLIER: u32 = 4;
const EXIT_NO_BLKIO_DELAY: u32 = 8;
const EXIT_NO_RUN_DELAY: u32 = 16;
const EXIT_NO_IO: u32 = 32;

/// Takes integers off the front of a record.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// `struct event`.
struct Head {
    pid: u32,
    at_ns: u64,
    start_ns: u64,
}

/// Whether an event happened before `ns` by the clock of the kernel.
pub(super) fn is_before(bytes: &[u8], ns: u64) -> bool {
    const AT: usize = 8;
    let at_ns = Reader(bytes.get(AT..).unwrap_or_default()).u64();
    at_ns.is_some_and(|at_ns| at_ns < ns)
}

/// Decodes one record of a ring (its memory is in pages of `page_bytes`); `None` if it is none
/// that this version knows. Its times become those of our clock.
pub(super) fn decode(bytes: &[u8], page_bytes: u64, clock: Offsets) -> Option<RawEvent<'_>> {
    let mut reader = Reader(bytes);
    let kind = reader.u32()?;
    let head = Head {
        pid: reader.u32()?,
        at_ns: clock.boot(reader.u64()?),
        start_ns: clock.boot(reader.u64()?),
    };
    match kind {
        KIND_FORK => Some(RawEvent::Fork {
            at_ns: head.at_ns,
            pid: head.pid,
            start_ns: head.start_ns,
            parent: reader.u32()?,
            memory_of: Some(reader.u32()?).filter(|pid| *pid != 0),
        }),
        KIND_EXEC => decode_exec(&head, &mut reader, page_bytes),
        KIND_EXIT => decode_exit(&head, &mut reader, page_bytes),
        KIND_FINAL => Some(RawEvent::Final {
            pid: head.pid,
            start_ns: head.start_ns,
            cpu_ns: reader.u64()?,
        }),
        KIND_GROUP => decode_group(&mut reader),
        KIND_ARGUMENTS => {
            let (at, bytes) = (reader.u32()?, reader.u32()?);
            Some(RawEvent::Arguments {
                pid: head.pid,
                start_ns: head.start_ns,
                at,
                text: reader.take(usize::try_from(bytes).ok()?)?,
            })
        }
        _ => None,
    }
}

fn decode_exec<'a>(head: &Head, reader: &mut Reader<'a>, page_bytes: u64) -> Option<RawEvent<'a>> {
    let command_bytes = reader.u32()?;
    let full_bytes = reader.u32()?;
    let path_bytes = reader.u32()?;
    reader.u32()?;
    let run_delay_ns = reader.u64()?;
    let maxrss_bytes = reader.u64()?.saturating_mul(page_bytes);
    let faults = reader.u64()?;
    let groups = decode_groups(reader)?;
    Some(RawEvent::Exec {
        at_ns: head.at_ns,
        pid: head.pid,
        start_ns: head.start_ns,
        command: reader.take(usize::try_from(command_bytes).ok()?)?,
        truncated: full_bytes > command_bytes,
        full_bytes,
        path: reader.take(usize::try_from(path_bytes).ok()?)?,
        run_delay_ns,
        maxrss_bytes,
        faults,
        groups,
    })
}

fn decode_groups(reader: &mut Reader<'_>) -> Option<GroupNumbers> {
    let mut groups = GroupNumbers::default();
    for group in &mut groups {
        *group = reader.u64()?;
    }
    Some(groups)
}

/// `struct event_group` behind its head.
fn decode_group<'a>(reader: &mut Reader<'a>) -> Option<RawEvent<'a>> {
    let (number, hierarchy) = (reader.u64()?, reader.u32()?);
    let path_bytes = usize::try_from(reader.u32()?).ok()?;
    Some(RawEvent::Group {
        number,
        hierarchy,
        path: reader.take(path_bytes)?,
    })
}

fn decode_exit<'a>(head: &Head, reader: &mut Reader<'a>, page_bytes: u64) -> Option<RawEvent<'a>> {
    let wait_status = reader.u32()?;
    let flags = reader.u32()?;
    let own = decode_counters(reader, flags)?;
    let rss_bytes = reader.u64()?.saturating_mul(page_bytes);
    let vm_bytes = reader.u64()?.saturating_mul(page_bytes);
    let anon_bytes = reader.u64()?.saturating_mul(page_bytes);
    let of_mm = flags & EXIT_PEAKS_OF_MM != 0;
    Some(RawEvent::Exit {
        at_ns: head.at_ns,
        pid: head.pid,
        start_ns: head.start_ns,
        wait_status,
        own,
        rss_peak: if flags & EXIT_MAXRSS_OF_EARLIER != 0 {
            RssPeak::UpperBound(rss_bytes)
        } else {
            RssPeak::OfProgram(rss_bytes)
        },
        vm_peak_bytes: of_mm.then_some(vm_bytes),
        anon_bytes: of_mm.then_some(anon_bytes),
        parent: reader.u32()?,
        uid: reader.u32()?,
        comm: until_nul(reader.take(COMM_BYTES)?),
        sent: Sent(reader.take(SENDER_BYTES)?),
        groups: match reader.0.is_empty() {
            true => GroupNumbers::default(),
            false => decode_groups(reader)?,
        },
    })
}

fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// `struct counters`, field by field in its order.
fn decode_counters(reader: &mut Reader<'_>, flags: u32) -> Option<ExitCounters> {
    Some(ExitCounters {
        cpu_ns: reader.u64()?,
        cpu_user_ns: reader.u64()?,
        cpu_system_ns: reader.u64()?,
        run_delay_ns: Some(reader.u64()?).filter(|_| flags & EXIT_NO_RUN_DELAY == 0),
        blkio_delay_ns: Some(reader.u64()?).filter(|_| flags & EXIT_NO_BLKIO_DELAY == 0),
        minflt: reader.u64()?,
        majflt: reader.u64()?,
        nvcsw: reader.u64()?,
        nivcsw: reader.u64()?,
        io: Some(decode_io(reader)?).filter(|_| flags & EXIT_NO_IO == 0),
    })
}

/// The second part of `struct counters`.
fn decode_io(reader: &mut Reader<'_>) -> Option<ExitIo> {
    Some(ExitIo {
        rchar_bytes: reader.u64()?,
        wchar_bytes: reader.u64()?,
        syscr: reader.u64()?,
        syscw: reader.u64()?,
        read_bytes: reader.u64()?,
        write_bytes: reader.u64()?,
        cancelled_write_bytes: reader.u64()?,
    })
}

/// Slots of `runs` and `rings` (`RUN_SLOTS`).
pub(super) const RUN_SLOTS: u32 = 1024;
/// Runs that one process can belong to (`RUNS_PER_PROCESS`).
pub(super) const RUNS_PER_PROCESS: usize = 8;
/// Of a short name, its NUL included (`COMM_BYTES`).
const COMM_BYTES: usize = 16;
/// `sizeof(struct process)`.
pub(super) const PROCESS_BYTES: usize = 296;
const START_AT: usize = RUNS_PER_PROCESS * 8;
const THREADS_ALIVE_AT: usize = START_AT + 8;
const THREADS_SCHEDULED_AT: usize = START_AT + 16;

/// The map value of a process with one thread, followed by nobody yet (`struct process`).
pub(super) fn new_process(start_ns: u64) -> [u8; PROCESS_BYTES] {
    let mut process = [0; PROCESS_BYTES];
    put(&mut process, START_AT, start_ns);
    put(&mut process, THREADS_ALIVE_AT, 1);
    put(&mut process, THREADS_SCHEDULED_AT, 1);
    process
}

/// The map value of a process that is in one run.
pub(super) fn origin(id: u64) -> [u8; PROCESS_BYTES] {
    let mut process = [0; PROCESS_BYTES];
    put(&mut process, 0, id);
    process
}

/// The start that a map value of a process carries, nanoseconds since boot.
pub(super) fn start_ns(process: &[u8]) -> Option<u64> {
    Reader(process.get(START_AT..)?).u64()
}

/// Puts a run into the first place that `is_live` gives up; false if all are taken.
pub(super) fn add_run(process: &mut [u8], id: u64, is_live: impl Fn(u64) -> bool) -> bool {
    let free = (0..RUNS_PER_PROCESS).find(|place| {
        Reader(process.get(place * 8..).unwrap_or_default())
            .u64()
            .is_some_and(|taken| taken == 0 || !is_live(taken))
    });
    free.is_some_and(|place| put(process, place * 8, id))
}

fn put(bytes: &mut [u8], at: usize, value: u64) -> bool {
    match bytes.get_mut(at..at + 8) {
        Some(place) => {
            place.copy_from_slice(&value.to_ne_bytes());
            true
        }
        None => false,
    }
}

/// The key of a process that was added by hand (`struct process_key`).
pub(super) fn added_key(now_ns: u64, pid: u32, slot: u32) -> [u8; 16] {
    let mut key = [0; 16];
    let (start, rest) = key.split_at_mut(8);
    let (tgid, by_run) = rest.split_at_mut(4);
    start.copy_from_slice(&now_ns.to_ne_bytes());
    tgid.copy_from_slice(&pid.to_ne_bytes());
    by_run.copy_from_slice(&(slot + 1).to_ne_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(kind: u32, pid: u32, rest: &[u64]) -> Vec<u8> {
        let mut bytes = [kind.to_ne_bytes(), pid.to_ne_bytes()].concat();
        for word in rest {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn a_cut_record_is_no_event() {
        let mut exit = vec![5, 6, 0];
        exit.extend(1..=26);
        let short = words(KIND_EXIT, 7, &exit);
        exit.extend([31, 32, 33]);
        let bytes = words(KIND_EXIT, 7, &exit);
        for (bytes, told) in [(&short, [0; 3]), (&bytes, [31, 32, 33])] {
            let event = decode(bytes, 4096, Offsets::default());
            let Some(RawEvent::Exit { pid: 7, groups, .. }) = event else {
                panic!("{event:?}");
            };
            assert_eq!(groups, told);
        }
        for cut in (0..bytes.len()).filter(|cut| *cut != short.len()) {
            assert_eq!(
                decode(&bytes[..cut], 4096, Offsets::default()),
                None,
                "cut to {cut}"
            );
        }
        assert_eq!(
            decode(&words(99, 7, &[1, 2, 3]), 4096, Offsets::default()),
            None
        );
    }

    #[test]
    fn an_exec_with_lying_lengths_is_no_event() {
        let mut bytes = words(KIND_EXEC, 7, &[5, 6]);
        for number in [u32::MAX, 9, 2, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        for number in [77u64, 3, 55, 11, 12, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(b"a\0b\0/x");
        assert_eq!(decode(&bytes, 4096, Offsets::default()), None);
        bytes[24..28].copy_from_slice(&4u32.to_ne_bytes());
        let expected = RawEvent::Exec {
            at_ns: 5,
            pid: 7,
            start_ns: 6,
            command: b"a\0b\0",
            truncated: true,
            full_bytes: 9,
            path: b"/x",
            run_delay_ns: 77,
            maxrss_bytes: 3 * 4096,
            faults: 55,
            groups: [11, 12, 0],
        };
        assert_eq!(decode(&bytes, 4096, Offsets::default()), Some(expected));
    }

    #[test]
    fn a_group_has_its_number_and_path() {
        let mut bytes = words(KIND_GROUP, 0, &[5, 0, 99]);
        bytes.extend([4u32, 3].map(u32::to_ne_bytes).concat());
        bytes.extend(b"/a/");
        let expected = RawEvent::Group {
            number: 99,
            hierarchy: 4,
            path: b"/a/",
        };
        assert_eq!(decode(&bytes, 4096, Offsets::default()), Some(expected));
        bytes.pop();
        assert_eq!(decode(&bytes, 4096, Offsets::default()), None);
    }

    #[test]
    fn ended_runs_give_up_their_place() {
        let mut process = new_process(1);
        for id in 1..=8 {
            assert!(add_run(&mut process, id, |_| true));
        }
        assert!(!add_run(&mut process, 9, |_| true));
        assert!(add_run(&mut process, 9, |id| id != 3));
        assert_eq!(process[16..24], 9u64.to_ne_bytes());
    }

    #[test]
    fn an_event_has_its_time() {
        let event = words(KIND_FINAL, 7, &[1000, 900, 5]);
        assert!(is_before(&event, 1001) && !is_before(&event, 1000));
        assert!(!is_before(&event[..9], 1001), "no time at all");
    }
}
