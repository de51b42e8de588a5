//! A pass over all living processes below one, read in the kernel.
//!
//! An iterator of tasks (`iter/task`, Linux 5.8, `bpf/walk.bpf.c`): loaded and linked once, opened
//! anew for each pass, a record for each thread. Of a whole node, from Linux 6.10 on, along the
//! kernel's own list of processes ([`List`], `bpf/list.bpf.c`), a record for each process. Nothing
//! is attached anywhere, so neither costs anybody anything between two passes.

use super::load::{Aligned, bpf_error, unavailable};
use super::pinned::own;
use super::unavailable::check_beforehand;
use crate::burst;
use crate::clock::Offsets;
use crate::error::Error;
use libbpf_rs::ObjectBuilder;
use list::List;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

mod list;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/walk.bpf.o")));

/// `BPF_TRACE_ITER`.
const TRACE_ITER: u32 = 28;
/// The kernel hands out at most some pages of records a read.
const BUFFER_BYTES: usize = 64 << 10;

/// What one thread has read and written; of `task->ioac` or `signal->ioac`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct WalkedIo {
    /// Bytes through read-like calls.
    pub rchar_bytes: u64,
    /// Bytes through write-like calls.
    pub wchar_bytes: u64,
    /// Read-like calls.
    pub syscr: u64,
    /// Write-like calls.
    pub syscw: u64,
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes sent to storage.
    pub write_bytes: u64,
    /// Bytes whose writing was cancelled.
    pub cancelled_write_bytes: u64,
}

/// One living thread (`struct walked`). That of a leader holds its process's ended threads and its
/// memory as well; where the leader has ended before the others, each of these holds that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Walked {
    /// Its process.
    pub tgid: u32,
    /// The thread; equal to `tgid` for a leader.
    pub pid: u32,
    /// Its process's parent.
    pub parent_tgid: u32,
    /// `__state | exit_state`, bits of `linux/sched.h`.
    pub state: u32,
    /// Living threads of its process; leaders only.
    pub threads: u32,
    /// Bits of the constants below; of threads that are no leader only the first
    /// two.
    pub flags: u32,
    /// Process group; leaders only.
    pub group: u32,
    /// Session; leaders only.
    pub session: u32,
    /// Start of the thread since boot, nanoseconds.
    pub start_ns: u64,
    /// CPU time by the scheduler's clock, nanoseconds.
    pub cpu_ns: u64,
    /// User part by ticks, nanoseconds.
    pub cpu_user_ns: u64,
    /// System part by ticks, nanoseconds.
    pub cpu_system_ns: u64,
    /// Part of the user time that ran processors of a virtual machine, by ticks, nanoseconds.
    pub cpu_guest_ns: u64,
    /// Time runnable but waiting for a CPU, nanoseconds; of ended threads it is not kept.
    pub run_delay_ns: u64,
    /// Page faults without disk I/O.
    pub minflt: u64,
    /// Page faults with disk I/O.
    pub majflt: u64,
    /// Context switches by waiting.
    pub nvcsw: u64,
    /// Context switches by preemption.
    pub nivcsw: u64,
    /// Time waiting for block I/O, nanoseconds; 0 while delay accounting is off.
    pub blkio_delay_ns: u64,
    /// User time by ticks of waited-for children, nanoseconds; leaders only.
    pub children_user_ns: u64,
    /// System time by ticks of waited-for children, nanoseconds; leaders only.
    pub children_system_ns: u64,
    /// Page faults without disk I/O of waited-for children; leaders only.
    pub children_minflt: u64,
    /// Page faults with disk I/O of waited-for children; leaders only.
    pub children_majflt: u64,
    /// I/O of this thread alone.
    pub io: WalkedIo,
    /// I/O of ended threads and of children that were waited for; leaders only.
    pub io_with_children: WalkedIo,
    /// Resident file pages.
    pub rss_file_pages: u64,
    /// Resident anonymous pages.
    pub rss_anon_pages: u64,
    /// Resident shared memory pages.
    pub rss_shmem_pages: u64,
    /// Swapped-out pages.
    pub swap_pages: u64,
    /// Pages of the pool of huge pages, counted in pages of the usual size.
    pub hugetlb_pages: u64,
    /// Size of the address space, pages.
    pub total_vm_pages: u64,
    /// Its private and writable part, stacks included, pages.
    pub data_pages: u64,
    /// Highest resident set, pages.
    pub hiwater_rss_pages: u64,
    /// Largest address space, pages.
    pub hiwater_vm_pages: u64,
    /// Where the kernel has the address space that the pages are of: which processes share one.
    pub mm: u64,
    /// Short name, ended by a NUL.
    pub comm: [u8; 16],
}

impl Walked {
    /// The memory was read: a leader that is neither a kernel thread nor ending, or a thread of an
    /// ended one.
    pub const MEMORY: u32 = 1;
    /// The thread holds an `io_uring`.
    pub const IO_URING: u32 = 2;
    /// The process waits for nobody: it ignores SIGCHLD, or takes it with `SA_NOCLDWAIT`.
    pub const SIGCHLD_IGNORED: u32 = 4;
    /// More than 128 generations from the first process: whether it is below the root is not known.
    pub const TOO_DEEP: u32 = 8;
    /// Of the whole process: all its threads are in, whoever has ended too.
    pub const WHOLE: u32 = 16;
    /// A thread that ended meanwhile may be in twice.
    pub const TORN: u32 = 32;
    /// Nothing differs from the record of the pass before; only who it is was written.
    const SAME: u32 = 64;
}

