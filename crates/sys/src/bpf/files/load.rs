//! Loads the programs of `io.bpf.c`, which share the maps of membership with those of `task.bpf.c`.

use crate::bpf::load::{Aligned, Maps, Program, bpf_error, unavailable};
use crate::bpf::mapping::Mapping;
use crate::bpf::types;
use crate::bpf::unavailable::Unavailable;
use crate::error::Error;
use libbpf_rs::{MapCore, MapHandle, ObjectBuilder, OpenObject};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/io.bpf.o")));

/// The maps that the reader needs, by the names of `io_maps.h`.
pub(super) const MAP_NAMES: [&str; 9] = [
    "io_rows",
    "io_classes",
    "io_runs",
    "io_config",
    "io_rings",
    "io_folders",
    "io_kept",
    "io_sockets",
    "io_own",
];

/// Words of `struct io_config`, in its order.
pub(super) const GENERATION: usize = 0;
pub(super) const JIFFIES: usize = 1;
pub(super) const BOOT_NS: usize = 2;
const CLEAN: usize = 3;
pub(super) const HAS_CLASSES: usize = 4;
const CONFIG_WORDS: usize = 5;

/// The maps of the programs.
#[derive(Debug)]
pub(super) struct FileMaps {
    /// `struct row_key` -> `struct row`.
    pub(super) rows: MapHandle,
    /// `struct row_key` -> `struct size_classes`.
    pub(super) classes: MapHandle,
    /// Slot -> `struct io_run`.
    pub(super) runs: MapHandle,
    /// 0 -> `struct io_config`.
    pub(super) config: MapHandle,
    /// Slot -> ring buffer.
    pub(super) rings: MapHandle,
    /// Run and folder -> told.
    pub(super) folders: MapHandle,
    /// Run and folder -> `struct kept_folder`.
    pub(super) kept: MapHandle,
    /// Inode -> `struct socket_info`.
    pub(super) sockets: MapHandle,
    /// `struct own_address` -> nothing.
    pub(super) own: MapHandle,
}

impl FileMaps {
    /// Collects the maps, each found by its name.
    pub(super) fn find(
        mut find: impl FnMut(&str) -> Result<MapHandle, Error>,
    ) -> Result<Self, Error> {
        let [
            rows,
            classes,
            runs,
            config,
            rings,
            folders,
            kept,
            sockets,
            own,
        ] = MAP_NAMES;
        Ok(Self {
            rows: find(rows)?,
            classes: find(classes)?,
            runs: find(runs)?,
            config: find(config)?,
            rings: find(rings)?,
            folders: find(folders)?,
            kept: find(kept)?,
            sockets: find(sockets)?,
            own: find(own)?,
        })
    }

    /// The memory of `io_config`.
    pub(super) fn map_config(&self) -> Result<Mapping, Error> {
        Mapping::new(self.config.as_fd(), 0, CONFIG_WORDS * 8, true)
    }

    /// Says that the programs write to the maps from now on.
    pub(super) fn begin(&self) -> Result<(), Error> {
        set(&self.map_config()?, CLEAN, 0);
        Ok(())
    }

    /// Forgets all rows and what folders were told; for when nobody writes.
    pub(super) fn clear(&self) -> Result<(), Error> {
        let config = self.map_config()?;
        if word(&config, CLEAN) != 0 {
            return Ok(());
        }
        let classes = (word(&config, HAS_CLASSES) != 0).then_some(&self.classes);
        let others = [
            &self.rows,
            &self.folders,
            &self.kept,
            &self.sockets,
            &self.own,
        ];
        for map in others.into_iter().chain(classes) {
            // Collected first: behind a deleted key the kernel begins anew.
            let keys: Vec<_> = map.keys().collect();
            for key in keys {
                // Fails only if it is gone.
                let _ = map.delete(&key);
            }
        }
        set(&config, HAS_CLASSES, 0);
        set(&config, CLEAN, 1);
        Ok(())
    }

    /// The maps in the order of [`MAP_NAMES`].
    pub(super) fn all(&self) -> [&MapHandle; 9] {
        [
            &self.rows,
            &self.classes,
            &self.runs,
            &self.config,
            &self.rings,
            &self.folders,
            &self.kept,
            &self.sockets,
            &self.own,
        ]
    }
}

/// A word of `struct io_config`.
pub(super) fn word(config: &Mapping, index: usize) -> u64 {
    config
        .word(index * 8)
        .map_or(0, |word| word.load(Ordering::Relaxed))
}

fn set(config: &Mapping, index: usize, value: u64) {
    if let Some(word) = config.word(index * 8) {
        word.store(value, Ordering::SeqCst);
    }
}

/// Loads the programs, attached to nothing yet; `members` is those of the programs that follow
/// processes.
pub(super) fn load(members: &Maps) -> Result<(FileMaps, Vec<Program>), Error> {
    if OBJECT.0.is_empty() {
        return Err(Error::Unavailable(Unavailable::NoKernelSupport {
            what: "a version of the programs for this processor's system calls".to_owned(),
        }));
    }
    libbpf_rs::set_print(None);
    // Without fentry (another architecture) scripts are not told.
    load_with(members, true).or_else(|_| load_with(members, false))
}

fn load_with(members: &Maps, scripts: bool) -> Result<(FileMaps, Vec<Program>), Error> {
    let mut open = ObjectBuilder::default()
        .open_memory(&OBJECT.0)
        .map_err(|error| unavailable("open", &error))?;
    choose(&mut open, scripts);
    reuse(&mut open, members).map_err(|error| unavailable("prepare", &error))?;
    let object = open.load().map_err(|error| unavailable("load", &error))?;
    let maps = FileMaps::find(|name| crate::bpf::load::find_map(&object, name))?;
    Ok((maps, crate::bpf::load::programs(&object)?))
}

/// Arguments of the tracepoint `io_uring_complete` since it passes the completion as one.
const URING_ARGUMENTS: usize = 3;

/// Leaves out the programs that are for other kernels; `scripts`: this one can tell of them.
fn choose(open: &mut OpenObject, scripts: bool) {
    let [arguments, page_in, page_dirty] = types::arguments_of([
        "io_uring_complete",
        "mm_filemap_add_to_page_cache",
        // Since 5.17.
        "writeback_dirty_folio",
    ]);
    for mut program in open.progs_mut() {
        let wanted = match program.name().as_encoded_bytes() {
            b"on_uring_complete" => arguments == Some(URING_ARGUMENTS),
            b"on_uring_complete_old" => arguments.is_some_and(|count| count > URING_ARGUMENTS),
            b"on_page_in" | b"on_page_dirty" => page_in.is_some() && page_dirty.is_some(),
            b"on_script" | b"on_cut" => scripts,
            _ => true,
        };
        program.set_autoload(wanted);
    }
}

fn reuse(open: &mut OpenObject, members: &Maps) -> Result<(), libbpf_rs::Error> {
    for mut map in open.maps_mut() {
        let shared = match map.name() {
            name if name == OsStr::new("members") => &members.members,
            name if name == OsStr::new("processes") => &members.processes,
            name if name == OsStr::new("runs") => &members.runs,
            _ => continue,
        };
        map.reuse_fd(shared.as_fd())?;
    }
    Ok(())
}

/// A map that is pinned here.
pub(super) fn pinned_map(path: &std::path::Path) -> Result<MapHandle, Error> {
    MapHandle::from_pinned_path(path).map_err(|error| bpf_error("open of a pinned map", &error))
}
