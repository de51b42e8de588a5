//! The files of one run: what each of its threads read and wrote where (`bpf/io.bpf.c`).
//!
//! Threads count for themselves and put what they counted into a table of rows, which [`Files`]
//! empties; the paths of folders come through a ring buffer of their own. The programs are attached
//! while a run on the node asks for files: every system call of the node passes them then.

mod layout;
mod load;
mod own;
mod private;
mod raw;
mod rest;
mod share;
mod socket;
mod told;

pub(in crate::bpf) use layout::Ticks;
pub use layout::{Datagrams, ExactSize, FileId, FileRow, PageCounts, SizeClasses};
pub(in crate::bpf) use private::Private as PrivateFiles;
pub(in crate::bpf) use raw::{RawRow, Reading};
pub use rest::FileRest;
pub use socket::SocketInfo;
pub(in crate::bpf) use socket::decode as decode_socket;
pub(in crate::bpf) use told::decode as decode_told;
pub use told::{Folder, Name, NameChange, NamePath, Told};

use super::batch;
use super::layout::RUN_SLOTS;
use super::load::{fd_bytes, update};
use super::mapping::Mapping;
use super::programs::Shared;
use super::ring::{self, Ring};
use crate::clock::{self, Offsets};
use crate::error::Error;
use crate::network::Network;
use layout::{
    DUMPED_BYTES, KEY_BYTES, Key, ROW_BYTES, decode_classes, decode_dumped, decode_folder_run,
    decode_key, has_classes,
};
use libbpf_rs::MapCore;
use load::{BOOT_NS, GENERATION, HAS_CLASSES, JIFFIES};
use share::Use;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `sizeof(struct io_run)`.
const RUN_BYTES: usize = 192;
const RUN_WORDS: usize = RUN_BYTES / 8;
/// Words of `struct io_run`, in its order.
const ID: usize = 0;
const EPOCH: usize = 1;
const ROWS: usize = 2;
const ROWS_MAX: usize = 3;
const FLAGS: usize = 4;
const FOLDERS_KEPT: usize = 22;
const OWNER: usize = 23;

const TIMES: u64 = 1;
const FROM_EXEC: u64 = 2;
/// About 150 bytes a folder.
const RING_BYTES: usize = 1 << 20;

/// How the files of a run are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// Rows that the table holds; what is beyond is in [`Files::rest`].
    pub rows_max: u64,
    /// Whether the time of calls is taken.
    pub times: bool,
    /// Whether a process that was added by hand counts from its exec on.
    pub from_exec: bool,
    /// The user whose programs alone are counted, by their effective user; all without.
    pub owner: Option<u32>,
}

/// The files of one run. Ends when dropped.
#[derive(Debug)]
pub struct Files {
    programs: Arc<Shared>,
    slot: u32,
    id: u64,
    epoch: u64,
    table: Mapping,
    config: Mapping,
    ring: Ring,
    ring_map: OwnedFd,
    tick_ns: u64,
    clock: Offsets,
    /// The network that the programs know the addresses of, as long as it has these.
    network: Option<Network>,
    used: Use,
}

impl Files {
    pub(super) fn start(
        programs: Arc<Shared>,
        slot: u32,
        id: u64,
        options: FileOptions,
    ) -> Result<Self, Error> {
        let members = &programs.state.maps;
        let used = if programs.is_shared() {
            Use::shared(members, options.times)?
        } else {
            Use::private(&programs.private_files()?, options.times)?
        };
        // Without it nothing is missing but where some datagrams went, which is told so.
        let network = Network::of_self().ok();
        let network = network.filter(|it| own::tell(&used.maps.own, it).is_ok());
        let bytes = usize::try_from(RUN_SLOTS).unwrap_or(0) * RUN_BYTES;
        let ring_map = ring::create(RING_BYTES)?;
        let files = Self {
            slot,
            id,
            epoch: 1,
            table: Mapping::new(used.maps.runs.as_fd(), 0, bytes, true)?,
            config: used.maps.map_config()?,
            ring: Ring::new(ring_map.as_fd(), RING_BYTES)?,
            ring_map,
            tick_ns: clock::tick_ns(),
            clock: Offsets::of_self(),
            network,
            programs,
            used,
        };
        files.begin(options)?;
        Ok(files)
    }

