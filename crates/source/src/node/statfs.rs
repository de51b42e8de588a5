//! The local file systems: how large, how full (`statfs(2)` of what `/proc/self/mountinfo` names).
//!
//! None that is served by others is asked, and none that lies behind one: that may hang. The calls
//! are made by a thread of their own all the same, so that nothing waits for them for long.

use super::fields::{Field, Scale, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_pid_mountinfo::{Mount, mount_of, parse};
use record::unit::{Nanos, Unit};
use record::value::Absent;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;
use sys::statfs::Space;

/// File systems asked, at most.
const FILE_SYSTEMS_MAX: usize = 1024;

/// Mounts looked through, at most: a node of containers has thousands.
const MOUNTS_MAX: usize = 4096;

/// The answers come at once; one that does not is left for the next reading.
const PATIENCE: Duration = Duration::from_millis(50);

/// Kinds without a device of their own that keep files here.
const LOCAL: [&str; 6] = ["tmpfs", "ramfs", "btrfs", "zfs", "bcachefs", "hugetlbfs"];

/// Kinds that show another file system, wherever that is.
const SHOWN: [&str; 4] = ["overlay", "aufs", "ecryptfs", "unionfs"];

/// Instances are the points of the first mount of each.
const FIELDS: &[Field] = &[
    space("f_blocks", "file_system_size", "size of a file system"),
    space("f_bfree", "file_system_free", "unused space"),
    space(
        "f_bavail",
        "file_system_available",
        "unused space for all, not for root alone",
    ),
    inodes(
        "f_files",
        "file_system_inodes",
        "inodes that it can have; no row where it makes them as needed",
    ),
    inodes("f_ffree", "file_system_inodes_free", "unused ones"),
];

const fn space(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    gauge(key, Scale::One, name, Unit::Bytes, doc)
}

const fn inodes(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    gauge(key, Scale::One, name, Unit::Count, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "statfs",
    file: "statfs(2) of local file systems",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos::from_secs(30),
    listed: false,
    open,
};

struct FileSystems {
    mountinfo: KeptFile,
    buffer: Vec<u8>,
    /// Of a thread that has not answered yet.
    waiting: Option<Receiver<Vec<(PathBuf, Space)>>>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(FileSystems {
        mountinfo: opener.open(opener.root().proc("self/mountinfo"))?,
        buffer: Vec::new(),
        waiting: None,
    }))
}

impl Reading for FileSystems {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        if let Some(Err(TryRecvError::Empty)) = self.waiting.as_ref().map(Receiver::try_recv) {
            // It hangs: no second thread beside it.
            rows.leave_out(1);
            return Ok(());
        }
        let mut mounts = parse(self.mountinfo.read(&mut self.buffer)?);
        rows.leave_out(mounts.len().saturating_sub(MOUNTS_MAX) as u64);
        mounts.truncate(MOUNTS_MAX);
        let mut points = local(&mounts);
        rows.leave_out(points.len().saturating_sub(FILE_SYSTEMS_MAX) as u64);
        points.truncate(FILE_SYSTEMS_MAX);
        self.waiting = ask(points);
        let answers = self
            .waiting
            .as_ref()
            .and_then(|waiting| waiting.recv_timeout(PATIENCE).ok());
        match answers {
            Some(answers) => {
                self.waiting = None;
                answers
                    .iter()
                    .for_each(|(point, space)| put(rows, point, space));
            }
            None => rows.leave_out(1),
        }
        Ok(())
    }
}

/// The first mount point of each local file system, where that can be reached without touching
/// another machine.
fn local(mounts: &[Mount]) -> Vec<PathBuf> {
    let mut devices: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for mount in mounts {
        if !is_local(mount) || devices.contains(&mount.device.as_str()) {
            continue;
        }
        if is_reached(mounts, mount) {
            devices.push(&mount.device);
            points.push(mount.point.clone());
        }
    }
    points
}

fn is_local(mount: &Mount) -> bool {
    let kind = mount.kind.as_str();
    // Major number 0 is no device.
    let has_device = !mount.device.starts_with("0:");
    !may_hang(mount) && !SHOWN.contains(&kind) && (has_device || LOCAL.contains(&kind))
}

fn may_hang(mount: &Mount) -> bool {
    mount.is_network() || mount.kind.starts_with("fuse")
}

/// Whether the path leads to this mount, over nothing that may hang.
fn is_reached(mounts: &[Mount], mount: &Mount) -> bool {
    if mount_of(mounts, &mount.point).is_none_or(|top| top.id != mount.id) {
        return false;
    }
    mount.point.ancestors().all(|path| {
        let over = mount_of(mounts, path);
        // Where the root hangs, so does every file below /proc.
        let is_safe = |over: &Mount| over.point == Path::new("/") || !may_hang(over);
        over.is_some_and(is_safe)
    })
}

/// The spaces of all, from a thread; `None` if there can be none.
fn ask(points: Vec<PathBuf>) -> Option<Receiver<Vec<(PathBuf, Space)>>> {
    let (tell, told) = sync_channel(1);
    let work = move || {
        let space = |point: PathBuf| {
            let path = CString::new(point.as_os_str().as_bytes()).ok()?;
            // Unmounted in between, or not for us.
            Some((point, sys::statfs::read(&path).ok()?))
        };
        let spaces = points.into_iter().filter_map(space).collect();
        // Nobody waits any more: then there is nobody to tell.
        let _ = tell.send(spaces);
    };
    let thread = std::thread::Builder::new()
        .name("statfs".into())
        .spawn(work);
    thread.is_ok().then_some(told)
}

fn put(rows: &mut Rows, point: &Path, space: &Space) {
    if space.size_bytes == 0 {
        return;
    }
    let has_inodes = space.inodes_total > 0;
    let values = [
        Some(space.size_bytes),
        Some(space.free_bytes),
        Some(space.available_bytes),
        has_inodes.then_some(space.inodes_total),
        has_inodes.then_some(space.inodes_free),
    ];
    for (field, value) in FIELDS.iter().zip(values) {
        if let Some(value) = value {
            field.put(rows, point.as_os_str().as_bytes(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_that_may_hang() {
        let table = b"\
            1 0 8:1 / / rw - ext4 /dev/sda rw\n\
            2 1 0:40 / /home rw - nfs4 srv:/h rw\n\
            3 2 8:2 / /home/scratch rw - xfs /dev/sdb rw\n\
            4 1 0:5 / /proc rw - proc proc rw\n\
            5 1 0:6 / /dev/shm rw - tmpfs tmpfs rw\n\
            6 1 8:1 /a /b rw - ext4 /dev/sda rw\n\
            7 1 0:7 / /merged rw - overlay overlay rw\n\
            8 1 8:3 / /srv rw - ext4 /dev/sdc rw\n\
            9 8 0:50 / /srv rw - lustre mgs:/l rw\n\
            10 1 0:51 / /mnt rw - fuse.sshfs h: rw\n\
            11 1 0:52 / /pool rw - btrfs /dev/sdd rw\n";
        let points = local(&parse(table));
        let expected = ["/", "/dev/shm", "/pool"].map(PathBuf::from);
        assert_eq!(points, expected, "none behind nfs, none hidden, none twice");
        let diskless = b"\
            1 0 0:30 / / rw - nfs srv:/root rw\n\
            2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw\n\
            3 1 0:31 / /home rw - nfs srv:/home rw\n\
            4 3 8:2 / /home/scratch rw - xfs /dev/sdb rw\n";
        assert_eq!(local(&parse(diskless)), [PathBuf::from("/dev/shm")]);
    }
}
