//! The system calls of one run, counted by kind and process (`bpf/calls.bpf.c`).
//!
//! The programs are loaded and attached for this run alone: every system call of the node passes
//! them until they are let go.

use super::batch;
use super::followed::FollowedCalls;
use super::layout::Reader;
use super::load::{Aligned, Maps, Program, find_map, programs, unavailable};
use super::pinned;
use super::programs::Shared;
use super::unavailable::Unavailable;
use crate::error::Error;
use libbpf_rs::{MapCore, MapFlags, MapHandle, ObjectBuilder, OpenObject};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o")));

/// The iterator over living threads.
const DUMP: &str = "dump_calls";
/// `CALL_COMPAT`.
const COMPAT: u32 = 0x4000_0000;
/// `CALL_NUMBERS`.
const NUMBERS: u32 = 1024;
/// `sizeof(struct call_key)` and `sizeof(struct call_counts)`.
const KEY_BYTES: usize = 16;
const COUNTS_BYTES: usize = 24;
/// `CALL_FOREIGN`.
const FOREIGN: u32 = 2 * NUMBERS;

/// Calls of one kind, a part of one process's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRow {
    /// Whose; nothing where only the task is known.
    pub pid: Option<u32>,
    /// The number of the call.
    pub number: u32,
    /// Whether it was called by the 32-bit interface, whose numbers are others.
    pub compat: bool,
    /// How many.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// From entry to exit, nanoseconds; a call under way is not in it.
    pub time_ns: u64,
}

/// The system calls of one run. Ends when dropped.
#[derive(Debug)]
pub struct Calls {
    table: MapHandle,
    rest: MapHandle,
    dump: OwnedFd,
    _links: Vec<OwnedFd>,
    _programs: Arc<Shared>,
}