/// Whom a pass met.
#[derive(Debug, Clone, Copy)]
pub enum Met<'a> {
    /// A process, or one of its threads.
    Read(&'a Walked),
    /// The process of this id, of which nothing differs from its record of the pass before.
    Same(u32),
}

const RECORD_BYTES: usize = 360;
const _: () = assert!(size_of::<Walked>() == RECORD_BYTES);

/// The walk, ready for passes.
#[derive(Debug)]
pub struct Walk {
    way: Way,
    clock: Offsets,
}

#[derive(Debug)]
enum Way {
    List(List),
    Iterator { link: OwnedFd, buffer: Vec<u8> },
}

impl Walk {
    /// Loads the walk over everyone below the process `root`, itself left out; 0 walks the whole
    /// node.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason if this user or kernel cannot have it.
    pub fn open(root: u32) -> Result<Self, Error> {
        check_beforehand()?;
        libbpf_rs::set_print(None);
        // Where the list cannot be had, the iterator says why nothing can.
        let list = match root {
            0 => List::open().ok(),
            _ => None,
        };
        Ok(Self {
            way: match list {
                Some(list) => Way::List(list),
                None => Self::by_iterator(root)?,
            },
            clock: Offsets::of_self(),
        })
    }

    fn by_iterator(root: u32) -> Result<Way, Error> {
        Ok(Way::Iterator {
            link: load(root)?,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Gives every living process ([`Walked::WHOLE`]) or every living thread to `take`, mostly in
    /// the order of their ids, and returns how many there were.
    ///
    /// # Errors
    /// The kernel has no memory for the pass.
    pub fn pass(&mut self, take: &mut dyn FnMut(&Walked)) -> Result<u64, Error> {
        self.forget();
        let met = self.pass_since(&mut |met| {
            if let Met::Read(one) = met {
                take(one);
            }
        });
        self.forget();
        met
    }

    /// The same, but tells of who has slept since the last of these passes that nothing differs,
    /// where the kernel can (Linux 6.10): in the kernel that costs little more than half.
    ///
    /// # Errors
    /// As [`Walk::pass`].
    pub fn pass_since(&mut self, take: &mut dyn FnMut(Met<'_>)) -> Result<u64, Error> {
        let clock = &self.clock;
        let take = &mut |met: Met<'_>| match met {
            Met::Same(pid) => take(Met::Same(pid)),
            Met::Read(one) => take(Met::Read(&Walked {
                start_ns: clock.boot(one.start_ns),
                ..*one
            })),
        };
        match &mut self.way {
            Way::List(list) => list.pass(take),
            Way::Iterator { link, buffer } => iterate(link, buffer, take),
        }
    }

    /// The next pass reads everyone.
    pub fn forget(&mut self) {
        if let Way::List(list) = &mut self.way {
            list.forget();
        }
    }
}

/// The records of a fresh pass of an iterator.
fn iterate(link: &OwnedFd, buffer: &mut [u8], take: &mut dyn FnMut(Met<'_>)) -> Result<u64, Error> {
    // SAFETY: the descriptor is a link of an iterator.
    let result = unsafe { libbpf_sys::bpf_iter_create(link.as_raw_fd()) };
    let mut pass = File::from(own("start of a walk over tasks", result)?);
    let (mut count, mut held) = (0, 0);
    loop {
        burst::rest();
        let room = buffer.get_mut(held..).unwrap_or_default();
        let read = match pass.read(room) {
            Ok(0) => return Ok(count),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => {
                let call = "read of a walk over tasks";
                return Err(Error::Call { call, source });
            }
        };
        held += read;
        let bytes = buffer.get(..held).unwrap_or_default();
        let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
        for record in records {
            // SAFETY: as long as the structure, which any bytes are a value of.
            let one = unsafe { std::ptr::read_unaligned(record.as_ptr().cast::<Walked>()) };
            take(Met::Read(&one));
            count += 1;
        }
        let rest = rest.len();
        buffer.copy_within(held - rest..held, 0);
        held = rest;
    }
}

/// With the kernel's whole type information: an iterator needs more of it than `types` cuts out.
fn load(root: u32) -> Result<OwnedFd, Error> {
    let mut builder = ObjectBuilder::default();
    let open = builder.open_memory(&OBJECT.0);
    let mut open = open.map_err(|error| unavailable("open", &error))?;
    for mut map in open.maps_mut() {
        let constants = map.name().as_encoded_bytes().ends_with(b".rodata");
        if let Some(value) = map.initial_value_mut().filter(|_| constants)
            && let Some(word) = value.first_chunk_mut()
        {
            *word = root.to_ne_bytes();
        }
    }
    let object = open.load().map_err(|error| unavailable("load", &error))?;
    let program = object.progs().next();
    let program = program.ok_or_else(|| bpf_error("find the walk", &missing()))?;
    // SAFETY: the descriptor is open for the call; no options.
    let result = unsafe {
        libbpf_sys::bpf_link_create(program.as_fd().as_raw_fd(), 0, TRACE_ITER, std::ptr::null())
    };
    own("link of the walk over tasks", result)
}

fn missing() -> libbpf_rs::Error {
    libbpf_rs::Error::from_raw_os_error(libc::ENOENT)
}

#[cfg(test)]
mod tests;
