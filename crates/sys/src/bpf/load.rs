//! Loads the programs of `task.bpf.c`, embedded as an object file.

use super::layout::GROUPS_TOLD;
use super::types::{self, Numbers};
use super::unavailable::{after_trying, check_beforehand};
use crate::error::Error;
use libbpf_rs::{MapCore, MapHandle, Object, ObjectBuilder, OpenObject};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// An ELF file must be aligned as its headers are.
#[repr(align(8))]
pub(super) struct Aligned<T: ?Sized>(pub(super) T);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/task.bpf.o")));
/// Names this build of the programs among the pinned ones.
#[cfg(not(test))]
pub(super) const OBJECT_HASH: &str = env!("PLIMSOLL_BPF_HASH");
/// Tests look at their own pins, whatever runs beside them.
#[cfg(test)]
pub(super) const OBJECT_HASH: &str = concat!(env!("PLIMSOLL_BPF_HASH"), "_test");

/// Since this version `on_exit` still sees the memory.
const MEMORY_AT_EXIT: (u32, u32) = (6, 16);
/// Since this version an mm counts its pages on each CPU.
const SPLIT_COUNTERS: (u32, u32) = (6, 2);
/// Since this version hash maps may allocate and free in any context.
const ALLOCATION_ANYWHERE: (u32, u32) = (6, 1);
/// Processes at once, where their memory is set aside beforehand.
const PROCESSES_SET_ASIDE: u32 = 8192;

/// The maps of the programs.
#[derive(Debug)]
pub(super) struct Maps {
    /// Task -> key of its process.
    pub(super) members: MapHandle,
    /// Key -> `struct process`.
    pub(super) processes: MapHandle,
    /// Slot -> `struct run`.
    pub(super) runs: MapHandle,
    /// Slot -> ring buffer.
    pub(super) rings: MapHandle,
}

/// Maps by the names of `task.bpf.c`, in the order of the fields of [`Maps`].
pub(super) const MAP_NAMES: [&str; 4] = ["members", "processes", "runs", "rings"];

impl Maps {
    /// Collects the maps, each found by its name.
    pub(super) fn find(
        mut find: impl FnMut(&str) -> Result<MapHandle, Error>,
    ) -> Result<Self, Error> {
        let [members, processes, runs, rings] = MAP_NAMES;
        Ok(Self {
            members: find(members)?,
            processes: find(processes)?,
            runs: find(runs)?,
            rings: find(rings)?,
        })
    }
}

/// A program in the kernel, by its name in `task.bpf.c`.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) fd: OwnedFd,
}

/// The programs, verified and attached to nothing yet.
pub(super) struct Loaded {
    pub(super) maps: Maps,
    pub(super) programs: Vec<Program>,
    /// Passes over those that are there already, where everyone is followed.
    pub(super) earlier: Option<OwnedFd>,
    /// The parent of everyone, where everyone is followed.
    pub(super) origin: MapHandle,
}

/// Loads the programs, which follow those that are added and who they bring forth; or everyone who
/// is born, with the control groups of these controllers too (`subsystems_of`).
pub(super) fn load(of_groups: Option<[u32; GROUPS_TOLD - 1]>) -> Result<Loaded, Error> {
    check_beforehand()?;
    // libbpf writes to stderr by itself; its words come back in the error.
    libbpf_rs::set_print(None);
    let version = kernel_version();
    // Where the part of the type information cannot be had, libbpf searches the whole.
    let part = types::of_kernel().ok();
    let load = |memory_program| {
        let wanted = Wanted {
            version,
            memory_program,
            everyone: of_groups.is_some(),
            subsystems: of_groups.unwrap_or_default(),
        };
        if let Ok(loaded) = load_with(wanted, part.as_ref()) {
            return Ok(loaded);
        }
        load_with(wanted, None)
    };
    if version < MEMORY_AT_EXIT {
        // Without fentry (lockdown, another architecture) the resident peak is `signal->maxrss`.
        if let Ok(loaded) = load(true) {
            return Ok(loaded);
        }
    }
    load(false)
}

/// What is loaded.
#[derive(Clone, Copy)]
struct Wanted {
    version: (u32, u32),
    /// One that reads memory before it is dropped, where that is before `sched_process_exit`.
    memory_program: bool,
    everyone: bool,
    /// As the constant of this name.
    subsystems: [u32; GROUPS_TOLD - 1],
}

fn load_with(wanted: Wanted, part: Option<&(File, Numbers)>) -> Result<Loaded, Error> {
    let mut builder = ObjectBuilder::default();
    if let Some((part, _)) = part {
        let named = builder.btf_custom_path(types::path_of(part));
        named.map_err(|error| unavailable("open", &error))?;
    }
    let mut open = builder
        .open_memory(&OBJECT.0)
        .map_err(|error| unavailable("open", &error))?;
    let numbers = part.map_or(Numbers::default(), |(_, numbers)| *numbers);
    prepare(&mut open, wanted, numbers).map_err(|error| unavailable("prepare", &error))?;
    let object = open.load().map_err(|error| unavailable("load", &error))?;
    let (earlier, attached) = programs(&object)?
        .into_iter()
        .partition::<Vec<_>, _>(|program| program.name == "on_earlier");
    Ok(Loaded {
        programs: attached,
        earlier: earlier.into_iter().next().map(|program| program.fd),
        maps: Maps::find(|name| find_map(&object, name))?,
        origin: find_map(&object, "origin")?,
    })
}

