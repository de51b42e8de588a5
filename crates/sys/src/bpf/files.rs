//! The files of one run: what each of its threads read and wrote where (`bpf/io.bpf.c`).
//!
//! Threads count for themselves and put what they counted into a table of rows, which [`Files`]
//! empties; the paths of folders come through a ring buffer of their own. The programs are attached
//! while a run on the node asks for files: every system call of the node passes them then.

mod layout;
mod load;
mod own;
mod share;
mod socket;
mod told;

pub use layout::{Datagrams, ExactSize, FileId, FileRow, PageCounts, SizeClasses};
pub use socket::SocketInfo;
pub use told::{Folder, Name, NameChange, NamePath, Told};

use super::batch;
use super::layout::RUN_SLOTS;
use super::load::{fd_bytes, update};
use super::mapping::Mapping;
use super::programs::Shared;
use super::ring::Ring;
use super::run::create_ring;
use crate::clock::{self, Offsets};
use crate::error::Error;
use crate::network::Network;
use layout::{
    DUMPED_BYTES, KEY_BYTES, Key, ROW_BYTES, Ticks, decode_classes, decode_dumped,
    decode_folder_run, decode_key, decode_row, has_classes,
};
use libbpf_rs::{MapCore, MapHandle};
use load::{BOOT_NS, GENERATION, HAS_CLASSES, JIFFIES};
use share::Use;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `sizeof(struct io_run)`.
const RUN_BYTES: usize = 192;
/// Words of `struct io_run`, in its order.
const ID: usize = 0;
const EPOCH: usize = 1;
const ROWS: usize = 2;
const ROWS_MAX: usize = 3;
const FLAGS: usize = 4;
const FOLDERS_LOST: usize = 5;
const COMPAT_CALLS: usize = 6;
const LIBAIO_CALLS: usize = 7;
const REST: usize = 8;
const NAMES_LOST: usize = 20;
const EXECUTIONS: usize = 21;
const FOLDERS_KEPT: usize = 22;

const TIMES: u64 = 1;
const FROM_EXEC: u64 = 2;
/// About 150 bytes a folder.
const RING_BYTES: usize = 1 << 20;

/// What files were used that found no place in the table of rows, and what was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileRest {
    /// Successful calls of the open family.
    pub opens: u64,
    /// Calls of `close`.
    pub closes: u64,
    /// Calls of `lseek`.
    pub seeks: u64,
    /// Read-like calls.
    pub reads: u64,
    /// Write-like calls.
    pub writes: u64,
    /// Bytes that reads moved.
    pub bytes_read: u64,
    /// Bytes that writes moved.
    pub bytes_written: u64,
    /// Times that an exec ran a file.
    pub executions: u64,
    /// Rows that there would have been, at most.
    pub rows: u64,
    /// Pages.
    pub pages: PageCounts,
    /// Changes of names that found the ring full, or whose paths could not be read.
    pub names_lost: u64,
    /// Folders whose path found no place, counted at each file in them.
    pub folders_lost: u64,
    /// Calls by the 32-bit interface, which are not seen.
    pub compat_calls: u64,
    /// Calls of `io_submit`: what they read and wrote is not seen.
    pub libaio_calls: u64,
}