impl Calls {
    /// Those of the processes of `run`; of `owner`, only what they do as that user.
    pub(super) fn start(
        programs: Arc<Shared>,
        run: u64,
        owner: Option<u32>,
    ) -> Result<Self, Error> {
        let own = [run, owner.map_or(0, |uid| u64::from(uid) + 1)];
        let (loaded, [table, rest]) = load(&programs.state.maps, own)?;
        let (dump, others): (Vec<_>, Vec<_>) = loaded.into_iter().partition(|it| it.name == DUMP);
        let dump = dump.into_iter().next().ok_or_else(|| Error::Call {
            call: "find a program",
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        let links = others.iter().map(|it| pinned::attach(it.fd.as_fd()));
        Ok(Self {
            table,
            rest,
            dump: dump.fd,
            _links: links.collect::<Result<_, _>>()?,
            _programs: programs,
        })
    }

    fn living(&self, take: &mut dyn FnMut(CallRow)) -> Result<(), Error> {
        let bytes = batch::pass(self.dump.as_fd())?;
        for record in bytes.chunks_exact(KEY_BYTES + COUNTS_BYTES) {
            let (key, counts) = record.split_at(KEY_BYTES);
            if let Some(row) = decode(key, counts) {
                take(row);
            }
        }
        Ok(())
    }

    fn rest(&self, index: u32) -> Result<Option<CallRow>, Error> {
        let counts = self.rest.lookup(&index.to_ne_bytes(), MapFlags::ANY);
        let counts = counts.map_err(|error| super::load::bpf_error("reading of a map", &error))?;
        Ok(counts.and_then(|counts| rest(index, &counts)))
    }
}

impl FollowedCalls for Calls {
    fn read(&self, take: &mut dyn FnMut(CallRow)) -> Result<bool, Error> {
        self.living(take)?;
        batch::every(&self.table, &mut |key, counts| {
            if let Some(row) = decode(key, counts) {
                take(row);
            }
        })?;
        for index in 0..2 * NUMBERS {
            if let Some(row) = self.rest(index)? {
                take(row);
            }
        }
        Ok(self.rest(FOREIGN)?.is_none())
    }
}

fn load(members: &Maps, own: [u64; 2]) -> Result<(Vec<Program>, [MapHandle; 2]), Error> {
    if OBJECT.0.is_empty() {
        return Err(Error::Unavailable(Unavailable::NoKernelSupport {
            what: "a version of the programs for this processor's system calls".to_owned(),
        }));
    }
    libbpf_rs::set_print(None);
    let mut open = ObjectBuilder::default()
        .open_memory(&OBJECT.0)
        .map_err(|error| unavailable("open", &error))?;
    prepare(&mut open, members, own)?;
    let object = open.load().map_err(|error| unavailable("load", &error))?;
    let maps = [
        find_map(&object, "call_table")?,
        find_map(&object, "call_rest")?,
    ];
    Ok((programs(&object)?, maps))
}

fn prepare(open: &mut OpenObject, members: &Maps, own: [u64; 2]) -> Result<(), Error> {
    for mut map in open.maps_mut() {
        let name = map.name().to_owned();
        if name.as_encoded_bytes().ends_with(b".rodata") {
            // `own` is the first that is in there.
            let words = map.initial_value_mut().map(|value| value.as_chunks_mut().0);
            match words.and_then(|words| words.first_chunk_mut()) {
                Some(words) => *words = own.map(u64::to_ne_bytes),
                None => {
                    return Err(Error::Call {
                        call: "find the constants of a program",
                        source: std::io::ErrorKind::NotFound.into(),
                    });
                }
            }
            continue;
        }
        let shared = match name {
            name if name == OsStr::new("members") => &members.members,
            name if name == OsStr::new("processes") => &members.processes,
            name if name == OsStr::new("runs") => &members.runs,
            _ => continue,
        };
        map.reuse_fd(shared.as_fd())
            .map_err(|error| unavailable("prepare", &error))?;
    }
    Ok(())
}

fn decode(key: &[u8], counts: &[u8]) -> Option<CallRow> {
    let mut reader = Reader(key);
    reader.u64()?;
    let (pid, call) = (reader.u32()?, reader.u32()?);
    row(Some(pid), call, counts)
}

fn rest(index: u32, counts: &[u8]) -> Option<CallRow> {
    let compat = if index >= NUMBERS { COMPAT } else { 0 };
    row(None, (index % NUMBERS) | compat, counts)
}

fn row(pid: Option<u32>, call: u32, counts: &[u8]) -> Option<CallRow> {
    let mut reader = Reader(counts);
    let (calls, errors, time_ns) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let number = call & !COMPAT;
    let below_zero = number.leading_zeros() == 0;
    let row = CallRow {
        pid,
        // The mark took a bit of a number below zero.
        number: if below_zero { number | COMPAT } else { number },
        compat: call & COMPAT != 0,
        calls,
        errors,
        time_ns,
    };
    Some(row).filter(|row| row.calls > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::tests::{Gated, Seen, pins_in_use, programs};

    fn watch(script: &str, owner: Option<u32>) -> Option<(Vec<CallRow>, bool)> {
        let programs = programs()?;
        let mut run = programs.start_run().unwrap();
        let calls = match run.follow_calls(owner) {
            Ok(calls) => calls,
            Err(Error::Unavailable(reason)) => {
                println!("skipped: {reason}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut shell = Gated::new(script);
        run.add(shell.pid()).unwrap();
        shell.open();
        shell.finish(&mut [(&mut run, &mut Seen::default())]);
        let mut rows = Vec::new();
        let is_all = calls.read(&mut |row| rows.push(row)).unwrap();
        Some((rows, is_all))
    }

    #[test]
    fn bpf_root_calls_as_another_user_are_left_out() {
        let _pins = pins_in_use();
        let own = crate::process::effective_uid();
        let Some((rows, is_all)) = watch("/bin/true; exec /bin/true", Some(own)) else {
            return;
        };
        assert!(is_all && rows.len() > 3, "{rows:?}");
        let (rows, is_all) = watch("/bin/true; exec /bin/true", Some(own + 1)).unwrap();
        assert!(!is_all && rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn bpf_root_calls_are_counted_by_kind() {
        let _pins = pins_in_use();
        let script = "exec dd if=/dev/zero of=/dev/null bs=10 count=5000 status=none";
        let Some((rows, true)) = watch(script, None) else {
            return;
        };
        let of = |number: libc::c_long| {
            let number = u32::try_from(number).unwrap();
            let found = rows.iter().filter(move |row| row.number == number);
            found.fold((0, 0), |(calls, errors), row| {
                (calls + row.calls, errors + row.errors)
            })
        };
        assert_eq!(of(libc::SYS_write).0, 5000);
        assert!((5000..5020).contains(&of(libc::SYS_read).0));
        assert_eq!(of(libc::SYS_exit_group), (1, 0));
        assert!(rows.iter().all(|row| row.pid.is_some() && !row.compat));
        let slow = rows.iter().filter(|row| row.time_ns > 0).count();
        assert!(slow > 5, "{rows:?}");
    }

    #[test]
    fn what_is_cut_is_none() {
        let (key, counts) = ([1; KEY_BYTES], [1; COUNTS_BYTES]);
        assert!(decode(&key, &counts).is_some());
        for cut in 0..KEY_BYTES {
            assert_eq!(decode(&key[..cut], &counts), None);
        }
        for cut in 0..COUNTS_BYTES {
            assert_eq!(decode(&key, &counts[..cut]), None);
        }
        assert_eq!(decode(&key, &[0; COUNTS_BYTES]), None);
        let compat = rest(NUMBERS + 3, &counts).unwrap();
        assert_eq!((compat.number, compat.compat, compat.pid), (3, true, None));
    }
}