    fn begin(&self, options: FileOptions) -> Result<(), Error> {
        for word in 0..RUN_WORDS {
            self.set(word, 0);
        }
        update(
            &self.used.maps.rings,
            &self.slot.to_ne_bytes(),
            &fd_bytes(&self.ring_map),
        )?;
        self.set(EPOCH, self.epoch);
        self.set(ROWS_MAX, options.rows_max);
        let times = if options.times { TIMES } else { 0 };
        let from_exec = if options.from_exec { FROM_EXEC } else { 0 };
        self.set(FLAGS, times | from_exec);
        self.set(OWNER, options.owner.map_or(0, |uid| u64::from(uid) + 1));
        self.set(ID, self.id);
        self.refresh();
        Ok(())
    }

    /// Makes threads that are watched already look for their runs anew: after a process was added
    /// to the run by hand.
    pub fn refresh(&self) {
        if let Some(generation) = self.config.word(GENERATION * 8) {
            generation.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Rows in the table now.
    pub fn rows(&self) -> u64 {
        self.word(ROWS)
            .map_or(0, |rows| rows.load(Ordering::Relaxed))
    }

    /// Gives every folder and every change of a name that was told so far to `take`. Call it when
    /// [`Files::fd`] is readable.
    ///
    /// # Errors
    /// The kernel's: it concerns only folders that found the ring full.
    pub fn told(&mut self, take: &mut dyn FnMut(Told)) -> Result<(), Error> {
        // Before the ring: changes of names in there may be of these folders.
        let mut decoded = |bytes: &[u8]| {
            if let Some(told) = told::decode(bytes) {
                take(told);
            }
        };
        let kept = self.take_kept(&mut decoded);
        self.ring.drain(&mut decoded);
        kept
    }

    /// Gives the folders that found the ring full, as the kernel has them.
    pub(super) fn take_kept(&self, take: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let kept = self.word(FOLDERS_KEPT);
        if kept.is_none_or(|kept| kept.swap(0, Ordering::SeqCst) == 0) {
            return Ok(());
        }
        let mut done = Vec::new();
        let read = batch::every(&self.used.maps.kept, &mut |key, event| {
            let run = decode_folder_run(key).unwrap_or(0);
            if run == self.id {
                take(event);
            }
            if run == self.id || !self.is_live(run) {
                done.extend_from_slice(key);
            }
        });
        read.and(batch::delete(&self.used.maps.kept, &done))
    }

    /// Whether rows have their pages: older kernels do not tell of them.
    pub fn tells_pages(&self) -> bool {
        self.used.tells_pages
    }

    /// Becomes readable when the ring or the table of rows fills; of a single folder nobody is
    /// woken.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.ring_map.as_fd()
    }

    /// Empties the table of what is in it now. While threads of the run live this waits until calls
    /// that are under way in the kernel have ended, some milliseconds; `alive` says so.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_rows(&mut self, alive: bool, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        let ticks = self.ticks();
        let knows_network = self.look_at_network();
        let reading = Reading {
            ticks,
            knows_network,
        };
        self.take_raw(alive, &mut |raw| {
            if let Some(row) = raw.decode(reading) {
                take(row);
            }
        })
    }

