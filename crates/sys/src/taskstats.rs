//! What the kernel accounted for a thread (`linux/taskstats.h`), asked for or told at its end.
//!
//! Needs `CAP_NET_ADMIN` in the initial user and pid namespaces. Where that is missing some kernels
//! accept the subscription and tell nothing: [`Taskstats::listen`] makes sure by ending a thread of
//! its own.
//!
//! Bytes and calls of reading and writing are left out: the kernel rounds both, calls too, down to
//! whole 1024s. Bytes of storage come in pages or sectors and lose at most half a KiB a thread.

use crate::error::Error;
use crate::netlink::generic::{Attribute, Family, attribute, attributes};
use crate::netlink::{Taken, long, word};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

const GET: u8 = 1;
const ASK_THREAD: u16 = 1;
const REGISTER: u16 = 3;
const TYPE_PID: u16 = 1;
const TYPE_STATS: u16 = 3;
const TYPE_THREAD: u16 = 4;
const TYPE_PROCESS: u16 = 5;
/// Room for a name (`TS_COMM_LEN`).
const NAME_BYTES: usize = 32;
/// Batches read while waiting for our own thread's record.
const TRIAL_BATCHES: usize = 4096;

/// What one thread used over its life. Fields that this kernel was built without read as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUse {
    /// The thread.
    pub tid: u32,
    /// Its process; `None` before Linux 5.19 (version 12) unless the thread was alone in it.
    pub process: Option<u32>,
    /// Wait status.
    pub status: u32,
    /// The thread's name at its end, ended by a NUL.
    pub name: [u8; NAME_BYTES],
    /// Its real user id.
    pub uid: u32,
    /// Its parent process at its end.
    pub parent: u32,
    /// CPU time by the scheduler's clock, nanoseconds.
    pub cpu_ns: u64,
    /// Time runnable but waiting for a CPU, nanoseconds.
    pub cpu_wait_ns: u64,
    /// Page faults without disk I/O.
    pub faults_minor: u64,
    /// Page faults with disk I/O.
    pub faults_major: u64,
    /// Highest resident set of its memory, bytes.
    pub rss_peak_bytes: u64,
    /// Largest address space, bytes.
    pub virtual_peak_bytes: u64,
    /// Bytes fetched from storage.
    pub disk_read_bytes: u64,
    /// Bytes sent to storage.
    pub disk_written_bytes: u64,
    /// Bytes whose writing was cancelled.
    pub disk_cancelled_bytes: u64,
    /// Context switches by waiting.
    pub switches_voluntary: u64,
    /// Context switches by preemption.
    pub switches_involuntary: u64,
}

impl ThreadUse {
    /// Decodes a `struct taskstats`, which only ever grows at its end.
    fn decode(tid: u32, stats: &[u8]) -> Option<Self> {
        let kib = |offset| Some(long(stats, offset)?.saturating_mul(1024));
        let version = word(stats, 0)? & 0xffff;
        Some(Self {
            tid,
            process: if version >= 12 {
                word(stats, 368)
            } else {
                None
            },
            status: word(stats, 4)?,
            name: stats.get(80..80 + NAME_BYTES)?.try_into().ok()?,
            uid: word(stats, 120)?,
            parent: word(stats, 132)?,
            cpu_wait_ns: long(stats, 24)?,
            cpu_ns: long(stats, 72)?,
            faults_minor: long(stats, 168)?,
            faults_major: long(stats, 176)?,
            rss_peak_bytes: kib(200)?,
            virtual_peak_bytes: kib(208)?,
            disk_read_bytes: long(stats, 248)?,
            disk_written_bytes: long(stats, 256)?,
            disk_cancelled_bytes: long(stats, 264)?,
            switches_voluntary: long(stats, 272)?,
            switches_involuntary: long(stats, 280)?,
        })
    }

    /// The thread in the attributes of a message. A thread that was never in company is its own
    /// process.
    fn find(message: &[u8]) -> Option<Self> {
        let mut found = attributes(message);
        let (_, nested) = found.find(|(kind, _)| *kind == TYPE_THREAD)?;
        let part = |wanted: u16| {
            let mut parts = attributes(nested);
            parts.find(|(kind, _): &Attribute<'_>| *kind == wanted)
        };
        let (_, tid) = part(TYPE_PID)?;
        let (_, stats) = part(TYPE_STATS)?;
        let mut thread = Self::decode(word(tid, 0)?, stats)?;
        let in_company = attributes(message).any(|(kind, _)| kind == TYPE_PROCESS);
        if thread.process.is_none() && !in_company {
            thread.process = Some(thread.tid);
        }
        Some(thread)
    }
}

/// A socket of the taskstats family.
#[derive(Debug)]
pub struct Taskstats(Family);

impl Taskstats {
    /// Finds the family.
    ///
    /// # Errors
    /// `ENOENT` on a kernel without taskstats.
    pub fn open() -> Result<Self, Error> {
        Family::open("TASKSTATS").map(Self)
    }

