//! Which files are left at the end of a task, and where the file systems are mounted.

use record::file::{FileKind, FileLine, Mounted};
use record::unit::Bytes;
use reduce::files::{FileSummary, Trace};
use source::query::proc_pid_mountinfo::{self, Mount};
use source::root::Root;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::linux::fs::MetadataExt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Its files show other inode numbers than the kernel has for them.
const OVERLAY: &str = "overlay";

/// Says where the file systems are mounted, and which files are gone; what is mounted elsewhere
/// alone (another mount namespace) has no name here, and other machines are not asked.
pub(super) fn look(summary: &mut FileSummary) {
    // Without /proc there are devices and no names.
    let mounts = proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
    let find = |device: &str| mounts.iter().find(|mount| mount.device == device);
    for line in &mut summary.file_systems {
        let mount = find(&line.device);
        line.mount = mount.map(|it| it.point.to_string_lossy().into_owned());
        line.kind = mount.map(|it| it.kind.clone());
    }
    let points: HashSet<&OsStr> = mounts.iter().map(|it| it.point.as_os_str()).collect();
    // Files of one folder lie on one mount, but for one that is a mount itself.
    let mut of_folders: HashMap<&[u8], Option<&Mount>> = HashMap::new();
    for (line, trace) in summary.lines.iter_mut().zip(&summary.traces) {
        if line.kind != FileKind::File || line.path_cut {
            continue;
        }
        let path = Path::new(OsStr::from_bytes(&trace.path));
        let find = || proc_pid_mountinfo::mount_of(&mounts, path);
        let slash = trace.path.iter().rposition(|byte| *byte == b'/');
        let folder = trace.path.get(..slash.unwrap_or(0)).unwrap_or_default();
        let mount = if points.contains(path.as_os_str()) {
            find()
        } else {
            *of_folders.entry(folder).or_insert_with(find)
        };
        if let Some(mount) = mount
            && line.device.as_ref() == Some(&mount.device)
            && !mount.is_network()
        {
            line.deleted = deleted(line, trace, path, mount);
            if trace.size_is_old {
                line.size_after_bytes = size_by_new_name(line, trace);
            }
        }
    }
}

/// Whether no file of this path is left. What the task saw there may have been in another mount
/// namespace or below another root: of a path that leads to nothing or to another file from here,
/// the task itself must have taken the name.
fn deleted(line: &FileLine, trace: &Trace, path: &Path, mount: &Mount) -> Option<bool> {
    let is_here = trace.mounted == Mounted::Here;
    match std::fs::symlink_metadata(path) {
        Ok(found) => {
            let is_known = trace.inodes.contains(&found.st_ino()) || mount.kind == OVERLAY;
            let is_left = is_here || is_known || line.renamed_from.is_some();
            if is_left { Some(false) } else { line.deleted }
        }
        Err(error) if error.kind() == ErrorKind::NotFound && is_here => Some(true),
        // Where it cannot be looked up it is what the mechanism saw.
        Err(_) => line.deleted,
    }
}

/// The size of a file that was written and never closed, by the name of its line or by the one that
/// the task gave to it then.
fn size_by_new_name(line: &FileLine, trace: &Trace) -> Option<Bytes> {
    let own = Path::new(OsStr::from_bytes(&trace.path));
    let names = [Some(own), line.renamed_to.as_deref().map(Path::new)];
    names.into_iter().flatten().find_map(|name| {
        let found = std::fs::symlink_metadata(name).ok()?;
        let same = found.is_file() && trace.inodes.contains(&found.st_ino());
        same.then_some(Bytes(found.len()))
    })
}