    /// The same, as the kernel has them.
    pub(super) fn take_raw(
        &mut self,
        alive: bool,
        take: &mut dyn FnMut(RawRow<'_>),
    ) -> Result<(), Error> {
        self.set(ROWS, 0);
        self.epoch += 1;
        self.set(EPOCH, self.epoch);
        if alive {
            wait_for_calls();
        }
        let (mut mine, mut orphans) = (Vec::new(), Vec::new());
        let read = batch::every(
            &self.used.maps.rows,
            &mut |bytes, row| match decode_key(bytes) {
                Some(key) if key.run == self.id && u64::from(key.epoch) < self.epoch => {
                    take(self.raw(&key, bytes, row));
                    mine.extend_from_slice(bytes);
                }
                Some(key) if !self.is_live(key.run) => orphans.extend_from_slice(bytes),
                _ => {}
            },
        );
        mine.extend_from_slice(&orphans);
        read.and(batch::delete(&self.used.maps.rows, &mine))
    }

    fn raw<'a>(&self, key: &Key, bytes: &[u8], row: &'a [u8]) -> RawRow<'a> {
        let mut classes = None;
        if has_classes(row)
            && let Ok(Some(found)) = super::load::lookup(&self.used.maps.classes, bytes)
        {
            classes = Some(found);
            // It is there: nobody else clears it.
            let _ = self.used.maps.classes.delete(bytes);
        }
        RawRow {
            file: key.file,
            pid: key.tgid,
            row,
            classes: classes.unwrap_or_default(),
        }
    }

    /// Gives what living threads of this run counted and have not put into the table yet. It stays
    /// theirs: they put it there later. For the last reading of a run.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pending(&self, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        let reading = self.reading();
        self.pending_raw(&mut |raw| {
            if let Some(row) = raw.decode(reading) {
                take(row);
            }
        })
    }

    /// The same, as the kernel has it.
    pub(super) fn pending_raw(&self, take: &mut dyn FnMut(RawRow<'_>)) -> Result<(), Error> {
        let bytes = batch::pass(self.used.dump.as_fd())?;
        let mut classes = self.classes_left()?;
        for record in bytes.chunks_exact(DUMPED_BYTES + ROW_BYTES) {
            let (head, row) = record.split_at(DUMPED_BYTES);
            if let Some((runs, file, pid)) = decode_dumped(head)
                && runs.contains(&self.id)
            {
                let left = has_classes(row).then(|| classes.remove(&(pid, file)));
                take(RawRow {
                    file,
                    pid,
                    row,
                    classes: left
                        .flatten()
                        .map_or_else(Vec::new, |left| raw::encode_classes(&left)),
                });
            }
        }
        Ok(())
    }

    /// Whether it is known where datagrams went: an address that came or went meanwhile makes that
    /// uncertain.
    pub(super) fn look_at_network(&mut self) -> bool {
        if self.network.is_some() && Network::of_self().ok() != self.network {
            self.network = None;
        }
        self.network.is_some()
    }

    /// What rows are read with.
    pub(super) fn reading(&self) -> Reading {
        Reading {
            ticks: self.ticks(),
            knows_network: self.network.is_some(),
        }
    }

    /// By process and file, what belongs to no row of the table: to those of living threads.
    fn classes_left(&self) -> Result<HashMap<(u32, FileId), SizeClasses>, Error> {
        let mut left: HashMap<_, SizeClasses> = HashMap::new();
        if load::word(&self.config, HAS_CLASSES) == 0 {
            return Ok(left);
        }
        batch::every(&self.used.maps.classes, &mut |key, classes| {
            if let Some(key) = decode_key(key).filter(|key| key.run == self.id)
                && let Some(classes) = decode_classes(classes)
            {
                match left.entry((key.tgid, key.file)) {
                    Entry::Occupied(mut sum) => sum.get_mut().add(&classes),
                    Entry::Vacant(place) => _ = place.insert(classes),
                }
            }
        })?;
        Ok(left)
    }

    /// Gives what is known of the sockets that tasks of this node use, the last of them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn sockets(&self, take: &mut dyn FnMut(SocketInfo)) -> Result<(), Error> {
        self.sockets_raw(&mut |info| {
            if let Some(info) = socket::decode(info) {
                take(info);
            }
        })
    }

    /// The same, as the kernel has it.
    pub(super) fn sockets_raw(&self, take: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        batch::every(&self.used.maps.sockets, &mut |_, info| take(info))
    }

    /// What found no place, so far.
    pub fn rest(&self) -> FileRest {
        FileRest::from_words(&self.rest_words())
    }

    /// The same, as the kernel has it.
    pub(super) fn rest_words(&self) -> [u64; RUN_WORDS] {
        std::array::from_fn(|word| {
            self.word(word)
                .map_or(0, |word| word.load(Ordering::Relaxed))
        })
    }

    /// How long the ring of folders is, bytes.
    pub(super) const fn ring_bytes(&self) -> usize {
        self.ring.data_bytes()
    }

    fn ticks(&self) -> Ticks {
        Ticks {
            jiffies: load::word(&self.config, JIFFIES),
            boot_ns: self.clock.boot(load::word(&self.config, BOOT_NS)),
            tick_ns: self.tick_ns,
        }
    }

    fn word(&self, word: usize) -> Option<&AtomicU64> {
        let slot = usize::try_from(self.slot).ok()?;
        self.table.word(slot * RUN_BYTES + word * 8)
    }

    fn set(&self, word: usize, value: u64) {
        if let Some(word) = self.word(word) {
            word.store(value, Ordering::SeqCst);
        }
    }

    fn is_live(&self, run: u64) -> bool {
        self.programs.state.is_live(run)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.set(ID, 0);
        self.refresh();
        // Fails only if the ring is gone already.
        let _ = self.used.maps.rings.delete(&self.slot.to_ne_bytes());
    }
}

/// Waits until system calls that were under way in a program of ours have left it.
fn wait_for_calls() {
    const GLOBAL: i64 = 1;
    // SAFETY: no pointers. The command waits until every running thread passed a point outside of
    // all read-side sections, in which the programs run (`synchronize_rcu`).
    let result = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if result != 0 {
        // Not on this kernel (nohz_full): a program takes microseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

const _: () = assert!(KEY_BYTES == 56 && ROW_BYTES == 376);

#[cfg(test)]
mod tests;