fn prepare(
    open: &mut OpenObject,
    wanted: Wanted,
    numbers: Numbers,
) -> Result<(), libbpf_rs::Error> {
    for mut program in open.progs_mut() {
        let is_wanted = is_wanted(program.name(), wanted);
        program.set_autoload(is_wanted);
    }
    for mut map in open.maps_mut() {
        if map.name() == OsStr::new("processes") && wanted.version < ALLOCATION_ANYWHERE {
            map.set_map_flags(0)?;
            map.set_max_entries(PROCESSES_SET_ASIDE)?;
        }
        let is_constants = map.name().as_encoded_bytes().ends_with(b".rodata");
        if let Some(value) = map.initial_value_mut().filter(|_| is_constants) {
            let words = [u32::from(wanted.everyone)]
                .into_iter()
                .chain(wanted.subsystems)
                .chain(numbers);
            for (place, word) in value.chunks_exact_mut(4).zip(words) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
        }
    }
    Ok(())
}

/// Whether a kernel takes a program.
fn is_wanted(name: &OsStr, wanted: Wanted) -> bool {
    let (version, memory_program) = (wanted.version, wanted.memory_program);
    match name.as_encoded_bytes() {
        b"on_exit" => version >= MEMORY_AT_EXIT,
        b"on_exit_old" => version < MEMORY_AT_EXIT,
        b"on_memory_end" => memory_program && version >= SPLIT_COUNTERS,
        b"on_memory_end_old" => memory_program && version < SPLIT_COUNTERS,
        b"on_group" | b"on_earlier" => wanted.everyone,
        _ => true,
    }
}

pub(super) fn programs(object: &Object) -> Result<Vec<Program>, Error> {
    object
        .progs()
        .filter(|program| program.autoload())
        .map(|program| {
            let fd = program.as_fd().try_clone_to_owned();
            Ok(Program {
                name: program.name().to_string_lossy().into_owned(),
                fd: fd.map_err(|source| failed("duplicate of a program's descriptor", source))?,
            })
        })
        .collect()
}

pub(super) fn find_map(object: &Object, name: &str) -> Result<MapHandle, Error> {
    let map = object.maps().find(|map| map.name() == OsStr::new(name));
    let map = map.ok_or_else(|| failed("find a map", io::Error::from(io::ErrorKind::NotFound)))?;
    MapHandle::try_from(&map).map_err(|error| bpf_error("find a map", &error))
}

/// A failed call to libbpf.
pub(super) fn bpf_error(call: &'static str, error: &libbpf_rs::Error) -> Error {
    let source = match os_error(&format!("{error:#}")) {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::other(format!("{error:#}")),
    };
    failed(call, source)
}

fn failed(call: &'static str, source: io::Error) -> Error {
    Error::Call { call, source }
}

/// What a failed load says about this place: EPERM is the kernel's no, all else its inability.
pub(super) fn unavailable(call: &str, error: &libbpf_rs::Error) -> Error {
    let words = format!("{call} of the in-kernel programs: {error:#}");
    let kind = match os_error(&words) {
        Some(libc::EPERM) => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Unsupported,
    };
    Error::Unavailable(after_trying(kind, words))
}

/// The number in "... (os error 1)": libbpf-rs keeps it only there.
fn os_error(words: &str) -> Option<i32> {
    let (_, rest) = words.rsplit_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Major and minor version of the running kernel; 0.0 if its release reads like none.
fn kernel_version() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    parse_version(&release).unwrap_or((0, 0))
}

fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// A descriptor as the four bytes by which maps name it.
pub(super) fn fd_bytes(fd: &impl AsFd) -> [u8; 4] {
    use std::os::fd::AsRawFd;
    fd.as_fd().as_raw_fd().to_ne_bytes()
}

/// The value of `key`, if there is one.
pub(super) fn lookup(map: &MapHandle, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    map.lookup(key, libbpf_rs::MapFlags::ANY)
        .map_err(|error| bpf_error("lookup in a BPF map", &error))
}

/// Sets the value of `key`.
pub(super) fn update(map: &MapHandle, key: &[u8], value: &[u8]) -> Result<(), Error> {
    map.update(key, value, libbpf_rs::MapFlags::ANY)
        .map_err(|error| bpf_error("update of a BPF map", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(version: (u32, u32), memory_program: bool) -> Wanted {
        Wanted {
            version,
            memory_program,
            everyone: false,
            subsystems: [0; GROUPS_TOLD - 1],
        }
    }

    #[test]
    fn a_release_reads_as_a_version() {
        assert_eq!(parse_version("6.1.0-56-amd64\n"), Some((6, 1)));
        assert_eq!(parse_version("6.18-rc1"), Some((6, 18)));
        assert_eq!(parse_version("x"), None);
    }

    #[test]
    fn each_kernel_gets_one_program_for_an_end() {
        for (version, memory, wanted) in [
            (
                (5, 10),
                true,
                ["on_exit_old", "on_memory_end_old"].as_slice(),
            ),
            ((6, 1), false, &["on_exit_old"]),
            ((6, 12), true, &["on_exit_old", "on_memory_end"]),
            ((6, 16), false, &["on_exit"]),
        ] {
            let names = [
                "on_exit",
                "on_exit_old",
                "on_memory_end",
                "on_memory_end_old",
            ];
            let taken = names
                .into_iter()
                .filter(|name| is_wanted(OsStr::new(name), with(version, memory)));
            assert_eq!(taken.collect::<Vec<_>>(), wanted, "{version:?}");
        }
    }

    #[test]
    fn bpf_root_the_part_of_the_types_suffices() {
        if let Err(error) = load(None) {
            return println!("skipped: {error}");
        }
        let part = types::of_kernel().unwrap();
        load_with(with(kernel_version(), false), Some(&part)).unwrap();
    }

    #[test]
    fn the_error_number_is_found() {
        assert_eq!(os_error("a: b (os error 13)"), Some(13));
        assert_eq!(os_error("a: b"), None);
    }
}