/// How the files of a run are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// Rows that the table holds; what is beyond is in [`Files::rest`].
    pub rows_max: u64,
    /// Whether the time of calls is taken.
    pub times: bool,
    /// Whether a process that was added by hand counts from its exec on.
    pub from_exec: bool,
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
    ring_map: MapHandle,
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
            Use::private(members, options.times)?
        };
        // Without it nothing is missing but where some datagrams went, which is told so.
        let network = Network::of_self().ok();
        let network = network.filter(|it| own::tell(&used.maps.own, it).is_ok());
        let bytes = usize::try_from(RUN_SLOTS).unwrap_or(0) * RUN_BYTES;
        let ring_map = create_ring(RING_BYTES)?;
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
        for word in 0..RUN_BYTES / 8 {
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
        let kept = self.take_kept(take);
        let ticks = self.ticks();
        self.ring.drain(&mut |bytes| {
            if let Some(told) = told::decode(bytes, ticks) {
                take(told);
            }
        });
        kept
    }

    /// Gives the folders that found the ring full.
    fn take_kept(&self, take: &mut dyn FnMut(Told)) -> Result<(), Error> {
        let kept = self.word(FOLDERS_KEPT);
        if kept.is_none_or(|kept| kept.swap(0, Ordering::SeqCst) == 0) {
            return Ok(());
        }
        let ticks = self.ticks();
        let mut done = Vec::new();
        let read = batch::every(&self.used.maps.kept, &mut |key, event| {
            let run = decode_folder_run(key).unwrap_or(0);
            if run == self.id
                && let Some(told) = told::decode(event, ticks)
            {
                take(told);
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
        self.set(ROWS, 0);
        self.epoch += 1;
        self.set(EPOCH, self.epoch);
        if alive {
            wait_for_calls();
        }
        self.look_at_network();
        let ticks = self.ticks();
        let (mut mine, mut orphans) = (Vec::new(), Vec::new());
        let read = batch::every(
            &self.used.maps.rows,
            &mut |bytes, row| match decode_key(bytes) {
                Some(key) if key.run == self.id && u64::from(key.epoch) < self.epoch => {
                    if let Some(row) = self.row(&key, bytes, row, ticks) {
                        take(row);
                    }
                    mine.extend_from_slice(bytes);
                }
                Some(key) if !self.is_live(key.run) => orphans.extend_from_slice(bytes),
                _ => {}
            },
        );
        mine.extend_from_slice(&orphans);
        read.and(batch::delete(&self.used.maps.rows, &mine))
    }

    fn row(&self, key: &Key, bytes: &[u8], row: &[u8], ticks: Ticks) -> Option<FileRow> {
        let mut decoded = self.decode(key.file, key.tgid, row, ticks)?;
        if has_classes(row)
            && let Ok(Some(classes)) = super::load::lookup(&self.used.maps.classes, bytes)
        {
            decoded.classes = decode_classes(&classes).map(Box::new);
            // It is there: nobody else clears it.
            let _ = self.used.maps.classes.delete(bytes);
        }
        Some(decoded)
    }

    /// Gives what living threads of this run counted and have not put into the table yet. It stays
    /// theirs: they put it there later. For the last reading of a run.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pending(&self, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        let bytes = batch::pass(self.used.dump.as_fd())?;
        let mut classes = self.classes_left()?;
        let ticks = self.ticks();
        for record in bytes.chunks_exact(DUMPED_BYTES + ROW_BYTES) {
            let (head, row) = record.split_at(DUMPED_BYTES);
            if let Some((runs, file, pid)) = decode_dumped(head)
                && runs.contains(&self.id)
                && let Some(mut decoded) = self.decode(file, pid, row, ticks)
            {
                if has_classes(row) {
                    decoded.classes = classes.remove(&(pid, file)).map(Box::new);
                }
                take(decoded);
            }
        }
        Ok(())
    }

    /// An address that came or went meanwhile makes it uncertain where datagrams went.
    fn look_at_network(&mut self) {
        if self.network.is_some() && Network::of_self().ok() != self.network {
            self.network = None;
        }
    }

    fn decode(&self, file: FileId, pid: u32, row: &[u8], ticks: Ticks) -> Option<FileRow> {
        let mut decoded = decode_row(file, pid, row, ticks)?;
        if self.network.is_none() {
            decoded.datagrams = Datagrams::default();
        }
        Some(decoded)
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
        batch::every(&self.used.maps.sockets, &mut |_, info| {
            if let Some(info) = socket::decode(info) {
                take(info);
            }
        })
    }

    /// What found no place, so far.
    pub fn rest(&self) -> FileRest {
        let read = |word| {
            self.word(word)
                .map_or(0, |word| word.load(Ordering::Relaxed))
        };
        FileRest {
            opens: read(REST),
            closes: read(REST + 1),
            seeks: read(REST + 2),
            reads: read(REST + 3),
            writes: read(REST + 4),
            bytes_read: read(REST + 5),
            bytes_written: read(REST + 6),
            executions: read(EXECUTIONS),
            rows: read(REST + 7),
            pages: PageCounts {
                filled: read(REST + 8),
                dirtied: read(REST + 9),
                mapped_filled: read(REST + 10),
                mapped_dirtied: read(REST + 11),
            },
            names_lost: read(NAMES_LOST),
            folders_lost: read(FOLDERS_LOST),
            compat_calls: read(COMPAT_CALLS),
            libaio_calls: read(LIBAIO_CALLS),
        }
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

const _: () = assert!(KEY_BYTES == 56 && ROW_BYTES == 368);

#[cfg(test)]
mod tests;
