//! A pass along the kernel's list of processes (`bpf/list.bpf.c`), part by part, so that the kernel
//! is never long in one piece.

use super::{Met, RECORD_BYTES, Walked};
use crate::bpf::load::{Aligned, bpf_error, unavailable};
use crate::bpf::mapping::{Mapping, page_bytes};
use crate::burst;
use crate::error::Error;
use libbpf_rs::{MapCore, ObjectBuilder};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/list.bpf.o")));

/// Records of a part, at most (`LIST_PART`).
const PART: usize = 128;
/// Parts of a pass: more than there can be of as many processes as there can be.
const PARTS_MAX: usize = 1 << 16;
/// A pass begins anew so often, if everyone whom a part met is gone.
const BEGINNINGS_MAX: usize = 3;

/// What a part is asked, and what it answers (`struct list_turn`).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Turn {
    behind: u32,
    outcome: u32,
    behind_start_ns: u64,
    count: u32,
    /// Of those who rested, so many are of the last pass.
    known: u32,
    /// Of these, the next one that may be met.
    next: u32,
    /// So many are of this pass.
    kept: u32,
}

const END: u32 = 1;
const GONE: u32 = 2;
/// `kept` of a pass that keeps nobody.
const KEEPS_NONE: u32 = u32::MAX;
/// Processes that may be known to rest, for each one that there is at the start; within bounds.
const RESTED_FOR_EACH: u32 = 4;
const RESTED: std::ops::RangeInclusive<u32> = 2048..=32_768;

/// A process as the kernel knows it: its id, and when it started by the kernel's clock.
type Key = (u32, u64);

/// The program, ready for passes.
#[derive(Debug)]
pub(super) struct List {
    program: OwnedFd,
    records: Mapping,
    /// Whom the present pass has met.
    met: Vec<Key>,
    /// How many the program knows who rested at the last pass.
    rested: u32,
}

impl List {
    /// Loads it.
    ///
    /// # Errors
    /// This kernel is older than 6.10, or this user may not.
    pub(super) fn open() -> Result<Self, Error> {
        let mut builder = ObjectBuilder::default();
        let open = builder.open_memory(&OBJECT.0);
        let mut open = open.map_err(|error| unavailable("open", &error))?;
        for mut map in open.maps_mut().filter(|map| map.name() == "rested") {
            let grown = map.set_max_entries(rested_max());
            grown.map_err(|error| unavailable("open", &error))?;
        }
        let object = open.load().map_err(|error| unavailable("load", &error))?;
        let missing = || libbpf_rs::Error::from_raw_os_error(libc::ENOENT);
        let lacks = || bpf_error("find the list of processes", &missing());
        let program = object.progs().next().ok_or_else(lacks)?;
        let listed = object.maps().find(|map| map.name() == "listed");
        let listed = listed.ok_or_else(lacks)?;
        let bytes = (PART * RECORD_BYTES).next_multiple_of(page_bytes());
        let own = |fd: BorrowedFd<'_>| {
            fd.try_clone_to_owned().map_err(|source| Error::Call {
                call: "a copy of a descriptor",
                source,
            })
        };
        Ok(Self {
            records: Mapping::new(listed.as_fd(), 0, bytes, false)?,
            program: own(program.as_fd())?,
            met: Vec::new(),
            rested: 0,
        })
    }

    /// The next pass reads everyone.
    pub(super) const fn forget(&mut self) {
        self.rested = 0;
    }

    /// Gives every living process to `take`, once; of those who rested since the last pass, which
    /// was given to the same one, only their ids.
    ///
    /// # Errors
    /// The program cannot be run, or the pass found no end.
    pub(super) fn pass(&mut self, take: &mut dyn FnMut(Met<'_>)) -> Result<u64, Error> {
        let mut turn = Turn {
            known: std::mem::take(&mut self.rested),
            ..Turn::default()
        };
        let mut beginnings = 0;
        // Those that are met again, where somebody was gone behind whom a part was to begin.
        let mut known: HashSet<Key> = HashSet::new();
        let mut back = 0;
        self.met.clear();
        for _ in 0..PARTS_MAX {
            burst::rest();
            self.run(&mut turn)?;
            if turn.outcome == GONE {
                known.extend(self.met.iter().rev().take(PART + back));
                back += 1;
                turn = match self.met.iter().rev().nth(back - 1) {
                    Some((pid, start_ns)) => behind(*pid, *start_ns),
                    None => {
                        beginnings += 1;
                        known.extend(self.met.iter());
                        behind(0, 0)
                    }
                };
                if beginnings >= BEGINNINGS_MAX {
                    break;
                }
                continue;
            }
            back = 0;
            for place in 0..turn.count as usize {
                let Some(bytes) = self.records.slice(place * RECORD_BYTES, RECORD_BYTES) else {
                    break;
                };
                // SAFETY: as long as the structure, which any bytes are a value of, and at a
                // multiple of its alignment in a page; the program that writes there does not run,
                // and nobody else does.
                let one = unsafe { &*bytes.as_ptr().cast::<Walked>() };
                let met = (one.pid, one.start_ns);
                if !known.is_empty() && known.contains(&met) {
                    continue;
                }
                self.met.push(met);
                match one.flags & Walked::SAME {
                    0 => take(Met::Read(one)),
                    _ => take(Met::Same(one.pid)),
                }
            }
            if turn.outcome == END {
                self.rested = match turn.kept {
                    KEEPS_NONE => 0,
                    kept => kept,
                };
                return Ok(self.met.len() as u64);
            }
        }
        Err(Error::Call {
            call: "a pass along the list of processes",
            source: io::Error::other("it found no end"),
        })
    }

    fn run(&self, turn: &mut Turn) -> Result<(), Error> {
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
            ctx_in: std::ptr::from_mut(turn).cast(),
            ctx_size_in: size_of::<Turn>() as u32,
            ..Default::default()
        };
        let program = self.program.as_raw_fd();
        // SAFETY: the options and what they point to live through the call.
        let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(program, &raw mut options) };
        match result {
            0 => Ok(()),
            error => Err(Error::Call {
                call: "run of the list of processes",
                source: io::Error::from_raw_os_error(-error),
            }),
        }
    }
}

/// A turn behind a process that was met, where the one behind whom it was to begin is gone: some
/// are met again, so nobody is known or kept.
fn behind(pid: u32, start_ns: u64) -> Turn {
    Turn {
        behind: pid,
        behind_start_ns: start_ns,
        kept: KEEPS_NONE,
        ..Turn::default()
    }
}

/// How many may be known to rest: so many times those that live now.
fn rested_max() -> u32 {
    let living = std::fs::read_dir("/proc").map_or(0, |all| all.flatten().count());
    let wanted = u32::try_from(living).unwrap_or(u32::MAX);
    let wanted = wanted.saturating_mul(RESTED_FOR_EACH);
    wanted.clamp(*RESTED.start(), *RESTED.end())
}
