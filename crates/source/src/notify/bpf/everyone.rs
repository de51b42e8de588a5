//! Everyone who is born on this node, followed in the kernel to their ends.

use super::task::{cannot, counters, known};
use crate::error::Error;
use record::identity::{Ending, ProcessId};
use record::sample::MemoryPeaks;
use record::table::exit::Exit;
use record::unit::{Bytes, Nanos};
use std::collections::HashMap;
use sys::bpf::{RawEvent, Run, TaskPrograms};

/// How often to read: the ring, a MiB for two processors, holds what some fifteen hundred processes
/// tell from birth to end. A reading that finds nothing takes no system call.
pub const PERIOD: Nanos = Nanos::from_millis(200);
/// The final CPU time of a process is waited for no longer than this.
const FINAL_WITHIN: Nanos = Nanos::from_secs(1);
/// Processes whose final CPU time is waited for, at most.
const WAITING_MAX: usize = 1 << 16;

/// What happened, in the order of the kernel.
#[derive(Debug)]
pub enum Happened<'a> {
    /// A process was born.
    Born {
        /// Who.
        pid: u32,
        /// Whose child it is.
        parent: u32,
    },
    /// A process has become another program.
    Became(Program<'a>),
    /// A process ended; what it used is final.
    Ended(&'a Exit),
    /// Somebody was missed so many times.
    Lost(u64),
}

/// A program that a process has become.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Who.
    pub id: ProcessId,
    /// When.
    pub at: Nanos,
    /// The arguments, separated by NUL.
    pub command: &'a [u8],
    /// There are more of them.
    pub is_cut: bool,
    /// Its path as it was given.
    pub path: &'a [u8],
}

/// Everyone, followed by a copy of the in-kernel programs that ends with this process.
#[derive(Debug)]
pub struct Everyone {
    run: Run,
    /// Ended, with their CPU time not final yet.
    waiting: HashMap<ProcessId, Exit>,
}

impl Everyone {
    /// Loads the programs.
    ///
    /// # Errors
    /// Where this user or this kernel cannot have them, in words that say what is missing.
    pub fn open() -> Result<Self, Error> {
        Ok(Self {
            run: TaskPrograms::follow_everyone().map_err(cannot)?,
            waiting: HashMap::new(),
        })
    }

    /// Tells what happened since the last call; bounded by what the ring holds.
    pub fn read(&mut self, tell: &mut dyn FnMut(Happened<'_>)) {
        let waiting = &mut self.waiting;
        self.run.drain(&mut |event| take(event, waiting, tell));
        let now = Nanos(sys::clock::boot());
        let is_full = waiting.len() > WAITING_MAX;
        waiting.retain(|_, exit| {
            let stays = !is_full && now.since(exit.at) < FINAL_WITHIN;
            if !stays {
                tell(Happened::Ended(exit));
            }
            stays
        });
    }
}

fn take(
    event: RawEvent<'_>,
    waiting: &mut HashMap<ProcessId, Exit>,
    tell: &mut dyn FnMut(Happened<'_>),
) {
    match event {
        RawEvent::Fork { pid, parent, .. } => tell(Happened::Born { pid, parent }),
        RawEvent::Exec {
            at_ns,
            pid,
            start_ns,
            command,
            truncated,
            path,
            ..
        } => tell(Happened::Became(Program {
            id: ProcessId::new(pid, Nanos(start_ns)),
            at: Nanos(at_ns),
            command,
            is_cut: truncated,
            path,
        })),
        RawEvent::Exit {
            at_ns,
            pid,
            start_ns,
            wait_status,
            own,
            rss_peak,
            vm_peak_bytes,
            anon_bytes,
            parent,
            uid,
            comm,
        } => {
            let id = ProcessId::new(pid, Nanos(start_ns));
            let exit = Exit {
                id,
                at: Nanos(at_ns),
                parent,
                uid,
                comm: comm.to_vec(),
                ending: Ending::from_wait_status(wait_status),
                own: counters(&own),
                peaks: MemoryPeaks {
                    rss: known(rss_peak),
                    virtual_size: vm_peak_bytes.map(Bytes),
                    anon_at_end: anon_bytes.map(Bytes),
                },
            };
            waiting.insert(id, exit);
        }
        RawEvent::Final {
            pid,
            start_ns,
            cpu_ns,
        } => {
            if let Some(mut exit) = waiting.remove(&ProcessId::new(pid, Nanos(start_ns))) {
                exit.own.cpu = exit.own.cpu.max(Some(Nanos(cpu_ns)));
                tell(Happened::Ended(&exit));
            }
        }
        RawEvent::Lost { count, .. } => tell(Happened::Lost(count)),
    }
}