    /// What the living thread `tid` used so far.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; `ESRCH` if it is gone.
    pub fn of_thread(&mut self, tid: u32) -> Result<ThreadUse, Error> {
        let answer = self
            .0
            .ask(GET, &attribute(ASK_THREAD, &tid.to_ne_bytes()))?;
        ThreadUse::find(&answer).ok_or_else(|| silent("taskstats query"))
    }

    /// Asks to be told of the end of every thread on `cpus` (a list as in
    /// `/sys/devices/system/cpu/possible`), with a receive buffer of up to `buffer_bytes`.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; `ENODATA` if the kernel took the subscription but tells
    /// nothing.
    pub fn listen(&mut self, cpus: &str, buffer_bytes: u32) -> Result<(), Error> {
        self.0.grow_receive_buffer(buffer_bytes)?;
        let mut list = cpus.trim().as_bytes().to_vec();
        list.push(0);
        self.0.ask(GET, &attribute(REGISTER, &list))?;
        let trial = std::thread::Builder::new().spawn(|| ());
        let trial = trial.map_err(|source| Error::Call {
            call: "start a thread to try taskstats",
            source,
        })?;
        // It has nothing to return; what counts is that it has ended.
        let _ = trial.join();
        let mut heard = false;
        for _ in 0..TRIAL_BATCHES {
            // Our own record, or anybody's, shows that the kernel tells.
            if self.receive(|_| heard = true)? == Taken::Nothing {
                break;
            }
        }
        if heard {
            Ok(())
        } else {
            Err(silent("taskstats exit listener"))
        }
    }

    /// Takes the records that wait, at most a batch, without blocking.
    pub fn receive(&mut self, mut each: impl FnMut(ThreadUse)) -> Result<Taken, Error> {
        self.0.receive(|message| {
            if let Some(thread) = ThreadUse::find(message) {
                each(thread);
            }
        })
    }
}

impl AsFd for Taskstats {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn silent(call: &'static str) -> Error {
    Error::Call {
        call,
        source: io::Error::from_raw_os_error(libc::ENODATA),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(version: u16) -> Vec<u8> {
        let mut stats = vec![0; 416];
        stats[..2].copy_from_slice(&version.to_ne_bytes());
        stats[72..80].copy_from_slice(&1234u64.to_ne_bytes());
        stats[80..84].copy_from_slice(b"cc1\0");
        stats[120..124].copy_from_slice(&65_534u32.to_ne_bytes());
        stats[132..136].copy_from_slice(&3u32.to_ne_bytes());
        stats[200..208].copy_from_slice(&4u64.to_ne_bytes());
        stats[368..372].copy_from_slice(&9u32.to_ne_bytes());
        stats
    }

    fn message(version: u16, company: bool) -> Vec<u8> {
        let mut nested = attribute(TYPE_PID, &7u32.to_ne_bytes());
        nested.extend(attribute(TYPE_STATS, &stats(version)));
        let mut message = attribute(TYPE_THREAD, &nested);
        if company {
            message.extend(attribute(TYPE_PROCESS, &nested));
        }
        message
    }

    #[test]
    fn a_record_is_decoded_and_knows_its_process() {
        let new = ThreadUse::find(&message(13, false)).unwrap();
        assert_eq!((new.tid, new.process, new.cpu_ns), (7, Some(9), 1234));
        assert_eq!((new.rss_peak_bytes, &new.name[..4]), (4096, &b"cc1\0"[..]));
        assert_eq!((new.uid, new.parent), (65_534, 3));
        assert_eq!(
            ThreadUse::find(&message(10, false)).unwrap().process,
            Some(7)
        );
        assert_eq!(ThreadUse::find(&message(10, true)).unwrap().process, None);
    }

    #[test]
    fn a_cut_record_is_none() {
        let mut short = attribute(TYPE_PID, &7u32.to_ne_bytes());
        short.extend(attribute(TYPE_STATS, &stats(13)[..100]));
        assert_eq!(ThreadUse::find(&attribute(TYPE_THREAD, &short)), None);
        assert_eq!(ThreadUse::find(&[]), None);
    }

    #[test]
    fn root_the_kernel_answers_and_tells() {
        let mut taskstats = match Taskstats::open() {
            Ok(taskstats) => taskstats,
            Err(error) => return println!("skipped: {error}"),
        };
        let me = std::process::id();
        match taskstats.of_thread(me) {
            Ok(used) => assert!(used.tid == me && used.rss_peak_bytes > 0),
            Err(error) => return println!("skipped: {error}"),
        }
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
        taskstats.listen(&cpus, 1 << 20).unwrap();
    }
}
